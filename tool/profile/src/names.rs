//! Names of functions and locks as a reader wants them: short where there is little room, and never more than text.

use crate::profile::Frame;
use ondeck_report::wording::plain;

/// A name that is longer says no more: generated code has names of thousands of characters.
const MOST: usize = 400;
/// How the names of single locks begin that no symbol gives, and how those of several do.
const PLACES: [(&str, &str); 3] =
    [("initialised in ", "made in "), ("first seen in ", "first used in "), ("in ", "waited for in ")];
/// So much of a name is looked through for its short form.
const MOST_READ: usize = 4000;

/// A name from somewhere else in one line, and not endless.
pub(crate) fn shown(name: &str) -> String {
    middle(&plain(name), MOST)
}

/// The text in at most `most` characters. Its middle is left out: the beginning says whose it is, the end what and where.
pub(crate) fn middle(text: &str, most: usize) -> String {
    let n_chars = text.chars().count();
    if n_chars <= most {
        return text.to_string();
    }
    let left = most.saturating_sub(3);
    let (begin, end) = (left.div_ceil(2), left / 2);
    let first: String = text.chars().take(begin).collect();
    let last: String = text.chars().skip(n_chars - end).collect();
    format!("{first}...{last}")
}

/// A lock's name without the address that tells it from others of the same name.
pub(crate) fn base(name: &str, address: u64) -> &str {
    name.find(&format!(" at {address:#x}")).map_or(name, |at| &name[..at])
}

/// A lock's name in at most `most` characters, if that is enough: without its address, then without its line, then without
/// what happened there. The function, or the symbol, stays whole: no other name of the lock may be there.
pub(crate) fn lock_name(name: &str, most: usize) -> String {
    let fits = |name: &str| name.chars().count() <= most;
    let mut short = name.to_owned();
    if !fits(&short) {
        short.truncate(name.rfind(" at 0x").unwrap_or(name.len()));
    }
    if !fits(&short) {
        short.truncate(without_line(&short).len());
    }
    if !fits(&short) {
        for verb in PLACES.iter().flat_map(|(one, several)| [one, several]).filter(|verb| **verb != "in ") {
            short = short.replacen(verb, "in ", 1);
        }
    }
    middle(&short, MOST)
}

/// A lock's name without the file and the line in parentheses at its end.
pub(crate) fn without_line(name: &str) -> &str {
    let is_line = |place: &str| place.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok());
    let parts = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    parts.filter(|(_, place)| is_line(place)).map_or(name, |(function, _)| function)
}

/// What a lock's name says of its kind, without how many there are: the same for one of them, and for several in
/// [`grouped`](crate::grouped).
pub(crate) fn kind_of(name: &str) -> String {
    let mut words = name.splitn(3, ' ');
    if let (Some(count), Some("locks"), Some(rest)) = (words.next(), words.next(), words.next())
        && count.parse::<u32>().is_ok()
    {
        return rest.to_owned();
    }
    several(name).unwrap_or_else(|| name.to_owned())
}

/// A lock's name in a sentence: `cache` between backticks, or what is known instead of a name, as in "200 locks made in
/// `main (a.c:7)`".
pub(crate) fn in_a_sentence(name: &str) -> String {
    let quoted = |name: &str| format!("`{}`", shown(name).replace('`', "'"));
    let kind = kind_of(name);
    let verbs = PLACES.iter().map(|(_, several)| *several).chain(["of "]);
    let Some((verb, place)) = verbs.into_iter().find_map(|verb| Some((verb, kind.strip_prefix(verb)?))) else {
        return quoted(name);
    };
    match name.split_once(" locks ") {
        Some((count, _)) if name != kind => format!("{count} locks {verb}{}", quoted(place)),
        _ if name != kind => format!("a lock {verb}{}", quoted(place)),
        _ => quoted(name),
    }
}

/// `made in main (a.c:7)` of `initialised in main (a.c:7)`; `None` of a symbol.
pub(crate) fn several(name: &str) -> Option<String> {
    PLACES.iter().find_map(|(one, several)| Some(format!("{several}{}", name.strip_prefix(one)?)))
}

/// The first of some processes, by program and number, and how many there are beside them.
pub(crate) fn processes(all: impl ExactSizeIterator<Item = (String, u32)>) -> String {
    const MOST_NAMED: usize = 3;
    let n_more = all.len().saturating_sub(MOST_NAMED);
    let named = all.take(MOST_NAMED).map(|(program, pid)| format!("{program} ({pid})"));
    let named = named.collect::<Vec<String>>().join(", ");
    if n_more > 0 { format!("{named} and {n_more} more") } else { named }
}

/// The line of a frame, as names of locks have it behind the function.
pub(crate) fn line(frame: &Frame) -> String {
    let file = frame.file.rsplit('/').next().unwrap_or_default();
    if frame.line > 0 { format!(" ({file}:{})", frame.line) } else { String::new() }
}

/// A function's name without template arguments, parameters and the type that it returns: `std::mutex::lock` of
/// `void std::mutex::lock<int>(int)`. Rust's `<A as B>::c` becomes `A::c`.
pub(crate) fn brief(function: &str) -> String {
    let function: String = plain(function).chars().take(MOST_READ).collect();
    let mut stripped = String::new();
    let mut rest = as_rust(function.trim()).replace("(anonymous namespace)", "{anonymous}");
    // Between a method and a lambda in it.
    rest = rest.replace(" const::{", "::{");
    // Libraries put their versions into names: std::__1::mutex, std::__cxx11::string.
    for version in ["std::__1::", "std::__cxx11::"] {
        rest = rest.replace(version, "std::");
    }
    rest = without_version_of_abseil(&rest);
    let mut rest = rest.as_str();
    while let Some(c) = rest.chars().next() {
        if let Some(sign) = operator(rest, &stripped) {
            stripped += &rest[..sign];
            rest = &rest[sign..];
            continue;
        }
        let skipped = match c {
            '<' => closing(rest, '<', '>'),
            '(' => closing(rest, '(', ')'),
            '[' => closing(rest, '[', ']'),
            _ => None,
        };
        match skipped {
            Some(end) => rest = &rest[end..],
            None => {
                stripped.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    // Of Rust's `with::<u8>::{closure#0}`.
    let stripped = stripped.replace("::::", "::");
    let stripped = stripped.trim().trim_end_matches("::");
    let stripped = without_type(stripped.trim().trim_end_matches(" const").trim());
    if stripped.is_empty() { function } else { stripped.to_string() }
}

/// `absl::Mutex` of `absl::lts_20240116::Mutex`, and of `absl::debian3::Mutex`.
fn without_version_of_abseil(name: &str) -> String {
    let mut parts = name.split("absl::");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let version = part.split("::").next().filter(|word| word.starts_with("lts_") || word.starts_with("debian"));
        let rest = version.and_then(|word| part[word.len()..].strip_prefix("::"));
        plain += "absl::";
        plain += rest.unwrap_or(part);
    }
    plain
}

/// `A::c` of `<A as B>::c` and of `<A>::c`; anything else as it is.
fn as_rust(name: &str) -> String {
    let end = name.strip_prefix('<').and_then(|_| closing(name, '<', '>'));
    let Some(end) = end.filter(|end| name[*end..].starts_with("::")) else { return name.to_string() };
    let inner = &name[1..end - 1];
    let mut depth = 0i32;
    let at = inner.char_indices().find(|(at, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>' && !inner[..*at].ends_with('-'));
        depth == 0 && inner[*at..].starts_with(" as ")
    });
    let whose = at.map_or(inner, |(at, _)| &inner[..at]);
    format!("{}{}", as_rust(whose), &name[end..])
}

/// How long the name of an operator is, if one begins here: its signs are no brackets.
fn operator(rest: &str, before: &str) -> Option<usize> {
    let word = "operator";
    let signs = rest.strip_prefix(word)?;
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    if signs.starts_with("()") || signs.starts_with("[]") {
        return Some(word.len() + 2);
    }
    let n_signs = signs.chars().take_while(|c| "<>=!+-*/%^&|~,".contains(*c)).count();
    (n_signs > 0).then_some(word.len() + n_signs)
}

/// Where the bracket is closed that `text` begins with: the place behind; `None` if it never is.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        // An arrow closes nothing.
        depth += i32::from(c == open) - i32::from(c == close && before != '-');
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
        before = c;
    }
    None
}

/// The name without what stands before it. A space in the name itself follows `operator`, as in `operator new`.
fn without_type(name: &str) -> &str {
    let end = name.find("operator ").unwrap_or(name.len());
    name[..end].rfind(' ').map_or(name, |at| &name[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_name_says_whose_and_what() {
        for (name, expected) in [
            ("main", "main"),
            ("std::mutex::lock()", "std::mutex::lock"),
            ("std::__1::mutex::lock()", "std::mutex::lock"),
            ("absl::lts_20240116::Mutex::Lock()", "absl::Mutex::Lock"),
            ("absl::debian3::Mutex::Block(absl::debian3::base_internal::PerThreadSynch*)", "absl::Mutex::Block"),
            ("absl::lts_", "absl::lts_"),
            ("my_absl::debian", "my_absl::debian"),
            ("void std::lock<std::mutex, std::mutex>(std::mutex&, std::mutex&)", "std::lock"),
            ("std::lock_guard<std::mutex>::~lock_guard()", "std::lock_guard::~lock_guard"),
            ("(anonymous namespace)::Pool::get(int) const", "{anonymous}::Pool::get"),
            ("std::map<int, void (*)(int)>::operator[](int const&)", "std::map::operator[]"),
            ("A::operator()(int) const", "A::operator()"),
            ("bool operator<<int>(A<int> const&, A<int> const&)", "operator<<int>"),
            ("std::ostream& operator<<(std::ostream&, A)", "operator<<"),
            ("operator new(unsigned long)", "operator new"),
            ("Foo::bar(int)::{lambda(auto)#1}::operator()(int) const", "Foo::bar::{lambda#1}::operator()"),
            ("<parking_lot::RawMutex as lock_api::RawMutex>::lock", "parking_lot::RawMutex::lock"),
            ("<alloc::vec::Vec<T> as Drop>::drop", "alloc::vec::Vec::drop"),
            ("<app::Shard<u8>>::get", "app::Shard::get"),
            ("app::serve::{{closure}}", "app::serve::{{closure}}"),
            ("app::main::{closure#0}", "app::main::{closure#0}"),
            ("app::with::<app::main::{closure#0}, ()>", "app::with"),
            ("app::with::<u8>::{closure#1}", "app::with::{closure#1}"),
            ("<app::main::{closure#0} as core::ops::FnOnce<()>>::call_once", "app::main::{closure#0}::call_once"),
            ("core::ops::function::FnOnce::call_once<fn() -> i32>", "core::ops::function::FnOnce::call_once"),
            ("libc.so.6+0x1234", "libc.so.6+0x1234"),
            ("<script>alert(1)</script>", "alert"),
            ("<unclosed", "<unclosed"),
            ("", ""),
            ("()", "()"),
        ] {
            assert_eq!(brief(name), expected, "{name}");
        }
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(middle("abcdefghij", 10), "abcdefghij");
        assert_eq!(middle("abcdefghijk", 9), "abc...ijk");
        assert_eq!(middle("abcdefghijk", 2), "...");
        assert_eq!(shown(&"x".repeat(5000)).len(), MOST);
    }

    #[test]
    fn locks_keep_the_function_and_lose_the_rest() {
        let name = "first seen in Session::read (sess2.cc:11) at 0x55d0f00d1234";
        for (most, expected) in [
            (59, name),
            (58, "first seen in Session::read (sess2.cc:11)"),
            (40, "first seen in Session::read"),
            (26, "in Session::read"),
            (13, "in Session::read"),
        ] {
            assert_eq!(lock_name(name, most), expected);
        }
        assert_eq!(lock_name("200 locks made in Session::Session (a.cc:7)", 30), "200 locks in Session::Session");
        assert_eq!(lock_name("query_cache+0x98 (A::b)", 18), "query_cache+0x98 (A::b)");
        assert_eq!(lock_name("3 locks first used in job (a.cc:7)", 10), "3 locks in job");
        assert_eq!(lock_name("0x7f0000001234", 14), "0x7f0000001234");
    }

    #[test]
    fn nested_names_take_no_longer_than_others() {
        let deep = "<".repeat(20_000) + &"(".repeat(20_000);
        assert_eq!(brief(&deep).chars().count(), MOST_READ);
    }
}
