------------------------------------------------ MODULE ondeck ------------------------------------------------
(* The flagship of crates/core/src/ondeck.rs and the files beside it. Actions have the names of the steps of its
   header.

   MODELLED. The word: the head of the dugout and all flags but HOT and ROOM. The nodes: next, prev, the anchor's tail
   (links towards newer sleepers are filled in lazily, as by `Node::link`), is_called, grant, skipped, whether its thread
   has been notified. A sleeper that is called alone, without a seat: its node keeps is_alone until it is up. Deadlines. Fair
   and other releases. Wakes without cause. A wake is a step of its own after the write that makes it due, and by
   address. The memory: each thread owns a share of the lock, which it gives up with the releasing write of its last
   acquisition or, if that one timed out, with its return; with the last share the lock is gone.

   GRAIN. A load and the compare-exchange that relies on nothing else are one action, and one that fails is no step.
   A blind read-modify-write (`claim`, `latch`, `unlatch`) is apart from the load that led to it; `ask` may come at any
   time that an occupant has not asked. The addition of a release is one action without a look before it: `vacate` if
   there is no alarm, else `burn`, after which the lock is still taken. What the latch holder does to the nodes is one action with the
   write that drops the latch, for nobody else looks at them. A sleeper sleeps from its push on, and a napper from
   its `nap` on: the comparison inside wait_on could only keep it awake, which a wake without cause does too.

   NOT MODELLED. HOT: whoever may decline a free lock for its sake, or may not, does either. ROOM: a request for
   time, which this model does not have, and one that fails is no step. The counter: its being full is the flag
   ALARM, and any release may find it full by itself. The epoch: `Rotation` says how its comparisons turn out. The core of the last call: an
   arrival may sit beside a call or not. Time: how long an occupant is patient, and what is still (`Still`), are
   choices. The first look: its grab is that of the slow path. Nodes
   beyond 2^48. Memory orderings: loom looks after them. The condition variable: ondeck_condvar.tla.

   BOUNDS, and distinct states found by TLC 2.15 (with symmetry, where no property is checked):

   | config             | threads x acquisitions                     | states  |
   |---|---|---|
   | safety             | 3 x 2, no wake without cause               | 71 108  |
   | safety_once        | 3 x 1, all features                        | 2 462   |
   | safety_endless     | 3 x any number, all features               | 55 440  |
   | safety_four        | 4 x any number, all features but deadlines | 121 768 |
   | safety_one_core    | 3 x any number, nobody spins               | 37 906  |
   | liveness           | 2 x 2, all features                        | 2 593   |
   | liveness_three     | 3 x 1, all features                        | 14 273  |
   | served             | 1 x 1 and 2 x any number, no deadlines     | 7 878   |
   | safety_rush        | 3 x 2, notified, nobody finds it still     | 58 530  |
   | safety_rush_four   | 4 x any number, notified, no deadlines     | 22 108  |
   | liveness_rush      | 3 x 1, all features, notified              | 13 349  |
   | safety_quiet       | 3 x 2, deadlines, becomes quiet            | 77 430  |
   | safety_quiet_endless | 3 x any number, all features, becomes quiet | 54 985 |
   | liveness_quiet     | 2 x 2, all features, becomes quiet         | 3 151   |

   WHO IS SERVED. Time being a choice, a bound in time becomes "sooner or later". `served` shows it where nobody finds
   the lock still. Beyond a fair scheduler it takes two things, which time would give. An arrival must win a race to join
   the sleepers, not only one to sit beside a call, which it must leave again. And of two in the seats none accepts all
   passes before the other: an occupant polls, and who is called has to wake up first.
*)

\* not modelled: make_room: a hint that only slows its reader down, see above
\* not modelled: doze: changes no word; who dozes is an arrival that has not begun yet

EXTENDS Integers, FiniteSets, Sequences, TLC

CONSTANTS
  Threads,      \* Contenders.
  Nobody,       \* No thread: the null pointer.
  MaxAcquires,  \* Acquisitions of each thread.
  Endless,      \* Threads that acquire again and again instead.
  Timed,        \* Threads whose acquisitions have a deadline.
  FairRelease,  \* Whether releases may be fair ones.
  Spins,        \* P::may_spin: whether there is more than one core.
  Still,        \* Whether an occupant may find that the lock has not been released for long: then it naps, or cedes.
  Hot,          \* Whether somebody may decline a free lock because it is hot.
  Quiets,       \* Whether a lock becomes quiet, that is, P::can_expel.
  Rushes,       \* Whether a sleeper may be one that has been notified, as if a notifier had pushed it.
  Spurious,     \* Whether sleepers may wake without cause.
  Rotation,     \* "any": each look at the clock may find a rotation due or not; "clock": it is due from `rotate` until
                \* the next call, and so is a request; "never": neither falls due.
  MostSkips,    \* How often the oldest sleeper may be passed over.
  Bug           \* A seeded mistake, or "none".

VARIABLES
  word,   \* head and flags
  node,   \* what each thread has on its stack for the dugout
  pc,
  notes,  \* what each thread knows for itself: past (its deadline), called to its seat, asked, napped,
          \* retired (it has left a seat beside a call)
  called, \* whom a thread has called and must still grant or wake
  behind, \* whom it has called after that one, in a rush
  left,   \* acquisitions that a thread has not finished
  due     \* whether the dugout has not rotated for a while; only with Rotation = "clock"

vars == <<word, node, pc, notes, called, behind, left, due>>

Flags == {"RUSH", "LATCHED", "DECK", "SECOND", "FLIGHT", "FAIR", "PASSED", "NAPPING", "QUIET", "ALARM", "LOCKED"}

Blank == [next |-> Nobody, prev |-> Nobody, tail |-> Nobody, is_called |-> FALSE, is_alone |-> FALSE, is_notified |-> FALSE,
          is_granted |-> FALSE, skipped |-> 0]

Bugs == {"none", "claims_when_due", "ignores_vacant", "drops_the_call", "leaves_although_called",
         "touches_after_release", "naps_quietly", "calls_twice", "rises_quietly", "leaves_quietly",
         "hurries_to_a_seat", "unlatches_quietly", "settles_at_once", "settles_unseen", "expels_first",
         "hushes_beside", "claims_in_quiet", "latches_in_quiet", "slips_blindly"}

ASSUME /\ Endless \subseteq Threads /\ Timed \subseteq Threads
       /\ Rotation \in {"any", "clock", "never"}
       /\ Bug \in Bugs

-----------------------------------------------------------------------------------------------------------------
(* The word: state.rs. *)

Has(w, flags)    == w.flags \cap flags # {}
IsQuiet(w)       == Has(w, {"QUIET"})
HasSleepers(w)   == w.head # Nobody /\ ~IsQuiet(w)
With(w, flags)   == [w EXCEPT !.flags = @ \cup flags]
Without(w, flags) == [w EXCEPT !.flags = @ \ flags]

IsAlone(w)     == w.head = Nobody /\ ~Has(w, {"DECK"})
IsAnybodyUp(w) == Has(w, {"SECOND"}) \/ (Has(w, {"DECK"}) /\ ~Has(w, {"FLIGHT"}))
IsVacant(w)    == HasSleepers(w) /\ ~Has(w, {"DECK"})

\* Of whatever a compare-exchange writes: the alarm is set if something is asked of the next release, and else off.
Asks(w)  == Has(w, {"FAIR", "NAPPING", "RUSH"}) \/ IsVacant(w)
Heard(w) == CASE Bug = "ignores_vacant" -> Has(w, {"FAIR", "NAPPING", "RUSH"})
              [] Bug = "naps_quietly"   -> Has(w, {"FAIR", "RUSH"}) \/ IsVacant(w)
              [] OTHER                  -> Asks(w)
Alarmed(w) == IF Heard(w) THEN With(w, {"ALARM"}) ELSE Without(w, {"ALARM"})

\* Of a quiet word nothing counts but LOCKED, and the token of who knocks in the place of the head.
Loud(w)  == IF IsQuiet(w) THEN [head |-> Nobody, flags |-> w.flags \cap {"LOCKED"}] ELSE w
Quiet    == [head |-> Nobody, flags |-> {"QUIET"}]
Knocked(t) == [head |-> t, flags |-> {"QUIET", "LOCKED"}]

Released(w) == Without(Loud(w), {"LOCKED"})
Vacated(w)  == Without(Loud(w), {"LOCKED"} \cup IF HasSleepers(w) THEN {} ELSE {"RUSH"})
Passed(w)   == With(w, {"PASSED"})
OneSeatLess(w) == Without(w, IF Has(w, {"SECOND"}) THEN {"SECOND"} ELSE {"DECK"})
AtBat(w) == OneSeatLess(Without(With(w, {"LOCKED"}), {"FAIR", "PASSED", "NAPPING"}))
LeftBehind(w) == LET next == OneSeatLess(w)
                 IN IF IsAnybodyUp(next) THEN next ELSE Without(next, {"FAIR", "NAPPING"})
Napping(w, keeps_asking) == IF keeps_asking THEN With(w, {"NAPPING"}) ELSE Without(With(w, {"NAPPING"}), {"FAIR"})
Called(w)     == With(Without(w, {"LATCHED"}), {"FLIGHT", IF Has(w, {"DECK"}) THEN "SECOND" ELSE "DECK"})
Unlatched(w)  == Without(w, {"LATCHED"})
MustCall(w)   == HasSleepers(w) /\ ~Has(w, {"LOCKED"}) /\ (IsVacant(w) \/ Has(w, {"RUSH"}))

-----------------------------------------------------------------------------------------------------------------
(* The dugout: dugout.rs. *)

RECURSIVE ListFrom(_, _)
ListFrom(newest, most) ==
  IF newest = Nobody \/ most = 0 THEN <<>> ELSE <<newest>> \o ListFrom(node[newest].next, most - 1)

\* The sleepers, newest first; one more than there can be if the links run in a circle.
Dugout == ListFrom(Loud(word).head, Cardinality(Threads) + 1)

\* The place of the anchor in the dugout, 0 if there is none.
Anchor(list) ==
  LET anchors == {i \in DOMAIN list : node[list[i]].tail # Nobody}
  IN IF anchors = {} THEN 0 ELSE CHOOSE i \in anchors : \A j \in anchors : i <= j

\* The nodes after Node::link: links towards newer sleepers down to the anchor, and the head is the anchor.
Linked(list) ==
  LET anchor == Anchor(list)
      last == IF anchor = 0 THEN Len(list) ELSE anchor
      oldest == IF anchor = 0 THEN list[last] ELSE node[list[last]].tail
      Place(n) == IF \E i \in 1..last : list[i] = n THEN CHOOSE i \in 1..last : list[i] = n ELSE 0
  IN [n \in Threads |->
       IF Place(n) = 0 THEN node[n]
       ELSE [node[n] EXCEPT !.prev = IF Place(n) = 1 THEN Nobody ELSE list[Place(n) - 1],
                            !.tail = IF Place(n) = 1 THEN oldest ELSE Nobody]]

\* The linked nodes without n, by Node::bequeath_anchor or Node::unlink.
Unlinked(nodes, n) ==
  LET newer == nodes[n].prev
      older == nodes[n].next
      head == word.head
      rest == IF n = head THEN IF older = Nobody THEN nodes
                               ELSE [nodes EXCEPT ![older].tail = nodes[n].tail, ![older].prev = Nobody]
              ELSE LET joined == [nodes EXCEPT ![newer].next = older]
                   IN IF older = Nobody THEN [joined EXCEPT ![head].tail = newer]
                      ELSE [joined EXCEPT ![older].prev = newer]
  IN [rest EXCEPT ![n] = [Blank EXCEPT !.is_called = nodes[n].is_called, !.is_alone = nodes[n].is_alone,
                                       !.is_notified = nodes[n].is_notified]]

WordWithout(nodes, n) == IF n = word.head THEN [word EXCEPT !.head = nodes[n].next] ELSE word

-----------------------------------------------------------------------------------------------------------------
(* Helpers. *)

Init ==
  /\ word = [head |-> Nobody, flags |-> {}]
  /\ node = [t \in Threads |-> Blank]
  /\ pc = [t \in Threads |-> "idle"]
  /\ notes = [t \in Threads |-> {}]
  /\ called = [t \in Threads |-> Nobody]
  /\ behind = [t \in Threads |-> Nobody]
  /\ left = [t \in Threads |-> MaxAcquires]
  /\ due = FALSE

Knows(t, note) == note \in notes[t]
Goes(t, place) == pc' = [pc EXCEPT ![t] = place]
Notes(t, note) == notes' = [notes EXCEPT ![t] = @ \cup {note}]
Writes(w)      == word' = Alarmed(w)
Flips(w)       == word' = w  \* By a read-modify-write that compares nothing.
OnlyWord       == UNCHANGED <<node, called, behind, left, due>>

LeftAfter(t) == IF t \in Endless THEN left[t] ELSE left[t] - 1
Counts(t)    == left' = [left EXCEPT ![t] = LeftAfter(t)]
Resting(t, n_left) == IF n_left = 0 THEN "done" ELSE "idle"

\* t is inside.
Enters(t) ==
  /\ Goes(t, "inside")
  /\ notes' = [notes EXCEPT ![t] = {}]
  /\ OnlyWord

\* t has made its releasing write and goes on to `place`, or nowhere.
Releases(t, place) ==
  /\ Counts(t)
  /\ Goes(t, IF place = "idle" THEN Resting(t, LeftAfter(t)) ELSE place)
  /\ UNCHANGED <<node, notes, called, behind, due>>

\* t returns without the lock.
GivesUp(t) ==
  /\ Counts(t)
  /\ Goes(t, Resting(t, LeftAfter(t)))
  /\ notes' = [notes EXCEPT ![t] = {}]

\* t has made the last wake that it owed: a release that ends here has been counted, an acquisition that timed out not.
Ends(t) ==
  LET n_left == IF Knows(t, "past") THEN LeftAfter(t) ELSE left[t]
  IN /\ left' = [left EXCEPT ![t] = n_left]
     /\ Goes(t, Resting(t, n_left))
     /\ notes' = [notes EXCEPT ![t] = {}]
     /\ called' = [called EXCEPT ![t] = Nobody]

MayBeDue   == Rotation = "any" \/ (Rotation = "clock" /\ due)
MayBeUndue == Rotation # "clock" \/ ~due

-----------------------------------------------------------------------------------------------------------------
(* Arrivals: acquire_slow. *)

grab(t) ==
  \/ /\ pc[t] \in {"idle", "slow"}
     /\ ~Has(word, {"LOCKED"})
     /\ Flips(With(word, {"LOCKED"}))
     /\ Enters(t)
  \/ /\ pc[t] = "idle"
     /\ Has(word, {"LOCKED"})
     /\ Goes(t, "slow")
     /\ UNCHANGED <<word, notes>> /\ OnlyWord

\* The lock was seen taken, or free but hot with a seat taken or kept.
MustWait(t) ==
  /\ pc[t] = "slow"
  /\ ~IsQuiet(word)
  /\ Has(word, {"LOCKED"}) \/ (Hot /\ Has(word, {"DECK"}))
  /\ ~Knows(t, "past")

\* acquire_slow sees that the deadline has passed.
return(t) ==
  /\ pc[t] = "slow"
  /\ Has(word, {"LOCKED"}) \/ (Hot /\ Has(word, {"DECK"}) /\ ~IsQuiet(word))
  /\ Knows(t, "past")
  /\ GivesUp(t)
  /\ UNCHANGED <<word, node, called, behind, due>>

\* plan::arrival says Claim.
look(t) ==
  /\ MustWait(t)
  /\ ~Has(word, {"DECK"})
  /\ IsVacant(word) => MayBeUndue \/ Bug = "claims_when_due"
  /\ Goes(t, "claim")
  /\ UNCHANGED <<word, notes>> /\ OnlyWord

\* On the empty seat, or beside a sleeper on its way.
claim(t) ==
  \/ /\ pc[t] = "claim"
     /\ Flips(With(word, {"DECK"}))
     /\ Goes(t, IF Has(word, {"DECK"}) \/ (IsQuiet(word) /\ Bug # "claims_in_quiet") THEN "slow" ELSE "deck")
     /\ UNCHANGED notes /\ OnlyWord
  \/ /\ MustWait(t)
     /\ Spins /\ ~Knows(t, "retired")
     /\ Has(word, {"FLIGHT"}) /\ ~Has(word, {"SECOND"})
     /\ Writes(With(word, {"SECOND"}))
     /\ Goes(t, "deck")
     /\ UNCHANGED notes /\ OnlyWord

\* Who has a deadline waits for the latch first.
enqueue(t) ==
  /\ MustWait(t)
  /\ t \in Timed => ~Has(word, {"LATCHED"})
  /\ Has(word, {"DECK"}) \/ (IsVacant(word) /\ MayBeDue)
  /\ \E is_notified \in {FALSE, Rushes /\ Has(word, {"LOCKED"})} :
       /\ node' = [node EXCEPT ![t] = [Blank EXCEPT !.next = word.head, !.is_notified = is_notified]]
       /\ Writes(With([word EXCEPT !.head = t], IF is_notified THEN {"RUSH"} ELSE {}))
  /\ Goes(t, "asleep")
  /\ UNCHANGED <<notes, called, behind, left, due>>

-----------------------------------------------------------------------------------------------------------------
(* Who finds a quiet lock taken: quiet.rs. *)

\* Of two, each may replace the other's token.
knock(t) ==
  /\ pc[t] = "slow" /\ ~Knows(t, "past")
  /\ IsQuiet(word) /\ Has(word, {"LOCKED"}) /\ word.head # t
  /\ Flips(Knocked(t))
  /\ Goes(t, IF Bug \in {"settles_at_once", "expels_first"} THEN "settle" ELSE "slow")
  /\ UNCHANGED notes /\ OnlyWord

expel(t) ==
  /\ pc[t] = "slow" /\ ~Knows(t, "past")
  /\ IsQuiet(word) /\ Has(word, {"LOCKED"})
  /\ word.head = t \/ Bug = "expels_first"
  /\ pc' = [u \in Threads |-> CASE pc[u] = "slips" -> "burnt"
                               [] u = t /\ Bug # "expels_first" -> "settle"
                               [] OTHER -> pc[u]]
  /\ UNCHANGED <<word, notes>> /\ OnlyWord

settle(t) ==
  /\ pc[t] = "settle"
  /\ IF IsQuiet(word) /\ Has(word, {"LOCKED"}) /\ (word.head = t \/ Bug = "settles_unseen")
     THEN Flips(Loud(word)) ELSE UNCHANGED word
  /\ Goes(t, "slow")
  /\ UNCHANGED notes /\ OnlyWord

-----------------------------------------------------------------------------------------------------------------
(* On deck: deck.rs. *)

accept(t) ==
  /\ pc[t] = "deck"
  /\ Has(word, {"PASSED"})
  /\ Writes(AtBat(word))
  /\ Enters(t)

take(t) ==
  /\ pc[t] = "deck"
  /\ ~Has(word, {"LOCKED"})
  /\ Writes(AtBat(word))
  /\ Enters(t)

\* An occupant that has no lock to go for.
Sits(t) ==
  /\ pc[t] = "deck"
  /\ ~Has(word, {"PASSED"})
  /\ Has(word, {"LOCKED"}) \/ (Hot /\ Spins /\ notes[t] \cap {"asked", "past"} = {})

\* Who came by itself leaves when the sleeper that was called beside it is up, or before it would sleep beside one.
Retires(t) == ~Knows(t, "called") /\ Has(word, {"SECOND"}) /\ (~Has(word, {"FLIGHT"}) \/ ~Spins \/ Still)

ask(t) ==
  /\ pc[t] = "deck"
  /\ ~Has(word, {"FAIR", "PASSED"})
  /\ Spins \/ Knows(t, "napped")
  /\ MayBeDue
  /\ Flips(With(word, {"FAIR", "ALARM"}))
  /\ Notes(t, "asked")
  /\ UNCHANGED pc /\ OnlyWord

\* Somebody has asked, or it may not yet, or need not.
HasNoNeedToAsk(t) == Has(word, {"FAIR"}) \/ ~(Spins \/ Knows(t, "napped")) \/ MayBeUndue

nap(t) ==
  /\ Sits(t)
  /\ ~Spins \/ Still
  /\ Has(word, {"LOCKED"})
  /\ Has(word, {"SECOND"}) => Knows(t, "called")
  /\ ~Knows(t, "past")
  /\ HasNoNeedToAsk(t)
  /\ Writes(Napping(word, Knows(t, "napped")))
  /\ Goes(t, "nap")
  /\ UNCHANGED notes /\ OnlyWord

\* Whoever clears the flag owes a wake to the other seat.
rise(t) ==
  /\ pc[t] = "rise"
  /\ LET clears == ~Has(word, {"PASSED"}) /\ Has(word, {"NAPPING"})
         owes == clears /\ Has(word, {"SECOND"}) /\ Bug # "rises_quietly"
     IN /\ IF clears THEN Writes(Without(word, {"NAPPING"})) ELSE UNCHANGED word
        /\ Goes(t, IF owes THEN "wake_other" ELSE "deck")
  /\ notes' = [notes EXCEPT ![t] = (@ \ {"asked"}) \cup {"napped"}]
  /\ OnlyWord

wake_other(t) ==
  /\ pc[t] = "wake_other"
  /\ pc' = [u \in Threads |-> IF u = t THEN "deck" ELSE IF pc[u] = "nap" THEN "rise" ELSE pc[u]]
  /\ UNCHANGED <<word, notes>> /\ OnlyWord

\* If that leaves sleepers beside empty seats, the write asks the holder's release to call one.
leave(t) ==
  /\ Sits(t)
  /\ Knows(t, "past") \/ Retires(t)
  /\ IF Bug = "leaves_quietly" THEN Flips(LeftBehind(word)) ELSE Writes(LeftBehind(word))
  /\ IF Knows(t, "past") THEN GivesUp(t) ELSE Goes(t, "slow") /\ notes' = [notes EXCEPT ![t] = {"retired"}] /\ UNCHANGED left
  /\ UNCHANGED <<node, called, behind, due>>

show_up(t) ==
  /\ pc[t] = "show_up"
  /\ Flips(Without(word, {"FLIGHT"}))
  /\ Goes(t, "deck")
  /\ Notes(t, "called")
  /\ OnlyWord

-----------------------------------------------------------------------------------------------------------------
(* Releases: RawLock::release, release_fair, release_slow. *)

\* The addition of a release under an alarm, or, once in 1024 times, under none: the lock stays taken.
burn(t) ==
  /\ pc[t] = "inside" /\ ~IsQuiet(word)
  /\ Flips(Without(word, {"ALARM"}))
  /\ Goes(t, "burnt")
  /\ UNCHANGED notes /\ OnlyWord

\* The release of a quiet lock is a look and a store, and between them whatever ends a sequence.
slip(t) ==
  \/ /\ pc[t] = "inside" /\ IsQuiet(word)
     /\ Goes(t, "saw_quiet")
     /\ UNCHANGED <<word, notes>> /\ OnlyWord
  \/ /\ pc[t] = "saw_quiet"
     /\ Goes(t, IF word = [Quiet EXCEPT !.flags = @ \cup {"LOCKED"}] \/ Bug = "slips_blindly" THEN "slips" ELSE "burnt")
     /\ UNCHANGED <<word, notes>> /\ OnlyWord
  \/ /\ pc[t] = "slips"
     /\ Flips(Quiet)
     /\ Releases(t, "idle")

\* By a signal, or as the thread loses its core.
is_ended(t) ==
  /\ pc[t] = "slips"
  /\ Goes(t, "burnt")
  /\ UNCHANGED <<word, notes>> /\ OnlyWord

\* In the slow release, after an alarm or because it is a fair one.
InSlow(t, is_fair) ==
  \/ pc[t] = "burnt" /\ ~is_fair
  \/ pc[t] = "inside" /\ is_fair /\ ~IsAlone(word)
InReleaseSlow(t, is_fair) == InSlow(t, is_fair) /\ ~IsQuiet(word)

\* The counter has come round with nothing asked, or the lock is quiet and a slip has been ended.
hush(t) ==
  /\ Quiets
  /\ pc[t] = "burnt"
  /\ word.flags \ {"QUIET"} = {"LOCKED"} \/ (Bug = "hushes_beside" /\ ~Asks(word))
  /\ word.head = Nobody \/ (Bug = "hushes_beside" /\ ~Asks(word))
  /\ Flips(Quiet)
  /\ Releases(t, "idle")

Gives(is_fair) == is_fair \/ Has(word, {"FAIR"})
MayCall ==
  /\ HasSleepers(word) /\ ~Has(word, {"LATCHED", "NAPPING"})
  /\ Has(word, {"FLIGHT", "SECOND"}) => Bug = "calls_twice"
Hands(is_fair) == Gives(is_fair) /\ (MayCall \/ Has(word, {"DECK"}))
MayHurry == Has(word, {"RUSH"}) /\ HasSleepers(word) /\ ~Has(word, {"LATCHED"})
CanCallUp == IsVacant(word) /\ ~Has(word, {"LATCHED"}) /\ Bug # "ignores_vacant"

pass_on(t, is_fair) ==
  /\ InReleaseSlow(t, is_fair)
  /\ Gives(is_fair) /\ MayCall
  /\ Writes(With(Passed(word), {"LATCHED"}))
  /\ Releases(t, "call")

pass(t, is_fair) ==
  /\ InReleaseSlow(t, is_fair)
  /\ Gives(is_fair) /\ ~MayCall /\ Has(word, {"DECK"})
  /\ Writes(Passed(word))
  /\ Releases(t, IF Has(word, {"NAPPING"}) THEN "wake_deck" ELSE "idle")

rouse(t, is_fair) ==
  /\ InReleaseSlow(t, is_fair)
  /\ ~Hands(is_fair) /\ ~MayHurry /\ Has(word, {"NAPPING"})
  /\ Writes(Without(Released(word), {"NAPPING"}))
  /\ Releases(t, "wake_deck")

hurry(t, is_fair) ==
  /\ InReleaseSlow(t, is_fair)
  /\ ~Hands(is_fair) /\ MayHurry
  /\ Writes(With(Without(Released(word), {"NAPPING", "RUSH"}), {"LATCHED"}))
  /\ Releases(t, IF Has(word, {"NAPPING"}) THEN "wake_and_call" ELSE "call_beside")

call_up(t, is_fair) ==
  /\ InReleaseSlow(t, is_fair)
  /\ ~Hands(is_fair) /\ ~MayHurry /\ ~Has(word, {"NAPPING"}) /\ CanCallUp
  /\ Writes(With(Released(word), {"LATCHED"}))
  /\ Releases(t, "call")

\* The addition of a release without an alarm; the compare-exchange of the slow one.
vacate(t, is_fair) ==
  \/ /\ pc[t] = "inside" /\ ~is_fair
     /\ ~Has(word, {"ALARM"}) /\ ~IsQuiet(word)
     /\ Flips(Released(word))
     /\ Releases(t, IF Bug = "touches_after_release" THEN "touch" ELSE "idle")
  \/ /\ InReleaseSlow(t, is_fair)
     /\ ~Hands(is_fair) /\ ~MayHurry /\ ~Has(word, {"NAPPING"}) /\ ~CanCallUp
     /\ Writes(Vacated(word))
     /\ Releases(t, "idle")
  \/ /\ InSlow(t, is_fair) /\ IsQuiet(word)
     /\ Writes(Vacated(word))
     /\ Releases(t, "idle")

\* Seeded: the release looks at the word once more after its addition.
touch(t) ==
  /\ pc[t] = "touch"
  /\ Goes(t, IF Has(word, {"NAPPING"}) THEN "wake_deck" ELSE Resting(t, left[t]))
  /\ UNCHANGED <<word, notes>> /\ OnlyWord

wake_deck(t) ==
  /\ pc[t] \in {"wake_deck", "wake_and_call"}
  /\ LET next == IF pc[t] = "wake_and_call" THEN "call_beside" ELSE Resting(t, left[t])
     IN pc' = [u \in Threads |-> IF u = t THEN next ELSE IF pc[u] = "nap" THEN "rise" ELSE pc[u]]
  /\ UNCHANGED <<word, notes>> /\ OnlyWord

-----------------------------------------------------------------------------------------------------------------
(* Under the latch: calls.rs. *)

\* The sleeper u has seen its grant. Who has been called alone is an arrival again.
GetsUp(u) == node' = [node EXCEPT ![u] = Blank]
Up(u) == IF node[u].is_alone THEN "slow" ELSE "show_up"
IsGranted(u) == pc[u] \in {"asleep", "await_grant"} /\ node[u].is_granted

\* Node::choose: the oldest, unless one of the others slept on a better core.
OlderThan(list, c) == {u \in {list[i] : i \in DOMAIN list} :
                         \E i, j \in DOMAIN list : list[i] = c /\ list[j] = u /\ i < j}

\* With a seat, but in a rush only if both are empty. Another one that t has called before is granted then.
detach_called(t) ==
  /\ pc[t] \in {"call", "call_another", "call_beside"}
  /\ LET list == Dugout
         nodes == Linked(list)
         is_alone == pc[t] # "call" /\ Has(word, {"DECK"}) /\ Bug # "hurries_to_a_seat"
     IN \E c \in {list[i] : i \in DOMAIN list} :
          /\ \A u \in OlderThan(list, c) : nodes[u].skipped < MostSkips
          /\ LET marked == [u \in Threads |->
                              IF u = c THEN [nodes[u] EXCEPT !.is_called = TRUE, !.is_alone = is_alone, !.skipped = 0]
                              ELSE IF u \in OlderThan(list, c) THEN [nodes[u] EXCEPT !.skipped = @ + 1]
                              ELSE nodes[u]]
             IN node' = Unlinked(marked, c)
          /\ LET after == IF is_alone THEN Unlatched(WordWithout(nodes, c)) ELSE Called(WordWithout(nodes, c))
                 GoesTo == CASE pc[t] = "call_beside" -> "rush"
                             [] HasSleepers(after) /\ Has(after, {"RUSH"}) -> "look"
                             [] OTHER -> "grant"
             IN /\ Writes(after)
                /\ IF called[t] = Nobody
                   THEN called' = [called EXCEPT ![t] = c] /\ Goes(t, GoesTo) /\ UNCHANGED behind
                   ELSE behind' = [behind EXCEPT ![t] = c] /\ Goes(t, "grant") /\ UNCHANGED called
  /\ due' = FALSE
  /\ UNCHANGED <<notes, left>>

\* A sleeper past its deadline takes itself off the list; then it calls another if nobody else would.
detach_self(t) ==
  /\ pc[t] = "detach"
  /\ LET nodes == Linked(Dugout)
         rest == WordWithout(nodes, t)
     IN /\ node' = Unlinked(nodes, t)
        /\ IF MustCall(rest) /\ Bug # "drops_the_call"
           THEN Writes(rest) /\ Goes(t, "call_another") /\ UNCHANGED <<notes, left>>
           ELSE Writes(Unlatched(rest)) /\ GivesUp(t)
  /\ UNCHANGED <<called, behind, due>>

detach(t) == detach_called(t) \/ detach_self(t)

\* In a rush, after a call of one that has been notified: another, while the lock is free. Else the next release goes on with
\* the rush, unless somebody sits awake. After another call ("look") the same, if a rush had to wait for the latch.
MayGoOn == HasSleepers(word) /\ ~Has(word, {"LATCHED"})
GoesOnWithRush(t) == MayGoOn /\ (pc[t] = "rush" \/ Has(word, {"RUSH"})) /\ node[called[t]].is_notified /\ ~Has(word, {"LOCKED"})

latch_in_a_rush(t) ==
  /\ pc[t] \in {"rush", "look"} /\ GoesOnWithRush(t)
  /\ Writes(With(word, {"LATCHED"}))
  /\ Goes(t, "call_beside")
  /\ UNCHANGED notes /\ OnlyWord

end_rush(t) ==
  /\ pc[t] \in {"rush", "look"} /\ ~GoesOnWithRush(t)
  /\ IF pc[t] = "rush" /\ MayGoOn /\ ~IsAnybodyUp(word) THEN Writes(With(word, {"RUSH"})) ELSE UNCHANGED word
  /\ Goes(t, "grant")
  /\ UNCHANGED notes /\ OnlyWord

\* The wait of a sleeper has timed out. Whether it has been called is settled while it holds the latch.
latch_self(t) ==
  /\ pc[t] = "asleep" /\ Knows(t, "past")
  /\ ~Has(word, {"LATCHED"})
  /\ Flips(With(word, {"LATCHED"}))
  /\ Goes(t, IF IsQuiet(word) /\ Bug # "latches_in_quiet" THEN "asleep" ELSE IF node[t].is_called /\ Bug # "leaves_although_called" THEN "unlatch" ELSE "detach")
  /\ UNCHANGED notes /\ OnlyWord

latch(t) == latch_self(t) \/ latch_in_a_rush(t)

\* Called already, perhaps without a seat: then it calls another if nobody else would, before it waits for its own grant.
unlatch(t) ==
  /\ pc[t] = "unlatch"
  /\ IF MustCall(word) /\ Bug # "unlatches_quietly"
     THEN Goes(t, "call_another") /\ Notes(t, "awaits") /\ UNCHANGED <<word, node>>
     ELSE /\ Writes(Unlatched(word))
          /\ IF node[t].is_granted THEN Goes(t, Up(t)) /\ GetsUp(t) ELSE Goes(t, "await_grant") /\ UNCHANGED node
          /\ UNCHANGED notes
  /\ UNCHANGED <<called, behind, left, due>>

grant(t) ==
  /\ pc[t] = "grant"
  /\ node' = [node EXCEPT ![called[t]].is_granted = TRUE]
  /\ Goes(t, "wake_sleeper")
  /\ UNCHANGED <<word, notes, called, behind, left, due>>

wake_sleeper(t) ==
  /\ pc[t] = "wake_sleeper"
  /\ LET n_left == IF Knows(t, "past") THEN LeftAfter(t) ELSE left[t]
         wakes == IsGranted(called[t])
         is_over == behind[t] = Nobody
         awaits == is_over /\ Knows(t, "awaits")
         GoesTo == IF ~is_over THEN "rush"
                   ELSE IF awaits THEN IF node[t].is_granted THEN Up(t) ELSE "await_grant"
                   ELSE Resting(t, n_left)
     IN /\ left' = IF is_over /\ ~awaits THEN [left EXCEPT ![t] = n_left] ELSE left
        /\ pc' = [u \in Threads |-> IF u = t THEN GoesTo ELSE IF wakes /\ u = called[t] THEN Up(u) ELSE pc[u]]
        /\ node' = [u \in Threads |-> IF (wakes /\ u = called[t]) \/ (u = t /\ awaits /\ node[t].is_granted) THEN Blank
                                      ELSE node[u]]
        /\ notes' = IF ~is_over THEN notes
                    ELSE [notes EXCEPT ![t] = IF awaits THEN @ \ {"awaits"} ELSE {}]
  /\ called' = [called EXCEPT ![t] = behind[t]]
  /\ behind' = [behind EXCEPT ![t] = Nobody]
  /\ UNCHANGED <<word, due>>

-----------------------------------------------------------------------------------------------------------------
(* Time and the operating system. *)

\* A wait that ends at the deadline finds what it waited for.
time_out(t) ==
  /\ Knows(t, "past")
  /\ \/ pc[t] = "nap" /\ Goes(t, "rise") /\ UNCHANGED node
     \/ pc[t] = "asleep" /\ node[t].is_granted /\ Goes(t, Up(t)) /\ GetsUp(t)
  /\ UNCHANGED <<word, notes, called, behind, left, due>>

expire(t) ==
  /\ t \in Timed /\ ~Knows(t, "past")
  /\ pc[t] \in {"slow", "deck", "nap", "asleep"}
  /\ Notes(t, "past")
  /\ UNCHANGED <<word, pc>> /\ OnlyWord

\* A sleeper that is not granted goes back to sleep.
spurious(t) ==
  /\ Spurious
  /\ \/ pc[t] = "nap" /\ Goes(t, "rise") /\ UNCHANGED node
     \/ IsGranted(t) /\ Goes(t, Up(t)) /\ GetsUp(t)
  /\ UNCHANGED <<word, notes, called, behind, left, due>>

rotate ==
  /\ Rotation = "clock" /\ ~due
  /\ due' = TRUE
  /\ UNCHANGED <<word, node, pc, notes, called, behind, left>>

-----------------------------------------------------------------------------------------------------------------

\* not modelled: summon: of the condition variable, see ondeck_condvar.tla
\* not modelled: withdraw: of the condition variable, see ondeck_condvar.tla
\* not modelled: enlist: of the condition variable, see ondeck_condvar.tla
\* not modelled: invite: of the condition variable, see ondeck_condvar.tla
\* not modelled: send_alone: of the condition variable, see ondeck_condvar.tla

Step(t) ==
  \/ grab(t) \/ return(t) \/ look(t) \/ claim(t) \/ enqueue(t) \/ knock(t) \/ expel(t) \/ settle(t)
  \/ accept(t) \/ take(t) \/ ask(t) \/ nap(t) \/ rise(t) \/ wake_other(t) \/ leave(t) \/ show_up(t)
  \/ burn(t) \/ slip(t) \/ hush(t) \/ touch(t) \/ wake_deck(t)
  \/ \E is_fair \in {FALSE, FairRelease} :
       pass_on(t, is_fair) \/ pass(t, is_fair) \/ rouse(t, is_fair) \/ hurry(t, is_fair) \/ call_up(t, is_fair)
       \/ vacate(t, is_fair)
  \/ detach(t) \/ latch(t) \/ end_rush(t) \/ unlatch(t) \/ grant(t) \/ wake_sleeper(t) \/ time_out(t)

AllDone == \A t \in Threads : pc[t] = "done"
Terminated == AllDone /\ UNCHANGED vars

Next == (\E t \in Threads : Step(t) \/ expire(t) \/ spurious(t) \/ is_ended(t)) \/ rotate \/ Terminated

\* Each thread that can go on does.
Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

\* Time goes on as well: rotations fall due, and an occupant with reason to ask does so.
TimedSpec == Spec /\ WF_vars(rotate) /\ \A t \in Threads : WF_vars(ask(t))

\* And nobody loses every race: an arrival that could go to the dugout again and again does, as does one that could sit
\* down, and who could accept a pass again and again accepts one.
SitsDown(t) == claim(t) /\ ~Has(word, {"DECK"})
RacingSpec ==
  /\ TimedSpec
  /\ \A t \in Threads \ Endless : SF_vars(enqueue(t)) /\ SF_vars(SitsDown(t))
  /\ \A t \in Threads : SF_vars(accept(t))

Symmetry == Permutations(Endless) \cup Permutations(Threads \ Endless)

-----------------------------------------------------------------------------------------------------------------
(* Invariants. *)

At(places) == {t \in Threads : pc[t] \in places}

Places == {"idle", "slow", "claim", "deck", "nap", "rise", "wake_other", "asleep", "detach", "unlatch", "await_grant",
           "show_up", "settle", "inside", "saw_quiet", "slips", "burnt", "call", "call_another", "call_beside", "wake_and_call", "rush", "look", "grant", "wake_sleeper", "wake_deck", "touch", "done"}

TypeOk ==
  /\ word \in [head : Threads \cup {Nobody}, flags : SUBSET Flags]
  /\ \A t \in Threads :
       /\ node[t] \in [next : Threads \cup {Nobody}, prev : Threads \cup {Nobody}, tail : Threads \cup {Nobody},
                       is_called : BOOLEAN, is_alone : BOOLEAN, is_notified : BOOLEAN, is_granted : BOOLEAN, skipped : 0..MostSkips]
       /\ pc[t] \in Places
       /\ notes[t] \subseteq {"past", "called", "asked", "napped", "retired", "awaits"}
       /\ called[t] \in Threads \cup {Nobody} /\ behind[t] \in Threads \cup {Nobody}
       /\ left[t] \in 0..MaxAcquires
  /\ due \in BOOLEAN

Holders == At({"inside", "saw_quiet", "slips", "burnt"})
MutualExclusion == Cardinality(Holders) <= 1

\* I1
AsNumber(b) == IF b THEN 1 ELSE 0
LockedIsExact == Cardinality(Holders) + AsNumber(Has(word, {"PASSED"})) = AsNumber(Has(word, {"LOCKED"}))

\* I4, and what the other flags say of the seats.
Occupants == At({"deck", "nap", "rise", "wake_other"})
IsInDugout(t) == pc[t] \in {"asleep", "unlatch", "await_grant"} \/ Knows(t, "awaits")
OnTheWay == At({"show_up"}) \cup {t \in Threads : IsInDugout(t) /\ node[t].is_called /\ ~node[t].is_alone}
SeatsAre(on_the_way) ==
  /\ Cardinality(Occupants \cup on_the_way) = AsNumber(Has(Loud(word), {"DECK"})) + AsNumber(Has(word, {"SECOND"}))
  /\ Cardinality(on_the_way) = AsNumber(Has(word, {"FLIGHT"}))
  /\ Has(word, {"FLIGHT", "SECOND"}) => Has(word, {"DECK"})
  /\ Has(word, {"FAIR", "NAPPING"}) => IsAnybodyUp(word)
  /\ Has(word, {"PASSED"}) => Has(word, {"DECK", "LATCHED"})
SeatState == SeatsAre(OnTheWay)

\* Of two, one has come by itself, unless the lock is passed: so one leaves, and one stays.
OneStays == Has(word, {"SECOND"}) /\ ~Has(word, {"PASSED"}) =>
              Cardinality({t \in Occupants : ~Knows(t, "called")}) = 1

\* I6
Latched ==
  /\ Cardinality(At({"call", "call_another", "call_beside", "wake_and_call", "detach", "unlatch"})) = AsNumber(Has(Loud(word), {"LATCHED"}))
  /\ At({"call", "call_another", "call_beside", "wake_and_call", "detach"}) # {} => HasSleepers(word)

\* The list is what the word leads to: each sleeper that has not been called, once; links towards newer sleepers are
\* right from the anchor on.
DugoutIs(sleepers) ==
  LET list == Dugout
      listed == {list[i] : i \in DOMAIN list}
      anchor == Anchor(list)
  IN /\ Len(list) = Cardinality(listed)
     /\ listed = sleepers
     /\ Cardinality({t \in Threads : node[t].tail # Nobody}) <= 1
     /\ anchor # 0 => /\ node[list[anchor]].tail = list[Len(list)]
                      /\ \A i \in (anchor + 1)..Len(list) : node[list[i]].prev = list[i - 1]
     /\ \A t \in Threads \ listed : node[t].next = Nobody /\ node[t].prev = Nobody /\ node[t].tail = Nobody
Sleepers == {t \in At({"asleep", "detach"}) : ~node[t].is_called}
DugoutIsDescribed == DugoutIs(Sleepers)

\* A node is touched while its thread is in the frame that holds it, and granted once.
IsCalledOnly(c) == IsInDugout(c) /\ node[c].is_called /\ ~node[c].is_granted
NodesAreAlive ==
  /\ \A t \in At({"grant", "rush", "look"}) : IsCalledOnly(called[t])
  /\ \A t \in Threads : behind[t] # Nobody => IsCalledOnly(behind[t])

\* I2: a free lock with sleepers has somebody who will act.
SomebodyWillCall == HasSleepers(word) /\ ~Has(word, {"LOCKED"}) => Has(word, {"DECK", "LATCHED"})

\* I9: what is asked of the next release is told by the alarm, but to who has heard it already. Whoever makes a pass its own
\* compares what it writes over.
AlarmIsHeard == Asks(word) /\ ~Has(word, {"PASSED"}) /\ At({"burnt"}) = {} => Has(word, {"ALARM"})

\* Who naps is woken by the release of the holder, or somebody is about to.
SomebodyWillRouse ==
  At({"nap"}) # {} => \/ Has(word, {"NAPPING"}) /\ Has(word, {"LOCKED"}) /\ ~Has(word, {"PASSED"})
                     \/ At({"wake_deck", "wake_other", "wake_and_call"}) # {}

IsCalledBySomebody(t) ==
  \/ \E u \in At({"rush", "look", "call_beside", "grant", "wake_sleeper"}) : called[u] = t
  \/ \E u \in Threads : behind[u] = t

NoLostWakeup ==
  /\ SomebodyWillCall
  /\ SomebodyWillRouse
  /\ \A t \in At({"asleep", "await_grant"}) :
       node[t].is_called => IsCalledBySomebody(t)

\* With the last share the lock is gone. Who has made its releasing write may wake by address and do nothing else.
IsFreed == \A t \in Threads : left[t] = 0
NobodyTouchesFreed == IsFreed => \A t \in Threads : pc[t] \in {"wake_sleeper", "wake_deck", "done"}

\* I7
IsAtRest == AllDone => Without(Loud(word), {"ALARM", "RUSH"}) = [head |-> Nobody, flags |-> {}]

\* I10: a slip under way overwrites nothing but a knock, and whoever relies on the next release has made the lock loud.
QuietIsAsked(t) == pc[t] \in {"deck", "nap", "rise", "wake_other", "show_up", "detach", "unlatch"}
IsQuietAlone ==
  /\ At({"slips"}) # {} => IsQuiet(word) /\ Has(word, {"LOCKED"})
  /\ IsQuiet(word) => \A t \in Threads : ~QuietIsAsked(t)

-----------------------------------------------------------------------------------------------------------------
(* Liveness. *)

Termination == <>AllDone

\* Whoever waits for its only acquisition while others acquire for ever is inside sooner or later.
Waiting(t) == pc[t] \in {"slow", "settle", "claim", "deck", "nap", "rise", "wake_other", "asleep", "show_up"}
Served == \A t \in Threads \ Endless : Waiting(t) ~> pc[t] = "inside"
=================================================================================================================
