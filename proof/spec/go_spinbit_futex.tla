---------------------------- MODULE go_spinbit_futex ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/go_spinbit_futex.rs: the right to poll is  *)
(* a flag of the word, and the other waiters sleep on the word itself.     *)
(*                                                                         *)
(* Modelled: every access to the word as one action with the name of its   *)
(* step, so that others may change the word between a look and what        *)
(* follows from it; the comparison in park, of the whole word; a wake of   *)
(* any sleeper; spurious wakes (so many in all); rounds of spinning that   *)
(* are really counted.                                                     *)
(*                                                                         *)
(* Not modelled: memory orderings (all actions are sequentially            *)
(* consistent; loom has the orderings); what a pause is; and the memory of *)
(* the lock, which nothing after vacate touches, as can be read here: wake *)
(* does not look at the word.                                              *)
(*                                                                         *)
(* The model of golang/proposal, design/68578/spinbit.tla, is of the form  *)
(* with byte swaps and a look after the release; it checks that sleepers   *)
(* are woken, and does not count spins. Here mutual exclusion, the deck    *)
(* and the hint are checked too, each in every state.                      *)
(*                                                                         *)
(* Bounds: each thread acquires the lock Rounds times, so that a lost      *)
(* wake-up is a deadlock and is not rescued by the next release. The       *)
(* threads in Endless have no such bound, for the counterexample.          *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Threads,
    Rounds,         \* Acquisitions of each thread,
    Endless,        \* but of these.
    SpinRounds,     \* Rounds of pauses on deck between two sleeps.
    SpuriousWakes,  \* Times that some sleeper may wake for no reason.
    Bug             \* "none", or the seeded bug.

VARIABLES
    word,           \* The word: three flags.
    pc,             \* Where each thread is.
    seen,           \* The word as the thread has last seen it, where it still matters.
    on_deck,        \* What a waiter knows of itself, and
    spun,           \* rounds since it began or last slept.
    left,           \* Acquisitions to come.
    spurious        \* Spurious wakes to come.

waiting == <<on_deck, spun>>
vars == <<word, pc, seen, waiting, left, spurious>>

Word == [locked : BOOLEAN, sleeping : BOOLEAN, spinning : BOOLEAN]

Free == [locked |-> FALSE, sleeping |-> FALSE, spinning |-> FALSE]

AwakeAt == {"look", "late_grab", "deck_grab", "announce", "claim_spin", "retire", "park"}

Sleepers == {t \in Threads : pc[t] = "asleep"}
Awake == {t \in Threads : pc[t] \in AwakeAt}
Inside == {t \in Threads : pc[t] = "inside"}

TypeOk ==
    /\ word \in Word
    /\ pc \in [Threads -> {"idle", "asleep", "inside", "wake"} \cup AwakeAt]
    /\ seen \in [Threads -> Word]
    /\ on_deck \in [Threads -> BOOLEAN]
    /\ spun \in [Threads -> 0..SpinRounds]
    /\ left \in [Threads -> 0..Rounds]
    /\ spurious \in 0..SpuriousWakes

Init ==
    /\ word = Free
    /\ pc = [t \in Threads |-> "idle"]
    /\ seen = [t \in Threads |-> Free]
    /\ on_deck = [t \in Threads |-> FALSE]
    /\ spun = [t \in Threads |-> 0]
    /\ left = [t \in Threads |-> Rounds]
    /\ spurious = SpuriousWakes

----------------------------------------------------------------------------
(* Helpers: each says where the thread goes and what becomes of what it knows. *)

Goes(t, where) == pc' = [pc EXCEPT ![t] = where]
Keeps(t, value) == seen' = [seen EXCEPT ![t] = value]

Enters(t) ==
    /\ Goes(t, "inside")
    /\ on_deck' = [on_deck EXCEPT ![t] = FALSE]
    /\ spun' = [spun EXCEPT ![t] = 0]
    /\ left' = [left EXCEPT ![t] = IF t \in Endless THEN @ ELSE @ - 1]

----------------------------------------------------------------------------
(* The steps. *)

(* A try that fails stops here: it has set a flag that was set. *)
grab(t) ==
    /\ pc[t] = "idle"
    /\ left[t] > 0
    /\ word' = [word EXCEPT !.locked = TRUE]
    /\ IF word.locked
       THEN Goes(t, "look") /\ UNCHANGED <<waiting, left>>
       ELSE Enters(t)
    /\ UNCHANGED <<seen, spurious>>

(* With the round of pauses that may follow. *)
look(t) ==
    /\ pc[t] = "look"
    /\ CASE ~word.locked /\ on_deck[t] -> Goes(t, "deck_grab") /\ Keeps(t, word) /\ UNCHANGED spun
         [] ~word.locked /\ ~on_deck[t] -> Goes(t, "late_grab") /\ UNCHANGED <<seen, spun>>
         [] word.locked /\ ~word.sleeping /\ Bug # "never_announces" ->
                Goes(t, "announce") /\ UNCHANGED <<seen, spun>>
         [] OTHER ->
                IF on_deck[t]
                THEN IF spun[t] < SpinRounds
                     THEN spun' = [spun EXCEPT ![t] = @ + 1] /\ UNCHANGED <<pc, seen>>
                     ELSE Goes(t, "retire") /\ UNCHANGED <<seen, spun>>
                ELSE IF ~word.spinning /\ spun[t] < SpinRounds
                     THEN Goes(t, "claim_spin") /\ UNCHANGED <<seen, spun>>
                     ELSE Goes(t, "park") /\ Keeps(t, word) /\ UNCHANGED spun
    /\ UNCHANGED <<word, on_deck, left, spurious>>

late_grab(t) ==
    /\ pc[t] = "late_grab"
    /\ word' = [word EXCEPT !.locked = TRUE, !.sleeping = IF Bug = "late_grab_forgets" THEN @ ELSE TRUE]
    /\ IF word.locked
       THEN Goes(t, "look") /\ UNCHANGED <<waiting, left>>
       ELSE Enters(t)
    /\ UNCHANGED <<seen, spurious>>

deck_grab(t) ==
    /\ pc[t] = "deck_grab"
    /\ IF word = seen[t]
       THEN /\ word' = [locked |-> TRUE, sleeping |-> Bug # "deck_grab_forgets", spinning |-> FALSE]
            /\ Enters(t)
       ELSE Goes(t, "look") /\ UNCHANGED <<word, waiting, left>>
    /\ Keeps(t, Free)
    /\ UNCHANGED spurious

announce(t) ==
    /\ pc[t] = "announce"
    /\ word' = [word EXCEPT !.sleeping = TRUE]
    /\ Goes(t, "look")
    /\ UNCHANGED <<seen, waiting, left, spurious>>

claim_spin(t) ==
    /\ pc[t] = "claim_spin"
    /\ word' = [word EXCEPT !.spinning = TRUE]
    /\ on_deck' = [on_deck EXCEPT ![t] = ~word.spinning \/ Bug = "claims_twice"]
    /\ Goes(t, "look")
    /\ UNCHANGED <<seen, spun, left, spurious>>

retire(t) ==
    /\ pc[t] = "retire"
    /\ word' = IF Bug = "sleeps_on_deck" THEN word ELSE [word EXCEPT !.spinning = FALSE]
    /\ on_deck' = [on_deck EXCEPT ![t] = FALSE]
    /\ Goes(t, "look")
    /\ UNCHANGED <<seen, spun, left, spurious>>

(* The seeded bug compares LOCKED alone: the hint may have gone with a release and a grab since the look. *)
park(t) ==
    /\ pc[t] = "park"
    /\ LET is_unchanged == IF Bug = "compares_one_flag" THEN word.locked ELSE word = seen[t]
       IN  Goes(t, IF is_unchanged THEN "asleep" ELSE "look")
    /\ Keeps(t, Free)
    /\ spun' = [spun EXCEPT ![t] = 0]
    /\ UNCHANGED <<word, on_deck, left, spurious>>

vacate(t) ==
    /\ pc[t] = "inside"
    /\ word' = [word EXCEPT !.locked = FALSE, !.sleeping = FALSE]
    /\ Goes(t, IF word.sleeping /\ ~word.spinning THEN "wake" ELSE "idle")
    /\ UNCHANGED <<seen, waiting, left, spurious>>

(* By address: the word is not looked at. *)
wake(t) ==
    /\ pc[t] = "wake"
    /\ IF Sleepers = {}
       THEN Goes(t, "idle")
       ELSE \E s \in Sleepers : pc' = [pc EXCEPT ![t] = "idle", ![s] = "look"]
    /\ UNCHANGED <<word, seen, waiting, left, spurious>>

----------------------------------------------------------------------------
(* What the environment may do. *)

WakesForNoReason(t) ==
    /\ pc[t] = "asleep"
    /\ spurious > 0
    /\ spurious' = spurious - 1
    /\ Goes(t, "look")
    /\ UNCHANGED <<word, seen, waiting, left>>

IsDone(t) == pc[t] = "idle" /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

Acquire(t) ==
    grab(t) \/ look(t) \/ late_grab(t) \/ deck_grab(t) \/ announce(t) \/ claim_spin(t) \/ retire(t) \/ park(t)
Release(t) == vacate(t) \/ wake(t)
Step(t) == Acquire(t) \/ Release(t)

Next == (\E t \in Threads : Step(t) \/ WakesForNoReason(t)) \/ Terminated

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

(* For the configurations without properties: threads are alike. *)
Alike == Permutations(Threads)

----------------------------------------------------------------------------
(* What must hold. *)

MutualExclusion == Cardinality(Inside) <= 1

(* LOCKED is exact, so a vacate finds it set (I3 of the header). *)
WordTellsOfHolder == word.locked <=> Inside # {}

(* I1 of the header. *)
OneOnDeck == Cardinality({t \in Threads : on_deck[t]}) = IF word.spinning THEN 1 ELSE 0

(* I2: the invariant form of "no lost wake-up". *)
NoSleeperForgotten ==
    Sleepers # {} =>
        \/ word.sleeping
        \/ word.spinning
        \/ \E t \in Threads : pc[t] = "wake"
        \/ Awake # {}

(* Who is on deck is awake: a release may count on it. *)
DeckIsAwake == \A t \in Threads : on_deck[t] => pc[t] \in AwakeAt \ {"park"}

(* The lock at rest is the word it began with. *)
NothingIsLeft == (\A t \in Threads : IsDone(t)) => word = Free

(* Every thread gets all its acquisitions. *)
Termination == <>(\A t \in Threads : IsDone(t))

(* Not promised: a sleeper gets in at last, whatever the others do. *)
Served == \A t \in Threads : (pc[t] = "asleep") ~> (pc[t] = "inside")
============================================================================
