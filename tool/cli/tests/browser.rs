//! The pages of `bench` and `profile` in a real browser: the console stays empty, a pointer is told figures, and paper has
//! what is folded on the screen.
//!
//! `.ci/nightly browser` runs these tests, with `chromium` or with what the variable `CHROMIUM` names, and with `mutool`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const ROWS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/report/testdata/toy-before.csv");
const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../profile/testdata/server.json");

/// Moves the pointer into the middle of the first chart.
const TO_CHART: &str = "
    const plot = document.querySelector('.plot');
    const { left, top, width, height } = plot.getBoundingClientRect();
    const place = { clientX: left + width / 2, clientY: top + height / 2 };
    plot.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, ...place }));
    return plot.querySelector('.tooltip:not([hidden])').textContent;";
/// Moves the pointer to the first frame of the first flame graph.
const TO_FLAME: &str = "
    document.querySelector('svg.f').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
    return document.querySelector('.told').textContent;";

/// Standard output of a command that must be a success, and its standard error.
fn output(command: &mut Command) -> [String; 2] {
    let output = command.stdin(Stdio::null()).output().expect("it can be started");
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}: {}", texts[1]);
    texts
}

/// Opens a page; gives what Chromium prints, and the lines of the console.
fn opened(page: &Path, flag: &str) -> (String, Vec<String>) {
    let program = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
    // What takes longer will not end.
    let mut chromium = Command::new("timeout");
    chromium.arg("60").arg(program).args(["--headless", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"]);
    // Containers have little of it.
    chromium.arg("--disable-dev-shm-usage");
    // It refuses to run as root otherwise, which is what a container has.
    let is_root = fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0);
    chromium.args(is_root.then_some("--no-sandbox"));
    chromium.arg(format!("--user-data-dir={}", page.with_extension("user").display()));
    let [printed, logged] = output(chromium.arg(flag).arg(page));
    (printed, logged.lines().filter(|line| line.contains("CONSOLE")).map(String::from).collect())
}

/// Reads the page of a file with a pointer and on paper; gives what the pointer is told, and what is printed.
fn read(file: &str, pointing: &str) -> (String, String) {
    let scratch = TempDir::new().expect("there is room for files");
    let [page, pointed, paper] = ["page.html", "pointed.html", "paper.pdf"].map(|name| scratch.path().join(name));
    output(Command::new(env!("CARGO_BIN_EXE_ondeck")).args(["report", file, "-o"]).arg(&page));
    let more = format!("<script type=\"module\">document.title = (() => {{{pointing}}})();</script>");
    fs::write(&pointed, fs::read_to_string(&page).expect("it was written") + &more).expect("there is room");
    let (document, console) = opened(&pointed, "--dump-dom");
    assert!(document.contains("data-ready=\"true\"") && console.is_empty(), "{console:?}");
    let (_, rest) = document.split_once("<title>").expect("a page has a title");
    let told = rest.split("</title>").next().unwrap_or_default().to_string();
    let (_, console) = opened(&page, &format!("--print-to-pdf={}", paper.display()));
    assert!(console.is_empty(), "{console:?}");
    let [printed, _] = output(Command::new("mutool").args(["draw", "-q", "-F", "txt"]).arg(&paper));
    (told, printed)
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_of_bench_is_read_with_a_pointer_and_on_paper() {
    let (told, printed) = read(ROWS, TO_CHART);
    assert!(told.starts_with("threads: 16") && told.contains("ondeck32.5 M"), "{told}");
    for text in ["mutex-contention: throughput", "How this was made", "Toy(R) Quad"] {
        assert!(printed.contains(text), "no {text:?} in {printed}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_of_profile_is_read_with_a_pointer_and_on_paper() {
    let (told, printed) = read(PROFILE, TO_FLAME);
    assert!(told.contains(", 100 %"), "{told}");
    for text in ["Waiting for locks in mariadbd", "query_cache+0x18"] {
        assert!(printed.contains(text), "no {text:?} in {printed}");
    }
}

/// What the tests above rely on.
#[test]
#[ignore = "needs Chromium"]
fn an_error_in_the_console_is_noticed() {
    let scratch = TempDir::new().expect("there is room for files");
    let page = scratch.path().join("page.html");
    fs::write(&page, "<script>throw new Error('wrong')</script>").expect("there is room");
    let (_, console) = opened(&page, "--dump-dom");
    assert!(console.len() == 1 && console[0].contains("wrong"), "{console:?}");
}
