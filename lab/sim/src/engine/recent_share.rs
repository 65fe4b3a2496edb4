//! Shares of the time, of which what was long ago counts less.

/// After this time what was before counts half, as in Linux.
const HALF_LIFE_PS: u64 = 32_000_000_000;
/// Parts of one that a share of the time is kept in. Steps are as short as a microsecond, and each has to count.
const PARTS: u32 = 32;
/// Parts of one that a step is reckoned in, as a part of the half life.
const STEP_PARTS: u32 = 24;
/// All of the time, in thousandths.
pub(super) const ALL: u64 = 1000;

/// Which part of the time a CPU was busy of late, or a thread could run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentShare {
    /// In so many parts: [`PARTS`].
    share: u64,
    until: u64,
}

impl RecentShare {
    /// So it was from the last call on.
    pub(super) fn was(&mut self, is_so: bool, until: u64) {
        let ps = until.saturating_sub(self.until);
        self.until = self.until.max(until);
        let all = 1 << PARTS;
        self.share = if is_so { all - after(all - self.share, ps) } else { after(self.share, ps) };
    }

    /// In thousandths.
    pub(super) fn now(mut self, is_so: bool, now: u64) -> u64 {
        self.was(is_so, now);
        (self.share * ALL) >> PARTS
    }
}

/// What is left of `share` after `ps`. Within a half life, 2^-x is 1 - 0.693 x + 0.193 x^2, to two thousandths.
fn after(share: u64, ps: u64) -> u64 {
    let n_halves = ps / HALF_LIFE_PS;
    let x = ((ps % HALF_LIFE_PS) << STEP_PARTS) / HALF_LIFE_PS;
    let lost = (693 * x - ((193 * x * x) >> STEP_PARTS)) / 1000;
    let left = share - ((share * lost) >> STEP_PARTS);
    left >> n_halves.min(PARTS.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    /// Busy for a second, then for `n` steps of `step` busy or not, in turn.
    fn after_steps(n: u64, step: u64, busy_in: impl Fn(u64) -> bool) -> u64 {
        let mut recently = RecentShare::default();
        recently.was(true, 1000 * MS);
        for at in 1..=n {
            recently.was(busy_in(at), 1000 * MS + at * step);
        }
        recently.now(true, 0)
    }

    #[test]
    fn half_is_forgotten_in_a_half_life_however_long_the_steps_are() {
        for step in [MS / 1000, MS / 100, MS, 8 * MS, 32 * MS] {
            let left = after_steps(32 * MS / step, step, |_| false);
            assert!((494..=506).contains(&left), "{left} in steps of {step}");
        }
        assert!((62..=63).contains(&after_steps(1, 128 * MS, |_| false)));
        assert_eq!(after_steps(1, 100_000 * MS, |_| false), 0);
    }

    #[test]
    fn busy_a_quarter_of_the_time_is_a_quarter_in_short_steps() {
        assert!((245..=255).contains(&after_steps(1_000_000, MS / 1000, |at| at % 4 == 0)));
    }
}
