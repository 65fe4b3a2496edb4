------------------------------- MODULE linux_mutex_mcs -------------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/linux_mutex_mcs.rs: as linux_mutex_patch1, *)
(* but the spinners stand in a queue. Its first watches one holder, tries  *)
(* once, and leaves the queue, to join it again at the end if it wants to  *)
(* go on. The others look at nodes of their own.                           *)
(*                                                                         *)
(* All other steps are in linux_mutex.tla, with what is modelled and what  *)
(* not. Here: the tail of the queue, the links of its nodes, and the word  *)
(* in each node that says that it has the turn. A look at one's own node   *)
(* that finds nothing is no action. Not modelled: the pauses and yields.   *)
(***************************************************************************)
EXTENDS linux_mutex

ASSUME Spinners = "in_turn" /\ ReadsFirst

VARIABLES
    tail,    \* The last in the queue.
    next,    \* Who stands behind each, once linked.
    turns,   \* Whose node says that it has the turn.
    stage,   \* What a thread does about the queue; "none" if it is not in it.
    ahead,   \* Whom a thread has found at the tail.
    order    \* For the properties only: the queue in the order of joining.

queue == <<tail, next, turns, stage, ahead, order>>

vars == <<shared, queue>>

TurnStages == {"first", "quit", "await_link", "pass"}
Stages == {"none", "link", "wait"} \cup TurnStages

Init ==
    /\ SharedInit
    /\ tail = Nobody
    /\ next = [t \in Threads |-> Nobody]
    /\ turns = {}
    /\ stage = [t \in Threads |-> "none"]
    /\ ahead = [t \in Threads |-> Nobody]
    /\ order = <<>>

----------------------------------------------------------------------------

OnlyPlaces == UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>

Becomes(t, what) == stage' = [stage EXCEPT ![t] = what]

HasTheTurn(t) == Becomes(t, "first") /\ Goes(t, "look")

Leaves(t) ==
    /\ Becomes(t, "none")
    /\ order' = SelectSeq(order, LAMBDA other : other # t)
    /\ Goes(t, CASE At(t, "leave_inside") -> "sign_in"
                 [] At(t, "leave_in_vain") -> "latch"
                 [] At(t, "leave_again") -> "join")

(* The step look, before the queue. *)
LooksFirst(t) ==
    /\ At(t, "arrive")
    /\ \/ Goes(t, "join")
       \/ owner # Nobody /\ OwnerMayStop /\ Goes(t, "latch")
    /\ UNCHANGED queue
    /\ OnlyPlaces

(* Each turn has a new node. The seeded bug takes the old one as it is. *)
join(t) ==
    /\ At(t, "join") /\ stage[t] = "none"
    /\ tail' = t
    /\ next' = [next EXCEPT ![t] = Nobody]
    /\ turns' = IF Bug = "join_with_old_node" THEN turns ELSE turns \ {t}
    /\ ahead' = [ahead EXCEPT ![t] = tail]
    /\ order' = Append(order, t)
    /\ IF tail = Nobody THEN HasTheTurn(t) ELSE Becomes(t, "link") /\ UNCHANGED pc
    /\ OnlyPlaces

link(t) ==
    /\ stage[t] = "link"
    /\ next' = [next EXCEPT ![ahead[t]] = t]
    /\ ahead' = [ahead EXCEPT ![t] = Nobody]
    /\ Becomes(t, "wait")
    /\ UNCHANGED <<tail, turns, order, pc>>
    /\ OnlyPlaces

wait_turn(t) ==
    /\ stage[t] = "wait"
    /\ t \in turns
    /\ HasTheTurn(t)
    /\ UNCHANGED <<tail, next, turns, ahead, order>>
    /\ OnlyPlaces

(* Before a quit, and after one that failed. *)
read_link(t) ==
    /\ \/ /\ stage[t] = "first" /\ pc[t] \in {"leave_inside", "leave_in_vain", "leave_again"}
          /\ Becomes(t, IF next[t] = Nobody THEN "quit" ELSE "pass")
       \/ /\ stage[t] = "await_link"
          /\ next[t] # Nobody
          /\ Becomes(t, "pass")
    /\ UNCHANGED <<tail, next, turns, ahead, order, pc>>
    /\ OnlyPlaces

(* The seeded bugs: to store instead of to compare, and not to wait for the link of who has joined meanwhile. *)
quit(t) ==
    /\ stage[t] = "quit"
    /\ IF tail = t \/ Bug = "quit_by_store"
       THEN tail' = Nobody /\ Leaves(t)
       ELSE /\ IF Bug = "quit_unlinked" THEN Leaves(t) ELSE Becomes(t, "await_link") /\ UNCHANGED <<order, pc>>
            /\ UNCHANGED tail
    /\ UNCHANGED <<next, turns, ahead>>
    /\ OnlyPlaces

pass_turn(t) ==
    /\ stage[t] = "pass"
    /\ turns' = turns \cup {next[t]}
    /\ Leaves(t)
    /\ UNCHANGED <<tail, next, ahead>>
    /\ OnlyPlaces

----------------------------------------------------------------------------

Step(t) ==
    \/ LooksFirst(t) \/ join(t) \/ link(t) \/ wait_turn(t) \/ read_link(t) \/ quit(t) \/ pass_turn(t)
    \/ (SharedStep(t) /\ UNCHANGED queue)

Next == (\E t \in Threads : Step(t)) \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------

QueueTypeOk ==
    /\ TypeOkBut({"join"})
    /\ tail \in Threads \cup {Nobody}
    /\ {next, ahead} \subseteq [Threads -> Threads \cup {Nobody}]
    /\ turns \subseteq Threads
    /\ stage \in [Threads -> Stages]

(* I7. *)
OneHasTheTurn ==
    LET with_turn == {t \in Threads : stage[t] \in TurnStages \/ (stage[t] = "wait" /\ t \in turns)}
    IN Cardinality(with_turn) = IF order = <<>> THEN 0 ELSE 1

(* Only the first of the queue watches the lock; so the turns come in the order of joining. *)
OnlyTheFirstSpins == \A t \in WhoSpin : stage[t] = "first" /\ order # <<>> /\ order[1] = t

TailIsLast == tail = IF order = <<>> THEN Nobody ELSE order[Len(order)]

(* I8: nobody is out of the queue while another has still to write to its node. *)
NodesAreThere == \A t \in Threads : stage[t] = "link" => stage[ahead[t]] # "none"
============================================================================
