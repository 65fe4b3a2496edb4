----------------------------- MODULE linux_mutex_patch3 -----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/linux_mutex_patch3.rs: as                  *)
(* linux_mutex_patch1, but only so many contenders spin at a time; who     *)
(* comes beyond that goes to the list at once.                             *)
(*                                                                         *)
(* All other steps are in linux_mutex.tla, with what is modelled and what  *)
(* not.                                                                    *)
(***************************************************************************)
EXTENDS linux_mutex

CONSTANT MostSpinners \* As many as there are cores besides the holder's.

ASSUME Spinners = "some" /\ ReadsFirst

VARIABLE n_spinners

vars == <<shared, n_spinners>>

Init == SharedInit /\ n_spinners = 0

(* A look, and if there is room an addition, whose answer counts. The seeded bug trusts the look. *)
count_in(t) ==
    /\ \/ /\ At(t, "arrive")
          /\ Goes(t, IF n_spinners < MostSpinners THEN "count" ELSE "latch")
          /\ UNCHANGED n_spinners
       \/ /\ At(t, "count")
          /\ n_spinners' = n_spinners + 1
          /\ Goes(t, IF n_spinners < MostSpinners \/ Bug = "trust_look" THEN "look" ELSE "leave_in_vain")
    /\ UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>

count_out(t) ==
    /\ \/ At(t, "leave_inside") /\ Goes(t, "sign_in")
       \/ At(t, "leave_in_vain") /\ Goes(t, "latch")
    /\ n_spinners' = IF Bug = "stay_counted" /\ At(t, "leave_inside") THEN n_spinners ELSE n_spinners - 1
    /\ UNCHANGED <<word, latcher, owner, list, permits, watched, budget, left>>

Step(t) == count_in(t) \/ count_out(t) \/ (SharedStep(t) /\ UNCHANGED n_spinners)

Next == (\E t \in Threads : Step(t)) \/ (Terminated /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A t \in Threads : WF_vars(Step(t))

----------------------------------------------------------------------------

CountTypeOk == TypeOkBut({"count"}) /\ n_spinners \in 0..Cardinality(Threads)

(* I7. Who has found itself to be one too many is counted until it has counted itself out. *)
SpinnersAreCounted ==
    n_spinners = Cardinality({t \in Threads : pc[t] \in SpinningPlaces \cup {"leave_inside", "leave_in_vain"}})

FewSpin == Cardinality(WhoSpin) <= MostSpinners
============================================================================
