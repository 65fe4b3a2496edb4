//! The seam on the simulated machine.

use crate::machine::Machine;
use crate::timeline::Mark;
use crate::{Failure, Options, Outcome, Spent};
use ondeck_platform::{Atomic, AtomicPointer, Platform, Running, Step, ThreadId, Waited};
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

/// The simulated machine that is running on the calling thread of the system.
///
/// Its atomics may be made, read and written outside of a run too; that costs nothing. Everything else panics there.
#[derive(Clone, Copy, Debug)]
pub struct Simulated;

/// A thread that [`Simulated::start_thread`] has started.
#[derive(Clone, Copy, Debug)]
pub struct Thread(#[allow(dead_code, reason = "the engine is next")] u32);

/// A 32-bit atomic whose accesses take simulated time.
#[repr(transparent)]
pub struct SimU32(std::sync::atomic::AtomicU32);
/// A 64-bit atomic whose accesses take simulated time.
#[repr(transparent)]
pub struct SimU64(std::sync::atomic::AtomicU64);
/// An atomic pointer whose accesses take simulated time.
#[repr(transparent)]
pub struct SimPtr<T>(std::sync::atomic::AtomicPtr<T>);

impl Atomic<u32> for SimU32 {
    fn new(_value: u32) -> Self {
        unimplemented!()
    }
    fn load(&self, _order: Ordering) -> u32 {
        unimplemented!()
    }
    fn store(&self, _value: u32, _order: Ordering) {
        unimplemented!()
    }
    fn swap(&self, _value: u32, _order: Ordering) -> u32 {
        unimplemented!()
    }
    fn compare_exchange(&self, _c: u32, _n: u32, _s: Ordering, _f: Ordering) -> Result<u32, u32> {
        unimplemented!()
    }
    fn compare_exchange_weak(&self, _c: u32, _n: u32, _s: Ordering, _f: Ordering) -> Result<u32, u32> {
        unimplemented!()
    }
    fn fetch_add(&self, _value: u32, _order: Ordering) -> u32 {
        unimplemented!()
    }
    fn fetch_sub(&self, _value: u32, _order: Ordering) -> u32 {
        unimplemented!()
    }
    fn fetch_and(&self, _value: u32, _order: Ordering) -> u32 {
        unimplemented!()
    }
    fn fetch_or(&self, _value: u32, _order: Ordering) -> u32 {
        unimplemented!()
    }
}

impl Atomic<u64> for SimU64 {
    fn new(_value: u64) -> Self {
        unimplemented!()
    }
    fn load(&self, _order: Ordering) -> u64 {
        unimplemented!()
    }
    fn store(&self, _value: u64, _order: Ordering) {
        unimplemented!()
    }
    fn swap(&self, _value: u64, _order: Ordering) -> u64 {
        unimplemented!()
    }
    fn compare_exchange(&self, _c: u64, _n: u64, _s: Ordering, _f: Ordering) -> Result<u64, u64> {
        unimplemented!()
    }
    fn compare_exchange_weak(&self, _c: u64, _n: u64, _s: Ordering, _f: Ordering) -> Result<u64, u64> {
        unimplemented!()
    }
    fn fetch_add(&self, _value: u64, _order: Ordering) -> u64 {
        unimplemented!()
    }
    fn fetch_sub(&self, _value: u64, _order: Ordering) -> u64 {
        unimplemented!()
    }
    fn fetch_and(&self, _value: u64, _order: Ordering) -> u64 {
        unimplemented!()
    }
    fn fetch_or(&self, _value: u64, _order: Ordering) -> u64 {
        unimplemented!()
    }
}

impl<T> AtomicPointer<T> for SimPtr<T> {
    fn new(_pointer: *mut T) -> Self {
        unimplemented!()
    }
    fn load(&self, _order: Ordering) -> *mut T {
        unimplemented!()
    }
    fn store(&self, _pointer: *mut T, _order: Ordering) {
        unimplemented!()
    }
    fn swap(&self, _pointer: *mut T, _order: Ordering) -> *mut T {
        unimplemented!()
    }
    fn compare_exchange(&self, _c: *mut T, _n: *mut T, _s: Ordering, _f: Ordering) -> Result<*mut T, *mut T> {
        unimplemented!()
    }
}

impl Platform for Simulated {
    type U32 = SimU32;
    type U64 = SimU64;
    type Ptr<T: 'static> = SimPtr<T>;
    fn wait_on(_word: &Self::U32, _expected: u32, _deadline_ns: Option<u64>) -> Waited {
        unimplemented!()
    }
    fn wake(_word: *const Self::U32, _n: u32) {
        unimplemented!()
    }
    fn wait_on_upper(_word: &Self::U64, _expected: u64, _deadline_ns: Option<u64>) -> Waited {
        unimplemented!()
    }
    fn wake_upper(_word: *const Self::U64, _n: u32) {
        unimplemented!()
    }
    fn pause() {
        unimplemented!()
    }
    fn pause_ns(_ns: u32) {
        unimplemented!()
    }
    fn yield_now() {
        unimplemented!()
    }
    fn now_ns() -> u64 {
        unimplemented!()
    }
    fn ticks() -> u64 {
        unimplemented!()
    }
    fn ns_to_ticks(_ns: u64) -> u64 {
        unimplemented!()
    }
    fn thread_id() -> ThreadId {
        unimplemented!()
    }
    fn thread_index() -> Option<NonZeroU32> {
        unimplemented!()
    }
    fn current_core() -> u32 {
        unimplemented!()
    }
    fn parallelism() -> u32 {
        unimplemented!()
    }
    fn may_spin() -> bool {
        unimplemented!()
    }
    fn is_running(_thread: ThreadId) -> Running {
        unimplemented!()
    }
    fn step(_step: Step) {
        unimplemented!()
    }
}

impl Simulated {
    /// Starts a thread, on hardware thread `cpu` only if one is given.
    pub fn start_thread(_cpu: Option<u32>, _body: Box<dyn FnOnce() + Send>) -> Thread {
        unimplemented!()
    }
    /// Sleeps until the thread is gone.
    pub fn join(_thread: Thread) {
        unimplemented!()
    }
    /// Does `units` units of work, which touch no memory.
    pub fn work(_units: u32) {
        unimplemented!()
    }
    /// Spends what computing the Fibonacci number `n` by naive recursion takes, and gives it.
    pub fn fib(_n: u32) -> u32 {
        unimplemented!()
    }
    /// A full barrier: waits until the stores of the thread are seen by all.
    pub fn barrier() {
        unimplemented!()
    }
    /// Sleeps for `ns` nanoseconds.
    pub fn sleep_ns(_ns: u64) {
        unimplemented!()
    }
    /// CPU time of all threads in nanoseconds, and how often a CPU has switched threads.
    pub fn usage() -> (u64, u64) {
        unimplemented!()
    }
    /// Where the time of all threads has gone so far.
    pub fn spent() -> Spent {
        unimplemented!()
    }
    /// Says something about the calling thread; it takes no time.
    pub fn mark(_mark: Mark) {
        unimplemented!()
    }
    /// What every thread is at: who sleeps on which word with which value, and the last operations of the others.
    pub fn standstill() -> String {
        unimplemented!()
    }
}

pub(crate) fn run<R>(_machine: &Machine, _options: &Options, _root: impl FnOnce() -> R) -> Result<Outcome<R>, Failure> {
    unimplemented!()
}
