-------------------------------------------- MODULE ondeck_rwlock --------------------------------------------
(* The reader-writer lock of crates/core/src/rwlock.rs and the files beside it. Actions have the names of the steps of its header.

   MODELLED. The word: both counts of readers, WRITER, WANTED, ASLEEP, the phase, whether there is a counter, FOLDING. The parts of
   the counter, one for each core. A reader counts by a restartable sequence, in two steps: the look at the word, and the
   addition. An expulsion, a signal or the loss of the core may come between, and then it adds nothing. Readers go from one core
   to another, and enter by the counter and leave by the word, or the other way round. Who folds: a writer that closes the lock, or
   another (`gather`), as a reader does that finds the word far from what it is at first. A fold that is refused, as there are
   too many readers. Deadlines of readers and of writers. Writers that wait with the turn, and those that come in without it.
   Quiet holds: a writer leaves by a look and a store, which overwrites what came in between. Who has the turn, and a reader that
   takes it, end that by a knock, an expulsion, and a comparison.

   A sleeper announces itself (`doze`) and falls asleep by another step, if the upper half of the word is the same as then. A
   wake is a step after the write that makes it due. It wakes whoever sleeps at that moment, and nobody who has only announced it.

   GRAIN. A load and the compare-exchange that relies on nothing else are one action, and one that fails is no step. The
   parts are added up in one action: while the lock is folded nobody writes there, which `SumIsRight` shows. The turn
   is released with the write that ends its use. It is that of the flagship, whose module shows that whoever waits gets it.

   NOT MODELLED. Upgradable readers, and the recursive form. Heat: any reader may spread the lock, and so may a writer that leaves, so
   often as `Spreads` says; and any writer that leaves a word that asks nothing may make it quiet, so often as `Hushes` says. CALLED
   and all time: a writer with the turn closes the lock when it likes. Notes of which locks are spread: a reader may always go by
   the word. The count of those that entered: a sleeper compares that too, and falls asleep less often than here. The fold of a reader that finds the word too far from what it is at
   first: with `Range` it goes by the counter instead, so that readers without end have a bounded number of states. Several
   locks, whose counters are apart. Memory orderings, and that nothing touches the lock after a release: loom shows these.

   BOUNDS, and distinct states found by TLC 2.15 (with symmetry, where no property is checked). Each acquires once, if nothing else is
   said, and the lock is spread once.

   | config               | threads                                                 | states |
   |---|---|---|
   | safety               | 2 readers, a writer, a folder; spread twice             | 13 196 |
   | safety_two_writers   | 2 readers, 2 writers; spread twice                      | 18 915 |
   | safety_again         | a reader, a writer, a folder, twice each; spread 3 times | 31 585 |
   | safety_deadlines     | 2 readers, 2 writers, deadlines, wakes without cause    | 50 666 |
   | safety_refused       | 2 readers, a writer, a folder, refused with 1 reader; spread twice | 21 307 |
   | safety_refused_two   | 2 readers, a writer, a folder, refused with 2 readers   | 14 001 |
   | safety_three_readers | 3 readers, a writer; spread twice                       | 21 259 |
   | liveness             | 2 readers, a writer, a folder                           | 22 584 |
   | liveness_refused     | a reader, a writer, a folder, refused with 1 reader; spread twice | 2 317 |
   | served_writer        | 2 readers without end, a writer; 1 core                 | 5 520  |
   | served_reader        | a reader, 2 writers without end                         | 2 285  |
   | safety_quiet         | a reader, 2 writers, twice each; quiet twice            | 8 809  |
   | safety_quiet_spread  | the same; quiet once, and spread once on 1 core         | 25 608 |
   | safety_quiet_readers | 2 readers, 2 writers, twice each; quiet twice           | 164 645 |
   | safety_quiet_deadlines | 2 readers, 2 writers, deadlines; quiet twice          | 13 145 |
   | safety_quiet_endless | a reader with a deadline without end, a writer twice    | 241    |
   | liveness_quiet       | a reader, 2 writers, twice each; quiet twice            | 17 299 |
   | served_reader_quiet  | a reader, 2 writers without end, quiet without end      | 1 190  | *)

\* not modelled: reserve: upgradable readers are for loom
\* not modelled: unreserve: as above
\* not modelled: warm: any reader may spread the lock
\* not modelled: hush: part of admit

EXTENDS Integers, FiniteSets, TLC

CONSTANTS
  Readers, Writers,
  Folders,  \* Threads that have the lock compact, without having it.
  Rows,     \* Cores, each with its part of the counter.
  Nobody,   \* No thread.
  Rounds,   \* Acquisitions of each thread; of a folder, folds.
  Endless,  \* Threads that acquire again and again instead.
  Timed,    \* Threads with a deadline.
  Spreads,  \* How often the lock may become spread.
  Hushes,   \* How often it may become quiet; 9: without end.
  Late,     \* Whether it may as somebody has the turn: a release that has looked before may do so.
  Most,     \* With more readers than that a fold is refused.
  Range,    \* So far the word may be from what it is at first.
  Spurious, \* Whether sleepers may wake without cause.
  Bug       \* A seeded mistake, or "none".

VARIABLES
  word,
  part,     \* the counter: what each core has added
  is_taken, \* whether a lock has the counter, or somebody who has still to give it back
  turn,     \* who has it
  pc,
  note,     \* what each thread knows for itself
  left,     \* acquisitions that a thread has not begun, or not finished
  spreads,  \* how often the lock may still become spread
  hushes    \* and quiet

vars == <<word, part, is_taken, turn, pc, note, left, spreads, hushes>>
counter == <<part, is_taken>>

Threads == Readers \cup Writers \cup Folders
\* Beside a counter, the word has so many more. Only that it is more than all readers counts.
Spare == 8

Bugs == {"none", "expels_nobody", "expels_first", "adds_up_first", "counts_out_in_a_fold", "closes_without_folding",
         "folds_quietly", "refuses_quietly", "spreads_again_alike", "admits_nobody", "ignores_wanted", "turns_away_quietly", "exits_quietly",
         "dozes_unannounced", "phase_stays", "gives_it_unclean", "gathers_twice", "reopens_quietly",
         "slips_blindly", "settles_at_once", "settles_any", "hears_nothing", "settles_with_all", "stays_beside_quiet",
         "closes_it_quiet", "hushes_beside_waiters", "counts_each_time"}

ASSUME /\ Endless \cup Timed \subseteq Threads /\ Endless \cap Folders = {} /\ Nobody \notin Threads \cup Rows
       /\ Spare > 2 * Cardinality(Readers) /\ Bug \in Bugs

-----------------------------------------------------------------------------------------------------------------
(* The word: state.rs. *)

NoFlag == [active |-> 0, waiting |-> 0, has_counter |-> FALSE, folding |-> FALSE, writer |-> FALSE, wanted |-> FALSE,
           asleep |-> FALSE, phase |-> 0, refusals |-> 0, quiet |-> FALSE]

IsClosed(w) == w.writer \/ w.wanted
IsSpread(w) == w.has_counter /\ ~w.folding
IsIdle(w)   == w.active = 0 /\ w.waiting = 0 /\ ~w.has_counter /\ ~IsClosed(w)
MaySeize(w) == ~w.has_counter /\ w.active = 0 /\ ~w.writer
LetsAWriterIn(w) == ~w.has_counter /\ w.active = 0 /\ w.wanted /\ ~w.writer
SpreadOut(w) == [w EXCEPT !.has_counter = TRUE, !.active = @ + Spare, !.quiet = FALSE]

\* quiet.rs.
IsQuietHold(w) == w.writer /\ w.quiet
Loud(w) == [NoFlag EXCEPT !.writer = TRUE, !.phase = w.phase, !.refusals = w.refusals]
\* Nothing is in it but a writer.
AsksNothing(w) == w = [Loud(w) EXCEPT !.quiet = w.quiet]

\* What a sleeper compares.
Upper(w) == <<w.active, w.writer, w.wanted, w.asleep, w.phase, w.refusals>>

RECURSIVE SumOf(_)
SumOf(rows) == IF rows = {} THEN 0 ELSE LET r == CHOOSE r \in rows : TRUE IN part[r] + SumOf(rows \ {r})
Counted == SumOf(Rows)

-----------------------------------------------------------------------------------------------------------------
(* Helpers. *)

\* The core of a sequence; whether a reader came beside a writer; the phase in which it was turned away; what it compares in
\* its sleep; what the parts say together; and where it goes when it has woken all.
\* And the word at the look of a quiet release, of which only the phase and the refusals are not always the same.
Blank == [row |-> Nobody, beside |-> FALSE, phase |-> 0, upper |-> <<>>, sum |-> 0, next |-> "idle", seen |-> <<>>]

Init ==
  /\ word = NoFlag
  /\ part = [r \in Rows |-> 0] /\ is_taken = FALSE
  /\ turn = Nobody
  /\ pc = [t \in Threads |-> "idle"] /\ note = [t \in Threads |-> Blank]
  /\ left = [t \in Threads |-> Rounds]
  /\ spreads = Spreads
  /\ hushes = Hushes

Begins(t) == pc[t] = "idle" /\ left[t] > 0
Goes(t, place, n) == pc' = [pc EXCEPT ![t] = place] /\ note' = [note EXCEPT ![t] = n]
\* The same behind a wake, if that is due.
WakesAndGoes(t, wakes, place, n) ==
  IF wakes THEN Goes(t, "wakes", [n EXCEPT !.next = place]) ELSE Goes(t, place, n)

\* Changes the word, wakes if that may end a wait, and goes on.
ChangesAndWakes(t, to, ends_a_wait, place, n) ==
  LET wakes == word.asleep /\ ends_a_wait
  IN /\ word' = IF wakes THEN [to EXCEPT !.asleep = FALSE] ELSE to
     /\ WakesAndGoes(t, wakes, place, n)

IsOver(t) == left' = [left EXCEPT ![t] = IF t \in Endless THEN @ ELSE @ - 1]

-----------------------------------------------------------------------------------------------------------------
(* Readers. *)

\* Whether the word may be changed by that.
HasRoom(change) == word.has_counter => word.active + change \in (Spare - Range)..(Spare + Range)
HasToCount(t) == (pc[t] = "enters" /\ ~HasRoom(1)) \/ (pc[t] = "leaves" /\ ~HasRoom(-1))

\* The look, which takes place on any core, and the addition.
count(t) ==
  \/ /\ t \in Readers /\ (Begins(t) \/ pc[t] = "inside" \/ HasToCount(t))
     /\ IsSpread(word) \/ (Bug = "counts_out_in_a_fold" /\ word.has_counter /\ pc[t] = "inside")
     /\ \E r \in Rows : Goes(t, IF pc[t] \in {"inside", "leaves"} THEN "counts_out" ELSE "counts_in", [Blank EXCEPT !.row = r])
     /\ UNCHANGED <<word, counter, turn, left, spreads>>
  \/ /\ pc[t] = "counts_in"
     /\ part' = [part EXCEPT ![note[t].row] = @ + 1]
     /\ Goes(t, "inside", Blank)
     /\ UNCHANGED <<word, is_taken, turn, left, spreads>>
  \/ /\ pc[t] = "counts_out"
     /\ part' = [part EXCEPT ![note[t].row] = @ - 1]
     /\ Goes(t, "idle", Blank)
     /\ IsOver(t)
     /\ UNCHANGED <<word, is_taken, turn, spreads>>

InASequence(t) == pc[t] \in {"counts_in", "counts_out"}
\* It goes by the word then.
PcByWord(t) == IF pc[t] = "counts_in" THEN "enters" ELSE "leaves"

\* A signal, or the loss of the core.
is_ended(t) ==
  /\ InASequence(t)
  /\ Goes(t, PcByWord(t), Blank)
  /\ UNCHANGED <<word, counter, turn, left, spreads>>

IsBlocked(w) == IF Bug = "ignores_wanted" THEN w.writer ELSE IsClosed(w)

\* With the answer "quiet" it has done nothing, and comes again once the hold is over; or what it has added, which a slip may undo.
\* One with a deadline looks before: else one that gives up again and again would fill the word.
enter(t) ==
  /\ \/ t \in Readers /\ (Begins(t) \/ pc[t] = "enters") /\ HasRoom(1)
     \/ pc[t] = "knocks" /\ (~IsQuietHold(word) \/ word.active = 0) /\ HasRoom(1)
  /\ word' = IF t \in Timed /\ IsQuietHold(word) /\ pc[t] # "knocks" /\ Bug # "counts_each_time" THEN word
             ELSE [word EXCEPT !.active = @ + 1]
  /\ IF IsQuietHold(word) /\ Bug # "stays_beside_quiet" THEN Goes(t, "knocks", Blank)
     ELSE IF IsBlocked(word) THEN Goes(t, "turn_away", [Blank EXCEPT !.beside = word.writer]) ELSE Goes(t, "inside", Blank)
  /\ UNCHANGED <<counter, turn, left, spreads>>

turn_away(t) ==
  /\ pc[t] = "turn_away"
  /\ IF ~IsBlocked(word) \/ (note[t].beside /\ ~word.writer) THEN Goes(t, "inside", Blank) /\ UNCHANGED word
     ELSE LET to == [word EXCEPT !.active = @ - 1, !.waiting = @ + 1]
          IN ChangesAndWakes(t, to, LetsAWriterIn(to) /\ Bug # "turns_away_quietly", "waits", [Blank EXCEPT !.phase = word.phase])
  /\ UNCHANGED <<counter, turn, left, spreads>>

IsAdmitted(t) == note[t].phase # word.phase

see_admission(t) ==
  /\ pc[t] = "waits" /\ IsAdmitted(t)
  /\ Goes(t, "inside", Blank)
  /\ UNCHANGED <<word, counter, turn, left, spreads>>

let_in(t) ==
  /\ pc[t] = "waits" /\ ~IsAdmitted(t) /\ ~IsBlocked(word)
  /\ word' = [word EXCEPT !.active = @ + 1, !.waiting = @ - 1]
  /\ Goes(t, "inside", Blank)
  /\ UNCHANGED <<counter, turn, left, spreads>>

\* Its deadline has passed.
leave(t) ==
  /\ t \in Timed
  /\ \/ pc[t] = "waits" /\ ~IsAdmitted(t) /\ IsBlocked(word) /\ word' = [word EXCEPT !.waiting = @ - 1]
     \/ pc[t] = "knocks" /\ IsQuietHold(word) /\ UNCHANGED word
  /\ Goes(t, "idle", Blank)
  /\ IsOver(t)
  /\ UNCHANGED <<counter, turn, spreads>>

\* By an addition, which does not take ASLEEP away.
exit(t) ==
  /\ t \in Readers /\ pc[t] \in {"inside", "leaves"} /\ HasRoom(-1)
  /\ word' = [word EXCEPT !.active = @ - 1]
  /\ WakesAndGoes(t, word.asleep /\ LetsAWriterIn(word') /\ Bug # "exits_quietly", "idle", Blank)
  /\ IsOver(t)
  /\ UNCHANGED <<counter, turn, spreads>>

MayBeSpread == spreads > 0 /\ ~is_taken
TakesACounter ==
  /\ is_taken' = TRUE
  /\ spreads' = spreads - 1
  /\ UNCHANGED part

spread(t) ==
  /\ t \in Readers /\ (Begins(t) \/ pc[t] = "inside")
  /\ MayBeSpread /\ ~word.has_counter /\ ~IsClosed(word)
  /\ word' = SpreadOut(word)
  /\ TakesACounter
  /\ UNCHANGED <<turn, pc, note, left>>

-----------------------------------------------------------------------------------------------------------------
(* Writers. *)

claim(t) ==
  /\ t \in Writers /\ Begins(t)
  /\ IsIdle(word)
  /\ word' = [word EXCEPT !.writer = TRUE]
  /\ Goes(t, "inside", Blank)
  /\ UNCHANGED <<counter, turn, left, spreads>>

take_turn(t) ==
  /\ turn = Nobody
  /\ turn' = t
  /\ \/ t \in Writers /\ Begins(t) /\ Goes(t, "wants", Blank)
     \/ pc[t] = "knocks" /\ IsQuietHold(word) /\ word.active > 0 /\ Goes(t, "quiets", Blank)
  /\ UNCHANGED <<word, counter, left, spreads>>

\* A spread lock is folded, also if it was closed while somebody else did that, who was refused.
close(t) ==
  /\ pc[t] = "wants" /\ ~MaySeize(word) /\ ~IsQuietHold(word)
  /\ ~word.wanted \/ IsSpread(word)
  /\ LET folds == IsSpread(word) /\ Bug # "closes_without_folding"
     IN IF folds /\ Bug = "expels_first" THEN Goes(t, "expels_first", Blank) /\ UNCHANGED word
        ELSE /\ word' = [word EXCEPT !.wanted = TRUE, !.folding = @ \/ folds, !.quiet = @ /\ Bug = "closes_it_quiet"]
             /\ Goes(t, CASE ~IsSpread(word) -> "wants" [] Bug = "adds_up_first" -> "adds_up" [] OTHER -> "expels", Blank)
  /\ UNCHANGED <<counter, turn, left, spreads>>

seize(t) ==
  /\ pc[t] = "wants" /\ MaySeize(word)
  /\ word' = [word EXCEPT !.writer = TRUE, !.wanted = FALSE]
  /\ turn' = Nobody
  /\ Goes(t, "inside", Blank)
  /\ UNCHANGED <<counter, left, spreads>>

\* Its deadline has passed, or it is told that there are too many readers.
reopen(t) ==
  /\ \/ t \in Timed /\ pc[t] = "wants" /\ ~MaySeize(word)
     \/ pc[t] = "refused"
  /\ ChangesAndWakes(t, [word EXCEPT !.wanted = FALSE], word.wanted /\ Bug # "reopens_quietly", "idle", Blank)
  /\ turn' = Nobody
  /\ IsOver(t)
  /\ UNCHANGED <<counter, spreads>>

\* All readers that wait are in then. The lock may be spread again by the same write.
\* Of a quiet hold nothing is left, and it is loud if it was asked anything.
Heard(w) == IF IsQuietHold(w) /\ ~AsksNothing(w) /\ Bug # "hears_nothing" THEN Loud(w) ELSE w
MayHush ==
  /\ hushes # 0 /\ (turn = Nobody \/ Late) /\ ~word.quiet
  /\ AsksNothing(word) \/ Bug = "hushes_beside_waiters"

admit(t) ==
  /\ t \in Writers /\ pc[t] \in {"inside", "admits"}
  /\ LET heard == Heard(word) IN \E spreads_it \in {FALSE, MayBeSpread /\ ~heard.wanted}, hushes_it \in {FALSE, MayHush} :
       LET out == [heard EXCEPT !.writer = FALSE]
           open == IF Bug = "admits_nobody" THEN out
                   ELSE [out EXCEPT !.active = @ + heard.waiting, !.waiting = 0,
                                    !.phase = IF heard.waiting = 0 \/ Bug = "phase_stays" THEN @ ELSE 1 - @]
           quiet == [open EXCEPT !.quiet = @ \/ hushes_it]
       IN /\ ~(spreads_it /\ hushes_it)
          /\ ChangesAndWakes(t, IF spreads_it THEN SpreadOut(open) ELSE quiet, TRUE, "idle", Blank)
          /\ IF spreads_it THEN TakesACounter ELSE UNCHANGED <<counter, spreads>>
          /\ hushes' = IF hushes_it /\ hushes < 9 THEN hushes - 1 ELSE hushes
  /\ IsOver(t)
  /\ UNCHANGED turn

-----------------------------------------------------------------------------------------------------------------
(* Quiet holds: quiet.rs. *)

\* The look, and the store.
slip(t) ==
  \/ /\ t \in Writers /\ pc[t] = "inside"
     /\ IsQuietHold(word) /\ (AsksNothing(word) \/ Bug = "slips_blindly")
     /\ Goes(t, "slips", [Blank EXCEPT !.seen = word])
     /\ UNCHANGED <<word, counter, turn, left, spreads>>
  \/ /\ pc[t] = "slips"
     /\ word' = [note[t].seen EXCEPT !.writer = FALSE]
     /\ Goes(t, "idle", Blank)
     /\ IsOver(t)
     /\ UNCHANGED <<counter, turn, spreads>>

\* It goes by the comparison then.
is_ended_quietly(t) ==
  /\ pc[t] = "slips"
  /\ Goes(t, "admits", Blank)
  /\ UNCHANGED <<word, counter, turn, left, spreads>>

\* With the turn: a writer that would close the lock, or a reader.
Settles(t) == pc[t] \in {"wants", "quiets"}

knock(t) ==
  /\ Settles(t) /\ IsQuietHold(word) /\ ~word.wanted
  /\ word' = [word EXCEPT !.wanted = TRUE]
  /\ IF Bug = "settles_at_once" THEN Goes(t, IF t \in Writers THEN "settles" ELSE "quiets_now", Blank) ELSE UNCHANGED <<pc, note>>
  /\ UNCHANGED <<counter, turn, left, spreads>>

expel_slips(t) ==
  /\ Settles(t) /\ IsQuietHold(word) /\ word.wanted
  /\ pc' = [u \in Threads |-> CASE u = t -> IF t \in Writers THEN "settles" ELSE "quiets_now"
                                 [] pc[u] = "slips" -> "admits" [] OTHER -> pc[u]]
  /\ note' = [u \in Threads |-> IF pc[u] = "slips" THEN Blank ELSE note[u]]
  /\ UNCHANGED <<word, counter, turn, left, spreads>>

\* If the knock is there still. A reader closes nothing by it.
settle(t) ==
  /\ pc[t] \in {"settles", "quiets_now"}
  /\ word' = IF IsQuietHold(word) /\ (word.wanted \/ Bug = "settles_any")
              THEN [(IF Bug = "settles_with_all" THEN [word EXCEPT !.quiet = FALSE] ELSE Loud(word)) EXCEPT !.wanted = t \in Writers]
              ELSE word
  /\ Goes(t, IF t \in Writers THEN "wants" ELSE "quiets", Blank)
  /\ UNCHANGED <<counter, turn, left, spreads>>

\* A reader has settled the hold, or it is over.
give_turn_back(t) ==
  /\ pc[t] = "quiets" /\ ~IsQuietHold(word)
  /\ turn' = Nobody
  /\ Goes(t, "knocks", Blank)
  /\ UNCHANGED <<word, counter, left, spreads>>

-----------------------------------------------------------------------------------------------------------------
(* Whoever waits: its sleep. *)

\* A writer that has closed the lock, or a reader that was turned away, and has nothing else to do.
MayDoze(t) ==
  \/ pc[t] = "wants" /\ word.wanted /\ ~MaySeize(word) /\ ~IsSpread(word) /\ ~IsQuietHold(word)
  \/ pc[t] = "waits" /\ ~IsAdmitted(t) /\ IsBlocked(word)

doze(t) ==
  /\ MayDoze(t)
  /\ word' = [word EXCEPT !.asleep = @ \/ Bug # "dozes_unannounced"]
  /\ Goes(t, "dozes", [note[t] EXCEPT !.upper = Upper(word')])
  /\ UNCHANGED <<counter, turn, left, spreads>>

PcAwake(t) == IF t \in Writers THEN "wants" ELSE "waits"

fall_asleep(t) ==
  /\ pc[t] = "dozes"
  /\ IF Upper(word) = note[t].upper THEN Goes(t, "asleep", [note[t] EXCEPT !.upper = <<>>])
                                    ELSE Goes(t, PcAwake(t), [note[t] EXCEPT !.upper = <<>>])
  /\ UNCHANGED <<word, counter, turn, left, spreads>>

wake_all(t) ==
  /\ pc[t] = "wakes"
  /\ pc' = [u \in Threads |-> CASE u = t -> note[t].next [] pc[u] = "asleep" -> PcAwake(u) [] OTHER -> pc[u]]
  /\ note' = [note EXCEPT ![t].next = "idle"]
  /\ UNCHANGED <<word, counter, turn, left, spreads>>

\* Without cause, or at its deadline.
wake_up(t) ==
  /\ pc[t] = "asleep" /\ (Spurious \/ t \in Timed)
  /\ Goes(t, PcAwake(t), note[t])
  /\ UNCHANGED <<word, counter, turn, left, spreads>>

-----------------------------------------------------------------------------------------------------------------
(* Who has set FOLDING: spread.rs. *)

gather(t) ==
  /\ t \in Folders /\ Begins(t)
  /\ IsSpread(word) \/ (Bug = "gathers_twice" /\ word.has_counter)
  /\ word' = [word EXCEPT !.folding = TRUE]
  /\ Goes(t, "expels", Blank)
  /\ UNCHANGED <<counter, turn, left, spreads>>

\* All sequences under way end, and add nothing.
Expelled(place) ==
  LET all == IF Bug = "expels_nobody" THEN {} ELSE {u \in Threads : InASequence(u)}
  IN [u \in Threads |-> IF u \in all THEN PcByWord(u) ELSE place[u]]

expel(t) ==
  /\ \/ pc[t] = "expels" /\ pc' = Expelled([pc EXCEPT ![t] = IF Bug = "adds_up_first" THEN "folds" ELSE "adds_up"])
                         /\ UNCHANGED word
     \/ pc[t] = "expels_first" /\ pc' = Expelled([pc EXCEPT ![t] = "adds_up"])
                               /\ word' = [word EXCEPT !.wanted = TRUE]
  /\ note' = [u \in Threads |-> IF pc'[u] # pc[u] /\ u # t THEN Blank ELSE note[u]]
  /\ UNCHANGED <<counter, turn, left, spreads>>

add_up(t) ==
  /\ pc[t] = "adds_up"
  /\ word' = IF Bug = "expels_first" THEN [word EXCEPT !.folding = TRUE] ELSE word
  /\ Goes(t, IF Bug = "adds_up_first" /\ t \in Writers THEN "expels" ELSE "folds", [Blank EXCEPT !.sum = Counted])
  /\ UNCHANGED <<counter, turn, left, spreads>>

fold(t) ==
  /\ pc[t] = "folds"
  /\ LET n_readers == word.active - Spare + note[t].sum
         alike == [word EXCEPT !.folding = FALSE]
         again == IF Bug = "spreads_again_alike" THEN alike ELSE [alike EXCEPT !.refusals = (@ + 1) % 4]
         folded == [word EXCEPT !.folding = FALSE, !.has_counter = FALSE, !.active = n_readers]
     IN IF n_readers > Most
        THEN /\ ChangesAndWakes(t, again, Bug # "refuses_quietly", IF t \in Writers THEN "refused" ELSE "idle", Blank)
             /\ IF t \in Folders THEN IsOver(t) ELSE UNCHANGED left
        ELSE /\ ChangesAndWakes(t, folded, LetsAWriterIn(folded) /\ Bug # "folds_quietly", "gives", Blank)
             /\ UNCHANGED left
  /\ UNCHANGED <<counter, turn, spreads>>

give(t) ==
  /\ pc[t] = "gives"
  /\ part' = IF Bug = "gives_it_unclean" THEN part ELSE [r \in Rows |-> 0]
  /\ is_taken' = FALSE
  /\ Goes(t, IF t \in Writers THEN "wants" ELSE "idle", Blank)
  /\ IF t \in Folders THEN IsOver(t) ELSE UNCHANGED left
  /\ UNCHANGED <<word, turn, spreads>>

-----------------------------------------------------------------------------------------------------------------

\* What changes `hushes` says so itself.
Quietly(t) ==
  \/ slip(t) \/ knock(t) \/ expel_slips(t) \/ settle(t) \/ give_turn_back(t)

Others(t) ==
  \/ count(t) \/ enter(t) \/ turn_away(t) \/ see_admission(t) \/ let_in(t) \/ leave(t) \/ exit(t)
  \/ claim(t) \/ take_turn(t) \/ close(t) \/ seize(t) \/ reopen(t)
  \/ doze(t) \/ fall_asleep(t) \/ wake_all(t)
  \/ expel(t) \/ add_up(t) \/ fold(t) \/ give(t)

Step(t) == admit(t) \/ ((Others(t) \/ Quietly(t)) /\ UNCHANGED hushes)

\* What nobody relies on.
May(t) == (is_ended(t) \/ is_ended_quietly(t) \/ spread(t) \/ gather(t) \/ wake_up(t)) /\ UNCHANGED hushes

Done == /\ \A t \in Threads : pc[t] = "idle"
        /\ \A t \in Readers \cup Writers : left[t] = 0
Terminated == Done /\ UNCHANGED vars

\* A knock between the look of a slip and its store is undone. Not each one falls there.
IsHeard == \A u \in Threads : pc[u] # "slips"
KnocksInTime(t) == IsHeard /\ (knock(t) \/ (pc[t] = "knocks" /\ enter(t))) /\ UNCHANGED hushes
\* After an expulsion no lock becomes quiet for a millisecond, and a reader that knocks looks more often.
ComesInTime(t) == pc[t] = "knocks" /\ ~IsQuietHold(word) /\ enter(t) /\ UNCHANGED hushes

Next == (\E t \in Threads : Step(t) \/ May(t)) \/ Terminated
Spec ==
  /\ Init /\ [][Next]_vars
  /\ \A t \in Threads : WF_vars(Step(t))
  /\ \A t \in Writers \cup Readers : SF_vars(take_turn(t) /\ UNCHANGED hushes)
  /\ \A t \in Writers \cup Readers : SF_vars(KnocksInTime(t)) /\ SF_vars(ComesInTime(t))

-----------------------------------------------------------------------------------------------------------------
(* Invariants. *)

At(places) == {t \in Threads : pc[t] \in places}
\* A reader that was turned away, and has not seen yet whether it is admitted.
Waiters == {t \in Readers : pc[t] \in {"waits", "dozes", "asleep"} \/ (pc[t] = "wakes" /\ note[t].next = "waits")}
\* Readers that are in, or are about to see whether they are.
In == {t \in Readers : pc[t] \in {"inside", "turn_away", "counts_out", "leaves"}} \cup {t \in Waiters : IsAdmitted(t)}

TypeOk ==
  /\ word.active \in -Spare..2 * Spare /\ (IsQuietHold(word) => word.active <= Cardinality(Readers)) /\ word.waiting \in 0..Cardinality(Readers)
  /\ \A t \in Threads : pc[t] \in {"idle", "counts_in", "enters", "counts_out", "leaves", "inside", "turn_away", "waits", "dozes", "asleep", "wakes",
                                   "wants", "refused", "expels", "expels_first", "adds_up", "folds", "gives",
                                   "knocks", "quiets", "quiets_now", "settles", "slips", "admits"}
  /\ turn \in Writers \cup Readers \cup {Nobody}

\* I1. With a counter there is no writer, either.
MutualExclusion ==
  LET inside == At({"inside", "counts_out", "leaves", "slips", "admits"})
  IN /\ \A t \in Writers \cap inside : inside = {t}
     /\ word.writer = (Writers \cap inside # {})
     /\ word.writer => ~word.has_counter

\* I5, and the same of a compact lock.
SumIsRight ==
  LET n_readers == IF word.has_counter THEN word.active - Spare + Counted ELSE word.active
  IN Cardinality(In) = IF IsQuietHold(word) THEN 0 ELSE n_readers

\* I2.
WaitersAreCounted == word.waiting = Cardinality({t \in Waiters : ~IsAdmitted(t)})

\* I3. Whoever sleeps, and need not any more, is about to be woken.
NeedNotSleep(t) ==
  IF t \in Writers THEN MaySeize(word) \/ IsSpread(word) ELSE IsAdmitted(t) \/ ~IsClosed(word)
NoLostWakeup == \A t \in At({"asleep"}) : NeedNotSleep(t) => At({"wakes"}) # {}

\* I4.
WantedHasAnOwner == word.wanted => turn # Nobody \/ IsQuietHold(word)

\* I6.
QuietAlone ==
  word.quiet => word.waiting = 0 /\ ~word.asleep /\ ~word.has_counter /\ (word.wanted => word.writer)

OneFolds == Cardinality(At({"expels", "adds_up", "folds"})) = (IF word.folding THEN 1 ELSE 0)

\* A counter that is free is zero.
FreeIsZero == ~is_taken => \A r \in Rows : part[r] = 0

Symmetry ==
  UNION {Permutations(same) : same \in {Readers \ (Timed \cup Endless), Readers \cap Timed, Writers \ (Timed \cup Endless), Rows}}

Termination == <>Done

\* Beside those that acquire again and again, the others come to their end, and each of them gets in again and again.
Served == \A t \in (Readers \cup Writers) \ Endless : <>(left[t] = 0)
ServedAgain == \A t \in Endless : []<>(pc[t] = "inside")
=================================================================================================================
