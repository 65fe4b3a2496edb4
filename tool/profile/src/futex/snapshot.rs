//! What was told until an instant, before anything in it has a name.

use super::FutexCollector;
use super::cells::Cells;
use super::holds::{Charge, Charges, SeenAt};
use super::looks::Looked;
use crate::collect::Run;
use crate::collect::thread_times::Spending;
use crate::profile::{Process, ProcessEnd, ThreadTime};
use crate::symbols::{Module, Source};
use ondeck_futex::{Image, RunningPlace, Tracer, Wait, in_time};
use std::collections::HashMap;

/// What was told until an instant. It needs no tracer any more, so that [`Namer`](super::Namer) can make a profile of it
/// while the tracer goes on.
pub struct FutexSnapshot {
    pub(super) run: Run,
    pub(super) now_ns: u64,
    /// When it began, if that was at the last snapshot.
    pub(super) snapshot_from_ns: Option<u64>,
    /// Waits that were over.
    pub(super) cells: Cells,
    /// Waits that went on.
    pub(super) waiting: Vec<Wait>,
    /// By the number of the image.
    pub(super) processes: Vec<Process>,
    /// What was seen of who holds locks, by the number of the image.
    pub(super) charges: Vec<Charges>,
    /// What threads spent their time with, each with the number of its stack.
    pub(super) times: Vec<(ThreadTime, Option<u32>)>,
    pub(super) is_from_looks: bool,
    /// Of the images that have waited.
    modules: HashMap<usize, Vec<Module>>,
    /// The addresses of all stacks in it, by the image and their number.
    stacks: HashMap<(usize, u32), Vec<u64>>,
    /// Records and waits that are missing, and stacks that are cut.
    pub(super) lost: u64,
    pub(super) doubtful: u64,
    pub(super) cut_stacks: u64,
    pub(super) has_left_out_code: bool,
    /// One stack in so many was looked at.
    pub(super) period: u64,
}

impl FutexSnapshot {
    pub(super) fn of(collector: &FutexCollector, now_ns: u64, snapshot_from_ns: Option<u64>) -> FutexSnapshot {
        let is_recent = snapshot_from_ns.is_some();
        let cells = collector.recent.as_ref().filter(|_| is_recent).unwrap_or(&collector.cells).clone();
        let images: Vec<&Image> = collector.images().collect();
        let mut told = FutexSnapshot {
            run: collector.run.clone(),
            now_ns,
            snapshot_from_ns,
            cells,
            waiting: Vec::new(),
            processes: images.iter().map(|image| collector.process(image, now_ns)).collect(),
            charges: Vec::new(),
            times: Vec::new(),
            is_from_looks: false,
            modules: HashMap::new(),
            stacks: HashMap::new(),
            lost: 0,
            doubtful: 0,
            cut_stacks: 0,
            has_left_out_code: false,
            period: 1,
        };
        let looks = collector.looks.as_deref().unwrap_or_default();
        match &collector.tracer {
            Some(tracer) => told.add_of_kernel(tracer, looks, is_recent),
            None => told.add_of_looks(looks, is_recent),
        }
        for image in told.stacks.keys().map(|(image, _)| *image) {
            told.modules.entry(image).or_insert_with(|| images.get(image).map_or_else(Vec::new, |one| modules_of(one)));
        }
        told
    }

    fn add_of_kernel(&mut self, tracer: &Tracer, looks: &[Looked], is_recent: bool) {
        /// Told from the tracer's stacks.
        const SEEN: u32 = 1 << 31;
        let cells = std::mem::take(&mut self.cells);
        self.cells = cells.with_likely_places(|stack| !tracer.stack(stack).is_empty());
        self.waiting = tracer.waiting(self.now_ns).collect();
        self.add_seen(looks, SEEN, is_recent);
        self.add_stacks(|image, stack| match stack & SEEN {
            0 => tracer.stack(stack).to_vec(),
            _ => looks[image].times.addresses(stack & !SEEN),
        });
        (self.lost, self.doubtful, self.cut_stacks) = (tracer.lost(), tracer.doubtful(), tracer.cut_stacks());
        (self.has_left_out_code, self.period) = (tracer.has_left_out_code(), tracer.period());
    }

    fn add_of_looks(&mut self, looks: &[Looked], is_recent: bool) {
        self.is_from_looks = true;
        self.waiting = looks.iter().flat_map(Looked::waiting).collect();
        self.add_seen(looks, 0, is_recent);
        self.add_stacks(|image, stack| looks[image].times.in_time(stack).to_vec());
    }

    /// What the threads of each image spent their time with, and who held locks. `seen` is added to the numbers of stacks.
    fn add_seen(&mut self, looks: &[Looked], seen: u32, is_recent: bool) {
        let times = looks.iter().enumerate().flat_map(|(image, one)| one.times.told(is_recent, image as u32));
        let numbered = times.map(|(time, spending)| match spending {
            Spending::Sleeping(_, stack) | Spending::RunningAt(RunningPlace { stack, .. }) => {
                (time, Some(stack | seen))
            }
            _ => (time, None),
        });
        self.times = numbered.collect();
        let number = |((futex, place, (did, stack)), charge): ((u64, u64, SeenAt), Charge)| {
            ((futex, place, (did, stack.map(|stack| stack | seen))), charge)
        };
        let charged = looks.iter().map(|one| one.holds.charged(is_recent).into_iter().map(number).collect());
        self.charges = charged.collect();
    }

    /// The addresses of all stacks.
    fn add_stacks(&mut self, addresses: impl Fn(usize, u32) -> Vec<u64>) {
        let of_cells = self.cells.iter().flat_map(|((image, _, stack), cell)| {
            let wakers = cell.wakers.0.keys().map(|stack| stack.number);
            wakers.chain([*stack]).map(|stack| (*image, stack))
        });
        let of_waiting = self.waiting.iter().map(|wait| (wait.image, wait.stack));
        let of_times = self.times.iter().filter_map(|(time, stack)| Some((time.process as usize, (*stack)?)));
        let of_holders =
            self.charges.iter().enumerate().flat_map(|(image, charges)| {
                charges.keys().filter_map(move |(.., (_, stack))| Some((image, (*stack)?)))
            });
        let all = of_cells.chain(of_waiting).chain(of_times).chain(of_holders);
        self.stacks = all.map(|(image, stack)| ((image, stack), addresses(image, stack))).collect();
    }

    pub(super) fn modules(&self, image: usize) -> &[Module] {
        self.modules.get(&image).map_or(&[], Vec::as_slice)
    }

    /// An address that was seen just now, of [`in_time`]: what was loaded last is there.
    pub(super) fn now(&self, image: usize, address: u64) -> u64 {
        let range = |module: &Module| in_time::plain(module.start)..in_time::plain(module.end);
        let last = self.modules(image).iter().rfind(|module| range(module).contains(&address));
        last.map_or(address, |module| address | (module.start ^ in_time::plain(module.start)))
    }

    pub(super) fn stack(&self, image: usize, number: u32) -> &[u64] {
        self.stacks.get(&(image, number)).map_or(&[], Vec::as_slice)
    }
}

/// What is loaded, for who names functions: at addresses of [`in_time`].
pub(crate) fn modules_of(image: &Image) -> Vec<Module> {
    let module = |module: &ondeck_futex::Module| {
        let ondeck_futex::Module { path, bias, start, end, build_id, file, number, .. } = module.clone();
        let [start, end] = [start, end].map(|address| in_time::address(address, number));
        let bias = bias.wrapping_add(in_time::address(0, number));
        Module { path, bias, start, end, build_id, source: file.map_or_else(Source::Nowhere, Source::Open) }
    };
    image.modules.iter().map(module).collect()
}

impl FutexCollector {
    fn process(&self, image: &Image, now_ns: u64) -> Process {
        let since = |ns: u64| ns.saturating_sub(self.run.started_ns) as f64 / 1e9;
        Process {
            pid: image.pid,
            parent: image.parent,
            program: image.program.display().to_string(),
            from: since(image.from_ns),
            to: since(image.to_ns.unwrap_or(now_ns)),
            // The kernel's record of an end does not say how it came.
            ended: match image.to_ns {
                None if !self.has_ended => ProcessEnd::Running,
                Some(_) if self.killed != Some(image.pid) => ProcessEnd::Exit,
                None if self.killed.is_none() => ProcessEnd::Running,
                _ => ProcessEnd::Abruptly,
            },
        }
    }
}
