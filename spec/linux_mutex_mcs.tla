------------------------------- MODULE linux_mutex_mcs -------------------------------
(***************************************************************************)
(* The lock of crates/locks/src/linux_mutex_mcs.rs: as linux_mutex_patch1, *)
(* but the spinners stand in a queue, and only the one at its head looks   *)
(* at the lock; the others look at a node of their own.                    *)
(*                                                                         *)
(* All other steps are in linux_mutex.tla, with what is modelled and what  *)
(* not. Here: the queue's tail, the links of its nodes, and the word in    *)
(* each node that says that its thread is at the head.                     *)
(***************************************************************************)
EXTENDS linux_mutex

ASSUME Spinners = "some" /\ ReadsFirst

VARIABLES
    tail,    \* The last in the queue of spinners.
    next,    \* Who comes after each, once linked.
    is_head, \* Whose node says that it is at the head.
    stage,   \* What those do who come to the queue, stand in it or leave it; "none" for all others.
    ahead,   \* Whom a newcomer has found at the tail.
    order    \* For the properties only: the queue as it was joined.

queue == <<tail, next, is_head, stage, ahead, order>>

vars == <<shared, queue>>

Stages == {"none", "link", "wait", "spin", "pass"}

Init ==
    /\ SharedInit
    /\ tail = Nobody
    /\ next = [t \in Threads |-> Nobody]
    /\ is_head = {}
    /\ stage = [t \in Threads |-> "none"]
    /\ ahead = [t \in Threads |-> Nobody]
    /\ order = <<>>

QueueTypeOk ==
    /\ tail \in Threads \cup {Nobody}
    /\ {next, ahead} \subseteq [Threads -> Threads \cup {Nobody}]
    /\ is_head \subseteq Threads
    /\ stage \in [Threads -> Stages]
    /\ Len(order) <= Cardinality(Threads)

OnlyPlaces == UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>
Becomes(t, what) == stage' = [stage EXCEPT ![t] = what]
Starts(t) == Becomes(t, "spin") /\ Goes(t, "look")
Leaves(t) ==
    /\ Becomes(t, "none")
    /\ Goes(t, IF At(t, "leave_inside") THEN "sign_in" ELSE "latch")

join(t) ==
    /\ At(t, "arrive") /\ stage[t] = "none"
    /\ tail' = t
    /\ next' = [next EXCEPT ![t] = Nobody]
    /\ ahead' = [ahead EXCEPT ![t] = tail]
    /\ order' = Append(order, t)
    /\ is_head' = is_head \ {t}
    /\ IF tail = Nobody THEN Starts(t) ELSE Becomes(t, "link") /\ UNCHANGED pc
    /\ OnlyPlaces

link(t) ==
    /\ stage[t] = "link"
    /\ next' = [next EXCEPT ![ahead[t]] = t]
    /\ ahead' = [ahead EXCEPT ![t] = Nobody]
    /\ Becomes(t, "wait")
    /\ UNCHANGED <<tail, is_head, order, pc>>
    /\ OnlyPlaces

await(t) ==
    /\ stage[t] = "wait"
    /\ t \in is_head
    /\ Starts(t)
    /\ UNCHANGED <<tail, next, is_head, ahead, order>>
    /\ OnlyPlaces

(* The last of the queue empties it; any other has, or will have, one behind it. The seeded bugs: to store instead of
   to compare, and to believe that there is nobody as long as nobody has linked. *)
retire(t) ==
    /\ pc[t] \in {"leave_inside", "leave_in_vain"} /\ stage[t] = "spin"
    /\ order' = SelectSeq(order, LAMBDA other : other # t)
    /\ IF tail = t \/ (Bug = "retire_by_store" /\ next[t] = Nobody)
       THEN tail' = Nobody /\ Leaves(t)
       ELSE IF Bug = "retire_unlinked" /\ next[t] = Nobody
            THEN Leaves(t) /\ UNCHANGED tail
            ELSE Becomes(t, "pass") /\ UNCHANGED <<tail, pc>>
    /\ UNCHANGED <<next, is_head, ahead>>
    /\ OnlyPlaces

(* The seeded bug also wakes the one after the next, as if that had left. *)
pass(t) ==
    /\ stage[t] = "pass"
    /\ next[t] # Nobody
    /\ is_head' = is_head \cup {next[t]} \cup IF Bug = "pass_twice" THEN {next[next[t]]} \ {Nobody} ELSE {}
    /\ Leaves(t)
    /\ UNCHANGED <<tail, next, ahead, order>>
    /\ OnlyPlaces

Step(t) == join(t) \/ link(t) \/ await(t) \/ retire(t) \/ pass(t) \/ (SharedStep(t) /\ UNCHANGED queue)

Next == (\E t \in Threads : Step(t)) \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------

OneSpins == Cardinality(WhoSpin) <= 1

(* Spinners come to the head in the order in which they joined. *)
HeadIsFirst == \A t \in Threads : stage[t] = "spin" => order # <<>> /\ order[1] = t

(* The tail is the last of the queue, except that who retires may be the only one and not have said so. *)
TailIsLast == tail = IF order # <<>> THEN order[Len(order)] ELSE Nobody

(* While spinners wait, one is at the head, or about to hand it over or to take it. *)
NoSpinnerForgotten ==
    (\E t \in Threads : stage[t] \in {"link", "wait"}) =>
        \E t \in Threads : stage[t] \in {"spin", "pass"} \/ (stage[t] = "wait" /\ t \in is_head)
============================================================================
