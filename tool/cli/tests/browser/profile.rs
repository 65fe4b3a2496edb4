//! The page of a profile, and the flame graph in a file of its own.

use crate::keyboard::go_to;
use crate::looks::OPEN_ALL;
use crate::names::{dangerous, handlers};
use crate::pages::{HOSTILE_PROFILE, LARGE_PROFILE, PROFILE, flame_graph, hostile_locks, profile_file};
use crate::pictures::keep;
use crate::tab::{PHONE, Tab, WIDE, Window};
use crate::values::open;
use std::path::Path;
use std::time::Instant;

/// The names of the locks that the table shows, from the top.
fn rows(tab: &mut Tab) -> Vec<String> {
    tab.eval(
        "[...document.querySelectorAll('.sortable tbody tr')].filter(isSeen).map((row) => row.cells[0].textContent)",
    )
}

/// The numbers that a column of the table is sorted by.
fn column(tab: &mut Tab, number: usize) -> Vec<f64> {
    tab.eval(&format!(
        "[...document.querySelectorAll('.sortable tbody tr')].map((row) => Number(row.cells[{number}].dataset.v))"
    ))
}

fn sorted_by(tab: &mut Tab) -> Vec<String> {
    tab.eval(
        "[...document.querySelectorAll('.sortable th[aria-sort]')].map((th) => `${th.textContent} ${th.ariaSort}`)",
    )
}

fn head(number: usize) -> String {
    format!(".sortable thead th:nth-child({}) button", number + 1)
}

#[test]
#[ignore = "needs Chromium"]
fn a_click_or_a_key_sorts_the_table() {
    let mut tab = open(&PROFILE, WIDE);
    assert_eq!(sorted_by(&mut tab), ["share descending"]);
    assert_eq!(rows(&mut tab)[0], "query_cache+0x18");
    tab.click("button.more");
    tab.click(&head(6));
    assert_eq!(sorted_by(&mut tab), ["acquisitions descending"]);
    assert!(column(&mut tab, 6).is_sorted_by(|one, other| one >= other), "{:?}", column(&mut tab, 6));
    tab.click(&head(6));
    assert_eq!(sorted_by(&mut tab), ["acquisitions ascending"]);
    assert!(column(&mut tab, 6).is_sorted(), "{:?}", column(&mut tab, 6));
    tab.click(&head(0));
    assert_eq!(sorted_by(&mut tab), ["lock ascending"], "names begin with A");
    let first = rows(&mut tab);
    assert!(first[0].starts_with("LOCK_stats_0 ") && first[2].starts_with("LOCK_stats_2 "), "{first:?}");
    go_to(&mut tab, &head(3));
    tab.strike("Enter");
    assert_eq!(sorted_by(&mut tab), ["mean descending"]);
    assert!(column(&mut tab, 3).is_sorted_by(|one, other| one >= other));
}

/// On a screen of 1200 by 800: what to do, the locks that matter, and both graphs of the first one.
#[test]
#[ignore = "needs Chromium"]
fn the_first_screen_says_what_to_do_and_where() {
    let mut tab = open(&PROFILE, Window { width: 1200, height: 800, ..WIDE });
    let verdict: String = tab.eval("document.querySelector('p.verdict').textContent");
    assert!(verdict.starts_with("Query_cache::unlock (sql_cache.cc:674) holds query_cache+0x18 for "), "{verdict}");
    let boxes: Vec<[f64; 4]> = tab.eval(
        "[...document.querySelectorAll('#first svg.graph')].map((one) => one.getBoundingClientRect())
           .map((box) => [box.left, box.top, box.right, box.bottom])",
    );
    let [waited, held] = boxes[..] else { panic!("two graphs: {boxes:?}") };
    assert!(waited[2] < held[0] && waited[1] == held[1], "side by side: {boxes:?}");
    assert!(waited[1] < 640.0, "most of them is seen without scrolling: {boxes:?}");
    assert!(!tab.eval::<bool>("document.getElementById('run').open"), "notes are folded");
}

#[test]
#[ignore = "needs Chromium"]
fn a_long_table_is_shown_when_it_is_asked_for() {
    let mut tab = open(&PROFILE, WIDE);
    assert_eq!(rows(&mut tab).len(), 2, "those that matter");
    tab.click("button.more");
    assert_eq!(rows(&mut tab).len(), 33);
    assert!(!tab.eval::<bool>("Boolean(document.querySelector('button.more'))"));
}

/// Name, width in hundredths of the graph, and whether it is seen, of a graph's frames.
fn frames(tab: &mut Tab, graph: &str) -> Vec<(String, f64, bool)> {
    tab.eval(&format!(
        "[...document.querySelector({graph:?}).querySelectorAll('svg.f')].map((one) =>
           [one.querySelector('title').textContent.split(': ')[0], parseFloat(one.getAttribute('width')), isSeen(one)])"
    ))
}

fn seen(tab: &mut Tab, graph: &str) -> Vec<(String, f64)> {
    let seen = frames(tab, graph).into_iter().filter(|(.., is_seen)| *is_seen);
    seen.map(|(name, width, _)| (name, width)).collect()
}

/// Zooms into a lock's frame and out again, by mouse and by keys; then a search.
fn use_graph(tab: &mut Tab, graph: &str, bar: &str) {
    let all = seen(tab, graph);
    assert!(all.len() > 10 && all[0].1 == 100.0, "{all:?}");
    // The first at each level lies at the left edge.
    let (lock, width) = all[1].clone();
    assert!(width < 100.0, "{all:?}");
    tab.click(&format!("{graph} svg.f:nth-of-type(2)"));
    let zoomed = seen(tab, graph);
    assert!(zoomed.iter().any(|(name, width)| *name == lock && (*width - 100.0).abs() < 1e-6), "{zoomed:?}");
    assert!(zoomed.len() < all.len() && zoomed[0].1 == 100.0, "what is above it stays: {zoomed:?}");
    tab.click(&format!("{bar} button"));
    assert_eq!(seen(tab, graph), all, "the way back");
    tab.eval::<bool>(&format!("document.querySelector('{graph} svg.f').focus() ?? true"));
    for key in ["ArrowDown", "ArrowRight", "ArrowLeft", "Enter"] {
        tab.strike(key);
    }
    assert_eq!(seen(tab, graph), zoomed, "keys do the same");
    let told: String = tab.eval(&format!("document.querySelector('{bar} .told').textContent"));
    assert!(told.starts_with(&lock), "{told}");
    tab.strike("Escape");
    assert_eq!(seen(tab, graph), all);
    tab.click(&format!("{bar} input"));
    tab.write("mtr_t::");
    let hits: Vec<String> = tab.eval(&format!(
        "[...document.querySelector({graph:?}).querySelectorAll('.hit title')].map((one) => one.textContent)"
    ));
    assert!(hits.len() == 2 && hits.iter().all(|hit| hit.contains("mtr_t::")), "{hits:?}");
    let found: String = tab.eval(&format!("document.querySelector('{bar} .found').textContent"));
    assert_eq!(found, "found in 6.9 % and 5.9 %");
}

#[test]
#[ignore = "needs Chromium"]
fn a_flame_graph_is_zoomed_and_searched() {
    let mut tab = open(&PROFILE, WIDE);
    use_graph(&mut tab, "#flames svg.graph", "#flames .flamebar");
    let mut tab = Tab::open(&flame_graph("flame", &profile_file()), WIDE);
    use_graph(&mut tab, "svg.graph", ".flamebar");
    tab.resize(PHONE);
    tab.until("document.querySelector('svg.graph').getBoundingClientRect().width < innerWidth");
    keep("flame-graph.png", &tab.picture([0.0, 0.0, f64::from(PHONE.width), 700.0], 2.0));
}

#[test]
#[ignore = "needs Chromium"]
fn a_lock_has_graphs_of_its_own() {
    let mut tab = open(&PROFILE, WIDE);
    let graph = "details.flames-of svg.graph";
    assert!(!tab.eval::<bool>(&format!("Boolean(document.querySelector('{graph}'))")), "nobody has asked yet");
    tab.click("details.flames-of summary");
    tab.until(&format!("document.querySelectorAll('{graph}').length === 2"));
    let own = seen(&mut tab, graph);
    assert_eq!(own[0], ("query_cache+0x18".to_owned(), 100.0));
    // What a script draws says what is written in the page.
    let title = |tab: &mut Tab, graph: &str, name: &str| -> String {
        tab.eval(&format!(
            "[...document.querySelector('{graph}').querySelectorAll('title')].map((one) => one.textContent)
               .find((told) => told.startsWith('{name}'))"
        ))
    };
    let [drawn, written] = [graph, "#flames svg.graph"].map(|graph| title(&mut tab, graph, "execute_sqlcom_select"));
    let figures =
        |told: &str| told.rsplit(": ").next().map(|text| text.split(", ").map(str::to_owned).collect::<Vec<_>>());
    let (drawn, written) = (figures(&drawn).unwrap(), figures(&written).unwrap());
    assert_eq!(
        (&drawn[0], &drawn[2]),
        (&written[0], &written[2]),
        "time and number are the same, the part is of the lock"
    );
    assert_eq!((drawn[1].as_str(), written[1].as_str()), ("29 %", "27 %"));
}

#[test]
#[ignore = "needs Chromium"]
fn a_link_opens_what_it_leads_to() {
    let mut tab = open(&LARGE_PROFILE, WIDE);
    assert!(!tab.eval::<bool>("document.getElementById('lock-7').open"));
    tab.click("a[href='#lock-7']");
    tab.until(
        "document.getElementById('lock-7').open && document.getElementById('lock-7').getBoundingClientRect().top < 200",
    );
}

#[test]
#[ignore = "needs Chromium"]
fn a_thousand_locks_are_usable() {
    let page = &*LARGE_PROFILE;
    let began = Instant::now();
    let mut tab = open(page, WIDE);
    let shown = began.elapsed();
    let size = std::fs::metadata(&page.file).expect("it was opened").len();
    println!("1000 locks, 20,000 stacks: {size} bytes, written in {:.1?}, shown in {shown:.1?}", page.took);
    assert!(size < 5_000_000, "{size} bytes");
    assert_eq!(rows(&mut tab).len(), 10);
    tab.click("button.more");
    tab.click(&head(2));
    assert_eq!(rows(&mut tab).len(), 1000);
    let took: f64 = tab.eval("(() => { const t = performance.now(); document.querySelector('.sortable th:nth-child(4) button').click(); document.body.getBoundingClientRect(); return performance.now() - t; })()");
    assert!(took < 3000.0, "sorting takes {took} ms");
}

#[test]
#[ignore = "needs Chromium"]
fn hostile_names_are_text_in_a_profile() {
    let mut harmless = open(&PROFILE, WIDE);
    let mut tab = open(&HOSTILE_PROFILE, WIDE);
    // Shares stand in elements of ours, one for each lock that was waited for, which are more here.
    let dangerous = |tab: &mut Tab| {
        let mut all = dangerous(tab);
        all.remove("b");
        all
    };
    assert_eq!(dangerous(&mut tab), dangerous(&mut harmless));
    tab.eval::<bool>(OPEN_ALL);
    tab.until("document.querySelectorAll('details.flames-of svg.graph').length > 20");
    for click in [head(0), head(9), "#flames svg.f:nth-of-type(3)".to_owned()] {
        tab.click(&click);
    }
    assert_eq!(dangerous(&mut tab), dangerous(&mut harmless));
    assert_eq!(handlers(&mut tab), Vec::<String>::new());
    tab.click("button.more");
    let names = rows(&mut tab);
    let plain = hostile_locks().into_iter().filter(|name| name.len() < 60 && !name.contains('\u{202e}'));
    for name in plain {
        assert!(names.contains(&name), "{name} is not in the table: {names:?}");
    }
    assert!(names.iter().any(|name| name.starts_with("xxx") && name.contains("...")), "{names:?}");
    assert!(tab.eval::<bool>("window.hacked === undefined"));
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser/hostile-profile/profile.json");
    let mut tab = Tab::open(&flame_graph("hostile-flame", &profile), WIDE);
    tab.click("svg.graph svg.f:nth-of-type(2)");
    assert_eq!(handlers(&mut tab), Vec::<String>::new());
    assert_eq!(tab.eval::<usize>("document.querySelectorAll('script, img, iframe').length"), 1);
    assert!(tab.eval::<bool>("window.hacked === undefined"));
}

#[test]
#[ignore = "needs Chromium"]
fn without_scripts_a_profile_is_whole() {
    let mut tab = Tab::open(&PROFILE.file, Window { scripts: false, ..WIDE });
    assert!(tab.eval::<bool>("document.body.dataset.ready === undefined"), "scripts do not run");
    assert_eq!(rows(&mut tab).len(), 33);
    assert!(seen(&mut tab, "#flames svg.graph").len() > 20);
    let texts: usize = tab.eval("[...document.querySelectorAll('#flames svg.f text')].filter(isSeen).length");
    assert!(texts > 15, "{texts} frames have a name");
    assert!(
        !tab.eval::<bool>("[...document.querySelectorAll('.flames-of')].some(isSeen)"),
        "nothing that would be empty"
    );
}

#[test]
#[ignore = "needs Chromium"]
fn nothing_to_press_is_printed() {
    let mut tab = open(&PROFILE, WIDE);
    tab.click("#run > summary");
    let controls = "everything().filter((one) => one.matches('.flamebar, .more, .copy') && isSeen(one)).length";
    assert!(tab.eval::<usize>(controls) >= 3, "on the screen there are some");
    tab.media("print", "light");
    assert_eq!(tab.eval::<usize>(controls), 0);
}
