---------------------------- MODULE go_tristate_futex ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/go_tristate_futex.rs: a word of three      *)
(* values and the kernel's queue of sleepers on that word.                 *)
(*                                                                         *)
(* Modelled: every access to the word as one action with the name of its   *)
(* step, the comparison in park, spurious wakes (so many in all), and      *)
(* turns of spinning that are really counted. A wake takes any sleeper.    *)
(*                                                                         *)
(* Not modelled: memory orderings (all actions are sequentially            *)
(* consistent; loom has the orderings) and what a pause or yield is.       *)
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
    SpinTurns,      \* Looks that may find the lock held before a contender retires.
    SpuriousWakes,  \* Times that some sleeper may wake for no reason.
    Bug             \* "none", or the seeded bug.

VARIABLES
    word,           \* "free", "held" or "crowded".
    pc,             \* Where each thread is.
    remembered,     \* What a contender leaves in the word when it claims it.
    turn,           \* Looks since the contender came or woke.
    left,           \* Acquisitions to come.
    spurious        \* Spurious wakes to come.

vars == <<word, pc, remembered, turn, left, spurious>>

Sleepers == {t \in Threads : pc[t] = "asleep"}
Inside == {t \in Threads : pc[t] \in {"inside", "vacate"}}
Awake == {t \in Threads : pc[t] \in {"look", "claim", "announce", "park"}}

TypeOk ==
    /\ word \in {"free", "held", "crowded"}
    /\ pc \in [Threads -> {"idle", "look", "claim", "announce", "park", "asleep", "inside", "vacate", "wake"}]
    /\ remembered \in [Threads -> {"held", "crowded"}]
    /\ turn \in [Threads -> 0..SpinTurns]
    /\ left \in [Threads -> 0..Rounds]
    /\ spurious \in 0..SpuriousWakes

Init ==
    /\ word = "free"
    /\ pc = [t \in Threads |-> "idle"]
    /\ remembered = [t \in Threads |-> "held"]
    /\ turn = [t \in Threads |-> 0]
    /\ left = [t \in Threads |-> Rounds]
    /\ spurious = SpuriousWakes

----------------------------------------------------------------------------
(* Helpers: each says where the thread goes and what becomes of what it knows. *)

Goes(t, where) == pc' = [pc EXCEPT ![t] = where]

(* Inside, with nothing left to remember: what matters is in the word. *)
Enters(t) ==
    /\ Goes(t, "inside")
    /\ remembered' = [remembered EXCEPT ![t] = "held"]
    /\ turn' = [turn EXCEPT ![t] = 0]
    /\ left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]

SpinsOrRetires(n) == IF n < SpinTurns THEN "look" ELSE "announce"

----------------------------------------------------------------------------
(* The steps. *)

grab(t) ==
    /\ pc[t] = "idle"
    /\ left[t] > 0
    /\ word' = "held"
    /\ IF word = "free"
       THEN Enters(t)
       ELSE /\ Goes(t, SpinsOrRetires(0))
            /\ remembered' = [remembered EXCEPT ![t] = IF Bug = "grab_forgets" THEN "held" ELSE word]
            /\ UNCHANGED <<turn, left>>
    /\ UNCHANGED spurious

(* One that fails changes nothing. *)
try(t) ==
    /\ pc[t] = "idle"
    /\ left[t] > 0
    /\ word = "free"
    /\ word' = "held"
    /\ Enters(t)
    /\ UNCHANGED spurious

look(t) ==
    /\ pc[t] = "look"
    /\ IF word = "free"
       THEN Goes(t, "claim") /\ UNCHANGED turn
       ELSE /\ turn' = [turn EXCEPT ![t] = @ + 1]
            /\ Goes(t, SpinsOrRetires(turn[t] + 1))
    /\ UNCHANGED <<word, remembered, left, spurious>>

claim(t) ==
    /\ pc[t] = "claim"
    /\ IF word = "free"
       THEN word' = remembered[t] /\ Enters(t)
       ELSE Goes(t, "look") /\ UNCHANGED <<word, remembered, turn, left>>
    /\ UNCHANGED spurious

announce(t) ==
    /\ pc[t] = "announce"
    /\ word' = "crowded"
    /\ IF word = "free"
       THEN Enters(t)
       ELSE Goes(t, "park") /\ UNCHANGED <<remembered, turn, left>>
    /\ UNCHANGED spurious

(* From here on it may have left sleepers behind: it remembers them, asleep or not. *)
park(t) ==
    /\ pc[t] = "park"
    /\ remembered' = [remembered EXCEPT ![t] = IF Bug = "sleeper_forgets" THEN "held" ELSE "crowded"]
    /\ turn' = [turn EXCEPT ![t] = 0]
    /\ Goes(t, IF word = "crowded" \/ Bug = "park_without_compare" THEN "asleep" ELSE SpinsOrRetires(0))
    /\ UNCHANGED <<word, left, spurious>>

(* The seeded bug makes it a look and a store: a mark that comes between them is erased unseen. *)
vacate(t) ==
    /\ IF Bug = "vacate_in_two"
       THEN \/ /\ pc[t] = "inside"
               /\ Goes(t, IF word = "crowded" THEN "inside" ELSE "vacate")
               /\ word # "crowded"
               /\ UNCHANGED word
            \/ /\ pc[t] = "inside"
               /\ word = "crowded"
               /\ word' = "free"
               /\ Goes(t, "wake")
            \/ /\ pc[t] = "vacate"
               /\ word' = "free"
               /\ Goes(t, "idle")
       ELSE /\ pc[t] = "inside"
            /\ word' = "free"
            /\ Goes(t, IF word = "crowded" THEN "wake" ELSE "idle")
    /\ UNCHANGED <<remembered, turn, left, spurious>>

(* By address: the word is not looked at. *)
wake(t) ==
    /\ pc[t] = "wake"
    /\ IF Sleepers = {}
       THEN Goes(t, "idle")
       ELSE \E s \in Sleepers : pc' = [pc EXCEPT ![t] = "idle", ![s] = SpinsOrRetires(0)]
    /\ UNCHANGED <<word, remembered, turn, left, spurious>>

----------------------------------------------------------------------------
(* What the environment may do. *)

WakesForNoReason(t) ==
    /\ pc[t] = "asleep"
    /\ spurious > 0
    /\ spurious' = spurious - 1
    /\ Goes(t, SpinsOrRetires(0))
    /\ UNCHANGED <<word, remembered, turn, left>>

IsDone(t) == pc[t] = "idle" /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

Step(t) == grab(t) \/ try(t) \/ look(t) \/ claim(t) \/ announce(t) \/ park(t) \/ vacate(t) \/ wake(t)

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
        \/ \E t \in Awake : remembered[t] = "crowded"

(* Every thread gets all its acquisitions. *)
Termination == <>(\A t \in Threads : IsDone(t))

(* Not promised: a sleeper gets in at last, whatever the others do. *)
SleepersGetIn == \A t \in Threads : (pc[t] = "asleep") ~> (pc[t] = "inside")
============================================================================
