-------------------------------- MODULE swift --------------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/swift.rs: a word of three values, a count  *)
(* of those who have gone to sleep, and the kernel's queue of sleepers.    *)
(*                                                                         *)
(* Modelled: every access to word and depth as one action with the name of *)
(* its step, the comparison in park, spurious wakes (so many in all), and  *)
(* looks that are really counted. A wake takes any sleeper.                *)
(*                                                                         *)
(* Grain: gauge reads both words at once; what it finds admits nobody.     *)
(*                                                                         *)
(* Not modelled: memory orderings (loom has them) and what a pause is.     *)
(*                                                                         *)
(* Bounds: each thread acquires the lock Rounds times, so that a lost      *)
(* wake-up is a deadlock. Endless lifts that bound.                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Threads,
    Rounds,         \* Acquisitions of each thread.
    Endless,        \* TRUE: there is no such bound.
    Looks,          \* Looks of a spinner.
    MostDepth,      \* Sleepers from which on nobody begins to spin.
    SpuriousWakes,  \* Times that some sleeper may wake for no reason.
    Bug             \* "none", or the seeded bug.

VARIABLES
    word,           \* "free", "held" or "crowded".
    depth,
    pc,             \* Where each thread is.
    counted,        \* Who has counted itself in.
    turn,           \* Looks of a spinner so far.
    left,           \* Acquisitions to come.
    spurious        \* Spurious wakes to come.

vars == <<word, depth, pc, counted, turn, left, spurious>>

Symmetry == Permutations(Threads)

At(t, place) == pc[t] = place
Sleepers == {t \in Threads : At(t, "asleep")}
Inside == {t \in Threads : pc[t] \in {"inside", "count_out"}}

TypeOk ==
    /\ word \in {"free", "held", "crowded"}
    /\ depth \in 0..Cardinality(Threads)
    /\ pc \in [Threads -> {"idle", "gauge", "look", "claim", "announce", "count_in", "park", "asleep", "count_out", "inside",
                           "wake"}]
    /\ counted \subseteq Threads
    /\ turn \in [Threads -> 0..Looks]
    /\ left \in [Threads -> 0..Rounds]
    /\ spurious \in 0..SpuriousWakes

Init ==
    /\ word = "free"
    /\ depth = 0
    /\ pc = [t \in Threads |-> "idle"]
    /\ counted = {}
    /\ turn = [t \in Threads |-> 0]
    /\ left = [t \in Threads |-> Rounds]
    /\ spurious = SpuriousWakes

Goes(t, where) == pc' = [pc EXCEPT ![t] = where]

(* The lock is ours; who has counted itself has yet to count itself out. *)
Enters(t) ==
    /\ Goes(t, IF t \in counted THEN "count_out" ELSE "inside")
    /\ turn' = [turn EXCEPT ![t] = 0]
    /\ left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]

----------------------------------------------------------------------------
(* The steps. *)

grab(t) ==
    /\ At(t, "idle")
    /\ left[t] > 0
    /\ IF word = "free"
       THEN word' = "held" /\ Enters(t)
       ELSE Goes(t, "gauge") /\ UNCHANGED <<word, turn, left>>
    /\ UNCHANGED <<depth, counted, spurious>>

(* One that fails changes nothing. *)
try(t) ==
    /\ At(t, "idle")
    /\ left[t] > 0
    /\ word = "free"
    /\ word' = "held"
    /\ Enters(t)
    /\ UNCHANGED <<depth, counted, spurious>>

gauge(t) ==
    /\ At(t, "gauge")
    /\ Goes(t, IF (word = "crowded" /\ depth >= MostDepth) \/ Looks = 0 THEN "announce" ELSE "look")
    /\ UNCHANGED <<word, depth, counted, turn, left, spurious>>

(* After a look in vain, or a claim. *)
LooksOrStops(t) ==
    /\ turn' = [turn EXCEPT ![t] = @ + 1]
    /\ Goes(t, IF turn[t] + 1 < Looks THEN "look" ELSE "announce")

look(t) ==
    /\ At(t, "look")
    /\ CASE word = "free" -> Goes(t, "claim") /\ UNCHANGED turn
         [] word = "held" -> LooksOrStops(t)
         [] word = "crowded" -> Goes(t, "announce") /\ UNCHANGED turn
    /\ UNCHANGED <<word, depth, counted, left, spurious>>

(* The seeded bug takes the lock by a swap, which erases the mark. *)
claim(t) ==
    /\ At(t, "claim")
    /\ IF word = "free"
       THEN word' = "held" /\ Enters(t)
       ELSE LooksOrStops(t) /\ word' = (IF Bug = "claim_by_swap" THEN "held" ELSE word) /\ UNCHANGED left
    /\ UNCHANGED <<depth, counted, spurious>>

(* The seeded bug enters without the mark. *)
announce(t) ==
    /\ At(t, "announce")
    /\ word' = IF word = "free" /\ Bug = "announce_forgets" THEN "held" ELSE "crowded"
    /\ IF word = "free"
       THEN Enters(t)
       ELSE Goes(t, IF t \in counted THEN "park" ELSE "count_in") /\ UNCHANGED <<turn, left>>
    /\ UNCHANGED <<depth, counted, spurious>>

count_in(t) ==
    /\ At(t, "count_in")
    /\ depth' = depth + 1
    /\ counted' = counted \cup {t}
    /\ Goes(t, "park")
    /\ UNCHANGED <<word, turn, left, spurious>>

(* The seeded bug sleeps whatever became of the word. *)
park(t) ==
    /\ At(t, "park")
    /\ Goes(t, IF word = "crowded" \/ Bug = "park_without_compare" THEN "asleep" ELSE "announce")
    /\ UNCHANGED <<word, depth, counted, turn, left, spurious>>

(* The seeded bug leaves without. *)
count_out(t) ==
    /\ At(t, "count_out")
    /\ depth' = IF Bug = "stay_counted" THEN depth ELSE depth - 1
    /\ counted' = counted \ {t}
    /\ Goes(t, "inside")
    /\ UNCHANGED <<word, turn, left, spurious>>

vacate(t) ==
    /\ At(t, "inside")
    /\ word' = "free"
    /\ Goes(t, IF word = "crowded" THEN "wake" ELSE "idle")
    /\ UNCHANGED <<depth, counted, turn, left, spurious>>

(* By address: the word is not looked at. *)
wake(t) ==
    /\ At(t, "wake")
    /\ IF Sleepers = {}
       THEN Goes(t, "idle")
       ELSE \E s \in Sleepers : pc' = [pc EXCEPT ![t] = "idle", ![s] = "announce"]
    /\ UNCHANGED <<word, depth, counted, turn, left, spurious>>

----------------------------------------------------------------------------

WakesForNoReason(t) ==
    /\ At(t, "asleep")
    /\ spurious > 0
    /\ spurious' = spurious - 1
    /\ Goes(t, "announce")
    /\ UNCHANGED <<word, depth, counted, turn, left>>

IsDone(t) == At(t, "idle") /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

Step(t) ==
    \/ grab(t) \/ try(t) \/ gauge(t) \/ look(t) \/ claim(t) \/ announce(t) \/ count_in(t) \/ park(t) \/ count_out(t)
    \/ vacate(t) \/ wake(t)

Next == (\E t \in Threads : Step(t) \/ WakesForNoReason(t)) \/ Terminated

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------
(* What must hold. *)

MutualExclusion == Cardinality(Inside) <= 1

(* The word says whether somebody is inside; so a vacate never finds it free (I2 of the header). *)
WordTellsOfHolder == (word = "free") <=> (Inside = {})

(* I1 of the header: the invariant form of "no lost wake-up". *)
NoSleeperForgotten ==
    Sleepers # {} => word = "crowded" \/ \E t \in Threads : At(t, "wake") \/ (At(t, "announce") /\ t \in counted)

(* I3. *)
DepthCountsTheSleepers ==
    /\ depth = Cardinality(counted)
    /\ Sleepers \subseteq counted
    /\ \A t \in counted : pc[t] \in {"park", "asleep", "announce", "count_out"}

(* Every thread gets all its acquisitions. *)
Termination == <>(\A t \in Threads : IsDone(t))

(* Not promised: a sleeper gets in at last, whatever the others do. *)
SleepersGetIn == \A t \in Threads : At(t, "asleep") ~> At(t, "inside")
============================================================================
