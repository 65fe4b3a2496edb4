//! `docs/soundness.md` says which types threads may share and send, and what the compiler refuses: both are held here.

use std::cell::Cell;
use std::marker::PhantomData;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::MutexGuard as StdGuard;

/// Whether a type has a trait, as a constant: the inherent one is there if the bound holds and then hides the other.
macro_rules! has {
    ($type:ty: $bound:ident) => {{
        #[allow(dead_code)]
        trait Otherwise {
            const ANSWER: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        #[allow(dead_code)]
        struct Probe<T: ?Sized>(PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $bound> Probe<T> {
            const ANSWER: bool = true;
        }
        <Probe<$type>>::ANSWER
    }};
}

/// One row of the table: what a type demands of its data to have a trait, found out with data of all four kinds.
macro_rules! row {
    ($name:literal, $with:ident => $type:ty) => {{
        type OfBoth<$with> = $type;
        type Send_ = OfBoth<Cell<u8>>;
        type Sync_ = OfBoth<StdGuard<'static, u8>>;
        type Both = OfBoth<u8>;
        type Neither = OfBoth<Rc<u8>>;
        let send = [has!(Both: Send), has!(Send_: Send), has!(Sync_: Send), has!(Neither: Send)];
        let sync = [has!(Both: Sync), has!(Send_: Sync), has!(Sync_: Sync), has!(Neither: Sync)];
        ($name, demand(send), demand(sync))
    }};
}

/// What must hold of the data, if with data that is `Send` and `Sync`, only the one, only the other, or neither it is so.
fn demand(holds: [bool; 4]) -> &'static str {
    match holds {
        [true, true, true, true] => "always",
        [true, true, false, false] => "`T: Send`",
        [true, false, true, false] => "`T: Sync`",
        [true, false, false, false] => "`T: Send + Sync`",
        [false, false, false, false] => "never",
        _ => panic!("no rule of the data's bounds: {holds:?}"),
    }
}

fn found() -> Vec<(&'static str, &'static str, &'static str)> {
    let rows = vec![
        row!("Mutex<T>", T => ondeck::Mutex<T>),
        row!("MutexGuard<T>", T => ondeck::MutexGuard<'static, T>),
        row!("MappedMutexGuard<T>", T => ondeck::MappedMutexGuard<'static, T>),
        row!("poison::Mutex<T>", T => ondeck::poison::Mutex<T>),
        row!("poison::MutexGuard<T>", T => ondeck::poison::MutexGuard<'static, T>),
        row!("poison::MappedMutexGuard<T>", T => ondeck::poison::MappedMutexGuard<'static, T>),
        row!("RwLock<T>", T => ondeck::RwLock<T>),
        row!("RwLockReadGuard<T>", T => ondeck::RwLockReadGuard<'static, T>),
        row!("RwLockWriteGuard<T>", T => ondeck::RwLockWriteGuard<'static, T>),
        row!("RwLockUpgradableReadGuard<T>", T => ondeck::RwLockUpgradableReadGuard<'static, T>),
        row!("MappedRwLockReadGuard<T>", T => ondeck::MappedRwLockReadGuard<'static, T>),
        row!("MappedRwLockWriteGuard<T>", T => ondeck::MappedRwLockWriteGuard<'static, T>),
        row!("poison::RwLock<T>", T => ondeck::poison::RwLock<T>),
        row!("poison::RwLockReadGuard<T>", T => ondeck::poison::RwLockReadGuard<'static, T>),
        row!("poison::RwLockWriteGuard<T>", T => ondeck::poison::RwLockWriteGuard<'static, T>),
        row!("Monitor<T>", T => ondeck::Monitor<T>),
        row!("MonitorGuard<T>", T => ondeck::MonitorGuard<'static, T>),
        #[cfg(feature = "arc_lock")]
        row!("ArcMutexGuard<T>", T => ondeck::ArcMutexGuard<T>),
        #[cfg(feature = "arc_lock")]
        row!("ArcRwLockReadGuard<T>", T => ondeck::ArcRwLockReadGuard<T>),
        #[cfg(feature = "arc_lock")]
        row!("ArcRwLockWriteGuard<T>", T => ondeck::ArcRwLockWriteGuard<T>),
        #[cfg(feature = "arc_lock")]
        row!("ArcRwLockUpgradableReadGuard<T>", T => ondeck::ArcRwLockUpgradableReadGuard<T>),
    ];
    rows
}

#[test]
fn threads_may_share_and_send_what_the_table_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/soundness.md");
    // Not in the published package, where the types are the same.
    let Ok(text) = std::fs::read_to_string(&file) else { return };
    for (name, send, sync) in found() {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/soundness.md has no row for `{name}`"));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!((cells[2], cells[3]), (send, sync), "`{name}` in docs/soundness.md");
    }
}

/// The tests that the table of calls names are there.
#[test]
fn each_call_into_a_programs_code_has_its_test() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(here.join("../../docs/soundness.md")) else { return };
    let (_, section) = text.split_once("## Where the locks call your code").expect("the section is there");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 10, "{rows:?}");
    let files = std::fs::read_dir(here.join("tests")).expect("it is this test's").flatten();
    let tests: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 6 && cells.iter().all(|cell| !cell.is_empty()), "{row}");
        let names = cells[5].split('`').skip(1).step_by(2).filter(|name| !name.contains('/'));
        for name in names {
            assert!(tests.contains(&format!("fn {name}()")), "no test is called {name}");
        }
    }
}

/// The texts are those of one compiler. Others refuse the same in other words; there the documentation's examples, which
/// must not compile either, are all that is looked at.
#[test]
fn what_must_not_compile_does_not() {
    let rustc = Command::new("rustc").arg("--version").output().expect("cargo runs it too");
    let version = String::from_utf8_lossy(&rustc.stdout).into_owned();
    if !version.starts_with("rustc 1.95.") {
        eprintln!("not compared: the texts are of rustc 1.95, this is {version}");
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.pass("tests/accepted/*.rs");
    cases.compile_fail("tests/refused/*.rs");
}
