-------------------------------------------- MODULE pthread_places --------------------------------------------
(* The table of tool/preload/src/places.rs, by which a condition variable is destroyed while those that have been notified
   are still on their way out of their wait, and how tool/preload/src/cond.rs uses it. Actions have the names of the steps
   in the header of places.rs; comments in both files say where they happen.

   MODELLED. One mutex, one address. A condition variable lives there, is destroyed and freed, and another may begin its life
   at the same address. Waiters wait once each; some have a deadline, some are cancelled, before or after they have been
   notified. One thread notifies one waiter at a time, or all, and then destroys the condition variable, with the mutex or
   without. Each access to the count and to each place of the table is an action.

   GRAIN. A list and its lock are one step, as are mutex and sleep: the module ondeck_condvar has both. A notified waiter is
   called when the mutex is free. Between its return and its release of the mutex nothing of this happens, so `reacquire` is
   both.

   THE PROGRAM. It does what POSIX lets it do: once it has notified all and means to destroy, nobody begins to wait. What is
   `owed` is the number of single notifications that a waiter has got and no thread has come back with. They must not be lost
   while anybody waits.

   NOT MODELLED. Condition variables of several processes, which have no list. A child of a fork, whose table is cleared before
   it can take a place: module pthread_process. The end of the used part of the table, which is raised before a place is taken.

   MEMORY. Who destroys reads the count with Acquire, and a waiter's last touch is the decrement with Release. Who was cut off
   has last touched the condition variable in `join`, before the mutex's release, which the notifier has seen. A hold acquires
   nothing: what it guards is read under the list's lock.                                                              *)

EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Waiters,
  Hasty,      \* Waiters with a deadline.
  Cancelled,  \* Waiters that are cancelled in their sleep.
  Places,     \* The table.
  Lives,      \* Condition variables that live at the address, one after the other.
  Signals,    \* Single notifications, in the first life.
  Destroys,   \* Whether each life ends with a broadcast and the destruction.
  Nobody,
  Bug         \* A seeded mistake, or "none".

VARIABLES
  table,      \* for each place: free, the address, held or cut
  n_inside, list,     \* the condition variable
  life,       \* which one lives
  mutex,      \* who has it
  record,     \* where each waiter's record is
  pc, place, mine,    \* where each waiter is, its place, and the life in which it waits
  cancel,     \* whether it has been cancelled, and then found that the condition variable is there
  d, n_cut, rest,     \* the notifier: where it is, how many it has cut off, and the places that it has not looked at
  signals, owed

\* of the program: lock, signal, unlock
cond == <<n_inside, list, life>>
waiter == <<record, pc, place, mine, cancel>>
notifier == <<d, n_cut, rest, signals>>
vars == <<table, cond, mutex, waiter, notifier, owed>>

Bugs == {"none", "never_cuts", "ignores_count", "leaves_anyway", "cuts_held", "counts_out_first", "frees_the_place",
         "keeps_notification", "touches_unheld"}
ASSUME Bug \in Bugs /\ Hasty \cup Cancelled \subseteq Waiters

NoPlace == 0
ASSUME NoPlace \notin Places

Init ==
  /\ table = [p \in Places |-> "free"]
  /\ n_inside = 0 /\ list = <<>> /\ life = 1
  /\ mutex = Nobody
  /\ record = [w \in Waiters |-> "none"]
  /\ pc = [w \in Waiters |-> "outside"]
  /\ place = [w \in Waiters |-> NoPlace]
  /\ mine = [w \in Waiters |-> 0]
  /\ cancel = [w \in Waiters |-> "none"]
  /\ d = "outside" /\ n_cut = 0 /\ rest = {}
  /\ signals = 0 /\ owed = 0

At(w, where) == pc[w] = where
Goes(w, where) == pc' = [pc EXCEPT ![w] = where]
Becomes(w, what) == record' = [record EXCEPT ![w] = what]

\* Nobody begins to wait any more in this life.
IsClosing == d \notin {"outside", "signal", "signalled", "broadcast"}

-----------------------------------------------------------------------------------------------------------------
(* A waiter. *)

take(w) ==
  /\ At(w, "outside") /\ mutex = Nobody /\ ~IsClosing
  /\ mutex' = w
  /\ mine' = [mine EXCEPT ![w] = life]
  /\ IF \E p \in Places : table[p] = "free"
     THEN \E p \in Places :
            /\ table[p] = "free"
            /\ table' = [table EXCEPT ![p] = "taken"] /\ place' = [place EXCEPT ![w] = p]
            /\ Goes(w, "count_in")
     ELSE Goes(w, "join") /\ UNCHANGED <<table, place>>
  /\ UNCHANGED <<cond, record, cancel, notifier, owed>>

count_in(w) ==
  /\ At(w, "count_in")
  /\ n_inside' = n_inside + 1
  /\ Goes(w, "join")
  /\ UNCHANGED <<table, list, life, mutex, record, place, mine, cancel, notifier, owed>>

\* And releases the mutex.
join(w) ==
  /\ At(w, "join")
  /\ list' = Append(list, w) /\ Becomes(w, "queued")
  /\ mutex' = Nobody
  /\ Goes(w, "asleep")
  /\ UNCHANGED <<table, n_inside, life, place, mine, cancel, notifier, owed>>

\* A notified waiter is called by a release of the mutex.
wake(w) ==
  /\ At(w, "asleep") /\ record[w] = "moved" /\ mutex = Nobody
  /\ Goes(w, "leave")
  /\ UNCHANGED <<table, cond, mutex, record, place, mine, cancel, notifier, owed>>

\* The deadline, or the answer to a cancellation: no notification comes any more.
withdraw(w) ==
  /\ \/ At(w, "asleep") /\ w \in Hasty
     \/ At(w, "look")
  /\ record[w] = "queued"
  /\ Becomes(w, "leaving")
  /\ Goes(w, "unlink")
  /\ UNCHANGED <<table, cond, mutex, place, mine, cancel, notifier, owed>>

unlink(w) ==
  /\ At(w, "unlink")
  /\ list' = SelectSeq(list, LAMBDA u : u # w)
  /\ Becomes(w, "none")
  /\ Goes(w, "leave")
  /\ UNCHANGED <<table, n_inside, life, mutex, place, mine, cancel, notifier, owed>>

\* It is cancelled in its sleep, wherever its record is.
hold(w) ==
  /\ At(w, "asleep") /\ w \in Cancelled
  /\ LET succeeds == place[w] # NoPlace /\ table[place[w]] = "taken"
     IN /\ table' = IF succeeds THEN [table EXCEPT ![place[w]] = "held"] ELSE table
        /\ cancel' = [cancel EXCEPT ![w] = IF succeeds \/ Bug = "touches_unheld" THEN "there" ELSE "gone"]
  /\ Goes(w, "look")
  /\ UNCHANGED <<cond, mutex, record, place, mine, notifier, owed>>

\* It has been notified, and does not come back with that.
find_notified(w) ==
  /\ At(w, "look") /\ record[w] = "moved"
  /\ Goes(w, IF cancel[w] = "there" /\ Bug # "keeps_notification" THEN "pass_on" ELSE "leave")
  /\ UNCHANGED <<table, cond, mutex, record, place, mine, cancel, notifier, owed>>

Queued == SelectSeq(list, LAMBDA u : record[u] = "queued")
\* notify_one
NotifiesOne ==
  IF Queued = <<>> THEN UNCHANGED <<list, record>>
  ELSE /\ list' = SelectSeq(list, LAMBDA u : u # Head(Queued))
       /\ Becomes(Head(Queued), "moved")

pass_on(w) ==
  /\ At(w, "pass_on")
  /\ NotifiesOne
  /\ owed' = IF Queued = <<>> /\ owed > 0 THEN owed - 1 ELSE owed
  /\ Goes(w, "leave")
  /\ UNCHANGED <<table, n_inside, life, mutex, place, mine, cancel, notifier>>

\* Gives the place up; who has been cut off does not count itself out.
leave(w) ==
  LET IsCut == table[place[w]] = "cut" /\ Bug # "leaves_anyway"
  IN /\ At(w, "leave")
     /\ IF place[w] = NoPlace \/ (Bug = "counts_out_first" /\ ~IsCut)
        THEN Goes(w, IF place[w] = NoPlace THEN "reacquire" ELSE "count_out") /\ UNCHANGED <<table, place>>
        ELSE /\ table' = [table EXCEPT ![place[w]] = "free"] /\ place' = [place EXCEPT ![w] = NoPlace]
             /\ Goes(w, IF IsCut THEN "reacquire" ELSE "count_out")
     /\ UNCHANGED <<cond, mutex, record, mine, cancel, notifier, owed>>

count_out(w) ==
  /\ At(w, "count_out")
  /\ n_inside' = n_inside - 1
  /\ IF place[w] = NoPlace THEN UNCHANGED <<table, place>>
     ELSE table' = [table EXCEPT ![place[w]] = "free"] /\ place' = [place EXCEPT ![w] = NoPlace]
  /\ Goes(w, "reacquire")
  /\ UNCHANGED <<list, life, mutex, record, mine, cancel, notifier, owed>>

\* Whoever comes back notified has used its notification.
reacquire(w) ==
  /\ At(w, "reacquire") /\ mutex = Nobody
  /\ owed' = IF record[w] = "moved" /\ cancel[w] = "none" /\ owed > 0 THEN owed - 1 ELSE owed
  /\ Goes(w, "done")
  /\ UNCHANGED <<table, cond, mutex, record, place, mine, cancel, notifier>>

-----------------------------------------------------------------------------------------------------------------
(* The notifier, which destroys. *)

Notifier == "notifier"
DGoes(where) == d' = where

lock ==
  /\ d = "outside" /\ mutex = Nobody
  /\ mutex' = Notifier
  /\ DGoes(IF life = 1 /\ signals < Signals THEN "signal" ELSE "broadcast")
  /\ Destroys \/ d' = "signal"
  /\ UNCHANGED <<table, cond, waiter, n_cut, rest, signals, owed>>

signal ==
  /\ d = "signal"
  /\ NotifiesOne
  /\ owed' = IF Queued = <<>> THEN owed ELSE owed + 1
  /\ signals' = signals + 1 /\ DGoes("signalled")
  /\ UNCHANGED <<table, n_inside, life, mutex, pc, place, mine, cancel, n_cut, rest>>

unlock ==
  /\ d \in {"signalled", "is_idle", "gone"} /\ mutex = Notifier
  /\ mutex' = Nobody
  /\ DGoes(IF d = "signalled" THEN "outside" ELSE d)
  /\ UNCHANGED <<table, cond, waiter, n_cut, rest, signals, owed>>

broadcast ==
  /\ d = "broadcast"
  /\ list' = SelectSeq(list, LAMBDA u : record[u] # "queued")
  /\ record' = [w \in Waiters |-> IF record[w] = "queued" THEN "moved" ELSE record[w]]
  /\ DGoes("is_idle")
  /\ owed' = 0
  /\ UNCHANGED <<table, n_inside, life, mutex, pc, place, mine, cancel, n_cut, rest, signals>>

\* It naps, and looks again, until the list is empty.
is_idle ==
  /\ d = "is_idle" /\ list = <<>>
  /\ DGoes(IF n_inside = 0 \/ Bug = "never_cuts" THEN "done_waiting" ELSE "cut_off")
  /\ rest' = Places
  /\ UNCHANGED <<table, cond, mutex, waiter, n_cut, signals, owed>>

cut_off ==
  /\ d = "cut_off" /\ rest # {}
  /\ LET p == CHOOSE p \in rest : \A q \in rest : p <= q
         IsCutOff == table[p] = "taken" \/ (Bug = "cuts_held" /\ table[p] = "held")
     IN /\ table' = IF IsCutOff THEN [table EXCEPT ![p] = IF Bug = "frees_the_place" THEN "free" ELSE "cut"] ELSE table
        /\ n_cut' = IF IsCutOff THEN n_cut + 1 ELSE n_cut
        /\ rest' = rest \ {p}
  /\ UNCHANGED <<cond, mutex, waiter, d, signals, owed>>

count_cut ==
  /\ d = "cut_off" /\ rest = {}
  /\ n_inside' = n_inside - n_cut
  /\ n_cut' = 0
  /\ DGoes("done_waiting")
  /\ UNCHANGED <<table, list, life, mutex, waiter, rest, signals, owed>>

\* Who is still inside touches the condition variable, so that is waited for.
destroyed ==
  /\ d = "done_waiting"
  /\ IF n_inside = 0 \/ Bug = "ignores_count"
     THEN DGoes("gone") /\ life' = life + 1
     ELSE DGoes("is_idle") /\ UNCHANGED life
  /\ UNCHANGED <<table, n_inside, list, mutex, waiter, n_cut, rest, signals, owed>>

\* The next life at this address.
init ==
  /\ d = "gone" /\ life <= Lives /\ mutex # Notifier
  /\ n_inside' = 0 /\ list' = <<>>
  /\ DGoes("outside")
  /\ UNCHANGED <<table, life, mutex, waiter, n_cut, rest, signals, owed>>

-----------------------------------------------------------------------------------------------------------------

\* What a thread does by itself: neither a beginning nor a cancellation nor a deadline has to come.
GoesOn(w) ==
  \/ count_in(w) \/ join(w) \/ wake(w) \/ (At(w, "look") /\ withdraw(w)) \/ unlink(w)
  \/ find_notified(w) \/ pass_on(w) \/ leave(w) \/ count_out(w) \/ reacquire(w)
NotifierStep ==
  lock \/ signal \/ unlock \/ broadcast \/ is_idle \/ cut_off \/ count_cut \/ destroyed \/ init

\* Without a broadcast a waiter may wait for ever, unless a notification is lost.
IsAtRest ==
  /\ \/ d = "gone" /\ life > Lives /\ mutex = Nobody
     \/ ~Destroys /\ d = "outside" /\ signals = Signals
  /\ \A w \in Waiters : pc[w] \in {"outside", "done"} \/ (At(w, "asleep") /\ record[w] = "queued" /\ owed = 0)

Next ==
  \/ \E w \in Waiters : GoesOn(w) \/ take(w) \/ hold(w) \/ withdraw(w)
  \/ NotifierStep
  \/ IsAtRest /\ UNCHANGED vars
Spec == Init /\ [][Next]_vars /\ WF_vars(NotifierStep) /\ \A w \in Waiters : SF_vars(GoesOn(w))

-----------------------------------------------------------------------------------------------------------------
(* Invariants. *)

TypeOk ==
  /\ \A p \in Places : table[p] \in {"free", "taken", "held", "cut"}
  /\ \A w \in Waiters : /\ record[w] \in {"none", "queued", "leaving", "moved"} /\ place[w] \in Places \cup {NoPlace}
                        /\ pc[w] \in {"outside", "count_in", "join", "asleep", "look", "unlink", "pass_on", "leave",
                                      "count_out", "reacquire", "done"}

\* Who is about to touch the condition variable finds the one that it waits on.
NobodyTouchesFreed ==
  \A w \in Waiters : pc[w] \in {"count_in", "join", "unlink", "pass_on", "count_out"} => mine[w] = life

\* A place is its waiter's until that gives it up.
PlacesAreApart == \A w, u \in Waiters : w # u /\ place[w] # NoPlace => place[w] # place[u]

\* Who is counted and has not been cut off.
IsCounted(w) ==
  /\ mine[w] = life
  /\ \/ place[w] # NoPlace /\ table[place[w]] # "cut" /\ ~At(w, "count_in")
     \/ At(w, "count_out")
CountIsExact == d # "gone" => n_inside - n_cut = Cardinality({w \in Waiters : IsCounted(w)})

\* Nobody keeps the destroyer waiting for longer than its own next steps.
DestructionEnds == (d = "is_idle") ~> (d = "gone")
=================================================================================================================
