-------------------------------------------- MODULE ondeck_condvar --------------------------------------------
(* The condition variable of crates/core/src/ondeck/condvar.rs on top of its lock, the module ondeck: waiters that are
   moved to the dugout of the lock. Actions have the names of the steps in the lock's header.

   MODELLED. One lock, one condition variable. Waiters acquire the lock, wait unless they find what they wait for, and
   acquire it again; some have a deadline for the wait. Notifiers acquire the lock, make it so, and notify one or all,
   before or after their release; so a waiter may be moved, called, and even call itself, while it still holds the lock
   or is on its way out of it. The places of a waiter, the list, its lock, the chain of detached waiters.

   OUTSIDERS. A waiter may begin its wait without holding the lock: POSIX leaves that undefined, and programs do it. An
   outsider may begin at any time, whoever holds the lock. Its record has no reference to the lock. So it releases
   nothing, and a notifier sends it ALONE. Then it acquires the lock as an arrival does.

   An outsider checks nothing under the lock. So it may lawfully miss a notification that comes before it has joined.
   Such a miss must not look like a lost wake-up: a notifier waits until all outsiders without a deadline have joined.
   It does not wait for outsiders with a deadline. These may come late, so their deadline comes sooner or later
   (`CvSpec`).

   BYSTANDERS acquire and release the lock, some with a deadline for that. One that has been called alone, past its deadline, may
   hold the latch while nobody sleeps; so an invitation looks for that. With `Rushes` a bystander that sleeps may
   be one that has been notified, as if there were a second condition variable.

   GRAIN. As in the module ondeck. Under the list's lock
   only `summon` is apart from the release of that lock; `append` and `unlink` are one action each, since the lock
   excludes all who could see more. A waiter sleeps from its release on. An outsider may be granted before it sleeps.

   NOT MODELLED. The list's lock as a lock of this kind: it excludes, which the module ondeck shows. ALONE of waiters
   that have held the lock, whose nodes are beyond 2^48. What a program's mutex does beside its lock when an outsider
   unlocks it. Waiters of several locks. A stale
   look at `oldest` without the list's lock: it is ordered by the lock, as the header argues.

   BOUNDS, and distinct states found by TLC 2.15 (with symmetry, where no property is checked):

   | config                   | waiters (with a deadline), notifiers                  | states |
   |---|---|---|
   | safety                   | 2 (1), 1 of all, all features                         | 21 868 |
   | safety_one_each          | 2 (1), 2 of one each, nobody asks                     | 48 202 |
   | safety_three_waiters     | 3, 1 of all                                           | 82 103 |
   | safety_latched           | 1, 1 of all, 2 bystanders (1), notified               | 356 425 |
   | safety_quiet             | 2, 1 of all, a bystander, becomes quiet               | 93 290 |
   | safety_outsider          | 1 and an outsider (1), 1 of all, all features         | 8 475  |
   | safety_outsider_one_each | 1 and an outsider (1), 2 of one each, nobody asks     | 22 611 |
   | safety_outsiders         | 1 and 2 outsiders, 1 of all                           | 12 157 |
   | liveness                 | 2 (1), 1 of all                                       | 9 656  |
   | liveness_outsider        | 1 and an outsider, 1 of all                           | 1 469  |
   | liveness_outsider_late   | 1 and an outsider (1), 1 of all                       | 4 177  | *)

EXTENDS ondeck

CONSTANTS
  Waiters,    \* Threads that wait.
  Notifiers,  \* Threads that notify.
  Bystanders, \* Threads that only acquire the lock.
  Outsiders,  \* Waiters that do not hold the lock when they begin to wait.
  Hasty,      \* Waiters that give up waiting after a while.
  NotifyAll,  \* Whether each notifier notifies all, or one.
  CvBug       \* A seeded mistake, or "none".

VARIABLES
  stage,      \* how far each thread is with its waiting or notifying
  place,      \* place of each waiter's record
  waiting,    \* the waiters in the list, oldest first
  chain,      \* the waiters that a notifier has detached and not moved yet
  list_lock,  \* who holds the list's lock between two actions
  ready       \* what the waiters wait for

cv == <<stage, place, waiting, chain, list_lock, ready>>
cv_vars == <<vars, cv>>

CvBugs == {"none", "summons_the_leaving", "enlists_alone", "enlists_quietly", "grants_under_list_lock",
           "invites_without_a_call", "forgets_the_grant", "invites_beside", "invites_a_latched", "enlists_in_quiet",
           "settles_for_others"}

ASSUME /\ Threads = Waiters \cup Notifiers \cup Bystanders /\ Hasty \cup Outsiders \subseteq Waiters
       /\ Cardinality(Threads) = Cardinality(Waiters) + Cardinality(Notifiers) + Cardinality(Bystanders)
       /\ Timed \subseteq Bystanders /\ Endless = {} /\ MaxAcquires = 2
       /\ CvBug \in CvBugs

CvInit ==
  /\ word = [head |-> Nobody, flags |-> {}]
  /\ node = [t \in Threads |-> Blank]
  /\ pc = [t \in Threads |-> "idle"]
  /\ notes = [t \in Threads |-> {}]
  /\ called = [t \in Threads |-> Nobody]
  /\ behind = [t \in Threads |-> Nobody]
  /\ left = [t \in Threads |-> IF t \in Waiters \ Outsiders THEN 2 ELSE 1]
  /\ due = FALSE
  /\ stage = [t \in Threads |-> IF t \in Bystanders THEN "told" ELSE "first"]
  /\ place = [t \in Threads |-> "none"]
  /\ waiting = <<>>
  /\ chain = [t \in Threads |-> <<>>]
  /\ list_lock = Nobody
  /\ ready = FALSE

Reaches(t, s) == stage' = [stage EXCEPT ![t] = s]
Without1(seq, t) == SelectSeq(seq, LAMBDA u : u # t)

\* Has no reference to the lock.
HasNoLock(t) == t \in Outsiders

\* An outsider that has not joined yet.
IsOutside(t) == t \in Outsiders /\ stage[t] \in {"first", "expecting"}

\* The lock's steps of a thread that is neither asleep in the condition variable nor busy with it.
LockStep(t) ==
  /\ ~(pc[t] = "idle" /\ (IsOutside(t) \/ stage[t] \in {"waiting", "sleeping", "leaving"}))
  /\ ~(pc[t] = "inside" /\ stage[t] \in {"first", "expecting"})
  /\ stage[t] \notin {"unlock", "enlist", "settle", "grant", "wake"}
  /\ Step(t) \/ spurious(t)
  /\ UNCHANGED cv

-----------------------------------------------------------------------------------------------------------------
(* Waiters. *)

\* Who finds what it wants does not wait.
check(t) ==
  /\ t \in Waiters \ Outsiders /\ stage[t] = "first" /\ pc[t] = "inside"
  /\ Reaches(t, IF ready THEN "told" ELSE "expecting")
  /\ UNCHANGED <<vars, place, waiting, chain, list_lock, ready>>

append(t) ==
  /\ stage[t] = (IF HasNoLock(t) THEN "first" ELSE "expecting") /\ list_lock = Nobody
  /\ Reaches(t, "waiting")
  /\ place' = [place EXCEPT ![t] = "queued"]
  /\ waiting' = Append(waiting, t)
  /\ UNCHANGED <<vars, chain, list_lock, ready>>

IsDetached(t) == \E n \in Notifiers : \E i \in DOMAIN chain[n] : chain[n][i] = t

\* A waiter that was moved before it slept looks at its grant.
sleep(t) ==
  /\ pc[t] = "idle" /\ stage[t] = "waiting" /\ place[t] = "moving"
  /\ node[t].is_granted \/ ~IsDetached(t)
  /\ IF node[t].is_granted THEN Goes(t, Up(t)) /\ GetsUp(t) ELSE Goes(t, "asleep") /\ UNCHANGED node
  /\ UNCHANGED <<word, notes, called, behind, left, due, cv>>

\* An outsider, or who has been sent alone before it slept, looks at its grant, wherever its record is, and sleeps or acquires
\* the lock next.
sleep_outside(t) ==
  /\ (HasNoLock(t) \/ (place[t] = "alone" /\ pc[t] = "idle")) /\ stage[t] = "waiting"
  /\ IF node[t].is_granted THEN Reaches(t, "told") /\ GetsUp(t) ELSE Reaches(t, "sleeping") /\ UNCHANGED node
  /\ UNCHANGED <<word, pc, notes, called, behind, left, due, place, waiting, chain, list_lock, ready>>

\* The deadline. It comes too late for who has been summoned, who then waits without one.
withdraw(t) ==
  /\ t \in Hasty /\ pc[t] = "idle" /\ place[t] = "queued"
  /\ place' = [place EXCEPT ![t] = "leaving"]
  /\ Reaches(t, "leaving")
  /\ UNCHANGED <<vars, waiting, chain, list_lock, ready>>

unlink(t) ==
  /\ stage[t] = "leaving" /\ list_lock = Nobody
  /\ waiting' = Without1(waiting, t)
  /\ place' = [place EXCEPT ![t] = "none"]
  /\ Reaches(t, "told")
  /\ UNCHANGED <<vars, chain, list_lock, ready>>

-----------------------------------------------------------------------------------------------------------------
(* Notifiers. *)

make_ready(n) ==
  /\ n \in Notifiers /\ pc[n] = "inside" /\ stage[n] = "first"
  /\ ready' = TRUE
  /\ Reaches(n, "notify")
  /\ UNCHANGED <<vars, place, waiting, chain, list_lock>>

IsQueued(t) == place[t] = "queued" \/ (CvBug = "summons_the_leaving" /\ place[t] = "leaving")

\* RawCondvar::detach, up to the release of the list's lock.
summon(n) ==
  /\ stage[n] = "notify" /\ pc[n] \in {"inside", "done"}
  /\ \A t \in Outsiders \ Hasty : ~IsOutside(t)
  /\ IF waiting = <<>> THEN Reaches(n, "told") /\ UNCHANGED <<place, waiting, chain, list_lock>>
     ELSE /\ list_lock = Nobody
          /\ LET queued == SelectSeq(waiting, IsQueued)
                 summoned == IF NotifyAll \/ queued = <<>> THEN queued ELSE <<Head(queued)>>
                 all == {summoned[i] : i \in DOMAIN summoned}
             IN /\ chain' = [chain EXCEPT ![n] = summoned]
                /\ place' = [t \in Threads |-> IF t \in all THEN "moving" ELSE place[t]]
                /\ waiting' = SelectSeq(waiting, LAMBDA t : t \notin all)
          /\ list_lock' = n
          /\ Reaches(n, IF CvBug = "grants_under_list_lock" THEN "enlist" ELSE "unlock")
  /\ UNCHANGED <<vars, ready>>

unlock_list(n) ==
  /\ \/ stage[n] = "unlock"
     \/ CvBug = "grants_under_list_lock" /\ stage[n] = "enlist" /\ chain[n] = <<>>
  /\ list_lock' = Nobody
  /\ Reaches(n, IF chain[n] = <<>> THEN "told" ELSE "enlist")
  /\ UNCHANGED <<vars, place, waiting, chain, ready>>

\* The record is moved: asleep on its node from now on, if it slept.
Moves(t) == pc' = [pc EXCEPT ![t] = IF @ = "idle" THEN "asleep" ELSE @]
NextStage(n) == IF Len(chain[n]) = 1 /\ list_lock # n THEN "told" ELSE "enlist"
GoesOn(n) == Reaches(n, NextStage(n))

\* Somebody will call whoever is pushed.
IsSeenTo ==
  \/ Has(word, {"LOCKED"}) \/ ~IsAlone(Loud(word)) \/ CvBug = "enlists_alone"

\* Has to move a waiter to the lock.
IsMoving(n) == stage[n] = "enlist" /\ chain[n] # <<>> /\ ~HasNoLock(Head(chain[n]))

\* Of a quiet lock nothing can be asked, so the notifier makes it loud, with the waiter's node as its token. It may be the holder.
knock_for(n) ==
  /\ IsMoving(n) /\ IsQuiet(word) /\ Has(word, {"LOCKED"})
  /\ LET t == Head(chain[n])
     IN IF word.head # t THEN Flips(Knocked(t)) /\ UNCHANGED <<pc, stage>>
        ELSE /\ pc' = [u \in Threads |-> IF pc[u] = "slips" THEN "burnt" ELSE pc[u]]
             /\ Reaches(n, "settle") /\ UNCHANGED word
  /\ UNCHANGED <<node, notes, called, behind, left, due, place, waiting, chain, list_lock, ready>>

settle_for(n) ==
  /\ stage[n] = "settle"
  /\ IF IsQuiet(word) /\ Has(word, {"LOCKED"}) /\ (word.head = Head(chain[n]) \/ CvBug = "settles_for_others")
     THEN Flips(Loud(word)) ELSE UNCHANGED word
  /\ Reaches(n, "enlist")
  /\ UNCHANGED <<node, pc, notes, called, behind, left, due, place, waiting, chain, list_lock, ready>>

enlist(n) ==
  /\ IsMoving(n)
  /\ ~IsQuiet(word) \/ (CvBug = "enlists_in_quiet" /\ Has(word, {"LOCKED"}))
  /\ IsSeenTo
  /\ \E hurries \in BOOLEAN :
     LET t == Head(chain[n])
     IN /\ hurries => Has(word, {"LOCKED"}) \/ CvBug = "enlists_alone"
        /\ node' = [node EXCEPT ![t] = [Blank EXCEPT !.next = Loud(word).head, !.is_notified = TRUE]]
        /\ LET pushed == With([word EXCEPT !.head = t], IF hurries THEN {"RUSH"} ELSE {})
           IN IF CvBug = "enlists_quietly" THEN Flips(pushed) ELSE Writes(pushed)
        /\ Moves(t)
  /\ chain' = [chain EXCEPT ![n] = Tail(@)]
  /\ GoesOn(n)
  /\ UNCHANGED <<notes, called, behind, left, due, place, waiting, list_lock, ready>>

\* A latch over an empty list is that of a sleeper that has been called alone, past its deadline.
invite(n) ==
  /\ IsMoving(n)
  /\ ~Has(Loud(word), {"LATCHED"}) \/ CvBug = "invites_a_latched"
  /\ ~IsSeenTo \/ (CvBug = "invites_beside" /\ ~Has(word, {"LOCKED"}))
  /\ LET t == Head(chain[n])
     IN /\ node' = [node EXCEPT ![t].is_called = TRUE]
        /\ Moves(t)
  /\ Writes(IF CvBug = "invites_without_a_call" THEN With(word, {"DECK"}) ELSE Called(Loud(word)))
  /\ due' = FALSE
  /\ Reaches(n, "grant")
  /\ UNCHANGED <<notes, called, behind, left, place, waiting, chain, list_lock, ready>>

grant_invited(n) ==
  /\ stage[n] = "grant" /\ place[Head(chain[n])] # "alone"
  /\ node' = [node EXCEPT ![Head(chain[n])].is_granted = TRUE]
  /\ Reaches(n, "wake")
  /\ UNCHANGED <<word, pc, notes, called, behind, left, due, place, waiting, chain, list_lock, ready>>

wake_invited(n) ==
  /\ stage[n] = "wake" /\ place[Head(chain[n])] # "alone"
  /\ LET t == Head(chain[n])
     IN IF IsGranted(t) THEN Goes(t, Up(t)) /\ GetsUp(t) ELSE UNCHANGED <<pc, node>>
  /\ chain' = [chain EXCEPT ![n] = Tail(@)]
  /\ GoesOn(n)
  /\ UNCHANGED <<word, notes, called, behind, left, due, place, waiting, list_lock, ready>>

\* To an outsider; and to anybody if the lock is free, but somebody has a seat, sleeps, or has the latch. The word is not touched. The grant and
\* the wake follow.
send_alone(n) ==
  /\ stage[n] = "enlist" /\ chain[n] # <<>>
  /\ \/ HasNoLock(Head(chain[n]))
     \/ ~Has(word, {"LOCKED"}) /\ ~IsAlone(Loud(word)) /\ CvBug # "invites_beside"
     \/ ~Has(word, {"LOCKED"}) /\ Has(Loud(word), {"LATCHED"}) /\ CvBug # "invites_a_latched"
  /\ place' = [place EXCEPT ![Head(chain[n])] = "alone"]
  /\ Reaches(n, "grant")
  /\ UNCHANGED <<vars, waiting, chain, list_lock, ready>>

grant_alone(n) ==
  /\ stage[n] = "grant" /\ place[Head(chain[n])] = "alone"
  /\ node' = [node EXCEPT ![Head(chain[n])].is_granted = CvBug # "forgets_the_grant"]
  /\ Reaches(n, "wake")
  /\ UNCHANGED <<word, pc, notes, called, behind, left, due, place, waiting, chain, list_lock, ready>>

wake_alone(n) ==
  /\ stage[n] = "wake" /\ place[Head(chain[n])] = "alone"
  /\ LET t == Head(chain[n])
         wakes == stage[t] = "sleeping" /\ node[t].is_granted
     IN /\ stage' = [stage EXCEPT ![t] = IF wakes THEN "told" ELSE @, ![n] = NextStage(n)]
        /\ IF wakes THEN GetsUp(t) ELSE UNCHANGED node
  /\ chain' = [chain EXCEPT ![n] = Tail(@)]
  /\ UNCHANGED <<word, pc, notes, called, behind, left, due, place, waiting, list_lock, ready>>

-----------------------------------------------------------------------------------------------------------------

CvStep(t) ==
  \/ LockStep(t)
  \/ check(t) \/ append(t) \/ sleep(t) \/ sleep_outside(t) \/ unlink(t)
  \/ make_ready(t) \/ summon(t) \/ unlock_list(t) \/ knock_for(t) \/ settle_for(t) \/ enlist(t) \/ invite(t) \/ grant_invited(t) \/ wake_invited(t)
  \/ send_alone(t) \/ grant_alone(t) \/ wake_alone(t)

CvDone == AllDone /\ \A n \in Notifiers : stage[n] = "told"
CvNext == (\E t \in Threads : CvStep(t) \/ withdraw(t) \/ ((expire(t) \/ is_ended(t)) /\ UNCHANGED cv)) \/ (CvDone /\ UNCHANGED cv_vars)
CvSpec ==
  /\ CvInit /\ [][CvNext]_cv_vars
  /\ \A t \in Threads : WF_cv_vars(CvStep(t))
  /\ \A t \in Outsiders \cap Hasty : WF_cv_vars(withdraw(t))

-----------------------------------------------------------------------------------------------------------------
(* Invariants. *)

CvTypeOk ==
  /\ TypeOk
  /\ \A t \in Threads :
       /\ stage[t] \in {"first", "expecting", "waiting", "sleeping", "leaving", "notify", "unlock", "enlist", "settle", "grant",
                        "wake", "told"}
       /\ place[t] \in {"none", "queued", "leaving", "moving", "alone"}
       /\ stage[t] = "sleeping" => HasNoLock(t) \/ place[t] = "alone"
       /\ \A i \in DOMAIN chain[t] : chain[t][i] \in Waiters
  /\ \A i \in DOMAIN waiting : waiting[i] \in Waiters
  /\ list_lock \in Threads \cup {Nobody} /\ ready \in BOOLEAN

\* Invited or sent alone, and not woken yet.
IsAt(n, t) == chain[n] # <<>> /\ Head(chain[n]) = t /\ stage[n] \in {"grant", "wake"}
IsInvited(t) == \E n \in Notifiers : IsAt(n, t)

\* The list is what the places say, and each waiter is in one place.
ListIsDescribed ==
  /\ {waiting[i] : i \in DOMAIN waiting} = {t \in Waiters : place[t] \in {"queued", "leaving"}}
  /\ Len(waiting) = Cardinality({waiting[i] : i \in DOMAIN waiting})
  /\ \A t \in Waiters : IsDetached(t) => place[t] \in (IF IsInvited(t) THEN {"moving", "alone"} ELSE {"moving"})
  /\ \A n, m \in Notifiers : n # m => \A i \in DOMAIN chain[n], j \in DOMAIN chain[m] : chain[n][i] # chain[m][j]

\* In the dugout or called, but not yet asleep: still inside, or on its way out.
IsEarly(t) ==
  /\ place[t] = "moving" /\ (IsDetached(t) => IsInvited(t))
  /\ \/ left[t] = 2 /\ pc[t] \in {"inside", "burnt"}
     \/ left[t] = 1 /\ stage[t] = "waiting" /\ pc[t] \in {"call", "call_another", "call_beside", "wake_and_call", "rush", "look", "grant", "wake_sleeper", "wake_deck", "idle"}
Early == {t \in Waiters : IsEarly(t)}

CvSeatState == SeatsAre(OnTheWay \cup {t \in Early : node[t].is_called /\ ~node[t].is_alone})
CvDugoutIsDescribed == DugoutIs(Sleepers \cup {t \in Early : ~node[t].is_called})

\* A record is touched while its thread is in the frame that holds it.
CvNodesAreAlive ==
  LET IsAsleep(t) == (IsInDugout(t) \/ t \in Early) /\ node[t].is_called
      IsApart(t) == place[t] = "alone" /\ stage[t] \in {"waiting", "sleeping"}
      IsAlive(t) == (IsAsleep(t) \/ IsApart(t)) /\ ~node[t].is_granted
  IN /\ \A t \in At({"grant", "rush", "look"}) : IsAlive(called[t])
     /\ \A t \in Threads : behind[t] # Nobody => IsAlive(behind[t])
     /\ \A n \in Notifiers : stage[n] = "grant" => IsAlive(Head(chain[n]))
     /\ \A t \in Waiters : IsDetached(t) /\ ~IsInvited(t) => stage[t] \in {"waiting", "sleeping"} /\ left[t] >= 1

CvNoLostWakeup ==
  /\ SomebodyWillCall
  /\ SomebodyWillRouse
  /\ \A t \in At({"asleep", "await_grant"}) :
       node[t].is_called => IsCalledBySomebody(t) \/ IsInvited(t)
  /\ \A t \in Waiters : stage[t] = "sleeping" /\ place[t] # "queued" => IsDetached(t)

\* Once all notifiers have notified all, nobody waits to be notified but who may have come late.
NoLostNotification ==
  NotifyAll /\ (\A n \in Notifiers : stage[n] = "told") =>
    \A t \in Waiters \ (Outsiders \cap Hasty) : place[t] # "queued"

\* No notification is spent on a thread that reports a timeout.
NoneIsWasted ==
  \A t \in Waiters : /\ place[t] = "moving" => stage[t] \in {"waiting", "sleeping"}
                     /\ place[t] = "alone" => stage[t] \in {"waiting", "sleeping", "told"}

\* When the last waiter has returned from its wait, and each notifier has begun, it may free the condition variable.
HasReturned(t) ==
  stage[t] = "told" \/ left[t] = 0 \/ (stage[t] = "waiting" /\ left[t] = 1 /\ t \in Holders)
NobodyTouchesFreedCondvar ==
  LET IsFree == /\ \A t \in Waiters : HasReturned(t)
                /\ \A n \in Notifiers : stage[n] \notin {"first", "notify"}
  IN IsFree => list_lock = Nobody

\* The same for the lock, when the last waiter has released it.
NobodyMovesToFreed == IsFreed => \A n \in Notifiers : stage[n] \notin {"enlist", "grant"}

CvSymmetry ==
  UNION {Permutations(same) : same \in {Notifiers, Timed, Bystanders \ Timed, Hasty \cap Outsiders, Hasty \ Outsiders, Outsiders \ Hasty,
                                         Waiters \ (Hasty \cup Outsiders)}}

CvTermination == <>CvDone
=================================================================================================================
