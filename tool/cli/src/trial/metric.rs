//! `--metric`: a number that a program prints, for programs whose run time says nothing.

use crate::args::TryArgs;
use ondeck_report::stats::{Comparison, Outcome, Round, compare_rounds};
use ondeck_report::wording::{plain, three_digits};
use regex_lite::{Captures, Match, Regex};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

/// What `--metric` and `--metric-less` ask for.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    pub(super) pattern: Regex,
    pub(super) is_less_better: bool,
}

/// A number as it stood in the output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    /// What stands behind it, such as `k` or ` ms`. Numbers with two units are not compared.
    pub(super) unit: String,
    /// The number and what it was taken from.
    pub(super) digits: String,
    pub(super) matched: String,
}

/// Why a run's output gives no number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    NoMatch,
    NoNumber {
        matched: String,
    },
    /// The match ends inside of a number, or begins there.
    Cut {
        matched: String,
        number: String,
    },
    /// Digits with separators that can be read in two ways.
    Unclear {
        digits: String,
    },
    /// Ratios need more than 0.
    NotPositive {
        digits: String,
    },
    /// Another unit than in the first run.
    OtherUnit {
        first: String,
        this: String,
    },
}

/// The numbers of all runs.
#[derive(Debug)]
pub(super) struct MetricValues {
    /// That of the first run.
    pub(super) first: Number,
    pub(super) is_less_better: bool,
    pub(super) rounds: Vec<Round>,
}

impl Number {
    /// The number, if it has the unit of the first one.
    pub(super) fn with_unit_of(self, first: &Number) -> Result<Number, Fault> {
        if self.unit == first.unit {
            return Ok(self);
        }
        let [first, this] = [first, &self].map(|number| format!("{}{}", number.digits, number.unit));
        Err(Fault::OtherUnit { first, this })
    }
}

impl MetricValues {
    /// What the rounds say. `Faster` stands for better here.
    pub(super) fn compared(&self) -> Option<Comparison> {
        let mut compared = compare_rounds(&self.rounds, 0.0)?;
        compared.outcome = match compared.outcome {
            Outcome::Faster if !self.is_less_better => Outcome::Slower,
            Outcome::Slower if !self.is_less_better => Outcome::Faster,
            outcome => outcome,
        };
        Some(compared)
    }

    /// A number as the program prints it: with its unit.
    pub(super) fn shown(&self, value: f64) -> String {
        // Three digits of a smaller one would be zeroes.
        let number = if value < 1e-4 { format!("{value:.2e}") } else { three_digits(value) };
        format!("{number}{}", plain(&self.first.unit))
    }
}

impl Metric {
    pub(super) fn of(args: &TryArgs) -> Option<Metric> {
        let is_less_better = args.metric_less.is_some();
        let pattern = args.metric.as_ref().or(args.metric_less.as_ref())?.clone();
        Some(Metric { pattern, is_less_better })
    }

    /// The flag, as it was given.
    pub(super) fn flag(&self) -> &'static str {
        if self.is_less_better { "--metric-less" } else { "--metric" }
    }

    /// The number in the last match. Standard error counts only if nothing in standard output matches: two files do not say
    /// which line came last.
    pub(super) fn number(&self, outputs: &[&Path]) -> io::Result<Result<Number, Fault>> {
        for output in outputs {
            if let Some(found) = last_match(&self.pattern, BufReader::new(File::open(output)?))? {
                return Ok(found);
            }
        }
        Ok(Err(Fault::NoMatch))
    }
}

/// A longer line is matched in pieces of this length, so that a program that prints no line breaks fills no memory.
const LONGEST: u64 = 1 << 20;

/// What the last match in the text says. Keeps one line of it.
fn last_match(pattern: &Regex, mut text: impl BufRead) -> io::Result<Option<Result<Number, Fault>>> {
    let (mut bytes, mut last) = (Vec::new(), None);
    loop {
        bytes.clear();
        if text.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(last);
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        last = pattern.captures_iter(line).last().map(|captures| number_of(line, &captures)).or(last);
    }
}

/// Digits with what may stand between them, and an exponent. Whether that can be read is another question.
const DIGITS: &str = r"-?(?:[0-9]+(?:[.,'_][0-9]+)*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?";
/// Thousands have their separators, and all of them: `0,123` and `1,23` are decimals where commas stand for points.
const READABLE: &str = r"^(?:[0-9]*|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$";
/// What is known as a unit after a blank.
const UNIT: &str = r"^ (?:[nuµμm]?s|[kKMGT]|[kKMGT]?i?(?:B|bits?|[bB]ytes?)(?:/s(?:ec)?|ps)?)\b";

fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern is right or wrong on every machine")
}

/// The number in the first group that took part, or in the whole match.
fn number_of(line: &str, captures: &Captures<'_>) -> Result<Number, Fault> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| constant(DIGITS));
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| constant(READABLE));
    let whole = captures.get(0).expect("a match has a whole");
    let part = captures.iter().skip(1).flatten().next().unwrap_or(whole);
    let matched = short(whole.as_str());
    let Some(found) = NUMBER.find_iter(part.as_str()).find(|found| !is_of_a_name(part.as_str(), found)) else {
        return Err(Fault::NoNumber { matched });
    };
    let at = part.start() + found.start()..part.start() + found.end();
    if is_cut(line, &at, &whole.range()) {
        return Err(Fault::Cut { matched, number: short(widened(line, &at)) });
    }
    let digits = found.as_str().to_owned();
    if digits.starts_with('-') {
        return Err(Fault::NotPositive { digits });
    }
    if !PLAIN.is_match(&digits) {
        return Err(Fault::Unclear { digits });
    }
    let Ok(value) = digits.replace(',', "").parse::<f64>() else { return Err(Fault::Unclear { digits }) };
    if value <= 0.0 || !value.is_finite() {
        return Err(Fault::NotPositive { digits });
    }
    Ok(Number { value, unit: unit(&line[at.end..]).to_owned(), digits, matched })
}

/// What directly follows the digits; after a blank, only what is known as a unit.
fn unit(after: &str) -> &str {
    static KNOWN: LazyLock<Regex> = LazyLock::new(|| constant(UNIT));
    match after.find(|c: char| c != '%' && !c.is_alphabetic()).unwrap_or(after.len()) {
        0 => KNOWN.find(after).map_or("", |unit| unit.as_str()),
        end => &after[..end],
    }
}

/// `p99: 12` and `99th percentile: 12` have one number each.
fn is_of_a_name(text: &str, digits: &Match<'_>) -> bool {
    let after: String = text[digits.end()..].chars().take_while(|c| c.is_alphabetic()).collect();
    text[..digits.start()].ends_with(|c: char| c.is_alphabetic() || c == '_')
        || ["st", "nd", "rd", "th"].contains(&after.as_str())
}

/// Whether the number goes on outside of what was found. A comma may also separate columns, so it only counts where the whole
/// match ends: else the pattern has it, and means it.
fn is_cut(line: &str, number: &Range<usize>, whole: &Range<usize>) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let goes_on = |next: Option<char>, second: Option<char>, is_edge: bool| match next {
        Some('.') => is_digit(second),
        Some(',' | '\'' | '_') => is_edge && is_digit(second),
        next => is_digit(next),
    };
    let (mut left, mut right) = (line[..number.start].chars().rev(), line[number.end..].chars());
    let exponent = line[number.end..].strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
    goes_on(left.next(), left.next(), number.start == whole.start)
        || goes_on(right.next(), right.next(), number.end == whole.end)
        || is_digit(exponent.and_then(|rest| rest.chars().next()))
}

/// The number with the digits and separators around it.
fn widened<'a>(line: &'a str, number: &Range<usize>) -> &'a str {
    let is_part = |c: char| c.is_ascii_digit() || ".,'_".contains(c);
    let start = line[..number.start].trim_end_matches(is_part).len();
    let end = line.len() - line[number.end..].trim_start_matches(is_part).len();
    line[start..end].trim_matches(['.', ',', '\'', '_'])
}

/// As much as fits into a sentence.
fn short(text: &str) -> String {
    const ENOUGH: usize = 100;
    plain(&text.chars().take(ENOUGH).collect::<String>())
}

/// A pattern for the first number that differs between the outputs of two runs. `run_time_s` is a number that each benchmark
/// prints, and not the one that is looked for.
pub(super) fn pattern_for(one: impl BufRead, other: impl BufRead, run_time_s: f64) -> io::Result<Option<String>> {
    let mut texts = (one, other);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    loop {
        one.clear();
        other.clear();
        let n_bytes = texts.0.by_ref().take(LONGEST).read_until(b'\n', &mut one)?;
        if n_bytes.min(texts.1.by_ref().take(LONGEST).read_until(b'\n', &mut other)?) == 0 {
            return Ok(None);
        }
        let found = pattern_for_line(&String::from_utf8_lossy(&one), &String::from_utf8_lossy(&other), run_time_s);
        if found.is_some() {
            return Ok(found);
        }
    }
}

/// The word before the number, and a group for its digits. `None` if the lines differ in something else.
fn pattern_for_line(one: &str, other: &str, run_time_s: f64) -> Option<String> {
    /// A program measures less of its run time than others do.
    const CLOSE: f64 = 0.1;
    let is_part = |c: char| c.is_ascii_digit() || ".,".contains(c);
    let same: usize = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    if same == one.trim_end().len() {
        return None;
    }
    let label = one[..same].trim_end_matches(is_part);
    let rest = &one[label.len()..];
    let digits = rest[..rest.len() - rest.trim_start_matches(is_part).len()].trim_end_matches(['.', ',']);
    let value: f64 = digits.replace(',', "").parse().ok()?;
    let is_run_time = |value: f64| (value / run_time_s - 1.0).abs() < CLOSE;
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || is_run_time(value) || is_run_time(value / 1e3) {
        return None;
    }
    let words: Vec<&str> = label.split_whitespace().collect();
    let last = words.iter().rposition(|word| word.contains(char::is_alphabetic))?;
    let mut parts: Vec<String> = words[last..].iter().map(|word| regex_lite::escape(word)).collect();
    if label.ends_with(char::is_whitespace) {
        parts.push(String::new());
    }
    Some(format!("{}([0-9.,]+)", parts.join(r"\s+")))
}

#[cfg(test)]
mod tests;
