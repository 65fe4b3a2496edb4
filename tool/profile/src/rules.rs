//! All thresholds by which waiting is judged: the unit of each, where it comes from, and a known program that it is
//! about. These programs are in results/verdicts.md; a test in `findings/tests.rs` stands for a case that no program
//! makes for sure. Where nothing else is said, the number is a choice.
//! What only bounds memory, or the length of a list, is no rule, and stands where it is used. docs/profile-design.md, "Why a
//! thread waited", has the rules in sentences.

// -- What a hold is, where it is charged ------------------------------------------------------------------------------

/// ns. A hold of that length is long, and a shorter one is passing. From the recorder, which looks no closer: to put a thread
/// to sleep and wake it takes as long. `crowd`, with sections of 5 us, and `always`, with 300 us.
pub(crate) const LONG_NS: u64 = ondeck_record::LONG_NS;
/// ns. A thread that is woken runs within this time if there is a core for it. `crowd`.
pub(crate) const LATE_NS: u64 = 200_000;
/// ns. A wait that is just in progress as a run ends is like any other, and too short to be told of. `calm`.
pub(crate) const UNDER_WAY_NS: u64 = 1_000_000;

// -- Looks at holders -------------------------------------------------------------------------------------------------

/// ns. The holder of a shorter wait is not looked for: a hold is long that a thread could have been switched in. `always`.
pub(crate) const LOOKED_FOR_NS: u64 = 50_000;
/// ns. A thread among too many loses its core once in that time, at most: to the others, and to whoever looks, each 2 ms. `crowd`,
/// and `rare` on the other side.
pub(crate) const LOST_EACH_NS: f64 = 5e5;
/// ns between two looks at a holder. What it had no core for is measured from one look to the next. `crowd`.
pub(crate) const LOOK_NS: u64 = 2_000_000;
/// ns. Where a holder sleeps is found out, which takes a while, if others wait for so long. `stuck`.
pub(crate) const SLEEPER_NS: u64 = 90_000_000;

/// ns. Where all is known by looks at all threads, a hold whose looks are not so far apart may have been one of any length: only
/// one or two have met it. `looked`, in the test `a_program_without_the_recorder_is_looked_at`.
pub(crate) const BETWEEN_LOOKS_NS: f64 = 20e6;

// -- Whether a function holds a lock for long by itself, or had no core in a long hold ----------------------------------

/// Part of what is waited for a function's long holds, in which it ran. With more, it is long: a look after the hold may find
/// some of that by chance. `grow`, and `crowd` on the other side.
pub(crate) const RAN: f64 = 1.0 / 3.0;
/// Part of a function's holds that were waited for. If no more were long, it is short by itself. `crowd`, and `kinds` on the
/// other side.
pub(crate) const RARE: f64 = 0.1;
/// Part of a function's holds. If it sleeps for more of them, both are in one sentence: a system call that sleeps also runs, in
/// the kernel. `outbox`.
pub(crate) const SLEEPS_TOO: f64 = 0.25;
/// Holds. Fewer were one. `once`.
pub(crate) const ONE_EVENT: f64 = 1.5;

// -- What matters -----------------------------------------------------------------------------------------------------

/// Part of the time that a lock's threads could run, below which waiting for it does not matter: if all of it went away,
/// the program would gain less than two of its runs differ by. `calm`.
pub(crate) const QUIET: f64 = 0.01;
/// ns. Where threads have something to do for a small part of the run only, waiting of that length matters if it is
/// [`WORTH_A_SENTENCE`] of that part. The test `an_idle_hour_hides_no_lock`.
pub(crate) const WAITED_WHILE_BUSY_NS: f64 = 1e8;
/// Part of the time in which threads had something to do. If it is not known what they waited for in more than that, a lock
/// that was not seen may hold the program back. The test `no_lock_is_said_of_what_was_seen_only`.
pub(crate) const UNEXPLAINED: f64 = 0.25;
/// Part of the time of all threads. If less than that would be left without what is at fault, what could be won is not known.
/// The test `what_can_be_won_ends_at_the_waits_and_at_the_cores`.
pub(crate) const LEAST_LEFT: f64 = 0.05;
/// Times as fast. Less is not said. `calm`.
pub(crate) const WORTH_WINNING: f64 = 1.05;
/// The same, below which no other mutex is worth a try: it would save a part of that at most. `calm`, and `hot` on the other side.
pub(crate) const WORTH_A_TRIAL: f64 = 0.05;
/// Part of the time that threads ran, from which on what they spend in calls that lock and unlock matters, of locks that several
/// threads take. Up to half of that is the recorder's. The test `what_locks_cost_without_sleep_is_told`.
pub(crate) const LOCK_CALLS: f64 = 1.0 / 8.0;
/// The same where nobody knows which threads take which locks, as in looks from outside. The same test.
pub(crate) const UNKNOWN_LOCK_CALLS: f64 = 1.0 / 3.0;
/// ns. To lock and unlock takes so long if another core has the lock's memory. Measured with the recorder on two cores of an AMD EPYC
/// of 2021: 13 to 23 ns if the core has it itself, 34 to 160 ns if another one has. The same test.
pub(crate) const FROM_ANOTHER_CORE_NS: f64 = 30.0;
/// Part of all waiting, with which a lock is named beside the first; the same of a lock's waiting, for its second cause.
/// `twins`.
pub(crate) const MATTERS_BESIDE: f64 = 1.0 / 3.0;
/// Part of a lock's waiting. Causes with less have no sentence. `rare`.
pub(crate) const WORTH_A_SENTENCE: f64 = 0.05;
/// Part of all waiting, with which a lock needs no word to say whose waiting is meant. `twins`.
pub(crate) const NEARLY_ALL: f64 = 0.9;
/// Part of a hold without a core that is said. `kinds`.
pub(crate) const WORTH_SAYING: f64 = 0.3;
/// The same: with more of it, a hold is not what to look at. `kinds`, and `twins` on the other side.
pub(crate) const MOSTLY: f64 = 0.75;

// -- Elements of an array ---------------------------------------------------------------------------------------------

/// Part of an array's waiting with which one element is told of by itself. `shard`.
pub(crate) const HOT_ELEMENT: f64 = 2.0 / 3.0;
/// Waits. Fewer are most of an array's by chance. `kinds`.
pub(crate) const HOT_ELEMENT_WAITS: f64 = 8.0;

// -- Programs that hang -----------------------------------------------------------------------------------------------

/// ns. A wait is no hang before. `circle`.
pub(crate) const HANG_NS: u64 = 1_000_000_000;
/// Part of the run. Nor if it is less of it. The test `threads_in_a_circle_are_a_deadlock`.
pub(crate) const HANG_PART: f64 = 0.25;

// -- What is no lock --------------------------------------------------------------------------------------------------

/// ns. To put a thread to sleep, wake it and run it for nothing takes about so long. `herd`.
pub(crate) const WOKEN_NS: f64 = 10e3;
/// Part of all cores' time below which it does not matter what threads wait for that is no lock. `herd`.
pub(crate) const OF_CORES: f64 = 0.02;
/// Part of all waiting for locks, below which these come first. `herd`.
pub(crate) const OF_LOCKS: f64 = 0.1;
/// ns. Who waits for less than that, in the mean, has work, and others keep it from that. Without work one waits for longer. The
/// test `waits_of_threads_that_have_work_come_first`.
pub(crate) const OFTEN_NS: f64 = 10e6;
/// Of the run's time, what all threads together are busy. With less, those that wait have no work. The same test.
pub(crate) const ONE_IS_BUSY: f64 = 0.75;
/// Part of the waits, and of the notifications, that the same functions make where threads wait for each other, or call where a lock
/// is made of both. The same test, and `what_may_be_used_as_a_lock_clears_nobody`.
pub(crate) const AT_A_BARRIER: f64 = 0.75;
/// Threads: these are several. Of those that a notification wakes, `herd`.
pub(crate) const SEVERAL: f64 = 1.5;
/// Part of notifications that are for all, and of the woken threads that go back to sleep. `herd`.
pub(crate) const HERD: f64 = 0.5;
