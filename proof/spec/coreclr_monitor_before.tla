---------------------------- MODULE coreclr_monitor_before ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/coreclr_monitor_before.rs, with the thin   *)
(* form of thin.rs in front and the event of event.rs.                     *)
(*                                                                         *)
(* Modelled: the thin word (owner, depth, LATCHED, FAT), the way from the  *)
(* thin to the fat form while others enter, nest and leave, the fat word   *)
(* (HELD and the number of waiters), its holder, the event that resets     *)
(* itself, deadlines, and attempts of spinners that are really counted.    *)
(*                                                                         *)
(* Grain: a look and the compare-exchange that follows are one action, for *)
(* that one fails if the look was out of date. The event goes to the       *)
(* oldest sleeper in the moment in which it is set, or stays set if nobody *)
(* sleeps. The holder of the fat form is written together with the *)
(* word, since others only ask whether it is themselves. Actions whose     *)
(* names begin with a capital are no steps: they read, touch what only the *)
(* holder touches, or are what the environment does.                       *)
(*                                                                         *)
(* Not modelled: memory orderings (loom has them); threads whose numbers   *)
(* the thin word cannot hold; the wait room of wait and pulse, which is    *)
(* modelled in monitor.tla.                                                *)
(*                                                                         *)
(* Bounds: each thread comes Rounds times, so that a lost wake-up is a     *)
(* deadlock; Endless lifts that bound. It enters up to Levels times each   *)
(* time, of which ThinLevels find room in the thin word.                   *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
    Threads,
    Nobody,      \* No thread.
    Timed,       \* The threads that have deadlines.
    Rounds,      \* How often each thread comes.
    Endless,     \* TRUE: there is no such bound.
    Levels,      \* How deep it nests at most.
    ThinLevels,  \* How deep the thin word can nest.
    SpinBudget,  \* Attempts of a spinner after which it inflates the lock; as many then before it registers.
    Bug          \* "none", or the seeded bug.

VARIABLES
    thin,        \* The thin word.
    copied,      \* What the holder of the latch has read in it.
    held,        \* The fat word: HELD,
    n_waiters,   \* and its count.
    holder,      \* Who is inside the fat form, and how often.
    event,       \* Whether it is set,
    sleepers,    \* who sleeps for it, oldest first,
    given,       \* and who was handed it.
    pc,          \* Where each thread is.
    depth,       \* How often each thread is inside, as it thinks itself.
    budget,      \* Attempts that a spinner has left.
    left         \* How often each thread will come.

the_event == <<event, sleepers, given>>

vars == <<thin, copied, held, n_waiters, holder, the_event, pc, depth, budget, left>>

ASSUME Timed \subseteq Threads /\ ThinLevels >= 1 /\ Levels >= 1

Symmetry == Permutations(Threads)

NotThere == [owner |-> Nobody, levels |-> 0]

RegisteredPlaces == {"park", "asleep", "reclaim", "unregister"}
Places == {"idle", "spin", "fatten", "copy", "spin_fat", "inside", "leave", "signal"} \cup RegisteredPlaces

At(t, places) == pc[t] \in places
Goes(t, place) == pc' = [pc EXCEPT ![t] = place]

TypeOk ==
    /\ thin \in [owner : Threads \cup {Nobody}, levels : 0..ThinLevels, is_latched : BOOLEAN, is_fat : BOOLEAN]
    /\ {copied, holder} \subseteq [owner : Threads \cup {Nobody}, levels : 0..Levels]
    /\ {held, event} \subseteq BOOLEAN
    /\ n_waiters \in 0..Cardinality(Threads)
    /\ Len(sleepers) <= Cardinality(Threads) /\ given \subseteq Threads
    /\ pc \in [Threads -> Places]
    /\ depth \in [Threads -> 0..Levels]
    /\ budget \in [Threads -> 0..SpinBudget]
    /\ left \in [Threads -> 0..Rounds]

Init ==
    /\ thin = [owner |-> Nobody, levels |-> 0, is_latched |-> FALSE, is_fat |-> FALSE]
    /\ copied = NotThere
    /\ held = FALSE
    /\ n_waiters = 0
    /\ holder = NotThere
    /\ event = FALSE /\ sleepers = <<>> /\ given = {}
    /\ pc = [t \in Threads |-> "idle"]
    /\ depth = [t \in Threads |-> 0]
    /\ budget = [t \in Threads |-> SpinBudget]
    /\ left = [t \in Threads |-> Rounds]

----------------------------------------------------------------------------
(* Getting in without waiting. *)

ThinIsFree == ~thin.is_fat /\ ~thin.is_latched /\ thin.owner = Nobody
FatIsOpen == thin.is_fat /\ ~held /\ (n_waiters = 0 \/ Bug = "seize_past_waiters")
ThinIsMine(t) == ~thin.is_fat /\ ~thin.is_latched /\ thin.owner = t

MayAttempt(t) == (At(t, {"idle"}) /\ left[t] > 0) \/ At(t, {"spin", "spin_fat"})

Enters(t) ==
    /\ Goes(t, "inside")
    /\ depth' = [depth EXCEPT ![t] = 1]
    /\ budget' = [budget EXCEPT ![t] = SpinBudget]

grab(t) ==
    /\ MayAttempt(t)
    /\ ThinIsFree
    /\ thin' = [thin EXCEPT !.owner = t, !.levels = 1]
    /\ Enters(t)
    /\ UNCHANGED <<copied, held, n_waiters, holder, the_event, left>>

seize(t) ==
    /\ MayAttempt(t)
    /\ FatIsOpen
    /\ held' = TRUE
    /\ holder' = [owner |-> t, levels |-> 1]
    /\ Enters(t)
    /\ UNCHANGED <<thin, copied, n_waiters, the_event, left>>

(* An attempt in vain. When the first round of spinning is over, the lock must become fat. *)
Misses(t) ==
    /\ MayAttempt(t)
    /\ ~ThinIsFree /\ ~FatIsOpen
    /\ IF At(t, {"idle"})
       THEN Goes(t, "spin") /\ UNCHANGED budget
       ELSE /\ budget[t] > 0 \/ At(t, {"spin"})
            /\ budget' = [budget EXCEPT ![t] = IF @ = 0 THEN SpinBudget ELSE @ - 1]
            /\ Goes(t, IF budget[t] = 0 THEN "fatten" ELSE pc[t])
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, the_event, depth, left>>

----------------------------------------------------------------------------
(* From the thin to the fat form. *)

latch(t) ==
    /\ At(t, {"fatten"})
    /\ ~thin.is_fat /\ ~thin.is_latched
    /\ thin' = [thin EXCEPT !.is_latched = TRUE]
    /\ copied' = [owner |-> thin.owner, levels |-> thin.levels]
    /\ Goes(t, "copy")
    /\ UNCHANGED <<held, n_waiters, holder, the_event, depth, budget, left>>

(* Somebody who is inside comes here to nest. *)
OnFat(t) == Goes(t, IF depth[t] > 0 THEN "inside" ELSE "spin_fat")

inflate(t) ==
    /\ At(t, {"copy"})
    /\ thin' = [owner |-> Nobody, levels |-> 0, is_latched |-> FALSE, is_fat |-> TRUE]
    /\ held' = (copied.owner # Nobody /\ Bug # "inflate_as_free")
    /\ holder' = copied
    /\ copied' = NotThere
    /\ OnFat(t)
    /\ UNCHANGED <<n_waiters, the_event, depth, budget, left>>

FindsFat(t) ==
    /\ At(t, {"fatten"})
    /\ thin.is_fat
    /\ OnFat(t)
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, the_event, depth, budget, left>>

----------------------------------------------------------------------------
(* Inside. *)

Deeper(t) == depth' = [depth EXCEPT ![t] = @ + 1]
LessDeep(t) == depth' = [depth EXCEPT ![t] = @ - 1]

nest(t) ==
    /\ At(t, {"inside"}) /\ depth[t] < Levels
    /\ ThinIsMine(t) /\ thin.levels < ThinLevels
    /\ thin' = [thin EXCEPT !.levels = @ + 1]
    /\ Deeper(t)
    /\ UNCHANGED <<copied, held, n_waiters, holder, the_event, pc, budget, left>>

NestsFat(t) ==
    /\ At(t, {"inside"}) /\ depth[t] < Levels
    /\ thin.is_fat
    /\ holder' = [holder EXCEPT !.levels = @ + 1]
    /\ Deeper(t)
    /\ UNCHANGED <<thin, copied, held, n_waiters, the_event, pc, budget, left>>

(* The thin word has no room for another level, or somebody has latched it. *)
CannotNest(t) ==
    /\ At(t, {"inside"}) /\ depth[t] < Levels
    /\ ~thin.is_fat
    /\ thin.is_latched \/ thin.levels = ThinLevels
    /\ Goes(t, "fatten")
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, the_event, depth, budget, left>>

BeginsToLeave(t) ==
    /\ At(t, {"inside"})
    /\ Goes(t, "leave")
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, the_event, depth, budget, left>>

unnest(t) ==
    /\ At(t, {"leave"}) /\ depth[t] > 1
    /\ ThinIsMine(t)
    /\ thin' = [thin EXCEPT !.levels = @ - 1]
    /\ LessDeep(t)
    /\ UNCHANGED <<copied, held, n_waiters, holder, the_event, pc, budget, left>>

UnnestsFat(t) ==
    /\ At(t, {"leave"}) /\ depth[t] > 1
    /\ thin.is_fat
    /\ holder' = [holder EXCEPT !.levels = @ - 1]
    /\ LessDeep(t)
    /\ UNCHANGED <<thin, copied, held, n_waiters, the_event, pc, budget, left>>

IsDoneOnce(t) == left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]

(* The seeded bug stores without a look at the latch. *)
vacate_thin(t) ==
    /\ At(t, {"leave"}) /\ depth[t] = 1
    /\ ThinIsMine(t) \/ (Bug = "vacate_past_latch" /\ thin.owner = t)
    /\ thin' = [thin EXCEPT !.owner = Nobody, !.levels = 0]
    /\ LessDeep(t)
    /\ Goes(t, "idle")
    /\ IsDoneOnce(t)
    /\ UNCHANGED <<copied, held, n_waiters, holder, the_event, budget>>

vacate(t) ==
    /\ At(t, {"leave"}) /\ depth[t] = 1
    /\ thin.is_fat
    /\ held' = FALSE
    /\ holder' = NotThere
    /\ LessDeep(t)
    /\ Goes(t, IF n_waiters > 0 THEN "signal" ELSE "idle")
    /\ IsDoneOnce(t)
    /\ UNCHANGED <<thin, copied, n_waiters, the_event, budget>>

signal(t) ==
    /\ At(t, {"signal"})
    /\ IF sleepers # <<>>
       THEN given' = given \cup {Head(sleepers)} /\ sleepers' = Tail(sleepers) /\ UNCHANGED event
       ELSE event' = TRUE /\ UNCHANGED <<sleepers, given>>
    /\ Goes(t, "idle")
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, depth, budget, left>>

----------------------------------------------------------------------------
(* Waiting. *)

(* Only while somebody is inside or waits, who will see to us. *)
register(t) ==
    /\ At(t, {"spin_fat"}) /\ budget[t] = 0
    /\ ~FatIsOpen \/ Bug = "register_blindly"
    /\ n_waiters' = n_waiters + 1
    /\ budget' = [budget EXCEPT ![t] = SpinBudget]
    /\ Goes(t, "park")
    /\ UNCHANGED <<thin, copied, held, holder, the_event, depth, left>>

(* Takes an event that is set, or sleeps. *)
park(t) ==
    /\ At(t, {"park"})
    /\ IF event
       THEN event' = FALSE /\ Goes(t, "reclaim") /\ UNCHANGED sleepers
       ELSE sleepers' = Append(sleepers, t) /\ Goes(t, "asleep") /\ UNCHANGED event
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, given, depth, budget, left>>

Wakes(t) ==
    /\ At(t, {"asleep"})
    /\ t \in given
    /\ given' = given \ {t}
    /\ Goes(t, "reclaim")
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, event, sleepers, depth, budget, left>>

reclaim(t) ==
    /\ At(t, {"reclaim"})
    /\ IF held
       THEN Goes(t, "park") /\ UNCHANGED <<held, n_waiters, holder, depth, budget>>
       ELSE /\ held' = TRUE
            /\ n_waiters' = n_waiters - 1
            /\ holder' = [owner |-> t, levels |-> 1]
            /\ Enters(t)
    /\ UNCHANGED <<thin, copied, the_event, left>>

(* An event that has come by then is taken. The seeded bug takes it along. *)
TimesOut(t) ==
    /\ At(t, {"asleep"}) /\ t \in Timed
    /\ t \notin given \/ Bug = "leave_with_event"
    /\ sleepers' = SelectSeq(sleepers, LAMBDA other : other # t)
    /\ given' = given \ {t}
    /\ Goes(t, "unregister")
    /\ UNCHANGED <<thin, copied, held, n_waiters, holder, event, depth, budget, left>>

unregister(t) ==
    /\ At(t, {"unregister"})
    /\ n_waiters' = n_waiters - 1
    /\ Goes(t, "idle")
    /\ IsDoneOnce(t)
    /\ UNCHANGED <<thin, copied, held, holder, the_event, depth, budget>>

----------------------------------------------------------------------------

IsDone(t) == At(t, {"idle"}) /\ left[t] = 0

Terminated == \A t \in Threads : IsDone(t)

Step(t) ==
    \/ grab(t) \/ seize(t) \/ Misses(t)
    \/ latch(t) \/ inflate(t) \/ FindsFat(t)
    \/ nest(t) \/ NestsFat(t) \/ CannotNest(t) \/ BeginsToLeave(t) \/ unnest(t) \/ UnnestsFat(t)
    \/ vacate_thin(t) \/ vacate(t) \/ signal(t)
    \/ register(t) \/ park(t) \/ Wakes(t) \/ reclaim(t) \/ unregister(t)

Next == (\E t \in Threads : Step(t) \/ TimesOut(t)) \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------
(* What must hold. *)

Inside == {t \in Threads : depth[t] > 0}
Registered == {t \in Threads : pc[t] \in RegisteredPlaces}

MutualExclusion == Cardinality(Inside) <= 1

(* The form that counts knows who is inside and how often; I1 of the header among that. *)
HolderIsKnown ==
    IF thin.is_fat
    THEN /\ held <=> Inside # {}
         /\ \A t \in Threads : IF t \in Inside THEN holder = [owner |-> t, levels |-> depth[t]] ELSE holder.owner # t
    ELSE \A t \in Threads : IF t \in Inside THEN thin.owner = t /\ thin.levels = depth[t] ELSE thin.owner # t

(* I2. *)
WaitersAreCounted == n_waiters = Cardinality(Registered)

(* The thin word does not change under the latch; there is nothing in the fat form before it counts. *)
LatchKeepsTheWord ==
    /\ thin.is_latched => copied = [owner |-> thin.owner, levels |-> thin.levels]
    /\ thin.is_latched <=> (\E t \in Threads : At(t, {"copy"}))
    /\ ~thin.is_fat => ~held /\ n_waiters = 0 /\ ~event /\ sleepers = <<>>

(* I3: the invariant form of "no lost wake-up". *)
NoSleeperForgotten ==
    ~held /\ n_waiters > 0 => event \/ given # {} \/ \E t \in Threads : At(t, {"signal", "reclaim"})

(* Nobody gets in past a waiter but another waiter. *)
NoBarging == [][\A t \in Threads : n_waiters > 0 /\ t \notin Inside /\ t \in Inside' => At(t, {"reclaim"})]_vars

(* Every thread gets in as often as it comes, or gives up at its deadline. *)
Termination == <>Terminated

(* Whoever contends gets in at last, whatever the others do: arrivals do not pass waiters, and the event goes to the
   oldest. *)
WaitersGetIn == \A t \in Threads \ Timed : At(t, {"spin"}) ~> At(t, {"inside"})
============================================================================
