---------------------------- MODULE parking_lot_012_port ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/parking_lot_012_port.rs: a release that    *)
(* finds somebody parked keeps the lock until it has the latch, and may    *)
(* hand the lock over. What both ports have in common is in parking_lot.   *)
(***************************************************************************)
EXTENDS parking_lot

CONSTANT
    Relief          \* "may": relief is due or not at each slow release; "never"; "always".

vacate(t) ==
    /\ At(t, "inside")
    /\ IF parked
       THEN Goes(t, "latch") /\ Aims(t, "dequeue") /\ UNCHANGED locked
       ELSE Goes(t, "idle") /\ Aims(t, "idle") /\ locked' = FALSE
    /\ UNCHANGED <<parked, theLatch, queue, known, permits, handed, bounds>>

(* The seeded bug forgets those who sleep still. *)
reopen(t) ==
    /\ At(t, "answer")
    /\ owed[t] = Nobody \/ Relief # "always"
    /\ locked' = FALSE
    /\ parked' = (queue # <<>> /\ Bug # "reopen_forgets")
    /\ Answered(t)
    /\ UNCHANGED <<theLatch, queue, known, permits, handed, bounds>>

(* The seeded bug lets others in besides. *)
hand_off(t) ==
    /\ At(t, "answer")
    /\ owed[t] # Nobody
    /\ Relief # "never"
    /\ handed' = handed \cup {owed[t]}
    /\ parked' = (queue # <<>>)
    /\ locked' = (Bug # "hand_off_frees")
    /\ Answered(t)
    /\ UNCHANGED <<theLatch, queue, known, permits, bounds>>

Step(t) == SharedStep(t) \/ vacate(t) \/ reopen(t) \/ hand_off(t)

Next == (\E t \in Threads : Step(t) \/ WakesForNoReason(t)) \/ Terminated

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

Holders == {t \in Threads : At(t, "inside")} \cup Releasers \cup handed

MutualExclusion == Cardinality(Holders) <= 1

(* I1 of the header. *)
WordTellsOfHolder == locked <=> Holders # {}
============================================================================
