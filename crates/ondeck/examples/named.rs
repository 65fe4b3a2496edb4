//! Names of locks, for `ondeck profile`: thousands that are of one class, and one by itself, here and in the child of a fork.
//!
//! ```text
//! cargo build --example named --features record
//! ondeck profile --rate 1 -- target/debug/examples/named
//! ```

#[cfg(unix)]
use ondeck::Mutex;

#[cfg(unix)]
struct Session {
    id: u64,
    last_seen: Mutex<u64>,
}

#[cfg(unix)]
fn use_all(shards: &[Mutex<u64>], sessions: &[Session]) {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                shards.iter().for_each(|shard| *shard.lock() += 1);
                sessions.iter().for_each(|session| *session.last_seen.lock() += session.id);
            });
        }
    });
}

#[cfg(unix)]
fn main() {
    let shards: Vec<Mutex<u64>> = (0..3000).map(Mutex::new).collect();
    let sessions: Vec<Session> = (0..1000).map(|id| Session { id, last_seen: Mutex::new(0) }).collect();
    let journal = Box::new(Mutex::new(()));
    shards.iter().for_each(|shard| ondeck::name(shard, "shard"));
    // A lock is called as the struct that it is in.
    sessions.iter().for_each(|session| ondeck::name(session, "session"));
    ondeck::name(&*journal, "journal");
    use_all(&shards, &sessions);
    // SAFETY: nobody else runs, and so nobody holds anything.
    match unsafe { libc::fork() } {
        0 => {
            use_all(&shards, &[]);
            drop(journal.lock());
        }
        // SAFETY: our only child.
        _ => assert!(unsafe { libc::wait(std::ptr::null_mut()) } > 0),
    }
}

#[cfg(not(unix))]
fn main() {}
