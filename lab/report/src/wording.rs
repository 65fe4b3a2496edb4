//! Words and figures as a person wants to read them, for all that writes to somebody.

use std::ffi::OsStr;

/// What stands beside numbers of threads with the mark of more than there are CPUs.
pub const QUEUES: &str = "more threads than simulated CPUs: the order in which a system runs them decides, and few such \
                          figures were ever compared with a real system";

/// What stands beside a figure that has the mark of two groups of seeds.
pub const BISTABLE: &str = "bistable: the seeds fall into two groups, so the median says little";

/// Three significant digits, without an exponent up to a quadrillion: `0.0123`, `1.23`, `12.3`, `1230`.
pub fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if value.abs() >= 1e15 {
        return format!("{value:.2e}");
    }
    // The number of digits before the point, after rounding: 9.999 is printed as 10.0.
    let magnitude = format!("{:.2e}", value.abs());
    let exponent: i32 = magnitude.split('e').nth(1).and_then(|e| e.parse().ok()).unwrap_or(0);
    let decimals = (2 - exponent).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// Nanoseconds in the unit that suits them: `15.3 ns`, `1.60 us`, `180 ms`, `2.50 s`.
pub fn duration_ns(ns: f64) -> String {
    let (value, unit) = match ns {
        _ if ns < 999.5 => (ns, "ns"),
        _ if ns < 999.5e3 => (ns / 1e3, "us"),
        _ if ns < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A count in thousands or millions: `850`, `2.50 k`, `58.1 M`.
pub fn count(value: f64) -> String {
    match value {
        _ if value < 999.5 => three_digits(value),
        _ if value < 999.5e3 => format!("{} k", three_digits(value / 1e3)),
        _ if value < 999.5e6 => format!("{} M", three_digits(value / 1e6)),
        _ => format!("{} G", three_digits(value / 1e9)),
    }
}

/// How often something happened, as a whole number, though it may be an estimate: `1`, `850`, `2.50 k`. What happened at
/// all happened once.
pub fn whole(value: f64) -> String {
    if value > 0.0 && value < 999.5 { format!("{:.0}", value.round().max(1.0)) } else { count(value) }
}

/// The same with what it is: `1 wait`, `5 waits`, `2.50 k waits`.
pub fn whole_of(value: f64, what: &str) -> String {
    let whole = whole(value);
    let end = if whole == "1" { "" } else { "s" };
    format!("{whole} {what}{end}")
}

/// A length of a run: `0.2 s`, `45 s`, `3 min 20 s`, `2 h 5 min`.
pub fn run_time(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..120 => format!("{whole} s"),
        120..7200 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// How many times as much: two decimals of what is below 100, three digits of the rest.
pub fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio > 0.0 && ratio < 0.01 => "below 0.01".to_string(),
        _ if ratio < 99.95 => format!("{ratio:.2}"),
        _ => three_digits(ratio),
    }
}

/// How much more that is: `+12.3%` for 1.123 times as much.
pub fn change(ratio: f64) -> String {
    if ratio.is_finite() { format!("{:+.1}%", (ratio - 1.0) * 100.0) } else { "?".to_string() }
}

/// A part of a whole: `91 %`, `4.2 %`, `<0.1 %`.
pub fn percent(part: f64) -> String {
    match part * 100.0 {
        hundredths if hundredths <= 0.0 => "0 %".to_string(),
        hundredths if hundredths < 0.1 => "<0.1 %".to_string(),
        hundredths if hundredths < 9.95 => format!("{hundredths:.1} %"),
        hundredths => format!("{hundredths:.0} %"),
    }
}

/// Words as in a sentence: `a`, `a and b`, `a, b and c`.
pub fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The same with at most `most` of them, and how many more there are: `a, b and 7 more`.
pub fn list_some(words: &[String], most: usize) -> String {
    match words.len().checked_sub(most) {
        // One word takes no more room than the number that would stand for it.
        None | Some(0 | 1) => list(words),
        Some(more) => list(&[&words[..most], &[format!("{more} more")]].concat()),
    }
}

/// `1 thread`, `2 threads`.
pub fn threads(n: u32) -> String {
    counted(n as usize, "thread")
}

/// `1 row`, `2 rows`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The same with a verb, of which there are two forms: `1 row is`, `2 rows are`.
pub fn counted_that(n: usize, what: &str, [one, many]: [&str; 2]) -> String {
    format!("{} {}", counted(n, what), if n == 1 { one } else { many })
}

/// `0a1b`.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text in one line that shows what it says: names in foreign files may hold line breaks, what a terminal takes for
/// commands, and marks that turn the direction of reading.
pub fn plain(text: &str) -> String {
    let is_direction =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = |c: char| match c {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => ' ',
        _ if c.is_control() || is_direction(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(shown).collect()
}

/// The text with nothing in it that Markdown, GitHub or HTML would take for more than characters; in one line.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            // Whoever is called like a lock wants no mail about it.
            '@' => escaped += "@<!-- -->",
            '\\' | '`' | '|' | '*' | '_' | '[' | ']' | '~' | '#' | '$' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A word as a shell wants it.
pub fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./,=:+@%".contains(c));
    if is_plain { word.to_string() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// A command as a shell wants it.
pub fn typed(command: &[impl AsRef<OsStr>]) -> String {
    let words: Vec<String> = command.iter().map(|word| quoted(&word.as_ref().to_string_lossy())).collect();
    words.join(" ")
}

/// The name of a lock in lines of at most `width` columns where its dashes and the marks in its tuning allow it.
pub fn broken(lock: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for part in lock.split_inclusive(['-', '[', '_', '=', '+']) {
        if column > 0 && column + part.len() > width {
            lines.push('\n');
            column = 0;
        }
        lines += part;
        column += part.len();
    }
    lines
}

/// A name in lines of at most `width` characters: broken at spaces, so that a file stays with its line. Only a word that is
/// longer by itself is broken elsewhere: a path may have no better place.
pub fn in_lines(name: &str, width: usize) -> String {
    let words = wrap("", name, width);
    let lines = words.lines().flat_map(|line| {
        let line: Vec<char> = line.chars().collect();
        line.chunks(width.max(1)).map(String::from_iter).collect::<Vec<String>>()
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// The text in lines of at most `width` columns where its words allow it: the first line after `mark`, the others below
/// the first word. Ends with a line break.
pub fn wrap(mark: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(mark.chars().count());
    let mut lines = mark.to_string();
    let mut column = indent.len();
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            lines += &format!("\n{indent}");
            column = indent.len();
        } else if index > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_of_everything() {
        let cases = [
            (0.0, "0"),
            (0.0123, "0.0123"),
            (0.9996, "1.00"),
            (1.234, "1.23"),
            (9.999, "10.0"),
            (58.14, "58.1"),
            (99.96, "100"),
            (1234.4, "1234"),
            (-3.456, "-3.46"),
            (1e14, "100000000000000"),
            (1e300, "1.00e300"),
        ];
        for (value, text) in cases {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn what_happened_is_a_whole_number_of_times() {
        let cases = [(0.0, "0"), (0.2, "1"), (1.0, "1"), (5.12, "5"), (58.6, "59"), (999.4, "999"), (2500.0, "2.50 k")];
        for (value, text) in cases {
            assert_eq!(whole(value), text);
        }
        assert_eq!([0.0, 1.2, 5.12].map(|value| whole_of(value, "wait")), ["0 waits", "1 wait", "5 waits"]);
    }

    #[test]
    fn units() {
        assert_eq!(duration_ns(15.27), "15.3 ns");
        assert_eq!(duration_ns(999.7), "1.00 us");
        assert_eq!(duration_ns(180e6), "180 ms");
        assert_eq!(duration_ns(2.5e9), "2.50 s");
        assert_eq!(count(850.0), "850");
        assert_eq!(count(2500.0), "2.50 k");
        assert_eq!(run_time(0.24), "0.2 s");
        assert_eq!(run_time(44.6), "45 s");
        assert_eq!(run_time(200.0), "3 min 20 s");
        assert_eq!(run_time(7500.0), "2 h 5 min");
    }

    #[test]
    fn wrapped_text_hangs_below_its_first_word() {
        assert_eq!(wrap("- ", "one two three", 9), "- one two\n  three\n");
        assert_eq!(wrap("- ", "one two three", usize::MAX), "- one two three\n");
        assert_eq!(wrap("", "unbreakable", 3), "unbreakable\n");
    }

    #[test]
    fn lists() {
        let words = |n: usize| ["a", "b", "c", "d"][..n].iter().map(|word| word.to_string()).collect::<Vec<String>>();
        assert_eq!([list(&words(1)), list(&words(2)), list(&words(3))], ["a", "a and b", "a, b and c"]);
        let some = [2, 3, 4].map(|n| list_some(&words(n), 2));
        assert_eq!(some, ["a and b", "a, b and c", "a, b and 2 more"]);
        assert_eq!([1, 2].map(|n| counted_that(n, "row", ["is", "are"])), ["1 row is", "2 rows are"]);
        assert_eq!(hexadecimal(&[0x0a, 0xff]), "0aff");
    }

    #[test]
    fn multiples() {
        let texts = [0.0, 0.004, 0.01, 1.234, 99.94, 99.96, 1e300].map(times);
        assert_eq!(texts, ["0.00", "below 0.01", "0.01", "1.23", "99.94", "100", "1.00e300"]);
    }

    #[test]
    fn changes() {
        assert_eq!([1.1234, 0.5, f64::INFINITY, f64::NAN].map(change), ["+12.3%", "-50.0%", "?", "?"]);
    }

    #[test]
    fn parts_of_a_whole() {
        let texts = [0.0, -1.0, 0.0004, 0.042, 0.0994, 0.0996, 0.913, 1.0].map(percent);
        assert_eq!(texts, ["0 %", "0 %", "<0.1 %", "4.2 %", "9.9 %", "10 %", "91 %", "100 %"]);
    }

    #[test]
    fn names_are_broken_at_spaces_or_else_anywhere() {
        assert_eq!(in_lines("abcde", 2), "ab\ncd\ne");
        assert_eq!(in_lines("initialised in main (sess2.cc:11)", 30), "initialised in main\n(sess2.cc:11)");
    }

    #[test]
    fn names_are_broken_at_dashes_and_tunings_at_marks() {
        let names = ["std", "parking-lot", "parking-lot-012", "go-tristate-futex", "go-spinbit"];
        let expected = ["std", "parking-\nlot", "parking-\nlot-012", "go-\ntristate-\nfutex", "go-\nspinbit"];
        assert_eq!(names.map(|name| broken(name, 9)), expected);
        assert_eq!(broken("ondeck[low-latency+idle_ns=300]", 7), "ondeck[\nlow-\nlatency+\nidle_\nns=300]");
    }

    #[test]
    fn a_shell_reads_words_back() {
        let quoted = ["a-1.csv", "", "a b", "ondeck[look_ns=0]", "it's"].map(quoted);
        assert_eq!(quoted, ["a-1.csv", "''", "'a b'", "'ondeck[look_ns=0]'", r"'it'\''s'"]);
        assert_eq!(typed(&["cat", "a b"]), "cat 'a b'");
    }

    #[test]
    fn plain_text_stays_in_its_line() {
        assert_eq!(plain("a\nb\r\tc \u{1b}[31m \u{202e}<é>"), "a b  c \u{fffd}[31m \u{fffd}<é>");
    }
}
