//! The texts of a machine file and of those that it inherits from, as one tree whose parts know where they stand.

use super::schema::File;
use serde::Deserialize;
use std::fmt::Display;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// A machine file, and those that it inherits from, nearest first.
#[derive(Default)]
pub(super) struct Texts(Vec<Text>);

struct Text {
    file: String,
    /// The text behind as many spaces as the texts before it take: so a number is a place in one of all texts.
    padded: String,
    start: usize,
}

/// What is wrong with a field, by its path, or with what follows from it.
pub(super) struct FieldError {
    field: String,
    what: String,
}

pub(super) fn wrong(field: impl Into<String>, what: impl Into<String>) -> FieldError {
    FieldError { field: field.into(), what: what.into() }
}

impl Texts {
    /// Adds the text of a file, by the name that errors have for it.
    pub(super) fn push(&mut self, file: String, text: &str) {
        let start = self.0.last().map_or(0, |last| last.padded.len() + 1);
        self.0.push(Text { file, padded: " ".repeat(start) + text, start });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|text| &text.padded[text.start..])
    }

    /// What the last file inherits from, if it says so.
    pub(super) fn parent(&self) -> Result<Option<String>, String> {
        let Some(text) = self.0.last() else { return Ok(None) };
        let tree = self.parse(text)?;
        let machine = tree.get("machine").and_then(|machine| machine.get_ref().as_table());
        let Some(name) = machine.and_then(|machine| machine.get("inherits")) else { return Ok(None) };
        match name.get_ref().as_str() {
            Some(name) => Ok(Some(name.to_string())),
            None => Err(self.wrong_parent("accepted: the name of a machine, or a file")),
        }
    }

    /// The error for what the last file inherits from.
    pub(super) fn wrong_parent(&self, what: impl Display) -> String {
        let tree = self.0.last().map_or_else(|| Ok(DeTable::new()), |text| self.parse(text));
        tree.map_or_else(|error| error, |tree| self.error(place(&tree, "machine.inherits"), "machine.inherits", what))
    }

    fn parse<'a>(&self, text: &'a Text) -> Result<DeTable<'a>, String> {
        DeTable::parse(&text.padded).map(Spanned::into_inner).map_err(|error| {
            let place = error.span().map_or(text.start, |span| span.start.max(text.start));
            self.error(place, "not TOML", error.message())
        })
    }

    /// All of them as one.
    pub(super) fn tree(&self) -> Result<DeTable<'_>, String> {
        let mut tree = DeTable::new();
        for (generation, text) in self.0.iter().enumerate() {
            let parsed = self.parse(text)?;
            if generation == 0 { tree = parsed } else { inherit(&mut tree, parsed) }
        }
        Ok(tree)
    }

    /// What the tree says.
    pub(super) fn read(&self, tree: &DeTable<'_>) -> Result<File, String> {
        File::deserialize(Deserializer::from(Spanned::new(0..0, tree.clone()))).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            // The path stands behind the message, and nowhere else.
            let text = error.to_string();
            let path = text.strip_prefix(error.message()).and_then(|rest| rest.trim().strip_prefix("in `"));
            self.error(place, path.map_or("machine file", |path| path.trim_end_matches('`')), error.message())
        })
    }

    /// The error text for something that is wrong.
    pub(super) fn explain(&self, tree: &DeTable<'_>, FieldError { field, what }: FieldError) -> String {
        self.error(place(tree, &field), &field, what)
    }

    /// One line: the file, the line in it, the field, and what is wrong with it.
    fn error(&self, place: usize, field: &str, what: impl Display) -> String {
        let text = self.0.iter().find(|text| place <= text.padded.len()).or(self.0.last());
        let (file, before) =
            text.map_or(("", ""), |text| (&text.file, text.padded.get(..place).unwrap_or(&text.padded)));
        let line = 1 + before.matches('\n').count();
        let what = format!("{field}: {what}").lines().collect::<Vec<&str>>().join(", ");
        format!("{file}:{line}: {what}")
    }
}

/// Where a field stands, or the section that it should be in.
fn place(tree: &DeTable<'_>, field: &str) -> usize {
    let (mut table, mut place) = (Some(tree), 0);
    for part in field.split('.') {
        let Some((key, value)) = table.and_then(|table| table.get_key_value(part)) else { break };
        (table, place) = (value.get_ref().as_table(), key.span().start);
    }
    place
}

/// How many tables in the tree say `text` in their field `name`.
pub(super) fn count(tree: &DeTable<'_>, name: &str, text: &str) -> usize {
    let own = tree.get(name).is_some_and(|found| found.get_ref().as_str() == Some(text));
    let inner = tree.values().filter_map(|value| value.get_ref().as_table()).map(|table| count(table, name, text));
    usize::from(own) + inner.sum::<usize>()
}

/// Fields that belong to one file, whoever inherits from it.
const OWN: [&str; 3] = ["name", "about", "inherits"];

/// The sections of `[os]` of which a machine has one.
const POLICIES: [&str; 3] = ["fair", "eevdf", "quantum"];

/// Adds to `child` what only `parent` has. A field of the child takes the place of the parent's as a whole, mark and all.
fn inherit<'a>(child: &mut DeTable<'a>, mut parent: DeTable<'a>) {
    if let Some(machine) = parent.get_mut("machine").and_then(table_in) {
        OWN.iter().for_each(|name| drop(machine.remove(*name)));
    }
    let has_policy = |os: &mut DeTable<'_>| POLICIES.iter().any(|name| os.contains_key(*name));
    if child.get_mut("os").and_then(table_in).is_some_and(has_policy)
        && let Some(theirs) = parent.get_mut("os").and_then(table_in)
    {
        POLICIES.iter().for_each(|name| drop(theirs.remove(*name)));
    }
    for (name, theirs) in parent {
        let depth = if matches!(name.get_ref().as_ref(), "kind" | "distance") { 2 } else { 1 };
        add(child, name, theirs, depth);
    }
}

fn table_in<'t, 'a>(value: &'t mut Spanned<DeValue<'a>>) -> Option<&'t mut DeTable<'a>> {
    match value.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn add<'a>(
    child: &mut DeTable<'a>,
    name: Spanned<std::borrow::Cow<'a, str>>,
    theirs: Spanned<DeValue<'a>>,
    depth: u32,
) {
    match child.get_mut(name.get_ref().as_ref()) {
        None => drop(child.insert(name, theirs)),
        Some(ours) if depth > 0 => {
            if let (Some(ours), DeValue::Table(theirs)) = (table_in(ours), theirs.into_inner()) {
                theirs.into_iter().for_each(|(name, value)| add(ours, name, value, depth - 1));
            }
        }
        Some(_) => {}
    }
}
