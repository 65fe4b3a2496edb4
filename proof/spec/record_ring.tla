-------------------------------------------- MODULE record_ring --------------------------------------------
(* The ring of samples of crates/record/src/store/ring.rs, which many threads write, and its reader in another process, `take` of
   crates/record/src/read.rs. Actions have the names of the steps in the header of ring.rs; comments in both files say where they
   happen.

   MODELLED. Each access of a writer to head, tail, and the words of its slot; each word that the reader copies out of the
   file; the end of the process at any moment, also in the middle of a write, after which the reader takes what is left.

   MEMORY. The words of a slot are stored with Relaxed, so they may become visible in any order: `fill` takes any word that is
   left. The ticket is stored with Release, so it is visible after them: that is `tell`. The reader copies slots for their
   tickets and, behind a fence that acquires, once more for their words: so it has all words if it has the ticket. The bug
   `ticket_last` shows what it would be to do without. A writer that reads a tail with Acquire
   sees that the reader has copied everything before it: a system call lies between the copy and the write of the tail.

   NOT MODELLED. Words that are checked after the ticket has matched. Pages of the file that have no room on the disk.   *)

EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Writers,
  Pushes,     \* Samples of each writer.
  Room,       \* Slots.
  None,
  Bug         \* A seeded mistake, or "none".

VARIABLES
  head, tail, \* in the file
  slots,      \* tickets and words
  dropped,    \* samples that found no room
  pc, seen, left, unfilled,   \* where each writer is, the number that it wants or has, samples to come, words to write
  is_alive,   \* whether the process is
  r,          \* where the reader is
  next,       \* the number that it takes next, its own copy of the tail
  end,        \* and the number before which it stops
  is_over,    \* what it knows of the process
  copy,       \* the slots that it has copied, the last one maybe in part
  taken       \* the samples that it has taken

\* of the program: exit
file == <<head, tail, slots, dropped>>
writers == <<pc, seen, left, unfilled>>
reader == <<r, next, end, is_over, copy, taken>>
vars == <<file, writers, is_alive, reader>>

Bugs == {"none", "tells_first", "claims_blindly", "claims_in_two", "ticket_without_number", "trusts_head", "tail_first",
         "ticket_last", "skips_unfinished"}
ASSUME Bug \in Bugs

Words == {"a", "b"}
Slot(n) == n % Room
Empty == [ticket |-> 0, a |-> None, b |-> None]
\* Numbers from the start, plus 1, so that a slot of zeros has none.
Ticket(n) == IF Bug = "ticket_without_number" THEN 1 ELSE n + 1

Init ==
  /\ head = 0 /\ tail = 0 /\ dropped = 0
  /\ slots = [s \in 0..Room - 1 |-> Empty]
  /\ pc = [w \in Writers |-> "outside"] /\ seen = [w \in Writers |-> None]
  /\ left = [w \in Writers |-> Pushes] /\ unfilled = [w \in Writers |-> {}]
  /\ is_alive = TRUE
  /\ r = "ask" /\ next = 0 /\ end = 0 /\ is_over = FALSE /\ copy = <<>> /\ taken = <<>>

At(w, place) == is_alive /\ pc[w] = place
Goes(w, place) == pc' = [pc EXCEPT ![w] = place]
Knows(w, n) == seen' = [seen EXCEPT ![w] = n]
\* A sample that is told, or dropped.
IsOver(w) ==
  /\ Goes(w, "outside") /\ Knows(w, None)
  /\ left' = [left EXCEPT ![w] = @ - 1]

-----------------------------------------------------------------------------------------------------------------
(* A writer: `push`. *)

look(w) ==
  /\ At(w, "outside") /\ left[w] > 0
  /\ Knows(w, head) /\ Goes(w, "gauge")
  /\ UNCHANGED <<file, left, unfilled, is_alive, reader>>

\* The ring is full, as far as the tail tells.
gauge(w) ==
  /\ At(w, "gauge")
  /\ IF seen[w] - tail >= Room /\ Bug # "claims_blindly"
     THEN IsOver(w) /\ dropped' = dropped + 1
     ELSE Goes(w, "claim") /\ UNCHANGED <<seen, left, dropped>>
  /\ UNCHANGED <<head, tail, slots, unfilled, is_alive, reader>>

\* It may fail for no reason, which is as if another had been there and gone.
claim(w) ==
  /\ At(w, "claim")
  /\ IF head = seen[w] \/ Bug = "claims_in_two"
     THEN /\ head' = seen[w] + 1
          /\ Goes(w, IF Bug = "tells_first" THEN "tell" ELSE "fill") /\ UNCHANGED seen
          /\ unfilled' = [unfilled EXCEPT ![w] = Words]
     ELSE Knows(w, head) /\ Goes(w, "gauge") /\ UNCHANGED <<head, unfilled>>
  /\ UNCHANGED <<tail, slots, dropped, left, is_alive, reader>>

fill(w) ==
  /\ At(w, "fill")
  /\ \E word \in unfilled[w] :
       /\ slots' = [slots EXCEPT ![Slot(seen[w])][word] = <<w, seen[w]>>]
       /\ unfilled' = [unfilled EXCEPT ![w] = @ \ {word}]
       /\ IF unfilled[w] # {word} THEN UNCHANGED <<pc, seen, left>>
          ELSE IF Bug = "tells_first" THEN IsOver(w)
          ELSE Goes(w, "tell") /\ UNCHANGED <<seen, left>>
  /\ UNCHANGED <<head, tail, dropped, is_alive, reader>>

tell(w) ==
  /\ At(w, "tell")
  /\ slots' = [slots EXCEPT ![Slot(seen[w])].ticket = Ticket(seen[w])]
  /\ IF Bug = "tells_first" THEN Goes(w, "fill") /\ UNCHANGED <<seen, left>> ELSE IsOver(w)
  /\ UNCHANGED <<head, tail, dropped, unfilled, is_alive, reader>>

\* The process ends, regularly or not.
exit ==
  /\ is_alive
  /\ is_alive' = FALSE
  /\ UNCHANGED <<file, writers, reader>>

-----------------------------------------------------------------------------------------------------------------
(* The reader: `take`. *)

RGoes(where) == r' = where
Min(a, b) == IF a < b THEN a ELSE b

\* Whether the process is gone is known before the head is read.
ask ==
  /\ r = "ask"
  /\ is_over' = ~is_alive
  /\ end' = Min(head, next + Room)
  /\ copy' = <<>>
  /\ RGoes("copy_ticket")
  /\ tail' = IF Bug = "tail_first" THEN end' ELSE tail
  /\ UNCHANGED <<head, slots, dropped, writers, is_alive, next, taken>>

\* One piece of the ring, which does not go on at its beginning.
Piece == Min(end - next, Room - Slot(next))
\* The slot that is copied now.
Source == slots[Slot(next) + Len(copy)]
Last == Len(copy)

\* In what order the words of a slot are copied.
Order == IF Bug = "ticket_last" THEN <<"a", "b", "ticket">> ELSE <<"ticket", "a", "b">>

copy_ticket ==
  /\ r = "copy_ticket"
  /\ IF Len(copy) >= Piece THEN RGoes("examine") /\ UNCHANGED copy
     ELSE copy' = Append(copy, [Empty EXCEPT ![Order[1]] = Source[Order[1]]]) /\ RGoes("copy_words")
  /\ UNCHANGED <<file, writers, is_alive, next, end, is_over, taken>>

\* The first of the two words, or the second.
copy_words ==
  LET Copied == slots[Slot(next) + Last - 1]
      word == IF r = "copy_words" THEN Order[2] ELSE Order[3]
  IN /\ r \in {"copy_words", "copy_last"}
     /\ copy' = [copy EXCEPT ![Last][word] = Copied[word]]
     /\ RGoes(IF r = "copy_words" THEN "copy_last" ELSE "copy_ticket")
     /\ UNCHANGED <<file, writers, is_alive, next, end, is_over, taken>>

\* A sample is taken if its ticket is the right one. One that is not finished is waited for, or left out if the process is
\* gone.
examine ==
  /\ r = "examine"
  /\ IF copy = <<>> THEN UNCHANGED <<next, copy, taken>> /\ RGoes("free")
     ELSE LET first == Head(copy)
              IsWhole == first.ticket = Ticket(next) \/ Bug = "trusts_head"
          IN IF IsWhole \/ is_over \/ Bug = "skips_unfinished"
             THEN /\ next' = next + 1 /\ copy' = Tail(copy)
                  /\ taken' = IF IsWhole THEN Append(taken, [n |-> next, a |-> first.a, b |-> first.b]) ELSE taken
                  /\ IF Tail(copy) = <<>> /\ next + 1 < end THEN RGoes("copy_ticket") ELSE UNCHANGED r
             ELSE copy' = <<>> /\ UNCHANGED <<next, taken, r>>
  /\ UNCHANGED <<file, writers, is_alive, end, is_over>>

\* The slots are the writers' again.
free ==
  /\ r = "free"
  /\ tail' = IF Bug = "tail_first" THEN tail ELSE next
  /\ RGoes(IF is_over THEN "done" ELSE "ask")
  /\ UNCHANGED <<head, slots, dropped, writers, is_alive, next, end, is_over, copy, taken>>

-----------------------------------------------------------------------------------------------------------------

Push(w) == look(w) \/ gauge(w) \/ claim(w) \/ fill(w) \/ tell(w)
Read == ask \/ copy_ticket \/ copy_words \/ examine \/ free
Next == (\E w \in Writers : Push(w)) \/ exit \/ Read \/ (r = "done" /\ UNCHANGED vars)
Spec == Init /\ [][Next]_vars /\ WF_vars(Read) /\ WF_vars(exit)

-----------------------------------------------------------------------------------------------------------------
(* Invariants. *)

TypeOk ==
  /\ head \in 0..Cardinality(Writers) * Pushes /\ tail \in 0..head
  /\ \A w \in Writers : pc[w] \in {"outside", "gauge", "claim", "fill", "tell"}
  /\ r \in {"ask", "copy_ticket", "copy_words", "copy_last", "examine", "free", "done"}

\* Each sample that is taken is what one thread wrote, and they come in their order, none twice.
SamplesAreWhole ==
  /\ \A i \in DOMAIN taken : \E w \in Writers : taken[i].a = <<w, taken[i].n>> /\ taken[i].b = <<w, taken[i].n>>
  /\ \A i \in 2..Len(taken) : taken[i - 1].n < taken[i].n

HasNumber(w) == pc[w] \in {"fill", "tell"}
IsBegun(n) == \E w \in Writers : HasNumber(w) /\ seen[w] = n

\* A slot is one writer's, and not read meanwhile as one that is finished.
SlotsAreApart ==
  \A w \in Writers : HasNumber(w) =>
    /\ seen[w] < tail + Room
    /\ \A u \in Writers : u # w /\ HasNumber(u) => Slot(seen[u]) # Slot(seen[w])

\* What was finished and is behind the reader has been taken. So at the end nothing is lost but what was not finished.
NoneIsLost ==
  /\ \A n \in 0..(next - 1) : IsBegun(n) \/ \E i \in DOMAIN taken : taken[i].n = n
  /\ r = "done" => next = head

\* Each push has a number or is counted as dropped.
AllAreCounted ==
  LET n_over == [w \in Writers |-> Pushes - left[w]]
      RECURSIVE Sum(_)
      Sum(ws) == IF ws = {} THEN 0 ELSE LET w == CHOOSE w \in ws : TRUE IN n_over[w] + Sum(ws \ {w})
  IN head + dropped = Sum(Writers) + Cardinality({w \in Writers : HasNumber(w)})

ReaderEnds == <>(r = "done")
=================================================================================================================
