//! What a lock says of itself, for documentation, tests and tools.

/// What a lock promises. A conformance test checks each promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// An acquisition can be given up ([`RawTimedLock`](crate::RawTimedLock)).
    pub timed: bool,
    /// Waiting threads sleep. In a lock without this, they keep their cores busy.
    pub sleeps: bool,
    /// The holder may acquire the lock again. It releases the lock as often as it has acquired it.
    pub reentrant: bool,
    /// Nothing touches the lock's memory after the releasing write.
    pub free_after_release: bool,
    /// How long or how often a waiter may be bypassed, in words. "unbounded" means that it may starve.
    pub bypass: &'static str,
    /// Who may starve, in words. "nobody" means that no waiter can. "nobody who has a place" means that no thread can
    /// that is on deck, in line or on the list.
    pub starves: &'static str,
}

/// What a lock is, in a few words and numbers. The command line, the benchmarks and the conformance tests know this much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name on the command line. The file has the same name, with underscores for hyphens.
    pub name: &'static str,
    /// What the lock is, in one line.
    pub idea: &'static str,
    /// Its size, in bytes.
    pub bytes: usize,
    /// How many atomic read-modify-writes an acquisition and its release take together, when nobody else is there.
    pub rmws: u32,
    /// Which contenders are awake while the lock is held, in words.
    pub awake: &'static str,
    /// Whom a release wakes, in words.
    pub woken: &'static str,
    /// What it promises.
    pub promises: Promises,
}

impl Entry {
    /// Why the lock cannot be a program's `pthread_mutex_t`, or `None` if it can.
    ///
    /// Three conditions must hold: waiting threads sleep; a thread that gets the lock may free it at once; it fits
    /// beside the fields that the C library keeps there.
    pub const fn refusal_as_posix_mutex(&self) -> Option<&'static str> {
        if self.promises.reentrant {
            Some("it is a monitor, whose side objects have no place in a mutex")
        } else if !self.promises.sleeps {
            Some("its waiters never sleep, so they would wait for ever for a holder of lower priority")
        } else if !self.promises.free_after_release {
            Some("its release may touch a mutex that has been freed by then, as POSIX allows")
        } else if self.bytes > 16 {
            Some("it does not fit into the 16 bytes of a mutex that are free")
        } else {
            None
        }
    }
}
