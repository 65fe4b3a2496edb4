//! Profiles from files.

use crate::profile::{Profile, VERSION};
use std::path::Path;

/// Whether the text is that of a profile, be it damaged or not.
pub fn is_profile(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"started_at\"") && text.contains("\"processes\"")
}

/// Reads the text of a file, as `ondeck profile --format json` writes it.
///
/// # Errors
/// If it is anything else: one line with the file's name.
pub fn parse(file: &Path, text: &str) -> Result<Profile, String> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let fail = |line: usize, what: &str| format!("{}, line {line}: {what}", file.display());
    // Of another version, other fields may be missing: that it is another says more.
    let versioned: Result<Versioned, _> = serde_json::from_str(text);
    if let Ok(Versioned { version }) = versioned
        && version != VERSION
    {
        return Err(format!("{}: a profile of version {version}; this program reads {VERSION}", file.display()));
    }
    serde_json::from_str(text).map_err(|error| {
        let hint = if error.is_eof() {
            "is the file cut off?"
        } else {
            "expected a profile as `ondeck profile --format json` writes it"
        };
        // The library's message ends with the place, which stands in front of ours.
        let message = error.to_string();
        fail(error.line(), &format!("{}; {hint}", message.split(" at line ").next().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let profile = crate::sample::server();
        let text = serde_json::to_string(&profile).unwrap();
        assert!(is_profile(&text) && is_profile(&text[..text.len() / 2]));
        assert_eq!(parse(Path::new("a.json"), &text), Ok(profile));
    }

    #[test]
    fn anything_else_is_refused_with_the_reason() {
        let text = serde_json::to_string(&crate::sample::small()).unwrap();
        let refused = |text: &str| parse(Path::new("a.json"), text).unwrap_err();
        assert!(!is_profile("{\"rows\": []}") && !is_profile("platform,machine\n"));
        assert_eq!(refused(&text[..text.len() / 2]).split("; ").last(), Some("is the file cut off?"));
        assert_eq!(
            refused(&text.replacen("\"version\":1", "\"version\":7", 1)),
            "a.json: a profile of version 7; this program reads 1"
        );
        let no_number = refused(&text.replacen("\"cores\":16", "\"cores\":\"many\"", 1));
        assert!(
            no_number.starts_with("a.json, line 1: invalid type") && no_number.contains("--format json"),
            "{no_number}"
        );
    }
}
