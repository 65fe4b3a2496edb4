//! What is left of names when a file has been stripped, split, packed, replaced or removed.

use super::workshop::{C, Run, Workshop, line, text};
use crate::symbols::{Module, Source, Symbols, hexadecimal};
use std::path::Path;

/// What the program's debug information says of its inlined functions.
fn assert_whole(run: &Run, symbols: &mut Symbols) {
    let expected = ["inner", "middle", "outer"].map(|name| (name.to_owned(), line(C, name), name != "outer"));
    assert_eq!(run.places(symbols, "outer"), expected);
    // Types are not looked up in a file that is another one by now.
    let more = run.datum(symbols, "more").unwrap();
    assert!(["guards[1].more", "guards+0x38"].contains(&more.as_str()), "{more}");
    assert_eq!(symbols.remarks(), [""; 0]);
}

/// Addresses instead of names.
fn assert_bare(run: &Run, symbols: &mut Symbols) {
    for name in ["outer", "hidden"] {
        let frames = run.frames(symbols, name);
        assert_eq!(frames.len(), 1);
        let frame = &frames[0];
        assert_eq!((frame.function.clone(), frame.is_named), (run.bare(name, "program"), false));
        assert_eq!((frame.file.as_str(), frame.line), ("", 0));
        assert_eq!(frame.build_id, hexadecimal(&run.module("program").build_id));
    }
    assert_eq!(run.datum(symbols, "more"), None);
}

fn assert_one_remark(symbols: &Symbols, parts: &[&str]) {
    let remarks = symbols.remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(parts.iter().all(|part| remarks[0].contains(part)), "{remarks:?} without one of {parts:?}");
}

#[test]
fn without_debug_information_there_are_symbols() {
    let workshop = Workshop::new();
    let run = workshop.run(&workshop.compile("gcc", C, &["-O2"]), &[]);
    let symbols = &mut workshop.symbols();
    assert_eq!(run.places(symbols, "outer"), [("outer".to_owned(), 0, false)]);
    assert_eq!(run.places(symbols, "hidden"), [("hidden".to_owned(), 0, false)]);
    assert_eq!(run.datum(symbols, "more").as_deref(), Some("guards+0x38"));
    assert_eq!(symbols.remarks(), [""; 0]);
}

#[test]
fn who_has_jumped_is_told_by_the_call() {
    let workshop = Workshop::new();
    for flags in [&["-O2"][..], &["-O2", "-g"]] {
        let run = workshop.run(&workshop.compile("gcc", C, flags), &[]);
        let symbols = &mut workshop.symbols();
        let mut between = |inner: &str, outer: &str| -> Vec<String> {
            let reached = run.frames(symbols, inner).pop().unwrap().function;
            assert_eq!(reached, "jumped_to");
            let frames = symbols.jumper(&run.modules, &reached, run.addresses[outer]);
            frames.into_iter().map(|frame| frame.function).collect()
        };
        assert_eq!(between("jumped", "jumper"), ["jumping"]);
        assert_eq!(between("called", "caller"), [""; 0], "it was called itself");
    }
}

#[test]
fn a_stripped_program_has_addresses_and_what_it_exports() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g", "-s"]);
    let run = workshop.run(&program, &[]);
    let symbols = &mut workshop.symbols();
    assert_bare(&run, symbols);
    let id = hexadecimal(&run.module("program").build_id);
    assert_one_remark(symbols, &[text(&program), "2 of its addresses", "stripped", &id]);

    let run = workshop.run(&workshop.compile("gcc", C, &["-O2", "-s", "-rdynamic"]), &[]);
    let symbols = &mut workshop.symbols();
    assert_eq!(run.places(symbols, "outer"), [("outer".to_owned(), 0, false)]);
    assert_eq!(run.datum(symbols, "shared").as_deref(), Some("shared"));
    assert_eq!(symbols.remarks(), [""; 0]);
    assert_eq!(run.places(symbols, "hidden"), [(run.bare("hidden", "program"), 0, false)]);
    assert_one_remark(symbols, &["1 of its addresses", "stripped"]);
}

#[test]
fn forms_of_debug_information() {
    for flags in [&["-gdwarf-4"][..], &["-gdwarf-5"], &["-g", "-gz=zlib"], &["-g", "-gsplit-dwarf"], &["-g", "-flto"]] {
        let workshop = Workshop::new();
        let program = workshop.compile("gcc", C, &[&["-O2"], flags].concat());
        assert_whole(&workshop.run(&program, &[]), &mut workshop.symbols());
    }
    for packing in ["zlib", "zlib-gnu", "zstd"] {
        let workshop = Workshop::new();
        let program = workshop.compile("gcc", C, &["-O2", "-g"]);
        workshop.tool("objcopy", &[&format!("--compress-debug-sections={packing}"), text(&program)]);
        assert_whole(&workshop.run(&program, &[]), &mut workshop.symbols());
    }
}

/// Types may lie in files and units of their own, and the variable in another unit than its name.
#[test]
fn members_are_found_in_all_forms_of_debug_information() {
    let cxx = ["-fdebug-types-section", "-gsplit-dwarf", "-flto"];
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let together = [&[][..], &cxx[..1], &cxx[1..2], &cxx[2..], &cxx[..2]];
        for (compiler, flags) in ["gcc", "clang"].into_iter().flat_map(|one| together.map(|flags| (one, flags))) {
            // Clang's needs a linker of its own.
            if !has(compiler) || compiler == "clang" && flags.contains(&"-flto") {
                continue;
            }
            let workshop = Workshop::new();
            let program = workshop.compile(compiler, C, &[&["-O2", version], flags].concat());
            let run = workshop.run(&program, &[]);
            let more = || run.datum(&mut workshop.symbols(), "more");
            assert_eq!(more().as_deref(), Some("guards[1].more"), "{compiler} {version} {flags:?}");
            // Not every tool knows how every compiler writes the newer form: some of them never end.
            let tool = if version == "-gdwarf-4" { "dwp" } else { "llvm-dwp" };
            let can_pack = (version == "-gdwarf-4" || compiler == "clang") && has(tool);
            if flags.contains(&"-gsplit-dwarf") && can_pack {
                pack(&workshop, &program, tool);
                assert_eq!(more().as_deref(), Some("guards[1].more"), "packed: {compiler} {version} {flags:?}");
            }
        }
    }
}

/// Puts the files of single units into one.
fn pack(workshop: &Workshop, program: &Path, tool: &str) {
    let package = format!("{}.dwp", text(program));
    workshop.tool(tool, &["-e", text(program), "-o", &package]);
    for entry in std::fs::read_dir(program.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn has(tool: &str) -> bool {
    let is_there = std::process::Command::new(tool).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("SKIPPED: {tool} is not there");
    }
    is_there
}

#[test]
fn members_are_found_in_what_dwz_has_moved_away() {
    if !has("dwz") {
        return;
    }
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g"]);
    let copy = workshop.path("copy");
    std::fs::copy(&program, &copy).unwrap();
    workshop.tool("dwz", &["-m", "common.debug", "-M", "common.debug", text(&program), text(&copy)]);
    let run = workshop.run(&program, &[]);
    assert_eq!(run.datum(&mut workshop.symbols(), "more").as_deref(), Some("guards[1].more"));
}

#[test]
fn split_debug_information_that_is_gone_leaves_the_line() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2", "-g", "-gsplit-dwarf"]);
    let mut removed = Vec::new();
    for entry in std::fs::read_dir(program.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(&path).unwrap();
            removed.push(path);
        }
    }
    let [removed] = &removed[..] else { panic!("{removed:?}") };
    let run = workshop.run(&program, &[]);
    let remarks_with = |content: &[u8], at: &Path, fault: &str| {
        std::fs::write(at, content).unwrap();
        let symbols = &mut workshop.symbols();
        run.places(symbols, "outer");
        assert_one_remark(symbols, &[text(&program), "inlined functions", text(at), fault]);
        std::fs::remove_file(at).unwrap();
    };
    let symbols = &mut workshop.symbols();
    for _ in 0..2 {
        assert_eq!(run.places(symbols, "outer"), [("outer".to_owned(), line(C, "inner"), false)]);
    }
    run.places(symbols, "hidden");
    assert_one_remark(symbols, &[text(&program), "are missing, as", text(removed), "No such file"]);
    remarks_with(b"text", removed, "cannot be read as an ELF file");
    remarks_with(&std::fs::read(&program).unwrap(), removed, "is of another build");
    remarks_with(b"text", Path::new(&format!("{}.dwp", text(&program))), "cannot be read as an ELF file");
}

#[test]
fn debug_files_of_their_own_are_found_where_debuggers_look() {
    let places: [fn(&Path) -> String; 4] = [
        |_| "program.debug".to_owned(),
        |_| ".debug/program.debug".to_owned(),
        |directory| format!("debug{}/program.debug", directory.display()),
        |_| "elsewhere/unlinked.debug".to_owned(),
    ];
    for (index, place) in places.iter().enumerate() {
        for id in ["--build-id=sha1", "--build-id=none"] {
            let workshop = Workshop::new();
            let program = workshop.compile("gcc", C, &["-O2", "-g", &format!("-Wl,{id}")]);
            let debug_file = workshop.split(&program, &place(program.parent().unwrap()));
            let run = workshop.run(&program, &[]);
            let build_id = hexadecimal(&run.module("program").build_id);
            if index < 3 {
                assert_whole(&run, &mut workshop.symbols());
                continue;
            }
            let symbols = &mut workshop.symbols();
            assert_bare(&run, symbols);
            assert_one_remark(symbols, &["stripped"]);
            if id == "--build-id=sha1" {
                let directory = workshop.path("debug/.build-id").join(&build_id[..2]);
                std::fs::create_dir_all(&directory).unwrap();
                std::fs::rename(&debug_file, directory.join(format!("{}.debug", &build_id[2..]))).unwrap();
                assert_whole(&run, &mut workshop.symbols());
            }
        }
    }
}

#[test]
fn a_debug_file_of_another_build_is_not_used() {
    for id in ["--build-id=sha1", "--build-id=none"] {
        let workshop = Workshop::new();
        let program = workshop.compile("gcc", C, &["-O1", "-g", &format!("-Wl,{id}")]);
        let debug_file = workshop.split(&program, "program.debug");
        let other = std::fs::read(&debug_file).unwrap();
        let program = workshop.compile("gcc", C, &["-O2", "-g", &format!("-Wl,{id}")]);
        workshop.split(&program, "program.debug");
        std::fs::write(&debug_file, other).unwrap();
        let run = workshop.run(&program, &[]);
        let symbols = &mut workshop.symbols();
        assert_bare(&run, symbols);
        assert_one_remark(symbols, &["stripped", text(&debug_file), "does not fit"]);
    }
}

#[test]
fn symbols_in_a_packed_section_of_a_stripped_program() {
    let workshop = Workshop::new();
    let program = workshop.compile("gcc", C, &["-O2"]);
    workshop.tool("objcopy", &["--only-keep-debug", text(&program), "mini"]);
    workshop.tool("xz", &["mini"]);
    workshop.tool("objcopy", &["-S", "--add-section=.gnu_debugdata=mini.xz", text(&program)]);
    let run = workshop.run(&program, &[]);
    let symbols = &mut workshop.symbols();
    assert_eq!(run.places(symbols, "hidden"), [("hidden".to_owned(), 0, false)]);
    assert_eq!(run.datum(symbols, "more").as_deref(), Some("guards+0x38"));
    assert_eq!(symbols.remarks(), [""; 0]);
}

#[test]
fn a_file_that_was_replaced_or_removed_gives_no_names() {
    let workshop = Workshop::new();
    let run = workshop.run(&workshop.compile("gcc", C, &["-O1", "-g"]), &[]);
    let program = workshop.compile("gcc", C, &["-O2", "-g"]);
    let symbols = &mut workshop.symbols();
    assert_bare(&run, symbols);
    let now = hexadecimal(&workshop.run(&program, &[]).module("program").build_id);
    let ran = hexadecimal(&run.module("program").build_id);
    assert_one_remark(symbols, &[text(&program), "another file", &now, &ran]);

    std::fs::remove_file(&program).unwrap();
    let symbols = &mut workshop.symbols();
    assert_bare(&run, symbols);
    assert_one_remark(symbols, &[text(&program), "cannot be read", "No such file"]);

    std::fs::create_dir(&program).unwrap();
    let symbols = &mut workshop.symbols();
    assert_bare(&run, symbols);
    assert_one_remark(symbols, &[text(&program), "not an ordinary file"]);
}

#[test]
fn one_file_serves_processes_of_two_builds() {
    let workshop = Workshop::new();
    let old = workshop.run(&workshop.compile("gcc", C, &["-O1", "-g"]), &[]);
    let new = workshop.run(&workshop.compile("gcc", C, &["-O2", "-g"]), &[]);
    let symbols = &mut workshop.symbols();
    assert_whole(&new, symbols);
    assert_bare(&old, symbols);
    assert_eq!(new.places(symbols, "outer").len(), 3);
    assert_one_remark(symbols, &["another file"]);
}

#[test]
fn what_lies_in_no_module_is_unknown() {
    let workshop = Workshop::new();
    let symbols = &mut workshop.symbols();
    for address in [0, 1, 0x7fff_dead_beef, u64::MAX] {
        let frames = symbols.frames(&[], address, false);
        assert_eq!(frames.len(), 1);
        assert_eq!((frames[0].function.clone(), frames[0].is_named), (format!("[unknown {address:#x}]"), false));
        assert_eq!((frames[0].module.as_str(), frames[0].address), ("", address));
        assert_eq!(symbols.datum(&[], address), None);
    }
    // The kernel's, which has no file.
    for name in ["linux-vdso.so.1", "[vdso]", ""] {
        let (path, source) = (name.into(), Source::Path(None));
        let module = Module { path, bias: 0x1000, start: 0x1000, end: 0x2000, build_id: vec![1], source };
        let frames = symbols.frames(&[module], 0x1234, false);
        assert_eq!(frames[0].function, format!("{name}+0x234"));
    }
    assert_eq!(symbols.remarks(), [""; 0]);
}

#[test]
fn a_program_without_a_build_id_that_was_replaced_gives_no_names() {
    let workshop = Workshop::new();
    let flags = ["-O1", "-g", "-Wl,--build-id=none"];
    let run = workshop.run(&workshop.compile("gcc", C, &flags), &[]);
    assert_whole_but_inlined(&run, &mut workshop.symbols());
    // The same length, and another time.
    let program = workshop.path("program");
    let content = std::fs::read(&program).unwrap();
    std::fs::write(&program, content).unwrap();
    let symbols = &mut workshop.symbols();
    assert_bare(&run, symbols);
    assert_one_remark(symbols, &[text(&program), "another file", "no names", "profile again"]);
    // What a process has not told is believed.
    let unknown = |module: &Module| Module { source: Source::Path(None), ..module.clone() };
    let run = Run { modules: run.modules.iter().map(unknown).collect(), ..run };
    assert_whole_but_inlined(&run, &mut workshop.symbols());
}

/// Not all compilers inline alike.
fn assert_whole_but_inlined(run: &Run, symbols: &mut Symbols) {
    assert_eq!(run.places(symbols, "outer").pop().map(|(name, ..)| name).as_deref(), Some("outer"));
    assert_eq!(run.datum(symbols, "more").as_deref(), Some("guards[1].more"));
    assert_eq!(symbols.remarks(), [""; 0]);
}

#[test]
fn a_file_that_is_open_has_names_when_another_has_its_place() {
    for flags in [&["-O2", "-g"][..], &["-O2", "-g", "-Wl,--build-id=none"], &["-O2", "-g", "-gsplit-dwarf"]] {
        let workshop = Workshop::new();
        let program = workshop.compile("gcc", C, flags);
        let mut run = workshop.run(&program, &[]);
        let opened = std::sync::Arc::new(std::fs::File::open(&program).unwrap());
        let module = run.modules.iter_mut().find(|module| module.path == program).unwrap();
        module.source = Source::Open(opened);
        assert_whole(&run, &mut workshop.symbols());
        std::fs::remove_file(&program).unwrap();
        let symbols = &mut workshop.symbols();
        assert_whole(&run, symbols);
        // Another process has the new one.
        let new = workshop.run(&workshop.compile("gcc", C, &["-O1"]), &[]);
        assert_eq!(new.places(symbols, "hidden"), [("hidden".to_owned(), 0, false)]);
        assert_whole(&run, symbols);
    }
}

#[test]
fn a_file_that_is_nowhere_is_said_to_be() {
    let workshop = Workshop::new();
    let mut run = workshop.run(&workshop.compile("gcc", C, &["-O2"]), &[]);
    for module in &mut run.modules {
        module.source = Source::Nowhere("was taken away".to_owned());
    }
    let symbols = &mut workshop.symbols();
    assert_bare(&run, symbols);
    assert_one_remark(symbols, &[text(&workshop.path("program")), "was taken away. Its functions have no names"]);
}
