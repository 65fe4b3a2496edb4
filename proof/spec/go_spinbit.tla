------------------------------- MODULE go_spinbit -------------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/go_spinbit.rs: the right to poll is a flag *)
(* of the word, and the other waiters are a stack that hangs from it.      *)
(*                                                                         *)
(* Modelled: every access to the word as one action with the name of its   *)
(* step, among them the look before each compare-exchange, which compares  *)
(* the whole word as the code does; the stack and its links; the queue     *)
(* latch; the wake of the oldest, by a free coin or by a counter; the      *)
(* waiter that was the oldest and may poll beside the one on deck; the     *)
(* permits, one at a time; turns of spinning that are really counted; and  *)
(* the end of the lock's life. The published model of Go (spinbit.tla of   *)
(* proposal 68578) has the futex variant only and none of these.           *)
(*                                                                         *)
(* Not modelled: memory orderings (loom has them); what a pause or yield   *)
(* is; spurious wakes, which the permit absorbs (park returns only with    *)
(* it): a seeded bug shows what they would do. The walk along the stack is *)
(* one action with the pop, as the links that it reads and the one that it *)
(* writes belong to the holder of the queue latch.                         *)
(*                                                                         *)
(* Bounds: each thread acquires the lock Rounds times, so that a lost      *)
(* wake-up is a deadlock and is not rescued by the next release. Endless   *)
(* lifts the bound.                                                        *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Threads,
    Nobody,
    Rounds,         \* Acquisitions of each thread.
    Endless,        \* TRUE: there is no such bound.
    SpinTurns,      \* Turns that a waiter on deck spins before it retires.
    Period,         \* Every so many surveys one wakes the oldest; 0: any of them may.
    MostPassed,     \* What BypassIsBounded allows; 0: nobody counts.
    Frees,          \* TRUE: the last thread to enter frees the lock after its release.
    Bug             \* "none", or the seeded bug.

VARIABLES
    word,           \* The word: four flags and the top of the stack.
    pc,             \* Where each thread is.
    seen,           \* The word as the thread has last seen it, where it still matters.
    below,          \* The link in each thread's node.
    permit,         \* The permit in each thread's node.
    on_deck,        \* What a waiter knows of itself, and
    was_oldest,
    turn,           \* turns since it came or was woken.
    is_woken,       \* History: taken out to be woken, and since then neither entered nor pushed nor claimed the spin.
    wakes_oldest,   \* What a releaser's coin says, and
    picked,         \* the node it has taken out.
    surveys,        \* Surveys so far, modulo Period.
    passed,         \* History: surveys since each sleeper pushed itself.
    last,           \* History: the last thread to enter, if the lock is to be freed.
    is_freed,
    left            \* Acquisitions to come.

waiting == <<on_deck, was_oldest, turn, is_woken>>
releasing == <<wakes_oldest, picked>>
ghosts == <<surveys, passed, last, is_freed>>
vars == <<word, pc, seen, below, permit, waiting, releasing, ghosts, left>>

Word == [locked : BOOLEAN, sleeping : BOOLEAN, spinning : BOOLEAN, latched : BOOLEAN, top : Threads \cup {Nobody}]

Free == [locked |-> FALSE, sleeping |-> FALSE, spinning |-> FALSE, latched |-> FALSE, top |-> Nobody]

TypeOk ==
    /\ word \in Word
    /\ pc \in [Threads -> {"idle", "look", "late_grab", "deck_grab", "claim_spin", "push", "park", "inside",
                           "survey", "latch", "pop", "wake"}]
    /\ seen \in [Threads -> Word]
    /\ below \in [Threads -> Threads \cup {Nobody}]
    /\ permit \in [Threads -> BOOLEAN]
    /\ on_deck \in [Threads -> BOOLEAN]
    /\ was_oldest \in [Threads -> BOOLEAN]
    /\ turn \in [Threads -> 0..SpinTurns]
    /\ is_woken \in [Threads -> BOOLEAN]
    /\ wakes_oldest \in [Threads -> BOOLEAN]
    /\ picked \in [Threads -> Threads \cup {Nobody}]
    /\ surveys \in Nat
    /\ passed \in [Threads -> 0..MostPassed + 1]
    /\ last \in Threads \cup {Nobody}
    /\ is_freed \in BOOLEAN
    /\ left \in [Threads -> 0..Rounds]

Init ==
    /\ word = Free
    /\ pc = [t \in Threads |-> "idle"]
    /\ seen = [t \in Threads |-> Free]
    /\ below = [t \in Threads |-> Nobody]
    /\ permit = [t \in Threads |-> FALSE]
    /\ on_deck = [t \in Threads |-> FALSE]
    /\ was_oldest = [t \in Threads |-> FALSE]
    /\ turn = [t \in Threads |-> 0]
    /\ is_woken = [t \in Threads |-> FALSE]
    /\ wakes_oldest = [t \in Threads |-> FALSE]
    /\ picked = [t \in Threads |-> Nobody]
    /\ surveys = 0
    /\ passed = [t \in Threads |-> 0]
    /\ last = Nobody
    /\ is_freed = FALSE
    /\ left = [t \in Threads |-> Rounds]

----------------------------------------------------------------------------
(* The stack. *)

(* From a node down, at most so many of them: a walk that is too long has met a node twice. *)
RECURSIVE Walk(_, _)
Walk(node, most) == IF node = Nobody \/ most = 0 THEN <<>> ELSE <<node>> \o Walk(below[node], most - 1)

StackFrom(node) == Walk(node, Cardinality(Threads) + 1)

Nodes(stack) == {stack[i] : i \in 1..Len(stack)}

Sleepers == Nodes(StackFrom(word.top))

----------------------------------------------------------------------------
(* Helpers: each says where the thread goes and what becomes of what it knows. *)

Goes(t, where) == pc' = [pc EXCEPT ![t] = where]
Keeps(t, value) == seen' = [seen EXCEPT ![t] = value]

Enters(t) ==
    /\ Goes(t, "inside")
    /\ Keeps(t, Free)
    /\ on_deck' = [on_deck EXCEPT ![t] = FALSE]
    /\ was_oldest' = [was_oldest EXCEPT ![t] = FALSE]
    /\ turn' = [turn EXCEPT ![t] = 0]
    /\ is_woken' = [is_woken EXCEPT ![t] = FALSE]
    /\ left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]
    /\ last' = IF Frees THEN t ELSE last
    /\ UNCHANGED <<surveys, passed, is_freed>>

(* The next turn: the counter stops where it no longer matters. *)
LooksAgain(t) ==
    /\ Goes(t, "look")
    /\ Keeps(t, Free)
    /\ turn' = [turn EXCEPT ![t] = IF @ < SpinTurns THEN @ + 1 ELSE @]

(* The lock is held and somebody is on deck, as far as `word_seen` tells. *)
SpinsOrPushes(t, word_seen) ==
    IF (on_deck[t] \/ was_oldest[t]) /\ turn[t] < SpinTurns
    THEN LooksAgain(t) /\ UNCHANGED below
    ELSE /\ Goes(t, "push")
         /\ Keeps(t, word_seen)
         /\ below' = [below EXCEPT ![t] = word_seen.top]
         /\ UNCHANGED turn

(* The end of a release. If all have entered for the last time, the last of them frees the lock. *)
Leaves(t) ==
    /\ Goes(t, "idle")
    /\ Keeps(t, Free)
    /\ wakes_oldest' = [wakes_oldest EXCEPT ![t] = FALSE]
    /\ is_freed' = (is_freed \/ (last = t /\ \A u \in Threads : left[u] = 0))
    /\ UNCHANGED last

----------------------------------------------------------------------------
(* The steps. *)

grab(t) ==
    /\ pc[t] = "idle"
    /\ left[t] > 0
    /\ word' = [word EXCEPT !.locked = TRUE]
    /\ IF word.locked
       THEN Goes(t, "look") /\ UNCHANGED <<seen, waiting, ghosts, left>>
       ELSE Enters(t)
    /\ UNCHANGED <<below, permit, releasing>>

look(t) ==
    /\ pc[t] = "look"
    /\ CASE ~word.locked /\ on_deck[t] ->
                Goes(t, "deck_grab") /\ Keeps(t, word) /\ UNCHANGED <<below, turn>>
         [] ~word.locked /\ ~on_deck[t] ->
                Goes(t, "late_grab") /\ UNCHANGED <<seen, below, turn>>
         [] word.locked /\ ~word.spinning ->
                Goes(t, "claim_spin") /\ Keeps(t, word) /\ UNCHANGED <<below, turn>>
         [] OTHER -> SpinsOrPushes(t, word)
    /\ UNCHANGED <<word, permit, on_deck, was_oldest, is_woken, releasing, ghosts, left>>

late_grab(t) ==
    /\ pc[t] = "late_grab"
    /\ word' = [word EXCEPT !.locked = TRUE, !.sleeping = IF Bug = "late_grab_forgets" THEN @ ELSE TRUE]
    /\ IF word.locked
       THEN LooksAgain(t) /\ UNCHANGED <<on_deck, was_oldest, is_woken, ghosts, left>>
       ELSE Enters(t)
    /\ UNCHANGED <<below, permit, releasing>>

deck_grab(t) ==
    /\ pc[t] = "deck_grab"
    /\ IF word = seen[t]
       THEN /\ word' = [word EXCEPT !.locked = TRUE, !.spinning = FALSE,
                                    !.sleeping = word.top # Nobody /\ Bug # "deck_grab_forgets"]
            /\ Enters(t)
       ELSE LooksAgain(t) /\ UNCHANGED <<word, on_deck, was_oldest, is_woken, ghosts, left>>
    /\ UNCHANGED <<below, permit, releasing>>

claim_spin(t) ==
    /\ pc[t] = "claim_spin"
    /\ IF word = seen[t]
       THEN /\ word' = [word EXCEPT !.spinning = TRUE]
            /\ on_deck' = [on_deck EXCEPT ![t] = TRUE]
            /\ is_woken' = [is_woken EXCEPT ![t] = FALSE]
            /\ Goes(t, "look")
            /\ Keeps(t, Free)
            /\ UNCHANGED <<below, turn>>
       ELSE SpinsOrPushes(t, seen[t]) /\ UNCHANGED <<word, on_deck, is_woken>>
    /\ UNCHANGED <<permit, was_oldest, releasing, ghosts, left>>

push(t) ==
    /\ pc[t] = "push"
    /\ IF word = seen[t]
       THEN /\ word' = [word EXCEPT !.sleeping = TRUE, !.top = t,
                                    !.spinning = @ /\ (~on_deck[t] \/ Bug = "push_keeps_spinning")]
            /\ Goes(t, "park")
            /\ Keeps(t, Free)
            /\ on_deck' = [on_deck EXCEPT ![t] = FALSE]
            /\ was_oldest' = [was_oldest EXCEPT ![t] = FALSE]
            /\ turn' = [turn EXCEPT ![t] = 0]
            /\ is_woken' = [is_woken EXCEPT ![t] = FALSE]
            /\ UNCHANGED below
       ELSE /\ LooksAgain(t)
            /\ below' = [below EXCEPT ![t] = Nobody]
            /\ UNCHANGED <<word, on_deck, was_oldest, is_woken>>
    /\ UNCHANGED <<permit, releasing, ghosts, left>>

(* The seeded bug: a wake without a permit is believed. *)
park(t) ==
    /\ pc[t] = "park"
    /\ permit[t] \/ Bug = "park_without_permit"
    /\ permit' = [permit EXCEPT ![t] = FALSE]
    /\ was_oldest' = [was_oldest EXCEPT ![t] = below[t] = Nobody]
    /\ below' = IF Bug = "park_without_permit" THEN below ELSE [below EXCEPT ![t] = Nobody]
    /\ Goes(t, "look")
    /\ UNCHANGED <<word, seen, on_deck, turn, is_woken, releasing, ghosts, left>>

vacate(t) ==
    /\ pc[t] = "inside"
    /\ word' = [word EXCEPT !.locked = FALSE, !.sleeping = FALSE]
    /\ IF word.sleeping
       THEN Goes(t, "survey") /\ UNCHANGED <<seen, wakes_oldest, is_freed, last>>
       ELSE Leaves(t)
    /\ UNCHANGED <<below, permit, waiting, picked, surveys, passed, left>>

MayLatch(value) == value.top # Nobody /\ (~value.latched \/ Bug = "latch_ignored")

survey(t) ==
    /\ pc[t] = "survey"
    /\ \E coin \in IF Period = 0 THEN BOOLEAN ELSE {surveys = 0} :
            IF (coin \/ ~word.spinning) /\ MayLatch(word)
            THEN /\ Goes(t, "latch")
                 /\ Keeps(t, word)
                 /\ wakes_oldest' = [wakes_oldest EXCEPT ![t] = coin]
                 /\ UNCHANGED <<is_freed, last>>
            ELSE Leaves(t)
    /\ surveys' = IF Period = 0 THEN 0 ELSE (surveys + 1) % Period
    /\ passed' = [s \in Threads |->
            IF s \in Sleepers /\ passed[s] <= MostPassed /\ MostPassed > 0 THEN passed[s] + 1 ELSE passed[s]]
    /\ UNCHANGED <<word, below, permit, waiting, picked, left>>

latch(t) ==
    /\ pc[t] = "latch"
    /\ IF word = seen[t]
       THEN /\ word' = [word EXCEPT !.latched = TRUE]
            /\ Goes(t, "pop")
            /\ Keeps(t, [seen[t] EXCEPT !.latched = TRUE])
            /\ UNCHANGED <<wakes_oldest, is_freed, last>>
       ELSE /\ IF MayLatch(word)
               THEN Keeps(t, word) /\ UNCHANGED <<pc, wakes_oldest, is_freed, last>>
               ELSE Leaves(t)
            /\ UNCHANGED word
    /\ UNCHANGED <<below, permit, waiting, picked, surveys, passed, left>>

(* With the cut of the oldest, which is not undone if the exchange fails. *)
pop(t) ==
    /\ pc[t] = "pop"
    /\ LET stack == StackFrom(seen[t].top)
           cuts == wakes_oldest[t] /\ picked[t] = Nobody /\ Len(stack) > 1
           cut == IF cuts THEN stack[Len(stack)] ELSE picked[t]
           takes_top == cut = Nobody /\ (wakes_oldest[t] \/ ~seen[t].spinning)
           top == IF takes_top THEN below[seen[t].top] ELSE seen[t].top
           chosen == IF takes_top THEN seen[t].top ELSE cut
           is_blind == Bug = "unlatch_blindly" /\ chosen = Nobody
       IN  /\ below' = IF cuts THEN [below EXCEPT ![stack[Len(stack) - 1]] = Nobody] ELSE below
           /\ IF word = seen[t] \/ is_blind
              THEN /\ word' = [word EXCEPT !.latched = FALSE, !.top = IF is_blind THEN @ ELSE top]
                   /\ passed' = [passed EXCEPT ![IF chosen = Nobody THEN t ELSE chosen] = 0]
                   /\ IF chosen = Nobody
                      THEN Leaves(t) /\ UNCHANGED <<picked, is_woken>>
                      ELSE /\ Goes(t, "wake")
                           /\ Keeps(t, Free)
                           /\ picked' = [picked EXCEPT ![t] = chosen]
                           /\ is_woken' = [is_woken EXCEPT ![chosen] = TRUE]
                           /\ wakes_oldest' = [wakes_oldest EXCEPT ![t] = FALSE]
                           /\ UNCHANGED <<is_freed, last>>
              ELSE /\ Keeps(t, word)
                   /\ picked' = [picked EXCEPT ![t] = cut]
                   /\ UNCHANGED <<word, pc, wakes_oldest, is_woken, passed, is_freed, last>>
    /\ UNCHANGED <<permit, on_deck, was_oldest, turn, surveys, left>>

wake(t) ==
    /\ pc[t] = "wake"
    /\ permit' = [permit EXCEPT ![picked[t]] = TRUE]
    /\ picked' = [picked EXCEPT ![t] = Nobody]
    /\ Leaves(t)
    /\ UNCHANGED <<word, below, waiting, surveys, passed, left>>

----------------------------------------------------------------------------

IsDone(t) == pc[t] = "idle" /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

Acquire(t) == grab(t) \/ look(t) \/ late_grab(t) \/ deck_grab(t) \/ claim_spin(t) \/ push(t) \/ park(t)
Release(t) == vacate(t) \/ survey(t) \/ latch(t) \/ pop(t) \/ wake(t)
Step(t) == Acquire(t) \/ Release(t)

Next == (\E t \in Threads : Step(t)) \/ Terminated

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

(* For the configurations without properties: threads are alike. *)
Alike == Permutations(Threads)

----------------------------------------------------------------------------
(* What must hold. *)

MutualExclusion == Cardinality({t \in Threads : pc[t] = "inside"}) <= 1

(* LOCKED is exact, so a vacate finds it set (I5 of the header). *)
WordTellsOfHolder == word.locked <=> \E t \in Threads : pc[t] = "inside"

(* I1 of the header. *)
SleepingImpliesLocked == word.sleeping => word.locked

(* I2: only the holder of the queue latch takes nodes out, and it never finds the stack empty. *)
LatchIsExclusive ==
    /\ Cardinality({t \in Threads : pc[t] = "pop"}) = IF word.latched THEN 1 ELSE 0
    /\ word.latched => word.top # Nobody

(* I3. *)
OneOnDeck == Cardinality({t \in Threads : on_deck[t]}) = IF word.spinning THEN 1 ELSE 0

(* I4: the invariant form of "no lost wake-up". *)
NoSleeperForgotten ==
    word.top # Nobody =>
        \/ word.sleeping
        \/ word.spinning
        \/ word.latched
        \/ \E t \in Threads : pc[t] \in {"survey", "latch"}
        \/ \E t \in Threads : is_woken[t]

(* Section 9 of the file: the stack holds each node once, and only those of threads that wait; a sleeper without a
   permit is on the stack or picked by one releaser, and never both. *)
StackHoldsTheSleepers ==
    /\ Cardinality(Sleepers) = Len(StackFrom(word.top))
    /\ \A s \in Sleepers : pc[s] = "park" /\ ~permit[s]
    /\ \A s \in Threads : pc[s] = "park" /\ ~permit[s] =>
            Cardinality({t \in Threads : picked[t] = s}) = IF s \in Sleepers THEN 0 ELSE 1

(* Nobody touches a node whose thread may have left: a releaser walks, cuts and wakes among those that wait. *)
NodesAreAlive ==
    \A t \in Threads :
        /\ pc[t] = "pop" => \A s \in Nodes(StackFrom(seen[t].top)) : pc[s] = "park" /\ ~permit[s]
        /\ picked[t] # Nobody => pc[picked[t]] = "park" /\ ~permit[picked[t]]

(* The lock at rest is the word it began with. *)
NothingIsLeft == (\A t \in Threads : IsDone(t)) => word = Free

(* With the counter for a coin: so many releases may look for sleepers before a given one is woken. *)
BypassIsBounded == \A t \in Threads : passed[t] <= MostPassed

(* Not promised: when the last user has released the lock and freed it, nobody looks at the word. *)
FreedIsLeftAlone == is_freed => \A t \in Threads : pc[t] \notin {"survey", "latch", "pop"}

(* Every thread gets all its acquisitions. *)
Termination == <>(\A t \in Threads : IsDone(t))

(* Not promised: a sleeper is woken at last, whatever the others do. *)
SleepersAreWoken == \A t \in Threads : (pc[t] = "park") ~> permit[t]
============================================================================
