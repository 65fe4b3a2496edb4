//! Names, lines, inlined functions and data, of each language.

use super::workshop::{C, CPP, LIBRARY, RUST, Workshop, line, text};
use crate::symbols::hexadecimal;

fn place(name: &str, line: u32, is_inlined: bool) -> (String, u32, bool) {
    (name.to_owned(), line, is_inlined)
}

#[test]
fn c_with_inlined_functions_wherever_it_is_loaded() {
    for flags in [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]] {
        let workshop = Workshop::new();
        let program = workshop.compile("gcc", C, &[&["-O2", "-g"][..], &flags].concat());
        let run = workshop.run(&program, &[]);
        let is_fixed = run.module("program").bias == 0;
        assert_eq!(is_fixed, flags[1] == "-no-pie");
        let symbols = &mut workshop.symbols();
        let [inner, middle, outer, hidden] = ["inner", "middle", "outer", "hidden"].map(|mark| line(C, mark));
        let expected = [place("inner", inner, true), place("middle", middle, true), place("outer", outer, false)];
        assert_eq!(run.places(symbols, "outer"), expected);
        assert_eq!(run.places(symbols, "hidden"), [place("hidden", hidden, false)]);
        for frame in run.frames(symbols, "outer") {
            assert!(frame.is_named);
            assert_eq!(frame.module, "program");
            assert_eq!(frame.file, text(&workshop.path("program.c")));
            assert_eq!(frame.build_id, hexadecimal(&run.module("program").build_id));
            assert_eq!(frame.address, run.addresses["outer"] - 1 - run.module("program").bias);
        }
        let names = ["guards", "more", "behind", "shared", "on_stack"].map(|name| run.datum(symbols, name));
        let [guards, more, behind, shared, on_stack] = names;
        assert_eq!([guards.unwrap(), more.unwrap(), shared.unwrap()], ["guards", "guards[1].more", "shared"]);
        assert_ne!(behind.as_deref().unwrap_or_default().split('+').next(), Some("guards"));
        assert_eq!(on_stack, None);
        assert!(run.datum(symbols, "local").unwrap().starts_with("local."));
        assert_eq!(run.datum(symbols, "outer"), None, "code is no datum");
        assert_eq!(symbols.remarks(), [""; 0]);
    }
}

#[test]
fn a_call_at_the_very_end_belongs_to_the_function_that_it_ends() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g"]);
    let run = workshop.run(&program, &[]);
    let (start, size) = workshop.nm(&program, "outer");
    let end = start + size + run.module("program").bias;
    let symbols = &mut workshop.symbols();
    let names = [true, false].map(|is_return| symbols.frames(&run.modules, end, is_return).pop().unwrap().function);
    assert_eq!(names[0], "outer");
    assert_ne!(names[1], "outer");
    let start = start + run.module("program").bias;
    assert_eq!(symbols.frames(&run.modules, start, false).pop().unwrap().function, "outer");
}

#[test]
fn a_library_that_is_loaded_late() {
    let workshop = Workshop::new();
    let library = workshop.compile("gcc", LIBRARY, &["-O2", "-g", "-fPIC", "-shared"]);
    let program = workshop.compile("gcc", C, &["-O2"]);
    let run = workshop.run(&program, &[text(&library)]);
    let symbols = &mut workshop.symbols();
    let [inlined, late] = ["inlined", "late"].map(|mark| line(LIBRARY, mark));
    assert_eq!(run.places(symbols, "late"), [place("inlined", inlined, true), place("late", late, false)]);
    assert_eq!(run.frames(symbols, "late")[0].module, "library.so");
    assert_eq!(run.datum(symbols, "late_guard").as_deref(), Some("late_guard"));
    // Another library in the same place, later: its addresses are not those of the first.
    let mut modules = run.modules.clone();
    modules.push(crate::symbols::Module { path: "linux-vdso.so.1".into(), ..run.module("library.so").clone() });
    let frames = symbols.frames(&modules, run.addresses["late"], true);
    assert_eq!(frames.len(), 1);
    assert!(frames[0].function.starts_with("linux-vdso.so.1+0x"), "{frames:?}");
    assert_eq!(symbols.remarks(), [""; 0]);
}

#[test]
fn cpp_with_templates_and_names_of_a_file_only() {
    const BOX: &str = "space::Box<std::vector<int, std::allocator<int> > >";
    const ARGUMENT: &str = "(std::vector<int, std::allocator<int> >)";
    for debug in [&["-g"][..], &[]] {
        let workshop = Workshop::new();
        let program = workshop.compile("g++", CPP, &[&["-O2"], debug].concat());
        let run = workshop.run(&program, &[]);
        let symbols = &mut workshop.symbols();
        let line = |mark| if debug.is_empty() { 0 } else { line(CPP, mark) };
        let mut visit = vec![place(&format!("{BOX}::visit{ARGUMENT}"), line("visit"), false)];
        if !debug.is_empty() {
            visit.insert(0, place(&format!("{BOX}::enter{ARGUMENT}"), line("enter"), true));
        }
        assert_eq!(run.places(symbols, "visit"), visit);
        let secret = place("space::(anonymous namespace)::secret(int)", line("secret"), false);
        assert_eq!(run.places(symbols, "secret"), [secret]);
        let lambda = run.places(symbols, "lambda");
        assert_eq!((lambda.len(), lambda[0].1), (1, line("lambda")));
        assert!(lambda[0].0.starts_with("main::{lambda(int)"), "{lambda:?}");
        let names = ["guard", "lock", "own"].map(|name| run.datum(symbols, name).unwrap());
        assert_eq!(names, ["space::guard", "space::Box<int>::lock", "space::(anonymous namespace)::own"]);
        assert_eq!(symbols.remarks(), [""; 0]);
    }
}

#[test]
fn rust_with_generics_and_without_hashes() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    for (mangling, visit, enter) in [
        (
            &[][..],
            Some("<program::shelf::Slot<T> as program::shelf::Place>::visit"),
            Some("program::shelf::enter<u16>"),
        ),
        (
            &["-C", "symbol-mangling-version=v0"],
            Some("<program::shelf::Slot<u16> as program::shelf::Place>::visit"),
            Some("program::shelf::enter::<u16>"),
        ),
    ] {
        let workshop = Workshop::new();
        let flags = ["--edition=2024", "-O", "-g"];
        let program = workshop.compile(&rustc, RUST, &[&flags[..], mangling].concat());
        let run = workshop.run(&program, &[]);
        let symbols = &mut workshop.symbols();
        let frames = run.places(symbols, "visit");
        let lines: Vec<(u32, bool)> = frames.iter().map(|frame| (frame.1, frame.2)).collect();
        assert_eq!(lines, [(line(RUST, "enter"), true), (line(RUST, "visit"), false)], "{frames:?}");
        for (frame, (name, whole)) in frames.iter().zip([("enter", enter), ("visit", visit)]) {
            assert!(whole.is_none_or(|whole| frame.0 == whole), "{frames:?}");
            assert!(frame.0.contains("program::shelf") && frame.0.contains(&format!("::{name}")), "{frames:?}");
        }
        assert_eq!(run.datum(symbols, "guard").as_deref(), Some("program::shelf::GUARD"));
        assert_eq!(symbols.remarks(), [""; 0]);
    }
}
