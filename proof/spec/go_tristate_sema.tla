---------------------------- MODULE go_tristate_sema ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/go_tristate_sema.rs: a flag, and a stack   *)
(* of sleepers with a permit each that hangs from the same word.           *)
(*                                                                         *)
(* Modelled: every access to the word as one action with the name of its   *)
(* step, among them the looks before each compare-exchange, which compares *)
(* the whole word as the code does; the stack and its links; the permit as *)
(* the platform's token makes it of a word and a futex: taken, or slept    *)
(* for after a comparison, and given by a store that a wake of the address *)
(* follows, when the sleeper may be gone or back; spurious wakes; turns of *)
(* spinning that are really counted, and begin late after a sleep.         *)
(*                                                                         *)
(* Not modelled: memory orderings (all actions are sequentially            *)
(* consistent; loom has the orderings); what a pause or yield is;          *)
(* try_acquire, which is a grab, or a claim of the word that it found, and *)
(* does nothing else; and the memory of the lock, which nothing after      *)
(* vacate or pop touches, as can be read here: wake and Signal change      *)
(* permits only.                                                           *)
(*                                                                         *)
(* Bounds: each thread acquires the lock Rounds times, so that a lost      *)
(* wake-up is a deadlock and is not rescued by the next release. The       *)
(* threads in Endless have no such bound, for the counterexamples.         *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    Threads,
    Nobody,
    Rounds,         \* Acquisitions of each thread,
    Endless,        \* but of these.
    SpinTurns,      \* Looks that may find the lock held before a contender retires.
    SpuriousWakes,  \* Times that some sleeper may wake for no reason.
    Bug             \* "none", or the seeded bug.

VARIABLES
    word,           \* The word: a flag and the top of the stack.
    pc,             \* Where each thread is.
    seen,           \* The word as the thread has last seen it, where it still matters.
    below,          \* The link in each thread's node.
    permit,         \* The permit in each thread's node.
    turn,           \* Turns since the contender came, was woken, or lost a free lock.
    picked,         \* The node that a releaser has taken out.
    is_woken,       \* History: taken out, and since then neither entered nor pushed again.
    left,           \* Acquisitions to come.
    spurious        \* Spurious wakes to come.

vars == <<word, pc, seen, below, permit, turn, picked, is_woken, left, spurious>>

Word == [locked : BOOLEAN, top : Threads \cup {Nobody}]

Free == [locked |-> FALSE, top |-> Nobody]
Held == [locked |-> TRUE, top |-> Nobody]

(* In the park of a token: about to take the permit, about to sleep without it, asleep. *)
Parking == {"park", "drowsy", "asleep"}
Holding == {"inside", "survey", "vacate", "pop"}

TypeOk ==
    /\ word \in Word
    /\ pc \in [Threads -> {"idle", "look", "claim", "push", "wake", "signal"} \cup Parking \cup Holding]
    /\ seen \in [Threads -> Word]
    /\ below \in [Threads -> Threads \cup {Nobody}]
    /\ permit \in [Threads -> BOOLEAN]
    /\ turn \in [Threads -> 0..SpinTurns]
    /\ picked \in [Threads -> Threads \cup {Nobody}]
    /\ is_woken \in [Threads -> BOOLEAN]
    /\ left \in [Threads -> 0..Rounds]
    /\ spurious \in 0..SpuriousWakes

Init ==
    /\ word = Free
    /\ pc = [t \in Threads |-> "idle"]
    /\ seen = [t \in Threads |-> Free]
    /\ below = [t \in Threads |-> Nobody]
    /\ permit = [t \in Threads |-> FALSE]
    /\ turn = [t \in Threads |-> 0]
    /\ picked = [t \in Threads |-> Nobody]
    /\ is_woken = [t \in Threads |-> FALSE]
    /\ left = [t \in Threads |-> Rounds]
    /\ spurious = SpuriousWakes

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
IsAtTurn(t, n) == turn' = [turn EXCEPT ![t] = IF n < SpinTurns THEN n ELSE SpinTurns]

Enters(t) ==
    /\ Goes(t, "inside")
    /\ Keeps(t, Free)
    /\ IsAtTurn(t, 0)
    /\ is_woken' = [is_woken EXCEPT ![t] = FALSE]
    /\ left' = [left EXCEPT ![t] = IF t \in Endless THEN @ ELSE @ - 1]

----------------------------------------------------------------------------
(* The steps. *)

grab(t) ==
    /\ pc[t] = "idle"
    /\ left[t] > 0
    /\ IF word = Free
       THEN word' = Held /\ Enters(t)
       ELSE Goes(t, "look") /\ UNCHANGED <<word, seen, turn, is_woken, left>>
    /\ UNCHANGED <<below, permit, picked, spurious>>

look(t) ==
    /\ pc[t] = "look"
    /\ CASE ~word.locked ->
                Goes(t, "claim") /\ Keeps(t, word) /\ UNCHANGED <<below, turn>>
         [] word.locked /\ turn[t] < SpinTurns ->
                IsAtTurn(t, turn[t] + 1) /\ UNCHANGED <<pc, seen, below>>
         [] OTHER ->
                /\ Goes(t, "push")
                /\ Keeps(t, word)
                /\ below' = [below EXCEPT ![t] = word.top]
                /\ UNCHANGED turn
    /\ UNCHANGED <<word, permit, picked, is_woken, left, spurious>>

(* One that fails begins its spinning anew, with a turn of it before the next look. *)
claim(t) ==
    /\ pc[t] = "claim"
    /\ IF word = seen[t]
       THEN /\ word' = IF Bug = "claim_forgets" THEN Held ELSE [word EXCEPT !.locked = TRUE]
            /\ Enters(t)
       ELSE /\ Goes(t, "look")
            /\ Keeps(t, Free)
            /\ IsAtTurn(t, 1)
            /\ UNCHANGED <<word, is_woken, left>>
    /\ UNCHANGED <<below, permit, picked, spurious>>

push(t) ==
    /\ pc[t] = "push"
    /\ IF word = seen[t] \/ (Bug = "push_on_free" /\ word.top = seen[t].top)
       THEN /\ word' = [word EXCEPT !.top = t]
            /\ Goes(t, "park")
            /\ is_woken' = [is_woken EXCEPT ![t] = FALSE]
            /\ UNCHANGED below
       ELSE /\ Goes(t, "look")
            /\ below' = [below EXCEPT ![t] = Nobody]
            /\ UNCHANGED <<word, is_woken>>
    /\ Keeps(t, Free)
    /\ UNCHANGED <<permit, turn, picked, left, spurious>>

(* Takes the permit; or decides to sleep; or falls asleep, if the permit has not come meanwhile. The seeded bug believes
   a wake without a permit. *)
park(t) ==
    /\ \/ /\ pc[t] = "park"
          /\ IF permit[t] \/ (Bug = "park_without_permit" /\ spurious < SpuriousWakes)
             THEN /\ permit' = [permit EXCEPT ![t] = FALSE]
                  /\ below' = [below EXCEPT ![t] = Nobody]
                  /\ Goes(t, "look")
                  /\ IsAtTurn(t, 1)
             ELSE Goes(t, "drowsy") /\ UNCHANGED <<permit, below, turn>>
       \/ /\ pc[t] = "drowsy"
          /\ Goes(t, IF permit[t] THEN "park" ELSE "asleep")
          /\ UNCHANGED <<permit, below, turn>>
    /\ UNCHANGED <<word, seen, picked, is_woken, left, spurious>>

survey(t) ==
    /\ pc[t] \in {"inside", "survey"}
    /\ IF word.top = Nobody
       THEN Goes(t, "vacate") /\ UNCHANGED seen
       ELSE Goes(t, "pop") /\ Keeps(t, word)
    /\ UNCHANGED <<word, below, permit, turn, picked, is_woken, left, spurious>>

vacate(t) ==
    /\ pc[t] = "vacate"
    /\ IF word = Held \/ Bug = "vacate_blindly"
       THEN word' = Free /\ Goes(t, "idle")
       ELSE Goes(t, "survey") /\ UNCHANGED word
    /\ UNCHANGED <<seen, below, permit, turn, picked, is_woken, left, spurious>>

pop(t) ==
    /\ pc[t] = "pop"
    /\ IF word = seen[t] \/ Bug = "pop_blindly"
       THEN /\ word' = [locked |-> FALSE, top |-> below[seen[t].top]]
            /\ picked' = [picked EXCEPT ![t] = seen[t].top]
            /\ is_woken' = [is_woken EXCEPT ![seen[t].top] = TRUE]
            /\ Goes(t, "wake")
       ELSE Goes(t, "survey") /\ UNCHANGED <<word, picked, is_woken>>
    /\ Keeps(t, Free)
    /\ UNCHANGED <<below, permit, turn, left, spurious>>

(* The store of the permit: from here on the node may go, and be pushed again. *)
wake(t) ==
    /\ pc[t] = "wake"
    /\ permit' = [permit EXCEPT ![picked[t]] = TRUE]
    /\ Goes(t, "signal")
    /\ UNCHANGED <<word, seen, below, turn, picked, is_woken, left, spurious>>

----------------------------------------------------------------------------
(* What the platform and the environment do. *)

(* The wake of the address, whoever sleeps there by now. *)
Signal(t) ==
    /\ pc[t] = "signal"
    /\ pc' = [s \in Threads |->
            IF s = t THEN "idle" ELSE IF s = picked[t] /\ pc[s] = "asleep" THEN "park" ELSE pc[s]]
    /\ picked' = [picked EXCEPT ![t] = Nobody]
    /\ UNCHANGED <<word, seen, below, permit, turn, is_woken, left, spurious>>

WakesForNoReason(t) ==
    /\ pc[t] = "asleep"
    /\ spurious > 0
    /\ spurious' = spurious - 1
    /\ Goes(t, "park")
    /\ UNCHANGED <<word, seen, below, permit, turn, picked, is_woken, left>>

IsDone(t) == pc[t] = "idle" /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

Acquire(t) == grab(t) \/ look(t) \/ claim(t) \/ push(t) \/ park(t)
Release(t) == survey(t) \/ vacate(t) \/ pop(t) \/ wake(t) \/ Signal(t)
Step(t) == Acquire(t) \/ Release(t)

Next == (\E t \in Threads : Step(t) \/ WakesForNoReason(t)) \/ Terminated

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

(* For the configurations without properties: threads are alike. *)
Alike == Permutations(Threads)

----------------------------------------------------------------------------
(* What must hold. *)

MutualExclusion == Cardinality({t \in Threads : pc[t] \in Holding}) <= 1

(* LOCKED is exact, so a release finds it set (I1 of the header). *)
WordTellsOfHolder == word.locked <=> \E t \in Threads : pc[t] \in Holding

(* I2: what the holder has seen of the stack stays there until it pops it. *)
OnlyTheHolderPops == \A t \in Threads : pc[t] = "pop" => seen[t].top \in Sleepers

(* I3: the invariant form of "no lost wake-up". *)
NoSleeperForgotten == (word.top # Nobody /\ ~word.locked) => \E t \in Threads : is_woken[t]

(* The stack holds each node once, and only those of threads that wait; a sleeper without a permit is on the stack or
   picked by one releaser, and never both. *)
StackHoldsTheSleepers ==
    /\ Cardinality(Sleepers) = Len(StackFrom(word.top))
    /\ \A s \in Sleepers : pc[s] \in Parking /\ ~permit[s]
    /\ \A s \in Threads : pc[s] \in Parking /\ ~permit[s] =>
            Cardinality({t \in Threads : pc[t] = "wake" /\ picked[t] = s}) = IF s \in Sleepers THEN 0 ELSE 1

(* Nobody touches a node whose thread may have left: a holder reads the link of one that waits, and so does the store
   of the permit. *)
NodesAreAlive ==
    \A t \in Threads :
        /\ pc[t] = "pop" => pc[seen[t].top] \in Parking /\ ~permit[seen[t].top]
        /\ pc[t] = "wake" => pc[picked[t]] \in Parking /\ ~permit[picked[t]]

(* The lock at rest is the word it began with. *)
NothingIsLeft == (\A t \in Threads : IsDone(t)) => word = Free

(* Every thread gets all its acquisitions. *)
Termination == <>(\A t \in Threads : IsDone(t))

(* Not promised: a sleeper is woken at last, whatever the others do. *)
SleepersAreWoken == \A t \in Threads : (pc[t] = "asleep") ~> permit[t]

(* Not promised either, even of one that is woken again and again. *)
Served == \A t \in Threads : (pc[t] = "asleep") ~> (pc[t] = "inside")
============================================================================
