-------------------------------- MODULE parking_lot --------------------------------
(***************************************************************************)
(* What the two ports of parking_lot share: lab/lineage/src/parking_lot.rs*)
(* and the files beside it. Each has a module that extends this one and    *)
(* says what a release does to the word.                                   *)
(*                                                                         *)
(* Modelled: the two bits of the word, the queue latch with its stack of   *)
(* sleepers and the claim on it, the queue, permits, and that a permit     *)
(* comes before the call of the system that goes with it. Each action is a *)
(* step of the Rust headers.                                               *)
(*                                                                         *)
(* Grain: what fails and changes nothing is no action, or shows as another *)
(* decision. A thread that has pushed itself waits for its permit: there   *)
(* rouse is one action, for between its store and its call nobody acts on  *)
(* the node. Spinning is a contender that is not scheduled: how often it   *)
(* looks before it announces or pushes makes no difference to the rest.    *)
(*                                                                         *)
(* Not modelled: memory orderings (loom has them); the links of queue and  *)
(* stack; time, so that relief may be due at any release, or never.        *)
(*                                                                         *)
(* Bounds: each thread acquires the lock Rounds times, so that a lost      *)
(* wake-up is a deadlock. Endless lifts that bound.                        *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Threads,
    Nobody,         \* No thread.
    Rounds,         \* Acquisitions of each thread.
    Endless,        \* TRUE: there is no such bound.
    SpuriousWakes,  \* Times that some sleeper may wake for no reason.
    Bug             \* "none", or the seeded bug.

VARIABLES
    locked,         \* The bits of the word.
    parked,
    latcher,        \* Who has the queue latch; the code knows only whether somebody has.
    claimer,        \* Who has claimed the latch's stack; likewise.
    stack,          \* Who sleeps for the latch, oldest first.
    queue,          \* Who sleeps for the lock, oldest first.
    pc,             \* Where each thread is.
    aim,            \* Where it goes when it has the latch, or has given it back.
    owed,           \* Whom a releaser has taken out of the queue.
    roused,         \* Whom somebody has taken out of the stack.
    permits,        \* Whose parker has a permit.
    handed,         \* To whom the lock has been handed and who is not up yet.
    left,           \* Acquisitions to come.
    spurious        \* Spurious wakes to come.

word == <<locked, parked>>
theLatch == <<latcher, claimer, stack>>
known == <<owed, roused>>
bounds == <<left, spurious>>
vars == <<locked, parked, latcher, claimer, stack, queue, pc, aim, owed, roused, permits, handed, left, spurious>>

Symmetry == Permutations(Threads)

At(t, place) == pc[t] = place
Goes(t, place) == pc' = [pc EXCEPT ![t] = place]
Aims(t, place) == aim' = [aim EXCEPT ![t] = place]
IsIn(t, list) == \E i \in DOMAIN list : list[i] = t

(* Under the latch. *)
LatchedPlaces == {"validate", "enqueue", "dequeue", "answer", "permit", "unlatch"}
(* With the claim on the stack. *)
ClaimedPlaces == {"leave_stack", "pop_only", "pop_oldest"}

Places ==
    {"idle", "look", "late_grab", "announce", "latch", "await_latch", "claim_stack", "rouse", "park", "asleep", "inside",
     "wake"} \cup LatchedPlaces \cup ClaimedPlaces

TypeOk ==
    /\ {locked, parked} \subseteq BOOLEAN
    /\ {latcher, claimer} \subseteq Threads \cup {Nobody}
    /\ \A list \in {stack, queue} : Len(list) <= Cardinality(Threads) /\ \A i \in DOMAIN list : list[i] \in Threads
    /\ pc \in [Threads -> Places]
    /\ aim \in [Threads -> {"idle", "validate", "dequeue", "look", "park", "wake"}]
    /\ owed \in [Threads -> Threads \cup {Nobody}]
    /\ roused \in [Threads -> Threads \cup {Nobody}]
    /\ permits \subseteq Threads /\ handed \subseteq Threads
    /\ left \in [Threads -> 0..Rounds]
    /\ spurious \in 0..SpuriousWakes

Init ==
    /\ locked = FALSE /\ parked = FALSE
    /\ latcher = Nobody /\ claimer = Nobody /\ stack = <<>>
    /\ queue = <<>>
    /\ pc = [t \in Threads |-> "idle"]
    /\ aim = [t \in Threads |-> "idle"]
    /\ owed = [t \in Threads |-> Nobody]
    /\ roused = [t \in Threads |-> Nobody]
    /\ permits = {} /\ handed = {}
    /\ left = [t \in Threads |-> Rounds]
    /\ spurious = SpuriousWakes

Enters(t) ==
    /\ Goes(t, "inside")
    /\ left' = [left EXCEPT ![t] = IF Endless THEN @ ELSE @ - 1]

----------------------------------------------------------------------------
(* Ways in. *)

grab(t) ==
    /\ At(t, "idle")
    /\ left[t] > 0
    /\ IF locked \/ parked
       THEN Goes(t, "look") /\ UNCHANGED <<locked, left>>
       ELSE locked' = TRUE /\ Enters(t)
    /\ UNCHANGED <<parked, theLatch, queue, aim, known, permits, handed, spurious>>

(* One that fails changes nothing. *)
try(t) ==
    /\ At(t, "idle")
    /\ left[t] > 0
    /\ ~locked
    /\ locked' = TRUE
    /\ Enters(t)
    /\ UNCHANGED <<parked, theLatch, queue, aim, known, permits, handed, spurious>>

(* What a contender does about the word as it is now. *)
Decides(t) ==
    /\ Goes(t, IF ~locked THEN "late_grab" ELSE IF ~parked THEN "announce" ELSE "latch")
    /\ Aims(t, IF locked /\ parked THEN "validate" ELSE "idle")

look(t) ==
    /\ At(t, "look")
    /\ Decides(t)
    /\ UNCHANGED <<word, theLatch, queue, known, permits, handed, bounds>>

late_grab(t) ==
    /\ At(t, "late_grab")
    /\ IF locked
       THEN Decides(t) /\ UNCHANGED <<locked, left>>
       ELSE locked' = TRUE /\ Enters(t) /\ UNCHANGED aim
    /\ UNCHANGED <<parked, theLatch, queue, known, permits, handed, spurious>>

announce(t) ==
    /\ At(t, "announce")
    /\ IF locked /\ ~parked
       THEN parked' = TRUE /\ Goes(t, "latch") /\ Aims(t, "validate")
       ELSE Decides(t) /\ UNCHANGED parked
    /\ UNCHANGED <<locked, theLatch, queue, known, permits, handed, bounds>>

(* The seeded bug goes to sleep whatever became of the word. *)
validate(t) ==
    /\ At(t, "validate")
    /\ IF (locked /\ parked) \/ Bug = "park_blindly"
       THEN Goes(t, "enqueue") /\ Aims(t, "park")
       ELSE Goes(t, "unlatch") /\ Aims(t, "look")
    /\ UNCHANGED <<word, theLatch, queue, known, permits, handed, bounds>>

enqueue(t) ==
    /\ At(t, "enqueue")
    /\ queue' = Append(queue, t)
    /\ Goes(t, "unlatch")
    /\ UNCHANGED <<word, theLatch, aim, known, permits, handed, bounds>>

(* Asleep it stays until the system is called for it. *)
park(t) ==
    /\ At(t, "park")
    /\ IF t \notin permits
       THEN Goes(t, "asleep") /\ UNCHANGED <<permits, handed, left>>
       ELSE /\ permits' = permits \ {t}
            /\ handed' = handed \ {t}
            /\ IF t \in handed THEN Enters(t) ELSE Goes(t, "look") /\ UNCHANGED left
    /\ UNCHANGED <<word, theLatch, queue, aim, known, spurious>>

----------------------------------------------------------------------------
(* The slow release, but for what it does to the word. *)

dequeue(t) ==
    /\ At(t, "dequeue")
    /\ owed' = [owed EXCEPT ![t] = IF queue = <<>> THEN Nobody ELSE Head(queue)]
    /\ queue' = IF queue = <<>> THEN queue ELSE Tail(queue)
    /\ Goes(t, "answer")
    /\ UNCHANGED <<word, theLatch, aim, roused, permits, handed, bounds>>

(* The word is as it should be. *)
Answered(t) ==
    IF owed[t] = Nobody
    THEN Goes(t, "unlatch") /\ Aims(t, "idle")
    ELSE Goes(t, "permit") /\ Aims(t, "wake")

permit(t) ==
    /\ At(t, "permit")
    /\ permits' = permits \cup {owed[t]}
    /\ Goes(t, "unlatch")
    /\ UNCHANGED <<word, theLatch, queue, aim, known, handed, bounds>>

(* By address. The seeded bug is that nobody calls. *)
wake(t) ==
    /\ At(t, "wake")
    /\ pc' = [s \in Threads |->
           IF s = t THEN "idle" ELSE IF s = owed[t] /\ pc[s] = "asleep" /\ Bug # "no_call" THEN "park" ELSE pc[s]]
    /\ owed' = [owed EXCEPT ![t] = Nobody]
    /\ UNCHANGED <<word, theLatch, queue, aim, roused, permits, handed, bounds>>

----------------------------------------------------------------------------
(* The latch. *)

Latches(t) ==
    /\ latcher = Nobody
    /\ latcher' = t
    /\ Goes(t, aim[t])
    /\ UNCHANGED <<word, claimer, stack, queue, aim, known, permits, handed, bounds>>

latch(t) == At(t, "latch") /\ stack = <<>> /\ claimer = Nobody /\ Latches(t)

late_latch(t) == At(t, "latch") /\ (stack # <<>> \/ claimer # Nobody) /\ Latches(t)

push(t) ==
    /\ At(t, "latch")
    /\ latcher # Nobody
    /\ stack' = Append(stack, t)
    /\ Goes(t, "await_latch")
    /\ UNCHANGED <<word, latcher, claimer, queue, aim, known, permits, handed, bounds>>

await_latch(t) ==
    /\ At(t, "await_latch")
    /\ t \in permits
    /\ permits' = permits \ {t}
    /\ Goes(t, "latch")
    /\ UNCHANGED <<word, theLatch, queue, aim, known, handed, bounds>>

(* The seeded bug does not look whether somebody sleeps for the latch. *)
unlatch(t) ==
    /\ At(t, "unlatch")
    /\ latcher' = Nobody
    /\ Goes(t, IF stack # <<>> /\ claimer = Nobody /\ Bug # "unlatch_blindly" THEN "claim_stack" ELSE aim[t])
    /\ UNCHANGED <<word, claimer, stack, queue, aim, known, permits, handed, bounds>>

(* What to do with the stack, as the latch's word is now. *)
Picks(t) ==
    Goes(t, IF latcher # Nobody THEN "leave_stack" ELSE IF Len(stack) = 1 THEN "pop_only" ELSE "pop_oldest")

claim_stack(t) ==
    /\ At(t, "claim_stack")
    /\ IF stack = <<>> \/ claimer # Nobody
       THEN Goes(t, aim[t]) /\ UNCHANGED claimer
       ELSE claimer' = t /\ Picks(t)
    /\ UNCHANGED <<word, latcher, stack, queue, aim, known, permits, handed, bounds>>

(* The seeded bug leaves although the latch is free again. *)
leave_stack(t) ==
    /\ At(t, "leave_stack")
    /\ IF latcher # Nobody \/ Bug = "leave_blindly"
       THEN claimer' = Nobody /\ Goes(t, aim[t])
       ELSE Picks(t) /\ UNCHANGED claimer
    /\ UNCHANGED <<word, latcher, stack, queue, aim, known, permits, handed, bounds>>

TakesOldest(t) ==
    /\ claimer' = Nobody
    /\ roused' = [roused EXCEPT ![t] = Head(stack)]
    /\ Goes(t, "rouse")

(* The seeded bug empties a stack on which others have come meanwhile. *)
pop_only(t) ==
    /\ At(t, "pop_only")
    /\ IF latcher = Nobody /\ (Len(stack) = 1 \/ Bug = "pop_all")
       THEN stack' = <<>> /\ TakesOldest(t)
       ELSE Picks(t) /\ UNCHANGED <<claimer, stack, roused>>
    /\ UNCHANGED <<word, latcher, queue, aim, owed, permits, handed, bounds>>

(* Whatever the latch's word is by now. *)
pop_oldest(t) ==
    /\ At(t, "pop_oldest")
    /\ stack' = Tail(stack)
    /\ TakesOldest(t)
    /\ UNCHANGED <<word, latcher, queue, aim, owed, permits, handed, bounds>>

rouse(t) ==
    /\ At(t, "rouse")
    /\ permits' = permits \cup {roused[t]}
    /\ roused' = [roused EXCEPT ![t] = Nobody]
    /\ Goes(t, aim[t])
    /\ UNCHANGED <<word, theLatch, queue, aim, owed, handed, bounds>>

----------------------------------------------------------------------------

WakesForNoReason(t) ==
    /\ At(t, "asleep")
    /\ spurious > 0
    /\ spurious' = spurious - 1
    /\ Goes(t, "park")
    /\ UNCHANGED <<word, theLatch, queue, aim, known, permits, handed, left>>

IsDone(t) == At(t, "idle") /\ left[t] = 0

Terminated == (\A t \in Threads : IsDone(t)) /\ UNCHANGED vars

SharedStep(t) ==
    \/ grab(t) \/ try(t) \/ look(t) \/ late_grab(t) \/ announce(t) \/ validate(t) \/ enqueue(t) \/ park(t)
    \/ dequeue(t) \/ permit(t) \/ wake(t)
    \/ latch(t) \/ late_latch(t) \/ push(t) \/ await_latch(t) \/ unlatch(t)
    \/ claim_stack(t) \/ leave_stack(t) \/ pop_only(t) \/ pop_oldest(t) \/ rouse(t)

----------------------------------------------------------------------------
(* What must hold. *)

(* On the way from a vacate that found somebody parked to the queue. *)
Releasers == {t \in Threads : aim[t] = "dequeue"}

(* I2 of the headers. *)
QueueIsMarked == queue # <<>> => parked

(* I4: the bucket is touched under the latch. *)
LatchIsHeld == \A t \in Threads : pc[t] \in LatchedPlaces => latcher = t

StackIsClaimed == \A t \in Threads : pc[t] \in ClaimedPlaces => claimer = t /\ stack # <<>>

(* Who sleeps is in the list for it, or was taken out. *)
SleepersAreListed == \A t \in Threads :
    /\ IsIn(t, queue) => pc[t] \in {"unlatch", "claim_stack", "rouse", "park", "asleep"} \cup ClaimedPlaces
    /\ IsIn(t, stack) => At(t, "await_latch") /\ t \notin permits
    /\ At(t, "asleep") => IsIn(t, queue) \/ t \in permits \/ \E w \in Threads : owed[w] = t
    /\ At(t, "await_latch") => IsIn(t, stack) \/ t \in permits \/ \E w \in Threads : roused[w] = t

(* Who sleeps with a permit will be called. *)
PermitsAreFollowed == \A t \in Threads :
    At(t, "asleep") /\ t \in permits => \E w \in Threads : owed[w] = t /\ aim[w] = "wake"

(* A contender that is awake: it does not sleep but behind a holder. *)
Awake ==
    {t \in Threads :
        \/ pc[t] \in {"look", "late_grab", "announce"}
        \/ aim[t] \in {"validate", "look"} /\ pc[t] # "idle"
        \/ t \in permits /\ aim[t] = "park"
        \/ \E w \in Threads : owed[w] = t /\ At(w, "permit")}

(* I3: the invariant form of "no lost wake-up". *)
NoSleeperForgotten == queue # <<>> => locked \/ Releasers # {} \/ Awake # {}

(* I6: the same for the latch. *)
NobodyForgottenAtLatch ==
    stack # <<>> =>
        \/ latcher # Nobody
        \/ claimer # Nobody
        \/ \E t \in Threads : pc[t] \in {"claim_stack", "rouse", "latch"} \/ (At(t, "await_latch") /\ t \in permits)

(* Every thread gets all its acquisitions. *)
Termination == <>(\A t \in Threads : IsDone(t))

(* Not promised by either: a sleeper gets in at last, whatever the others do. *)
SleepersGetIn == \A t \in Threads : At(t, "asleep") ~> At(t, "inside")
============================================================================
