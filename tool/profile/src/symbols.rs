//! Names for addresses: from the return addresses and addresses of locks that a recording has to functions, lines and
//! symbols.
//!
//! DWARF is read by `addr2line`, with inlined functions and split files, and ELF by `object`. `blazesym`, which does
//! more by itself, takes a debug file that does not fit for an error of the whole module, looks for one by build id only
//! where there is a link to it, and knows no other answer to a symbol without a size than the next one before it; what
//! had to be built around it was more than what it saves.
//!
//! # What may be believed
//! - A module is named from a file only if it is the one that ran. See the next table.
//! - A symbol is believed up to its size. Only one without a size, as assembler code has, reaches to the next.
//!
//! # Files that are opened later than they ran
//! All are opened when the first address of a module is asked for: at the end of a run, or at a snapshot.
//!
//! | file | by which path | how it is known to be the right one |
//! |---|---|---|
//! | program or library, seen from the kernel | none: it is open since it was mapped; `/proc/self/fd/N` if its path leads elsewhere | it is the file itself |
//! | program or library, recorded | as the process has named it | its build id; without one, device, number, size and time of change, which the recorder has asked for at the start. Of a library without a build id that was loaded later, nothing is known |
//! | debug file | `/usr/lib/debug/.build-id`, the cache of debuginfod, beside the file by the name in its link | build id; without one, the checksum in the link |
//! | what `dwz` has moved out of debug files | by build id, or by the name in the link | build id |
//! | split debug information, `.dwo` and `.dwp` | beside the file, or as the compiler has named it | the number of each unit (`addr2line`) |
//! | debug information, when the first line is asked for, later than symbols | as above | device, number, size and time are still what they were |
//! | the kernel's code in each process (vdso) | none: it has no file | - |
//! | maps that JIT compilers write for perf, jitdump | are not read | - |
//!
//! Damaged files are answered for with what can be read of them. What can still end this process is debug information made
//! for it: inlined functions some ten thousand deep, which `addr2line` follows by recursion.
//!
//! Files are mapped, so that a gigabyte of debug information costs no memory. What must be in memory of them, as their symbols and
//! sections that are packed, is within a budget. A program that truncates such a file while it is read ends it too, by a bus
//! error.

mod debug_file;
mod elf;
mod image;
mod lines;
mod missing;
mod names;
mod table;
mod variables;

use crate::{Frame, Note};
pub(crate) use elf::{guarded, stamp};
pub(crate) use image::Source;
use image::{Image, Place};
use ondeck_kit::wording::hexadecimal;
use ondeck_record::layout::{Stamp, in_time};
use ondeck_record::read::outside::Budget;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a remark on a file says of which functions have no names for want of a debug file.
pub(crate) const NO_DEBUG_FILE: &str = "no debug file for it was found";

/// A program file or library as it was loaded into a process.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its file. Without any `/` it is none, as the kernel's `linux-vdso.so.1`.
    pub path: PathBuf,
    /// By how much addresses in the process are higher than those in the file (wrapping).
    pub bias: u64,
    /// Its first address in the process.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// The build id that the process had in memory; empty where it has none.
    pub build_id: Vec<u8>,
    /// Where the file is.
    pub source: Source,
}

/// Finds names for addresses. Keeps what it has read of each file, so that many processes share it.
pub struct Symbols {
    /// Where separate debug files are installed.
    debug_directory: PathBuf,
    /// What all of them may keep in memory.
    budget: Budget,
    known: BTreeMap<(PathBuf, Option<Stamp>), ModuleSymbols>,
    /// Addresses of which the recorder could not tell which library was there.
    n_untold: usize,
}

/// What has been found out about the file of a module.
struct ModuleSymbols {
    image: Result<Image, String>,
    /// The build id of a process in which it was another file.
    other: Option<Vec<u8>>,
    /// Addresses for which it had no name.
    n_unnamed: usize,
    /// Why debug information could not be used, the first time.
    fault: Option<String>,
}

impl Default for Symbols {
    /// Looks for separate debug files below `/usr/lib/debug`, and beside the files that they belong to.
    fn default() -> Symbols {
        Symbols::with_debug_directory(Path::new("/usr/lib/debug"))
    }
}

impl Symbols {
    fn with_debug_directory(directory: &Path) -> Symbols {
        Symbols {
            debug_directory: directory.to_owned(),
            budget: Budget::default(),
            known: BTreeMap::new(),
            n_untold: 0,
        }
    }

    /// The same within a budget that others have as well.
    pub(crate) fn within(budget: &Budget) -> Symbols {
        Symbols { budget: budget.clone(), ..Symbols::default() }
    }

    /// What may be kept in memory.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The frames of one address in a process with these modules, the innermost first: at least one. Where one module was
    /// unloaded and another took its place, addresses say of which they are, as modules do ([`in_time`]).
    ///
    /// `is_return` is for a return address. The call is before it, so what is looked up, and becomes the frame's
    /// [`address`](Frame::address), is the byte before: the next instruction may be in another line, or function.
    pub fn frames(&mut self, modules: &[Module], address: u64, is_return: bool) -> Vec<Frame> {
        let address = if is_return { address.saturating_sub(1) } else { address };
        let Some(module) = find(modules, address) else {
            // There may have been no room for it, too.
            self.n_untold += usize::from(in_time::module(address) != 0);
            let address = in_time::plain(address);
            return vec![Frame { function: format!("[unknown {address:#x}]"), address, ..Frame::default() }];
        };
        let address = address.wrapping_sub(module.bias);
        let mut places = self.places(module, address);
        if places.is_empty() {
            places.push(Place::default());
        }
        let n_places = places.len();
        let numbered = places.into_iter().enumerate();
        numbered.map(|(index, place)| frame(module, address, place, index + 1 < n_places)).collect()
    }

    /// The frames of a function that is not on the stack any more, as it jumped to the one that the stack was walked in: a
    /// call in the last place of a function is such a jump. The call before the innermost return address went to it. Empty if
    /// the call went through a table, as those of other libraries' functions do.
    pub fn tail_caller(&mut self, modules: &[Module], return_address: u64) -> Vec<Frame> {
        let Some(module) = find(modules, return_address) else { return Vec::new() };
        let target = self.image(module).and_then(|image| image.called(return_address.wrapping_sub(module.bias)));
        target.map_or(Vec::new(), |target| self.frames(modules, target.wrapping_add(module.bias), false))
    }

    /// Whether the call before a return address went to where a pointer led.
    pub fn is_by_pointer(&mut self, modules: &[Module], return_address: u64) -> bool {
        let Some(module) = find(modules, return_address.saturating_sub(1)) else { return false };
        self.image(module).is_some_and(|image| image.is_by_pointer(return_address.wrapping_sub(module.bias)))
    }

    /// The frames of a library's function that is not on the stack any more, as it jumped to a part of the library that has no
    /// name, where `inner` returns to: a stripped C library waits so for threads and semaphores. The caller has called it by
    /// its name.
    pub fn entered(&mut self, modules: &[Module], inner: u64, return_address: u64) -> Vec<Frame> {
        let Some(library) = find(modules, inner.saturating_sub(1)) else { return Vec::new() };
        let Some(caller) = find(modules, return_address.saturating_sub(1)) else { return Vec::new() };
        if library.path == caller.path {
            return Vec::new();
        }
        let name = self.image(caller).and_then(|image| image.imported(return_address.wrapping_sub(caller.bias)));
        let Some(name) = name.map(str::to_owned) else { return Vec::new() };
        let address = self.image(library).and_then(|image| image.function(&name));
        address.map_or(Vec::new(), |address| self.frames(modules, address.wrapping_add(library.bias), false))
    }

    /// The frames of a function between two of a stack that is not there any more, as it jumped (see
    /// [`tail_caller`](Self::tail_caller)) to the one called `reached`: the call before `return_address` went to another.
    pub fn jumper(&mut self, modules: &[Module], reached: &str, return_address: u64) -> Vec<Frame> {
        let called = self.tail_caller(modules, return_address);
        let Some(last) = called.last() else { return called };
        // A signal's handler returns to the kernel's trampoline, and what it has interrupted is behind no call.
        let is_signal = reached == "__restore_rt";
        // gcc moves what is rarely run out of a function, as `.cold`: that jumped, and is of the same function.
        let whole = |function: &str| function.split(".cold").next().map(str::to_owned);
        if is_signal || whole(&last.function) == whole(reached) { Vec::new() } else { called }
    }

    /// `symbol` or `symbol+0x18` (demangled) of a datum, as a name for a static mutex; `None` if it lies in no symbol of a
    /// module.
    pub fn datum(&mut self, modules: &[Module], address: u64) -> Option<String> {
        let module = find(modules, address)?;
        let address = address.wrapping_sub(module.bias);
        let image = self.image(module)?;
        image.datum(address)
    }

    /// What to tell the user of the modules that were asked for: files that cannot be read or are others by now, and
    /// functions without names for want of a symbol table.
    pub fn remarks(&self) -> Vec<String> {
        let untold = (self.n_untold > 0).then(|| {
            format!(
                "{} addresses have no names: other code came to the place of an unloaded library, and what it was is not known",
                self.n_untold
            )
        });
        self.known.iter().flat_map(|((path, _), known)| known.remarks(path)).chain(untold).collect()
    }

    /// How to get names for all that [`remarks`](Self::remarks) says to be stripped, in one sentence, with a command in a
    /// second line where there is one. `None` where nothing is.
    pub fn how_to_get_names(&self) -> Option<Note> {
        let mut files: Vec<(&Path, usize)> =
            self.known.iter().filter_map(|((path, _), known)| Some((path.as_path(), known.nameless()?))).collect();
        files.sort_by_key(|(_, n_unnamed)| std::cmp::Reverse(*n_unnamed));
        let files: Vec<&Path> = files.into_iter().map(|(path, _)| path).collect();
        missing::how_to_get_names(&files, &missing::System::this())
    }

    fn places(&mut self, module: &Module, address: u64) -> Vec<Place> {
        let Some(image) = self.image(module) else { return Vec::new() };
        let (places, fault) = image.places(address);
        let is_named = places.last().is_some_and(|place| place.function.is_some());
        if let Some(known) = self.known.get_mut(&(module.path.clone(), module.source.stamp())) {
            known.n_unnamed += usize::from(!is_named);
            known.fault = known.fault.take().or(fault);
        }
        places
    }

    /// The file of a module, if it is the one that ran.
    fn image(&mut self, module: &Module) -> Option<&Image> {
        if module.path.components().count() < 2 {
            return None;
        }
        let (debug_directory, budget) = (&self.debug_directory, &self.budget);
        let expected = module.source.stamp();
        let known = self.known.entry((module.path.clone(), expected)).or_insert_with_key(|(path, _)| ModuleSymbols {
            image: guarded(|| Image::read(path, &module.source, debug_directory, budget)),
            other: None,
            n_unnamed: 0,
            fault: None,
        });
        let image = known.image.as_ref().ok()?;
        let has_none = image.build_id.is_empty() && module.build_id.is_empty();
        let is_it = if has_none {
            expected.is_none_or(|expected| expected == image.stamp)
        } else {
            image.build_id == module.build_id
        };
        if !is_it {
            known.other = Some(module.build_id.clone());
            return None;
        }
        Some(image)
    }
}

impl ModuleSymbols {
    /// Addresses without names in a stripped file; `None` if there are none.
    fn nameless(&self) -> Option<usize> {
        self.image.as_ref().ok().filter(|image| image.is_stripped && self.n_unnamed > 0).map(|_| self.n_unnamed)
    }

    fn remarks(&self, path: &Path) -> Vec<String> {
        let path = path.display();
        let image = match &self.image {
            Ok(image) => image,
            Err(fault) => return vec![format!("{path}: {fault}. Its functions have no names")],
        };
        let mut remarks = Vec::new();
        if let Some(other) = &self.other {
            let (ran, now) = (build_id_text(other), build_id_text(&image.build_id));
            let how = match ran == now {
                true => "is another file now than the one that ran".to_owned(),
                false => format!("is another file now ({now}) than the one that ran ({ran})"),
            };
            remarks.push(format!("{path}: {how}. Its functions have no names. To get names, profile again"));
        }
        if self.n_unnamed > 0 && image.is_stripped {
            let (n_unnamed, id) = (self.n_unnamed, build_id_text(&image.build_id));
            let misfit = image.misfit.as_ref().map(|file| format!("; {} does not fit", file.display()));
            remarks.push(format!(
                "{path}: {n_unnamed} of its addresses have no names. The file is stripped, and {NO_DEBUG_FILE} ({id}{})",
                misfit.unwrap_or_default()
            ));
        }
        remarks.extend(image.missing_symbols().map(|fault| format!("{path}: {fault}")));
        remarks.extend(image.missing_lines().map(|fault| format!("{path}: {fault}")));
        if let Some(fault) = &self.fault {
            remarks.push(format!("{path}: its debug information cannot be used: {fault}"));
        }
        remarks
    }
}

fn find(modules: &[Module], address: u64) -> Option<&Module> {
    modules.iter().rev().find(|module| (module.start..module.end).contains(&address))
}

fn frame(module: &Module, address: u64, place: Place, is_inlined: bool) -> Frame {
    let name = module.path.file_name().unwrap_or(module.path.as_os_str()).to_string_lossy().into_owned();
    Frame {
        is_named: place.function.is_some(),
        function: place.function.unwrap_or_else(|| format!("{name}+{address:#x}")),
        module: name,
        file: place.file,
        line: place.line,
        address,
        build_id: hexadecimal(&module.build_id),
        is_inlined,
    }
}

fn build_id_text(build_id: &[u8]) -> String {
    if build_id.is_empty() { "no build id".to_owned() } else { format!("build id {}", hexadecimal(build_id)) }
}

// They build programs for it.
#[cfg(test)]
mod tests;
