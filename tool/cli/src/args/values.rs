//! Values of flags: read, or refused with what is accepted.

use regex_lite::Regex;

/// A time with its unit.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    const SHORTEST_S: f64 = 0.1;
    /// Clocks count further, but nobody waits.
    const LONGEST_S: f64 = 1000.0 * 3600.0;
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        std::time::Duration::try_from_secs_f64(number * seconds).ok()
    });
    match parsed {
        Some(time) if (SHORTEST_S..=LONGEST_S).contains(&time.as_secs_f64()) => Ok(time),
        _ => Err("accepted: a time from 100ms to 1000h with its unit, like 500ms, 10s, 2m or 1h".to_owned()),
    }
}

/// A regular expression.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let error = error.to_string();
        // The lines before show where that is in the text.
        let what = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("{what}; accepted: a regular expression, like 'ops/s: ([0-9.,]+)'")
    })
}
