//! From events to what is drawn: slices with both ends, arrows, instants, counts.

use super::header::Place;
use super::life::{SchedState, ThreadState};
use ondeck_core::Step;
use ondeck_sim::machine::Machine;
use ondeck_sim::timeline::{Event, ThreadEvent};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Picoseconds as nanoseconds. Rounding keeps the order of times.
pub(super) fn ns(ps: u64) -> u64 {
    (ps + 500) / 1000
}

/// A row of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Track {
    /// A hardware thread.
    Cpu(u32),
    /// A thread.
    Thread(u32),
}

/// Something to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) at_ns: u64,
    pub(super) what: TraceItem,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TraceItem {
    Slice {
        track: Track,
        name: Name,
        for_ns: u64,
    },
    /// An end of an arrow, within the slice that is there. Both ends have the name, which is that of the slice of the first
    /// one, and the number in common.
    Arrow {
        track: Track,
        name: Name,
        id: u64,
        is_end: bool,
    },
    Instant {
        thread: u32,
        step: Step,
    },
    Counts(Counts),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// The thread that runs on a hardware thread.
    Thread(u32),
    /// What a thread is at.
    Life(ThreadState),
    Pauses,
    Wake,
    /// A line that a core waits for.
    Fetch(u32),
    /// A line that a core gives away, or gets.
    Line(u32),
}

/// How many threads are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) awake: u32,
    pub(super) dugout: u32,
    /// Ready to run, without a CPU.
    pub(super) ready: u32,
}

/// A thread, and since when it is at what it is at.
#[derive(Clone, Copy, Debug)]
struct ThreadTrack {
    life: ThreadState,
    since_ns: u64,
    /// When its last pauses ended.
    paused_ns: u64,
    /// Where it has run last.
    cpu: u32,
}

/// What a hardware thread does.
#[derive(Clone, Copy, Debug, Default)]
struct CpuTrack {
    /// The thread that runs.
    taken_by: Option<u32>,
    /// Since when it runs, or nobody does.
    since_ns: u64,
    /// When the last line came.
    fetched_ns: u64,
}

/// Where a line was last seen to go.
#[derive(Clone, Copy, Debug)]
struct LineLocation {
    cpu: u32,
    since_ns: u64,
}

pub(super) struct Draft<'a> {
    machine: &'a Machine,
    entries: Vec<Entry>,
    actors: Vec<ThreadTrack>,
    seats: Vec<CpuTrack>,
    homes: HashMap<u32, LineLocation>,
    counts: Counts,
    n_arrows: u64,
}

impl<'a> Draft<'a> {
    pub(super) fn new(machine: &'a Machine) -> Self {
        Draft {
            machine,
            entries: Vec::new(),
            actors: Vec::new(),
            seats: vec![CpuTrack::default(); machine.cpus.len()],
            homes: HashMap::new(),
            counts: Counts::default(),
            n_arrows: 0,
        }
    }

    /// The next event.
    pub(super) fn take(&mut self, event: &Event) {
        let (now, thread) = (ns(event.at_ps), event.thread);
        let n = self.actors.len().max(thread as usize + 1);
        self.actors.resize(n, ThreadTrack { life: ThreadState::NOT_BEGUN, since_ns: now, paused_ns: now, cpu: 0 });
        match event.what {
            ThreadEvent::Paused { for_ps } => self.paused(thread, ns(event.at_ps.saturating_sub(for_ps)), now),
            ThreadEvent::LineMoved { line, from_core, asked_ps, .. } => {
                self.line_moved(thread, line, from_core, ns(asked_ps), now);
            }
            ThreadEvent::Step(step) => self.push(now, TraceItem::Instant { thread, step }),
            ThreadEvent::Woken { by: Some(by) } => {
                self.change(thread, &event.what, now);
                self.woken(thread, by, now);
            }
            _ => self.change(thread, &event.what, now),
        }
    }

    /// Everything, in the order in which it is written, with what is still going on ended.
    pub(super) fn finish(mut self, end_ns: u64) -> Vec<Entry> {
        for thread in 0..self.actors.len() as u32 {
            self.end_life(thread, end_ns);
        }
        for cpu in 0..self.seats.len() as u32 {
            self.leave(cpu, end_ns);
        }
        self.entries.sort_by_key(|entry| (entry.at_ns, entry.what.rank()));
        self.entries
    }

    fn push(&mut self, at_ns: u64, what: TraceItem) {
        self.entries.push(Entry { at_ns, what });
    }

    /// Slices without extent are left out: a viewer cannot show them.
    fn slice(&mut self, track: Track, name: Name, from_ns: u64, to_ns: u64) {
        if from_ns < to_ns {
            self.push(from_ns, TraceItem::Slice { track, name, for_ns: to_ns - from_ns });
        }
    }

    fn change(&mut self, thread: u32, what: &ThreadEvent, now: u64) {
        let before = self.actors[thread as usize];
        let life = before.life.after(what);
        if life == before.life {
            return;
        }
        if life.being != before.life.being {
            if let SchedState::Running { cpu } = before.life.being {
                self.leave(cpu, now);
            }
            if let SchedState::Running { cpu } = life.being {
                self.leave(cpu, now);
                self.seats[cpu as usize] =
                    CpuTrack { taken_by: Some(thread), since_ns: now, ..self.seats[cpu as usize] };
            }
        }
        self.end_life(thread, now);
        let cpu = if let SchedState::Running { cpu } = life.being { cpu } else { before.cpu };
        self.actors[thread as usize] = ThreadTrack { life, since_ns: now, cpu, ..before };
        self.count(before.life, life, now);
    }

    fn end_life(&mut self, thread: u32, now: u64) {
        let ThreadTrack { life, since_ns, .. } = self.actors[thread as usize];
        if life.place().is_some() {
            self.slice(Track::Thread(thread), Name::Life(life), since_ns, now);
        }
    }

    fn leave(&mut self, cpu: u32, now: u64) {
        let seat = self.seats[cpu as usize];
        if let Some(thread) = seat.taken_by {
            self.slice(Track::Cpu(cpu), Name::Thread(thread), seat.since_ns, now);
            self.seats[cpu as usize] = CpuTrack { taken_by: None, since_ns: now, ..seat };
        }
    }

    fn count(&mut self, before: ThreadState, after: ThreadState, now: u64) {
        let of = |life: ThreadState| Counts {
            awake: u32::from(life.place() == Some(Place::Awake)),
            dugout: u32::from(life.place() == Some(Place::Dugout)),
            ready: u32::from(life.being == SchedState::Ready),
        };
        let (less, more) = (of(before), of(after));
        if less == more {
            return;
        }
        self.counts.awake = self.counts.awake + more.awake - less.awake;
        self.counts.dugout = self.counts.dugout + more.dugout - less.dugout;
        self.counts.ready = self.counts.ready + more.ready - less.ready;
        self.push(now, TraceItem::Counts(self.counts));
    }

    fn paused(&mut self, thread: u32, from_ns: u64, now: u64) {
        // What began before the thread was at what it is at would stick out of its slice.
        let actor = &mut self.actors[thread as usize];
        let from_ns = from_ns.max(actor.since_ns).max(actor.paused_ns);
        actor.paused_ns = now;
        self.slice(Track::Thread(thread), Name::Pauses, from_ns, now);
    }

    /// An arrow from the waker to the slice that has just begun.
    fn woken(&mut self, thread: u32, by: u32, now: u64) {
        self.slice(Track::Thread(by), Name::Wake, now, now + 1);
        self.arrow(Name::Wake, (Track::Thread(by), now), (Track::Thread(thread), now));
    }

    /// The wait for the line, and an arrow from the hardware thread that had it. Arrows need slices to begin and end in;
    /// these last for a nanosecond, so that none of them can overlap another slice in part.
    fn line_moved(&mut self, thread: u32, line: u32, from_core: u32, asked_ns: u64, now: u64) {
        let cpu = self.actors[thread as usize].cpu;
        let seat = self.seats[cpu as usize];
        let arrival = now.saturating_sub(1);
        // Stores are under way while their thread goes on: of waits that overlap, the later one begins when the earlier
        // one ends, and none sticks out of the slice that it is in.
        let asked_ns = asked_ns.max(seat.fetched_ns).max(seat.since_ns);
        self.slice(Track::Cpu(cpu), Name::Fetch(line), asked_ns, now);
        self.seats[cpu as usize].fetched_ns = now;
        let (giver, had_since) = self.giver(line, from_core);
        let departure = had_since.max(asked_ns).min(arrival);
        let ends = [(Track::Cpu(giver), departure), (Track::Cpu(cpu), arrival)];
        ends.iter().for_each(|(track, at)| self.slice(*track, Name::Line(line), *at, at + 1));
        self.arrow(Name::Line(line), ends[0], ends[1]);
        self.homes.insert(line, LineLocation { cpu, since_ns: now });
    }

    /// The hardware thread of the core that had the line, and since when. Where it was not seen to get there, it is the
    /// first of the core.
    fn giver(&self, line: u32, core: u32) -> (u32, u64) {
        let is_of_core = |cpu: u32| self.machine.cpus[cpu as usize].core == core;
        match self.homes.get(&line) {
            Some(home) if is_of_core(home.cpu) => (home.cpu, home.since_ns),
            _ => {
                let first = (0..self.machine.cpus.len() as u32).find(|cpu| is_of_core(*cpu));
                (first.expect("each core has a hardware thread"), 0)
            }
        }
    }

    fn arrow(&mut self, name: Name, from: (Track, u64), to: (Track, u64)) {
        self.n_arrows += 1;
        for ((track, at), is_end) in [(from, false), (to, true)] {
            self.push(at, TraceItem::Arrow { track, name, id: self.n_arrows, is_end });
        }
    }
}

impl TraceItem {
    /// What is written first of what begins at one time: slices, those that last longer before those within them, and
    /// only then what needs a slice to be there.
    fn rank(&self) -> (u8, Reverse<u64>) {
        match self {
            TraceItem::Slice { for_ns, .. } => (0, Reverse(*for_ns)),
            TraceItem::Arrow { is_end, .. } => (1 + u8::from(*is_end), Reverse(0)),
            TraceItem::Instant { .. } => (3, Reverse(0)),
            TraceItem::Counts(_) => (4, Reverse(0)),
        }
    }
}
