//! What the charts of the page show.

use crate::names::{middle, shown};
use crate::profile::{Histogram, Profile, Timeline};
use crate::words::waited;
use maud::{Markup, PreEscaped, html};
use ondeck_kit::Grid;
use ondeck_kit::drawing::{Interval, Intervals, Size, intervals_in_page};
use ondeck_kit::figure::{Axis, Scale, Unit};
use ondeck_kit::wording::{duration_ns, three_digits, whole};

/// More bars could not be told apart.
const MOST_BARS: usize = 120;
/// The locks that have a colour; the others share one.
const MOST_LOCKS: usize = 5;
/// The colour of the others.
const OTHERS: usize = 5;
/// Longer names leave no room for a legend.
const MOST_NAME: usize = 32;

fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.into(), unit, scale, ticks: Vec::new() }
}

/// Durations by length; bars that lie within a factor of two become one. `None` without any.
pub(super) fn histogram(of: &Histogram, what: &str, style: usize) -> Option<Intervals> {
    let mut bars: Vec<Interval> = Vec::new();
    for bar in of.0.iter().filter(|bar| bar.count > 0.0) {
        let (from, to) = (bar.from as f64, bar.to as f64);
        match bars.last_mut().filter(|last| to <= 2.0 * last.from) {
            Some(last) => (last.to, last.amounts[0]) = (to, last.amounts[0] + bar.count),
            None => bars.push(Interval { from, to, amounts: vec![bar.count] }),
        }
    }
    let most = bars.iter().reduce(|most, bar| if bar.amounts[0] > most.amounts[0] { bar } else { most })?;
    let part = |p| of.quantile(p).map(duration_ns).unwrap_or_default();
    let text = format!(
        "Half of the {what} are shorter than {}, a tenth is longer than {}, a hundredth than {}. Most are between {} and {}.",
        part(0.5),
        part(0.9),
        part(0.99),
        duration_ns(most.from),
        duration_ns(most.to),
    );
    Some(Intervals {
        text,
        x: axis("", Unit::Ns, Scale::Log),
        y: axis(what, Unit::Count, Scale::Linear),
        parts: vec![(what.to_string(), style)],
        bars,
        size: Size::Half,
    })
}

/// The waiting for the locks that were waited for longest, over time. `None` if nobody waited.
pub(super) fn over_time(profile: &Profile) -> Option<Intervals> {
    let waited = waited(profile);
    let (first, others) = waited.split_at(waited.len().min(MOST_LOCKS));
    let named = |(style, (_, lock)): (usize, &(usize, &crate::Lock))| (middle(&shown(&lock.name), MOST_NAME), style);
    let mut parts: Vec<(String, usize)> = first.iter().enumerate().map(named).collect();
    let mut rows: Vec<Vec<f64>> = first.iter().map(|(_, lock)| lock.timeline.amounts.clone()).collect();
    if !others.is_empty() {
        parts.push((format!("{} others", others.len()), OTHERS));
        let length = others.iter().map(|(_, lock)| lock.timeline.amounts.len()).max().unwrap_or(0);
        let at = |slice: usize| others.iter().filter_map(|(_, lock)| lock.timeline.amounts.get(slice)).sum();
        rows.push((0..length).map(at).collect());
    }
    let slice = waited.iter().map(|(_, lock)| lock.timeline.slice).find(|slice| *slice > 0.0)?;
    intervals(profile.seconds, slice, parts, &rows, Size::Whole)
}

/// The waiting for one lock over time. `None` if nobody waited.
pub(super) fn of_lock(profile: &Profile, timeline: &Timeline, style: usize) -> Option<Intervals> {
    let parts = vec![("waiting".to_string(), style)];
    intervals(profile.seconds, timeline.slice, parts, std::slice::from_ref(&timeline.amounts), Size::Strip)
}

/// Mean numbers of waiting threads from ns of waiting in each slice.
fn intervals(
    seconds: f64,
    slice: f64,
    parts: Vec<(String, usize)>,
    rows: &[Vec<f64>],
    size: Size,
) -> Option<Intervals> {
    let n_slices = rows.iter().map(Vec::len).max().unwrap_or(0);
    if slice <= 0.0 || n_slices == 0 {
        return None;
    }
    let together = n_slices.div_ceil(MOST_BARS);
    // The last bar may have fewer slices.
    let edge = |bar: usize| (bar * together).min(n_slices) as f64 * slice * 1e9;
    let threads = |row: &Vec<f64>, bar: usize| {
        let ns: f64 = row.iter().skip(bar * together).take(together).filter(|ns| **ns > 0.0).sum();
        ns / (edge(bar + 1) - edge(bar))
    };
    let interval = |bar: usize| Interval {
        from: edge(bar),
        to: edge(bar + 1),
        amounts: rows.iter().map(|row| threads(row, bar)).collect(),
    };
    let mut bars: Vec<Interval> = (0..n_slices.div_ceil(together)).map(interval).collect();
    let sum = |bar: &Interval| bar.amounts.iter().sum::<f64>();
    let most =
        bars.iter().reduce(|most, bar| if sum(bar) > sum(most) { bar } else { most }).filter(|bar| sum(bar) > 0.0)?;
    let text = format!(
        "The most threads waited from {} to {} after the start: {} on average.",
        duration_ns(most.from),
        duration_ns(most.to),
        three_digits(sum(most)),
    );
    // The run went on after the last wait.
    let end = bars.last().map_or(0.0, |bar| bar.to);
    if seconds * 1e9 > end {
        bars.push(Interval { from: end, to: seconds * 1e9, amounts: vec![0.0; rows.len()] });
    }
    Some(Intervals {
        text,
        x: axis("since the start", Unit::Ns, Scale::Linear),
        y: axis("threads waiting", Unit::Ratio, Scale::Linear),
        parts,
        bars,
        size,
    })
}

/// The chart. What is said of it follows its title for those who do not see it.
pub(super) fn drawn(of: &Intervals, title: &str) -> Markup {
    // Written by a library that escapes all text.
    PreEscaped(intervals_in_page(of, &format!("{title}. {}", of.text)))
}

/// The same in words and numbers.
pub(super) fn in_words(of: &Intervals, title: &str) -> Markup {
    html! {
        details.data {
            summary { "In words and numbers" }
            p.text { (of.text) }
            (table(of, title))
        }
    }
}

/// The bars in numbers.
fn table(of: &Intervals, title: &str) -> Markup {
    let number = |value: f64| match of.y.unit {
        Unit::Count => whole(value),
        _ => three_digits((value * 1000.0).round() / 1000.0),
    };
    let mut grid = Grid::new(["from"], ["to"].into_iter().chain(of.parts.iter().map(|(name, _)| name.as_str())));
    for bar in of.bars.iter().filter(|bar| bar.amounts.iter().any(|amount| *amount > 0.0)) {
        let amounts = bar.amounts.iter().map(|amount| number(*amount));
        grid.row([bar.from, bar.to].map(duration_ns).into_iter().chain(amounts));
    }
    grid.html(title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;
    use crate::profile::Bar;

    #[test]
    fn fine_bars_become_one_within_a_factor_of_two() {
        let bar = |from, to, count| Bar { from, to, count };
        let fine =
            Histogram(vec![bar(0, 1, 1.0), bar(8, 10, 1.0), bar(10, 12, 2.0), bar(14, 16, 3.0), bar(16, 18, 4.0)]);
        let shown = histogram(&fine, "waits", 0).unwrap();
        let bars: Vec<(f64, f64, f64)> = shown.bars.iter().map(|bar| (bar.from, bar.to, bar.amounts[0])).collect();
        assert_eq!(bars, [(0.0, 1.0, 1.0), (8.0, 16.0, 6.0), (16.0, 18.0, 4.0)]);
        assert!(shown.text.contains("Most are between 8.00 ns and 16.0 ns."), "{}", shown.text);
        assert_eq!(histogram(&Histogram::default(), "waits", 0), None);
    }

    #[test]
    fn threads_that_wait_are_time_by_time() {
        let shown = intervals(4.0, 0.5, vec![("a".into(), 0)], &[vec![1e9, 0.0, 0.25e9]], Size::Whole).unwrap();
        let bars: Vec<(f64, f64)> = shown.bars.iter().map(|bar| (bar.to, bar.amounts[0])).collect();
        assert_eq!(bars, [(0.5e9, 2.0), (1e9, 0.0), (1.5e9, 0.5), (4e9, 0.0)]);
        assert_eq!(shown.text, "The most threads waited from 0 ns to 500 ms after the start: 2.00 on average.");
        let long = intervals(1000.0, 0.1, vec![("a".into(), 0)], &[vec![1e8; 10_000]], Size::Whole).unwrap();
        assert!(long.bars.len() <= MOST_BARS && long.bars.iter().all(|bar| (bar.amounts[0] - 1.0).abs() < 1e-9));
        assert_eq!(intervals(1.0, 0.0, Vec::new(), &[vec![1.0]], Size::Strip), None);
    }

    #[test]
    fn locks_beyond_the_first_are_added_up() {
        let shown = over_time(&made_up::large()).unwrap();
        assert_eq!(shown.parts.len(), MOST_LOCKS + 1);
        assert_eq!(shown.parts[MOST_LOCKS], ("995 others".to_string(), OTHERS));
        assert_eq!(over_time(&made_up::calm()), None);
    }
}
