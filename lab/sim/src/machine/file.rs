//! Where machines come from: the built-in ones by name, others from files.

use super::figure::ORIGINS;
use super::model::{MAX_CORES, Machine, hashed};
use super::resolve::resolve;
use super::tree::{self, Texts};
use fnv::FnvHasher;
use std::fs;
use std::hash::Hasher;
use std::path::Path;
use toml::de::DeTable;

/// A machine file that is part of the program.
struct Builtin {
    name: &'static str,
    text: &'static str,
}

/// The file of the same name in `machines/`.
macro_rules! builtins {
    ($($name:literal)*) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../../machines/", $name, ".toml")) }),*]
    };
}

const BUILTINS: &[Builtin] = builtins! {
    "i7-13700h" "m1" "i7-6700-linux" "i7-6700-windows" "westmere-1n" "westmere-1n-ht" "westmere-2n" "westmere-2n-ht"
    "westmere-4n" "westmere-4n-ht" "westmere-8n" "westmere-8n-ht" "rpi5" "graviton2" "graviton3" "epyc-2x48" "spr-2x56"
    "mesh"
};

/// How long a chain of files that inherit from each other may be: a longer one is a circle.
const MOST_ANCESTORS: usize = 8;

/// Most bytes of a machine file.
const MOST_BYTES: u64 = 4 << 20;

/// The names of the machines that are part of the program.
pub fn builtin_names() -> Vec<&'static str> {
    BUILTINS.iter().map(|builtin| builtin.name).collect()
}

/// The machine of that name that is part of the program, whole.
///
/// # Panics
/// Never, for a program that has passed its tests: they resolve all of them.
pub fn builtin(name: &str) -> Option<Machine> {
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == name)?;
    Some(sound(make(&builtin.label(), builtin.text, None, None)))
}

fn sound<T>(of_builtin: Result<T, String>) -> T {
    of_builtin.unwrap_or_else(|error| panic!("a built-in machine is broken: {error}"))
}

fn origins_in(tree: &DeTable<'_>) -> Vec<(&'static str, usize)> {
    ORIGINS.iter().map(|origin| (*origin, tree::count(tree, "origin", origin))).collect()
}

/// The machine that a file describes.
///
/// # Errors
/// One line: the file, the line, the field, what is wrong with it and what is accepted.
pub fn load(path: impl AsRef<Path>) -> Result<Machine, String> {
    load_with(path.as_ref(), None)
}

/// The machine that a text describes, as if it stood in a file called `label`.
///
/// # Errors
/// As [`load`]; also if it inherits from a file, which a text has no place to look for.
#[cfg(test)]
pub(super) fn from_text(label: &str, text: &str) -> Result<Machine, String> {
    make(label, text, None, None)
}

/// The machine of that name, or that the file at that path describes (a path ends with `.toml` or has a separator in it);
/// `cores` is how many of its hardware threads there are to be, see [`Machine::with_cores`], or cores, if the machine is
/// as large as one likes.
///
/// # Errors
/// As [`load`]; if there is no such machine, which ones there are; if it has not that many hardware threads.
pub fn find(name_or_path: &str, cores: Option<u32>) -> Result<Machine, String> {
    if name_or_path.ends_with(".toml") || name_or_path.contains(['/', '\\']) {
        return load_with(Path::new(name_or_path), cores);
    }
    match BUILTINS.iter().find(|builtin| builtin.name == name_or_path) {
        Some(builtin) => make(&builtin.label(), builtin.text, None, cores),
        None => Err(no_such_machine(name_or_path)),
    }
}

fn no_such_machine(name: &str) -> String {
    let names = builtin_names();
    let likeness = |other: &&str| strsim::jaro_winkler(&name.to_lowercase(), other);
    let nearest = names.iter().copied().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let meant = nearest.filter(|nearest| likeness(nearest) > 0.8);
    let meant = meant.map_or(String::new(), |nearest| format!("did you mean {nearest}? "));
    format!("no machine {name:?}; {meant}There are {}, and files whose names end with .toml", names.join(", "))
}

impl Builtin {
    fn label(&self) -> String {
        format!("machines/{}.toml", self.name)
    }
}

fn load_with(path: &Path, cores: Option<u32>) -> Result<Machine, String> {
    make(&path.display().to_string(), &read(path)?, path.parent(), cores)
}

fn read(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    let size = fs::metadata(path).map_err(cannot)?.len();
    if size > MOST_BYTES {
        return Err(format!("{}: {size} bytes; a machine file has {MOST_BYTES} at most", path.display()));
    }
    fs::read_to_string(path).map_err(cannot)
}

fn make(label: &str, text: &str, directory: Option<&Path>, cores: Option<u32>) -> Result<Machine, String> {
    let texts = with_ancestors(label, text, directory)?;
    let hash = texts.iter().fold(FnvHasher::default().finish(), |hash, text| hashed(hash, text.as_bytes()));
    let tree = texts.tree()?;
    let in_range = cores.filter(|&n| (1..=MAX_CORES).contains(&n));
    let resolved = resolve(&texts.read(&tree)?, in_range);
    let (mut machine, is_scalable) = resolved.map_err(|wrong| texts.explain(&tree, wrong))?;
    machine.hash = hash;
    for (origin, n) in origins_in(&tree) {
        machine.figures += n as u32;
        machine.guesses += if origin == "guess" { n as u32 } else { 0 };
    }
    match (cores, in_range) {
        (Some(_), Some(n)) if is_scalable => machine.hash = hashed(hash, &n.to_le_bytes()),
        (Some(n), None) if is_scalable => {
            return Err(format!("{}: {n} cores; accepted: 1 to {MAX_CORES}", machine.name));
        }
        (Some(n), _) => machine = machine.with_cores(n)?,
        (None, _) => {}
    }
    Ok(machine)
}

/// A text, with those that it inherits from.
fn with_ancestors(label: &str, text: &str, directory: Option<&Path>) -> Result<Texts, String> {
    let mut texts = Texts::default();
    texts.push(label.to_string(), text);
    let mut directory = directory.map(Path::to_path_buf);
    while let Some(name) = texts.parent()? {
        if texts.iter().count() > MOST_ANCESTORS {
            let what = format!("{name:?} goes round in a circle, or has more than {MOST_ANCESTORS} ancestors");
            return Err(texts.wrong_parent(what));
        }
        if name.ends_with(".toml") {
            let beside = directory.ok_or_else(|| format!("{name:?}; accepted here: the name of a machine"));
            let path = beside.map_err(|what| texts.wrong_parent(what))?.join(&name);
            let text = read(&path).map_err(|what| texts.wrong_parent(what))?;
            texts.push(path.display().to_string(), &text);
            directory = path.parent().map(Path::to_path_buf);
        } else {
            let builtin = BUILTINS.iter().find(|builtin| builtin.name == name);
            let builtin = builtin.ok_or_else(|| texts.wrong_parent(no_such_machine(&name)))?;
            texts.push(builtin.label(), builtin.text);
            directory = None;
        }
    }
    Ok(texts)
}
