//! Which function a stack is said to be of that ends in a lock's: with less debug information, that is harder to tell.

use super::workshop::{Program, Run, Workshop};
use crate::Frame;
use crate::names::brief;
use crate::symbols::Symbols;
use crate::wrappers::anonymous;
use crate::wrappers::{is_below, is_wrapper, top};

const RUST: Program = ("app.rs", include_str!("../../../../../proof/testprograms/known/released.rs"));
const CPP: Program = ("app.cc", include_str!("../../../../../proof/testprograms/known/released.cpp"));

/// The function that has released each lock.
fn culprits<const N: usize>(symbols: &mut Symbols, run: &Run, names: [&str; N]) -> [String; N] {
    names.map(|name| {
        let of_stack = run.addresses.keys().filter(|key| key.split('.').next() == Some(name));
        let mut frames: Vec<Frame> = of_stack.flat_map(|key| run.frames(symbols, key)).collect();
        for (at, frame) in anonymous::named(&frames.iter().collect::<Vec<_>>()) {
            frames[at] = frame;
        }
        let is_wrapper = |frame: &&Frame| is_wrapper(frame, &brief(&frame.function));
        brief(&top(frames.iter(), is_wrapper, |frame| is_below(frame)).unwrap().function)
    })
}

const NAMES: [&str; 7] = ["inlined", "closure", "generic", "trait", "option", "own", "thread"];

fn rust(workshop: &Workshop, flags: &[&str]) -> [String; 7] {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let locks = workshop.path("lock_api-0.5.0/src/mutex.rs");
    std::fs::create_dir_all(locks.parent().unwrap()).unwrap();
    std::fs::write(locks, include_str!("../../../../../proof/testprograms/known/released_locks.rs")).unwrap();
    let program = workshop.compile(&rustc, RUST, flags);
    culprits(&mut workshop.symbols(), &workshop.run(&program, &[]), NAMES)
}

#[test]
fn rust_with_tables_of_lines_only() {
    for flags in [&["-Copt-level=2"][..], &["-Copt-level=3"], &["-Copt-level=3", "-Clto=fat", "-Cpanic=abort"]] {
        let workshop = Workshop::new();
        let found = rust(&workshop, &[&["--edition=2024", "-Cdebuginfo=line-tables-only"], flags].concat());
        let expected = [
            "in_inlined",
            "app::outer_of_closure::{closure#0}",
            "in_generic",
            "app::Store::in_trait",
            "app::outer_of_option::{closure#0}",
            "in_own",
            "app::main::{closure#1}",
        ];
        assert_eq!(found, expected, "{flags:?}");
    }
}

#[test]
fn rust_with_debug_information() {
    for debug in ["-Cdebuginfo=1", "-Cdebuginfo=2"] {
        let workshop = Workshop::new();
        let found = rust(&workshop, &["--edition=2024", "-Copt-level=3", debug]);
        let expected = [
            "app::in_inlined",
            "app::outer_of_closure::{{closure}}",
            "app::Store::in_generic",
            "app::Store::in_trait",
            "app::outer_of_option::{{closure}}",
            "app::in_own",
            "app::main::{{closure}}",
        ];
        // Names of closures, and of what generics are for, have changed over time.
        let alike = |name: &str| name.replace("{{closure}}", "{closure#0}").replace("{closure#1}", "{closure#0}");
        assert_eq!(found.map(|name| alike(&name)), expected.map(alike), "{debug}");
    }
}

#[test]
fn rust_without_debug_information() {
    for mangling in [&[][..], &["-Csymbol-mangling-version=v0"]] {
        let workshop = Workshop::new();
        let found = rust(&workshop, &[&["--edition=2024", "-Copt-level=3", "-Cdebuginfo=0"], mangling].concat());
        let expected = [
            "app::outer_of_inlined",
            "app::outer_of_closure",
            "app::outer_of_generic",
            "app::Store::in_trait",
            "app::outer_of_option",
            "app::outer_of_own",
        ];
        assert_eq!(found[..6], expected);
        // Old symbols do not say which closure a function of the standard library is compiled for.
        let is_told = found[6] == "app::main::{closure#1}";
        assert!(is_told || mangling.is_empty() && found[6].starts_with("core::ops::function::"), "{}", found[6]);
    }
}

fn cpp(flags: &[&str]) -> [String; 5] {
    let workshop = Workshop::new();
    let flags = [flags, &["-std=c++17", "-pthread"]].concat();
    let program = &workshop.compile("g++", CPP, &flags);
    culprits(&mut workshop.symbols(), &workshop.run(program, &[]), ["inlined", "closure", "generic", "trait", "thread"])
}

#[test]
fn cpp_with_and_without_debug_information() {
    const GENERIC: &str = "space::Store::in_generic";
    const TRAIT: &str = "space::Place::in_trait";
    for flags in [["-O2", "-g1"], ["-O2", "-g"]] {
        let expected = [
            "space::in_inlined",
            "space::outer_of_closure::{lambda}::operator()",
            GENERIC,
            TRAIT,
            "main::{lambda#1}::operator()",
        ];
        assert_eq!(cpp(&flags), expected, "{flags:?}");
    }
    let expected =
        ["space::outer_of_inlined", "space::outer_of_closure", GENERIC, TRAIT, "main::{lambda#1}::operator()"];
    assert_eq!(cpp(&["-O2"]), expected);
    let [inlined, closure, ..] = cpp(&["-O0"]);
    assert_eq!([inlined, closure], ["space::outer_of_inlined", "space::outer_of_closure::{lambda#1}::operator()"]);
}
