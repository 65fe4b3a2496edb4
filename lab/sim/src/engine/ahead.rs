//! What a core asks for ahead. While a line is on its way, the core looks at the code that follows, and asks for the lines
//! that this needs too; so several are under way at once.
//!
//! The simulator does not know the code that follows. It takes for known what a thread did the last time: which line it
//! missed next (A1), and whether it wrote a line that it had read (A2). It does so only within a short time after a line has
//! come, as a core sees a few hundred instructions. What a loop that polls waits for is not known ahead: the core expects
//! another turn of the loop.
//!
//! A machine whose cores look ahead by no time at all has none of this.

use super::lines::Access;

/// Lines of which a thread knows what followed.
const KNOWN: usize = 16;

/// No line. Lines have the numbers of their first touches here, which do not depend on where words lie.
const NO_LINE: u64 = 0;

/// How a request begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestStart {
    /// For how long it has been under way already.
    pub(crate) ahead_ps: u64,
    /// Whether a load brings the line for a write that follows.
    pub(crate) is_to_write: bool,
    /// Whether it is at the order point already: it went behind another one.
    pub(crate) is_there: bool,
}

/// A line that is missed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineMiss {
    pub(crate) line: u64,
    pub(crate) access: Access,
    /// Whether it is a load that follows a load of the same line.
    pub(crate) is_poll: bool,
    /// Until when the core owned it.
    pub(crate) owned_until: u64,
    pub(crate) clock: u64,
}

/// What followed when a thread missed a line.
#[derive(Clone, Copy)]
struct MissPattern {
    line: u64,
    next: u64,
    is_written: bool,
}

/// The first of the lines that are under way together.
#[derive(Clone, Copy)]
struct FirstMiss {
    line: u64,
    asked: u64,
    came: u64,
}

/// The line that a load has brought last, and that was not written since.
#[derive(Clone, Copy)]
struct LastLoad {
    line: u64,
    came: u64,
    /// Whether it was brought for a write.
    is_to_write: bool,
}

/// What a thread knows, and what it is at.
pub(crate) struct Lookahead {
    known: [MissPattern; KNOWN],
    first: Option<FirstMiss>,
    /// The line that was missed last.
    last: u64,
    read: Option<LastLoad>,
}

impl Lookahead {
    pub(crate) fn new() -> Self {
        let known = [MissPattern { line: NO_LINE, next: NO_LINE, is_written: false }; KNOWN];
        Lookahead { known, first: None, last: NO_LINE, read: None }
    }

    fn known(&mut self, line: u64) -> &mut MissPattern {
        let known = &mut self.known[line as usize % KNOWN];
        if known.line != line {
            *known = MissPattern { line, next: NO_LINE, is_written: false };
        }
        known
    }

    /// How the request for a line begins, with a core that looks ahead by `ahead_ps`.
    pub(crate) fn missed(&mut self, missed: LineMiss, ahead_ps: u64) -> RequestStart {
        let LineMiss { line, access, is_poll, owned_until, clock } = missed;
        let is_known = self.last != line && std::mem::replace(&mut self.known(self.last).next, line) == line;
        // What the core had when it asked for the first one, it did not ask for.
        let can_be =
            |first: &FirstMiss| first.line != line && owned_until < first.asked && clock < first.came + ahead_ps;
        self.first = self.first.filter(|first| is_known && can_be(first));
        let begun_ps = self.first.map_or(0, |first| clock - first.asked);
        if self.first.is_none() && !is_poll {
            self.first = Some(FirstMiss { line, asked: clock, came: clock });
        }
        let is_read = access == Access::Load && !is_poll;
        // Until it is written again.
        let is_to_write = is_read && std::mem::take(&mut self.known(line).is_written);
        self.last = line;
        self.read = is_read.then_some(LastLoad { line, came: clock, is_to_write });
        RequestStart { ahead_ps: begun_ps, is_to_write, is_there: false }
    }

    /// A line that was missed has come.
    pub(crate) fn came(&mut self, line: u64, now: u64) {
        if let Some(first) = self.first.as_mut().filter(|first| first.line == line) {
            first.came = now;
        }
        if let Some(read) = self.read.as_mut().filter(|read| read.line == line) {
            read.came = now;
        }
    }

    /// A line is written at `clock`: whether it was brought for that.
    #[inline]
    pub(crate) fn writes(&mut self, line: u64, clock: u64, ahead_ps: u64) -> bool {
        let Some(read) = self.read.take_if(|read| read.line == line) else { return false };
        let is_soon = clock < read.came + ahead_ps;
        self.known(line).is_written = is_soon;
        is_soon && read.is_to_write
    }

    /// The thread enters the kernel: beyond that, nothing is seen.
    pub(crate) fn ends(&mut self) {
        (self.first, self.read) = (None, None);
    }
}
