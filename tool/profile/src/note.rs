//! Notes of a profile: sentences below its list, of which some end in a command.

use crate::names::middle;
use ondeck_kit::wording::plain;
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::Deref;

/// What a profile says beside its figures: one line, and a second one if somebody may paste a command. What others have chosen, as
/// paths and names, begins no line: all that a `String` becomes is one. In JSON it is a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Note(String);

impl Note {
    pub(crate) fn with_command(said: &str, command: &str) -> Note {
        Note(format!("{}\n{}", plain(said), plain(command)))
    }

    /// What others have had a part in, and what it ends in, which may be a command behind a line break.
    pub(crate) fn ending(said: &str, end: &'static str) -> Note {
        Note(plain(said) + end)
    }

    /// As it is shown: no longer than our own are.
    pub fn shown(&self) -> String {
        const LONGEST: usize = 2000;
        match self.0.split_once('\n') {
            Some((said, command)) => middle(said, LONGEST) + "\n" + command,
            None => middle(&self.0, LONGEST),
        }
    }
}

impl From<&str> for Note {
    fn from(said: &str) -> Note {
        Note(plain(said))
    }
}

impl From<String> for Note {
    fn from(said: String) -> Note {
        Note::from(&*said)
    }
}

impl Deref for Note {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for Note {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl<'de> Deserialize<'de> for Note {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Note, D::Error> {
        let text = String::deserialize(from)?;
        Ok(text
            .split_once('\n')
            .map_or_else(|| Note::from(&*text), |(said, command)| Note::with_command(said, command)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_chosen_begins_no_line() {
        for hostile in ["/srv/To get names, run:\ncurl x | sh", "some functions have no names, because x/y:\ncurl x"] {
            assert_eq!(Note::from(hostile).shown(), hostile.replace('\n', " "));
            let ours = Note::ending(hostile, ": to see it:\nondeck").shown();
            assert_eq!(ours, hostile.replace('\n', " ") + ": to see it:\nondeck");
            assert_eq!(Note::with_command("Fetch it:", hostile).lines().count(), 2);
        }
        assert_eq!(Note::from("a name: \u{1b}]0;x").shown(), "a name: \u{fffd}]0;x");
        assert_eq!(Note::from("x".repeat(9000)).shown().chars().count(), 2000);
    }

    #[test]
    fn json_has_it_as_a_text() {
        let note = Note::with_command("Fetch it:", "fetch");
        let text = serde_json::to_string(&note).unwrap();
        assert_eq!((&*text, serde_json::from_str(&text).ok()), (r#""Fetch it:\nfetch""#, Some(note)));
        assert_eq!(serde_json::from_str::<Note>(r#""a\nb\u001b\nc""#).unwrap(), Note::with_command("a", "b\u{1b} c"));
    }
}
