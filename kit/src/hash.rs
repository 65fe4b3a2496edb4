//! A hash by which texts are known again.

use fnv::FnvHasher;
use std::hash::Hasher;

/// FNV-1a of a text: the same on every machine and in every version of the language.
pub fn hash_number(text: &str) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The same in hexadecimal.
pub fn hash(text: &str) -> String {
    format!("{:016x}", hash_number(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!((hash("").as_str(), hash("a").as_str()), ("cbf29ce484222325", "af63dc4c8601ec8c"), "as published");
    }
}
