------------------------ MODULE pthread_adaptive_port ------------------------
(***************************************************************************)
(* The lock of lab/lineage/src/pthread_adaptive_port.rs: that of          *)
(* pthread_port.tla, where the steps are, with contenders that peek before *)
(* they are ready to sleep, and then grab once more.                       *)
(***************************************************************************)
EXTENDS pthread_port

\* not modelled: learn: how many peeks there are is the model's to choose.

ASSUME Peeks > 0
============================================================================
