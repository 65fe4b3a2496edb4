---------------------------- MODULE parking_lot_port ----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/parking_lot_port.rs: a release frees the   *)
(* lock first and looks for sleepers then. What both ports have in common  *)
(* is in parking_lot.                                                      *)
(***************************************************************************)
EXTENDS parking_lot

(* The seeded bug looks at the word before: a mark that comes between is not seen. *)
vacate(t) ==
    /\ At(t, "inside")
    /\ locked' = FALSE
    /\ IF parked /\ Bug # "vacate_blindly"
       THEN Goes(t, "latch") /\ Aims(t, "dequeue")
       ELSE Goes(t, "idle") /\ Aims(t, "idle")
    /\ UNCHANGED <<parked, theLatch, queue, known, permits, handed, bounds>>

(* The seeded bug forgets those who sleep still. *)
settle(t) ==
    /\ At(t, "answer")
    /\ parked' = (parked /\ queue # <<>> /\ Bug # "settle_always")
    /\ Answered(t)
    /\ UNCHANGED <<locked, theLatch, queue, known, permits, handed, bounds>>

Step(t) == SharedStep(t) \/ vacate(t) \/ settle(t)

Next == (\E t \in Threads : Step(t) \/ WakesForNoReason(t)) \/ Terminated

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

Holders == {t \in Threads : At(t, "inside")}

MutualExclusion == Cardinality(Holders) <= 1

(* I1 of the header. *)
WordTellsOfHolder == locked <=> Holders # {}
============================================================================
