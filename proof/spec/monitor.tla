------------------------------------ MODULE monitor ------------------------------------
(***************************************************************************)
(* The lock of crates/core/src/monitor.rs and the files beside it: a word *)
(* that inflates to a side object from a pool, and deflates again.         *)
(*                                                                         *)
(* Modelled: several monitors that share a pool, so that objects change    *)
(* hands while threads come too late; the word (thin with owner, levels,   *)
(* WANTED; fat with an object), sleepers on the word, the object's owner,  *)
(* levels, calm exits and pins, waits for a pulse, deadlines.              *)
(*                                                                         *)
(* Grain: a look at the word and the compare-exchange that relies on       *)
(* nothing else are one action. The flagship's mutex and its condition     *)
(* variable are taken as what they promise (ondeck.tla): a mutex that      *)
(* somebody has or not, and a queue of those who wait for a pulse. To      *)
(* enqueue there and to release the mutex is one action. Actions whose     *)
(* names begin with a capital are no steps.                                *)
(*                                                                         *)
(* Not modelled: memory orderings (loom has them); the first look, whose   *)
(* grab is that of the slow path; try_acquire; pulse_all, which is several *)
(* pulses; spurious wakes, which would hide lost ones and lead only to     *)
(* another turn; the drop of a monitor, which is retire and no more.       *)
(*                                                                         *)
(* Bounds: each thread enters Rounds times, each time the monitor that it  *)
(* likes, up to Levels deep, and waits for a pulse at most once each time. *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
    Threads,
    Monitors,
    Objects,
    Nobody,      \* No thread, and no object.
    Big,         \* Threads whose number does not fit into the word.
    Timed,       \* Threads that have deadlines. Only these wait for a pulse, which may never come.
    Rounds,      \* How often each thread enters.
    Levels,      \* How deep at most.
    ThinLevels,  \* Levels that fit into the word.
    CalmExits,   \* After so many exits for which nobody had to wait a monitor deflates.
    Bug          \* "none", or the seeded bug.

VARIABLES
    word,        \* Of each monitor.
    object,      \* What is in each object.
    room,        \* Who waits for a pulse in each object, oldest first.
    pool,        \* Objects that nobody has.
    pc,          \* Where each thread is.
    target,      \* The monitor that each thread is about.
    seen,        \* The word that a thread relies on.
    taken,       \* What a thread has taken from the pool or is to give back.
    depth,       \* How deep each thread is inside.
    may_wait,    \* Whether a thread may still wait this time.
    left         \* How often each thread will come.

vars == <<word, object, room, pool, pc, target, seen, taken, depth, may_wait, left>>

ASSUME Big \subseteq Threads /\ Timed \subseteq Threads

Free == [kind |-> "free", owner |-> Nobody, levels |-> 0, is_wanted |-> FALSE, side |-> Nobody]
Thin(t) == [Free EXCEPT !.kind = "thin", !.owner = t, !.levels = 1]
Fat(o) == [Free EXCEPT !.kind = "fat", !.side = o]
Unused == [mutex |-> Nobody, owner |-> Nobody, levels |-> 0, calm |-> 0, pins |-> 0, is_closed |-> TRUE]

InsidePlaces == {"inside", "leave", "take", "first", "open", "inflate", "rouse_inside", "pin_to_wait"}
OutsidePlaces == {"idle", "enter", "sleep", "asleep", "try_side", "recheck", "stray", "pin", "check_pinned", "unpin", "queue",
                  "unpin_in", "unpin_out", "give_back", "give_back_found", "exit", "close", "deflate", "let_go", "rouse",
                  "waiting", "pulsed", "timed_out", "unpin_back",
                  "take_found", "first_found", "open_found", "found", "retire", "hand_over", "open_to_hand_over"}

At(t, places) == pc[t] \in places
Goes(t, place) == pc' = [pc EXCEPT ![t] = place]
Word(t) == word[target[t]]
Side(t) == IF Word(t).kind = "fat" THEN Word(t).side ELSE Nobody
Writes(t, value) == word' = [word EXCEPT ![target[t]] = value]
Inside(m) == {t \in Threads : depth[t] > 0 /\ target[t] = m}

TypeOk ==
    /\ \A m \in Monitors : word[m].kind \in {"free", "thin", "fat"}
    /\ \A o \in Objects : object[o].pins \in 0..Cardinality(Threads) /\ object[o].calm \in 0..CalmExits
    /\ pool \subseteq Objects
    /\ pc \in [Threads -> InsidePlaces \cup OutsidePlaces]
    /\ target \in [Threads -> Monitors]
    /\ depth \in [Threads -> 0..Levels]
    /\ taken \in [Threads -> Objects \cup {Nobody}]
    /\ left \in [Threads -> 0..Rounds]

Init ==
    /\ word = [m \in Monitors |-> Free]
    /\ object = [o \in Objects |-> Unused]
    /\ room = [o \in Objects |-> <<>>]
    /\ pool = Objects
    /\ pc = [t \in Threads |-> "idle"]
    /\ target \in [Threads -> {CHOOSE m \in Monitors : TRUE}]
    /\ seen = [t \in Threads |-> Free]
    /\ taken = [t \in Threads |-> Nobody]
    /\ depth = [t \in Threads |-> 0]
    /\ may_wait = [t \in Threads |-> TRUE]
    /\ left = [t \in Threads |-> Rounds]

----------------------------------------------------------------------------
(* Helpers. *)

OnlyPlace == UNCHANGED <<word, object, room, pool, target, seen, taken, depth, may_wait, left>>

Sets(o, record) == object' = [object EXCEPT ![o] = record]

(* What a thread knows is of no use to it any more. *)
IsDoneOnce(t) ==
    /\ left' = [left EXCEPT ![t] = @ - 1]
    /\ may_wait' = [may_wait EXCEPT ![t] = TRUE]
    /\ seen' = [seen EXCEPT ![t] = Free]

Comes(t) ==
    /\ At(t, {"idle"}) /\ left[t] > 0
    /\ \E m \in Monitors : target' = [target EXCEPT ![t] = m]
    /\ Goes(t, "enter")
    /\ UNCHANGED <<word, object, room, pool, seen, taken, depth, may_wait, left>>

----------------------------------------------------------------------------
(* Entering a thin monitor. *)

grab(t) ==
    /\ At(t, {"enter"}) /\ t \notin Big
    /\ Word(t).kind = "free"
    /\ Writes(t, Thin(t))
    /\ depth' = [depth EXCEPT ![t] = 1]
    /\ Goes(t, "inside")
    /\ UNCHANGED <<object, room, pool, target, seen, taken, may_wait, left>>

want(t) ==
    /\ At(t, {"enter"})
    /\ Word(t).kind = "thin"
    /\ Writes(t, [Word(t) EXCEPT !.is_wanted = TRUE])
    /\ seen' = [seen EXCEPT ![t] = [Word(t) EXCEPT !.is_wanted = TRUE]]
    /\ Goes(t, "sleep")
    /\ UNCHANGED <<object, room, pool, target, taken, depth, may_wait, left>>

sleep(t) ==
    /\ At(t, {"sleep"})
    /\ Goes(t, IF Word(t) = seen[t] THEN "asleep" ELSE "enter")
    /\ OnlyPlace

(* Wakes all, by address. *)
rouse(t) ==
    /\ At(t, {"rouse", "rouse_inside"})
    /\ pc' = [other \in Threads |->
                IF other = t THEN IF At(t, {"rouse"}) THEN "idle" ELSE "inside"
                ELSE IF pc[other] = "asleep" /\ target[other] = target[t] THEN "enter" ELSE pc[other]]
    /\ OnlyPlace

----------------------------------------------------------------------------
(* Entering a fat monitor. *)

SeesFat(t) ==
    /\ At(t, {"enter"})
    /\ Word(t).kind = "fat"
    /\ seen' = [seen EXCEPT ![t] = Word(t)]
    /\ Goes(t, "try_side")
    /\ UNCHANGED <<word, object, room, pool, target, taken, depth, may_wait, left>>

(* At once, not pinned; or pinned and after waiting. *)
enter(t) ==
    LET o == seen[t].side
    IN \/ /\ At(t, {"try_side"})
          /\ IF object[o].mutex = Nobody
             THEN Sets(o, [object[o] EXCEPT !.mutex = t]) /\ Goes(t, "recheck")
             ELSE Goes(t, "pin") /\ UNCHANGED object
          /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>
       \/ /\ At(t, {"queue"})
          /\ object[o].mutex = Nobody
          /\ Sets(o, [object[o] EXCEPT !.mutex = t, !.calm = 0])
          /\ Goes(t, "unpin_in")
          /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

(* The look that belongs to enter. *)
Rechecks(t) ==
    LET o == seen[t].side
    IN /\ At(t, {"recheck"})
       /\ IF Word(t) = seen[t] \/ Bug = "no_recheck"
          THEN /\ Sets(o, [object[o] EXCEPT !.owner = t, !.levels = 1])
               /\ depth' = [depth EXCEPT ![t] = 1]
               /\ Goes(t, "inside")
          ELSE Goes(t, "stray") /\ UNCHANGED <<object, depth>>
       /\ UNCHANGED <<word, room, pool, target, seen, taken, may_wait, left>>

stray(t) ==
    /\ At(t, {"stray"})
    /\ Sets(seen[t].side, [object[seen[t].side] EXCEPT !.mutex = Nobody])
    /\ Goes(t, "enter")
    /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

(* By who must wait for the mutex, and by who is inside and will wait for a pulse. *)
pin(t) ==
    LET o == IF At(t, {"pin"}) THEN seen[t].side ELSE Side(t)
    IN /\ At(t, {"pin", "pin_to_wait"})
       /\ IF At(t, {"pin"})
          THEN /\ Sets(o, [object[o] EXCEPT !.pins = @ + 1])
               /\ Goes(t, IF object[o].is_closed THEN "unpin" ELSE "check_pinned")
               /\ UNCHANGED <<room, seen, depth, may_wait>>
          ELSE /\ Sets(o, [object[o] EXCEPT !.pins = @ + 1, !.owner = Nobody, !.calm = 0, !.mutex = Nobody])
               /\ room' = [room EXCEPT ![o] = Append(@, t)]
               /\ seen' = [seen EXCEPT ![t] = [Word(t) EXCEPT !.levels = depth[t]]]
               /\ depth' = [depth EXCEPT ![t] = 0]
               /\ may_wait' = [may_wait EXCEPT ![t] = FALSE]
               /\ Goes(t, "waiting")
       /\ UNCHANGED <<word, pool, target, taken, left>>

ChecksPinned(t) ==
    /\ At(t, {"check_pinned"})
    /\ Goes(t, IF Word(t) = seen[t] \/ Bug = "no_look_when_pinned" THEN "queue" ELSE "unpin")
    /\ OnlyPlace

unpin(t) ==
    LET o == seen[t].side
        fewer == [object[o] EXCEPT !.pins = @ - 1]
    IN /\ \/ At(t, {"unpin"}) /\ Sets(o, fewer) /\ Goes(t, "enter") /\ UNCHANGED <<seen, depth, may_wait, left>>
          \/ /\ At(t, {"unpin_in"})
             /\ Sets(o, [fewer EXCEPT !.owner = t, !.levels = 1])
             /\ depth' = [depth EXCEPT ![t] = 1]
             /\ Goes(t, "inside")
             /\ UNCHANGED <<seen, may_wait, left>>
          \/ /\ At(t, {"unpin_back"})
             /\ Sets(o, [fewer EXCEPT !.owner = t, !.levels = seen[t].levels])
             /\ depth' = [depth EXCEPT ![t] = seen[t].levels]
             /\ Goes(t, "inside")
             /\ UNCHANGED <<seen, may_wait, left>>
          \/ At(t, {"unpin_out"}) /\ Sets(o, fewer) /\ Goes(t, "idle") /\ IsDoneOnce(t) /\ UNCHANGED depth
       /\ UNCHANGED <<word, room, pool, target, taken>>

(* In front of a thin monitor, of a fat one, or in the room. There the queue decides whether a pulse came first. The
   seeded bug lets the deadline win though the pulse has been spent on it. *)
TimesOut(t) ==
    /\ t \in Timed
    /\ \/ At(t, {"asleep"}) /\ Goes(t, "idle") /\ IsDoneOnce(t) /\ UNCHANGED room
       \/ At(t, {"queue"}) /\ Goes(t, "unpin_out") /\ UNCHANGED <<room, seen, may_wait, left>>
       \/ /\ At(t, {"waiting"}) \/ (At(t, {"pulsed"}) /\ Bug = "deadline_beats_pulse")
          /\ room' = [room EXCEPT ![seen[t].side] = SelectSeq(@, LAMBDA other : other # t)]
          /\ Goes(t, "timed_out")
          /\ UNCHANGED <<seen, may_wait, left>>
    /\ UNCHANGED <<word, object, pool, target, taken, depth>>

(* Back from the room, whose condition variable acquires the mutex again. *)
ComesBack(t) ==
    LET o == seen[t].side
    IN /\ At(t, {"pulsed", "timed_out"})
       /\ object[o].mutex = Nobody
       /\ Sets(o, [object[o] EXCEPT !.mutex = t])
       /\ Goes(t, "unpin_back")
       /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

----------------------------------------------------------------------------
(* Objects from the pool: for the owner of a thin monitor that needs more than the word can hold, for a thread whose
   number does not fit, and for an owner that leaves a monitor which somebody wants. *)

Takes(t) ==
    /\ At(t, {"take", "take_found"})
    /\ \E o \in pool : taken' = [taken EXCEPT ![t] = o] /\ pool' = pool \ {o}
    /\ Goes(t, IF At(t, {"take"}) THEN "first" ELSE "first_found")
    /\ UNCHANGED <<word, object, room, target, seen, depth, may_wait, left>>

(* Acquires the mutex, which only somebody who came too late can have. *)
EntersFirst(t) ==
    LET o == taken[t]
    IN /\ At(t, {"first", "first_found"})
       /\ object[o].mutex = Nobody
       /\ Sets(o, [object[o] EXCEPT !.mutex = t, !.owner = t, !.levels = IF At(t, {"first"}) THEN depth[t] ELSE 1])
       /\ Goes(t, IF At(t, {"first"}) THEN "open" ELSE "open_found")
       /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

open(t) ==
    /\ At(t, {"open", "open_found", "open_to_hand_over"})
    /\ Sets(taken[t], [object[taken[t]] EXCEPT !.is_closed = FALSE])
    /\ Goes(t, CASE At(t, {"open"}) -> "inflate" [] At(t, {"open_found"}) -> "found" [] OTHER -> "hand_over")
    /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

inflate(t) ==
    /\ At(t, {"inflate"})
    /\ Writes(t, Fat(taken[t]))
    /\ taken' = [taken EXCEPT ![t] = Nobody]
    /\ Goes(t, IF Word(t).is_wanted THEN "rouse_inside" ELSE "inside")
    /\ UNCHANGED <<object, room, pool, target, seen, depth, may_wait, left>>

BeginsToFound(t) ==
    /\ At(t, {"enter"}) /\ t \in Big
    /\ Word(t).kind = "free"
    /\ Goes(t, "take_found")
    /\ OnlyPlace

found(t) ==
    /\ At(t, {"found"})
    /\ IF Word(t).kind = "free"
       THEN /\ Writes(t, Fat(taken[t]))
            /\ taken' = [taken EXCEPT ![t] = Nobody]
            /\ depth' = [depth EXCEPT ![t] = 1]
            /\ Goes(t, "inside")
       ELSE Goes(t, "retire") /\ UNCHANGED <<word, taken, depth>>
    /\ UNCHANGED <<object, room, pool, target, seen, may_wait, left>>

retire(t) ==
    LET o == taken[t]
    IN /\ At(t, {"retire"})
       /\ Sets(o, [object[o] EXCEPT !.is_closed = TRUE, !.calm = 0, !.owner = Nobody, !.levels = 0, !.mutex = Nobody])
       /\ Goes(t, "give_back_found")
       /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

(* Back to the pool, after a deflation or a founding that failed. *)
GivesBack(t) ==
    /\ At(t, {"give_back", "give_back_found"})
    /\ pool' = pool \cup {taken[t]}
    /\ taken' = [taken EXCEPT ![t] = Nobody]
    /\ Goes(t, IF At(t, {"give_back"}) THEN "idle" ELSE "enter")
    /\ UNCHANGED <<word, object, room, target, seen, depth, may_wait, left>>

----------------------------------------------------------------------------
(* Inside. *)

nest(t) ==
    /\ At(t, {"inside"}) /\ depth[t] < Levels
    /\ \/ /\ Word(t).kind = "thin" /\ Word(t).levels < ThinLevels
          /\ Writes(t, [Word(t) EXCEPT !.levels = @ + 1])
          /\ UNCHANGED object
       \/ /\ Word(t).kind = "fat"
          /\ Sets(Side(t), [object[Side(t)] EXCEPT !.levels = @ + 1])
          /\ UNCHANGED word
    /\ depth' = [depth EXCEPT ![t] = @ + 1]
    /\ UNCHANGED <<room, pool, pc, target, seen, taken, may_wait, left>>

(* Out of levels, or about to wait. *)
NeedsObject(t) ==
    /\ At(t, {"inside"}) /\ Word(t).kind = "thin" /\ pool # {}
    /\ (depth[t] < Levels /\ Word(t).levels = ThinLevels) \/ (t \in Timed /\ may_wait[t])
    /\ Goes(t, "take")
    /\ OnlyPlace

BeginsToWait(t) ==
    /\ At(t, {"inside"}) /\ Word(t).kind = "fat" /\ t \in Timed /\ may_wait[t]
    /\ Goes(t, "pin_to_wait")
    /\ OnlyPlace

Pulses(t) ==
    /\ At(t, {"inside"}) /\ Word(t).kind = "fat" /\ room[Side(t)] # <<>>
    /\ room' = [room EXCEPT ![Side(t)] = Tail(@)]
    /\ pc' = [pc EXCEPT ![Head(room[Side(t)])] = "pulsed"]
    /\ UNCHANGED <<word, object, pool, target, seen, taken, depth, may_wait, left>>

BeginsToLeave(t) ==
    /\ At(t, {"inside"})
    /\ Goes(t, "leave")
    /\ OnlyPlace

----------------------------------------------------------------------------
(* Leaving. *)

unnest(t) ==
    /\ At(t, {"leave"}) /\ depth[t] > 1
    /\ \/ /\ Word(t).kind = "thin"
          /\ Writes(t, [Word(t) EXCEPT !.levels = @ - 1])
          /\ UNCHANGED object
       \/ /\ Word(t).kind = "fat"
          /\ Sets(Side(t), [object[Side(t)] EXCEPT !.levels = @ - 1])
          /\ UNCHANGED word
    /\ depth' = [depth EXCEPT ![t] = @ - 1]
    /\ UNCHANGED <<room, pool, pc, target, seen, taken, may_wait, left>>

Out(t) == depth' = [depth EXCEPT ![t] = 0]

vacate(t) ==
    /\ At(t, {"leave"}) /\ depth[t] = 1
    /\ Word(t).kind = "thin"
    /\ ~Word(t).is_wanted \/ Bug = "vacate_wanted"
    /\ Writes(t, Free)
    /\ Out(t)
    /\ Goes(t, "idle")
    /\ IsDoneOnce(t)
    /\ UNCHANGED <<object, room, pool, target, taken>>

BeginsToHandOver(t) ==
    /\ At(t, {"leave"}) /\ depth[t] = 1
    /\ Word(t).kind = "thin" /\ Word(t).is_wanted
    /\ IF pool = {}
       THEN Goes(t, "hand_over") /\ UNCHANGED <<pool, taken>>
       ELSE /\ \E o \in pool : taken' = [taken EXCEPT ![t] = o] /\ pool' = pool \ {o}
            /\ Goes(t, "open_to_hand_over")
    /\ UNCHANGED <<word, object, room, target, seen, depth, may_wait, left>>

hand_over(t) ==
    /\ At(t, {"hand_over"})
    /\ Writes(t, IF taken[t] = Nobody THEN Free ELSE Fat(taken[t]))
    /\ taken' = [taken EXCEPT ![t] = Nobody]
    /\ Out(t)
    /\ Goes(t, "rouse")
    /\ IsDoneOnce(t)
    /\ UNCHANGED <<object, room, pool, target>>

(* Counts the exit, and finds out whether the monitor may deflate. *)
Disowns(t) ==
    LET o == Side(t)
        calm == IF object[o].calm < CalmExits THEN object[o].calm + 1 ELSE CalmExits
    IN /\ At(t, {"leave"}) /\ depth[t] = 1
       /\ Word(t).kind = "fat"
       /\ Sets(o, [object[o] EXCEPT !.owner = Nobody, !.levels = 0, !.calm = calm])
       /\ taken' = [taken EXCEPT ![t] = o]
       /\ Out(t)
       /\ IsDoneOnce(t)
       /\ Goes(t, IF calm = CalmExits /\ object[o].pins = 0 THEN "close" ELSE "exit")
       /\ UNCHANGED <<word, room, pool, target>>

exit(t) ==
    /\ At(t, {"exit"})
    /\ Sets(taken[t], [object[taken[t]] EXCEPT !.mutex = Nobody])
    /\ taken' = [taken EXCEPT ![t] = Nobody]
    /\ Goes(t, "idle")
    /\ UNCHANGED <<word, room, pool, target, seen, depth, may_wait, left>>

close(t) ==
    LET o == taken[t]
    IN /\ At(t, {"close"})
       /\ IF object[o].pins = 0 \/ Bug = "close_while_pinned"
          THEN Sets(o, [object[o] EXCEPT !.is_closed = TRUE, !.calm = 0]) /\ Goes(t, "deflate")
          ELSE Goes(t, "exit") /\ UNCHANGED object
       /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

deflate(t) ==
    /\ At(t, {"deflate"})
    /\ Writes(t, Free)
    /\ Goes(t, "let_go")
    /\ UNCHANGED <<object, room, pool, target, seen, taken, depth, may_wait, left>>

LetsGo(t) ==
    /\ At(t, {"let_go"})
    /\ Sets(taken[t], [object[taken[t]] EXCEPT !.mutex = Nobody])
    /\ Goes(t, "give_back")
    /\ UNCHANGED <<word, room, pool, target, seen, taken, depth, may_wait, left>>

----------------------------------------------------------------------------

IsDone(t) == At(t, {"idle"}) /\ left[t] = 0

Terminated == \A t \in Threads : IsDone(t)

Step(t) ==
    \/ Comes(t) \/ grab(t) \/ want(t) \/ sleep(t) \/ rouse(t)
    \/ SeesFat(t) \/ enter(t) \/ Rechecks(t) \/ stray(t) \/ pin(t) \/ ChecksPinned(t) \/ unpin(t) \/ ComesBack(t)
    \/ Takes(t) \/ EntersFirst(t) \/ open(t) \/ inflate(t) \/ BeginsToFound(t) \/ found(t) \/ retire(t) \/ GivesBack(t)
    \/ nest(t) \/ NeedsObject(t) \/ BeginsToWait(t) \/ Pulses(t) \/ BeginsToLeave(t)
    \/ unnest(t) \/ vacate(t) \/ BeginsToHandOver(t) \/ hand_over(t)
    \/ Disowns(t) \/ exit(t) \/ close(t) \/ deflate(t) \/ LetsGo(t)

Next == (\E t \in Threads : Step(t) \/ TimesOut(t)) \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t)) /\ WF_vars(TimesOut(t))

----------------------------------------------------------------------------
(* What must hold. *)

MutualExclusion == \A m \in Monitors : Cardinality(Inside(m)) <= 1

(* I1 and I3: who is inside is named, as deep as it is, and nobody else is. *)
OwnerIsNamed ==
    \A m \in Monitors : \A t \in Inside(m) :
        IF word[m].kind = "fat"
        THEN LET o == word[m].side
             IN object[o].owner = t /\ object[o].mutex = t /\ object[o].levels = depth[t]
        ELSE word[m].kind = "thin" /\ word[m].owner = t /\ word[m].levels = depth[t]

(* I2: the invariant form of "no lost wake-up" on the word. In the objects it is the flagship's. *)
NoLostWakeup ==
    \A t \in Threads : At(t, {"asleep"}) =>
        \/ Word(t).kind = "thin" /\ Word(t).is_wanted
        \/ \E other \in Threads : At(other, {"rouse", "rouse_inside"}) /\ target[other] = target[t]

(* I4: a word names an object of its own, which is open unless its last holder is about to deflate. *)
WordsNameObjects ==
    \A m \in Monitors : word[m].kind = "fat" =>
        /\ word[m].side \notin pool
        /\ \A other \in Monitors \ {m} : word[other] # word[m]
        /\ object[word[m].side].is_closed => \E t \in Threads : At(t, {"deflate"}) /\ taken[t] = word[m].side

(* I5: nobody waits in an object but for the monitor that has it. *)
WaitersAreAtHome ==
    \A t \in Threads :
        At(t, {"queue", "unpin_in", "unpin_out", "waiting", "pulsed", "timed_out", "unpin_back"}) =>
            Word(t).kind = "fat" /\ Word(t).side = seen[t].side

PinsAreCounted ==
    \A o \in Objects : object[o].pins =
        Cardinality({t \in Threads : seen[t].side = o /\ At(t, {"check_pinned", "unpin", "queue", "unpin_in", "unpin_out",
                                                               "waiting", "pulsed", "timed_out", "unpin_back"})})

(* A pulse is not spent on somebody whose wait times out. *)
PulseIsNotLost == [][\A t \in Threads : At(t, {"pulsed"}) => pc'[t] # "timed_out"]_vars

(* Every thread gets in as often as it comes, or gives up at its deadline. *)
Termination == <>Terminated
============================================================================
