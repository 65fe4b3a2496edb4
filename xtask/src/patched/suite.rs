//! parking_lot's own tests and examples as a crate that depends on a parking_lot.
//!
//! Its tests stand in its sources and name the crate as `crate`; that word is all that is exchanged. A crate is generated
//! that has them as test programs, one for each file, and the examples of its documentation as its own documentation.

use super::trees::{ORIGINAL, Trees, head, test};
use crate::files::{empty, mirror, names, read, write};
use std::iter;
use std::path::Path;

/// Tests that must fail, with the reason: those that expect a deadlock to be found, for which ours records nothing. One that
/// passes is a fault as well.
const EXPECTED_TO_FAIL: [&str; 4] = [
    "tests::test_mutex_deadlock",
    "tests::test_mutex_deadlock_reentrant",
    "tests::test_remutex_deadlock",
    "tests::test_rwlock_deadlock",
];

/// Before the tests of each file: an internal method that tests of the condition variable call, made of public ones.
const PRELUDE: &str = r"#![allow(warnings)]
trait Internal {
    fn wait_while_until_internal<T: ?Sized>(
        &self,
        guard: &mut parking_lot::MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Option<std::time::Instant>,
    ) -> parking_lot::WaitTimeoutResult;
}
impl Internal for parking_lot::Condvar {
    fn wait_while_until_internal<T: ?Sized>(
        &self,
        guard: &mut parking_lot::MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Option<std::time::Instant>,
    ) -> parking_lot::WaitTimeoutResult {
        match timeout {
            Some(timeout) => self.wait_while_until(guard, condition, timeout),
            None => self.wait_while_for(guard, condition, std::time::Duration::MAX),
        }
    }
}
";

/// The features of parking_lot that its tests ask for.
const FORWARDED: [&str; 6] =
    ["arc_lock", "deadlock_detection", "hardware-lock-elision", "owning_ref", "send_guard", "serde"];

/// Features to run with, each time the whole suite; `send_guard` and `deadlock_detection` exclude each other.
const FEATURES: [&str; 3] = ["", "arc_lock,serde,owning_ref,send_guard,hardware-lock-elision", "deadlock_detection"];

/// Runs the suite, and says what came out otherwise than it should.
pub(super) fn run(trees: &Trees) -> Result<Vec<String>, String> {
    let (fresh, directory) = (trees.directory.join("suite-fresh"), trees.directory.join("suite"));
    empty(&fresh)?;
    generate(trees, &fresh)?;
    mirror(&fresh, &directory, &[directory.join("Cargo.lock")])?;
    trees.prove(&directory, "")?;
    let mut faults = Vec::new();
    for features in FEATURES {
        let (tests, is_good) = test(&mut trees.cargo(&directory, &["test", "--no-fail-fast", "--features", features]))?;
        let expected = if features == "deadlock_detection" { &EXPECTED_TO_FAIL[..] } else { &[] };
        let (n_passed, n_failed, names) = (tests.n_passed, tests.failed.len(), tests.failed.join(", "));
        println!("parking_lot's own tests [{features}]: {n_passed} passed, {n_failed} failed: {names}");
        if n_passed == 0 || tests.failed != expected || is_good != expected.is_empty() {
            faults.push(format!("parking_lot's tests with [{features}]: not those failed that must, {expected:?}"));
        }
    }
    Ok(faults)
}

fn generate(trees: &Trees, directory: &Path) -> Result<(), String> {
    let sources = trees.fetch(&ORIGINAL)?;
    let feature = |name| format!("{name} = [\"parking_lot/{name}\"]\n");
    let manifest = format!(
        "{}[features]\n{}\n[dependencies]\nparking_lot = \"={}\"\n\n\
         [dev-dependencies]\nbincode = \"1.3.3\"\nrand = \"0.8.3\"\n{}",
        head("suite"),
        FORWARDED.map(feature).concat(),
        ORIGINAL.version,
        trees.patch()
    );
    write(&directory.join("Cargo.toml"), manifest)?;
    let mut examples = "#![allow(warnings)]\n".to_owned();
    for name in names(&sources.join("src"))?.iter().filter(|name| name.ends_with(".rs")) {
        let text = read(&sources.join("src").join(name))?;
        let tests = test_modules(&text);
        if !tests.is_empty() {
            write(&directory.join("tests").join(name), format!("{PRELUDE}{tests}"))?;
        }
        examples.push_str(&documentation(&text));
    }
    write(&directory.join("src/lib.rs"), examples)?;
    for name in names(&sources.join("tests"))? {
        write(&directory.join("tests").join(&name), read(&sources.join("tests").join(&name))?)?;
    }
    Ok(())
}

/// The modules that are compiled for tests only, with the crate named from outside. rustfmt has written them: what begins at
/// the margin ends there.
fn test_modules(text: &str) -> String {
    // One name of another crate's stands for this crate's.
    let outside = |module: &str| {
        module.replace("crate::", "parking_lot::").replace("parking_lot_core::deadlock", "parking_lot::deadlock")
    };
    let modules =
        text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.split_once("\n}\n")?.0.split_once(" {\n"));
    let module =
        |(head, body)| format!("#[cfg(test)]\n{head} {{\n    use super::Internal as _;\n{}\n}}\n", outside(body));
    modules.map(module).collect()
}

/// Each block of documentation, on an item of its own; that of the file is as good as another's.
fn documentation(text: &str) -> String {
    let mut found = String::new();
    let mut is_open = false;
    for line in text.lines().chain(iter::once("")).map(str::trim_start) {
        let words = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        match words {
            Some(words) => found.push_str(&format!("///{words}\n")),
            None if is_open => found.push_str("const _: () = ();\n"),
            None => {}
        }
        is_open = words.is_some();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_for_tests_are_found_with_the_crate_named_from_outside() {
        let text = "mod a { use crate::B; }\n#[cfg(test)]\nmod tests {\n    use crate::{C, D};\n}\n";
        let modules = "#[cfg(test)]\nmod tests {\n    use super::Internal as _;\n    use parking_lot::{C, D};\n}\n";
        assert_eq!(test_modules(text), modules);
    }

    #[test]
    fn blocks_of_documentation_stay_apart() {
        let text = "//! one\nfn a() {}\n    /// two\n    /// more\n    fn b() {}\n";
        assert_eq!(documentation(text), "/// one\nconst _: () = ();\n/// two\n/// more\nconst _: () = ();\n");
    }
}
