//! All mutants of a file in one text: each asks at run time whether it is the one, so a thousand of them are built once.
//!
//! The idea is R. H. Untch's mutant schemata (1993).

use super::generate::{Change, Found, Mutant};
use std::ops::Range;

/// The text of a file with its mutants, numbered from `first` on.
pub(super) fn weave(text: &str, found: &Found, first: usize) -> String {
    let mut order: Vec<(usize, &Mutant)> = found.mutants.iter().enumerate().collect();
    order.sort_by_key(|(index, mutant)| {
        let range = place(mutant);
        (range.start, std::cmp::Reverse(range.end), *index)
    });
    let mut woven = Woven { text, consts: &found.consts, at: 0, out: String::with_capacity(8 * text.len()) };
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (index, mutant) in order {
        let range = place(mutant);
        while let Some((end, suffix)) = open.pop_if(|(end, _)| *end <= range.start) {
            woven.up_to(end);
            woven.out += suffix;
        }
        woven.up_to(range.start);
        let number = first + index;
        let suffix = match &mutant.change {
            Change::Instead(other) => {
                // In brackets, as an expression that begins with a block would end with that.
                woven.out += &format!("(if crate::mutant::is({number}) {{ ({other}) }} else {{ (");
                ") })"
            }
            Change::LeftOut => {
                woven.out += &format!("if !crate::mutant::is({number}) {{ ");
                " }"
            }
            Change::First(other) => {
                woven.out += &format!(" if crate::mutant::is({number}) {{ {other}; }} ");
                ""
            }
        };
        open.push((range.end, suffix));
    }
    while let Some((end, suffix)) = open.pop() {
        woven.up_to(end);
        woven.out += suffix;
    }
    woven.up_to(text.len());
    woven.out
}

/// What a mutant encloses: for the beginning of a body the place behind its brace.
fn place(mutant: &Mutant) -> Range<usize> {
    match mutant.change {
        Change::First(_) => mutant.range.start + 1..mutant.range.start + 1,
        _ => mutant.range.clone(),
    }
}

struct Woven<'a> {
    text: &'a str,
    consts: &'a [Range<usize>],
    at: usize,
    out: String,
}

impl Woven<'_> {
    /// Copies the text up to `end`, without the `const` of functions that are not constant any more.
    fn up_to(&mut self, end: usize) {
        let begin = self.at;
        for gone in self.consts.iter().filter(|gone| (begin..end).contains(&gone.start)) {
            self.out += &self.text[self.at..gone.start];
            self.at = gone.end;
        }
        self.out += &self.text[self.at.min(end)..end];
        self.at = end;
    }
}

/// The module that the mutants ask, for the crate that they are in. Bare C, as it is asked inside allocators, models and
/// programs that somebody else wrote; which mutants are met goes to a file that all processes of a test have in common.
pub(super) const MODULE: &str = r#"
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn atoi(text: *const c_char) -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(file: c_int) -> c_int;
    fn ftruncate(file: c_int, length: i64) -> c_int;
    fn mmap(at: *mut c_void, length: usize, rights: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

const UNASKED: u32 = u32::MAX;
const NONE: u32 = u32::MAX - 1;
const RECORDING: u32 = u32::MAX - 2;
const LENGTH: usize = 512;

static ACTIVE: AtomicU32 = AtomicU32::new(UNASKED);
static REACHED: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());

/// Whether the mutant `number` is the one that runs.
#[inline]
pub fn is(number: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active >= RECORDING { special(active, number) } else { active == number }
}

#[cold]
fn special(active: u32, number: u32) -> bool {
    if active == UNASKED {
        let errno = unsafe { *__errno_location() };
        ACTIVE.store(unsafe { asked() }, Relaxed);
        unsafe { *__errno_location() = errno };
        return is(number);
    }
    if active == RECORDING {
        let word = unsafe { &*REACHED.load(Relaxed).add(number as usize / 64) };
        word.fetch_or(1 << (number % 64), Relaxed);
    }
    false
}

unsafe fn asked() -> u32 {
    const READ_WRITE_CREATE: c_int = 2 | 0o100;
    unsafe {
        let mutant = getenv(c"ONDECK_MUTANT".as_ptr());
        let path = getenv(c"ONDECK_REACHED".as_ptr());
        if !mutant.is_null() {
            return atoi(mutant) as u32;
        }
        if path.is_null() {
            return NONE;
        }
        let file = open(path, READ_WRITE_CREATE, 0o600 as c_int);
        if file < 0 || ftruncate(file, LENGTH as i64) != 0 {
            return NONE;
        }
        let words = mmap(core::ptr::null_mut(), LENGTH, 1 | 2, 1, file, 0);
        close(file);
        if words as isize == -1 {
            return NONE;
        }
        REACHED.store(words.cast(), Relaxed);
        RECORDING
    }
}
"#;

/// How many mutants the module has room to record.
pub(super) const MOST: usize = 64 * 64;

#[cfg(test)]
mod tests {
    use super::super::generate::{Kind, find};
    use super::*;

    const FILE: &str = "
        const fn f(a: u32, b: bool) -> bool {
            if a < 3 && b {
                g(Acquire);
                return X | Y == 2;
            }
            !b
        }
    ";

    #[test]
    fn mutants_are_named_by_what_they_change() {
        let found = find("f.rs", FILE, false).expect("parses");
        let names: Vec<&str> = found.mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "f.rs f: at once `return true`",
                "f.rs f: at once `return false`",
                "f.rs f: `a < 3 && b` -> `true`",
                "f.rs f: `a < 3 && b` -> `false`",
                "f.rs f: `a < 3 && b` -> `a < 3`",
                "f.rs f: `a < 3 && b` -> `b`",
                "f.rs f: `a < 3` -> `(a) <= (3)`",
                "f.rs f: `a < 3` -> `(a) >= (3)`",
                "f.rs f: `g(Acquire);` -> `nothing`",
                "f.rs f: `g(Acquire);` with Relaxed",
                "f.rs f: `X | Y == 2` -> `(X | Y) != (2)`",
                "f.rs f: `X | Y` -> `X`",
                "f.rs f: `X | Y` -> `Y`",
                "f.rs f: `!b` -> `b`",
            ]
        );
        assert_eq!(found.mutants.iter().filter(|mutant| mutant.kind == Kind::Ordering).count(), 1);
    }

    #[test]
    fn a_mutant_knows_its_function_whatever_the_comments_say() {
        let hashes = |text: &str| -> Vec<String> {
            find("f.rs", text, false).expect("parses").mutants.into_iter().map(|mutant| mutant.function).collect()
        };
        let before = hashes("fn f() { g(); }\nfn h() { g(); }");
        assert_eq!(before, hashes("fn f() {\n    // Why.\n    g();\n}\n/// What.\nfn h() { g(); }"));
        let after = hashes("fn f() { g(1); }\nfn h() { g(); }");
        assert_ne!(before[0], after[0]);
        assert_eq!(before[before.len() - 1], after[after.len() - 1]);
    }

    #[test]
    fn an_expression_may_begin_with_a_block() {
        let text = "fn f() -> bool { a && unsafe { *b } == 2 }";
        let woven = weave(text, &find("f.rs", text, false).expect("parses"), 0);
        assert!(syn::parse_file(&woven).is_ok(), "{woven}");
    }

    #[test]
    fn constant_functions_may_have_to_stay() {
        let found = find("f.rs", FILE, true).expect("parses");
        assert!(found.mutants.is_empty() && weave(FILE, &found, 0).contains("const fn"));
    }

    #[test]
    fn all_mutants_of_a_text_nest() {
        let found = find("f.rs", FILE, false).expect("parses");
        let woven = weave(FILE, &found, 100);
        assert!(syn::parse_file(&woven).is_ok(), "{woven}");
        assert!(!woven.contains("const fn"), "asks at run time");
        for index in 0..found.mutants.len() {
            assert_eq!(woven.matches(&format!("is({})", 100 + index)).count(), 1, "{woven}");
        }
        let condition = "(if crate::mutant::is(107) { ((a) >= (3)) } else { (a < 3) })";
        assert!(woven.contains(condition), "{woven}");
    }
}
