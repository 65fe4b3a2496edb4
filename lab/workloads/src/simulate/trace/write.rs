//! The JSON of what was drafted, entry by entry.

use super::draft::{Counts, Entry, Name, TraceItem, Track};
use super::header::{FIRST_THREAD, Header, MARKER, Place, Subject, THREADS};
use ondeck_sim::machine::Machine;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Number of the group of tracks beside that of the threads. Viewers take them for processes.
const CPUS: u32 = 1;
/// Numbers of its tracks begin here: no two are the same, and none is that of a group, which viewers take for the first
/// thread of a process.
const FIRST_CPU: u32 = 101;

pub(super) fn file(
    out: &mut impl Write,
    header: &Header,
    machine: &Machine,
    n_threads: u32,
    entries: &[Entry],
) -> io::Result<()> {
    write!(out, "{{\"otherData\":")?;
    other_data(out, header)?;
    write!(out, ",\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    names(out, header, machine, n_threads, entries)?;
    let mut last_counts = None;
    for (index, entry) in entries.iter().enumerate() {
        // Of several counts at one time, the last one holds.
        if let TraceItem::Counts(_) = entry.what {
            let is_outdated = entries
                .get(index + 1)
                .is_some_and(|next| next.at_ns == entry.at_ns && matches!(next.what, TraceItem::Counts(_)));
            if is_outdated || last_counts == Some(entry.what) {
                continue;
            }
            last_counts = Some(entry.what);
        }
        one(out, entry)?;
    }
    if header.is_cut {
        let ts = header.end_us;
        write!(out, ",\n{{\"ph\":\"i\",\"s\":\"g\",\"pid\":{THREADS},\"tid\":{FIRST_THREAD},\"ts\":{ts},")?;
        write!(out, "\"name\":\"the record ends here, the run did not\"}}")?;
    }
    out.write_all(b"\n]}\n")
}

/// What the file says of itself.
fn other_data(out: &mut impl Write, Header { subject, end_us, is_cut }: &Header) -> io::Result<()> {
    let Subject { machine, workload, lock, threads, seed, command } = subject;
    let [kind, machine, workload, lock] = [MARKER, machine, workload, lock].map(|text| json!(text));
    write!(out, "{{\"kind\":{kind},\"machine\":{machine},\"workload\":{workload},\"lock\":{lock}")?;
    write!(out, ",\"threads\":{threads},\"seed\":{seed}")?;
    if !command.is_empty() {
        write!(out, ",\"command\":{}", json!(command))?;
    }
    write!(out, ",\"end_us\":{},\"is_cut\":{is_cut}}}", json!(end_us))
}

/// What the tracks are called, in which order they stand.
fn names(
    out: &mut impl Write,
    header: &Header,
    machine: &Machine,
    n_threads: u32,
    entries: &[Entry],
) -> io::Result<()> {
    let subject = &header.subject;
    let groups = [
        (THREADS, format!("{}, {}, {} threads", subject.lock, subject.workload, subject.threads)),
        (CPUS, format!("simulated {}", machine.name)),
    ];
    for (index, (pid, name)) in groups.into_iter().enumerate() {
        let named = json!({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}});
        let sorted = json!({"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": index}});
        write!(out, "{}\n{named},\n{sorted}", if index == 0 { "" } else { "," })?;
    }
    let used: BTreeSet<u32> = entries.iter().filter_map(|entry| entry.what.cpu()).collect();
    let cpu_name = |cpu: u32| match machine.kinds.as_slice() {
        [_] => format!("CPU {cpu}"),
        _ => format!("CPU {cpu}, {}", machine.kind_of(cpu).name),
    };
    let cpus = used.into_iter().map(|cpu| (Track::Cpu(cpu), cpu_name(cpu)));
    let threads = (0..n_threads).map(|thread| (Track::Thread(thread), format!("thread {thread}")));
    for (track, name) in threads.chain(cpus) {
        let (pid, tid) = place(track);
        let named = json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}});
        let sorted =
            json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}});
        write!(out, ",\n{named},\n{sorted}")?;
    }
    Ok(())
}

fn place(track: Track) -> (u32, u32) {
    match track {
        Track::Cpu(cpu) => (CPUS, FIRST_CPU + cpu),
        Track::Thread(thread) => (THREADS, FIRST_THREAD + thread),
    }
}

fn one(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    // Microseconds with three digits after the point.
    let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
    let ts = us(entry.at_ns);
    let at = |track: Track| {
        let (pid, tid) = place(track);
        format!("\"pid\":{pid},\"tid\":{tid},\"ts\":{ts}")
    };
    match entry.what {
        TraceItem::Slice { track, name, for_ns } => {
            let (at, dur) = (at(track), us(for_ns));
            write!(out, ",\n{{\"ph\":\"X\",{at},\"dur\":{dur},\"cat\":\"{}\",\"name\":\"", name.category())?;
            name.write(out)?;
            out.write_all(b"\"}")
        }
        TraceItem::Arrow { track, name, id, is_end } => {
            let kind = if is_end { "\"ph\":\"f\",\"bp\":\"e\"" } else { "\"ph\":\"s\"" };
            write!(out, ",\n{{{kind},{},\"id\":{id},\"cat\":\"{}\",\"name\":\"", at(track), name.category())?;
            name.write(out)?;
            out.write_all(b"\"}")
        }
        TraceItem::Instant { thread, step } => {
            let at = at(Track::Thread(thread));
            let (lock, name) = (json!(step.lock), json!(step.name));
            write!(out, ",\n{{\"ph\":\"i\",\"s\":\"t\",{at},\"cat\":{lock},\"name\":{name}}}")
        }
        TraceItem::Counts(Counts { awake, dugout, ready }) => {
            write!(out, ",\n{{\"ph\":\"C\",\"pid\":{THREADS},\"ts\":{ts},\"name\":\"threads\",\"args\":")?;
            write!(out, "{{\"awake\":{awake},\"in the dugout\":{dugout},\"without a CPU\":{ready}}}}}")
        }
    }
}

impl TraceItem {
    /// The hardware thread on whose track this is.
    fn cpu(&self) -> Option<u32> {
        match self {
            TraceItem::Slice { track: Track::Cpu(cpu), .. } => Some(*cpu),
            _ => None,
        }
    }
}

impl Name {
    fn category(self) -> &'static str {
        match self {
            Name::Life(life) => life.place().map_or("gone", Place::name),
            Name::Thread(_) => "runs",
            Name::Pauses => "pauses",
            Name::Wake => "wake",
            Name::Fetch(_) => "fetch",
            Name::Line(_) => "line",
        }
    }

    fn write(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Name::Life(life) => out.write_all(life.words().concat().as_bytes()),
            Name::Thread(thread) => write!(out, "thread {thread}"),
            Name::Pauses => out.write_all(b"pauses"),
            Name::Wake => out.write_all(b"wake"),
            Name::Fetch(line) => write!(out, "waits for line {line}"),
            Name::Line(line) => write!(out, "line {line}"),
        }
    }
}
