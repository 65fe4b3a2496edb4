//! Where machines come from: the built-in ones by name, others from files.

use super::Machine;
use super::resolve::resolve;
use super::schema::ORIGINS;
use super::tree::{self, Table, Value};
use std::fs;
use std::path::Path;

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

/// How long a chain of files that inherit from each other may be: who needs more has made a circle.
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
    let machine = make(&builtin.label(), builtin.text, None, None);
    Some(machine.unwrap_or_else(|error| panic!("a built-in machine is broken: {error}")))
}

/// How many figures of the built-in machine of that name, inherited ones too, come from where: `measured`, `sourced`,
/// `guess` and so on, in the order in which `docs/machines.md` explains them. `None` if there is no such machine.
///
/// # Panics
/// As [`builtin`].
pub fn origins(name: &str) -> Option<Vec<(&'static str, usize)>> {
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == name)?;
    let tree = with_ancestors(&builtin.label(), builtin.text, None, &mut Hash::new(), MOST_ANCESTORS);
    let tree = tree.unwrap_or_else(|error| panic!("a built-in machine is broken: {error}"));
    Some(origins_in(&tree))
}

fn origins_in(tree: &Table) -> Vec<(&'static str, usize)> {
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
pub fn from_text(label: &str, text: &str) -> Result<Machine, String> {
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
    let mut hash = Hash::new();
    let tree = with_ancestors(label, text, directory, &mut hash, MOST_ANCESTORS)?;
    let in_range = cores.filter(|&n| (1..=super::MAX_CORES).contains(&n));
    let (mut machine, is_scalable) = resolve(&tree, label, in_range)?;
    machine.hash = hash.0;
    for (origin, n) in origins_in(&tree) {
        machine.figures += n as u32;
        machine.guesses += if origin == "guess" { n as u32 } else { 0 };
    }
    match (cores, in_range) {
        (Some(_), Some(n)) if is_scalable => machine.hash = with_cores(hash.0, n),
        (Some(n), None) if is_scalable => {
            return Err(format!("{}: {n} cores; accepted: 1 to {}", machine.name, super::MAX_CORES));
        }
        (Some(n), _) => machine = machine.with_cores(n)?,
        (None, _) => {}
    }
    Ok(machine)
}

/// The hash of a machine that is asked for with so many cores.
pub(super) fn with_cores(hash: u64, n: u32) -> u64 {
    let mut hash = Hash(hash);
    hash.add(&n.to_le_bytes());
    hash.0
}

/// The tree of a text, with everything that it inherits.
fn with_ancestors(
    label: &str,
    text: &str,
    directory: Option<&Path>,
    hash: &mut Hash,
    more: usize,
) -> Result<Table, String> {
    hash.add(text.as_bytes());
    let mut tree = tree::parse(label, text)?;
    let machine =
        tree.get("machine").and_then(|node| if let Value::Table(table) = &node.value { Some(table) } else { None });
    let Some(node) = machine.and_then(|machine| machine.get("inherits")) else { return Ok(tree) };
    let wrong = |what: String| node.place.error("machine.inherits", what);
    let Value::Text(name) = &node.value else {
        return Err(wrong(format!("{}; accepted: the name of a machine, or a file", node.value.what())));
    };
    if more == 0 {
        return Err(wrong(format!("{name:?} goes round in a circle, or has more than {MOST_ANCESTORS} ancestors")));
    }
    let parent = if name.ends_with(".toml") {
        let path =
            directory.ok_or_else(|| wrong(format!("{name:?}; accepted here: the name of a machine")))?.join(name);
        let text = read(&path).map_err(wrong)?;
        with_ancestors(&path.display().to_string(), &text, path.parent(), hash, more - 1)?
    } else {
        let builtin = BUILTINS.iter().find(|builtin| builtin.name == name);
        let builtin = builtin.ok_or_else(|| wrong(no_such_machine(name)))?;
        with_ancestors(&builtin.label(), builtin.text, None, hash, more - 1)?
    };
    tree::inherit(&mut tree, parent);
    Ok(tree)
}

/// FNV-1a: the same on every machine and in every version of the language.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a text, and its length, so that two texts are not one.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hash;

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Hash::new();
        hash.add(b"a");
        // FNV-1a of "a" is published as af63dc4c8601ec8c; the length follows.
        let mut expected = Hash(0xaf63_dc4c_8601_ec8c);
        for byte in 1u64.to_le_bytes() {
            expected.0 = (expected.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        assert_eq!(hash.0, expected.0);
    }
}
