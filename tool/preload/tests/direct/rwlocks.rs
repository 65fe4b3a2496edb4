//! What a recording says of locks for readers and writers.

use crate::common::{ProcessEnd, assert_between, is_asleep, pass, passed, tell, when};
use crate::recorded::in_ms;
use libc::{EBUSY, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use ondeck_record::layout::event;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

unsafe extern "C" {
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, at: *const timespec) -> i32;
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, at: *const timespec) -> i32;
    fn pthread_rwlockattr_setkind_np(attributes: *mut pthread_rwlockattr_t, kind: i32) -> i32;
}

const READERS_FIRST: i32 = 0;
const WRITERS_FIRST: i32 = 2;

const READ: u32 = event::READING;

/// A lock. Never freed.
#[derive(Clone, Copy)]
struct Rwlock(*mut pthread_rwlock_t);

// SAFETY: it is only used by the C library's functions for it.
unsafe impl Send for Rwlock {}
// SAFETY: as above.
unsafe impl Sync for Rwlock {}

impl Rwlock {
    fn new(prefers: i32) -> Self {
        let lock: &mut pthread_rwlock_t = Box::leak(Box::new(libc::PTHREAD_RWLOCK_INITIALIZER));
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: room for attributes, which are made before they are used; the lock exists.
        let answers = unsafe {
            [
                libc::pthread_rwlockattr_init(attributes.as_mut_ptr()),
                pthread_rwlockattr_setkind_np(attributes.as_mut_ptr(), prefers),
                libc::pthread_rwlock_init(lock, attributes.as_ptr()),
            ]
        };
        assert_eq!(answers, [0; 3]);
        tell("lock", &raw const *lock as u64);
        Rwlock(lock)
    }

    fn read_in_time(self) {
        // SAFETY: it exists.
        assert_eq!(unsafe { pthread_rwlock_timedrdlock(self.0, &in_ms(60_000)) }, 0);
    }

    fn write_in_time(self) {
        // SAFETY: it exists.
        assert_eq!(unsafe { pthread_rwlock_timedwrlock(self.0, &in_ms(60_000)) }, 0);
    }

    fn read(self) {
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_rwlock_rdlock(self.0) }, 0);
    }

    fn write(self) {
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_rwlock_wrlock(self.0) }, 0);
    }

    fn try_read(self) -> i32 {
        // SAFETY: it exists.
        unsafe { libc::pthread_rwlock_tryrdlock(self.0) }
    }

    fn try_write(self) -> i32 {
        // SAFETY: it exists.
        unsafe { libc::pthread_rwlock_trywrlock(self.0) }
    }

    fn unlock(self) {
        // SAFETY: it exists, and somebody has it.
        assert_eq!(unsafe { libc::pthread_rwlock_unlock(self.0) }, 0);
    }

    /// Another thread does `act` and unlocks it, and sleeps for it before `meanwhile`.
    fn while_waiting(self, act: fn(Rwlock), meanwhile: impl FnOnce()) {
        let thread = AtomicI32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: always may be called.
                thread.store(unsafe { libc::gettid() }, Relaxed);
                act(self);
                self.unlock();
            });
            while !is_asleep(thread.load(Relaxed)) {
                std::thread::yield_now();
            }
            meanwhile();
        });
    }
}

/// Runs `act` in another thread, to its end.
fn elsewhere(act: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(act).join().unwrap());
}

#[track_caller]
fn assert_counts(ended: &ProcessEnd, expected: &[(u32, usize)]) {
    let (recording, lock) = (ended.recording(), ended.told("lock"));
    for (event, n) in expected {
        let samples = recording.samples_of(lock, *event);
        assert_eq!(samples.len(), *n, "{event:#x}: {samples:?}");
    }
}

#[test]
fn whoever_does_not_wait_is_not_recorded_as_waiting() {
    let name = "rwlocks::whoever_does_not_wait_is_not_recorded_as_waiting";
    let ended = passed(name, "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        lock.write_in_time();
        lock.unlock();
        // What a writer leaves behind looks as if it were a writer's turn.
        lock.read_in_time();
        lock.read_in_time();
        lock.unlock();
        lock.unlock();
    });
    ended.inspect(|ended| {
        assert_counts(ended, &[(event::WAIT, 0), (event::WAIT | READ, 0), (event::TAKE, 1), (event::TAKE | READ, 2)]);
    });
}

#[test]
fn a_writer_waits_for_one_reader() {
    let ended = passed("rwlocks::a_writer_waits_for_one_reader", "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        lock.read();
        lock.while_waiting(Rwlock::write_in_time, || lock.unlock());
    });
    ended.inspect(|ended| assert_counts(ended, &[(event::WAIT, 1), (event::WAIT | READ, 0), (event::TAKE, 1)]));
}

#[test]
fn a_reader_waits_for_a_writer() {
    let ended = passed("rwlocks::a_reader_waits_for_a_writer", "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        lock.write();
        lock.while_waiting(Rwlock::read_in_time, || lock.unlock());
    });
    ended.inspect(|ended| assert_counts(ended, &[(event::WAIT, 0), (event::WAIT | READ, 1)]));
}

/// Readers go before writers that wait, so one more does not wait.
#[test]
fn a_reader_does_not_wait_for_a_waiting_writer() {
    let ended = passed("rwlocks::a_reader_does_not_wait_for_a_waiting_writer", "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        lock.read();
        lock.while_waiting(Rwlock::write, || {
            elsewhere(|| {
                lock.read_in_time();
                lock.unlock();
            });
            lock.unlock();
        });
    });
    ended.inspect(|ended| assert_counts(ended, &[(event::WAIT, 1), (event::WAIT | READ, 0)]));
}

/// But where writers are preferred.
#[test]
fn a_reader_waits_for_a_preferred_writer() {
    let ended = passed("rwlocks::a_reader_waits_for_a_preferred_writer", "glibc", Some(1), || {
        let lock = Rwlock::new(WRITERS_FIRST);
        lock.read();
        lock.while_waiting(Rwlock::write, || lock.while_waiting(Rwlock::read_in_time, || lock.unlock()));
    });
    ended.inspect(|ended| assert_counts(ended, &[(event::WAIT, 1), (event::WAIT | READ, 1)]));
}

#[test]
fn attempts_that_succeed_are_holds() {
    let ended = passed("rwlocks::attempts_that_succeed_are_holds", "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        assert_eq!(lock.try_read(), 0);
        lock.unlock();
        assert_eq!(lock.try_write(), 0);
        lock.unlock();
    });
    ended.inspect(|ended| assert_counts(ended, &[(event::TAKE, 1), (event::TAKE | READ, 1)]));
}

/// A writer's hold is as long as it was, whoever has tried meanwhile.
#[test]
fn an_attempt_to_write_that_fails_is_no_hold() {
    let ended = passed("rwlocks::an_attempt_to_write_that_fails_is_no_hold", "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        let ((), taken) = when(|| lock.write());
        pass();
        elsewhere(|| assert_eq!(lock.try_write(), EBUSY));
        pass();
        let ((), released) = when(|| lock.unlock());
        taken.tell_until(released, "hold");
    });
    ended.inspect(|ended| {
        let holds = ended.recording().samples_of(ended.told("lock"), event::TAKE);
        assert_eq!(holds.len(), 1, "{holds:?}");
        assert_between(ended, "hold", holds[0].ns);
    });
}

/// Whoever has tried in vain has nothing that ends when it unlocks for somebody else.
#[test]
fn an_attempt_to_read_that_fails_is_no_hold() {
    let ended = passed("rwlocks::an_attempt_to_read_that_fails_is_no_hold", "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        let (is_tried, is_read) = (AtomicBool::new(false), AtomicBool::new(false));
        let until = |is: &AtomicBool| {
            while !is.load(Relaxed) {
                std::thread::yield_now();
            }
        };
        lock.write();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(lock.try_read(), EBUSY);
                is_tried.store(true, Relaxed);
                until(&is_read);
                lock.unlock();
            });
            until(&is_tried);
            lock.unlock();
            lock.read();
            is_read.store(true, Relaxed);
        });
    });
    ended.inspect(|ended| assert_counts(ended, &[(event::TAKE, 1), (event::TAKE | READ, 0)]));
}

/// A reader whose hold another thread has ended has none.
#[test]
fn a_reading_that_another_thread_has_ended_is_forgotten() {
    let name = "rwlocks::a_reading_that_another_thread_has_ended_is_forgotten";
    let ended = passed(name, "glibc", Some(1), || {
        let lock = Rwlock::new(READERS_FIRST);
        lock.read();
        elsewhere(|| lock.unlock());
        lock.read();
        lock.unlock();
        // The other's, ended here.
        elsewhere(|| lock.read());
        lock.unlock();
    });
    ended.inspect(|ended| assert_counts(ended, &[(event::TAKE | READ, 1)]));
}
