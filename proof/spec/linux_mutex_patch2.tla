----------------------------- MODULE linux_mutex_patch2 -----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/linux_mutex_patch2.rs: as                  *)
(* linux_mutex_patch1, but one contender spins at a time; who finds the    *)
(* place taken goes to the list at once.                                   *)
(*                                                                         *)
(* All other steps are in linux_mutex.tla, with what is modelled and what  *)
(* not.                                                                    *)
(***************************************************************************)
EXTENDS linux_mutex

ASSUME Spinners = "some" /\ ReadsFirst

VARIABLE spinner \* Who has the place; the code knows only whether somebody has.

vars == <<shared, spinner>>

Init == SharedInit /\ spinner = Nobody

(* The seeded bug stores after a look that is out of date. *)
claim_spin(t) ==
    /\ At(t, "arrive")
    /\ IF spinner = Nobody \/ Bug = "claim_by_store"
       THEN spinner' = t /\ Goes(t, "look")
       ELSE Goes(t, "latch") /\ UNCHANGED spinner
    /\ UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>

end_spin(t) ==
    /\ \/ At(t, "leave_inside") /\ Goes(t, "sign_in") /\ spinner' = IF Bug = "keep_place" THEN spinner ELSE Nobody
       \/ At(t, "leave_in_vain") /\ Goes(t, "latch") /\ spinner' = Nobody
    /\ UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>

Step(t) == claim_spin(t) \/ end_spin(t) \/ (SharedStep(t) /\ UNCHANGED spinner)

Next == (\E t \in Threads : Step(t)) \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------

(* I7: the place is taken if and only if somebody is between its claim_spin and its end_spin, and so at most one spins. *)
SpinnerIsKnown == \A t \in Threads :
    pc[t] \in SpinningPlaces \cup {"leave_inside", "leave_in_vain"} <=> spinner = t
============================================================================
