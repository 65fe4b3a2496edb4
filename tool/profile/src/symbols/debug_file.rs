//! Where debug information is that is not in the program's file: in a file of its own, found by build id or by the name in
//! `.gnu_debuglink`, and what several such files share.

use super::elf::has_dwarf;
use memmap2::Mmap;
use object::{Object, ObjectSymbolTable};
use ondeck_futex::elf::{self, build_id, parse};
use ondeck_report::wording::hexadecimal;
use std::path::{Component, Path, PathBuf};

/// A file may be longer than any disk, of holes.
const LONGEST_CHECKED: usize = 1 << 33;

#[derive(Default)]
pub(super) struct DebugFile {
    pub(super) file: Option<(PathBuf, Mmap)>,
    /// One that is there and belongs to another build.
    pub(super) misfit: Option<PathBuf>,
}

/// The debug file of a program file or library.
pub(super) fn find(path: &Path, object: &object::File<'_>, debug_directory: &Path) -> DebugFile {
    let build_id = build_id(object);
    let link = object.gnu_debuglink().ok().flatten();
    let mut candidates: Vec<PathBuf> = by_build_id(&build_id, debug_directory).into_iter().collect();
    candidates.extend(fetched(&build_id, |name| std::env::var_os(name).map(PathBuf::from)));
    if let Some((name, _)) = link {
        candidates.extend(by_link(path, name, debug_directory));
    }
    let mut found = DebugFile::default();
    for candidate in candidates.into_iter().filter(|candidate| candidate != path) {
        let Ok(mapped) = elf::read(&candidate) else { continue };
        let Ok(object) = parse(&mapped) else { continue };
        let fits = match link {
            // A checksum reads all of it; a build id says the same.
            Some((_, checksum)) if build_id.is_empty() => {
                mapped.len() <= LONGEST_CHECKED && crc32fast::hash(&mapped) == checksum
            }
            _ => !build_id.is_empty() && elf::build_id(&object) == build_id,
        };
        if fits && (has_dwarf(&object) || object.symbol_table().is_some_and(|table| table.symbols().next().is_some())) {
            return DebugFile { file: Some((candidate, mapped)), misfit: None };
        }
        found.misfit = found.misfit.or((!fits).then_some(candidate));
    }
    found
}

/// The file that `dwz` made of what several debug files have in common.
pub(super) fn supplement(path: &Path, object: &object::File<'_>, debug_directory: &Path) -> Option<PathBuf> {
    let (name, expected) = object.gnu_debugaltlink().ok()??;
    let path = path.canonicalize().ok()?;
    let named = path.parent()?.join(String::from_utf8_lossy(name).as_ref());
    let fits = |object: &object::File<'_>| build_id(object) == expected;
    let mut candidates = by_build_id(expected, debug_directory).into_iter().chain([named]);
    candidates.find(|candidate| elf::read(candidate).is_ok_and(|bytes| parse(&bytes).is_ok_and(|object| fits(&object))))
}

fn by_build_id(build_id: &[u8], debug_directory: &Path) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let name = format!("{}.debug", hexadecimal(rest));
    Some(debug_directory.join(".build-id").join(hexadecimal(&[*first])).join(name))
}

/// Where `debuginfod-find` keeps what it has fetched: see "cache" in its manual.
fn fetched(build_id: &[u8], variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    if build_id.is_empty() {
        return Vec::new();
    }
    let given = variable("DEBUGINFOD_CACHE_PATH");
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let usual = cache.map(|cache| cache.join("debuginfod_client"));
    let old = variable("HOME").map(|home| home.join(".debuginfod_client_cache"));
    let places = [given, usual, old].into_iter().flatten();
    places.map(|place| place.join(hexadecimal(build_id)).join("debuginfo")).collect()
}

/// Where debuggers look for a linked file. A link has no directories; those that one would have are ignored.
fn by_link(path: &Path, name: &[u8], debug_directory: &Path) -> Vec<PathBuf> {
    let name = String::from_utf8_lossy(name);
    let path = path.canonicalize().unwrap_or(path.to_owned());
    let (Some(name), Some(directory)) = (Path::new(name.as_ref()).file_name(), path.parent()) else {
        return Vec::new();
    };
    let below = directory.components().filter(|part| matches!(part, Component::Normal(_))).collect::<PathBuf>();
    [directory.to_owned(), directory.join(".debug"), debug_directory.join(below)].map(|place| place.join(name)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fetched_is_looked_for_where_it_is_kept() {
        let variables = |names: &'static [&'static str]| {
            move |name: &str| names.contains(&name).then(|| PathBuf::from("/").join(name))
        };
        let places = fetched(&[0x5b, 0xe1], variables(&["HOME"]));
        let expected =
            ["/HOME/.cache/debuginfod_client/5be1/debuginfo", "/HOME/.debuginfod_client_cache/5be1/debuginfo"];
        assert_eq!(places, expected.map(PathBuf::from));
        let places = fetched(&[1], variables(&["DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME"]));
        let expected = ["/DEBUGINFOD_CACHE_PATH/01/debuginfo", "/XDG_CACHE_HOME/debuginfod_client/01/debuginfo"];
        assert_eq!(places, expected.map(PathBuf::from));
        assert!(fetched(&[], variables(&["HOME"])).is_empty() && fetched(&[1], |_| None).is_empty());
    }
}
