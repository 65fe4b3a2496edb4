use super::*;
use crate::profile::{Profile, Site};
use crate::sample::{Builder, toy};
use flate2::read::GzDecoder;
use ondeck_kit::palette::contrast;
use std::io::Read;

/// A run in which these functions, called by `worker`, waited so many ms for a lock that `flush` held.
fn run(seconds: f64, lock: &str, waiters: &[(&str, f64)]) -> Profile {
    let mut builder = Builder::new(seconds);
    let holder = builder.stack(&["flush", "main"]);
    let site = |(function, ms): &(&str, f64)| {
        let stack = builder.stack(&[function, "worker", "main"]);
        Site { stack, count: 1000.0, ns: ms * 1e6 }
    };
    let sites: Vec<Site> = waiters.iter().map(site).collect();
    let ns: f64 = sites.iter().map(|site| site.ns).sum();
    let lock = builder.lock(lock, sites.len() as f64 * 1000.0, 1.0, holder, holder);
    (lock.waiters, lock.wait_ns, lock.holders[0].ns) = (sites, ns, ns);
    builder.0
}

/// Class and title of each frame of each graph: who waited before and after, who held before and after.
fn graphs(page: &str) -> Vec<Vec<(String, String)>> {
    let between = |text: &str, start: &str, end: &str| {
        let after = text.split_once(start).expect(start).1;
        after.split_once(end).expect(end).0.to_owned()
    };
    let frames = |graph: &str| {
        let frames = graph.split("<svg class=\"f ").skip(1);
        frames
            .map(|frame| (frame.split_once('"').unwrap().0.to_owned(), between(frame, "<title>", "</title>")))
            .collect()
    };
    page.split("<svg class=\"graph\"").skip(1).map(frames).collect()
}

fn page_of(old: &Profile, new: &Profile) -> String {
    page(&Summary::of(old), &Summary::of(new), ["old.json", "new.json"])
}

/// The runs differ in length, and the lock has another number in its name.
#[test]
fn frames_have_the_colour_of_their_difference() {
    let old = run(2.0, "3 locks made in `main`", &[("same", 2.0), ("gone", 4.0), ("less", 3.0)]);
    let new = run(4.0, "5 locks made in `main`", &[("same", 4.0), ("fresh", 8.0), ("less", 3.0)]);
    let page = page_of(&old, &new);
    let graphs = graphs(&page);
    assert_eq!(graphs.len(), 4);
    let [before, after] = [&graphs[0], &graphs[1]];
    let found = |graph: &[(String, String)], name: &str| {
        let begins = format!("{name}: ");
        graph.iter().find(|(_, title)| title.starts_with(&begins)).map(|(class, title)| (class.clone(), title.clone()))
    };
    let is = |class: &str, title: &str| Some((class.to_owned(), title.to_owned()));
    let same = is("same", "same: before 1.00 ms, after 1.00 ms in each second, +0.0%");
    assert_eq!((found(before, "same"), found(after, "same")), (same.clone(), same));
    let gone = is("less4", "gone: before 2.00 ms, after 0 ns in each second, gone");
    assert_eq!((found(before, "gone"), found(after, "gone")), (gone, None));
    let fresh = is("more4", "fresh: before 0 ns, after 2.00 ms in each second, new");
    assert_eq!((found(before, "fresh"), found(after, "fresh")), (None, fresh));
    let less = is("less2", "less: before 1.50 ms, after 750 us in each second, -50.0%");
    assert_eq!((found(before, "less"), found(after, "less")), (less.clone(), less));
    // Of the lock, and of all that is above.
    let whole = "before 4.50 ms, after 3.75 ms in each second, -16.7%";
    for name in ["all waiting for locks", "5 locks made in `main`", "main", "worker"] {
        assert_eq!(found(after, name), is("less2", &format!("{name}: {whole}")), "{name}");
    }
    assert_eq!(graphs[3].last().map(|(_, title)| title.as_str()), Some(&*format!("flush: {whole}")));
    assert!(page.contains("Before: 4.50 ms of waiting in each second") && page.contains("After: 3.75 ms"), "{page}");
    assert!(page.contains("\n all locks") && page.contains("-16.7%"), "the tables are there, too");
}

#[test]
fn steps_are_quarters_of_the_largest_difference() {
    let steps =
        [-4.0, -3.1, -1.1, -0.09, -0.01, 0.0, 0.07, 0.09, 1.0, 2.0, 4.0].map(|difference| step(difference, 4.0));
    assert_eq!(steps, [-4, -4, -2, -1, 0, 0, 0, 1, 1, 2, 4]);
    assert_eq!(step(0.0, 0.0), 0);
}

/// Both forms of a file have whole stacks.
#[test]
fn a_file_for_pprof_gives_the_same_picture() {
    let profile = toy();
    let mut unpacked = Vec::new();
    GzDecoder::new(&crate::pprof::write(&profile)[..]).read_to_end(&mut unpacked).unwrap();
    let packed = crate::pprof::read(&unpacked).unwrap();
    let whole = Summary::of(&profile);
    let pages =
        [page(&whole, &whole, ["a", "b"]), page(&packed, &packed, ["a", "b"]), page(&packed, &whole, ["a", "b"])];
    let [whole, packed, both] = pages.map(|page| graphs(&page));
    let deepest = "queue_lock: before 1.05 ms, after 1.05 ms in each second, +0.0%";
    assert!(whole[1].iter().any(|(_, title)| title.starts_with("main: ")), "{whole:?}");
    assert!(
        whole[1].len() > 10 && !whole[1].iter().any(|(_, title)| title == deepest),
        "it has two callers: {whole:?}"
    );
    assert_eq!(packed, whole);
    assert!(both.iter().flatten().all(|(class, _)| class.starts_with("same")), "{both:?}");
}

#[test]
fn hostile_names_are_text() {
    for name in ["<script>alert(1)</script>", "\"' onload=x", "</title><img src=x>", "a\u{0}\u{202e}\nb"] {
        let hostile = run(1.0, name, &[(name, 5.0)]);
        let page = page(&Summary::of(&run(1.0, "a", &[])), &Summary::of(&hostile), [name, name]);
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        assert!(!page.contains("<img") && !page.contains('\u{0}') && !page.contains("NaN"), "{name}");
    }
}

#[test]
fn runs_without_waiting_have_a_page() {
    let page = page_of(&run(1.0, "a", &[]), &run(1.0, "b", &[]));
    assert!(graphs(&page).is_empty() && page.contains("There is nothing to show.") && !page.contains("NaN"), "{page}");
}

#[test]
fn what_is_written_on_a_frame_can_be_read() {
    for (at, (ground, _)) in flamegraph::GROUNDS.iter().enumerate() {
        for (class, fill) in fills(at) {
            assert!(contrast(&fill, ground.ink) >= 4.5, "{class}: {fill} below {}", ground.ink);
        }
    }
}
