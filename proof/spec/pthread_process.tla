-------------------------------------------- MODULE pthread_process --------------------------------------------
(* What tool/preload/src/process.rs does about forks: a process has a number, a mutex and a condition variable have the
   number of the process that touched them last, and the first touch in another process writes them anew. Actions have the
   names of the steps in that file's header; comments there, in process/first_touch.rs, mutex.rs and cond.rs say where they
   happen.

   MODELLED. One mutex and one condition variable. Threads lock and unlock; some wait until it is `ready`, some make it so and
   notify. Any thread may fork whenever it is outside the library, with the mutex or without; the others may be anywhere then,
   also in the middle of a first touch. In the child they are gone, and threads of the child's own begin in their place.

   ONE PROCESS IS ENOUGH. After a fork parent and child have no memory in common that may hold a private mutex. The parent goes
   on as if it had not forked, which is another behaviour of this model. So `fork` turns the process into its child.

   WHO IS GONE. Where the memory of the child tells of a thread of the parent it says `Gone`. A thread that was inside when the
   process forked is inside for ever: its mutex stays locked, as POSIX leaves it, and the child may wait for it in vain. That
   is the one end that is no fault (`IsOrphaned`).

   GRAIN. The lock is an abstract one, since locks have modules of their own: a word, a queue of sleepers, and a seat for the
   one that has been called, which must be empty for a release to call another. `clear` and `regrab` are all that `forget`
   does; a fork may come between them. The owner is read in `regrab`: nobody in this process writes it before `publish`.

   NOT MODELLED. Signal handlers, which `without_signals` keeps out. The choice of a lock before the first fork. Locks of one
   process in memory of two, and numbers that come back after 2^20 forks: both are limits that the documentation names.

   BOUNDS. Each thread locks Rounds times in each process, so a lost wake-up is a deadlock. *)

EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Waiters,    \* Threads that wait on the condition variable, until it is ready.
  Notifiers,  \* Threads that make it ready and notify.
  Others,     \* Threads that lock and unlock.
  Rounds,     \* How often each thread locks in a process.
  MostForks,  \* Forks in a row.
  Nobody,
  Gone,       \* A thread of a parent.
  Bug         \* A seeded mistake, or "none".

Threads == Waiters \cup Notifiers \cup Others

VARIABLES
  state,      \* STATE: Fresh, Busy, or the number of the process
  n_forks,    \* N_FORKS, which a child keeps
  number,     \* of mutex and condition variable: the process that touched it last, and whether it is under way
  locked, queue, seat,        \* the mutex's lock
  owner, n_waiting,           \* the rest of the mutex
  list,       \* the condition variable's waiters
  ready,      \* what the program waits for
  inside,     \* who has the mutex, by the program
  pc, goal,   \* where each thread is, and what it prepares for
  seen,       \* the number that a thread wants to replace
  left,       \* rounds to come
  forks       \* forks so far

\* of the program: fork, begin, act
process == <<state, n_forks, forks>>
lock == <<locked, queue, seat>>
objects == <<number, lock, owner, n_waiting, list>>
threads == <<pc, goal, seen, left>>
vars == <<process, objects, ready, inside, threads>>

Bugs == {"none", "publishes_first", "bare_mark", "no_mark", "forgets_owner", "asks_the_word", "disowns_first", "not_wiped",
         "cond_forgotten", "counts_gone"}
ASSUME Bug \in Bugs

Fresh == -1
Busy == -2
NoNumber == [n |-> -1, way |-> FALSE]
Number(n) == [n |-> n, way |-> FALSE]
\* UNDER_WAY, beside the number of the process.
Mark(n) == [n |-> IF Bug = "bare_mark" THEN 0 ELSE n, way |-> TRUE]

\* What a thread prepares for decides what it prepares.
Object(t) == IF goal[t] \in {"join", "notify"} THEN "cond" ELSE "mutex"

Init ==
  /\ state = 0 /\ n_forks = 0 /\ forks = 0
  /\ number = [o \in {"mutex", "cond"} |-> Number(0)]
  /\ locked = FALSE /\ queue = <<>> /\ seat = Nobody
  /\ owner = Nobody /\ n_waiting = 0 /\ list = <<>>
  /\ ready = FALSE /\ inside = {}
  /\ pc = [t \in Threads |-> "outside"]
  /\ goal = [t \in Threads |-> "none"]
  /\ seen = [t \in Threads |-> NoNumber]
  /\ left = [t \in Threads |-> Rounds]

At(t, place) == pc[t] = place
Goes(t, place) == pc' = [pc EXCEPT ![t] = place] /\ UNCHANGED <<goal, seen, left>>
\* Begins what needs a prepared object.
Wants(t, what) ==
  /\ pc' = [pc EXCEPT ![t] = "prepare"]
  /\ goal' = [goal EXCEPT ![t] = what]
  /\ UNCHANGED <<seen, left>>

-----------------------------------------------------------------------------------------------------------------
(* The process. *)

\* Somebody who finds it busy naps until it is not.
prepare(t) ==
  /\ At(t, "prepare") /\ state # Busy
  /\ IF state = Fresh THEN state' = Busy /\ Goes(t, "count") ELSE Goes(t, "look") /\ UNCHANGED state
  /\ UNCHANGED <<n_forks, forks, objects, ready, inside>>

count(t) ==
  /\ At(t, "count")
  /\ n_forks' = n_forks + 1
  /\ Goes(t, "settle")
  /\ UNCHANGED <<state, forks, objects, ready, inside>>

settle(t) ==
  /\ At(t, "settle")
  /\ state' = n_forks
  /\ Goes(t, "look")
  /\ UNCHANGED <<n_forks, forks, objects, ready, inside>>

\* STATE is wiped. Threads of the parent do not exist.
fork(t) ==
  LET Known(u) == IF u \in {t, Nobody} THEN u ELSE Gone
      AllKnown(seq) == [i \in DOMAIN seq |-> Known(seq[i])]
  IN /\ pc[t] \in {"outside", "inside"} /\ forks < MostForks
     /\ forks' = forks + 1
     /\ state' = IF Bug = "not_wiped" THEN state ELSE Fresh
     /\ owner' = Known(owner) /\ seat' = Known(seat)
     /\ queue' = AllKnown(queue) /\ list' = AllKnown(list)
     /\ inside' = {Known(u) : u \in inside}
     /\ pc' = [u \in Threads |-> IF u = t THEN pc[t] ELSE "outside"]
     /\ goal' = [u \in Threads |-> "none"]
     /\ seen' = [u \in Threads |-> NoNumber]
     /\ left' = [u \in Threads |-> IF u = t THEN left[t] ELSE Rounds]
     /\ UNCHANGED <<n_forks, number, locked, n_waiting, ready>>

-----------------------------------------------------------------------------------------------------------------
(* The first touch of an object: `revive`. *)

\* Who finds the mark of its own process naps until it is replaced.
look(t) ==
  /\ At(t, "look") /\ number[Object(t)] # Mark(state)
  /\ IF number[Object(t)] = Number(state) \/ (Bug = "cond_forgotten" /\ Object(t) = "cond")
     THEN Goes(t, goal[t])
     ELSE /\ pc' = [pc EXCEPT ![t] = IF Bug = "no_mark" THEN "clear" ELSE "mark"]
          /\ seen' = [seen EXCEPT ![t] = number[Object(t)]]
          /\ UNCHANGED <<goal, left>>
  /\ UNCHANGED <<process, objects, ready, inside>>

mark(t) ==
  /\ At(t, "mark")
  /\ IF number[Object(t)] = seen[t]
     THEN /\ number' = [number EXCEPT ![Object(t)] = IF Bug = "publishes_first" THEN Number(state) ELSE Mark(state)]
          /\ pc' = [pc EXCEPT ![t] = "clear"]
     ELSE pc' = [pc EXCEPT ![t] = "look"] /\ UNCHANGED number
  /\ seen' = [seen EXCEPT ![t] = NoNumber]
  /\ UNCHANGED <<process, lock, owner, n_waiting, list, ready, inside, goal, left>>

clear(t) ==
  /\ At(t, "clear")
  /\ IF Object(t) = "cond"
     THEN list' = <<>> /\ Goes(t, "publish") /\ UNCHANGED <<lock, n_waiting>>
     ELSE /\ locked' = (Bug = "asks_the_word" /\ locked) /\ queue' = <<>> /\ seat' = Nobody
          /\ n_waiting' = IF Bug = "counts_gone" THEN n_waiting ELSE 0
          /\ Goes(t, "regrab")
          /\ UNCHANGED list
  /\ UNCHANGED <<process, number, owner, ready, inside>>

regrab(t) ==
  /\ At(t, "regrab")
  /\ locked' = CASE Bug = "forgets_owner" -> FALSE [] Bug = "asks_the_word" -> locked [] OTHER -> owner # Nobody
  /\ Goes(t, "publish")
  /\ UNCHANGED <<process, number, queue, seat, owner, n_waiting, list, ready, inside>>

publish(t) ==
  /\ At(t, "publish")
  /\ number' = [number EXCEPT ![Object(t)] = Number(state)]
  /\ pc' = [pc EXCEPT ![t] = "look"]
  /\ seen' = [seen EXCEPT ![t] = NoNumber]
  /\ UNCHANGED <<process, lock, owner, n_waiting, list, ready, inside, goal, left>>

-----------------------------------------------------------------------------------------------------------------
(* The mutex. *)

begin(t) ==
  /\ At(t, "outside") /\ left[t] > 0
  /\ Wants(t, "grab")
  /\ UNCHANGED <<process, objects, ready, inside>>

\* A thread that finds it locked sleeps in the queue.
grab(t) ==
  /\ At(t, "grab")
  /\ IF locked THEN queue' = Append(queue, t) /\ Goes(t, "asleep") /\ UNCHANGED locked
               ELSE locked' = TRUE /\ Goes(t, "enter") /\ UNCHANGED queue
  /\ UNCHANGED <<process, number, seat, owner, n_waiting, list, ready, inside>>

take(t) ==
  /\ At(t, "seated") /\ ~locked
  /\ locked' = TRUE /\ seat' = Nobody
  /\ Goes(t, "enter")
  /\ UNCHANGED <<process, number, queue, owner, n_waiting, list, ready, inside>>

enter(t) ==
  /\ At(t, "enter")
  /\ owner' = t /\ inside' = inside \cup {t}
  /\ n_waiting' = IF goal[t] = "again" THEN n_waiting - 1 ELSE n_waiting
  /\ pc' = [pc EXCEPT ![t] = "inside"] /\ goal' = [goal EXCEPT ![t] = "none"]
  /\ UNCHANGED <<process, number, lock, list, ready, seen, left>>

\* The program: what a thread does with the mutex that it has.
act(t) ==
  /\ At(t, "inside")
  /\ CASE t \in Waiters /\ ~ready -> Wants(t, "join")
       [] t \in Notifiers /\ ~ready -> Wants(t, "notify")
       [] OTHER -> IF Bug = "disowns_first"
                   THEN pc' = [pc EXCEPT ![t] = "disown"] /\ goal' = [goal EXCEPT ![t] = "vacate"] /\ UNCHANGED <<seen, left>>
                   ELSE Wants(t, "disown")
  /\ ready' = (ready \/ t \in Notifiers)
  /\ UNCHANGED <<process, objects, inside>>

\* From here on nobody has it by the program, nor in a child.
disown(t) ==
  /\ At(t, "disown")
  /\ owner' = Nobody /\ inside' = inside \ {t}
  /\ Goes(t, IF goal[t] = "vacate" THEN "prepare" ELSE "vacate")
  /\ UNCHANGED <<process, number, lock, n_waiting, list, ready>>

\* Who waits on the condition variable sleeps from its release on.
vacate(t) ==
  LET called == IF seat = Nobody /\ queue # <<>> THEN Head(queue) ELSE Nobody
  IN /\ At(t, "vacate")
     /\ locked' = FALSE
     /\ IF called = Nobody THEN UNCHANGED <<queue, seat>> ELSE seat' = called /\ queue' = Tail(queue)
     /\ pc' = [u \in Threads |-> CASE u = t -> (IF goal[t] = "again" THEN "waiting" ELSE "outside")
                                   [] u = called -> "seated"
                                   [] OTHER -> pc[u]]
     /\ left' = [left EXCEPT ![t] = IF goal[t] = "again" THEN @ ELSE @ - 1]
     /\ goal' = [goal EXCEPT ![t] = IF @ = "again" THEN @ ELSE "none"]
     /\ UNCHANGED <<process, number, owner, n_waiting, list, ready, inside, seen>>

-----------------------------------------------------------------------------------------------------------------
(* The condition variable. *)

join(t) ==
  /\ At(t, "join")
  /\ list' = Append(list, t)
  /\ Wants(t, "leave")
  /\ UNCHANGED <<process, number, lock, owner, n_waiting, ready, inside>>

\* Counts itself as a waiter of the mutex, and releases it.
leave(t) ==
  /\ At(t, "leave")
  /\ n_waiting' = n_waiting + 1
  /\ pc' = [pc EXCEPT ![t] = "disown"] /\ goal' = [goal EXCEPT ![t] = "again"]
  /\ UNCHANGED <<process, number, lock, owner, list, ready, inside, seen, left>>

\* The oldest waiter becomes a sleeper of the mutex, which the notifier has.
notify(t) ==
  /\ At(t, "notify")
  /\ IF list = <<>> THEN UNCHANGED <<list, queue>> ELSE list' = Tail(list) /\ queue' = Append(queue, Head(list))
  /\ pc' = [u \in Threads |-> CASE u = t -> "prepare" [] list # <<>> /\ u = Head(list) -> "asleep" [] OTHER -> pc[u]]
  /\ goal' = [goal EXCEPT ![t] = "disown"]
  /\ UNCHANGED <<process, number, locked, seat, owner, n_waiting, ready, inside, seen, left>>

-----------------------------------------------------------------------------------------------------------------

Step(t) ==
  \/ prepare(t) \/ count(t) \/ settle(t)
  \/ look(t) \/ mark(t) \/ clear(t) \/ regrab(t) \/ publish(t)
  \/ begin(t) \/ grab(t) \/ take(t) \/ enter(t) \/ act(t) \/ disown(t) \/ vacate(t)
  \/ join(t) \/ leave(t) \/ notify(t)

AllDone == \A t \in Threads : At(t, "outside") /\ left[t] = 0
\* Whoever is not done waits for a mutex that a thread of the parent has, or for somebody who does.
IsOrphaned ==
  /\ Gone \in inside
  /\ \A t \in Threads : pc[t] \in {"asleep", "waiting"} \/ (At(t, "outside") /\ left[t] = 0)
Terminated == (AllDone \/ IsOrphaned) /\ UNCHANGED vars

Next == (\E t \in Threads : Step(t) \/ fork(t)) \/ Terminated
Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

-----------------------------------------------------------------------------------------------------------------
(* Invariants. *)

Places == {"outside", "inside", "prepare", "count", "settle", "look", "mark", "clear", "regrab", "publish", "grab", "asleep",
           "seated", "enter", "disown", "vacate", "join", "leave", "waiting", "notify"}
Anybody == Threads \cup {Gone}

TypeOk ==
  /\ state \in {Fresh, Busy} \cup 0..MostForks /\ n_forks \in 0..MostForks
  /\ locked \in BOOLEAN /\ seat \in Anybody \cup {Nobody} /\ owner \in Anybody \cup {Nobody}
  /\ inside \subseteq Anybody
  /\ \A t \in Threads : pc[t] \in Places

\* One at a time; who was inside at a fork still is.
MutualExclusion == Cardinality(inside) <= 1

IsReady(o) == number[o] = Number(state)

\* Whoever uses an object does so after it was written anew, and alone is who writes it.
NobodyUsesHalfRevived ==
  /\ \A t \in Threads :
       /\ pc[t] \in {"grab", "asleep", "seated", "enter", "disown", "leave", "vacate"} => IsReady("mutex")
       /\ pc[t] \in {"join", "notify", "waiting"} => IsReady("cond")
  /\ \A t, u \in Threads :
       t # u /\ pc[t] \in {"clear", "regrab", "publish"} /\ pc[u] \in {"clear", "regrab", "publish"} => Object(t) # Object(u)

\* In a mutex of this process: locked if anybody is inside, and only locked ones are released.
HeldIsLocked ==
  /\ IsReady("mutex") /\ inside # {} => locked
  /\ \A t \in Threads : At(t, "vacate") => locked

\* An object of this process tells of nobody who does not exist, but for an owner.
NobodyGoneWaits ==
  /\ IsReady("mutex") => seat # Gone /\ \A i \in DOMAIN queue : queue[i] # Gone
  /\ IsReady("cond") => \A i \in DOMAIN list : list[i] # Gone

\* A mutex can be destroyed when nobody of this process waits with it.
CountIsExact == IsReady("mutex") => n_waiting = Cardinality({t \in Threads : goal[t] = "again"})

Termination == <>(AllDone \/ IsOrphaned)
=================================================================================================================
