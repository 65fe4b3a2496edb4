//! Snapshots of a process that is watched from the kernel.
#![cfg(target_arch = "x86_64")]

use crate::alone;
use crate::common::Scratch;
use crate::programs::{compiled, may_trace, profiled};
use ondeck_rounds::RunningProcess;
use std::process::Command;

/// Threads that sleep for two locks some thousand times a second: the kernel's memory is full after a few tens of ms in which
/// nobody takes what it tells.
const BUSY: &str = r"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
void *work(void *none) {
    for (int i = 0;; i++) {
        pthread_mutex_lock(&locks[i % 2]);
        usleep(50);
        pthread_mutex_unlock(&locks[i % 2]);
    }
    return none;
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 8; i++) pthread_create(&thread, 0, work, 0);
    sleep(20);
    _exit(0);
}
";

/// The first time, names take a second, as the files are read.
#[test]
fn nothing_is_missed_while_a_snapshot_gets_its_names() {
    if !may_trace() {
        return;
    }
    let _cores = alone();
    let scratch = Scratch::new("kernel-every");
    let busy = RunningProcess::start(&mut Command::new(compiled(&scratch, "busy", BUSY, &[])), libc::SIGKILL).unwrap();
    let pid = busy.pid().to_string();
    let (profile, run) = profiled(&scratch, &["--pid", &pid, "--for", "1500ms", "--every", "500ms"]);
    let (waits, lost) = (profile.locks.iter().map(|lock| lock.waits).sum::<f64>(), profile.dropped.samples);
    println!("{} s, {waits} waits, {lost} lost", profile.seconds);
    assert!(std::fs::exists(scratch.path("profile.0001.json")).unwrap(), "{}", run.stderr);
    // Other tests run beside, so that not each look is in time. While names were found by the thread that looks, three quarters
    // were lost.
    assert!((lost as f64) < 0.5 * waits && profile.seconds < 2.5, "{} s, {lost} of {waits}", profile.seconds);
}
