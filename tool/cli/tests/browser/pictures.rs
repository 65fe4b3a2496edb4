//! Pictures of the page for people, in the directory that the variable `ONDECK_SHOTS` names with its whole path.

use crate::pages::{HOSTILE, REAL, TOY, TRACED, scratch};
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

#[test]
#[ignore = "needs Chromium"]
fn pictures_are_taken_in_light_and_dark_on_a_phone_and_on_paper() {
    for (name, page) in [("toy", &TOY), ("real", &REAL), ("traced", &TRACED), ("hostile", &HOSTILE)] {
        for (kind, window, scheme) in [("light", WIDE, "light"), ("dark", WIDE, "dark"), ("phone", PHONE, "light")] {
            let mut tab = open(page, window);
            tab.media("screen", scheme);
            let parts = [
                ("top", [0.0, 0.0, f64::from(window.width), f64::from(window.height)], SHARP),
                ("figure", tab.eval("rectangleInPage(figures()[0])"), SHARP),
                ("whole", tab.eval("rectangleInPage(document.documentElement)"), WHOLE),
            ];
            for (part, rectangle, scale) in parts {
                let picture = tab.picture(rectangle, scale);
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
