//! Pictures of the page for people, in the directory that the variable `ONDECK_SHOTS` names with its whole path.

use crate::pages::{HOSTILE, HOSTILE_PROFILE, PROFILE, REAL, TOY, TRACED, scratch};
use crate::tab::{PHONE, WIDE};
use crate::values::open;
use std::path::PathBuf;

fn directory() -> PathBuf {
    std::env::var_os("ONDECK_SHOTS").map_or_else(|| scratch("shots"), PathBuf::from)
}

/// Width and height, as a PNG file begins with them.
fn size(picture: &[u8]) -> [f64; 2] {
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"), "it is a PNG file");
    let number = |from: usize| u32::from_be_bytes(picture[from..from + 4].try_into().expect("four bytes"));
    [16, 20].map(|from| f64::from(number(from)))
}

/// How large pictures are beside the page. A whole page of many figures would be taller than Chromium can paint at once.
const SHARP: f64 = 2.0;
const WHOLE: f64 = 0.5;

/// Name, expression of its rectangle, and how large it is on the picture.
type Part = (&'static str, &'static str, f64);

const OF_FIGURES: &[Part] = &[
    ("figure", "rectangleInPage(figures()[0])", SHARP),
    ("whole", "rectangleInPage(document.documentElement)", WHOLE),
];
const OF_PROFILE: &[Part] = &[
    ("locks", "rectangleInPage(document.querySelector('#locks'))", 1.0),
    ("flames", "rectangleInPage(document.querySelector('#flames'))", 1.0),
    ("lock", "rectangleInPage(document.querySelector('#lock-0'))", 1.0),
];

#[test]
#[ignore = "needs Chromium"]
fn pictures_are_taken_in_light_and_dark_on_a_phone_and_on_paper() {
    let figures = [("toy", &TOY), ("real", &REAL), ("traced", &TRACED), ("hostile", &HOSTILE)];
    let profiles = [("profile", &PROFILE), ("hostile-profile", &HOSTILE_PROFILE)];
    let of_profiles = profiles.map(|(name, page)| (name, page, OF_PROFILE));
    for (name, page, parts) in figures.map(|(name, page)| (name, page, OF_FIGURES)).into_iter().chain(of_profiles) {
        for (kind, window, scheme) in [("light", WIDE, "light"), ("dark", WIDE, "dark"), ("phone", PHONE, "light")] {
            let mut tab = open(page, window);
            tab.media("screen", scheme);
            // The graphs of a profile's first lock.
            tab.eval::<bool>("document.querySelector('details.flames-of summary')?.click() ?? true");
            for (part, rectangle, scale) in parts.iter().chain([&("top", "[0, 0, innerWidth, innerHeight]", SHARP)]) {
                let rectangle: [f64; 4] = tab.eval(rectangle);
                let picture = tab.picture(rectangle, *scale);
                let expected = [rectangle[2] * scale, rectangle[3] * scale];
                let is_close = size(&picture).into_iter().zip(expected).all(|(found, one)| (found - one).abs() <= 2.0);
                assert!(is_close, "{name}, {kind}, {part}: {:?} instead of {expected:?}", size(&picture));
                keep(&format!("{name}-{kind}-{part}.png"), &picture);
            }
            if kind == "light" {
                tab.media("", "");
                keep(&format!("{name}-print.pdf"), &tab.print());
            }
        }
    }
    println!("pictures: {}", directory().display());
}

pub(crate) fn keep(name: &str, bytes: &[u8]) {
    let file = directory().join(name);
    let kept = std::fs::create_dir_all(directory()).and_then(|()| std::fs::write(&file, bytes));
    kept.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
