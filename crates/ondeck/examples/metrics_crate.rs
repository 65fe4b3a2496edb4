//! The same for a program that has its metrics in the crate `metrics`: before each export, they are set from a snapshot.
//!
//! ```text
//! cargo run -p ondeck --features stats --example metrics_crate
//! ```
//!
//! It prints what it would export. A program installs an exporter in the place of that, as of `metrics-exporter-prometheus`.

use metrics::{Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use ondeck::Mutex;
use std::sync::Arc;
use std::thread::{scope, sleep};
use std::time::Duration;

static SESSIONS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// To be called before each export, and not while a lock is held.
fn update_metrics() {
    for lock in ondeck::stats::snapshot().locks {
        let oldest = lock.waiting.iter().map(|thread| thread.waited).max().unwrap_or_default();
        metrics::counter!("lock_waits", "lock" => lock.lock.clone()).absolute(lock.waits.count());
        metrics::counter!("lock_wait_us", "lock" => lock.lock.clone()).absolute(lock.waits.sum.as_micros() as u64);
        metrics::gauge!("lock_waiting_threads", "lock" => lock.lock.clone()).set(lock.waiting.len() as f64);
        metrics::gauge!("lock_oldest_wait_seconds", "lock" => lock.lock).set(oldest.as_secs_f64());
    }
}

fn main() {
    ondeck::stats::start();
    ondeck::name(&SESSIONS, "sessions");
    metrics::set_global_recorder(Print).expect("there is no other recorder");
    scope(|scope| {
        for n in 0..4 {
            scope.spawn(move || {
                for _ in 0..10 {
                    let mut sessions = SESSIONS.lock();
                    sleep(Duration::from_millis(2));
                    sessions.push(n);
                }
            });
        }
    });
    update_metrics();
}

/// In the place of an exporter.
struct Print;

struct Series(Key);

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        println!("{} +{value}", self.0);
    }

    fn absolute(&self, value: u64) {
        println!("{} {value}", self.0);
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        println!("{} +{value}", self.0);
    }

    fn decrement(&self, value: f64) {
        println!("{} -{value}", self.0);
    }

    fn set(&self, value: f64) {
        println!("{} {value}", self.0);
    }
}

impl Recorder for Print {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(Series(key.clone())))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::new(Series(key.clone())))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}
