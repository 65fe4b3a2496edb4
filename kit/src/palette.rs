//! How the series of a chart are told apart: by colour and marker, and by dashes where one lock comes from several files.
//!
//! The colours are those of Okabe and Ito, whose differences survive the usual kinds of colour blindness, moved towards
//! black for a light background and towards white for a dark one until each stands out from its background with a contrast of 3.

/// One colour, as it is on each background: `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hue {
    /// On [`LIGHT`].
    pub light: &'static str,
    /// On [`DARK`].
    pub dark: &'static str,
}

/// What a chart is drawn on, and what is written on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Behind everything.
    pub card: &'static str,
    /// Titles and names.
    pub ink: &'static str,
    /// Captions and numbers at the axes.
    pub muted: &'static str,
    /// Lines across the chart, and around it.
    pub grid: &'static str,
}

/// A background for light pages and for paper.
pub const LIGHT: Background = Background { card: "#ffffff", ink: "#1f2328", muted: "#59636e", grid: "#dfe3e8" };
/// A background for dark pages.
pub const DARK: Background = Background { card: "#15191f", ink: "#f0f3f6", muted: "#a9b3bf", grid: "#333a44" };

/// The colours, in the order of styles. The first is the flagship's.
pub const HUES: [Hue; 8] = [
    Hue { light: "#0072b2", dark: "#56b4e9" },
    Hue { light: "#d55e00", dark: "#ff8a3d" },
    Hue { light: "#008f68", dark: "#2bc79a" },
    Hue { light: "#b5508a", dark: "#e39ac4" },
    Hue { light: "#a87400", dark: "#f0b429" },
    Hue { light: "#4a4f57", dark: "#cfd6de" },
    Hue { light: "#2f8fc7", dark: "#a3dcff" },
    Hue { light: "#7d7300", dark: "#f0e442" },
];

/// Of series that stay in the background.
pub const QUIET: Hue = Hue { light: "#8a939d", dark: "#7d8792" };

/// What a point of a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square on its side.
    Square,
    /// A square on its corner.
    Diamond,
    /// A triangle that points upwards.
    Up,
    /// A triangle that points downwards.
    Down,
    /// A pentagon on its side.
    Pentagon,
    /// A star with five points.
    Star,
}

/// The markers, in the order of styles. One fewer than colours, so that 56 styles differ.
pub const MARKERS: [Marker; 7] =
    [Marker::Circle, Marker::Square, Marker::Diamond, Marker::Up, Marker::Down, Marker::Pentagon, Marker::Star];

/// Lengths of strokes and gaps, in the order of files. The first is an unbroken line.
pub const DASHES: [&str; 4] = ["", "8 4", "2 4", "10 4 2 4"];

/// Red, green and blue of `#rrggbb`, from 0 to 1.
fn channels(colour: &str) -> [f64; 3] {
    let channel = |at: usize| colour.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    [1, 3, 5].map(|at| f64::from(channel(at).unwrap_or(0)) / 255.0)
}

/// A colour between two: `part` of the first, the rest of the second.
pub fn mix(one: &str, other: &str, part: f64) -> String {
    let (one, other) = (channels(one), channels(other));
    let channel = |at: usize| ((one[at] * part + other[at] * (1.0 - part)) * 255.0).round() as u8;
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}

/// The contrast ratio of two colours, from 1 to 21, as the Web Content Accessibility Guidelines define it.
pub fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let linear = |share: f64| if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = channels(colour).map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    if one > other { one / other } else { other / one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixtures_lie_between() {
        assert_eq!(mix("#ff0000", "#0000ff", 1.0), "#ff0000");
        assert_eq!(mix("#ffffff", "#000000", 0.5), "#808080");
    }

    #[test]
    fn contrast_is_what_the_guidelines_say() {
        assert_eq!(contrast("#000000", "#ffffff").round(), 21.0);
        assert_eq!(contrast("#777777", "#ffffff"), contrast("#ffffff", "#777777"));
    }

    #[test]
    fn every_colour_stands_out_from_its_ground() {
        for hue in HUES.into_iter().chain([QUIET]) {
            for (colour, card) in [(hue.light, LIGHT.card), (hue.dark, DARK.card)] {
                assert!(contrast(colour, card) >= 3.0, "{colour} on {card}: {}", contrast(colour, card));
            }
        }
        for background in [LIGHT, DARK] {
            for ink in [background.ink, background.muted] {
                assert!(contrast(ink, background.card) >= 4.5, "{ink} on {}", background.card);
            }
        }
    }

    #[test]
    fn styles_differ_until_colours_and_markers_run_out() {
        let style = |n: usize| (n % HUES.len(), n % MARKERS.len());
        let styles: std::collections::BTreeSet<_> = (0..HUES.len() * MARKERS.len()).map(style).collect();
        assert_eq!(styles.len(), 56);
    }
}
