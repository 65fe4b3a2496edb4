//! What locks call: each operation of a lock says here what it does. The crate's root makes it public; nothing in the recorder
//! calls it.
//!
//! | part | whose operations |
//! |---|---|
//! | `process` | the process begins to record, forks, and ends |
//! | `mutex` | a mutex with marks: acquired, released |
//! | `tries` | the same: tried in vain |
//! | `wait` | a wait for what has marks |
//! | `holds` | what a thread remembers of its own holds, for the next two |
//! | `rwlock` | locks with marks that many threads may have at once to read |
//! | `order` | what a thread holds while it takes another lock, for `mutex`, `rwlock` and `bare` |
//! | `bare` | locks that have no room for marks, with `bare/several` as `rwlock` |
//! | `destroyed` | a lock that had a name is gone |
//! | `opaque` | waits on what has no marks, and no holder that is known |
//!
//! Nothing here waits for another thread, and nothing that is called while a lock is held, or waited for, fails: what cannot
//! be recorded is left out. What is called at each operation is inlined, and ends after a look at the thread's own count and the
//! lock's marks, if there is nothing to do. The rest is kept out of the callers: `cold`, or behind such a look.

pub mod bare;
mod destroyed;
mod holds;
mod lock_order;
mod mutex;
mod opaque;
mod process;
mod rwlock;
mod tries;
mod wait;

pub use destroyed::destroyed;
pub use lock_order::{after_writers, gives_up, tell_all, tells_order};
pub use mutex::{PendingRelease, count, uncount};
pub use opaque::{OpaqueWait, forget, notifies};
pub use process::{Change, Sleep, Source, ask_loader, exit, in_child, leave_parents, note_lock, obey, start};
pub use rwlock::{Access, is_due, prepare_to_read};
pub use tries::has_by_try;
pub use wait::{Wait, rotated, slept, spun, woke};
