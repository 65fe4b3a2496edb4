//! How names and numbers are written in captions and texts.

use ondeck_kit::figure::Unit;
use ondeck_kit::wording::{count, duration_ns, list, three_digits};

/// Longest name in a chart; names beyond are foreign.
const LONGEST: usize = 60;
/// From here on, digits before the point say less than an exponent.
const HUGE: f64 = 1e15;

/// The name in one line of at most 60 characters; what is too long loses its middle. Marks that turn the direction of
/// writing would turn the words beside them too.
pub(super) fn short(name: &str) -> String {
    let is_mark = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let name: Vec<char> = name.chars().map(|c| if is_mark(c) { '\u{fffd}' } else { c }).collect();
    if name.len() <= LONGEST {
        return name.into_iter().collect();
    }
    let half = (LONGEST - 1) / 2;
    name[..half].iter().chain(&['…']).chain(&name[name.len() - half..]).collect()
}

/// A number as it stands beside a point.
pub(super) fn shown(unit: Unit, value: f64) -> String {
    match unit {
        _ if value.abs() >= HUGE => format!("{value:.2e}"),
        Unit::Count => count(value),
        Unit::Ns => duration_ns(value),
        Unit::Ratio if value.abs() < 0.01 => three_digits(value),
        Unit::Ratio => format!("{value:.2}"),
    }
}

/// The names, and how many more there are of `n`.
pub(super) fn list_some(names: &[String], n: usize) -> String {
    let mut words = names.to_vec();
    if n > words.len() {
        words.push(format!("{} more", n - words.len()));
    }
    list(&words)
}

/// `5 rounds`, `3 to 5 rounds`.
pub(super) fn rounds(least: usize, most: usize) -> String {
    match (least, most) {
        (1, 1) => "1 round".to_string(),
        _ if least == most => format!("{most} rounds"),
        _ => format!("{least} to {most} rounds"),
    }
}

/// Lower-case letters, digits and single dashes, at most 60: what links and file names are made of.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().take(LONGEST) {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "workload".to_string() } else { slug.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_short_line() {
        assert_eq!(short("std"), "std");
        assert_eq!(short("a\nb\u{202e}c"), "a\u{fffd}b\u{fffd}c");
        let long = format!("{}-{}", "a".repeat(1000), "b".repeat(1000));
        assert_eq!(short(&long), format!("{}…{}", "a".repeat(29), "b".repeat(29)));
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        assert_eq!(shown(Unit::Count, 31_923_900.0), "31.9 M");
        assert_eq!(shown(Unit::Count, 1e300), "1.00e300");
        assert_eq!(shown(Unit::Ns, 1_500.0), "1.50 us");
        assert_eq!([0.954, 0.00954, 0.0].map(|value| shown(Unit::Ratio, value)), ["0.95", "0.00954", "0"]);
    }

    #[test]
    fn slugs_are_fit_for_links() {
        let names = ["sections/cs0-out0", "<Script>", "שלום", "a--b", "-"];
        assert_eq!(names.map(slug), ["sections-cs0-out0", "script", "workload", "a-b", "workload"]);
        assert_eq!(slug(&"x".repeat(1000)).len(), 60);
    }

    #[test]
    fn lists_say_how_many_more() {
        let names = ["a".to_string(), "b".to_string()];
        assert_eq!(list_some(&names, 2), "a and b");
        assert_eq!(list_some(&names, 5), "a, b and 3 more");
        assert_eq!([rounds(1, 1), rounds(5, 5), rounds(3, 5)], ["1 round", "5 rounds", "3 to 5 rounds"]);
    }
}
