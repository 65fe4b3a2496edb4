//! What the fields of a machine file accept: figures with their marks, counts, texts.

use serde::de::{DeserializeSeed, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// Where a figure comes from.
pub(super) const ORIGINS: &[&str] = &["measured", "sibling", "sourced", "recalled", "derived", "fitted", "guess"];

/// The fields of a figure.
pub(super) const PARTS: &[&str] = &["value", "origin", "from", "low", "high"];

/// A range of numbers, both ends accepted, and how many of the engine's units one has.
#[derive(Clone, Copy)]
struct Range {
    least: f64,
    most: f64,
    /// Whether it has whole numbers only.
    is_whole: bool,
    /// What errors call the unit.
    unit: &'static str,
    per_unit: f64,
}

/// Of times, in picoseconds.
const fn ns(least: f64, most: f64) -> Range {
    Range { least, most, is_whole: false, unit: " (nanoseconds)", per_unit: 1e3 }
}

/// The same.
const fn ms(least: f64, most: f64) -> Range {
    Range { least, most, is_whole: false, unit: " (milliseconds)", per_unit: 1e9 }
}

/// Of ratios and probabilities, in thousandths.
const fn ratio(least: f64, most: f64) -> Range {
    Range { least, most, is_whole: false, unit: "", per_unit: 1e3 }
}

const fn whole(least: f64, most: f64) -> Range {
    Range { least, most, is_whole: true, unit: "", per_unit: 1.0 }
}

impl<'de> DeserializeSeed<'de> for Range {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<f64, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for Range {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.is_whole { "a whole number from " } else { "" };
        write!(f, "{whole}{} to {}{}", self.least, self.most, self.unit)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        let is_within = (self.least..=self.most).contains(&(number as f64));
        is_within.then_some(number as f64).ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        let is_within = !self.is_whole && (self.least..=self.most).contains(&number);
        is_within.then_some(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }
}

/// A value with its mark: `{ value = 75.0, origin = "measured", from = "...", low = 61, high = 83 }`.
struct Figure<S>(S);

impl<'de, S: DeserializeSeed<'de, Value: PartialOrd + fmt::Display> + Copy> Visitor<'de> for Figure<S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{ value = ..., origin = \"...\", from = \"...\" }")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<S::Value, M::Error> {
        let [mut value, mut low, mut high] = [None, None, None];
        let (mut origin, mut from) = (None, None);
        while let Some(part) = map.next_key::<String>()? {
            match part.as_str() {
                "value" => value = Some(map.next_value_seed(self.0)?),
                "low" => low = Some(map.next_value_seed(self.0)?),
                "high" => high = Some(map.next_value_seed(self.0)?),
                "origin" => origin = Some(map.next_value::<Origin>()?.0),
                "from" => from = Some(map.next_value::<Line>()?),
                _ => return Err(Error::unknown_field(&part, PARTS)),
            }
        }
        let value = value.ok_or_else(|| Error::missing_field("value"))?;
        let origin = origin.ok_or_else(|| {
            Error::custom(format_args!("missing field `origin`, expected one of {}", ORIGINS.join(", ")))
        })?;
        if from.is_none() && origin != "guess" {
            return Err(Error::custom(format_args!("missing field `from`: what is {origin} says from what")));
        }
        for (name, limit) in [("low", low.filter(|low| *low > value)), ("high", high.filter(|high| *high < value))] {
            if let Some(limit) = limit {
                let what = format_args!("value {value} is not within low and high: {name} is {limit}");
                return Err(Error::custom(what));
            }
        }
        Ok(value)
    }
}

/// Types of fields, each with what it accepts.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident($type:ty): $how:ident $accepts:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name(pub(super) $type);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Ok($name(fields!($how from, $accepts) as $type))
            }
        }
    )*};
    (figure $from:ident, $accepts:expr) => { ($from.deserialize_any(Figure($accepts))? * $accepts.per_unit).round() };
    (count $from:ident, $accepts:expr) => { $accepts.deserialize($from)? };
}

/// What fits the 32 bits of picoseconds that the engine has.
const MOST_NS: f64 = 4_000_000.0;
/// Most of anything that is counted in the topology.
const MOST_PARTS: f64 = super::model::MAX_CORES as f64;

fields! {
    /// A time that may be nothing.
    Ns(u32): figure ns(0.0, MOST_NS);
    /// A time that must be something: what loops would otherwise turn for ever without the clock moving.
    TickingNs(u32): figure ns(0.001, MOST_NS);
    /// A time of the scheduler that may be nothing.
    Ms(u64): figure ms(0.0, 10_000.0);
    /// One that must be something.
    TickingMs(u64): figure ms(0.001, 10_000.0);
    /// One that may be long.
    LongMs(u64): figure ms(0.0, 60_000.0);
    Share(u32): figure ratio(0.0, 1.0);
    Ratio(u32): figure ratio(0.0, 100.0);
    Jitter(u32): figure ratio(0.0, 0.9);
    Slowdown(u32): figure ratio(1.0, 10.0);
    LineBytes(u32): figure whole(16.0, 1024.0);
    Stores(u32): figure whole(1.0, 1024.0);
    Buckets(u32): figure whole(1.0, 16_777_216.0);
    /// Of the topology; the section's mark is its mark.
    Parts(u32): count whole(1.0, MOST_PARTS);
    /// Hardware threads of a core.
    Threads(u32): count whole(1.0, 8.0);
}

/// A figure that is true or false.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switch(pub(super) bool);

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Figure(PhantomData::<bool>)).map(Switch)
    }
}

/// One of [`ORIGINS`].
#[derive(Debug)]
pub(super) struct Origin(String);

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let is_known = ORIGINS.contains(&text.as_str());
        is_known.then_some(()).ok_or_else(|| Error::unknown_variant(&text, ORIGINS))?;
        Ok(Origin(text))
    }
}

/// A text of one line, not empty.
#[derive(Debug)]
pub(super) struct Line(pub(super) String);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.trim().is_empty() || text.contains(char::is_control) {
            return Err(Error::invalid_value(Unexpected::Str(&text), &"a text of one line, not empty"));
        }
        Ok(Line(text))
    }
}
