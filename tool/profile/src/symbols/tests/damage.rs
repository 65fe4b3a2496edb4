//! Files that are damaged, by accident or on purpose: any answer, but an answer.

use super::workshop::{C, CPP, Run, Workshop, text};
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

/// Writes over the beginning of a section's bytes in the file.
fn overwrite(workshop: &Workshop, program: &Path, section: &str, offset: usize, bytes: &[u8]) {
    let sections = workshop.tool("readelf", &["-SW", text(program)]);
    let line = sections.lines().find(|line| line.contains(&format!(" {section} "))).unwrap();
    let start = line.split_whitespace().skip_while(|word| *word != "PROGBITS").nth(2).unwrap();
    let start = usize::from_str_radix(start, 16).unwrap() + offset;
    let mut whole = std::fs::read(program).unwrap();
    whole[start..start + bytes.len()].copy_from_slice(bytes);
    std::fs::write(program, whole).unwrap();
}

fn assert_symbols_only(workshop: &Workshop, run: &Run, reason: &str) {
    let symbols = &mut workshop.symbols();
    assert_eq!(run.places(symbols, "outer"), [("outer".to_owned(), 0, false)]);
    let remarks = symbols.remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].contains("debug information cannot be used") && remarks[0].contains(reason), "{remarks:?}");
}

#[test]
fn damaged_debug_information_is_remarked_and_symbols_are_left() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g"]);
    let run = workshop.run(&program, &[]);
    overwrite(&workshop, &program, ".debug_info", 0, &[0xee; 12]);
    assert_symbols_only(&workshop, &run, "");
}

#[test]
fn a_section_is_not_unpacked_that_says_that_it_is_huge() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g", "-gz=zlib"]);
    let run = workshop.run(&program, &[]);
    // The size is the second field of the header, behind the kind with its padding.
    overwrite(&workshop, &program, ".debug_info", 8, &(1_u64 << 40).to_le_bytes());
    assert_symbols_only(&workshop, &run, "1099511627776");
}
