use super::*;
use crate::made_up;

fn advice() -> Vec<(usize, String)> {
    vec![
        (
            0,
            "The holder calls Query_cache::invalidate_table within the lock: most of the waiting is charged to it."
                .into(),
        ),
        (0, "Turn the query cache off, if the hit rate is low.".into()),
        (99, "Of a lock that is not there.".into()),
    ]
}

#[test]
fn a_wide_terminal_has_all_in_one_line() {
    let text = table(&made_up::server(), &advice(), 150);
    assert!(text.lines().all(|line| line.chars().count() <= 150), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_narrow_terminal_has_functions_below() {
    let text = table(&made_up::server(), &advice(), 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_to_show_is_said() {
    insta::assert_snapshot!(table(&made_up::calm(), &[], 100) + "\n" + &table(&made_up::silent(), &[], 100));
}

#[test]
fn more_than_ten_are_counted() {
    let mut profile = made_up::small();
    let lock = profile.locks[0].clone();
    profile.locks = (0..25).map(|n| Lock { name: format!("lock {n}"), ..lock.clone() }).collect();
    profile.locks[3].waits = 0.0;
    profile.locks[3].wait_ns = 0.0;
    let text = table(&profile, &[], 120);
    assert!(text.contains("lock 10") && !text.contains("lock 11"), "{text}");
    assert!(text.contains("\nand 14 more, with 58 % of all waiting\n1 other lock had no waits\n"), "{text}");
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
            let text = table(&profile, &[(0, name.into())], width);
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
            let expected = text.lines().filter(|line| line.contains("100 %")).count();
            assert!(expected >= 1, "{text}");
        }
    }
}
