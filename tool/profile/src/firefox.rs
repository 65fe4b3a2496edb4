//! The file for Firefox Profiler.
//!
//! Each process of the program has two threads, `waiters` and `holders`; below the lock's name stand the stacks. The weight of
//! a sample is the time that was waited there, or that is charged there, in ms.
//!
//! A profile does not know when it was waited at which stack, only when for which lock. So each stack of a lock has a sample in
//! each slice of the lock's timeline, with the part of the stack's time that the slice has of the lock's. A range of time in
//! the viewer therefore shows rightly which locks were waited for; whose stacks it was is that of the whole run. The height
//! of a thread's graph is the part of the time in which somebody waited, at most all of it.

use crate::profile::{Lock, Profile};
use crate::rows::{Row, Side, functions, of_side};
use fxprof_processed_profile::{
    CategoryColor, CategoryPairHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as File, ReferenceTimestamp,
    SamplingInterval, StackHandle, ThreadHandle, Timestamp, WeightType,
};
use ondeck_report::wording::plain;
use serde_json::{Value, json};
use std::time::Duration;

/// More samples make a file that no browser likes; slices are joined until there are fewer.
const MOST_SAMPLES: usize = 200_000;

/// The profile as Firefox Profiler opens it, in JSON. Compressed, it is read as well.
pub fn firefox(profile: &Profile) -> String {
    let command = plain(&profile.command.join(" "));
    let start = ReferenceTimestamp::from_millis_since_unix_epoch(profile.started_at * 1e3);
    let slices = Slices::of(profile);
    let interval = SamplingInterval::from_nanos(nanos(slices.length).max(1));
    let mut file = File::new(&format!("ondeck profile of {command}"), start, interval);
    let categories = [("waiting", CategoryColor::Orange), ("holding", CategoryColor::Blue)];
    let categories = categories.map(|(name, color)| file.add_category(name, color).into());
    let mut weights = Vec::new();
    for (number, process) in profile.processes.iter().enumerate() {
        let number = number as u32;
        let at = |seconds: f64| Timestamp::from_nanos_since_reference(nanos(seconds));
        let handle = file.add_process(&profile.process_name(number), process.pid, at(process.from));
        file.set_process_end_time(handle, at(process.to));
        let sides = [("waiters", Side::Waiters), ("holders", Side::Holders)];
        for ((name, side), category) in sides.into_iter().zip(categories) {
            let thread = file.add_thread(handle, weights.len() as u32, at(process.from), false);
            file.set_thread_name(thread, name);
            file.set_thread_samples_weight_type(thread, WeightType::TracingMs);
            if side == Side::Waiters && number == 0 {
                file.add_initial_selected_thread(thread);
            }
            let mut of_thread = Thread { file: &mut file, profile, thread, category };
            weights.push(of_thread.samples(&slices, side, number));
        }
    }
    let mut json = serde_json::to_value(&file).expect("strings and numbers always have a JSON form");
    set_weights(&mut json, &weights);
    json.to_string()
}

/// The library takes whole milliseconds only. Threads are known by their numbers: their order is the library's.
fn set_weights(json: &mut Value, weights: &[Vec<f64>]) {
    for thread in json["threads"].as_array_mut().into_iter().flatten() {
        let number = thread["tid"].as_str().and_then(|tid| tid.parse::<usize>().ok());
        let weights =
            number.and_then(|number| weights.get(number)).expect("each thread has the number that it was given");
        assert_eq!(thread["samples"]["length"], weights.len(), "each sample has a weight");
        thread["samples"]["weight"] = json!(weights);
    }
}

/// Slices of time, the same for all locks.
struct Slices {
    /// In seconds.
    length: f64,
    /// How many of the profile's own are one.
    joined: usize,
}

impl Slices {
    fn of(profile: &Profile) -> Slices {
        let locks = &profile.locks;
        let samples = |lock: &Lock| (lock.waiters.len() + lock.holders.len()) * lock.timeline.amounts.len();
        let joined = locks.iter().map(samples).sum::<usize>().div_ceil(MOST_SAMPLES).max(1);
        let length = locks.iter().map(|lock| lock.timeline.slice).find(|length| *length > 0.0);
        Slices { length: length.unwrap_or(profile.seconds) * joined as f64, joined }
    }

    /// The parts of a lock's waiting that passed in each slice; the first has all where that is not known.
    fn parts(&self, lock: &Lock) -> Vec<f64> {
        let amounts: Vec<f64> = lock.timeline.amounts.chunks(self.joined).map(|slices| slices.iter().sum()).collect();
        let total: f64 = amounts.iter().sum();
        if total > 0.0 { amounts.iter().map(|amount| amount / total).collect() } else { vec![1.0] }
    }
}

/// One side of a process.
struct Thread<'a> {
    file: &'a mut File,
    profile: &'a Profile,
    thread: ThreadHandle,
    category: CategoryPairHandle,
}

impl Thread<'_> {
    /// Adds the samples, in the order of their times; gives their weights, in ms.
    fn samples(&mut self, slices: &Slices, side: Side, process: u32) -> Vec<f64> {
        let mut by_slice: Vec<Vec<(StackHandle, f64)>> = Vec::new();
        for lock in self.profile.locks.iter().filter(|lock| lock.process == process) {
            let parts = slices.parts(lock);
            by_slice.resize(by_slice.len().max(parts.len()), Vec::new());
            for row in of_side(lock, side) {
                let stack = self.stack(lock, row);
                let with_part = by_slice.iter_mut().zip(&parts).filter(|(_, part)| **part > 0.0);
                with_part.for_each(|(samples, part)| samples.push((stack, row.ns * part)));
            }
        }
        let mut weights = Vec::new();
        for (number, samples) in by_slice.iter().enumerate() {
            let ns: f64 = samples.iter().map(|sample| sample.1).sum();
            let step = slices.length / samples.len() as f64;
            // Somebody waits for this part of the slice, if no two wait at once.
            let busy = (ns / 1e9 / slices.length).min(1.0);
            for (place, (stack, ns)) in samples.iter().enumerate() {
                let at = number as f64 * slices.length + (place + 1) as f64 * step;
                let (at, busy) =
                    (Timestamp::from_nanos_since_reference(nanos(at)), Duration::from_nanos(nanos(step * busy)));
                self.file.add_sample(self.thread, at, Some(*stack), CpuDelta::from(busy), 0);
                weights.push(ns / 1e6);
            }
        }
        weights
    }

    fn stack(&mut self, lock: &Lock, row: Row) -> StackHandle {
        let functions = functions(self.profile, row.place);
        let mut stack = None;
        for name in [plain(&lock.name)].iter().chain(functions.iter().rev()) {
            let frame = Frame::Label(self.file.intern_string(name));
            let frame = FrameInfo { frame, category_pair: self.category, flags: FrameFlags::empty() };
            let frame = self.file.intern_frame(self.thread, frame);
            stack = Some(self.file.intern_stack(self.thread, stack, frame));
        }
        stack.expect("the lock's name is a frame")
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::toy;
    use std::collections::BTreeMap;

    /// ms by stack, the outermost first, of a thread.
    fn weights(thread: &Value) -> BTreeMap<String, f64> {
        let number = |value: &Value| value.as_u64().map(|number| number as usize);
        let name = |frame: usize| {
            let func = number(&thread["frameTable"]["func"][frame]).unwrap();
            let string = number(&thread["funcTable"]["name"][func]).unwrap();
            thread["stringArray"][string].as_str().unwrap().to_string()
        };
        let mut sums = BTreeMap::new();
        for sample in 0..number(&thread["samples"]["length"]).unwrap() {
            let mut stack = number(&thread["samples"]["stack"][sample]);
            let mut names = Vec::new();
            while let Some(place) = stack {
                names.insert(0, name(number(&thread["stackTable"]["frame"][place]).unwrap()));
                stack = number(&thread["stackTable"]["prefix"][place]);
            }
            *sums.entry(names.join(";")).or_default() += thread["samples"]["weight"][sample].as_f64().unwrap();
        }
        sums
    }

    #[test]
    fn weights_are_the_waiting_below_each_lock() {
        let json: Value = serde_json::from_str(&firefox(&toy())).unwrap();
        let threads = json["threads"].as_array().unwrap();
        let thread = |pid: &str, name: &str| {
            let is_it = |thread: &&Value| thread["pid"] == pid && thread["name"] == name;
            threads.iter().find(is_it).unwrap_or_else(|| panic!("{pid} has no thread {name}"))
        };
        let waiters = thread("100", "waiters");
        let sums = weights(waiters);
        let expected = [
            ("LOGGER;[unknown stack]", 0.001),
            ("LOGGER;main;worker;<log::File as log::Sink>::write", 0.5),
            ("queue.mutex+8;main;worker;pop;queue_lock", 0.1),
            ("queue.mutex+8;main;worker;push;queue_lock", 2.0),
        ];
        assert_eq!(sums.len(), expected.len(), "{sums:?}");
        for (stack, ms) in expected {
            assert!((sums[stack] - ms).abs() < 1e-9, "{stack}: {sums:?}");
        }
        assert_eq!(waiters["samples"]["weightType"], "tracing-ms");
        let total = |thread: &Value| weights(thread).values().sum::<f64>();
        assert!((total(thread("100", "holders")) - total(waiters)).abs() < 1e-9, "all waiting is charged");
        assert_eq!(weights(thread("101", "waiters")).len(), 1);
    }

    /// The timelines of the toy have a quarter of the waiting in their first slice and the rest in the third.
    #[test]
    fn samples_lie_in_the_slices_of_the_timeline() {
        let json: Value = serde_json::from_str(&firefox(&toy())).unwrap();
        let samples = &json["threads"][0]["samples"];
        let mut at = 0.0;
        let mut sums = [0.0; 4];
        for (step, weight) in
            samples["timeDeltas"].as_array().unwrap().iter().zip(samples["weight"].as_array().unwrap())
        {
            at += step.as_f64().unwrap();
            // A sample stands at the end of its part of the slice.
            sums[((at - 1e-3) / 500.0) as usize] += weight.as_f64().unwrap();
        }
        assert!((sums[0] * 3.0 - sums[2]).abs() < 1e-9 && sums[1] == 0.0 && sums[3] == 0.0, "{sums:?}");
    }

    #[test]
    fn a_long_profile_stays_openable() {
        let mut profile = toy();
        profile.locks[0].timeline.amounts = vec![1.0; 100_000];
        let slices = Slices::of(&profile);
        assert_eq!((slices.joined, slices.length), (3, 1.5));
        let parts = slices.parts(&profile.locks[0]);
        assert_eq!(parts.len(), 33_334);
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
