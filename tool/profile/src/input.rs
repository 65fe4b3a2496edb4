//! Files of profiles, whichever form they have: the form is known by the content.

use crate::summary::Summary;
use crate::{json, pprof};
use flate2::read::MultiGzDecoder;
use ondeck_kit::file::{ReadError, reason};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What is expected, for messages about files that are something else.
const EXPECTED: &str = "accepted: what `ondeck profile` wrote for pprof or as JSON";
/// What compressed files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// No profile is as large; a small file can be made that unpacks to a thousand times its size.
const MOST_BYTES: u64 = 64 << 20;

/// Reads what of a profile is compared, from a file for pprof or JSON.
pub fn read_profile(path: &Path) -> Result<Summary, ReadError> {
    summary(path).map_err(|what| ReadError::new(path, what))
}

/// Whether the file looks like a profile, even if it is a broken one: compressed, or JSON with a version. A file that cannot
/// be read does not.
pub fn is_profile(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.is_ok() && (bytes.starts_with(&GZIP) || json::is_profile(&String::from_utf8_lossy(&bytes)))
}

fn summary(path: &Path) -> Result<Summary, String> {
    let file = File::open(path).map_err(|error| format!("cannot be read: {}", reason(&error)))?;
    of_bytes(bounded(file)?)
}

/// What of a profile is compared, from the bytes of its file. The error is one line.
fn of_bytes(bytes: Vec<u8>) -> Result<Summary, String> {
    let is_packed = bytes.starts_with(&GZIP);
    let bytes = if is_packed { bounded(MultiGzDecoder::new(&bytes[..]))? } else { bytes };
    if bytes.is_empty() {
        return Err(format!("is empty; {EXPECTED}"));
    }
    let is_json = bytes.trim_ascii_start().starts_with(b"{");
    let summary = match str::from_utf8(&bytes) {
        Ok(text) if is_json => Summary::of(&json::from_json(text)?),
        _ if is_packed => pprof::read(&bytes)?,
        _ => return Err(format!("is neither compressed nor JSON; {EXPECTED}")),
    };
    if summary.seconds > 0.0 { Ok(summary) } else { Err(format!("is of a run of {} s; {EXPECTED}", summary.seconds)) }
}

/// All bytes, if they are not too many.
fn bounded(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => "ends in the middle; is the file cut off?".to_string(),
        ErrorKind::InvalidInput | ErrorKind::InvalidData => format!("is damaged: {error}; {EXPECTED}"),
        _ => format!("cannot be read: {}", reason(&error)),
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("has more than {} MiB, as no profile has; {EXPECTED}", MOST_BYTES >> 20));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_json;
    use crate::pprof::{gzip, write};
    use crate::sample::{Builder, toy};
    use proptest::prelude::*;

    fn error(bytes: &[u8]) -> String {
        of_bytes(bytes.to_vec()).unwrap_err()
    }

    #[test]
    fn both_forms_are_known_by_their_content() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        for bytes in [write(&toy()), to_json(&toy()).into_bytes(), gzip(to_json(&toy()).as_bytes())] {
            std::fs::write(&path, &bytes).unwrap();
            assert!(is_profile(&path));
            assert_eq!(read_profile(&path).unwrap().locks.len(), 3);
        }
        std::fs::write(&path, "platform,workload\n").unwrap();
        assert!(!is_profile(&path));
        let what = read_profile(&path).unwrap_err().to_string();
        assert!(
            what.starts_with(&path.display().to_string()) && what.contains("neither compressed nor JSON"),
            "{what}"
        );
        std::fs::remove_file(&path).unwrap();
        assert!(!is_profile(&path));
        assert!(read_profile(&path).unwrap_err().to_string().contains("cannot be read: No such file"));
    }

    #[test]
    fn damage_is_named() {
        let whole = write(&toy());
        for length in [2, 9, 100, whole.len() - 1] {
            assert_eq!(error(&whole[..length]), "ends in the middle; is the file cut off?", "{length}");
        }
        let mut broken = whole.clone();
        let checksum = broken.len() - 8;
        broken[checksum] ^= 1;
        assert!(error(&broken).contains("is damaged: "), "{}", error(&broken));
        assert!(error(b"").contains("is empty"));
        assert!(error(&gzip(b"")).contains("is empty"));
        assert!(error(&gzip(b"no protobuf")).contains("is no file for pprof: "), "{}", error(&gzip(b"no protobuf")));
        let endless = Builder::new(0.0).0;
        assert!(error(&write(&endless)).contains("a run of 0 s"));
    }

    /// 70 MB of zeros, in 70 kB.
    #[test]
    fn a_small_file_does_not_become_a_large_one() {
        let bomb = gzip(&vec![0; 70_000_000]);
        assert!(bomb.len() < 100_000 && error(&bomb).contains("more than 64 MiB"), "{}", error(&bomb));
    }

    proptest! {
        /// One byte of a file is another: it is read, or refused.
        #[test]
        fn changed_bytes_do_no_harm(place: prop::sample::Index, byte: u8, is_json: bool) {
            let mut bytes = if is_json { to_json(&toy()).into_bytes() } else { unpacked() };
            let place = place.index(bytes.len());
            bytes[place] = byte;
            let _ = of_bytes(if is_json { bytes } else { gzip(&bytes) });
        }

        #[test]
        fn random_bytes_do_no_harm(bytes: Vec<u8>) {
            let _ = of_bytes(gzip(&bytes));
            let _ = of_bytes(bytes);
        }
    }

    /// Where the numbers of a document are, as JSON pointers.
    fn numbers(value: &serde_json::Value, at: &str, into: &mut Vec<String>) {
        use serde_json::Value;
        match value {
            Value::Number(_) => into.push(at.to_owned()),
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(n, value)| numbers(value, &format!("{at}/{n}"), into))
            }
            Value::Object(map) => map.iter().for_each(|(key, value)| numbers(value, &format!("{at}/{key}"), into)),
            _ => {}
        }
    }

    /// What is made of a profile, if it is one, ends.
    fn shown(changed: &serde_json::Value) {
        use crate::compare::{self, compare};
        use crate::{flamegraph, page, table};
        let Ok(profile) = json::from_json(&changed.to_string()) else { return };
        let (old, new) = (Summary::of(&toy()), Summary::of(&profile));
        let comparison = compare(&old, &new).text("a", "b", 120);
        let both = compare::page(&old, &new, ["a", "b"]);
        let texts = [table(&profile, 120), page(&profile), both, flamegraph(&profile)];
        assert!(!texts.iter().any(|text| text.contains("NaN")));
        let sizes = texts.map(|text| text.len());
        assert!(sizes.iter().all(|size| *size < 10 << 20), "{sizes:?}");
        assert!(!comparison.is_empty());
        let _ = of_bytes(write(&profile));
    }

    fn extremes() -> [serde_json::Value; 6] {
        use serde_json::json;
        [json!(0), json!(1e-300), json!(1e18), json!(1e308), json!(u32::MAX), json!(u64::MAX)]
    }

    fn whole() -> serde_json::Value {
        serde_json::from_str(&to_json(&toy())).unwrap()
    }

    /// Each number of a profile is an extreme: what is made of it ends, or it is refused.
    #[test]
    fn no_number_is_too_much() {
        let mut pointers = Vec::new();
        numbers(&whole(), "", &mut pointers);
        let extremes = extremes();
        for (pointer, extreme) in pointers.iter().flat_map(|pointer| extremes.iter().map(move |value| (pointer, value)))
        {
            println!("{extreme} at {pointer}");
            let mut changed = whole();
            *changed.pointer_mut(pointer).unwrap() = extreme.clone();
            shown(&changed);
        }
    }

    proptest! {
        /// The same of several, small ones among them, and of lists that are empty.
        #[test]
        fn no_numbers_together_are_too_much(
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..9_usize), 1..12),
            emptied in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut changed = whole();
            let mut pointers = Vec::new();
            numbers(&changed, "", &mut pointers);
            for (at, which) in changes {
                let value = extremes().get(which).cloned().unwrap_or_else(|| which.into());
                *changed.pointer_mut(&pointers[at.index(pointers.len())]).unwrap() = value;
            }
            if let Some(at) = emptied {
                // A number that lies in a list has its place there at the end.
                let lists: Vec<&str> = pointers.iter().filter_map(|pointer| Some(pointer.rsplit_once('/')?.0)).collect();
                let list = changed.pointer_mut(lists[at.index(lists.len())]).unwrap();
                if let Some(list) = list.as_array_mut() {
                    list.clear();
                }
            }
            shown(&changed);
        }
    }

    /// 2 MB of a stack, and 5,000 places that name it: what goes through each of them takes minutes.
    #[test]
    fn a_small_file_of_endless_stacks_is_refused() {
        let mut profile = toy();
        profile.stacks[0] = vec![0; 1_000_000];
        let site = profile.locks[0].waiters[0];
        profile.locks[0].waiters = vec![crate::profile::Site { stack: 0, ..site }; 5_000];
        let what = error(to_json(&profile).as_bytes());
        assert!(what.starts_with("has sites with 50"), "{what}");
    }

    fn unpacked() -> Vec<u8> {
        bounded(MultiGzDecoder::new(&write(&toy())[..])).unwrap()
    }
}
