-------------------------------- MODULE coreclr_monitor --------------------------------
(***************************************************************************)
(* The fat form of the lock of lab/lineage/src/coreclr_monitor.rs.        *)
(*                                                                         *)
(* Modelled: the word (locked, the flag that forbids barging, the number   *)
(* of spinners, the signalled flag, the number of waiters), the clock of   *)
(* starvation, the event that resets itself, deadlines, and attempts of    *)
(* spinners and of woken waiters that are really counted.                  *)
(*                                                                         *)
(* Grain: a look and the compare-exchange that follows are one action, for *)
(* that one fails if the look was out of date. A waiter that gets in       *)
(* starts the clock with that. A second passes at any time (TimePasses).   *)
(* The event goes to the oldest sleeper as soon as it is set, or stays set *)
(* if nobody sleeps; without FifoEvent any waiter may take it. Actions     *)
(* whose names begin with a capital are no steps.                          *)
(*                                                                         *)
(* Not modelled: the thin form and nesting, which are those of             *)
(* coreclr_monitor_before.tla; the wait room (monitor.tla); memory         *)
(* orderings (loom has them).                                              *)
(*                                                                         *)
(* Bounds: each thread comes Rounds times, so that a lost wake-up is a     *)
(* deadlock; Endless lifts that bound.                                     *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

\* not modelled: grab: the thin form is that of coreclr_monitor_before.tla
\* not modelled: nest: as grab
\* not modelled: unnest: as grab
\* not modelled: vacate_thin: as grab
\* not modelled: latch: as grab
\* not modelled: inflate: as grab

CONSTANTS
    Threads,
    Timed,        \* The threads that have deadlines.
    Rounds,       \* How often each thread comes.
    Endless,      \* TRUE: there is no such bound.
    MostSpinners, \* What the spinner count can hold.
    Spins,        \* Whether anybody spins.
    SpinBudget,   \* Attempts of a spinner, and of a woken waiter, after the first.
    Relief,       \* Whether barging is forbidden when waiters starve.
    FifoEvent,    \* Whether the event is handed to the oldest sleeper.
    Prompt,       \* Whether a waiter on its way to sleep is asleep before anybody else does anything.
    Bug           \* "none", or the seeded bug.

VARIABLES
    locked, no_barging, n_spinners, is_signalled, n_waiters, \* The word.
    clock,        \* "off", "runs", or "due": a second has passed in which no waiter got in.
    event,        \* Whether it is set.
    sleepers,     \* Those who sleep for it, oldest first; only with FifoEvent.
    given,        \* Those who were handed it; only with FifoEvent.
    pc,           \* Where each thread is.
    budget,       \* Attempts that a thread has left.
    left          \* How often each thread will come.

word == <<locked, no_barging, n_spinners, is_signalled, n_waiters>>
the_event == <<event, sleepers, given>>
vars == <<word, clock, the_event, pc, budget, left>>

ASSUME Timed \subseteq Threads /\ {Endless, Relief, FifoEvent, Prompt, Spins} \subseteq BOOLEAN

Symmetry == Permutations(Threads)

RegisteredPlaces == {"start_clock", "park", "asleep", "woken", "heeded", "unregister"}
Places == {"idle", "bar", "spin_up", "spin", "retire", "retired", "register", "stop_clock", "stopped_clock", "inside", "choose", "signal", "survey"}
          \cup RegisteredPlaces

At(t, place) == pc[t] = place
Goes(t, place) == pc' = [pc EXCEPT ![t] = place]

TypeOk ==
    /\ {locked, no_barging, is_signalled, event} \subseteq BOOLEAN
    /\ n_spinners \in 0..MostSpinners
    /\ n_waiters \in 0..Cardinality(Threads)
    /\ clock \in {"off", "runs", "due"}
    /\ Len(sleepers) <= Cardinality(Threads) /\ given \subseteq Threads
    /\ pc \in [Threads -> Places]
    /\ budget \in [Threads -> 0..SpinBudget]
    /\ left \in [Threads -> 0..Rounds]

Init ==
    /\ locked = FALSE /\ no_barging = FALSE /\ n_spinners = 0 /\ is_signalled = FALSE /\ n_waiters = 0
    /\ clock = "off"
    /\ event = FALSE /\ sleepers = <<>> /\ given = {}
    /\ pc = [t \in Threads |-> "idle"]
    /\ budget = [t \in Threads |-> SpinBudget]
    /\ left = [t \in Threads |-> Rounds]

----------------------------------------------------------------------------
(* Helpers. *)

(* Open to those who are no waiters. *)
IsOpen == ~locked /\ ~no_barging
MustChoose == n_waiters > 0 /\ n_spinners = 0 /\ ~is_signalled
MustBar == Relief /\ n_waiters > 0 /\ ~no_barging /\ clock = "due"

IsDoneOnce(t) == left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]
Refill(t) == budget' = [budget EXCEPT ![t] = SpinBudget]
Enters(t) == locked' = TRUE /\ Goes(t, "inside") /\ Refill(t)

(* By a waiter, whose getting in is what starving waiters wait for. *)
EntersAsWaiter(t) ==
    /\ Enters(t)
    /\ n_waiters' = n_waiters - 1
    /\ no_barging' = FALSE
    /\ clock' = IF n_waiters > 1 THEN "runs" ELSE clock

----------------------------------------------------------------------------
(* Arrivals and spinners. *)

(* Also at the last moment before registering. Who has stopped the clock starts it again for those who are waiting. *)
seize(t) ==
    /\ (At(t, "idle") /\ left[t] > 0) \/ At(t, "register") \/ At(t, "stopped_clock")
    /\ IsOpen
    /\ Enters(t)
    /\ clock' = IF At(t, "stopped_clock") /\ Bug # "leave_clock_stopped" THEN "runs" ELSE clock
    /\ UNCHANGED <<no_barging, n_spinners, is_signalled, n_waiters, the_event, left>>

Contends(t) ==
    /\ At(t, "idle") /\ left[t] > 0
    /\ ~IsOpen
    /\ Goes(t, IF Spins THEN "bar" ELSE "register")
    /\ UNCHANGED <<word, clock, the_event, budget, left>>

(* By who is about to spin, and by who has just signalled. *)
bar(t) ==
    /\ At(t, "bar") \/ At(t, "survey")
    /\ MustBar
    /\ no_barging' = TRUE
    /\ Goes(t, IF At(t, "bar") THEN "register" ELSE "idle")
    /\ UNCHANGED <<locked, n_spinners, is_signalled, n_waiters, clock, the_event, budget, left>>

NeedNotBar(t) ==
    /\ At(t, "bar") \/ At(t, "survey")
    /\ ~MustBar
    /\ Goes(t, IF At(t, "survey") THEN "idle" ELSE IF no_barging THEN "register" ELSE "spin_up")
    /\ UNCHANGED <<word, clock, the_event, budget, left>>

spin_up(t) ==
    /\ At(t, "spin_up")
    /\ ~no_barging /\ n_spinners < MostSpinners
    /\ n_spinners' = n_spinners + 1
    /\ Goes(t, "spin")
    /\ UNCHANGED <<locked, no_barging, is_signalled, n_waiters, clock, the_event, budget, left>>

MayNotSpin(t) ==
    /\ At(t, "spin_up")
    /\ no_barging \/ n_spinners = MostSpinners
    /\ Goes(t, "register")
    /\ UNCHANGED <<word, clock, the_event, budget, left>>

seize_spinning(t) ==
    /\ At(t, "spin")
    /\ IsOpen
    /\ n_spinners' = n_spinners - 1
    /\ Enters(t)
    /\ UNCHANGED <<no_barging, is_signalled, n_waiters, clock, the_event, left>>

SpinsInVain(t) ==
    /\ At(t, "spin")
    /\ ~IsOpen
    /\ IF budget[t] = 0 \/ no_barging
       THEN Goes(t, "retire") /\ Refill(t)
       ELSE budget' = [budget EXCEPT ![t] = @ - 1] /\ UNCHANGED pc
    /\ UNCHANGED <<word, clock, the_event, left>>

(* Whoever has released while we spun has signalled nobody. So a lock that is free now is ours to take, whatever the flag
   says. The seeded bug does not look. *)
retire(t) ==
    /\ At(t, "retire")
    /\ n_spinners' = n_spinners - 1
    /\ Goes(t, IF locked \/ Bug = "retire_blindly" THEN "register" ELSE "retired")
    /\ UNCHANGED <<locked, no_barging, is_signalled, n_waiters, clock, the_event, budget, left>>

late_seize(t) ==
    /\ At(t, "retired")
    /\ IF locked
       THEN Goes(t, "register") /\ UNCHANGED <<locked, budget>>
       ELSE Enters(t)
    /\ UNCHANGED <<no_barging, n_spinners, is_signalled, n_waiters, clock, the_event, left>>

----------------------------------------------------------------------------
(* Waiters. *)

(* Who would be the first waiter stops the clock before, lest somebody take the time of a waiter long gone for its own.
   When it comes to that, it may not be the first any more. *)
SeesNoWaiter(t) ==
    /\ At(t, "register") \/ At(t, "stopped_clock")
    /\ ~IsOpen /\ n_waiters = 0
    /\ Goes(t, "stop_clock")
    /\ UNCHANGED <<word, clock, the_event, budget, left>>

StopsClock(t) ==
    /\ At(t, "stop_clock")
    /\ clock' = "off"
    /\ Goes(t, "stopped_clock")
    /\ UNCHANGED <<word, the_event, budget, left>>

register(t) ==
    /\ At(t, "stopped_clock") \/ (At(t, "register") /\ n_waiters > 0)
    /\ ~IsOpen
    /\ n_waiters' = n_waiters + 1
    /\ Goes(t, IF At(t, "stopped_clock") THEN "start_clock" ELSE "park")
    /\ UNCHANGED <<locked, no_barging, n_spinners, is_signalled, clock, the_event, budget, left>>

StartsClock(t) ==
    /\ At(t, "start_clock")
    /\ clock' = "runs"
    /\ Goes(t, "park")
    /\ UNCHANGED <<word, the_event, budget, left>>

(* Takes an event that is set, or sleeps. *)
park(t) ==
    /\ At(t, "park")
    /\ IF event
       THEN event' = FALSE /\ Goes(t, "woken") /\ UNCHANGED sleepers
       ELSE /\ Goes(t, "asleep")
            /\ sleepers' = IF FifoEvent THEN Append(sleepers, t) ELSE sleepers
            /\ UNCHANGED event
    /\ UNCHANGED <<word, clock, given, budget, left>>

Wakes(t) ==
    /\ At(t, "asleep")
    /\ IF FifoEvent
       THEN t \in given /\ given' = given \ {t} /\ UNCHANGED event
       ELSE event /\ event' = FALSE /\ UNCHANGED given
    /\ Goes(t, "woken")
    /\ UNCHANGED <<word, clock, sleepers, budget, left>>

(* The woken waiter spins, and is on deck for as long as the flag stays. *)
rise(t) ==
    /\ At(t, "woken") /\ Spins
    /\ ~locked
    /\ is_signalled' = FALSE
    /\ EntersAsWaiter(t)
    /\ UNCHANGED <<n_spinners, the_event, left>>

WaitsInVain(t) ==
    /\ At(t, "woken")
    /\ Spins /\ locked /\ budget[t] > 0
    /\ budget' = [budget EXCEPT ![t] = @ - 1]
    /\ UNCHANGED <<word, clock, the_event, pc, left>>

(* No longer on deck. Whoever releases after this signals, so a lock that is free now is ours to take. *)
heed(t) ==
    /\ At(t, "woken")
    /\ budget[t] = 0 \/ ~Spins
    /\ is_signalled' = (Bug = "keep_signalled")
    /\ Goes(t, IF locked THEN "park" ELSE "heeded")
    /\ Refill(t)
    /\ UNCHANGED <<locked, no_barging, n_spinners, n_waiters, clock, the_event, left>>

reclaim(t) ==
    /\ At(t, "heeded")
    /\ IF locked
       THEN Goes(t, "park") /\ UNCHANGED <<locked, no_barging, n_waiters, clock, budget>>
       ELSE EntersAsWaiter(t)
    /\ UNCHANGED <<n_spinners, is_signalled, the_event, left>>

(* An event that has come is taken even so. The seeded bug takes it along. *)
TimesOut(t) ==
    /\ At(t, "asleep") /\ t \in Timed
    /\ Bug = "leave_with_event" \/ ~(IF FifoEvent THEN t \in given ELSE event)
    /\ Goes(t, "unregister")
    /\ sleepers' = SelectSeq(sleepers, LAMBDA other : other # t)
    /\ given' = given \ {t}
    /\ event' = FALSE
    /\ UNCHANGED <<word, clock, budget, left>>

unregister(t) ==
    /\ At(t, "unregister")
    /\ n_waiters' = n_waiters - 1
    /\ no_barging' = IF n_waiters = 1 /\ Bug # "keep_no_barging" THEN FALSE ELSE no_barging
    /\ IsDoneOnce(t)
    /\ Goes(t, "idle")
    /\ UNCHANGED <<locked, n_spinners, is_signalled, clock, the_event, budget>>

----------------------------------------------------------------------------
(* Release. *)

vacate(t) ==
    /\ At(t, "inside")
    /\ locked' = FALSE
    /\ IsDoneOnce(t)
    /\ Goes(t, IF MustChoose THEN "choose" ELSE "idle")
    /\ UNCHANGED <<no_barging, n_spinners, is_signalled, n_waiters, clock, the_event, budget>>

choose(t) ==
    /\ At(t, "choose")
    /\ is_signalled' = (is_signalled \/ MustChoose)
    /\ Goes(t, IF MustChoose THEN "signal" ELSE "idle")
    /\ UNCHANGED <<locked, no_barging, n_spinners, n_waiters, clock, the_event, budget, left>>

signal(t) ==
    /\ At(t, "signal")
    /\ IF sleepers # <<>>
       THEN given' = given \cup {Head(sleepers)} /\ sleepers' = Tail(sleepers) /\ UNCHANGED event
       ELSE event' = TRUE /\ UNCHANGED <<sleepers, given>>
    /\ Goes(t, "survey")
    /\ UNCHANGED <<word, clock, budget, left>>

----------------------------------------------------------------------------

TimePasses ==
    /\ clock = "runs"
    /\ clock' = "due"
    /\ UNCHANGED <<word, the_event, pc, budget, left>>

IsDone(t) == At(t, "idle") /\ left[t] = 0

Terminated == \A t \in Threads : IsDone(t)

Moves(t) ==
    \/ seize(t) \/ Contends(t) \/ bar(t) \/ NeedNotBar(t) \/ SeesNoWaiter(t) \/ StopsClock(t)
    \/ spin_up(t) \/ MayNotSpin(t) \/ seize_spinning(t) \/ SpinsInVain(t) \/ retire(t) \/ late_seize(t)
    \/ register(t) \/ StartsClock(t) \/ park(t) \/ Wakes(t)
    \/ rise(t) \/ WaitsInVain(t) \/ heed(t) \/ reclaim(t) \/ unregister(t)
    \/ vacate(t) \/ choose(t) \/ signal(t)

Step(t) ==
    /\ Prompt => \A other \in Threads \ {t} : pc[other] \notin {"stop_clock", "stopped_clock", "start_clock", "park", "heeded"}
    /\ Moves(t)

Next == (\E t \in Threads : Step(t) \/ TimesOut(t)) \/ TimePasses \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ (\A t \in Threads : WF_vars(Step(t))) /\ WF_vars(TimePasses)

----------------------------------------------------------------------------
(* What must hold. *)

Inside == {t \in Threads : At(t, "inside")}
Registered == {t \in Threads : pc[t] \in RegisteredPlaces}

MutualExclusion == Cardinality(Inside) <= 1

LockedIsExact == locked <=> Inside # {}

SpinnersAreCounted == n_spinners = Cardinality({t \in Threads : pc[t] \in {"spin", "retire"}})

WaitersAreCounted == n_waiters = Cardinality(Registered)

(* One on deck at most: the flag says that an event is under way, set, or taken by one who has not observed it. *)
OneOnDeck ==
    LET n_on_deck == Cardinality({t \in Threads : pc[t] \in {"signal", "woken"}}) + Cardinality(given)
                     + IF event THEN 1 ELSE 0
    IN n_on_deck = IF is_signalled THEN 1 ELSE 0

(* Barging is forbidden on behalf of somebody. *)
BarredForWaiters == no_barging => n_waiters > 0

(* The invariant form of "no lost wake-up". *)
NoSleeperForgotten ==
    ~locked /\ n_waiters > 0 =>
        \/ n_spinners > 0
        \/ is_signalled
        \/ \E t \in Threads : pc[t] \in {"choose", "retired", "heeded"}

(* Every thread gets in as often as it comes, or gives up at its deadline. *)
Termination == <>Terminated

(* What the relief promises: as long as there are waiters, one or the other gets in again and again. *)
WaitersAreRelieved ==
    \/ []<>(n_waiters = 0)
    \/ []<><<\E t \in Threads : pc[t] \in {"woken", "heeded"} /\ pc'[t] = "inside">>_vars

(* That the same waiter gets in at last follows only if there is no other, the event is handed to it, and it always
   sleeps when the event is set. *)
WaitersGetIn == \A t \in Threads : At(t, "asleep") ~> At(t, "inside")
============================================================================
