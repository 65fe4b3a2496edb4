//! Files that are damaged, by accident or on purpose: any answer, but an answer.

use super::workshop::{C, CPP, Run, Workshop};
use crate::symbols::Symbols;
use std::path::Path;

/// Asks for all that the program told, and for addresses all over it.
fn ask(symbols: &mut Symbols, run: &Run) {
    let module = run.module("program");
    let everywhere = (module.start..module.end).step_by(97);
    for address in run.addresses.values().copied().chain(everywhere) {
        assert!(!symbols.frames(&run.modules, address, true).is_empty());
        symbols.datum(&run.modules, address);
    }
    symbols.remarks();
}

/// Numbers that look random, and are the same each time.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    }
}

fn damage(workshop: &Workshop, damaged: &Path, run: &Run) {
    let whole = std::fs::read(damaged).unwrap();
    for part in 0..40 {
        std::fs::write(damaged, &whole[..whole.len() * part / 40]).unwrap();
        ask(&mut workshop.symbols(), run);
    }
    let mut random = numbers(1);
    for turn in 0..200 {
        let mut bytes = whole.clone();
        // Few, for faults deep in what is else believed; many, for what they do together.
        for _ in 0..1 << (turn % 9) {
            let place = random(bytes.len());
            bytes[place] ^= 1 << random(8);
        }
        std::fs::write(damaged, &bytes).unwrap();
        ask(&mut workshop.symbols(), run);
    }
    std::fs::write(damaged, &whole).unwrap();
}

#[test]
fn a_damaged_program_is_answered_for() {
    let workshop = Workshop::new();
    let program = workshop.compile("g++", CPP, &["-O2", "-g"]);
    let run = workshop.run(&program, &[]);
    damage(&workshop, &program, &run);
    assert!(run.frames(&mut workshop.symbols(), "visit")[0].is_named);
}

#[test]
fn a_damaged_debug_file_is_answered_for() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g", "-gz=zlib"]);
    let debug_file = workshop.split(&program, "program.debug");
    let run = workshop.run(&program, &[]);
    damage(&workshop, &debug_file, &run);
    assert!(run.frames(&mut workshop.symbols(), "hidden")[0].is_named);
}

#[test]
fn damaged_sections_are_remarked() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g"]);
    let run = workshop.run(&program, &[]);
    let sections = workshop.tool("readelf", &["-SW", super::workshop::text(&program)]);
    let line = sections.lines().find(|line| line.contains(" .debug_info ")).unwrap();
    let offset = line.split_whitespace().skip_while(|word| *word != "PROGBITS").nth(2).unwrap();
    let offset = usize::from_str_radix(offset, 16).unwrap();
    let mut bytes = std::fs::read(&program).unwrap();
    bytes[offset..offset + 12].fill(0xee);
    std::fs::write(&program, bytes).unwrap();
    let symbols = &mut workshop.symbols();
    assert_eq!(run.places(symbols, "outer"), [("outer".to_owned(), 0, false)]);
    let remarks = symbols.remarks();
    assert!(remarks.len() == 1 && remarks[0].contains("debug information cannot be used"), "{remarks:?}");
}
