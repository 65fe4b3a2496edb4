//! The queue latch of the ports of parking_lot: a lock of one word with a stack of sleepers of its own.
//!
//! Sleepers push themselves on a stack that hangs from the word, and the oldest is woken first: the thread that has
//! claimed the stack walks down from the top, fills in the links upwards, and notes in the top node which one is the
//! oldest, so that each node is walked over once. A release wakes nobody if the stack is claimed (who has claimed it
//! will see that the latch is free) or if the latch has been taken again meanwhile (the next release will look).
//!
//! | bits | name | meaning when set | set by | cleared by |
//! |---|---|---|---|---|
//! | 0 | LATCHED | somebody works on the bucket | latch, late_latch | unlatch |
//! | 1 | CLAIMED | somebody works on the stack | claim_stack | leave_stack, pop_only, pop_oldest |
//! | 2..64 | top | the newest node of the stack, 0 if there is none | push | pop_only |
//!
//! # Life of a node
//!
//! | phase | below | above | oldest | parker |
//! |---|---|---|---|---|
//! | new, until pushed | its thread | its thread | its thread | its thread |
//! | on the stack | who has claimed it | the same | the same | its thread waits |
//! | out | nobody | nobody | nobody | who took it out gives the permit, once |
//!
//! `oldest` is null in a node that has not been walked over, and means something only in the newest one that was. A pusher does
//! not follow the pointer that it finds on top. A thread leaves when it has its permit, which is the last that the one who took
//! its node out does with it. All accesses to nodes are Relaxed: E4 and E5 order them for whoever has claimed the stack.

use super::parker::Parker;
use super::{Spinner, Spins, Variant};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, AtomicPointer, Platform};

#[derive(Clone, Copy, PartialEq, Eq)]
struct State(u64);

impl State {
    const FREE: State = State(0);
    const LATCHED: State = State(1);
    const CLAIMED: State = State(2);

    fn is_latched(self) -> bool {
        self.0 & State::LATCHED.0 != 0
    }

    fn is_claimed(self) -> bool {
        self.0 & State::CLAIMED.0 != 0
    }

    fn latched(self) -> State {
        State(self.0 | State::LATCHED.0)
    }

    fn claimed(self) -> State {
        State(self.0 | State::CLAIMED.0)
    }

    fn unclaimed(self) -> State {
        State(self.0 & !State::CLAIMED.0)
    }

    /// Without claim and stack.
    fn emptied(self) -> State {
        State(self.0 & State::LATCHED.0)
    }

    fn top(self) -> u64 {
        self.0 & !(State::LATCHED.0 | State::CLAIMED.0)
    }

    fn with_top(self, address: u64) -> State {
        State(self.0 - self.top() + address)
    }

    /// Whether a release has something to look for that nobody else looks for.
    fn wants_help(self) -> bool {
        !self.is_claimed() && self.top() != 0
    }
}

#[repr(transparent)]
pub(super) struct Latch<P: Platform>(P::U64);

/// The record of a sleeper. On its stack, alone on its lines.
#[repr(align(128))]
struct Node<P: Platform> {
    parker: Parker<P>,
    oldest: P::Ptr<Node<P>>,
    above: P::Ptr<Node<P>>,
    below: P::Ptr<Node<P>>,
}

impl<P: Platform> Node<P> {
    fn new() -> Self {
        let null = || AtomicPointer::new(ptr::null_mut());
        Node { parker: Parker::new(), oldest: null(), above: null(), below: null() }
    }

    /// Makes it ready to be pushed on the node at `top`, 0 for none.
    fn place_on(&self, top: u64) {
        self.parker.arm();
        let is_oldest = top == 0;
        let me = ptr::from_ref(self).cast_mut();
        self.oldest.store(if is_oldest { me } else { ptr::null_mut() }, Relaxed);
        self.above.store(ptr::null_mut(), Relaxed);
        if !is_oldest {
            self.below.store(at(top), Relaxed);
        }
    }

    /// Fills in the links upwards as far as they are missing, and notes and gives the oldest.
    ///
    /// # Safety
    /// The stack is claimed by the caller, and this is its top.
    unsafe fn oldest(&self) -> *mut Self {
        let mut node = self;
        // Ended by the node that was the top when somebody last came by, or by the first one ever pushed.
        loop {
            let oldest = node.oldest.load(Relaxed);
            if !oldest.is_null() {
                self.oldest.store(oldest, Relaxed);
                return oldest;
            }
            // SAFETY: on the stack, and nobody else takes nodes out of it.
            let below = unsafe { &*node.below.load(Relaxed) };
            below.above.store(ptr::from_ref(node).cast_mut(), Relaxed);
            node = below;
        }
    }
}

fn at<P: Platform>(address: u64) -> *mut Node<P> {
    ptr::with_exposed_provenance_mut(address as usize)
}

impl<P: Platform> Latch<P> {
    pub(super) fn new() -> Self {
        Latch(P::U64::new(State::FREE.0))
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.state() == State::FREE
    }

    fn state(&self) -> State {
        State(self.0.load(Relaxed))
    }

    #[inline]
    pub(super) fn acquire<V: Variant<P>>(&self, spins: Spins) {
        P::step(V::LATCH);
        // E2
        if self.0.compare_exchange_weak(State::FREE.0, State::LATCHED.0, Acquire, Relaxed).is_err() {
            self.acquire_slow::<V>(spins);
        }
    }

    #[inline]
    pub(super) fn release<V: Variant<P>>(&self) {
        P::step(V::UNLATCH);
        let found = State(self.0.fetch_sub(State::LATCHED.0, Release)); // E2
        debug_assert!(found.is_latched(), "I5: the latch is given back by somebody who has not got it");
        if found.wants_help() {
            self.release_slow::<V>();
        }
    }

    #[cold]
    #[inline(never)]
    fn acquire_slow<V: Variant<P>>(&self, spins: Spins) {
        let node = Node::<P>::new();
        let mut spinner = Spinner::<P>::new(spins);
        let mut seen = self.state();
        // Ended by a late_latch that finds the latch free. Spinning is bounded, and who sleeps is woken (I6).
        loop {
            if !seen.is_latched() {
                P::step(V::LATE_LATCH);
                // E2
                match self.0.compare_exchange_weak(seen.0, seen.latched().0, Acquire, Relaxed) {
                    Ok(_) => return,
                    Err(found) => seen = State(found),
                }
                continue;
            }
            if seen.top() == 0 && spinner.spin() {
                seen = self.state();
                continue;
            }
            node.place_on(seen.top());
            let mine = ptr::from_ref(&node).expose_provenance() as u64;
            P::step(V::PUSH);
            // E4
            if let Err(found) = self.0.compare_exchange_weak(seen.0, seen.with_top(mine).0, Release, Relaxed) {
                seen = State(found);
                continue;
            }
            P::step(V::AWAIT_LATCH);
            node.parker.park();
            spinner.reset();
            seen = self.state();
        }
    }

    /// The latch is free, as far as we know, and somebody sleeps for it.
    #[cold]
    #[inline(never)]
    fn release_slow<V: Variant<P>>(&self) {
        let Some(mut seen) = self.claim_stack::<V>() else { return };
        // Ended by letting go of the stack; each further turn comes after another thread's success.
        loop {
            let top = at::<P>(seen.top());
            // SAFETY: the stack is claimed by us and not empty, so its nodes are alive.
            let top = unsafe { &*top };
            // SAFETY: as above.
            let oldest = unsafe { top.oldest() };
            match self.pop::<V>(seen, top, oldest) {
                Ok(true) => return Self::rouse::<V>(oldest),
                Ok(false) => return,
                Err(found) => seen = found,
            }
        }
    }

    /// None if there is nothing to do, or somebody else does it.
    fn claim_stack<V: Variant<P>>(&self) -> Option<State> {
        let mut seen = self.state();
        // Ended by success, or by a word with nothing to do; each failure is another thread's success or spurious.
        while seen.wants_help() {
            P::step(V::CLAIM_STACK);
            // E4, E5
            match self.0.compare_exchange_weak(seen.0, seen.claimed().0, Acquire, Relaxed) {
                Ok(_) => return Some(seen.claimed()),
                Err(found) => seen = State(found),
            }
        }
        None
    }

    /// Lets go of the stack, which is claimed by us: without its oldest node, which gives true; or as it is, if somebody has
    /// the latch. What is found instead, if there is a new top.
    fn pop<V: Variant<P>>(&self, mut seen: State, top: &Node<P>, oldest: *mut Node<P>) -> Result<bool, State> {
        // SAFETY: on the stack, which is claimed by us.
        let above = unsafe { &*oldest }.above.load(Relaxed);
        // Ended by success or by a new top; each other failure is another thread's success or spurious.
        loop {
            if seen.is_latched() {
                P::step(V::LEAVE_STACK);
                // E4, E5
                match self.0.compare_exchange_weak(seen.0, seen.unclaimed().0, Release, Acquire) {
                    Ok(_) => return Ok(false),
                    Err(found) => seen = State(found),
                }
            } else if seen.top() != ptr::from_ref(top).addr() as u64 {
                return Err(seen);
            } else if above.is_null() {
                P::step(V::POP_ONLY);
                // E4, E5
                match self.0.compare_exchange_weak(seen.0, seen.emptied().0, Release, Acquire) {
                    Ok(_) => return Ok(true),
                    Err(found) => seen = State(found),
                }
            } else {
                top.oldest.store(above, Relaxed);
                P::step(V::POP_OLDEST);
                self.0.fetch_and(!State::CLAIMED.0, Release); // E5
                return Ok(true);
            }
        }
    }

    fn rouse<V: Variant<P>>(oldest: *mut Node<P>) {
        P::step(V::ROUSE);
        // SAFETY: taken out by us, so its thread waits for the permit that nobody else gives.
        let parker = unsafe { &raw const (*oldest).parker };
        // SAFETY: as above; the node is not touched after this.
        unsafe { Parker::permit(parker) }.make();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;

    #[test]
    fn the_parts_of_the_word_are_independent() {
        for top in [0, 128, u64::MAX << 7] {
            for flags in 0..4 {
                let state = State(top | flags);
                assert_eq!(
                    (state.top(), state.is_latched(), state.is_claimed()),
                    (top, flags & 1 != 0, flags & 2 != 0)
                );
                assert!(state.latched().is_latched() && state.latched().top() == top);
                assert!(state.claimed().is_claimed() && state.claimed().unclaimed() == state.unclaimed());
                assert!(state.with_top(256).top() == 256 && state.with_top(256).0 & 3 == flags);
                assert_eq!(state.emptied().0, flags & 1);
                assert_eq!(state.wants_help(), flags & 2 == 0 && top != 0);
            }
        }
    }

    #[test]
    fn the_oldest_is_found_whoever_was_pushed_meanwhile() {
        let nodes: [Node<Hardware>; 4] = core::array::from_fn(|_| Node::new());
        let address = |index: usize| ptr::from_ref(&nodes[index]).expose_provenance() as u64;
        let oldest = |top: usize| {
            // SAFETY: one thread only, so the stack is its own.
            let oldest = unsafe { nodes[top].oldest() };
            nodes.iter().position(|node| ptr::eq(node, oldest))
        };
        nodes[0].place_on(0);
        assert_eq!(oldest(0), Some(0));
        nodes[1].place_on(address(0));
        nodes[2].place_on(address(1));
        assert_eq!(oldest(2), Some(0));
        assert!(ptr::eq(nodes[0].above.load(Relaxed), &nodes[1]) && ptr::eq(nodes[1].above.load(Relaxed), &nodes[2]));
        // As if the first had been taken out.
        nodes[2].oldest.store(nodes[0].above.load(Relaxed), Relaxed);
        nodes[3].place_on(address(2));
        assert_eq!(oldest(3), Some(1));
        assert!(ptr::eq(nodes[2].above.load(Relaxed), &nodes[3]));
    }
}
