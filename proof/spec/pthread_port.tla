---------------------------- MODULE pthread_port ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/pthread_port.rs: a word of three values    *)
(* and the kernel's queue of sleepers on that word. Contenders do not      *)
(* spin, unless Peeks says so, as it does in pthread_adaptive_port.tla.    *)
(*                                                                         *)
(* Modelled: every access to the word as one action with the name of its   *)
(* step, the comparison in park, spurious wakes (so many in all), and      *)
(* peeks that are really counted. A wake takes any sleeper.                *)
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

\* not modelled: read_kind: the field never changes.
\* not modelled: sign_in: the holder's own fields, on which nothing depends.
\* not modelled: sign_out: as sign_in.

CONSTANTS
    Threads,
    Rounds,         \* Acquisitions of each thread.
    Endless,        \* TRUE: there is no such bound.
    Peeks,          \* That may find the lock held before a contender is ready to sleep.
    SpuriousWakes,  \* Times that some sleeper may wake for no reason.
    Bug             \* "none", or the seeded bug.

VARIABLES
    word,           \* "free", "held" or "crowded".
    pc,             \* Where each thread is.
    has_slept,      \* Whether a contender has been to park.
    peeked,         \* Peeks since the contender came.
    left,           \* Acquisitions to come.
    spurious        \* Spurious wakes to come.

vars == <<word, pc, has_slept, peeked, left, spurious>>

Sleepers == {t \in Threads : pc[t] = "asleep"}
Inside == {t \in Threads : pc[t] \in {"inside", "vacate"}}
(* Awake, and not able to get in but with the mark. *)
Woken == {t \in Threads : pc[t] \in {"announce", "park"} /\ has_slept[t]}

TypeOk ==
    /\ word \in {"free", "held", "crowded"}
    /\ pc \in [Threads -> {"idle", "peek", "again", "last", "look", "announce", "park", "asleep", "inside", "vacate", "wake"}]
    /\ has_slept \in [Threads -> BOOLEAN]
    /\ peeked \in [Threads -> 0..Peeks]
    /\ left \in [Threads -> 0..Rounds]
    /\ spurious \in 0..SpuriousWakes

Init ==
    /\ word = "free"
    /\ pc = [t \in Threads |-> "idle"]
    /\ has_slept = [t \in Threads |-> FALSE]
    /\ peeked = [t \in Threads |-> 0]
    /\ left = [t \in Threads |-> Rounds]
    /\ spurious = SpuriousWakes

----------------------------------------------------------------------------
(* Helpers: each says where the thread goes and what becomes of what it knows. *)

Goes(t, where) == pc' = [pc EXCEPT ![t] = where]

Enters(t) ==
    /\ Goes(t, "inside")
    /\ has_slept' = [has_slept EXCEPT ![t] = FALSE]
    /\ peeked' = [peeked EXCEPT ![t] = 0]
    /\ left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]

PeeksOrRetires(n) == IF n < Peeks THEN "peek" ELSE "last"

(* Where a woken thread goes. The seeded bug lets it try as an arrival does. *)
Up == IF Bug = "woken_grabs" THEN "last" ELSE "announce"

----------------------------------------------------------------------------
(* The steps. *)

(* As an arrival, after a peek that found it free, and once more before the sleep of one that has spun. *)
grab(t) ==
    /\ pc[t] \in {"idle", "again", "last"}
    /\ left[t] > 0
    /\ IF word = "free"
       THEN word' = "held" /\ Enters(t)
       ELSE /\ Goes(t, IF pc[t] = "last" \/ Peeks = 0 THEN "look" ELSE PeeksOrRetires(peeked[t]))
            /\ UNCHANGED <<word, has_slept, peeked, left>>
    /\ UNCHANGED spurious

peek(t) ==
    /\ pc[t] = "peek"
    /\ peeked' = [peeked EXCEPT ![t] = @ + 1]
    /\ Goes(t, IF word = "free" THEN "again" ELSE PeeksOrRetires(peeked[t] + 1))
    /\ UNCHANGED <<word, has_slept, left, spurious>>

look(t) ==
    /\ pc[t] = "look"
    /\ Goes(t, IF word = "crowded" THEN "park" ELSE "announce")
    /\ UNCHANGED <<word, has_slept, peeked, left, spurious>>

announce(t) ==
    /\ pc[t] = "announce"
    /\ word' = IF Bug = "announce_as_held" /\ word = "free" THEN "held" ELSE "crowded"
    /\ IF word = "free"
       THEN Enters(t)
       ELSE Goes(t, "park") /\ UNCHANGED <<has_slept, peeked, left>>
    /\ UNCHANGED spurious

(* From here on it may have left sleepers behind, whether it has slept or not. *)
park(t) ==
    /\ pc[t] = "park"
    /\ has_slept' = [has_slept EXCEPT ![t] = TRUE]
    /\ Goes(t, IF word = "crowded" \/ Bug = "park_without_compare" THEN "asleep" ELSE Up)
    /\ UNCHANGED <<word, peeked, left, spurious>>

(* The seeded bug makes it a look and a store: a mark that comes between them is erased unseen. *)
vacate(t) ==
    /\ IF Bug = "vacate_in_two" /\ pc[t] = "inside" /\ word = "held"
       THEN Goes(t, "vacate") /\ UNCHANGED word
       ELSE /\ pc[t] \in {"inside", "vacate"}
            /\ word' = "free"
            /\ Goes(t, IF pc[t] = "inside" /\ word = "crowded" THEN "wake" ELSE "idle")
    /\ UNCHANGED <<has_slept, peeked, left, spurious>>

(* By address: the word is not looked at. *)
wake(t) ==
    /\ pc[t] = "wake"
    /\ IF Sleepers = {}
       THEN Goes(t, "idle")
       ELSE \E s \in Sleepers : pc' = [pc EXCEPT ![t] = "idle", ![s] = Up]
    /\ UNCHANGED <<word, has_slept, peeked, left, spurious>>

----------------------------------------------------------------------------
(* What the environment may do. *)

WakesForNoReason(t) ==
    /\ pc[t] = "asleep"
    /\ spurious > 0
    /\ spurious' = spurious - 1
    /\ Goes(t, Up)
    /\ UNCHANGED <<word, has_slept, peeked, left>>

IsDone(t) == pc[t] = "idle" /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

Step(t) == grab(t) \/ peek(t) \/ look(t) \/ announce(t) \/ park(t) \/ vacate(t) \/ wake(t)

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
