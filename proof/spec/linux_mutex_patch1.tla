----------------------------- MODULE linux_mutex_patch1 -----------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/linux_mutex_patch1.rs: everybody spins as  *)
(* in linux_mutex_base, and a contender reads the word before it writes    *)
(* it, which is the step peek.                                             *)
(*                                                                         *)
(* All steps are in linux_mutex.tla, with what is modelled and what not.   *)
(***************************************************************************)
EXTENDS linux_mutex

ASSUME Spinners = "all" /\ ReadsFirst

Init == SharedInit

Step(t) == SharedStep(t)

Next == (\E t \in Threads : Step(t)) \/ (Terminated /\ UNCHANGED shared)

Spec == Init /\ [][Next]_shared /\ \A t \in Threads : WF_shared(Step(t))

(* I2, as this lock leans on it: who goes to sleep on what it has merely read can rely on it. *)
SleepsOnCrowded == \A t \in Threads : At(t, "unlatch") => word >= Crowded \/ Reopeners # {}
============================================================================
