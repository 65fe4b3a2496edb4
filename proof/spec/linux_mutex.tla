-------------------------------- MODULE linux_mutex --------------------------------
(***************************************************************************)
(* What the five Linux mutexes share: lab/lineage/src/linux_mutex.rs and  *)
(* the files beside it. Each of the five has a module that extends this    *)
(* one and says who may spin. Alone it is the lock on a machine of one     *)
(* core, where nobody spins (AloneSpec).                                   *)
(*                                                                         *)
(* Modelled: the word as a number, the queue latch, the owner field, the   *)
(* list of waiters, the permits of the waiters' tokens, and spin budgets   *)
(* that are really counted. Each action is a step of the Rust headers.     *)
(*                                                                         *)
(* Grain: what fails and changes nothing is no action. So a try happens    *)
(* only when it succeeds, and a thread waits for the queue latch. What is  *)
(* done to the list is one action, for nobody else looks at it without the *)
(* latch. A token sees to spurious wakes itself, so park waits for the     *)
(* permit.                                                                 *)
(*                                                                         *)
(* Not modelled: memory orderings (loom has them); the links of the list;  *)
(* time, of which a budget of looks takes the place; the overflow of the   *)
(* word; that a thread at the latch first pauses and then yields.          *)
(*                                                                         *)
(* Bounds: each thread acquires the lock Rounds times, so that a lost      *)
(* wake-up is a deadlock. Endless lifts that bound.                        *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
    Threads,
    Nobody,       \* No thread.
    Rounds,       \* Acquisitions of each thread.
    Endless,      \* TRUE: there is no such bound.
    Spinners,     \* Who spins: "nobody"; "all"; "some", which is for the extending module to say; "in_turn": as "some",
                  \* and each attempt is a turn of its own.
    ReadsFirst,   \* Whether the word is read before it is written.
    SpinBudget,   \* Looks after which spinning is in vain.
    OwnerMayStop, \* Whether a spinner may be told that the holder does not run.
    Bug           \* "none", or the seeded bug.

VARIABLES
    word,         \* 0: free. 1: held. More: held, and release must look for waiters.
    latcher,      \* Who has the queue latch; the code knows only whether somebody has.
    owner,        \* The owner field: a hint for spinners.
    list,         \* The waiters, oldest first.
    permits,      \* Whose token has a permit.
    pc,           \* Where each thread is.
    watched,      \* Whom a spinner has seen inside since its last attempt.
    budget,       \* Looks that a spinner has left.
    left          \* Acquisitions to come.

shared == <<word, latcher, owner, list, permits, pc, watched, budget, left>>

ASSUME /\ Spinners \in {"nobody", "all", "some", "in_turn"}
       /\ {Endless, ReadsFirst, OwnerMayStop} \subseteq BOOLEAN

Free == 0
Held == 1
Crowded == 2

Symmetry == Permutations(Threads)

----------------------------------------------------------------------------
(* Places. A thread between two steps is at the place that is named after the next one, where that is clear. *)

HoldingPlaces == {"sign_in", "inside", "vacate"}
(* A waiter that has taken the lock and is not done under the latch. *)
TakingPlaces == {"dequeue", "settle", "last_unlatch"}
(* An ex-holder that has found the word crowded: nobody is inside, but the lock is still shut. *)
ReopeningPlaces == {"late_latch", "reopen"}
WakingPlaces == {"wake", "late_unlatch"}
SpinningPlaces == {"look", "peek", "grab"}
(* In the list from enqueue to dequeue, outside of it before. *)
WaitingPlaces == {"latch", "peek_listed", "take", "enqueue", "unlatch", "park"}
(* Before and after spinning, for the modules in which some spin. *)
BorderPlaces == {"arrive", "leave_inside", "leave_in_vain", "leave_again"}

Places == {"idle"} \cup HoldingPlaces \cup TakingPlaces \cup ReopeningPlaces \cup WakingPlaces \cup SpinningPlaces
          \cup WaitingPlaces \cup BorderPlaces

At(t, place) == pc[t] = place
Goes(t, place) == pc' = [pc EXCEPT ![t] = place]
IsListed(t) == \E i \in DOMAIN list : list[i] = t

Holders == {t \in Threads : pc[t] \in HoldingPlaces \cup TakingPlaces \cup {"leave_inside"}}
Reopeners == {t \in Threads : pc[t] \in ReopeningPlaces}
WhoSpin == {t \in Threads : pc[t] \in SpinningPlaces}

(* The word counts those that have claimed since it was last written whole. *)
TypeOkBut(more_places) ==
    /\ word \in 0..(Cardinality(Threads) + 2)
    /\ {latcher, owner} \subseteq Threads \cup {Nobody}
    /\ Len(list) <= Cardinality(Threads) /\ \A i \in DOMAIN list : list[i] \in Threads
    /\ permits \subseteq Threads
    /\ pc \in [Threads -> Places \cup more_places]
    /\ watched \in [Threads -> Threads \cup {Nobody}]
    /\ budget \in [Threads -> 0..SpinBudget]
    /\ left \in [Threads -> 0..Rounds]

SharedInit ==
    /\ word = Free
    /\ latcher = Nobody
    /\ owner = Nobody
    /\ list = <<>>
    /\ permits = {}
    /\ pc = [t \in Threads |-> "idle"]
    /\ watched = [t \in Threads |-> Nobody]
    /\ budget = [t \in Threads |-> SpinBudget]
    /\ left = [t \in Threads |-> Rounds]

----------------------------------------------------------------------------
(* The fast paths. *)

(* An arrival that is not in begins to contend. The seeded bug does its first take before it has the latch. *)
Contends(t) ==
    Goes(t, CASE Spinners = "nobody" -> IF Bug = "take_unlatched" THEN "take" ELSE "latch"
              [] Spinners = "all" -> "look"
              [] OTHER -> "arrive")

claim(t) ==
    /\ At(t, "idle")
    /\ left[t] > 0
    /\ word' = word + 1
    /\ IF word = Free THEN Goes(t, "sign_in") ELSE Contends(t)
    /\ UNCHANGED <<latcher, owner, list, permits, watched, budget, left>>

try(t) ==
    /\ At(t, "idle")
    /\ left[t] > 0
    /\ word = Free
    /\ word' = Held
    /\ Goes(t, "sign_in")
    /\ UNCHANGED <<latcher, owner, list, permits, watched, budget, left>>

sign_in(t) ==
    /\ At(t, "sign_in")
    /\ owner' = t
    /\ left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]
    /\ Goes(t, "inside")
    /\ UNCHANGED <<word, latcher, list, permits, watched, budget>>

sign_out(t) ==
    /\ At(t, "inside")
    /\ owner' = Nobody
    /\ Goes(t, "vacate")
    /\ UNCHANGED <<word, latcher, list, permits, watched, budget, left>>

vacate(t) ==
    /\ At(t, "vacate")
    /\ word' = word - 1
    /\ Goes(t, IF word = Held THEN "idle" ELSE IF Bug = "reopen_unlatched" THEN "reopen" ELSE "late_latch")
    /\ UNCHANGED <<latcher, owner, list, permits, watched, budget, left>>

----------------------------------------------------------------------------
(* Spinning. *)

(* Spinning ends. What the thread has to give back then, if anything, the extending module knows. *)
Stops(t, is_inside) ==
    /\ Goes(t, IF Spinners \in {"some", "in_turn"}
               THEN IF is_inside THEN "leave_inside" ELSE "leave_in_vain"
               ELSE IF is_inside THEN "sign_in" ELSE "latch")
    /\ watched' = [watched EXCEPT ![t] = Nobody]
    /\ budget' = [budget EXCEPT ![t] = SpinBudget]

(* As long as the holder stays the same, it is watched. If it goes and nobody comes, an attempt is worth while. The seeded
   bug gives up and takes the arrival's claim back, as if the word still had it. *)
look(t) ==
    /\ At(t, "look")
    /\ \/ /\ owner = Nobody
          /\ Goes(t, IF ReadsFirst THEN "peek" ELSE "grab")
          /\ watched' = [watched EXCEPT ![t] = Nobody]
          /\ UNCHANGED <<word, budget>>
       \/ /\ owner # Nobody
          /\ watched[t] \in {Nobody, owner}
          /\ budget[t] > 0
          /\ budget' = [budget EXCEPT ![t] = @ - 1]
          /\ watched' = [watched EXCEPT ![t] = owner]
          /\ UNCHANGED <<word, pc>>
       \/ /\ owner # Nobody
          /\ watched[t] \notin {Nobody, owner} \/ budget[t] = 0 \/ OwnerMayStop
          /\ Stops(t, FALSE)
          /\ word' = IF Bug = "unclaim" /\ word > 0 THEN word - 1 ELSE word
    /\ UNCHANGED <<latcher, owner, list, permits, left>>

(* A failed attempt costs as much of the budget as a look. *)
LooksAgain(t) ==
    IF budget[t] = 0
    THEN Stops(t, FALSE)
    ELSE /\ Goes(t, IF Spinners = "in_turn" THEN "leave_again" ELSE "look")
         /\ budget' = [budget EXCEPT ![t] = @ - 1]
         /\ UNCHANGED watched

(* The seeded bugs: a swap erases what it finds, and a store after a peek asks nobody. *)
grab(t) ==
    /\ At(t, "grab")
    /\ IF word = Free \/ Bug = "grab_by_store"
       THEN word' = Held /\ Stops(t, TRUE)
       ELSE word' = (IF Bug = "grab_by_swap" THEN Held ELSE word) /\ LooksAgain(t)
    /\ UNCHANGED <<latcher, owner, list, permits, left>>

----------------------------------------------------------------------------
(* Waiting. *)

TriesToTake(t) == Goes(t, IF ReadsFirst THEN "peek_listed" ELSE "take")

NotTaken(t) == Goes(t, IF IsListed(t) THEN "unlatch" ELSE "enqueue")

(* By a waiter, or by an ex-holder that owes the others a look at the list. With the seeded bug the waiter has done its
   take before. *)
latch(t) ==
    /\ latcher = Nobody
    /\ latcher' = t
    /\ \/ /\ At(t, "latch")
          /\ IF Bug = "take_unlatched" /\ ~IsListed(t) THEN Goes(t, "enqueue") ELSE TriesToTake(t)
       \/ At(t, "late_latch") /\ Goes(t, "reopen")
    /\ UNCHANGED <<word, owner, list, permits, watched, budget, left>>

(* A waiter need not mark a crowded word once more. The seeded bug does not mark any that is not free. *)
peek(t) ==
    /\ \/ At(t, "peek") /\ word = Free /\ Goes(t, "grab") /\ UNCHANGED <<watched, budget>>
       \/ At(t, "peek") /\ word # Free /\ LooksAgain(t)
       \/ /\ At(t, "peek_listed")
          /\ IF word >= Crowded \/ (Bug = "peek_for_free" /\ word # Free) THEN NotTaken(t) ELSE Goes(t, "take")
          /\ UNCHANGED <<watched, budget>>
    /\ UNCHANGED <<word, latcher, owner, list, permits, left>>

(* Whoever finds the lock free is inside. *)
take(t) ==
    /\ At(t, "take")
    /\ word' = Crowded
    /\ IF Bug = "take_unlatched" /\ ~IsListed(t)
       THEN Goes(t, IF word = Free THEN "sign_in" ELSE "latch")
       ELSE IF word = Free
            THEN Goes(t, IF IsListed(t) THEN "dequeue" ELSE IF list = <<>> THEN "settle" ELSE "last_unlatch")
            ELSE NotTaken(t)
    /\ UNCHANGED <<latcher, owner, list, permits, watched, budget, left>>

(* The second take follows. *)
enqueue(t) ==
    /\ At(t, "enqueue")
    /\ list' = Append(list, t)
    /\ permits' = permits \ {t}
    /\ IF Bug = "take_unlatched" THEN Goes(t, "unlatch") ELSE TriesToTake(t)
    /\ UNCHANGED <<word, latcher, owner, watched, budget, left>>

park(t) ==
    /\ At(t, "park")
    /\ t \in permits
    /\ permits' = permits \ {t}
    /\ Goes(t, "latch")
    /\ UNCHANGED <<word, latcher, owner, list, watched, budget, left>>

dequeue(t) ==
    /\ At(t, "dequeue")
    /\ list' = SelectSeq(list, LAMBDA other : other # t)
    /\ Goes(t, IF list' = <<>> \/ Bug = "settle_always" THEN "settle" ELSE "last_unlatch")
    /\ UNCHANGED <<word, latcher, owner, permits, watched, budget, left>>

(* Claims that are overwritten come to the latch and take. *)
settle(t) ==
    /\ At(t, "settle")
    /\ word' = Held
    /\ Goes(t, "last_unlatch")
    /\ UNCHANGED <<latcher, owner, list, permits, watched, budget, left>>

(* With a seeded bug an ex-holder comes here without the latch. *)
unlatch(t) ==
    /\ latcher' = IF latcher = t THEN Nobody ELSE latcher
    /\ \/ At(t, "unlatch") /\ Goes(t, "park")
       \/ At(t, "last_unlatch") /\ Goes(t, "sign_in")
       \/ At(t, "late_unlatch") /\ Goes(t, "idle")
    /\ UNCHANGED <<word, owner, list, permits, watched, budget, left>>

----------------------------------------------------------------------------
(* A release that has something to look for. *)

reopen(t) ==
    /\ At(t, "reopen")
    /\ word' = Free
    /\ Goes(t, IF list = <<>> THEN "late_unlatch" ELSE "wake")
    /\ UNCHANGED <<latcher, owner, list, permits, watched, budget, left>>

wake(t) ==
    /\ At(t, "wake")
    /\ permits' = permits \cup IF list = <<>> THEN {} ELSE {list[IF Bug = "wake_youngest" THEN Len(list) ELSE 1]}
    /\ Goes(t, "late_unlatch")
    /\ UNCHANGED <<word, latcher, owner, list, watched, budget, left>>

----------------------------------------------------------------------------

IsDone(t) == At(t, "idle") /\ left[t] = 0

Terminated == \A t \in Threads : IsDone(t)

ListStep(t) ==
    \/ claim(t) \/ try(t) \/ sign_in(t) \/ sign_out(t) \/ vacate(t)
    \/ latch(t) \/ take(t) \/ enqueue(t) \/ park(t) \/ dequeue(t) \/ settle(t) \/ unlatch(t)
    \/ reopen(t) \/ wake(t) \/ (ReadsFirst /\ peek(t))

SpinStep(t) == look(t) \/ grab(t)

SharedStep(t) == ListStep(t) \/ SpinStep(t)

AloneSpec ==
    /\ SharedInit
    /\ [][(\E t \in Threads : ListStep(t)) \/ (Terminated /\ UNCHANGED shared)]_shared
    /\ \A t \in Threads : WF_shared(ListStep(t))

----------------------------------------------------------------------------
(* What must hold. *)

TypeOk == TypeOkBut({})

MutualExclusion == Cardinality(Holders) <= 1

(* I1 and I5 of the headers, and that the lock is shut between a vacate that found it crowded and the reopen. *)
WordTellsOfHolder == (word = Free) <=> (Holders \cup Reopeners = {})

(* I2: only with the latch the way leads from crowded to free, so nobody gets in while an ex-holder is to reopen. *)
ShutUntilReopened == Reopeners # {} => Holders = {} /\ Cardinality(Reopeners) = 1

(* I3, for the list: it is touched by nobody without the latch, its waiters are in order, and the first leaves. *)
LatchIsHeld == \A t \in Threads :
    pc[t] \in TakingPlaces \cup WakingPlaces \cup {"reopen", "peek_listed", "take", "enqueue", "unlatch"} => latcher = t

OnlyTheFirstLeaves == \A t \in Threads : At(t, "dequeue") => IsListed(t) /\ list[1] = t

(* A waker reads the first node of the list, which must be there for as long. *)
WakerFindsList == \A t \in Threads : At(t, "wake") => list # <<>>

(* I4. *)
OwnerIsInside == owner # Nobody => At(owner, "inside")

(* A sleeper is in the list; and whoever is in the list has not got in yet. *)
ListHasTheWaiters == \A t \in Threads :
    /\ At(t, "park") => IsListed(t)
    /\ IsListed(t) => pc[t] \in WaitingPlaces \cup {"dequeue"}

(* I6: the invariant form of "no lost wake-up". *)
NoSleeperForgotten ==
    list # <<>> =>
        \/ word >= Crowded
        \/ \E t \in Threads : pc[t] \in ReopeningPlaces \cup {"wake"}
        \/ ~At(list[1], "park")
        \/ list[1] \in permits

(* Every thread gets all its acquisitions. *)
Termination == <>Terminated

(* Not promised: who is in the list gets in at last, whatever the others do. *)
WaitersGetIn == \A t \in Threads : At(t, "park") ~> At(t, "inside")
============================================================================
