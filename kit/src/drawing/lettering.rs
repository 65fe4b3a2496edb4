//! What is written in a picture: how wide it is, what of it fits, and how numbers look.

use crate::figure::Unit;
use crate::wording::{count, duration_ns, three_digits};

/// Width in pixels, of the widest of the common sans-serif fonts: which one a reader has is not known here.
pub fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.4,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' => 0.75,
        '\u{1100}'.. => 1.0,
        _ => 0.64,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The text, or as much of its beginning as fits the width, with an ellipsis.
pub fn fit(text: &str, size: f64, most: f64) -> String {
    let text = clean(text);
    if width(&text, size) <= most {
        return text;
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size) + size > most {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_string() + "\u{2026}"
}

/// The text in lines that fit the width, at most `n_lines`; the last ends with an ellipsis if there is more.
pub fn lines(text: &str, size: f64, most: f64, n_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in clean(text).split_whitespace() {
        let is_last = lines.len() == n_lines;
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            line.push_str(word);
        } else if is_last || width(line, size) + width(word, size) + size <= most {
            *line += &format!(" {word}");
        } else {
            lines.push(word.to_string());
        }
    }
    lines.iter().map(|line| fit(line, size, most)).filter(|line| !line.is_empty()).collect()
}

/// The text without what XML cannot hold, without line breaks, and without marks that turn the direction of writing.
pub fn clean(text: &str) -> String {
    let replaced = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        _ if c.is_control() => '\u{fffd}',
        _ => c,
    };
    text.chars().map(replaced).collect()
}

/// A number beside a point: three digits and its unit.
pub fn number(value: f64, unit: Unit) -> String {
    let size = value.abs();
    // Beyond these, digits in a row would fill the picture.
    if size != 0.0 && !(1e-5..1e15).contains(&size) {
        return format!("{value:.2e}{}", if unit == Unit::Ns { " ns" } else { "" });
    }
    let text = match unit {
        Unit::Count => count(size),
        Unit::Ns => duration_ns(size),
        Unit::Ratio => three_digits(size),
    };
    if value < 0.0 { format!("-{text}") } else { text }
}

/// A number at an axis: the same without zeros at the end of a fraction.
pub fn tick(value: f64, unit: Unit) -> String {
    let text = number(value, unit);
    let (digits, rest) = text.split_at(text.find([' ', 'e']).unwrap_or(text.len()));
    if !digits.contains('.') {
        return text;
    }
    format!("{}{rest}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_ends_with_an_ellipsis() {
        assert_eq!(fit("short", 10.0, 100.0), "short");
        let cut = fit(&"wide ".repeat(1000), 10.0, 100.0);
        assert!(cut.ends_with('\u{2026}') && width(&cut, 10.0) <= 100.0, "{cut}");
        assert_eq!(fit("", 10.0, 0.0), "");
    }

    #[test]
    fn text_is_broken_at_words_and_ends_with_the_last_line() {
        assert_eq!(lines("one two three", 10.0, 60.0, 9), ["one two", "three"]);
        let cut = lines(&"word ".repeat(1000), 10.0, 100.0, 2);
        assert!(cut.len() == 2 && cut[1].ends_with('\u{2026}'), "{cut:?}");
        assert!(lines(" \n", 10.0, 100.0, 2).is_empty());
    }

    #[test]
    fn nothing_is_left_that_xml_or_a_reader_would_stumble_over() {
        assert_eq!(clean("a\nb\u{0}\u{202e}\u{ffff}c"), "a b\u{fffd}\u{fffd}\u{fffd}c");
    }

    #[test]
    fn numbers_of_every_size() {
        let cases = [
            (0.0, Unit::Count, "0"),
            (20e6, Unit::Count, "20 M"),
            (2500.0, Unit::Count, "2.5 k"),
            (-2500.0, Unit::Count, "-2.5 k"),
            (100.0, Unit::Count, "100"),
            (1.5e6, Unit::Ns, "1.5 ms"),
            (0.5, Unit::Ratio, "0.5"),
            (1e300, Unit::Count, "1e300"),
            (1e-30, Unit::Ns, "1e-30 ns"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(tick(value, unit), text);
        }
        assert_eq!(number(0.5, Unit::Ratio), "0.500");
    }
}
