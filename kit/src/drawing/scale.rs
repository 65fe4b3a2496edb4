//! Where a number lies in a picture, and which numbers stand at an axis.

use super::lettering::tick;
use crate::figure::{Axis, Scale};

/// Values beyond this are drawn at it, so that differences of two stay finite.
const MOST: f64 = 1e300;
/// A linear axis that is shorter than this is as good as empty.
const LEAST: f64 = 1e-290;
/// About so many parts has an axis.
const PARTS: f64 = 5.0;

/// Where an axis ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// At round numbers.
    Round,
    /// At the outermost values.
    Exact,
}

/// An axis with its place in the picture.
#[derive(Clone, Debug)]
pub struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Pixels of the two ends.
    from: f64,
    to: f64,
    /// Whether places are whole pixels.
    pub is_whole: bool,
    /// What stands at the axis: value and text.
    pub ticks: Vec<(f64, String)>,
}

impl Ruler {
    /// An axis for these values, from pixel `from` to pixel `to`.
    pub fn new(axis: &Axis, values: &[f64], ends: Ends, (from, to): (f64, f64)) -> Ruler {
        let values: Vec<f64> = values.iter().copied().filter(|value| is_on(&axis.scale, *value)).map(bound).collect();
        let low = values.iter().copied().reduce(f64::min);
        let outermost = low.zip(values.iter().copied().reduce(f64::max));
        let (low, high, mut at) = match &axis.scale {
            Scale::Linear => linear(outermost.unwrap_or((0.0, 1.0)), ends),
            Scale::Log => logarithmic(outermost.unwrap_or((1.0, 10.0)), ends),
        };
        if !axis.ticks.is_empty() {
            at = axis.ticks.iter().copied().filter(|tick| (low..=high).contains(tick)).collect();
        }
        let ticks = at.into_iter().map(|value| (value, tick(value, axis.unit))).collect();
        Ruler { scale: axis.scale.clone(), low, high, from, to, is_whole: false, ticks }
    }

    /// The pixel of a value; `None` if the axis has no place for it.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !is_on(&self.scale, value) {
            return None;
        }
        let value = bound(value);
        let share = match self.scale {
            Scale::Log => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            Scale::Linear => (value - self.low) / (self.high - self.low),
        };
        let place = self.from + share * (self.to - self.from);
        Some(if self.is_whole { place.round() } else { place })
    }

    /// The pixel of a value, or of the axis' beginning if the axis has no place for it: where bars and whiskers end.
    pub fn place_or_end(&self, value: f64) -> f64 {
        self.place(value).unwrap_or(self.from)
    }

    /// The pixel from which bars rise.
    pub fn base(&self) -> f64 {
        self.place_or_end(0.0)
    }
}

fn bound(value: f64) -> f64 {
    value.clamp(-MOST, MOST)
}

fn is_on(scale: &Scale, value: f64) -> bool {
    match scale {
        Scale::Linear => value.is_finite(),
        // Smaller ones have no exact ratio to anything.
        Scale::Log => value.is_finite() && value >= f64::MIN_POSITIVE,
    }
}

/// Ends and ticks of an axis that has 0 on it.
fn linear((low, high): (f64, f64), ends: Ends) -> (f64, f64, Vec<f64>) {
    let (low, high) = (low.min(0.0), high.max(0.0));
    let high = if high - low < LEAST { low + 1.0 } else { high };
    let step = round_step((high - low) / PARTS);
    // A little slack, so that 0.3 is three steps of 0.1.
    let (first, last) = match ends {
        Ends::Round => ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil()),
        Ends::Exact => ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor()),
    };
    let at: Vec<f64> = (first as i64..=last as i64).map(|n| n as f64 * step).collect();
    match ends {
        Ends::Round => (first * step, last * step, at),
        Ends::Exact => (low, high, at),
    }
}

/// The smallest of 1, 2, 5, 10, 20 and so on that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = power_of_ten(least.log10().floor() as i32);
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= least * (1.0 - 1e-9));
    times.unwrap_or(10.0) * power
}

fn power_of_ten(exponent: i32) -> f64 {
    let exponent = exponent.min(f64::MAX_10_EXP);
    if exponent < 0 { 1.0 / 10_f64.powi(-exponent) } else { 10_f64.powi(exponent) }
}

/// Ends and ticks of an axis of positive numbers.
fn logarithmic((low, high): (f64, f64), ends: Ends) -> (f64, f64, Vec<f64>) {
    // One value alone lies in the middle.
    let (low, high) = if low < high { (low, high) } else { (low / 2.0, high * 2.0) };
    let (first, last) = (low.log10().floor() as i32, high.log10().floor() as i32 + 1);
    let n_decades = last - first;
    let every = if n_decades <= 3 { 1 } else { 1 + n_decades / 8 };
    let times: &[f64] = if n_decades <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decades = (first..=last + every - 1).step_by(every as usize).map(power_of_ten);
    let all: Vec<f64> = decades.flat_map(|decade| times.iter().map(move |times| times * decade)).collect();
    let begin = all.iter().rposition(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(0);
    let end = all.iter().position(|tick| *tick >= high * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
    match ends {
        Ends::Round => (all[begin], all[end], all[begin..=end].to_vec()),
        Ends::Exact => (low, high, all.into_iter().filter(|tick| (low..=high).contains(tick)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    fn ruler(scale: Scale, values: &[f64], ends: Ends) -> Ruler {
        let axis = Axis { label: String::new(), unit: Unit::Ratio, scale, ticks: Vec::new() };
        Ruler::new(&axis, values, ends, (0.0, 100.0))
    }

    fn texts(scale: Scale, values: &[f64], ends: Ends) -> Vec<String> {
        ruler(scale, values, ends).ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_linear_axis_begins_at_0_and_ends_at_round_numbers() {
        assert_eq!(texts(Scale::Linear, &[0.97, 0.3], Ends::Round), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(texts(Scale::Linear, &[1.01], Ends::Round), ["0", "0.5", "1", "1.5"]);
        assert_eq!(texts(Scale::Linear, &[-3.0, 1.0], Ends::Round), ["-3", "-2", "-1", "0", "1"]);
        assert_eq!(texts(Scale::Linear, &[0.0], Ends::Round).last().unwrap(), "1");
        assert_eq!(texts(Scale::Linear, &[7.0], Ends::Exact), ["0", "2", "4", "6"]);
        assert_eq!(ruler(Scale::Linear, &[7.0], Ends::Exact).place(7.0), Some(100.0));
    }

    #[test]
    fn a_logarithmic_axis_has_steps_or_decades() {
        assert_eq!(texts(Scale::Log, &[1.5, 30.0], Ends::Round), ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(texts(Scale::Log, &[1.0, 1e4], Ends::Round), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(texts(Scale::Log, &[3.0], Ends::Round), ["1", "2", "5", "10"]);
        assert_eq!(texts(Scale::Log, &[10.0], Ends::Round), ["5", "10", "20"]);
        assert!(texts(Scale::Log, &[1e-300, 1e300], Ends::Round).len() < 12);
        assert_eq!(ruler(Scale::Log, &[1.0, 100.0], Ends::Round).place(10.0), Some(50.0));
    }

    #[test]
    fn numbers_that_the_axis_names_stand_at_it() {
        let ticks = vec![1.0, 2.0, 48.0, 1000.0];
        let axis = Axis { label: String::new(), unit: Unit::Count, scale: Scale::Log, ticks };
        let ruler_of = |values: &[f64]| Ruler::new(&axis, values, Ends::Exact, (0.0, 100.0));
        let texts: Vec<String> = ruler_of(&[1.0, 48.0]).ticks.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["1", "2", "48"]);
        assert_eq!(ruler_of(&[16.0]).place(16.0), Some(50.0));
    }

    #[test]
    fn any_values_have_a_place_between_the_ends_or_none() {
        let values = [0.0, -1.0, 1e-320, 1e-300, 1e-12, 0.1, 1.0, 3.0, 1e15, 1e300, f64::MAX];
        for scale in [Scale::Linear, Scale::Log] {
            for ends in [Ends::Round, Ends::Exact] {
                for some in values.iter().flat_map(|one| values.iter().map(|other| [*one, *other])) {
                    let ruler = ruler(scale.clone(), &some, ends);
                    let places = some.iter().filter_map(|value| ruler.place(*value));
                    for place in places.chain([ruler.base()]) {
                        assert!((-0.01..=100.01).contains(&place), "{some:?} {scale:?} {ends:?}: {place}");
                    }
                    assert!(ruler.ticks.len() < 24, "{some:?}: {:?}", ruler.ticks);
                    for (value, _) in &ruler.ticks {
                        let place = ruler.place(*value).unwrap();
                        assert!((-0.01..=100.01).contains(&place), "{some:?} {scale:?} {ends:?}: tick {value}");
                    }
                }
            }
        }
    }
}
