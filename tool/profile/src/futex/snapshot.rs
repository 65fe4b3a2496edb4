//! What was told until an instant, before anything in it has a name.

use super::FutexCollector;
use super::cells::Cells;
use crate::collect::Run;
use crate::profile::{Process, ProcessEnd};
use crate::symbols::{Module, Source};
use ondeck_futex::{Image, Wait, in_time};
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
    /// Of the images that have waited.
    modules: HashMap<usize, Vec<Module>>,
    /// The addresses of all stacks in it.
    stacks: HashMap<u32, Vec<u64>>,
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
        let tracer = &collector.tracer;
        let recent = collector.recent.as_ref().filter(|_| snapshot_from_ns.is_some());
        let cells = recent.unwrap_or(&collector.cells).clone();
        let cells = cells.with_likely_places(|stack| !tracer.stack(stack).is_empty());
        let waiting: Vec<Wait> = tracer.waiting(now_ns).collect();
        let (mut modules, mut stacks) = (HashMap::new(), HashMap::new());
        for (image, numbers) in spots(&cells, &waiting) {
            modules.entry(image).or_insert_with(|| tracer.images().get(image).map_or_else(Vec::new, modules_of));
            for number in numbers {
                stacks.entry(number).or_insert_with(|| tracer.stack(number).to_vec());
            }
        }
        FutexSnapshot {
            now_ns,
            snapshot_from_ns,
            cells,
            waiting,
            processes: tracer.images().iter().map(|image| collector.process(image, now_ns)).collect(),
            modules,
            stacks,
            lost: tracer.lost(),
            doubtful: tracer.doubtful(),
            cut_stacks: tracer.cut_stacks(),
            has_left_out_code: tracer.has_left_out_code(),
            period: tracer.period(),
            run: collector.run.clone(),
        }
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

    pub(super) fn stack(&self, number: u32) -> &[u64] {
        self.stacks.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// The images, and the stacks of each.
fn spots(cells: &Cells, waiting: &[Wait]) -> Vec<(usize, Vec<u32>)> {
    let of_cells = cells.iter().map(|((image, _, stack), cell)| {
        let wakers = cell.wakers.0.keys().map(|stack| stack.number);
        (*image, wakers.chain([*stack]).collect())
    });
    of_cells.chain(waiting.iter().map(|wait| (wait.image, vec![wait.stack]))).collect()
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
