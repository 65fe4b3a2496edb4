//! A small profile that has everything once, for tests.

use crate::profile::{
    Bar, Cause, Condition, Dropped, Frame, Histogram, Lock, Origin, Process, ProcessEnd, Profile, Site, Spot, State,
    Stuck, Timeline, VERSION, WaitObject,
};

/// A profile that grows.
pub(crate) struct Builder(pub(crate) Profile);

impl Builder {
    /// One process, `seconds` long, nothing seen yet.
    pub(crate) fn new(seconds: f64) -> Self {
        Builder(Profile {
            version: VERSION,
            command: vec!["./server".into(), "--port".into(), "80 80".into()],
            started_at: 1_700_000_000.5,
            seconds,
            cores: 4,
            lock: "glibc".into(),
            rate: 1,
            processes: vec![process(100, "/usr/bin/server")],
            ..Profile::default()
        })
    }

    /// A stack of these functions, the innermost first; those in parentheses were inlined into the next.
    pub(crate) fn stack(&mut self, functions: &[&str]) -> u32 {
        let numbers = functions.iter().map(|function| self.frame(function)).collect();
        self.0.stacks.push(numbers);
        self.0.stacks.len() as u32 - 1
    }

    fn frame(&mut self, text: &str) -> u32 {
        let function = text.trim_matches(['(', ')']);
        let (is_inlined, is_named) = (text.starts_with('('), !function.contains('+'));
        if let Some(known) = self.0.frames.iter().position(|frame| frame.function == function) {
            return known as u32;
        }
        let address = 0x1000 + 16 * self.0.frames.len() as u64;
        let (file, line) =
            if is_named { ("src/server.c".to_string(), 3 + self.0.frames.len() as u32) } else { Default::default() };
        let module = if is_named { "/usr/bin/server" } else { "/lib/libmystery.so.1" };
        let (function, module) = (function.to_string(), module.to_string());
        let build_id = "00112233445566778899aabbccddeeff00112233".to_string();
        self.0.frames.push(Frame { function, module, file, line, address, build_id, is_inlined, is_named });
        self.0.frames.len() as u32 - 1
    }

    /// A lock with waits of one length, at one stack, all charged to another.
    pub(crate) fn lock(&mut self, name: &str, waits: f64, each_ns: f64, waiter: u32, holder: u32) -> &mut Lock {
        let (ns, length) = (waits * each_ns, each_ns as u64);
        let site = |stack, count, ns| vec![Site { stack, count, ns }];
        let bar = Bar { from: length, to: length, count: waits };
        self.0.locks.push(Lock {
            name: name.to_string(),
            address: 0x7f00_0000_0000 + 64 * self.0.locks.len() as u64,
            acquisitions: 10.0 * waits,
            waits,
            wait_ns: ns,
            longest_ns: 3 * length,
            wait_histogram: Histogram(vec![bar]),
            hold_ns: 2.0 * ns,
            most_waiting: 3,
            threads: 4,
            members: 1,
            waiters: site(waiter, waits, ns),
            holders: site(holder, waits, ns),
            takers: site(holder, 10.0 * waits, 2.0 * ns),
            timeline: Timeline { slice: 0.5, amounts: vec![ns / 4.0, 0.0, ns * 0.75] },
            ..Lock::default()
        });
        self.0.locks.last_mut().expect("one was pushed")
    }
}

pub(crate) fn process(pid: u32, program: &str) -> Process {
    Process { pid, parent: 1, program: program.into(), from: 0.0, to: 2.0, ended: ProcessEnd::Exit }
}

/// Two processes, three locks, a condition variable; inlined and unnamed functions, stacks and holders that are missing.
pub(crate) fn toy() -> Profile {
    let mut builder = Builder::new(2.0);
    builder.0.rate = 16;
    builder.0.processes.push(process(101, "/usr/bin/child"));
    let push = builder.stack(&["(queue_lock)", "push", "worker", "main"]);
    let pop = builder.stack(&["(queue_lock)", "pop", "worker", "main"]);
    let log = builder.stack(&["<log::File as log::Sink>::write", "worker", "main"]);
    let odd = builder.stack(&["libmystery.so.1+0x1040", "main"]);
    let setup = builder.stack(&["queue_init", "main"]);
    let none = builder.stack(&[]);

    let queue = builder.lock("queue.mutex+8", 1000.0, 2_000.0, push, pop);
    queue.origin = Some(Origin { stack: setup, spot: Spot::Initialised });
    queue.causes = vec![Cause {
        state: State::OtherLock,
        stack: Some(pop),
        other: Some(WaitObject::Lock(1)),
        ns: 2_100_000.0,
        count: 1000.0,
        each_ns: 2000.0,
        ..Cause::default()
    }];
    // 100 waits of 1000 ns at a second place; 50,000 ns pass while the lock is free.
    queue.waits += 100.0;
    queue.wait_ns += 100_000.0;
    queue.waiters.push(Site { stack: pop, count: 100.0, ns: 100_000.0 });
    queue.wait_histogram.0.insert(0, Bar { from: 1000, to: 1000, count: 100.0 });
    queue.handing_on_ns = 50_000.0;
    queue.holders.push(Site { stack: log, count: 7.0, ns: 50_000.0 });

    let logger = builder.lock("LOGGER", 12.5, 40_000.0, log, log);
    logger.origin = Some(Origin { stack: log, spot: Spot::FirstSeen });
    // Of 2.5 waits the stacks are not known.
    logger.waits += 2.5;
    logger.wait_ns += 1000.0;
    logger.waiters.push(Site { stack: none, count: 1.0, ns: 400.0 });

    builder.lock("0x7f0000000080", 3.0, 500.0, odd, odd).process = 1;
    builder.0.conditions.push(Condition {
        name: "queue.filled".into(),
        address: 0x7f00_0000_1000,
        waits: 20.0,
        wait_ns: 1.5e9,
        longest_ns: 90_000_000,
        wait_histogram: Histogram(vec![Bar { from: 1 << 26, to: 1 << 27, count: 20.0 }]),
        waiters: vec![Site { stack: pop, count: 20.0, ns: 1.5e9 }],
        notifiers: vec![Site { stack: push, count: 20.0, ns: 0.0 }],
        ..Condition::default()
    });
    builder.0.stuck.push(Stuck { thread: 7, on: WaitObject::Lock(1), ns: 5000, stack: Some(pop), ..Stuck::default() });
    builder.0.dropped = Dropped { samples: 5, stacks: 1, locks: 0, processes: 0, nestings: 0 };
    builder.0.notes.push("waits are estimated".into());
    builder.0
}
