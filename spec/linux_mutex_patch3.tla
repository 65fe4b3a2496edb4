----------------------------- MODULE linux_mutex_patch3 -----------------------------
(***************************************************************************)
(* The lock of crates/locks/src/linux_mutex_patch3.rs: as                  *)
(* linux_mutex_patch1, but only so many contenders spin at a time; who     *)
(* comes beyond that goes to the list at once.                             *)
(*                                                                         *)
(* All other steps are in linux_mutex.tla, with what is modelled and what  *)
(* not.                                                                    *)
(***************************************************************************)
EXTENDS linux_mutex

CONSTANT MostSpinners

ASSUME Spinners = "some" /\ ReadsFirst

VARIABLE n_spinners

vars == <<shared, n_spinners>>

Init == SharedInit /\ n_spinners = 0

claim_spin(t) ==
    /\ At(t, "arrive")
    /\ IF n_spinners < MostSpinners \/ Bug = "claim_unlimited"
       THEN n_spinners' = n_spinners + 1 /\ Goes(t, "look")
       ELSE Goes(t, "latch") /\ UNCHANGED n_spinners
    /\ UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>

retire(t) ==
    /\ \/ At(t, "leave_inside") /\ Goes(t, "sign_in")
          /\ n_spinners' = IF Bug = "keep_place" THEN n_spinners ELSE n_spinners - 1
       \/ At(t, "leave_in_vain") /\ Goes(t, "latch") /\ n_spinners' = n_spinners - 1
    /\ UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>

Step(t) == claim_spin(t) \/ retire(t) \/ (SharedStep(t) /\ UNCHANGED n_spinners)

Next == (\E t \in Threads : Step(t)) \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------

SpinnersAreCounted ==
    n_spinners = Cardinality({t \in Threads : pc[t] \in SpinningPlaces \cup {"leave_inside", "leave_in_vain"}})

FewSpin == Cardinality(WhoSpin) <= MostSpinners
============================================================================
