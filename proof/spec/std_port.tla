---------------------------- MODULE std_port ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/std_port.rs: a word of three values and    *)
(* the kernel's queue of sleepers on that word.                            *)
(*                                                                         *)
(* Modelled: every access to the word as one action with the name of its   *)
(* step, the comparison in park, spurious wakes (so many in all), and      *)
(* looks that are really counted. A wake takes any sleeper.                *)
(*                                                                         *)
(* Not modelled: memory orderings (all actions are sequentially            *)
(* consistent; loom has the orderings) and what a pause is. A try that     *)
(* fails changes nothing, so it is left out; one that succeeds is a grab.  *)
(*                                                                         *)
(* Bounds: each thread acquires the lock Rounds times, so that a lost      *)
(* wake-up is a deadlock and is not rescued by the next release. Endless   *)
(* lifts the bound for the counterexample on starvation.                   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Threads,
    Rounds,         \* Acquisitions of each thread.
    Endless,        \* TRUE: there is no such bound.
    Pauses,         \* Between looks at a word that says held.
    SpuriousWakes,  \* Times that some sleeper may wake for no reason.
    Bug             \* "none", or the seeded bug.

VARIABLES
    word,           \* "free", "held" or "crowded".
    pc,             \* Where each thread is.
    is_fresh,       \* Whether a contender has not slept yet.
    paused,         \* Pauses since the contender came or woke.
    left,           \* Acquisitions to come.
    spurious        \* Spurious wakes to come.

vars == <<word, pc, is_fresh, paused, left, spurious>>

Sleepers == {t \in Threads : pc[t] = "asleep"}
Inside == {t \in Threads : pc[t] \in {"inside", "vacate"}}
(* Awake, and not able to get in but with the mark. *)
Woken == {t \in Threads : pc[t] \in {"look", "announce", "park"} /\ ~is_fresh[t]}

TypeOk ==
    /\ word \in {"free", "held", "crowded"}
    /\ pc \in [Threads -> {"idle", "look", "claim", "announce", "park", "asleep", "inside", "vacate", "wake"}]
    /\ is_fresh \in [Threads -> BOOLEAN]
    /\ paused \in [Threads -> 0..Pauses]
    /\ left \in [Threads -> 0..Rounds]
    /\ spurious \in 0..SpuriousWakes

Init ==
    /\ word = "free"
    /\ pc = [t \in Threads |-> "idle"]
    /\ is_fresh = [t \in Threads |-> TRUE]
    /\ paused = [t \in Threads |-> 0]
    /\ left = [t \in Threads |-> Rounds]
    /\ spurious = SpuriousWakes

----------------------------------------------------------------------------
(* Helpers: each says where the thread goes and what becomes of what it knows. *)

Goes(t, where) == pc' = [pc EXCEPT ![t] = where]

Enters(t) ==
    /\ Goes(t, "inside")
    /\ is_fresh' = [is_fresh EXCEPT ![t] = TRUE]
    /\ paused' = [paused EXCEPT ![t] = 0]
    /\ left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]

(* Where a thread goes that has seen the word so and will not look again. *)
AfterSpin(t, seen) ==
    IF seen = "crowded" THEN "park"
    ELSE IF seen = "free" /\ (is_fresh[t] \/ Bug = "woken_claims") THEN "claim"
    ELSE "announce"

----------------------------------------------------------------------------
(* The steps. *)

grab(t) ==
    /\ pc[t] = "idle"
    /\ left[t] > 0
    /\ IF word = "free"
       THEN word' = "held" /\ Enters(t)
       ELSE Goes(t, "look") /\ UNCHANGED <<word, is_fresh, paused, left>>
    /\ UNCHANGED spurious

look(t) ==
    /\ pc[t] = "look"
    /\ IF word = "held" /\ paused[t] < Pauses
       THEN paused' = [paused EXCEPT ![t] = @ + 1] /\ UNCHANGED pc
       ELSE Goes(t, AfterSpin(t, word)) /\ UNCHANGED paused
    /\ UNCHANGED <<word, is_fresh, left, spurious>>

(* One that fails has seen what the word is. *)
claim(t) ==
    /\ pc[t] = "claim"
    /\ IF word = "free"
       THEN word' = "held" /\ Enters(t)
       ELSE Goes(t, IF word = "crowded" THEN "park" ELSE "announce") /\ UNCHANGED <<word, is_fresh, paused, left>>
    /\ UNCHANGED spurious

announce(t) ==
    /\ pc[t] = "announce"
    /\ word' = IF Bug = "announce_as_held" /\ word = "free" THEN "held" ELSE "crowded"
    /\ IF word = "free"
       THEN Enters(t)
       ELSE Goes(t, "park") /\ UNCHANGED <<is_fresh, paused, left>>
    /\ UNCHANGED spurious

(* From here on it may have left sleepers behind, whether it has slept or not. *)
park(t) ==
    /\ pc[t] = "park"
    /\ is_fresh' = [is_fresh EXCEPT ![t] = FALSE]
    /\ paused' = [paused EXCEPT ![t] = 0]
    /\ Goes(t, IF word = "crowded" \/ Bug = "park_without_compare" THEN "asleep" ELSE "look")
    /\ UNCHANGED <<word, left, spurious>>

(* The seeded bug makes it a look and a store: a mark that comes between them is erased unseen. *)
vacate(t) ==
    /\ IF Bug = "vacate_in_two" /\ pc[t] = "inside" /\ word = "held"
       THEN Goes(t, "vacate") /\ UNCHANGED word
       ELSE /\ pc[t] \in {"inside", "vacate"}
            /\ word' = "free"
            /\ Goes(t, IF pc[t] = "inside" /\ word = "crowded" THEN "wake" ELSE "idle")
    /\ UNCHANGED <<is_fresh, paused, left, spurious>>

(* By address: the word is not looked at. *)
wake(t) ==
    /\ pc[t] = "wake"
    /\ IF Sleepers = {}
       THEN Goes(t, "idle")
       ELSE \E s \in Sleepers : pc' = [pc EXCEPT ![t] = "idle", ![s] = "look"]
    /\ UNCHANGED <<word, is_fresh, paused, left, spurious>>

----------------------------------------------------------------------------
(* What the environment may do. *)

WakesForNoReason(t) ==
    /\ pc[t] = "asleep"
    /\ spurious > 0
    /\ spurious' = spurious - 1
    /\ Goes(t, "look")
    /\ UNCHANGED <<word, is_fresh, paused, left>>

IsDone(t) == pc[t] = "idle" /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

Step(t) == grab(t) \/ look(t) \/ claim(t) \/ announce(t) \/ park(t) \/ vacate(t) \/ wake(t)

Next == (\E t \in Threads : Step(t) \/ WakesForNoReason(t)) \/ Terminated

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------
(* What must hold. *)

MutualExclusion == Cardinality(Inside) <= 1

(* The word says whether somebody is inside; so a vacate never finds it free (I2 of the header). *)
WordTellsOfHolder == (word = "free") <=> (Inside = {})

(* I1 of the header: the invariant form of "no lost wake-up". *)
NoSleeperForgotten ==
    Sleepers # {} =>
        \/ word = "crowded"
        \/ \E t \in Threads : pc[t] = "wake"
        \/ Woken # {}

(* Every thread gets all its acquisitions. *)
Termination == <>(\A t \in Threads : IsDone(t))

(* Not promised: a sleeper gets in at last, whatever the others do. *)
SleepersGetIn == \A t \in Threads : (pc[t] = "asleep") ~> (pc[t] = "inside")
============================================================================
