//! What a core asks for ahead. While a line is on its way, the core looks at the code that follows, and asks for the lines
//! that this needs too; so several are under way at once.
//!
//! The simulator does not know the code that follows. It takes for known what a thread did the last time: which line it
//! missed next (A1), and whether it wrote a line that it had read (A2). It does so only within a short time after a line has
//! come, as a core sees a few hundred instructions. What a loop that polls waits for is not known ahead: the core expects
//! another turn of the loop.
//!
//! A machine whose cores look ahead by no time at all has none of this.

use super::lines::{Access, NONE};

/// Lines of which a thread knows what followed.
const KNOWN: usize = 16;

/// How a request begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    /// For how long it has been under way already.
    pub(crate) ahead_ps: u64,
    /// Whether a load brings the line for a write that follows.
    pub(crate) is_to_write: bool,
    /// Whether it is at the order point already: it went behind another one.
    pub(crate) is_there: bool,
}

/// What followed when a thread missed a line.
#[derive(Clone, Copy)]
struct Known {
    line: u32,
    next: u32,
    is_written: bool,
}

/// What a thread knows, and what it is at.
pub(crate) struct Ahead {
    known: [Known; KNOWN],
    /// When it asked for the first of the lines that are under way together, and for which.
    first: Option<(u64, u32)>,
    /// The line that was missed last, and when it had come.
    last: u32,
    came: u64,
    /// The line that a load has brought last, if it was not written since.
    read: u32,
}

impl Ahead {
    pub(crate) fn new() -> Self {
        let known = [Known { line: NONE, next: NONE, is_written: false }; KNOWN];
        Ahead { known, first: None, last: NONE, came: 0, read: NONE }
    }

    fn known(&mut self, line: u32) -> &mut Known {
        let known = &mut self.known[line as usize % KNOWN];
        if known.line != line {
            *known = Known { line, next: NONE, is_written: false };
        }
        known
    }

    /// A line is missed at `clock`: how its request begins, with a core that looks ahead by `ahead_ps`. `is_poll` is a load
    /// that follows a load of the same line.
    pub(crate) fn missed(&mut self, line: u32, access: Access, is_poll: bool, clock: u64, ahead_ps: u64) -> Start {
        let is_soon = clock < self.came + ahead_ps;
        let is_known = std::mem::replace(&mut self.known(self.last).next, line) == line;
        self.first = self.first.filter(|&(_, first)| is_soon && is_known && first != line);
        let begun_ps = self.first.map_or(0, |(asked, _)| clock - asked);
        if self.first.is_none() && !is_poll {
            self.first = Some((clock, line));
        }
        let is_read = access == Access::Load && !is_poll;
        // Until it is written again.
        let is_to_write = is_read && std::mem::take(&mut self.known(line).is_written);
        (self.last, self.came, self.read) = (line, clock, if is_read { line } else { NONE });
        Start { ahead_ps: begun_ps, is_to_write, is_there: false }
    }

    /// A line that was missed has come.
    pub(crate) fn came(&mut self, now: u64) {
        self.came = now;
    }

    /// A line is written at `clock`.
    #[inline]
    pub(crate) fn writes(&mut self, line: u32, clock: u64, ahead_ps: u64) {
        if self.read == line {
            self.known(line).is_written = clock < self.came + ahead_ps;
            self.read = NONE;
        }
    }
}
