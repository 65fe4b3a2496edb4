use super::*;
use crate::made_up;
use crate::profile::{LockKind, WaitKind};
use crate::words::FROM_KERNEL;

#[test]
fn a_wide_terminal_has_all_in_one_line() {
    let text = table(&made_up::server(), 150);
    assert!(text.lines().all(|line| line.chars().count() <= 150), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_narrow_terminal_has_functions_below() {
    let text = table(&made_up::server(), 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_to_show_is_said() {
    let few = Profile { has_locked: true, ..made_up::silent() };
    let kernel = Profile { lock: FROM_KERNEL.to_owned(), ..made_up::silent() };
    insta::assert_snapshot!([made_up::calm(), made_up::silent(), few, kernel].map(|one| table(&one, 100)).join("\n"));
}

#[test]
fn more_than_ten_are_counted() {
    let mut profile = made_up::small();
    let mut lock = profile.locks[0].clone();
    // Each waits for half of the time.
    (lock.wait_ns, lock.handing_on_ns) = (32e9, 0.0);
    profile.locks = (0..25).map(|n| Lock { name: format!("lock {n}"), ..lock.clone() }).collect();
    profile.locks[3].waits = 0.0;
    profile.locks[3].wait_ns = 0.0;
    let text = table(&profile, 120);
    assert!(text.starts_with("small: Sections under `lock 0` are short"), "{text}");
    assert!(text.contains("lock 10") && !text.contains("lock 11"), "{text}");
    assert!(text.contains("\n15 other locks: together 58 % of the waiting\n"), "{text}");
}

#[test]
fn locks_come_in_the_order_of_a_column() {
    let mut profile = made_up::small();
    let usual = profile.locks[0].clone();
    // Most of the waiting, most waits, the longest wait.
    profile.locks = [("c", 40e9, 10.0, 10), ("b", 30e9, 30.0, 20), ("a", 20e9, 20.0, 30)]
        .map(|(name, wait_ns, waits, longest_ns)| Lock {
            name: name.into(),
            wait_ns,
            waits,
            longest_ns,
            ..usual.clone()
        })
        .to_vec();
    for (column, order) in [
        (SortColumn::Share, "cba"),
        (SortColumn::Waits, "bac"),
        (SortColumn::Longest, "abc"),
        (SortColumn::Name, "abc"),
    ] {
        let found = findings(&profile);
        assert_eq!(found.locks, [0, 1, 2]);
        let names: String = listed(&profile, &found, column).iter().map(|(_, lock)| lock.name.as_str()).collect();
        assert_eq!(names, order, "{column:?}");
    }
}

/// Forty rows of next to nothing were printed once.
#[test]
fn where_nothing_matters_little_is_said() {
    let mut profile = made_up::small();
    let lock = profile.locks[0].clone();
    profile.locks = (0..25).map(|n| Lock { name: format!("lock {n}"), ..lock.clone() }).collect();
    let text = table(&profile, 120);
    assert!(
        text.starts_with("small: No lock holds this program back: its threads waited <0.1 % of the time"),
        "{text}"
    );
    assert!(
        text.contains("lock 2") && !text.contains("lock 3") && text.contains("22 other locks: together 88 %"),
        "{text}"
    );
    assert!(!text.contains("\n- ") && text.contains(" waited  waits"), "{text}");
    assert!(text.lines().count() <= 13, "{text}");
}

#[test]
fn kinds_that_are_not_the_usual_one_are_named() {
    let mut profile = made_up::server();
    profile.locks[0].kind = LockKind::RwLock;
    profile.conditions[1].kind = WaitKind::Semaphore;
    let wide = table(&profile, 160);
    assert!(wide.contains("query_cache+0x18, rwlock"), "{wide}");
    assert!(wide.contains("  held meanwhile by") && !wide.contains("woken by"), "{wide}");
    assert!(wide.contains("22.8 s of waiting on 1 condition variable and 1 semaphore (600 waits)"), "{wide}");
    // Names with what they do need more room than these.
    assert!(table(&profile, 135).contains("\n    waits most:  "));
    let narrow = table(&profile, 80);
    assert!(narrow.contains("    held meanwhile by: Query_cache::unlock 100 %"), "{narrow}");
    profile.lock = FROM_KERNEL.to_owned();
    profile.locks.iter_mut().for_each(|lock| lock.wakers = std::mem::take(&mut lock.holders));
    let narrow = table(&profile, 80);
    assert!(narrow.contains("    woken by:          log_t::append_prepare 100 %"), "{narrow}");
    let wide = table(&profile, 160);
    assert!(wide.contains("  woken by") && !wide.contains("held meanwhile by"), "{wide}");
    // Looks have seen who holds one of them.
    let lock = &mut profile.locks[0];
    lock.holders = std::mem::take(&mut lock.wakers);
    lock.causes = vec![crate::Cause { ns: lock.wait_ns, ..Default::default() }];
    let either = table(&profile, 160);
    assert!(either.contains("  held or woken by") && either.contains("log_t::append_prepare 100 %"), "{either}");
}

#[test]
fn files_without_names_are_one_line_with_a_command() {
    let mut profile = made_up::server();
    profile.notes = vec![crate::Note::with_command("because 3. Fetch them:", "fetch a b c")];
    profile.notes.extend(
        ["a", "b", "c"].map(|file| format!("{file}: is stripped, and {} (id)", crate::symbols::NO_DEBUG_FILE).into()),
    );
    let text = table(&profile, 100);
    assert!(text.ends_with(" because 3. Fetch them:\n  fetch a b c\n"), "{text}");
}

/// No other name of a lock or a function may be in the list.
#[test]
fn names_are_whole_at_any_width() {
    let mut profile = made_up::small();
    let name = |what: &str| format!("{what}_{}", "of_the_application_".repeat(5));
    profile.locks[0].name = name("lock");
    profile.frames.iter_mut().for_each(|frame| frame.function = name("function"));
    for width in [20, 80, 160, 1000] {
        let text = table(&profile, width);
        assert!(!text.contains("..."), "{text}");
        let row = |head: &str| text.lines().any(|line| line.contains(head) && line.contains(&name("function")));
        let is_below = row("waits most: ") && row("held meanwhile by: ");
        assert!(is_below || width == 1000 && row(&name("lock")), "{text}");
    }
}

#[test]
fn hostile_names_stay_in_their_line() {
    for name in ["a\nb\u{1b}[31mc\u{202e}", &"x".repeat(4000), "", "50 %", "\u{5de}\u{5e0}"] {
        let mut profile = made_up::small();
        profile.command = vec![name.into()];
        profile.locks[0].name = name.into();
        profile.frames.iter_mut().for_each(|frame| frame.function = name.into());
        profile.notes = vec![name.into()];
        for width in [0, 40, 80, 200] {
            let text = table(&profile, width);
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
            let expected = text.lines().filter(|line| line.contains("100 %")).count();
            assert!(expected >= 1, "{text}");
        }
    }
}
