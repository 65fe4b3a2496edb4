//! The picture of a trace in the page.

use crate::pages::TRACED;
use crate::tab::{PHONE, Tab, WIDE, Window};
use crate::values::open;

const PICTURE: &str = "document.querySelector('section.timeline .lanes svg')";

#[test]
#[ignore = "needs Chromium"]
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
}

/// The colours are those of the page: dark on screens only where the reader prefers that, and never on paper.
#[test]
#[ignore = "needs Chromium"]
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
#[ignore = "needs Chromium"]
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

/// What the axis says, and how many bars there are.
fn seen(tab: &mut Tab) -> (Vec<String>, usize) {
    let ticks = format!("[...{PICTURE}.querySelectorAll('.ticks text')].map((one) => one.textContent.trim())");
    (tab.eval(&ticks), tab.eval(&format!("{PICTURE}.querySelectorAll('.lane rect').length")))
}

fn press(tab: &mut Tab, name: &str) {
    let button = format!(
        "[...document.querySelectorAll('.timeline .controls button')].find((one) => one.textContent === {name:?})"
    );
    tab.eval::<bool>(&format!("({button}).click() ?? true"));
}

#[test]
#[ignore = "needs Chromium"]
fn a_timeline_is_enlarged_by_buttons_keys_and_the_wheel() {
    let mut tab = open(&TRACED, WIDE);
    let whole = seen(&mut tab);
    press(&mut tab, "Zoom in");
    let half = seen(&mut tab);
    assert_ne!(half.0, whole.0, "the axis says which part is seen");
    // What was one bar is several now: single acquisitions can be told apart.
    (0..6).for_each(|_| press(&mut tab, "Zoom in"));
    let title: String = tab.eval(&format!("{PICTURE}.querySelector('.lane .hue0 title')?.textContent ?? 'none'"));
    assert!(title.starts_with("thread ") || title == "none", "{title}");
    press(&mut tab, "Show all");
    assert_eq!(seen(&mut tab), whole);
    press(&mut tab, "Zoom out");
    assert_eq!(seen(&mut tab), whole, "nothing is beyond the ends");
    tab.eval::<bool>("document.querySelector('.lanes').focus() ?? true");
    tab.strike("+");
    assert_eq!(seen(&mut tab), half, "a key does what the button does");
    tab.strike("ArrowLeft");
    assert_ne!(seen(&mut tab), half, "arrows move what is enlarged");
    tab.strike("0");
    assert_eq!(seen(&mut tab), whole);
    let turn = |by: f64, with_ctrl: bool| {
        format!(
            "(() => {{ const {{ left, top, width, height }} = {PICTURE}.getBoundingClientRect(); const event = new WheelEvent('wheel', {{ deltaY: {by}, ctrlKey: {with_ctrl}, clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true }}); {PICTURE}.dispatchEvent(event); return event.defaultPrevented; }})()"
        )
    };
    assert!(!tab.eval::<bool>(&turn(-100.0, false)), "the wheel by itself scrolls the page");
    assert_eq!(seen(&mut tab), whole);
    assert!(tab.eval::<bool>(&turn(-100.0, true)));
    assert_ne!(seen(&mut tab).0, whole.0);
}

#[test]
#[ignore = "needs Chromium"]
fn what_is_enlarged_can_be_dragged_and_two_fingers_stretch_it() {
    let mut tab = open(&TRACED, WIDE);
    let whole = seen(&mut tab).0;
    press(&mut tab, "Zoom in");
    let half = seen(&mut tab).0;
    let pointers = |moves: &str| {
        format!(
            "(() => {{ const svg = {PICTURE}; svg.setPointerCapture = () => {{}}; const {{ left, top, width }} = svg.getBoundingClientRect(); const at = (type, pointerId, part) => svg.dispatchEvent(new PointerEvent(type, {{ pointerId, clientX: left + part * width, clientY: top + 50, pointerType: 'touch' }})); {moves} return true; }})()"
        )
    };
    tab.eval::<bool>(&pointers("at('pointerdown', 1, 0.6); at('pointermove', 1, 0.4); at('pointerup', 1, 0.4);"));
    let dragged = seen(&mut tab).0;
    assert_ne!(dragged, half);
    let pinch = "at('pointerdown', 1, 0.3); at('pointerdown', 2, 0.8); at('pointermove', 2, 0.4); at('pointermove', 1, 0.35); at('pointerup', 1, 0.35); at('pointerup', 2, 0.4);";
    tab.eval::<bool>(&pointers(pinch));
    assert_eq!(seen(&mut tab).0, whole, "as far as there is anything");
}

#[test]
#[ignore = "needs Chromium"]
fn a_trace_says_which_command_made_it() {
    let mut tab = open(&TRACED, WIDE);
    let commands: Vec<String> =
        tab.eval("[...document.querySelectorAll('.command code')].map((one) => one.textContent)");
    assert!(
        commands.iter().any(|command| command.starts_with("ondeck sim ") && command.contains("--trace ")),
        "{commands:?}"
    );
}
