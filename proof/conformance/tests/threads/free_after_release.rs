//! The last user frees the lock right after its own release, again and again, while the others are in every phase of
//! arriving, waiting, timing out and leaving.
//!
//! Two places for the lock: the heap, which AddressSanitizer watches (`.ci/sanitize address`), and pages that become
//! inaccessible when freed and are never used again, where any late touch is a SIGSEGV without any tool.
//!
//! `ONDECK_FREES` sets the number of locks per test.

use ondeck_conformance::counted::{CountedObject, Reference};
use ondeck_conformance::{HardwareHarness, Random, depth, within};
use ondeck_core::{Hardware, Platform};
use ondeck_lineage::*;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::time::Duration;

/// Users of each lock: twice the cores of a small machine, so that some sleep and some are preempted.
const USERS: usize = 4;
/// Locks alive at once: few, so that users meet.
const SLOTS: usize = 4;
/// Locks per test: with optimisation a million, about eight seconds; without, a few tenths.
const ON_HEAP: usize = if cfg!(debug_assertions) { 50_000 } else { 1_000_000 };
/// The same for pages, each of which costs three system calls and an address for good.
const ON_PAGES: usize = 50_000;
const PATIENCE: Duration = Duration::from_secs(300);

type Object<L> = CountedObject<HardwareHarness, L>;

fn frees(default: usize) -> usize {
    let asked = std::env::var("ONDECK_FREES").ok();
    let default = if depth::is_whole() { default } else { default / 5 };
    asked.map_or(default, |text| text.parse().expect("ONDECK_FREES is a number"))
}

/// Where objects live. `make` is called once per index, by one thread; `free` once, by the last user.
trait Place<L>: Send + Sync + 'static {
    fn new(objects: usize) -> Self;
    fn make(&self, index: usize, object: Object<L>) -> *mut Object<L>;
    /// # Safety
    /// `object` is what `make` gave for this index, and the caller was its last user.
    unsafe fn free(&self, index: usize, object: *mut Object<L>);
}

struct Heap;

impl<L: RawLock> Place<L> for Heap {
    fn new(_objects: usize) -> Self {
        Heap
    }

    fn make(&self, _index: usize, object: Object<L>) -> *mut Object<L> {
        Box::into_raw(Box::new(object))
    }

    unsafe fn free(&self, _index: usize, object: *mut Object<L>) {
        // SAFETY: made by `Box::into_raw`, last use.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// A range of addresses of which each page is accessible from `make` to `free` and never again.
struct Pages {
    base: *mut u8,
    bytes: usize,
}

const PAGE: usize = 4096;

// SAFETY: a range of addresses; who may use which page when is the harness's business.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn page(&self, index: usize) -> *mut u8 {
        assert!((index + 1) * PAGE <= self.bytes);
        self.base.wrapping_add(index * PAGE)
    }
}

impl<L: RawLock> Place<L> for Pages {
    fn new(objects: usize) -> Self {
        let bytes = objects * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "{bytes} bytes of address space");
        Pages { base: base.cast(), bytes }
    }

    fn make(&self, index: usize, object: Object<L>) -> *mut Object<L> {
        assert!(size_of::<Object<L>>() <= PAGE);
        let page = self.page(index);
        // SAFETY: a page of our own mapping.
        let answer = unsafe { libc::mprotect(page.cast(), PAGE, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(answer, 0, "the page opens");
        let at = page.cast::<Object<L>>();
        // SAFETY: a writable page, aligned and large enough, that nobody else has.
        unsafe { at.write(object) };
        at
    }

    unsafe fn free(&self, index: usize, object: *mut Object<L>) {
        // SAFETY: written by `make`, last use.
        unsafe { ptr::drop_in_place(object) };
        let page = self.page(index).cast();
        // SAFETY: a page of our own mapping that holds nothing any more.
        let answer = unsafe { libc::mprotect(page, PAGE, libc::PROT_NONE) };
        assert_eq!(answer, 0, "the page closes");
        // SAFETY: as above; gives the memory back but keeps the addresses ours.
        unsafe { libc::madvise(page, PAGE, libc::MADV_DONTNEED) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which no thread uses any more.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// The objects that are alive, passed from hand to hand. A slot holds null or a pointer whose lowest bit is the parity
/// of its generation, so that a user can tell the object it waits for from the one it has left already.
struct Ring<P, L> {
    slots: [AtomicUsize; SLOTS],
    place: P,
    lock: PhantomData<fn() -> L>,
}

impl<L: RawLock<Platform = Hardware>, P: Place<L>> Ring<P, L> {
    fn new(objects: usize) -> Arc<Self> {
        Arc::new(Ring { slots: Default::default(), place: P::new(objects), lock: PhantomData })
    }

    fn put(&self, index: usize) {
        let slot = &self.slots[index % SLOTS];
        while slot.load(Acquire) != 0 {
            Hardware::yield_now();
        }
        let object = self.place.make(index, Object::<L>::new(USERS as u64));
        slot.store(object.expose_provenance() | ((index / SLOTS) % 2), Release);
    }

    fn get(&self, index: usize) -> Reference<HardwareHarness, L> {
        let (slot, parity) = (&self.slots[index % SLOTS], (index / SLOTS) % 2);
        loop {
            let held = slot.load(Acquire);
            if held != 0 && held % 2 == parity {
                return Reference(ptr::with_exposed_provenance_mut(held - parity));
            }
            Hardware::yield_now();
        }
    }

    fn use_all(&self, me: usize, objects: usize, acquire: fn(&L, &mut Random)) {
        let mut random = Random::new(me as u64);
        for index in 0..objects {
            if index % USERS == me {
                self.put(index);
            }
            let object = self.get(index).pointer();
            for _ in 0..random.below(3) {
                // SAFETY: counted as a user until `leave`.
                unsafe { Object::visit(object, |lock| acquire(lock, &mut random)) };
            }
            // SAFETY: counted as a user until here.
            if unsafe { Object::leave(object, |lock| acquire(lock, &mut random)) } == 0 {
                self.slots[index % SLOTS].store(0, Release);
                // SAFETY: made for this index; the count says that this was the last user.
                unsafe { self.place.free(index, object) };
            }
        }
    }
}

fn churn<L: RawLock<Platform = Hardware>, P: Place<L>>(objects: usize, acquire: fn(&L, &mut Random)) {
    let ring = Ring::<P, L>::new(objects);
    within(PATIENCE, L::ENTRY.name, || {
        let user = |me| {
            let ring = ring.clone();
            std::thread::spawn(move || ring.use_all(me, objects, acquire))
        };
        let users: Vec<_> = (0..USERS).map(user).collect();
        for user in users {
            user.join().expect("a user panicked");
        }
    });
}

/// Acquires, and holds for a moment, at times long enough for the others to fall asleep.
fn plainly<L: RawLock>(lock: &L, random: &mut Random) {
    if random.below(2) == 0 || !lock.try_acquire() {
        lock.acquire();
    }
    hold(random);
}

/// The same through deadlines of up to 30 us, most of which come first when the lock is busy.
fn with_deadlines<L: RawTimedLock>(lock: &L, random: &mut Random) {
    for _ in 0..random.below(3) {
        if lock.try_acquire_until(L::Platform::now_ns() + random.below(30_000)) {
            return hold(random);
        }
    }
    lock.acquire();
    hold(random);
}

fn hold(random: &mut Random) {
    match random.below(64) {
        0 => Hardware::pause_ns(30_000),
        1..=15 => Hardware::pause_ns(random.below(500) as u32),
        _ => (),
    }
}

/// The tests of one lock; `$how` is how it is used.
macro_rules! freed {
    ($name:ident, $lock:ident, $how:ident) => {
        mod $name {
            use super::*;

            #[test]
            fn heap() {
                if $lock::<Hardware>::ENTRY.promises.free_after_release {
                    churn::<$lock<Hardware>, Heap>(frees(ON_HEAP), $how);
                }
            }

            #[test]
            fn pages() {
                if $lock::<Hardware>::ENTRY.promises.free_after_release {
                    churn::<$lock<Hardware>, Pages>(frees(ON_PAGES), $how);
                }
            }
        }
    };
}

macro_rules! freeable {
    ($name:ident, $lock:ident) => {
        freed!($name, $lock, plainly);
    };
}

for_each_lock!(freeable);

mod timed {
    use super::*;

    macro_rules! timed_freeable {
        ($name:ident, $lock:ident) => {
            freed!($name, $lock, with_deadlines);
        };
    }

    for_each_lock!(timed_freeable, timed);
}

/// The check of the check: a lock that looks at its word after the release is caught red-handed.
mod selftest {
    use super::*;
    use ondeck_conformance::child::test_in_child;
    use ondeck_conformance::faulty_lock::{Fault, FaultChoice, FaultyLock};
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

    struct Faulty;

    impl FaultChoice for Faulty {
        const FAULT: Fault = Fault::LooksAfterRelease;
    }

    /// Two users. The first of them looks at the word again when the second has freed the lock: no luck is needed.
    struct LateRelease {
        is_held: AtomicBool,
        releases: AtomicU32,
    }

    static IS_FREED: AtomicBool = AtomicBool::new(false);

    impl RawLock for LateRelease {
        type Platform = Hardware;
        const ENTRY: Entry = FaultyLock::<Hardware, Faulty>::ENTRY;

        fn new() -> Self {
            LateRelease { is_held: AtomicBool::new(false), releases: AtomicU32::new(0) }
        }

        fn try_acquire(&self) -> bool {
            !self.is_held.swap(true, Acquire)
        }

        fn acquire(&self) {
            while !self.try_acquire() {
                Hardware::yield_now();
            }
        }

        unsafe fn release(&self) {
            let is_first = self.releases.fetch_add(1, Relaxed) == 0;
            self.is_held.store(false, Release);
            while is_first && !IS_FREED.load(Acquire) {
                Hardware::yield_now();
            }
            if is_first {
                std::hint::black_box(self.is_held.load(Relaxed));
            }
        }

        fn is_at_rest(&self) -> bool {
            !self.is_held.load(Relaxed)
        }
    }

    fn touch_late<P: Place<LateRelease>>() {
        within(PATIENCE, "the late touch", || {
            let place = Arc::new(P::new(1));
            let object = place.make(0, Object::<LateRelease>::new(2));
            let users = [object; 2].map(|object| {
                let (place, object) = (place.clone(), Reference::<HardwareHarness, LateRelease>(object));
                std::thread::spawn(move || {
                    // SAFETY: one of its two users.
                    if unsafe { Object::leave(object.pointer(), LateRelease::acquire) } == 0 {
                        // SAFETY: made for this index; the count says that this was the last user.
                        unsafe { place.free(0, object.pointer()) };
                        IS_FREED.store(true, Release);
                    }
                })
            });
            for user in users {
                user.join().expect("a user panicked");
            }
        });
    }

    #[test]
    #[ignore = "must crash; run by `late_touch_is_noticed` in a child process"]
    fn late_touch() {
        touch_late::<Pages>();
    }

    #[test]
    #[ignore = "must be noticed by AddressSanitizer; run by `.ci/sanitize address`"]
    fn late_touch_on_heap() {
        touch_late::<Heap>();
    }

    #[test]
    fn late_touch_is_noticed() {
        let output = test_in_child(module_path!(), "late_touch").output().expect("the child starts");
        // SIGSEGV, or what a sanitizer makes of it: in any case no end by a panic, nor a good one.
        let has_crashed = !String::from_utf8_lossy(&output.stdout).contains("test result");
        assert!(!output.status.success() && has_crashed, "a late touch went unnoticed: {}", output.status);
    }
}
