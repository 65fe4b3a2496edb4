//! The picture of a trace in the page.

use crate::pages::TRACED;
use crate::tab::{PHONE, Tab, WIDE, Window};
use crate::values::open;

const PICTURE: &str = "document.querySelector('section.timeline .lanes svg')";

#[test]
#[ignore = "needs Chromium: cargo xtask browser"]
fn a_trace_has_a_lane_for_each_thread_and_a_table() {
    let mut tab = open(&TRACED, WIDE);
    let lanes: Vec<String> = tab.eval(&format!(
        "[...{PICTURE}.querySelectorAll('text')].map((one) => one.textContent.trim()).filter((text) => text.startsWith('thread '))"
    ));
    assert_eq!(lanes.len(), 12, "{lanes:?}");
    let rows: Vec<Vec<String>> = tab.eval(
        "[...document.querySelectorAll('section.timeline tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))",
    );
    assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<String>>(), lanes);
    for row in &rows {
        let bars: usize = tab.eval(&format!(
            "[...{PICTURE}.querySelectorAll('title')].filter((one) => one.textContent.startsWith({:?})).length",
            format!("{}: at bat ", row[0])
        ));
        assert_eq!(bars > 0, row[1] != "0", "{}: {bars} bars", row[0]);
        let shares = row[2..].iter().map(|cell| cell.trim_end_matches('%').parse::<f64>().expect("a share"));
        assert!((shares.sum::<f64>() - 100.0).abs() < 0.3, "{row:?}");
    }
    let [alternative, text]: [String; 2] = tab.eval(&format!(
        "[{PICTURE}.getAttribute('aria-label'), document.querySelector('.timeline .text').textContent]"
    ));
    assert!(alternative.contains(&text) && text.contains("awake and want"), "{alternative}");
    assert_eq!(tab.complaints(), Vec::<String>::new());
}

/// The colours are those of the page: dark on screens only where the reader prefers that, and never on paper.
#[test]
#[ignore = "needs Chromium: cargo xtask browser"]
fn a_timeline_is_coloured_as_the_page_is() {
    let mut tab = open(&TRACED, WIDE);
    let mut fills = |medium: &str, scheme: &str| -> [String; 3] {
        tab.media(medium, scheme);
        let fill = |class: &str| format!("getComputedStyle({PICTURE}.querySelector('.{class} rect')).fill");
        tab.eval(&format!("[{}, {}, {}]", fill("hue0"), fill("hue1"), fill("hue5")))
    };
    let (light, dark, paper) = (fills("screen", "light"), fills("screen", "dark"), fills("print", "dark"));
    assert_eq!(light, paper);
    assert!(light.iter().zip(&dark).all(|(light, dark)| light != dark), "{light:?} {dark:?}");
    assert!(light[0] != light[1] && light[1] != light[2], "{light:?}");
}

#[test]
#[ignore = "needs Chromium: cargo xtask browser"]
fn a_narrow_window_scrolls_a_timeline_and_keys_do_too() {
    let mut tab = open(&TRACED, PHONE);
    let frame = "document.querySelector('.lanes')";
    let [inner, whole]: [f64; 2] = tab.eval(&format!("[{frame}.clientWidth, {frame}.scrollWidth]"));
    assert!(whole > inner + 100.0 && inner <= f64::from(PHONE.width), "{whole} in {inner}");
    tab.eval::<bool>(&format!("{frame}.focus() ?? document.activeElement === {frame}"));
    tab.strike("ArrowRight");
    tab.until(&format!("{frame}.scrollLeft > 0"));
    let mut tab = Tab::open(&TRACED.file, Window { scripts: false, ..WIDE });
    let [_, _, width, height] = tab.rectangle("section.timeline svg");
    assert!(width > 500.0 && height > 200.0, "without a script too: {width} by {height}");
}
