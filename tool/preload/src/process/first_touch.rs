//! The first touch of a mutex or condition variable in a process: what the parent's threads have left there is forgotten. Steps,
//! and why this is needed: the head of `process`.

use crate::platform::PreloadPlatform;
use crate::signals::without_signals;
use crate::state::{generation_of, state};
use ondeck_core::Platform as _;

/// Beside the number of a process: one of its threads writes the object anew. It names the process, since a fork may come in
/// the middle. The child then has the mark and not the thread, finds the mark of another process, and begins again.
const UNDER_WAY: u32 = 1;

const _: () = assert!(generation_of(UNDER_WAY) == 0);

/// Calls `forget` if this is the first touch of an object in this process, and nobody else does. The number of the process
/// that touched it last is read and written by the other two; `exchange` is to compare, and to acquire and release. `forget`
/// may be called again in a child that was forked while it ran, and comes to the same there.
#[cold]
#[inline(never)]
pub(crate) fn revive(read: impl Fn() -> u32, exchange: impl Fn(u32, u32) -> bool, forget: impl Fn()) {
    const NAP_NS: u32 = 10_000;
    let ours = generation_of(state());
    let under_way = ours | UNDER_WAY;
    // Ended by the thread of this process that writes it anew, which waits for nobody.
    loop {
        // pthread_process: look
        let found = read();
        if found == ours {
            return;
        }
        if found == under_way {
            PreloadPlatform::nap_ns(NAP_NS);
            continue;
        }
        without_signals(|| {
            // pthread_process: mark
            if exchange(found, under_way) {
                forget();
                // pthread_process: publish
                exchange(under_way, ours);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ONE_FORK;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn the_first_touch_is_marked_and_made_once() {
        const PARENTS: u32 = 7 * ONE_FORK;
        let ours = generation_of(state());
        let word = AtomicU32::new(PARENTS);
        let exchange = |old, new| word.compare_exchange(old, new, Relaxed, Relaxed).is_ok();
        let n_times = AtomicU32::new(0);
        let forget = || {
            // Others look at it meanwhile.
            assert_eq!(word.load(Relaxed), ours | UNDER_WAY);
            n_times.fetch_add(1, Relaxed);
        };
        for _ in 0..2 {
            revive(|| word.load(Relaxed), exchange, forget);
            assert_eq!((word.load(Relaxed), n_times.load(Relaxed)), (ours, 1));
        }
        // The mark of another process, which was forked in the middle.
        word.store(PARENTS | UNDER_WAY, Relaxed);
        revive(|| word.load(Relaxed), exchange, forget);
        assert_eq!((word.load(Relaxed), n_times.load(Relaxed)), (ours, 2));
    }

    #[test]
    fn who_finds_the_mark_of_its_own_process_waits() {
        let ours = generation_of(state());
        let n_looks = AtomicU32::new(0);
        let read = || if n_looks.fetch_add(1, Relaxed) < 3 { ours | UNDER_WAY } else { ours };
        revive(read, |_, _| panic!("another thread is at it"), || panic!("another thread is at it"));
        assert_eq!(n_looks.load(Relaxed), 4);
    }
}
