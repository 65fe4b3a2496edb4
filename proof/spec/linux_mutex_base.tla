------------------------------ MODULE linux_mutex_base ------------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/linux_mutex_base.rs: everybody spins as    *)
(* long as the holder stays the same, and the word is written unread.      *)
(*                                                                         *)
(* All steps are in linux_mutex.tla, with what is modelled and what not.   *)
(***************************************************************************)
EXTENDS linux_mutex

ASSUME Spinners = "all" /\ ~ReadsFirst

Init == SharedInit

Step(t) == SharedStep(t)

Next == (\E t \in Threads : Step(t)) \/ (Terminated /\ UNCHANGED shared)

Spec == Init /\ [][Next]_shared /\ \A t \in Threads : WF_shared(Step(t))

(* Who spins is in nobody's list. *)
SpinnersAreNotListed == \A t \in WhoSpin : ~IsListed(t)
============================================================================
