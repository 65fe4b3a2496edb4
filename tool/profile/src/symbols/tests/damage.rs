//! Files that are damaged, by accident or on purpose: any answer, but an answer.

use super::workshop::{C, CPP, Run, Workshop, text};
use crate::symbols::Symbols;
use ondeck_record::layout::in_time;
use ondeck_record::read::outside::Budget;
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

/// A program whose debug information unpacks to so many MB more.
fn bomb(workshop: &Workshop, packing: &str, megabytes: usize) -> Run {
    let padding = format!(".section .debug_str,\"MS\",@progbits,1\n.fill {},1,65\n.byte 0\n", megabytes << 20);
    std::fs::write(workshop.path("padding.s"), padding).unwrap();
    let flags = ["-g", &format!("-Wl,--compress-debug-sections={packing}"), "padding.s"];
    let program = workshop.compile("gcc", C, &flags);
    assert!(program.metadata().unwrap().len() < 1 << 20);
    workshop.run(&program, &[])
}

#[test]
fn what_unpacks_to_more_than_the_budget_is_remarked_and_takes_none() {
    let workshop = Workshop::new();
    for packing in ["zlib", "zstd"] {
        let run = bomb(&workshop, packing, 100);
        let within = |megabytes: u64| {
            let mut symbols = workshop.symbols();
            symbols.budget = Budget::of(megabytes << 20);
            let named = run.places(&mut symbols, "outer");
            (named, symbols.remarks().join("\n"), symbols.budget.taken() >> 20)
        };
        let (named, remarks, taken) = within(50);
        assert_eq!(named, [("outer".to_owned(), 0, false)], "{packing}");
        // The one is packed more than any compiler's text could be.
        let words = match packing {
            "zlib" => &[".debug_str unpacks to 100 MB", "at most 50 MB", "objcopy --decompress-debug-sections"][..],
            _ => &[".debug_str says that its ", " unpack to 1048"],
        };
        for words in words {
            assert!(remarks.contains(words), "{packing}: {words} is missing in: {remarks}");
        }
        assert!(taken < 2, "{packing}: {taken} MB");
        if packing == "zlib" {
            let (named, remarks, taken) = within(150);
            assert!(named[0].1 > 0 && remarks.is_empty() && taken >= 100, "{named:?} {remarks} {taken} MB");
        }
    }
}

#[test]
fn symbols_that_do_not_fit_are_remarked() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &[]);
    let run = workshop.run(&program, &[]);
    let mut symbols = workshop.symbols();
    symbols.budget = Budget::of(300);
    assert_eq!(symbols.frames(&run.modules, run.addresses["outer"], true).len(), 1);
    let remarks = symbols.remarks().join("\n");
    assert!(remarks.contains("its symbols do not fit"), "{remarks}");
}

/// What is split off is named by the file, as any path. To open this one makes a new terminal.
#[test]
fn split_debug_information_in_a_device_is_not_opened() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-g", "-gsplit-dwarf"]);
    let run = workshop.run(&program, &[]);
    let split = std::fs::read_dir(workshop.path("")).unwrap().flatten().map(|entry| entry.path());
    let split = split.filter(|path| path.extension().is_some_and(|end| end == "dwo")).collect::<Vec<_>>();
    assert!(run.places(&mut workshop.symbols(), "outer")[0].1 > 0 && !split.is_empty());
    for path in split {
        std::fs::remove_file(&path).unwrap();
        let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        // Nobody writes into it: who opens it to read waits for ever, unless it is looked at first.
        // SAFETY: a text that ends with 0.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    }
    assert_eq!(run.places(&mut workshop.symbols(), "outer")[0].0, "outer");
}

#[test]
fn addresses_of_what_took_a_place_and_is_not_known_are_told_of() {
    for (module, expected) in [(0, 0), (3, 1), (in_time::UNTOLD, 1)] {
        let mut symbols = Symbols::default();
        let frames = symbols.frames(&[], in_time::address(0x7f00_1234_5001, module), true);
        assert_eq!(frames[0].function, "[unknown 0x7f0012345000]");
        assert_eq!(symbols.remarks().len(), expected, "{module}");
    }
}
