//! A page that complains of nothing and asks for nothing, and a watcher that would have noticed.

use crate::pages::{HOSTILE, HOSTILE_PROFILE, LARGE, PROFILE, Page, REAL, TOY, written};
use crate::tab::{PHONE, Tab, WIDE};
use crate::values::figures;
use std::time::Instant;

/// What may be sent by mail and put into a repository.
const MOST_BYTES: u64 = 2_000_000;
/// And this is what pages of a few files have.
const USUAL_BYTES: u64 = 300_000;

#[test]
#[ignore = "needs Chromium"]
fn every_page_is_quiet_and_small() {
    for page in [&TOY, &REAL, &HOSTILE, &LARGE, &PROFILE, &HOSTILE_PROFILE] {
        let page: &Page = page;
        let mut tab = Tab::open(&page.file, WIDE);
        tab.until("document.body.dataset.ready === 'true'");
        tab.eval::<bool>("frames(2)");
        let size = std::fs::metadata(&page.file).expect("it was opened").len();
        assert!(size < MOST_BYTES, "{}: {size} bytes", page.file.display());
        let is_usual = std::ptr::eq(page, &*TOY) || std::ptr::eq(page, &*REAL);
        assert!(!is_usual || size < USUAL_BYTES, "{}: {size} bytes", page.file.display());
    }
}

#[test]
#[ignore = "needs Chromium"]
fn a_hundred_thousand_rows_are_seen() {
    let page = &*LARGE;
    let began = Instant::now();
    let mut tab = Tab::open(&page.file, WIDE);
    tab.until("document.body.dataset.ready === 'true'");
    let shown = began.elapsed();
    let n_figures = figures(page).len();
    println!("100,000 rows: page written in {:.1?}, {n_figures} figures shown in {shown:.1?}", page.took);
    assert!(n_figures > 0);
}

#[test]
#[ignore = "needs Chromium"]
fn the_watcher_notices() {
    let faults = [
        ("<script>console.warn('here')</script>", "console: "),
        ("<script>console.error('here')</script>", "console: "),
        ("<script>console.assert(false)</script>", "console: "),
        ("<script>throw new Error('here')</script>", "not caught: "),
        ("<script>Promise.reject(new Error('here'))</script>", "not caught: "),
        ("<script>const = 1</script>", "not caught: "),
        ("<img src='other.png'>", "asks for file:"),
        ("<img src='http://127.0.0.1:9/other.png'>", "asks for http:"),
        ("<link rel=stylesheet href='https://fonts.example/'>", "asks for https:"),
        ("<script>fetch('http://127.0.0.1:9/').catch(() => {})</script>", "asks for http:"),
        ("<script>navigator.sendBeacon('http://127.0.0.1:9/')</script>", "asks for http:"),
        ("<script>new WebSocket('ws://127.0.0.1:9/')</script>", "connects: "),
        ("<svg><path d='M nowhere'></svg>", "log: "),
        ("<iframe src='other.html'></iframe>", "asks for file:"),
    ];
    for (index, (fault, complaint)) in faults.into_iter().enumerate() {
        let page = written(&format!("fault-{index}"), &format!("<!doctype html><title>x</title><body>{fault}"));
        let mut tab = Tab::open(&page, WIDE);
        tab.eval::<bool>("frames(3)");
        let complaints = tab.complaints();
        assert!(complaints.iter().any(|one| one.starts_with(complaint)), "{fault}: {complaints:?}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_watcher_lets_a_quiet_page_be() {
    let harmless = "<!doctype html><title>x</title><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>\
                    <script>console.log('here'); document.body.dataset.ready = 'true'</script>";
    let mut tab = Tab::open(&written("quiet", harmless), PHONE);
    tab.eval::<bool>("frames(2)");
}
