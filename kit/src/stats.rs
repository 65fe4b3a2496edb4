//! The statistics of small samples: a handful of rounds, a few outliers, no known distribution.
//!
//! Everything here is about order, not about means: one round that a neighbour on the machine spoilt moves a mean as
//! far as it likes, and a median not at all.

/// Above this probability that chance alone did it, a difference is not stated: the usual twentieth.
pub const ALPHA: f64 = 0.05;

/// The middle of the values; the mean of the two middle ones if their number is even. `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value that the part `q` of the values does not exceed, interpolated linearly between its two neighbours.
///
/// # Panics
/// If `q` is not in 0..=1.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "a quantile is a part of the whole, not {q}");
    let sorted = sorted(values);
    let last = sorted.len().checked_sub(1)?;
    let place = q * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64))
}

/// The `n`-th root of the product of `n` values. `None` if there are none, or one is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan() || *value <= 0.0) {
        return None;
    }
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    Some((logs / values.len() as f64).exp())
}

/// Two groups of values are told apart by a gap of at least this ratio.
const GAP: f64 = 1.5;

/// Whether three values or more, none below zero, fall into two groups: between two neighbours lies a gap that is wider
/// than both groups together, by their ratios, and not narrower than 1.5.
pub fn is_bistable(values: &[f64]) -> bool {
    let sorted = sorted(values);
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return false };
    let ratio = |low: f64, high: f64| if low > 0.0 { high / low } else { f64::INFINITY };
    let widest =
        sorted.windows(2).filter(|pair| pair[1] > pair[0]).map(|pair| ratio(pair[0], pair[1])).fold(1.0, f64::max);
    sorted.len() > 2 && widest >= GAP && (widest.is_infinite() || widest * widest > high / low)
}

/// Values of which some are near each other, and the others near each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// How many.
    pub n: usize,
    /// Their median.
    pub median: f64,
}

/// Two groups of two values or more, if there is half of the whole range between them, and their medians differ by 15 %.
pub fn two_groups(values: &[f64]) -> Option<[Group; 2]> {
    const FEWEST: usize = 2;
    const APART: f64 = 1.15;
    let sorted = sorted(values);
    let gap = |at: &usize| sorted[*at] - sorted[*at - 1];
    let widest = (1..sorted.len()).max_by(|one, other| gap(one).total_cmp(&gap(other)))?;
    let (low, high) = sorted.split_at(widest);
    let is_wide = 2.0 * gap(&widest) >= sorted[sorted.len() - 1] - sorted[0];
    let [low, high] = [Group { n: low.len(), median: median(low)? }, Group { n: high.len(), median: median(high)? }];
    let are_two = is_wide && low.n.min(high.n) >= FEWEST && high.median >= APART * low.median;
    are_two.then_some([low, high])
}

/// Where a median lies with a stated confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The narrowest symmetric pair of order statistics that holds the true median with at least `confidence`.
///
/// Of n values, each lies below the true median with probability 1/2, whatever the distribution; so the k-th smallest
/// and the k-th largest fail to enclose it with the probability of at most k-1 heads in n tosses, twice. `None` if
/// there are too few values for any pair: 6 are needed for 0.95.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    let mut best = None;
    // Probability of exactly `k` heads in `n` tosses, and of at most `k`. The former as a logarithm: that of no head in
    // 1,075 tosses is too small for a number, and all others are made from it.
    let mut ln_exactly = n as f64 * 0.5_f64.ln();
    let mut at_most = ln_exactly.exp();
    for k in 0..n / 2 {
        if 1.0 - 2.0 * at_most < confidence {
            break;
        }
        best = Some(Interval { low: sorted[k], high: sorted[n - 1 - k] });
        ln_exactly += ((n - k) as f64 / (k + 1) as f64).ln();
        at_most += ln_exactly.exp();
    }
    best
}

/// With more pairs of a value of one sample and a value of the other than this, the exact distribution of U gives way to
/// the normal approximation: the time for the exact one grows with the square of their number. Where p is below 0.1, the
/// error is then below 0.002 for 10 or more values in each sample, below 0.005 for 4 or more.
const EXACT_PAIRS: usize = 400;

/// The Mann-Whitney U test, two-sided: how probable a difference of ranks at least this large is if both samples came
/// from one distribution. `None` if either is empty.
///
/// Exact, ties included, for up to 20 values in each (or 400 pairs of values); the normal approximation with corrections
/// for ties and continuity beyond.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let ranks = doubled_ranks(a, b);
    let sum_a: usize = ranks[..a.len()].iter().sum();
    if a.len() * b.len() <= EXACT_PAIRS {
        Some(exact_p(&ranks, a.len(), sum_a))
    } else {
        Some(normal_p(&ranks, a.len(), sum_a))
    }
}

/// The smallest p-value that samples of these sizes can give: all of one above all of the other.
pub fn least_p(n: usize, m: usize) -> f64 {
    let larger = n.max(m);
    let ways: f64 = (1..=n.min(m)).map(|i| (larger + i) as f64 / i as f64).product();
    (2.0 / ways).min(1.0)
}

/// How many rounds it takes for a difference to be able to show, where each has so many values of the first kind and one of
/// the second.
pub fn rounds_needed(n_first: usize) -> usize {
    (1..).find(|n| least_p(n_first * n, *n) <= ALPHA).unwrap_or(usize::MAX)
}

/// A smaller ratio changes nothing for anybody, even where it is real.
const LEAST_RATIO: f64 = 1.02;

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
    /// The groups into which the runs of the first kind fall, if they do.
    pub groups: Option<[Group; 2]>,
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
    /// No difference can show: of 4 runs and 2, chance puts all of one kind first or last in 2 cases of 15.
    TooFew,
}

impl Comparison {
    /// How many times as much the larger median is as the smaller one; 1 where one of them is 0.
    pub fn ratio(&self) -> f64 {
        let (least, most) = (self.before.min(self.after), self.before.max(self.after));
        if least > 0.0 { most / least } else { 1.0 }
    }

    /// In so many rounds, chance does not put all runs of the second kind into one of the groups.
    pub fn rounds_against_groups(&self) -> Option<usize> {
        let [low, high] = self.groups?;
        let larger = low.n.max(high.n) as f64 / (low.n + high.n) as f64;
        Some((ALPHA.ln() / larger.ln()).ceil() as usize)
    }
}

/// Compares the medians. They differ if their ranks do, by more than two runs of the first kind do, by 2 % at least, and by
/// `least`: what is known to differ without a meaning, as the time that one kind takes to start.
///
/// `None` without rounds.
pub fn compare_rounds(rounds: &[Round], least: f64) -> Option<Comparison> {
    let before: Vec<f64> = rounds.iter().flat_map(|round| round.before).collect();
    let after: Vec<f64> = rounds.iter().map(|round| round.after).collect();
    let own: Vec<f64> = rounds.iter().map(|round| apart(round.before)).collect();
    let groups = two_groups(&before);
    let is_chance = mann_whitney(&before, &after)? > ALPHA;
    let is_able = least_p(before.len(), after.len()) <= ALPHA;
    let [before, after, own] = [median(&before)?, median(&after)?, median(&own)?];
    let compared = Comparison { before, after, own, groups, outcome: Outcome::Same };
    let is_small = compared.ratio() <= LEAST_RATIO.max(1.0 + own) || (after - before).abs() < least;
    let outcome = match () {
        () if !is_able => Outcome::TooFew,
        () if is_chance || is_small => Outcome::Same,
        () if after < before => Outcome::Faster,
        () => Outcome::Slower,
    };
    Some(Comparison { outcome, ..compared })
}

/// By what part the larger exceeds the smaller.
fn apart([one, other]: [f64; 2]) -> f64 {
    let least = one.min(other);
    if least > 0.0 { one.max(other) / least - 1.0 } else { 0.0 }
}

/// Ranks of all values in the joint order, those of `a` first, times two so that the mean rank of a tie is an integer.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let sorted = sorted(&all);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let not_above = sorted.partition_point(|other| other <= value);
        below + not_above + 1
    };
    all.iter().map(rank).collect()
}

/// Of all ways to choose `n_a` of the ranks, the part whose sum is as far out as `sum_a`, on either side.
fn exact_p(ranks: &[usize], n_a: usize, sum_a: usize) -> f64 {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    let n_b = ranks.len() - n_a;
    // Sums of the least so many.
    let mut least = vec![0];
    least.extend(ranks.iter().scan(0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    // ways[k][e]: number of ways to choose k of the ranks seen so far with a sum that exceeds the least by e. In the end
    // that is 2 n_a n_b at most, without ties (the ranks are doubled); with ties it is less.
    let mut ways = vec![vec![0.0_f64; 2 * n_a * n_b + 1]; n_a + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        // At most n_b can be left out, so fewer than this lead nowhere.
        let least_k = (seen + 1).saturating_sub(n_b).max(1);
        for k in (least_k..=n_a.min(seen + 1)).rev() {
            let (without, with) = ways.split_at_mut(k);
            let most = least[seen] - least[seen + 1 - k];
            let without = &without[k - 1][..=most - least[k - 1]];
            let with = &mut with[0][rank - ranks[k - 1]..];
            with.iter_mut().zip(without).for_each(|(with, without)| *with += without);
        }
    }
    let excess = sum_a - least[n_a];
    let all: f64 = ways[n_a].iter().sum();
    let lower: f64 = ways[n_a][..=excess].iter().sum();
    let upper: f64 = ways[n_a][excess..].iter().sum();
    (2.0 * lower.min(upper) / all).min(1.0)
}

/// The same from the normal distribution with U's mean and variance.
fn normal_p(ranks: &[usize], n_a: usize, sum_a: usize) -> f64 {
    let n = ranks.len() as f64;
    let (n_a, n_b) = (n_a as f64, n - n_a as f64);
    let u = sum_a as f64 / 2.0 - n_a * (n_a + 1.0) / 2.0;
    let mean = n_a * n_b / 2.0;
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let sizes = sorted.chunk_by(|a, b| a == b).map(|tie| tie.len() as f64);
    let ties: f64 = sizes.map(|size| size.powi(3) - size).sum();
    let variance = n_a * n_b / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((u - mean).abs() - 0.5).max(0.0) / variance.sqrt();
    two_sided_normal(z)
}

/// Probability that a standard normal variable is farther from zero than `z`.
fn two_sided_normal(z: f64) -> f64 {
    // Simpson's rule on 0..z; at 500 intervals the error is far below the four digits that anybody prints.
    const INTERVALS: usize = 500;
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let z = z.min(10.0);
    let step = z / INTERVALS as f64;
    let inner: f64 = (1..INTERVALS).map(|i| density(i as f64 * step) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    let between = (density(0.0) + inner + density(z)) * step / 3.0;
    (1.0 - 2.0 * between).clamp(0.0, 1.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal to 9 digits.
    #[track_caller]
    fn close(a: Option<f64>, b: f64) {
        let a = a.expect("a value");
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn median_of_odd_even_none() {
        close(median(&[3.0, 1.0, 2.0]), 2.0);
        close(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn quantiles_interpolate() {
        let values = [10.0, 20.0, 30.0, 40.0, 50.0];
        close(quantile(&values, 0.0), 10.0);
        close(quantile(&values, 0.9), 46.0);
        close(quantile(&values, 1.0), 50.0);
    }

    #[test]
    fn two_groups_are_seen() {
        for values in [vec![1.0, 1.1, 3.0], vec![10.0, 30.0, 31.0, 11.0], vec![0.0, 5.0, 5.0]] {
            assert!(is_bistable(&values), "{values:?}");
        }
        // Two values; a gap below 1.5; values that are evenly far apart; nothing.
        for values in [vec![1.0, 3.0], vec![1.0, 1.0, 1.4], vec![1.0, 1.6, 2.6, 4.0], vec![0.0; 3], vec![]] {
            assert!(!is_bistable(&values), "{values:?}");
        }
    }

    #[test]
    fn groups_have_two_values_each_and_half_of_the_range_between_them() {
        let [low, high] = two_groups(&[2.61, 1.43, 1.44, 2.73, 1.46, 1.45]).expect("two groups");
        assert_eq!((low.n, high.n), (4, 2));
        close(Some(low.median), 1.445);
        close(Some(high.median), 2.67);
        // One that is spoilt; evenly spread; all close; too few; nothing.
        for values in
            [vec![1.0, 1.1, 1.1, 3.0], vec![1.0, 1.4, 1.8, 2.2], vec![1.0, 1.0, 1.1, 1.1], vec![1.0, 3.0], vec![]]
        {
            assert_eq!(two_groups(&values), None, "{values:?}");
        }
    }

    /// A run is in the larger group with 2/3: in 7 rounds all are with 0.059, in 8 with 0.039.
    #[test]
    fn more_rounds_are_needed_for_a_larger_group() {
        let compared = of(&[([1.4, 1.5], 1.4), ([2.7, 2.6], 2.6), ([1.4, 1.5], 2.6)]);
        assert_eq!(compared.rounds_against_groups(), Some(8));
        assert_eq!(of(&[([1.4, 1.5], 1.4), ([2.7, 2.6], 2.6)]).rounds_against_groups(), Some(5));
        assert_eq!(of(&[([1.4, 1.5], 1.4); 3]).rounds_against_groups(), None);
    }

    #[test]
    fn geometric_mean_by_hand() {
        close(geometric_mean(&[2.0, 8.0]), 4.0);
        close(geometric_mean(&[1.0, 10.0, 100.0]), 10.0);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(geometric_mean(&[1.0, f64::NAN]), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    /// 5 values: 1 - 2/32 = 0.9375, too little. 6: 1 - 2/64 = 0.96875, the extremes. 9: 1 - 2 * 10/512 = 0.9609 for the
    /// second smallest and largest, 1 - 2 * 46/512 = 0.82 for the third.
    #[test]
    fn median_interval_by_hand() {
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(median_interval(&values[..5], 0.95), None);
        assert_eq!(median_interval(&values[..6], 0.95), Some(Interval { low: 1.0, high: 6.0 }));
        assert_eq!(median_interval(&values, 0.95), Some(Interval { low: 2.0, high: 8.0 }));
        assert_eq!(median_interval(&[], 0.95), None);
    }

    /// Of 10,000 tosses, at most 4901 are heads with the probability 0.0244, at most 4902 with 0.0256. One toss more than
    /// the smallest number can hold the probability of no head in: 1,075.
    #[test]
    fn median_interval_of_many_values() {
        let interval = |n: u32| median_interval(&(0..n).map(f64::from).collect::<Vec<f64>>(), 0.95);
        assert_eq!(interval(10_000), Some(Interval { low: 4901.0, high: 5098.0 }));
        assert_eq!(interval(1074), Some(Interval { low: 504.0, high: 569.0 }));
        assert_eq!(interval(1075), Some(Interval { low: 504.0, high: 570.0 }));
        assert_eq!(interval(1076), Some(Interval { low: 505.0, high: 570.0 }));
    }

    /// All of one below all of the other is 1 way of C(6,3) = 20 on either side; one swap makes it 2 of 20.
    #[test]
    fn mann_whitney_three_against_three() {
        close(mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1);
        close(mann_whitney(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]), 0.1);
        close(mann_whitney(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]), 0.2);
        close(mann_whitney(&[1.0, 4.0, 5.0], &[2.0, 3.0, 6.0]), 1.0);
    }

    /// C(8,4) = 70, so complete separation gives 2/70; U = 2 has 1+1+2 = 4 of 70 at or below it.
    #[test]
    fn mann_whitney_four_against_four() {
        close(mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]), 2.0 / 70.0);
        close(mann_whitney(&[1.0, 2.0, 3.0, 6.0], &[4.0, 5.0, 7.0, 8.0]), 8.0 / 70.0);
    }

    /// Ranks 1, 2.5 | 2.5, 4: of the 6 pairs of ranks, 1+2.5 (twice) are at most 3.5, so p = 2 * 2/6.
    #[test]
    fn mann_whitney_with_a_tie() {
        close(mann_whitney(&[1.0, 2.0], &[2.0, 3.0]), 2.0 / 3.0);
    }

    /// Every choice of 4 of 9 ranks, many of them tied, counted one by one.
    #[test]
    fn exact_p_is_the_count_of_all_choices() {
        let values = [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 5.0];
        let ranks = doubled_ranks(&values, &[]);
        let sum = |choice: u32| (0..9).filter(|i| choice >> i & 1 == 1).map(|i| ranks[i]).sum::<usize>();
        let sums: Vec<usize> = (0..1 << 9).filter(|choice: &u32| choice.count_ones() == 4).map(sum).collect();
        for observed in &sums {
            let part = |is_out: &dyn Fn(&usize) -> bool| {
                sums.iter().filter(|sum| is_out(sum)).count() as f64 / sums.len() as f64
            };
            let p = 2.0 * part(&|sum| sum <= observed).min(part(&|sum| sum >= observed));
            close(Some(exact_p(&ranks, 4, *observed)), p.min(1.0));
        }
    }

    #[test]
    fn mann_whitney_of_equal_values_says_nothing() {
        close(mann_whitney(&[5.0; 4], &[5.0; 4]), 1.0);
        close(mann_whitney(&[5.0; 40], &[5.0; 40]), 1.0);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }

    /// The approximation beside the exact count, just beyond where it is taken: for every U of samples without ties.
    #[test]
    fn the_normal_approximation_is_close_to_the_exact_count() {
        for (n, m, bound) in [(21, 20, 0.002), (10, 41, 0.002), (4, 101, 0.005)] {
            let ranks: Vec<usize> = (1..=n + m).map(|rank| 2 * rank).collect();
            for u in 0..=n * m {
                let sum = n * (n + 1) + 2 * u;
                let normal = normal_p(&ranks, n, sum);
                if normal > 0.12 {
                    continue;
                }
                let exact = exact_p(&ranks, n, sum);
                assert!(exact > 0.1 || (exact - normal).abs() < bound, "{n}, {m}, {u}: exact {exact}, normal {normal}");
            }
        }
    }

    /// Points of the normal distribution that every table has.
    #[test]
    fn normal_table() {
        for (z, p) in [(0.0, 1.0), (1.0, 0.317_310_508), (1.959_963_985, 0.05), (3.0, 0.002_699_796)] {
            assert!((two_sided_normal(z) - p).abs() < 1e-8, "z = {z}");
        }
    }

    #[test]
    fn three_or_four_rounds_are_needed_to_show_a_difference() {
        close(Some(least_p(3, 3)), 0.1);
        close(Some(least_p(4, 4)), 2.0 / 70.0);
        close(Some(least_p(2, 5)), 2.0 / 21.0);
        assert_eq!([rounds_needed(1), rounds_needed(2)], [4, 3]);
    }

    fn of(rounds: &[([f64; 2], f64)]) -> Comparison {
        let rounds: Vec<Round> =
            rounds.iter().map(|(before, after)| Round { before: *before, after: *after }).collect();
        compare_rounds(&rounds, 0.0).unwrap()
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
        let outcome = |least| compare_rounds(&rounds, least).unwrap().outcome;
        assert_eq!([outcome(0.0009), outcome(0.0011)], [Outcome::Slower, Outcome::Same]);
    }

    #[test]
    fn too_few_rounds_say_nothing() {
        assert_eq!(of(&[([9.0, 9.0], 1.0)]).outcome, Outcome::TooFew);
        let two = of(&[([9.0, 9.0], 1.0), ([9.0, 9.0], 1.0)]);
        assert_eq!((two.outcome, two.ratio()), (Outcome::TooFew, 9.0));
        assert_eq!(compare_rounds(&[], 0.0), None);
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        let nothing = of(&[([0.0, 0.0], 0.0), ([0.0, 0.0], 0.0), ([0.0, 0.0], 0.0)]);
        assert_eq!((nothing.ratio(), nothing.own, nothing.outcome), (1.0, 0.0, Outcome::Same));
        assert_eq!(of(&[([0.0, 0.0], 1.0), ([0.0, 0.0], 1.0), ([0.0, 0.0], 1.0)]).outcome, Outcome::Same);
    }
}
