//! The coins of a loom model: whether the deadline has come, whether time has leapt, whether a wait ends for no reason.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

/// Choices that loom makes: atomics with a 0 that everybody may read and a 1 that nobody has to.
///
/// A thread of its own makes them, publishes them holding 0, stores 1 and ends, before anything is explored. The store
/// is relaxed and happens before nothing, so a later load may return either value, in every thread and every schedule.
pub(crate) struct LoomChoices {
    pub(crate) expiry: AtomicU32,
    pub(crate) leap: AtomicU32,
    pub(crate) spurious: AtomicU32,
}

impl LoomChoices {
    pub(crate) fn mint() -> Arc<Self> {
        loom::stop_exploring();
        let minted = Arc::new(Mutex::new(None));
        let is_published = Arc::new(AtomicU32::new(0));
        let (mint, publish) = (minted.clone(), is_published.clone());
        loom::thread::spawn(move || {
            let coin = || AtomicU32::new(0);
            let coins = Arc::new(LoomChoices { expiry: coin(), leap: coin(), spurious: coin() });
            *mint.lock().expect("nobody panics while holding it") = Some(coins.clone());
            publish.store(1, Release);
            for coin in [&coins.expiry, &coins.leap, &coins.spurious] {
                coin.store(1, Relaxed);
            }
        });
        // Ended by the first yield: with nothing else to run, the mint runs to its end.
        while is_published.load(Acquire) == 0 {
            loom::thread::yield_now();
        }
        loom::explore();
        let coins = minted.lock().expect("nobody panics while holding it").take();
        coins.expect("the mint has published")
    }

    /// True for heads.
    pub(crate) fn toss(coin: &AtomicU32) -> bool {
        coin.load(Relaxed) == 1
    }
}
