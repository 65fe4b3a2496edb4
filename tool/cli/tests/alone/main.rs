//! Tests whose outcome depends on what else keeps the cores busy. Cargo runs test programs one after the other, and here one test
//! runs at a time.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

mod culprits;
mod for_c;
mod jumpers;
mod snapshots;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "these tests need little of it")]
mod support;
mod who_holds;

/// Held by the test that runs.
static CORES: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The cores, for as long as the guard is there. A test that has failed with it has left nothing behind.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    CORES.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
