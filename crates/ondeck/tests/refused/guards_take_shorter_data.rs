//! A guard of a long-lived reference is none of a short-lived one: that could be put in.

use ondeck::{MappedMutexGuard, Mutex, MutexGuard};

fn whole<'a, 'b>(guard: MutexGuard<'b, &'static str>) -> MutexGuard<'b, &'a str> {
    guard
}

fn part<'a, 'b>(guard: MappedMutexGuard<'b, &'static str>) -> MappedMutexGuard<'b, &'a str> {
    guard
}

fn mutex<'a, 'b>(mutex: &'b Mutex<&'static str>) -> &'b Mutex<&'a str> {
    mutex
}

fn main() {}
