//! Programs for the tests: compiled in a directory of their own, run once, and asked for their addresses.
//!
//! A program writes a line for each address that a test wants, a name and the address, and then its `/proc/self/maps`.

use super::super::elf::stamp;
use super::super::{Module, Source, Symbols};
use crate::Frame;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A source: how it is called in the workshop, and its text.
pub(super) type Program = (&'static str, &'static str);

pub(super) const C: Program = ("program.c", include_str!("../../../../../proof/testprograms/known/places.c"));
pub(super) const LIBRARY: Program = ("library.c", include_str!("../../../../../proof/testprograms/known/places_lib.c"));
pub(super) const CPP: Program = ("program.cc", include_str!("../../../../../proof/testprograms/known/places.cpp"));
pub(super) const RUST: Program = ("program.rs", include_str!("../../../../../proof/testprograms/known/places.rs"));

pub(super) struct Workshop(tempfile::TempDir);

/// What a program told of itself.
pub(super) struct Run {
    pub(super) modules: Vec<Module>,
    pub(super) addresses: BTreeMap<String, u64>,
}

impl Workshop {
    pub(super) fn new() -> Workshop {
        Workshop(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// A file of the workshop, compiled.
    pub(super) fn compile(&self, compiler: &str, source: Program, flags: &[&str]) -> PathBuf {
        let file = self.path(source.0);
        std::fs::write(&file, source.1).unwrap();
        let result = self.path(if source == LIBRARY { "library.so" } else { "program" });
        self.tool(compiler, &[flags, &["-o", text(&result), text(&file)]].concat());
        result
    }

    /// Runs a tool in the workshop; what it writes.
    pub(super) fn tool(&self, tool: &str, arguments: &[&str]) -> String {
        let output = Command::new(tool).args(arguments).current_dir(self.0.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{tool}, of build-essential: {error}"));
        assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn run(&self, program: &Path, arguments: &[&str]) -> Run {
        let mut run = Run { modules: Vec::new(), addresses: BTreeMap::new() };
        for line in self.tool(text(program), arguments).lines() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [name, address] => assert_eq!(run.addresses.insert(name.to_owned(), hexadecimal(address)), None),
                [range, _, _, _, _, path] if path.starts_with('/') => {
                    let (start, end) = range.split_once('-').unwrap();
                    self.loaded(&mut run.modules, path, hexadecimal(start), hexadecimal(end));
                }
                _ => {}
            }
        }
        run
    }

    /// A part of a file in memory: the first is where the file's first loaded page is.
    fn loaded(&self, modules: &mut Vec<Module>, path: &str, start: u64, end: u64) {
        if let Some(module) = modules.iter_mut().find(|module| module.path == Path::new(path)) {
            module.end = end;
            return;
        }
        let parts = self.tool("readelf", &["-lW", path]);
        let Some(first) = parts.lines().find_map(|line| line.trim().strip_prefix("LOAD")) else { return };
        let address = hexadecimal(first.split_whitespace().nth(1).unwrap());
        let source = Source::Path(std::fs::metadata(path).ok().as_ref().map(stamp));
        let (path, build_id, bias) = (path.into(), self.build_id(path), start - address);
        modules.push(Module { path, bias, start, end, build_id, source });
    }

    fn build_id(&self, path: &str) -> Vec<u8> {
        let notes = self.tool("readelf", &["-n", path]);
        let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).unwrap_or_default();
        (0..id.len() / 2).map(|n| u8::from_str_radix(&id[2 * n..][..2], 16).unwrap()).collect()
    }

    /// Moves what `strip` takes away into a file of its own, which the program has a link to.
    pub(super) fn split(&self, program: &Path, debug_file: &str) -> PathBuf {
        let debug_file = self.path(debug_file);
        std::fs::create_dir_all(debug_file.parent().unwrap()).unwrap();
        self.tool("objcopy", &["--only-keep-debug", text(program), text(&debug_file)]);
        self.tool("objcopy", &["-S", &format!("--add-gnu-debuglink={}", text(&debug_file)), text(program)]);
        debug_file
    }

    /// Those that look for debug files in the workshop, and not where the machine's own are.
    pub(super) fn symbols(&self) -> Symbols {
        Symbols::with_debug_directory(&self.path("debug"))
    }

    /// Start and size of a symbol, in the file's addresses.
    pub(super) fn nm(&self, file: &Path, symbol: &str) -> (u64, u64) {
        let symbols = self.tool("nm", &["-S", text(file)]);
        let line = symbols.lines().find(|line| line.ends_with(&format!(" {symbol}"))).unwrap();
        let mut words = line.split_whitespace().map(hexadecimal);
        (words.next().unwrap(), words.next().unwrap())
    }
}

impl Run {
    pub(super) fn frames(&self, symbols: &mut Symbols, name: &str) -> Vec<Frame> {
        symbols.frames(&self.modules, self.addresses[name], true)
    }

    /// Function, line and whether it was inlined.
    pub(super) fn places(&self, symbols: &mut Symbols, name: &str) -> Vec<(String, u32, bool)> {
        let frames = self.frames(symbols, name);
        frames.into_iter().map(|frame| (frame.function, frame.line, frame.is_inlined)).collect()
    }

    pub(super) fn datum(&self, symbols: &mut Symbols, name: &str) -> Option<String> {
        symbols.datum(&self.modules, self.addresses[name])
    }

    pub(super) fn module(&self, name: &str) -> &Module {
        self.modules.iter().find(|module| module.path.ends_with(name)).unwrap()
    }

    /// How an address is shown that has no name.
    pub(super) fn bare(&self, name: &str, module: &str) -> String {
        format!("{module}+{:#x}", self.addresses[name] - 1 - self.module(module).bias)
    }
}

/// The line of a source that a mark stands in.
pub(super) fn line(source: Program, mark: &str) -> u32 {
    let index = source.1.lines().position(|line| line.contains(&format!("mark: {mark}"))).unwrap();
    u32::try_from(index + 1).unwrap()
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}
