//! The dugout: the list of sleepers behind the state word of the flagship.
//!
//! Pushed by anybody with one compare-exchange of the word; everything else is done by the holder of the latch. Links
//! towards older sleepers are written before the push. Links towards newer ones are filled in lazily by
//! [`Node::link`], which walks from the head to the *anchor*, the one node that carries a valid `tail`, so that each
//! node is walked once.
//!
//! Who may read or write what:
//!
//! | field | before the push | in the list | called, not yet granted | granted |
//! |---|---|---|---|---|
//! | next, prev, tail, skipped | sleeper | latch holder | nobody | nobody |
//! | core | sleeper | latch holder reads | caller reads | nobody |
//! | is_called | sleeper | latch holder writes, sleeper reads under the latch | caller writes; sleeper reads under the latch | sleeper |
//! | is_notified | sleeper | latch holder reads | caller reads | nobody |
//! | grant | sleeper | sleeper reads | caller writes once; sleeper reads | sleeper |
//! | woken_ns | nobody | nobody | caller writes | sleeper |
//! | label | sleeper | nobody | nobody | nobody |
//!
//! The label says what the sleeper waits for. No lock reads it: it is for a profiler, which reads the memory of a process
//! that hangs. From the kernel it knows on which word a thread sleeps, and the label lies at a fixed distance behind that
//! word ([`seen`] has its numbers). It never takes anything else for a label:
//! - A second word must be the first with the bits of `MAGIC` changed. So neither other memory nor half of a new label is one.
//! - A new node has zeros there, so what an earlier sleeper has left on the stack is gone before its thread can sleep.
//! - A waiter of a condition variable gets its second label, that of the lock, from the notifier that owns its record.
//!
//! A node lives on the stack of its sleeper, which leaves only after it has seen its grant, or after it has unlinked
//! itself under the latch. So a node in the list is alive for the thread that holds the latch, and a called node is
//! alive for its caller until the store of its grant; after that store only its address is used.

pub mod seen;

use super::state::{ADDRESS_BITS, NODE_ALIGN_BITS, State};
use crate::{Atomic, AtomicPointer, Platform};
use core::cell::{Cell, UnsafeCell};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use seen::{CONDITION, MAGIC};

const WAITING: u32 = 0;
const CALLED: u32 = 1;

/// How a sleeper has been called.
const NOT: u32 = 0;
const TO_A_SEAT: u32 = 1;
const ALONE: u32 = 2;

/// How often the oldest sleeper may be passed over for one on a better core. Part of the stated bound on waiting.
pub(super) const MOST_SKIPS: u32 = 8;

/// How many of the oldest sleepers are considered when one is wanted that last ran on a certain core.
const CANDIDATES: u32 = 16;

/// A sleeper.
#[repr(C, align(512))]
pub(super) struct Node<P: Platform> {
    next: P::Ptr<Node<P>>,
    prev: P::Ptr<Node<P>>,
    tail: P::Ptr<Node<P>>,
    grant: P::U32,
    is_called: P::U32,
    core: P::U32,
    skipped: P::U32,
    label: UnsafeCell<[u64; 2]>,
    is_notified: bool,
    /// When it was woken, if it has been notified.
    woken_ns: Cell<u64>,
}

impl<P: Platform> Node<P> {
    /// Of a thread that goes to sleep by itself.
    pub(super) fn new() -> Self {
        Self::of(false)
    }

    /// Of a thread that has been notified: it depends on no other that has been called.
    pub(super) fn of_waiter() -> Self {
        Self::of(true)
    }

    fn of(is_notified: bool) -> Self {
        let null = || AtomicPointer::new(ptr::null_mut());
        let zero = || P::U32::new(0);
        Node {
            next: null(),
            prev: null(),
            tail: null(),
            grant: zero(),
            is_called: zero(),
            core: zero(),
            skipped: zero(),
            label: UnsafeCell::new([0; 2]),
            is_notified,
            woken_ns: Cell::new(0),
        }
    }

    /// Says from outside that its thread waits for a lock.
    ///
    /// # Safety
    /// As [`label`](Self::label).
    pub(super) unsafe fn waits_for<L>(&self, lock: &L) {
        // SAFETY: as the caller promises.
        unsafe { self.label(ptr::from_ref(lock).addr() as u64) };
    }

    /// Says from outside that its thread waits for a notification.
    ///
    /// # Safety
    /// As [`label`](Self::label).
    pub(super) unsafe fn waits_on<C>(&self, condition: &C) {
        // SAFETY: as the caller promises.
        unsafe { self.label(ptr::from_ref(condition).addr() as u64 | CONDITION) };
    }

    /// # Safety
    /// The caller has the node for itself: it is in no list, or its record is the notifier's.
    unsafe fn label(&self, what: u64) {
        // Volatile, as no code reads it. SAFETY: nobody else writes it, and no thread of this process reads it.
        unsafe { self.label.get().write_volatile([what, what ^ MAGIC]) };
    }

    /// The address of the node as the word has it, `None` if that does not fit (I8).
    pub(super) fn token(&self) -> Option<u64> {
        P::fits(ptr::from_ref(self).addr() as u64, ADDRESS_BITS).then(|| pack(self))
    }

    /// Makes the node ready to be pushed on top of `state`; gives the state after the push, `None` if the address of
    /// the node does not fit into the word (I8).
    pub(super) fn on_top_of(&self, state: State) -> Option<State> {
        let token = self.token()?;
        self.next.store(Self::head(state).cast_mut(), Relaxed);
        self.prev.store(ptr::null_mut(), Relaxed);
        self.tail.store(ptr::null_mut(), Relaxed);
        self.grant.store(WAITING, Relaxed);
        self.is_called.store(NOT, Relaxed);
        self.skipped.store(0, Relaxed);
        self.core.store(P::current_core(), Relaxed);
        Some(state.with_head(token))
    }

    /// The newest sleeper, null if there is none.
    pub(super) fn head(state: State) -> *const Node<P> {
        ptr::with_exposed_provenance((state.head() << NODE_ALIGN_BITS) as usize)
    }

    /// What a sleeper waits on, and the value while it has not been granted the seat.
    pub(super) fn grant_word(&self) -> (&P::U32, u32) {
        (&self.grant, WAITING)
    }

    pub(super) fn is_granted(&self) -> bool {
        self.grant.load(Acquire) == CALLED // E4
    }

    /// Whether somebody has called this node; asked and answered under the latch.
    pub(super) fn is_called(&self) -> bool {
        self.is_called.load(Relaxed) != NOT
    }

    /// Whether its thread has been notified.
    pub(super) fn is_notified(&self) -> bool {
        self.is_notified
    }

    /// Whether it has been granted without a seat: asked by its thread, once it has been granted.
    pub(super) fn is_alone(&self) -> bool {
        self.is_called.load(Relaxed) == ALONE
    }

    /// Tells the platform that its thread is up: called by that, once it has been granted.
    pub(super) fn note_up(&self) {
        // Who has switched spinning off did it for a sandbox or for a quota, which makes all late.
        P::note_wake(self.woken_ns.get(), || P::may_spin().then(P::parallelism));
    }

    fn core(&self) -> u32 {
        self.core.load(Relaxed)
    }

    /// Corrects the core of a node that is made ready by another thread than its sleeper.
    pub(super) fn slept_on(&self, core: u32) {
        self.core.store(core, Relaxed);
    }

    pub(super) fn call(&self) {
        self.is_called.store(TO_A_SEAT, Relaxed);
    }

    /// Calls it without a seat: it acquires as any arrival. It is off the list, or was in none, and not granted yet.
    pub(super) fn call_alone(&self) {
        self.is_called.store(ALONE, Relaxed);
    }

    /// Tells a called sleeper so. The node may be gone as soon as the store is done; the wake uses its address only.
    ///
    /// # Safety
    /// `node` has been called by this thread and not been granted yet.
    pub(super) unsafe fn grant(node: *const Self) {
        // SAFETY: the node is alive until its grant (see the file's table).
        let here = unsafe { &*node };
        if here.is_notified {
            here.woken_ns.set(P::wake_time_ns());
        }
        let word = &raw const here.grant;
        // SAFETY: alive until this very store is seen.
        unsafe { &*word }.store(CALLED, Release); // E4
        P::wake(word, 1);
    }

    /// Fills in the links of the list that begins at `head`, and makes `head` the anchor.
    ///
    /// # Safety
    /// The caller holds the latch, and `head` is the head it read under the latch.
    pub(super) unsafe fn link(head: *const Self) {
        let mut node = head;
        let tail = loop {
            // SAFETY: in the list, and the caller holds the latch.
            let here = unsafe { &*node };
            let tail = here.tail.load(Relaxed);
            if !tail.is_null() {
                here.tail.store(ptr::null_mut(), Relaxed);
                break tail;
            }
            let older = here.next.load(Relaxed);
            if older.is_null() {
                break node.cast_mut();
            }
            // SAFETY: in the list, and the caller holds the latch.
            unsafe { &*older }.prev.store(node.cast_mut(), Relaxed);
            node = older;
        };
        // SAFETY: in the list, and the caller holds the latch.
        unsafe { &*head }.tail.store(tail, Relaxed);
    }

    /// The sleeper to be called next: the oldest, or one of the next oldest if it slept on the caller's core and the
    /// oldest has not been passed over too often. The caller is about to give that core up; a sleeper from another
    /// one may be put behind the holder, and then nobody is on deck for a time slice.
    ///
    /// # Safety
    /// As for [`link`](Node::link), which has been called for this `head`.
    pub(super) unsafe fn choose(head: *const Self) -> *const Self {
        // SAFETY: in the list, and the caller holds the latch.
        let oldest = unsafe { &*head }.tail.load(Relaxed).cast_const();
        let here = P::current_core();
        let mut node = oldest;
        for _ in 0..CANDIDATES {
            // SAFETY: as above; the walk ends at the head.
            let candidate = unsafe { &*node };
            if candidate.core() == here {
                // SAFETY: as above, and `node` has been walked to.
                unsafe { Self::pass_over(oldest, node) };
                return node;
            }
            if node == head || candidate.skipped.load(Relaxed) >= MOST_SKIPS {
                break;
            }
            node = candidate.prev.load(Relaxed);
        }
        oldest
    }

    /// Everybody from `oldest` on who is older than `chosen` has been passed over once more: each of them, so that nobody is
    /// more often than [`MOST_SKIPS`] times, however many were older than it at first.
    ///
    /// # Safety
    /// As for [`link`](Node::link); both are in the list, `chosen` not before `oldest`.
    unsafe fn pass_over(oldest: *const Self, chosen: *const Self) {
        let mut node = oldest;
        while node != chosen {
            // SAFETY: between two that are in the list, and the caller holds the latch.
            let older = unsafe { &*node };
            older.skipped.store(older.skipped.load(Relaxed) + 1, Relaxed);
            node = older.prev.load(Relaxed);
        }
    }

    /// Takes a node that is not the head out of the list.
    ///
    /// # Safety
    /// The caller holds the latch, [`link`](Node::link) has been called for `head`, and `self` is in the list behind
    /// `head`.
    pub(super) unsafe fn unlink(&self, head: *const Self) {
        let (newer, older) = (self.prev.load(Relaxed), self.next.load(Relaxed));
        // SAFETY: in the list, and the caller holds the latch.
        unsafe { &*newer }.next.store(older, Relaxed);
        if older.is_null() {
            // SAFETY: as above; the head is the anchor.
            unsafe { &*head }.tail.store(newer, Relaxed);
        } else {
            // SAFETY: as above.
            unsafe { &*older }.prev.store(newer, Relaxed);
        }
    }

    /// What the head becomes when this node, the head and anchor, is taken away; the next node is made the anchor,
    /// until [`keep_anchor`](Node::keep_anchor) should the removal fail.
    ///
    /// # Safety
    /// The caller holds the latch and the node is the anchor.
    pub(super) unsafe fn bequeath_anchor(&self) -> u64 {
        let older = self.next.load(Relaxed);
        if !older.is_null() {
            // SAFETY: in the list, and the caller holds the latch.
            unsafe { &*older }.tail.store(self.tail.load(Relaxed), Relaxed);
        }
        pack(older)
    }

    /// Undoes [`bequeath_anchor`](Node::bequeath_anchor).
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn keep_anchor(&self) {
        let older = self.next.load(Relaxed);
        if !older.is_null() {
            // SAFETY: in the list, and the caller holds the latch.
            unsafe { &*older }.tail.store(ptr::null_mut(), Relaxed);
        }
    }
}

fn pack<P: Platform>(node: *const Node<P>) -> u64 {
    node.expose_provenance() as u64 >> NODE_ALIGN_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hardware;

    type Sleeper = Node<Hardware>;

    /// The list of these sleepers, the oldest first, linked; nobody else knows it, so the latch is ours.
    fn list(sleepers: &[Sleeper]) -> *const Sleeper {
        let mut state = State(0);
        for sleeper in sleepers {
            state = sleeper.on_top_of(state).expect("the stack of a test is below 2^48");
        }
        let head = Sleeper::head(state);
        // SAFETY: the list is ours.
        unsafe { Node::link(head) };
        head
    }

    /// The sleepers from the newest to the oldest, and back by the other links.
    fn assert_is(head: *const Sleeper, expected: &[&Sleeper]) {
        let mut node = head;
        for sleeper in expected {
            assert!(ptr::eq(node, *sleeper));
            node = sleeper.next.load(Relaxed);
        }
        assert!(node.is_null());
        // SAFETY: the list is ours.
        let mut node = unsafe { &*head }.tail.load(Relaxed).cast_const();
        for sleeper in expected.iter().rev() {
            assert!(ptr::eq(node, *sleeper));
            node = sleeper.prev.load(Relaxed);
        }
    }

    /// A thread that gives up its seat goes back to sleep with the same node.
    #[test]
    fn a_node_is_as_new_when_it_is_pushed_again() {
        let (node, other) = (Sleeper::new(), Sleeper::new());
        for link in [&node.next, &node.prev, &node.tail] {
            link.store(ptr::from_ref(&other).cast_mut(), Relaxed);
        }
        node.slept_on(u32::MAX);
        node.skipped.store(MOST_SKIPS, Relaxed);
        node.call();
        // SAFETY: called, and its thread is this one.
        unsafe { Node::grant(&node) };
        let state = node.on_top_of(State(0)).expect("the stack of a test is below 2^48");
        assert!(ptr::eq(Sleeper::head(state), &node));
        assert!(!node.is_granted() && !node.is_called());
        assert!([&node.next, &node.prev, &node.tail].iter().all(|link| link.load(Relaxed).is_null()));
        assert!(node.skipped.load(Relaxed) == 0 && node.core() != u32::MAX);
    }

    #[test]
    fn whoever_leaves_leaves_a_list_behind() {
        let sleepers: [Sleeper; 4] = std::array::from_fn(|_| Sleeper::new());
        let [oldest, second, third, newest] = &sleepers;
        let head = list(&sleepers);
        assert_is(head, &[newest, third, second, oldest]);
        // SAFETY: the list is ours and linked, and none of these is its head.
        unsafe { third.unlink(head) };
        assert_is(head, &[newest, second, oldest]);
        // SAFETY: as above.
        unsafe { oldest.unlink(head) };
        assert_is(head, &[newest, second]);
        // SAFETY: it is the head, which has been linked.
        assert_eq!(unsafe { newest.bequeath_anchor() }, pack(second));
        assert_is(second, &[second]);
    }

    /// A sleeper on this core is preferred to the oldest, but not for ever, and not from beyond the first few.
    #[test]
    fn the_oldest_is_passed_over_so_often_and_no_more() {
        for (n_between, most) in [(1, MOST_SKIPS), (CANDIDATES - 2, MOST_SKIPS), (CANDIDATES - 1, 0)] {
            let sleepers: Vec<Sleeper> = (0..n_between + 2).map(|_| Sleeper::new()).collect();
            let [oldest, between @ .., near] = &sleepers[..] else { unreachable!("two at least") };
            let head = list(&sleepers);
            let mut n_preferred = 0;
            for _ in 0..200 {
                oldest.slept_on(u32::MAX);
                between.iter().for_each(|sleeper| sleeper.slept_on(u32::MAX));
                // The thread may move to another core before the choice: then the oldest is called.
                near.slept_on(Hardware::current_core());
                // SAFETY: the list is ours and linked.
                let chosen = unsafe { Node::choose(head) };
                assert!(ptr::eq(chosen, near) || ptr::eq(chosen, oldest));
                n_preferred += u32::from(ptr::eq(chosen, near));
            }
            assert_eq!(n_preferred, most, "{n_between} between");
            near.slept_on(u32::MAX);
            oldest.slept_on(Hardware::current_core());
            // SAFETY: as above.
            assert!(ptr::eq(unsafe { Node::choose(head) }, oldest));
        }
    }

    /// A sleeper that was passed over together with an older one is not passed over as often again when that one has
    /// gone.
    #[test]
    fn each_is_passed_over_so_often_and_no_more() {
        let sleepers: [Sleeper; 3] = std::array::from_fn(|_| Sleeper::new());
        let [oldest, second, near] = &sleepers;
        let head = list(&sleepers);
        for _ in 0..200 {
            oldest.slept_on(u32::MAX);
            second.slept_on(u32::MAX);
            near.slept_on(Hardware::current_core());
            // SAFETY: the list is ours and linked.
            unsafe { Node::choose(head) };
        }
        assert_eq!([oldest, second, near].map(|node| node.skipped.load(Relaxed)), [MOST_SKIPS, MOST_SKIPS, 0]);
        // SAFETY: as above, and it is not the head.
        unsafe { oldest.unlink(head) };
        // SAFETY: as above.
        assert!(ptr::eq(unsafe { Node::choose(head) }, second));
    }
}
