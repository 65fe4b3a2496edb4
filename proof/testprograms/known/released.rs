//! Functions that hold a lock, each in another way, and what the compiler puts into them.

/// In the place of a library of locks.
#[path = "lock_api-0.5.0/src/mutex.rs"]
mod locks;

use locks::Mutex;
use std::hint::black_box;

static ONE: Mutex = Mutex;

#[inline(always)]
fn in_inlined() {
    let _guard = ONE.lock("inlined");
    black_box(1);
}

#[inline(never)]
fn outer_of_inlined() {
    in_inlined();
    black_box(1);
}

#[inline(never)]
fn outer_of_closure() {
    let in_closure = |n: u8| {
        let _guard = ONE.lock("closure");
        black_box(n);
    };
    in_closure(black_box(3));
    black_box(1);
}

struct Store<T>(T, Mutex);

impl<T: Copy> Store<T> {
    #[inline]
    fn in_generic(&self) -> T {
        let _guard = self.1.lock("generic");
        black_box(self.0)
    }
}

#[inline(never)]
fn outer_of_generic() -> u16 {
    black_box(Store(5_u16, Mutex).in_generic())
}

trait Visit {
    fn in_trait(&self);
}

impl Visit for Store<u8> {
    #[inline(never)]
    fn in_trait(&self) {
        drop(black_box(self.1.lock("trait")));
        black_box(1);
    }
}

#[inline(never)]
fn outer_of_option() {
    black_box(Some(5)).inspect(|n| {
        let _guard = ONE.lock("option");
        black_box(n);
    });
    black_box(1);
}

struct Spin(Mutex);

struct SpinGuard<'a, T>(&'a Spin, T);

impl Spin {
    #[inline(always)]
    fn lock<T>(&self, value: T) -> SpinGuard<'_, T> {
        SpinGuard(self, value)
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.0.lock("own");
        black_box(1);
    }
}

#[inline(always)]
fn in_own(spin: &Spin) {
    let _guard = spin.lock(7_u16);
    black_box(2);
}

#[inline(never)]
fn outer_of_own() {
    in_own(&Spin(Mutex));
    black_box(1);
}

fn main() {
    outer_of_own();
    outer_of_inlined();
    outer_of_closure();
    outer_of_generic();
    let visit: &dyn Visit = black_box(&Store(5, Mutex));
    visit.in_trait();
    outer_of_option();
    let unused = std::thread::spawn(|| black_box(1));
    let thread = std::thread::spawn(|| {
        let guard = ONE.lock("thread");
        drop(guard);
        black_box(1);
    });
    unused.join().unwrap();
    thread.join().unwrap();
    print!("{}", std::fs::read_to_string("/proc/self/maps").unwrap());
}
