//! Which of two kinds of runs was faster, and whether that is more than chance.

use ondeck_kit::stats::{mann_whitney, median};

/// What chance gives less often than so is no chance: the usual twentieth.
const ALPHA: f64 = 0.05;
/// A smaller ratio changes nothing for anybody, even where it is real.
const LEAST_RATIO: f64 = 1.02;
/// With fewer rounds no difference can show: of 4 runs and 2, chance puts all of one kind first or last in 2 cases of 15.
pub const ROUNDS_NEEDED: usize = 3;

/// What one round measured: the first kind twice, the second once. Less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// The kind that the other is compared with.
    pub before: [f64; 2],
    /// The other.
    pub after: f64,
}

/// What all rounds say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Median of the first kind.
    pub before: f64,
    /// Median of the second kind.
    pub after: f64,
    /// By what part two runs of the first kind differ within a round; the median.
    pub own: f64,
    /// What follows.
    pub outcome: Outcome,
}

/// Whether the second kind needs less than the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Less, beyond chance.
    Faster,
    /// More, beyond chance.
    Slower,
    /// Not more or less than runs of one kind differ, or by too little to matter.
    Same,
    /// See [`ROUNDS_NEEDED`].
    TooFew,
}

impl Comparison {
    /// How many times as much the larger median is as the smaller one; 1 where one of them is 0.
    pub fn ratio(&self) -> f64 {
        let (least, most) = (self.before.min(self.after), self.before.max(self.after));
        if least > 0.0 { most / least } else { 1.0 }
    }
}

/// Compares the medians. They differ if their ranks do, by more than two runs of the first kind do, by 2 % at least, and by
/// `least`: what is known to differ without a meaning, as the time that one kind takes to start.
///
/// `None` without rounds.
pub fn compare(rounds: &[Round], least: f64) -> Option<Comparison> {
    let before: Vec<f64> = rounds.iter().flat_map(|round| round.before).collect();
    let after: Vec<f64> = rounds.iter().map(|round| round.after).collect();
    let own: Vec<f64> = rounds.iter().map(|round| apart(round.before)).collect();
    let mut compared = Comparison {
        before: median(&before)?,
        after: median(&after)?,
        own: median(&own)?,
        outcome: if rounds.len() < ROUNDS_NEEDED { Outcome::TooFew } else { Outcome::Same },
    };
    let is_chance = mann_whitney(&before, &after).is_none_or(|p| p >= ALPHA);
    let is_small =
        compared.ratio() <= LEAST_RATIO.max(1.0 + compared.own) || (compared.after - compared.before).abs() < least;
    if compared.outcome == Outcome::Same && !is_chance && !is_small {
        compared.outcome = if compared.after < compared.before { Outcome::Faster } else { Outcome::Slower };
    }
    Some(compared)
}

/// By what part the larger exceeds the smaller.
fn apart([one, other]: [f64; 2]) -> f64 {
    let least = one.min(other);
    if least > 0.0 { one.max(other) / least - 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rounds: &[([f64; 2], f64)]) -> Comparison {
        let rounds: Vec<Round> =
            rounds.iter().map(|(before, after)| Round { before: *before, after: *after }).collect();
        compare(&rounds, 0.0).unwrap()
    }

    #[test]
    fn a_clear_difference_shows_in_three_rounds_on_either_side() {
        let faster = of(&[([3.7, 3.8], 2.1), ([3.9, 3.7], 2.0), ([3.8, 3.8], 2.2)]);
        assert_eq!((faster.before, faster.after, faster.outcome), (3.8, 2.1, Outcome::Faster));
        assert!((faster.own - (3.8 / 3.7 - 1.0)).abs() < 1e-9 && (faster.ratio() - 3.8 / 2.1).abs() < 1e-9);
        let slower = of(&[([2.1, 2.2], 3.8), ([2.0, 2.1], 3.7), ([2.1, 2.1], 3.9)]);
        assert_eq!(slower.outcome, Outcome::Slower);
    }

    #[test]
    fn one_spoilt_run_hides_no_difference_and_makes_none() {
        let spoilt = of(&[([3.7, 9.9], 2.1), ([3.9, 3.7], 2.0), ([3.8, 3.8], 2.2)]);
        assert_eq!(spoilt.outcome, Outcome::Faster);
        let same = of(&[([3.7, 3.8], 9.9), ([3.9, 3.7], 3.8), ([3.8, 3.8], 3.7)]);
        assert_eq!(same.outcome, Outcome::Same);
    }

    #[test]
    fn runs_that_overlap_are_the_same_though_their_medians_differ() {
        let overlapping = of(&[([3.0, 4.0], 2.5), ([2.4, 3.9], 3.5), ([3.8, 2.6], 2.4)]);
        assert_eq!(overlapping.outcome, Outcome::Same);
    }

    #[test]
    fn less_than_two_runs_of_one_kind_differ_by_is_the_same() {
        // All of the second kind are below all of the first, so it is no matter of ranks.
        assert_eq!(of(&[([4.0, 5.0], 3.9), ([4.1, 5.1], 3.8), ([5.0, 4.0], 3.9)]).outcome, Outcome::Same);
    }

    #[test]
    fn less_than_two_per_cent_is_the_same_however_quiet_the_machine_is() {
        let rounds = |after| of(&[([1.0, 1.0], after), ([1.0, 1.0], after), ([1.0, 1.0], after)]).outcome;
        assert_eq!([rounds(0.985), rounds(0.97), rounds(1.03)], [Outcome::Same, Outcome::Faster, Outcome::Slower]);
    }

    #[test]
    fn a_start_that_takes_longer_is_no_difference() {
        let rounds = [Round { before: [0.001; 2], after: 0.002 }; 3];
        let outcome = |least| compare(&rounds, least).unwrap().outcome;
        assert_eq!([outcome(0.0009), outcome(0.0011)], [Outcome::Slower, Outcome::Same]);
    }

    #[test]
    fn too_few_rounds_say_nothing() {
        assert_eq!(of(&[([9.0, 9.0], 1.0)]).outcome, Outcome::TooFew);
        let two = of(&[([9.0, 9.0], 1.0), ([9.0, 9.0], 1.0)]);
        assert_eq!((two.outcome, two.ratio()), (Outcome::TooFew, 9.0));
        assert_eq!(compare(&[], 0.0), None);
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        let nothing = of(&[([0.0, 0.0], 0.0), ([0.0, 0.0], 0.0), ([0.0, 0.0], 0.0)]);
        assert_eq!((nothing.ratio(), nothing.own, nothing.outcome), (1.0, 0.0, Outcome::Same));
        assert_eq!(of(&[([0.0, 0.0], 1.0), ([0.0, 0.0], 1.0), ([0.0, 0.0], 1.0)]).outcome, Outcome::Same);
    }
}
