//! What is to be recorded. Asked of the environment, or written by an observer. Used by `files`, `control` and `hooks`.

use core::ffi::CStr;
use ondeck_core::kernel;

/// What is to be recorded, and where: asked of the environment once, as a program may change that, or ordered by an
/// observer, which writes it as it lies in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RecordOptions {
    /// One of so many acquisitions is looked at.
    pub(crate) rate: u64,
    /// The length of a file, in MB.
    pub(crate) max_mb: u64,
    /// What charges and waits may cost, in millionths of the time of a core; 0 if all holds are charged.
    pub(crate) budget: u64,
    /// Whether it is noted which locks a thread has while it takes another one: 0 or 1.
    pub(crate) order: u64,
    /// Up to a zero.
    pub(crate) directory: [u8; Self::LONGEST],
}

impl RecordOptions {
    /// A path is not longer, with its end.
    pub const LONGEST: usize = 3072;
    /// Names a directory for recordings; there is one file for each process.
    pub const DIRECTORY: &'static CStr = c"ONDECK_RECORD";
    /// Names the rate.
    pub const RATE: &'static CStr = c"ONDECK_RECORD_RATE";
    /// Names the length of a file.
    pub const MAX_MB: &'static CStr = c"ONDECK_RECORD_MAX_MB";
    /// Names what sampled charges may cost, in millionths of the time of a core; 0 if all holds are charged.
    pub const BUDGET: &'static CStr = c"ONDECK_RECORD_BUDGET";
    /// Set to 1 to have it noted which locks a thread has while it takes another one.
    pub const ORDER: &'static CStr = c"ONDECK_RECORD_ORDER";
    /// Unless the user says otherwise.
    pub const DEFAULT_RATE: u64 = 1000;
    /// Unless the user says otherwise.
    pub const DEFAULT_MAX_MB: u64 = 64;
    /// Unless the user says otherwise: a hundredth of a core.
    pub const DEFAULT_BUDGET: u64 = 10_000;
    /// Zeros.
    pub(crate) const NONE: Self =
        RecordOptions { rate: 0, max_mb: 0, budget: 0, order: 0, directory: [0; Self::LONGEST] };
    /// A budget is not more.
    pub const WHOLE_CORE: u64 = 1_000_000;

    /// What the environment asks for; `None` if that is nothing.
    pub fn of_environment() -> Option<Self> {
        // A program with more rights than who has started it writes no files for them.
        // SAFETY: only reads what the kernel has told this process.
        if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
            return None;
        }
        let directory = kernel::variable(Self::DIRECTORY)?.to_bytes();
        let given = |name, default| number(name).unwrap_or(default);
        let rate = given(Self::RATE, Self::DEFAULT_RATE);
        let (max_mb, budget) = (given(Self::MAX_MB, Self::DEFAULT_MAX_MB), given(Self::BUDGET, Self::DEFAULT_BUDGET));
        let options = Self::new(directory, rate, max_mb, budget)?;
        Some(if given(Self::ORDER, 0) == 0 { options } else { options.with_order() })
    }

    /// Of a directory, a rate, a length in MB and a budget in millionths; each is brought to what is possible. `None` if the
    /// directory's path is empty or too long.
    pub fn new(directory: &[u8], rate: u64, max_mb: u64, budget: u64) -> Option<Self> {
        if directory.is_empty() || directory.len() >= Self::LONGEST {
            return None;
        }
        let mut options = RecordOptions { rate, max_mb, budget, order: 0, directory: [0; Self::LONGEST] };
        options.directory[..directory.len()].copy_from_slice(directory);
        options.make_possible();
        Some(options)
    }

    /// The same, and it is noted which locks a thread has while it takes another one.
    #[must_use]
    pub fn with_order(mut self) -> Self {
        self.order = 1;
        self
    }

    /// Brings each number to what is possible.
    pub(crate) fn make_possible(&mut self) {
        self.rate = self.rate.clamp(1, u32::MAX.into());
        self.max_mb = self.max_mb.clamp(1, 1 << 14);
        self.budget = self.budget.min(Self::WHOLE_CORE);
        self.order = self.order.min(1);
        self.directory[Self::LONGEST - 1] = 0;
    }

    /// Whether each hold is charged for what was waited for it; else a sample of them. Who records each acquisition wants
    /// all.
    pub(crate) fn is_exact(&self) -> bool {
        self.budget == 0 || self.rate == 1
    }

    /// The bytes that an observer writes.
    pub fn as_bytes(&self) -> &[u8] {
        let place = (&raw const *self).cast::<u8>();
        // SAFETY: numbers without gaps between them, as long as this.
        unsafe { core::slice::from_raw_parts(place, size_of::<Self>()) }
    }
}

fn number(name: &CStr) -> Option<u64> {
    kernel::variable(name)?.to_str().ok()?.parse().ok()
}
