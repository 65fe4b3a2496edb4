//! Readable names: symbols as compilers write them, demangled.

use super::elf::guarded;
use cpp_demangle::{DemangleOptions, Symbol};
use std::fmt::{Error, Write};

/// Enough for what people write; a symbol of some hundred bytes can stand for a name of gigabytes.
const MOST_BYTES: usize = 16 << 10;

/// Whether a symbol says more than the bare name: its namespace, and types.
pub(super) fn is_mangled(symbol: &str) -> bool {
    symbol.starts_with("_Z") || symbol.starts_with("_R")
}

/// A Rust or C++ symbol as its language writes it; others as they are. Rust's hashes are dropped.
pub(super) fn demangle(symbol: &str) -> String {
    let name = guarded(|| Ok(rust(symbol).or_else(|| cpp(symbol))));
    name.ok().flatten().unwrap_or_else(|| symbol.to_owned())
}

fn rust(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let short = capped(|text| write!(text, "{name:#}"))?;
    // Rust's old names are C++ names with a hash at the end, and what has no hash is C++.
    (symbol.starts_with("_R") || capped(|text| write!(text, "{name}"))? != short).then_some(short)
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    // gcc makes copies of functions for some of their callers, as `.isra.0`. To its debug information they are one.
    let name = Symbol::new(symbol.split('.').next()?).ok()?;
    capped(|text| name.structured_demangle(text, &DemangleOptions::new().hide_expression_literal_types()))
        .map(without_abi_tags)
}

/// `map[abi:cxx11]` as `map`: gcc marks what has the newer strings in it, and nobody writes that.
fn without_abi_tags(name: String) -> String {
    let mut pieces = name.split("[abi:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + piece.split_once(']').map_or(piece, |(_, rest)| rest))
}

fn capped(write: impl FnOnce(&mut Capped) -> Result<(), Error>) -> Option<String> {
    let mut text = Capped(String::new());
    write(&mut text).ok().map(|()| text.0)
}

/// A text that takes no more than [`MOST_BYTES`].
struct Capped(String);

impl Write for Capped {
    fn write_str(&mut self, text: &str) -> Result<(), Error> {
        if self.0.len() + text.len() > MOST_BYTES {
            return Err(Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_its_names_and_hashes_are_dropped() {
        for (symbol, name) in [
            ("pthread_mutex_lock", "pthread_mutex_lock"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RINvCs1234_7mycrate3foolE", "mycrate::foo::<i32>"),
            ("_ZN5space4workEi", "space::work(int)"),
            ("_ZN12_GLOBAL__N_15guardE", "(anonymous namespace)::guard"),
            ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"),
            ("_ZN5space4workEi.isra.0.cold", "space::work(int)"),
            ("_Z3fixILi3EEvv", "void fix<3>()"),
            ("_Z5cacheB5cxx11", "cache"),
            ("_ZN5cacheB5cxx114findEv", "cache::find()"),
            ("_Zgarbage", "_Zgarbage"),
            ("_Rgarbage", "_Rgarbage"),
            ("", ""),
        ] {
            assert_eq!(demangle(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn a_name_that_explodes_stays_as_it_is() {
        // Each level is a pair of the one below it: 2^40 parts in a name of some hundred bytes.
        let pairs = |n| (0..n).map(|level| format!("S_IS{0}_S{0}_E", base_36(level))).collect::<String>();
        let symbol = |n| format!("_Z1fSt4pairIiiE{}", pairs(n));
        assert_eq!(
            demangle(&symbol(1)),
            "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >)"
        );
        assert_eq!(demangle(&symbol(40)), symbol(40));
    }

    fn base_36(number: usize) -> String {
        let digit = |digit: usize| char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit]);
        if number < 36 { digit(number).to_string() } else { format!("{}{}", digit(number / 36), digit(number % 36)) }
    }
}
