//! The races that a lock with one waiter on deck, a list of sleepers, passing and cancelling must survive, and where
//! each is tried.
//!
//! "loom" is a test of `tests/models/loom_ondeck.rs`, "shuttle" one of `races_of_ondeck` in `tests/schedules/schedule.rs`; both fail if
//! no execution contains the race. Where loom is absent the race needs more threads than it can search in minutes, or it
//! is not about memory.
//!
//! | no. | race | where |
//! |---|---|---|
//! | R01 | the deck gives up while a release is in flight that saw it | loom `r01_deck_leaves_while_the_lock_is_released` |
//! | R02 | the deck takes the lock while an arrival grabs it | loom `every_waiter_finishes` |
//! | R03 | a request meets a release that freed the lock; an arrival then holds it with FAIR set | loom `r03_request_meets_release` |
//! | R04 | the lock is passed to a deck whose deadline has come: it must accept | loom `r04_pass_meets_deadline` |
//! | R05 | a pass with an arrival and a called sleeper in the seats: one accepts, the other keeps its seat | shuttle `an_arrival_sits_beside_a_call` |
//! | R06 | both seats nap, and one gets up by itself | shuttle `r06_both_seats_nap` |
//! | R07 | a push while the latch holder detaches: newest, oldest, only sleeper | shuttle `r07_push_between_call_and_detach` |
//! | R08 | a canceller that has been called and not yet granted | loom `r15_called_after_the_deadline` |
//! | R09 | a canceller holds the latch while the lock is released | loom and shuttle `r09_canceller_holds_the_latch_while_the_lock_is_released`; only the latter has another sleeper to forget |
//! | R10 | the last sleeper cancels when the lock has been asked for | loom `r10_last_sleeper_cancels_after_a_request` |
//! | R11 | two cancellers and a release; interior, head, tail, only sleeper | shuttle `r11_two_cancel_while_the_lock_is_released`, `given_up::ondeck` |
//! | R12 | a deck that retires into the old end of the dugout | does not exist: the deck naps on the word and keeps its seat |
//! | R13 | a rotation with exactly one sleeper | loom `r03_request_meets_release`, `pass_is_accepted_during_a_call` |
//! | R14 | a rotation that finds the lock free | does not exist: only the holder rotates, in the write that passes |
//! | R15 | the seat is granted to a thread whose deadline has come, lock free or taken | loom and shuttle `r15_called_after_the_deadline` |
//! | R16 | spurious return of a wait; interrupted system call; stale wake on a reused stack address | loom `r16_spurious_wakes` and every other model; stress `frozen_threads`; the freeing tests, whose stacks and locks reuse addresses |
//! | R17 | the lock is freed by its last holder while others are in the steps after their releasing write | loom `r17_*`; shuttle `free_after_release`, `free_after_giving_up`; `tests/free_after_release.rs` on hardware |
//! | R18 | the address of a sleeper returns between read and push; a whole word does | shuttle `r18_address_of_a_sleeper_returns`; `tests/models/loom_narrow.rs` |
//! | R19 | a sleeper's safety timer barges in and finds itself called | does not exist: there is no safety timer |
//! | R20 | a flag is left when everybody has gone | the end of every property (`assert_rests`) |
//! | R21 | the turnover mark outlives the deck | does not exist: a counter took its place. For the hints that did, R20 and the tests of `ondeck/state.rs` |
//! | R22 | a panic leaves a sleeper in the list | cannot happen: no caller's code runs inside an acquisition; assertions there end the test, not a user's program |
//! | R23 | fork in the presence of sleepers | `fork` in `tests/surroundings.rs` of `ondeck`: the child has one thread, and writes a new value over a lock that others wait for |
//! | R24 | a condition variable pushes a waiter on behalf of its thread | `tests/models/condvar.rs`, in all three harnesses |
//! | R25 | a sleeper's address does not fit into the word | loom and `tests/models/condvar.rs` `far::*`; shuttle `far_threads_look_in` |
