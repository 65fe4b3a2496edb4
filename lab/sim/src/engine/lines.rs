//! Cache lines: who has a copy, and what an access costs.
//!
//! A line is owned by one core (which may write it), or shared by some, or at its home, where no core has it. Requests of
//! cores that cannot do with what they have reach the line's order point after half of the way, wait there for those
//! before them, are granted one at a time, and keep the line busy for a while. The rules have the names under which
//! the tests know them: L1 to L3 for loads, W1 to W4 for writes, F1 for read-modify-writes done at the home, F2 for those of
//! them that nobody waits for. A1 and A2 stand in [`ahead`](super::ahead).

use crate::machine::{MAX_CORES, Machine};

/// No core.
const NOBODY: u16 = u16::MAX;
/// No request.
pub(crate) const NONE: u32 = u32::MAX;

const WORDS: usize = MAX_CORES as usize / 64;

/// A set of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cores([u64; WORDS]);

impl Cores {
    #[inline]
    fn only(core: u32) -> Self {
        let mut cores = Cores::default();
        cores.insert(core);
        cores
    }

    #[inline]
    fn insert(&mut self, core: u32) {
        self.0[core as usize / 64] |= 1 << (core % 64);
    }

    #[inline]
    fn has(&self, core: u32) -> bool {
        self.0[core as usize / 64] & 1 << (core % 64) != 0
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(index as u32 * 64 + bit)
            })
        })
    }
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    owner: u16,
    /// Nobody, while there is an owner.
    sharers: Cores,
    /// When the next request can be granted.
    pub(crate) busy_until: u64,
    /// Requests that have reached the order point and wait, in a list through the requests themselves.
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The hardware thread that wrote it last.
    writer: u32,
    /// Who owned it last before its owner, and until when.
    owned: (u16, u64),
    /// How many were touched first before this one.
    pub(crate) number: u64,
    /// Where it was touched first.
    base: u64,
}

/// What an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads.
    Load,
    /// Writes without reading.
    Store,
    /// Reads and writes at once.
    Rmw,
    /// The same, or reads only; costs the same either way, but is never done at the home.
    CompareExchange,
}

impl Access {
    /// Whether it is a read-modify-write, be it one that fails.
    #[inline]
    pub(crate) fn is_rmw(self) -> bool {
        matches!(self, Access::Rmw | Access::CompareExchange)
    }
}

/// What a request that is not a hit costs, by the state of the line as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestCost {
    /// From the core to the order point, and the same back.
    pub(crate) half_ps: u64,
    /// How long the line is busy with it once it is granted.
    pub(crate) busy_ps: u64,
    /// The core that it comes from, for the timeline.
    pub(crate) from: Option<u32>,
    /// Whether it is done at the home, and the core gets no copy (F1).
    pub(crate) is_far: bool,
}

impl Line {
    /// A line that nobody has touched: at its home.
    fn new() -> Self {
        Line {
            owner: NOBODY,
            sharers: Cores::default(),
            busy_until: 0,
            first: NONE,
            last: NONE,
            writer: NONE,
            owned: (NOBODY, 0),
            number: 0,
            base: 0,
        }
    }

    /// Whether `core` can do the access with what it has (L1, W1).
    #[inline]
    pub(crate) fn hits(&self, core: u32, access: Access) -> bool {
        self.owner == core as u16 || (access == Access::Load && self.sharers.has(core)) || self.is_alone(core)
    }

    /// Whether others wait for the line: then the core that has it loses it with what it is at, and mostly cannot write
    /// it again (W4).
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.first != NONE
    }

    /// Until when `core` owned it, as far as is known; 0 if it is not.
    pub(crate) fn owned_until(&self, core: u32) -> u64 {
        if self.owned.0 == core as u16 { self.owned.1 } else { 0 }
    }

    /// Whether `core` is the only one with a copy, be it not written yet.
    #[inline]
    fn is_alone(&self, core: u32) -> bool {
        self.sharers.has(core) && self.sharers == Cores::only(core)
    }

    /// The line has been written by a core that [hits](Line::hits) it.
    #[inline]
    pub(crate) fn write_hit(&mut self, core: u32) {
        self.owner = core as u16;
        self.sharers = Cores::default();
    }

    /// A hardware thread has the line for an access. Whether the other one of its core has written it since.
    #[inline]
    pub(crate) fn used_by(&mut self, cpu: u32, access: Access, sibling: Option<u32>) -> bool {
        let is_siblings = sibling == Some(self.writer);
        if access != Access::Load {
            self.writer = cpu;
        }
        is_siblings
    }

    fn is_at_home(&self) -> bool {
        self.owner == NOBODY && self.sharers == Cores::default()
    }

    /// What an access by `core` costs that does not hit; `rmw_ps` is what the core takes for a read-modify-write.
    pub(crate) fn way(&self, machine: &Machine, core: u32, access: Access, rmw_ps: u64) -> RequestCost {
        match access {
            Access::Load => self.way_of_load(machine, core),
            Access::Rmw if machine.memory.far_atomics.is_some() => far(machine),
            Access::Store => self.way_of_write(machine, core, 0),
            Access::Rmw | Access::CompareExchange => self.way_of_write(machine, core, rmw_ps),
        }
    }

    fn way_of_load(&self, machine: &Machine, core: u32) -> RequestCost {
        let memory = &machine.memory;
        if self.owner != NOBODY {
            let from = u32::from(self.owner);
            let d = machine.distance(from, core);
            let busy_ps = d * u64::from(memory.read_owned) / 1000;
            return RequestCost { half_ps: d / 2, busy_ps, from: Some(from), is_far: false };
        }
        let nearest = self.sharers.iter().min_by_key(|&sharer| (machine.distance(sharer, core), sharer));
        let d = nearest.map_or_else(|| home(machine, core), |from| machine.distance(from, core));
        let d = d * u64::from(memory.llc) / 1000;
        RequestCost { half_ps: d / 2, busy_ps: u64::from(memory.read_shared_ps), from: nearest, is_far: false }
    }

    fn way_of_write(&self, machine: &Machine, core: u32, rmw_ps: u64) -> RequestCost {
        let memory = &machine.memory;
        let (mut d, mut from, mut others) = (0, None, 0u64);
        if self.owner != NOBODY {
            (d, from) = (machine.distance(self.owner.into(), core), Some(u32::from(self.owner)));
        } else {
            for sharer in self.sharers.iter().filter(|&sharer| sharer != core) {
                others += 1;
                if from.is_none() || machine.distance(sharer, core) > d {
                    (d, from) = (machine.distance(sharer, core), Some(sharer));
                }
            }
            if self.is_at_home() {
                d = home(machine, core);
            }
        }
        if self.sharers.has(core) {
            d = d * u64::from(memory.upgrade) / 1000;
        }
        d += others.saturating_sub(1) * u64::from(memory.per_sharer_ps);
        let busy_ps = (d / 2 + rmw_ps).max(d * u64::from(memory.write) / 1000);
        RequestCost { half_ps: d / 2, busy_ps, from, is_far: false }
    }

    /// The access is granted to `core` at `now`, by a request that took `way`: who has the line now.
    pub(crate) fn grant(&mut self, core: u32, access: Access, way: &RequestCost, now: u64) {
        if self.owner != NOBODY {
            self.owned = (self.owner, now);
        }
        if way.is_far {
            (self.owner, self.sharers) = (NOBODY, Cores::default());
        } else if access == Access::Load {
            if self.owner != NOBODY {
                self.sharers = Cores::only(self.owner.into());
                self.owner = NOBODY;
            }
            self.sharers.insert(core);
        } else {
            self.write_hit(core);
        }
        self.check();
    }

    /// One owner, or some that share: never both.
    fn check(&self) {
        debug_assert!(self.owner == NOBODY || self.sharers == Cores::default(), "owned and shared: {self:?}");
    }
}

/// F1.
fn far(machine: &Machine) -> RequestCost {
    let far = machine.memory.far_atomics.expect("asked only where there are far atomics");
    RequestCost { half_ps: u64::from(far.round_trip_ps) / 2, busy_ps: far.busy_ps.into(), from: None, is_far: true }
}

/// From a core to the home of a line that no core has, and back: as far as another core is, in the middle.
fn home(machine: &Machine, core: u32) -> u64 {
    let far = machine.memory.far_atomics.map(|far| u64::from(far.round_trip_ps));
    far.unwrap_or_else(|| machine.distance(core, (core + 1) % machine.cores))
}

/// Marks, in the table, a line whose words are gone.
const GONE: u32 = 1 << 31;

/// All lines that were touched, by address; numbered in the order of their first touch.
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// First touches so far.
    n_touched: u64,
    /// Open addressing; a key is the address of the line and one, zero is free. With each its line, which may be [`GONE`].
    table: Vec<(u64, u32)>,
    shift: u32,
}

impl Lines {
    pub(crate) fn new(line_bytes: u32) -> Self {
        Lines { lines: Vec::new(), n_touched: 0, table: vec![(0, 0); 1024], shift: line_bytes.trailing_zeros() }
    }

    #[inline]
    pub(crate) fn get(&mut self, line: u32) -> &mut Line {
        &mut self.lines[line as usize]
    }

    /// The line of an address, if it was touched.
    pub(crate) fn known(&self, address: u64) -> Option<u32> {
        Some(self.table[self.place_of(address)?].1 & !GONE)
    }

    /// A word at the address is gone: what comes to lie there next, as a record on a stack may or may not, is a first touch.
    /// Or how compilers lay out stacks would decide what a run gives.
    pub(crate) fn forget(&mut self, address: u64) {
        if let Some(place) = self.place_of(address) {
            self.table[place].1 |= GONE;
        }
    }

    fn place_of(&self, address: u64) -> Option<usize> {
        let key = (address >> self.shift) + 1;
        let mut place = self.place(key);
        // Ends at a free place, of which there are always as many as lines.
        while self.table[place].0 != 0 {
            if self.table[place].0 == key {
                return Some(place);
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        None
    }

    /// What tells a word from all others, and does not depend on where it happens to lie: which first touch its line was,
    /// and how far it is from the word that was touched then.
    pub(crate) fn name_of(&mut self, address: u64, core: u32) -> u64 {
        let line = self.find(address, core);
        let Line { number, base, .. } = *self.get(line);
        number << 16 | (address.wrapping_sub(base) & 0xffff)
    }

    /// The line of an address. One that is touched for the first time is handed to `core` as it is.
    #[inline]
    pub(crate) fn find(&mut self, address: u64, core: u32) -> u32 {
        let key = (address >> self.shift) + 1;
        let mut place = self.place(key);
        loop {
            let (found, line) = self.table[place];
            if found == key {
                return if line & GONE == 0 { line } else { self.renew(place, address, core) };
            }
            if found == 0 {
                return self.add(place, address, core);
            }
            place = (place + 1) & (self.table.len() - 1);
        }
    }

    #[inline]
    fn place(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.table.len() - 1)
    }

    /// Hands a line that was gone to `core`, unless somebody still wants what was there.
    #[cold]
    fn renew(&mut self, place: usize, address: u64, core: u32) -> u32 {
        let line = self.table[place].1 & !GONE;
        self.table[place].1 = line;
        let new = self.first_touch(address, core);
        let old = self.get(line);
        if !old.is_wanted() {
            *old = new;
        }
        line
    }

    fn first_touch(&mut self, base: u64, core: u32) -> Line {
        self.n_touched += 1;
        Line { sharers: Cores::only(core), number: self.n_touched, base, ..Line::new() }
    }

    #[cold]
    fn add(&mut self, place: usize, address: u64, core: u32) -> u32 {
        let line = self.lines.len() as u32;
        let new = self.first_touch(address, core);
        self.lines.push(new);
        self.table[place] = ((address >> self.shift) + 1, line);
        if self.lines.len() * 2 > self.table.len() {
            self.grow();
        }
        line
    }

    fn grow(&mut self) {
        let bigger = vec![(0, 0); self.table.len() * 2];
        for (key, line) in std::mem::replace(&mut self.table, bigger).into_iter().filter(|(key, _)| *key != 0) {
            let mut place = self.place(key);
            while self.table[place].0 != 0 {
                place = (place + 1) & (self.table.len() - 1);
            }
            self.table[place] = (key, line);
        }
    }
}
