//! `ondeck profile` with a program that has ondeck's locks from C++: they are recorded as pthread's are, however the library
//! is linked.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::alone;
use crate::common::{Scratch, ondeck};
use crate::library::library;
use ondeck_profile::{Lock, Profile, busiest, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROUNDS: f64 = 20.0;

/// `rebuild` sleeps with the cache, which `look_up` waits for. Nobody waits for the other locks. Prints how often it looked
/// up, for how many ns that was, how often it waited for the condition, and for how many ns.
const PROGRAM: &str = r#"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include "ondeck.hpp"

using Clock = std::chrono::steady_clock;
static long ns_since(Clock::time_point from) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - from).count();
}

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static ondeck::mutex queue_lock;
static ondeck::condition_variable filled;
static int n_queued;
static long looked_up, look_up_ns, waits, wait_ns;
static std::atomic<bool> is_over;

[[gnu::noinline]] static void rebuild(ondeck::mutex &cache) {
    std::lock_guard<ondeck::mutex> held(cache);
    usleep(5000);
}
[[gnu::noinline]] static void look_up(ondeck::mutex &cache) {
    auto from = Clock::now();
    std::lock_guard<ondeck::mutex> held(cache);
    looked_up++;
    look_up_ns += ns_since(from);
}
[[gnu::noinline]] static void consume() {
    std::unique_lock<ondeck::mutex> held(queue_lock);
    for (int n = 0; n < 20; n++) {
        auto from = Clock::now();
        filled.wait(held, [] { waits += n_queued == 0; return n_queued > 0; });
        wait_ns += ns_since(from);
        n_queued--;
    }
}
[[gnu::noinline]] static void produce() {
    usleep(5000);
    pthread_mutex_lock(&journal);
    pthread_mutex_unlock(&journal);
    { std::lock_guard<ondeck::mutex> held(queue_lock); n_queued++; }
    filled.notify_one();
}
int main() {
    auto cache = std::make_unique<ondeck::mutex>();
    ondeck::name(*cache, "cache");
    // The recording begins here, with nobody beside.
    { std::lock_guard<ondeck::mutex> first(queue_lock); }
    std::thread reader([&] { while (!is_over) { look_up(*cache); usleep(500); } });
    std::thread consumer(consume);
    for (int round = 0; round < 20; round++) { rebuild(*cache); produce(); }
    consumer.join();
    is_over = true;
    reader.join();
    std::printf("%ld %ld %ld %ld\n", looked_up, look_up_ns, waits, wait_ns);
}
"#;

/// The shared and the static library, as users build them.
fn libraries() -> [PathBuf; 2] {
    // Beside what else is built: the tests hold no lock of cargo's.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--package", "ondeck-capi", "--target-dir"]).arg(&target);
    assert!(cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success(), "the library cannot be built");
    ["libondeck_c.so", "libondeck_c.a"].map(|name| target.join("release").join(name))
}

fn lock<'p>(profile: &'p Profile, name: &str) -> &'p Lock {
    let names: Vec<&str> = profile.locks.iter().map(|lock| lock.name.as_str()).collect();
    profile.locks.iter().find(|lock| lock.name == name).unwrap_or_else(|| panic!("no lock {name} among {names:?}"))
}

#[track_caller]
fn is_near(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.1, "{what}: {found} and not {expected}");
}

#[test]
fn ondecks_locks_in_cpp_are_recorded_as_pthreads_are() {
    let _cores = alone();
    let scratch = Scratch::new("for-c");
    let source = scratch.write("cache.cpp", PROGRAM);
    let headers = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../crates/capi/include");
    let [shared, archive] = libraries();
    // A static program has no library preloaded, and tables for walking stacks only if the linker is told so.
    for (from, flags) in [(&shared, &[][..]), (&archive, &[]), (&archive, &["-static", "-Wl,--eh-frame-hdr"])] {
        let (program, out, from) = (scratch.path("cache"), scratch.path("cache.json"), from.to_str().unwrap());
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-g", "-O2", "-pthread", headers, "-o", &program, &source, from, "-ldl", "-lm"]);
        // The linker says of static programs that the C library's name service wants shared libraries.
        assert!(compiler.args(flags).stderr(Stdio::null()).status().unwrap().success(), "{from} {flags:?}");
        let profile = |options: &[&str]| {
            let run = ondeck(&[&["profile", "--library", library()], options, &["--", &program]].concat());
            assert_eq!(run.code, Some(0), "{from}: {}", run.stderr);
            run
        };
        let run = profile(&["--rate", "1", "--format", "json", "--out", &out]);
        judge(&json::from_json(&std::fs::read_to_string(&out).unwrap()).unwrap(), &run.stdout, flags.is_empty());
        let run = profile(&[]);
        let verdict = run.stderr.split("\n\n").next().unwrap_or_default();
        let has = |words: &str| verdict.contains(words);
        assert!(has("`rebuild`") && has("`cache`") && has("blocked in"), "{from}: {}", run.stderr);
    }
}

fn judge(profile: &Profile, printed: &str, is_preloaded: bool) {
    let numbers: Vec<f64> = printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [looked_up, look_up_ns, condition_waits, condition_ns] = numbers[..] else { panic!("{printed}") };
    assert_eq!(profile.processes.len(), 1, "recorded by the library and by the program: {:?}", profile.processes);
    let function = |sites| busiest(profile, sites).map(|(name, _)| name);
    let cache = lock(profile, "cache");
    assert_eq!(cache.acquisitions, looked_up + ROUNDS);
    is_near("waited for the cache", cache.wait_ns, look_up_ns);
    let [waits, holds] = [&cache.waiters, &cache.holders].map(|sites| function(sites));
    assert_eq!([waits.as_deref(), holds.as_deref()], [Some("look_up"), Some("rebuild")]);
    assert!(cache.spins.is_some(), "ondeck's");
    if is_preloaded {
        let journal = lock(profile, "journal");
        assert_eq!((journal.acquisitions, journal.spins), (ROUNDS, None));
    }
    // A wait on a condition variable is none for a lock.
    assert!(lock(profile, "queue_lock").wait_ns < 0.1 * condition_ns);
    let filled = profile.conditions.iter().find(|condition| condition.name == "filled").expect("was waited on");
    let [waits, notifies] = [&filled.waiters, &filled.notifiers].map(|sites| function(sites));
    assert_eq!([waits.as_deref(), notifies.as_deref()], [Some("consume"), Some("produce")]);
    assert_eq!(filled.waits, condition_waits);
    is_near("waited on the condition", filled.wait_ns, condition_ns);
}
