//! The text of a machine file as a tree whose parts know where they stand, and how one file inherits from another.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where something stands.
#[derive(Clone, Debug)]
pub(super) struct Place {
    file: Rc<str>,
    line: usize,
}

impl Place {
    /// The first line of a file.
    pub(super) fn start(file: &str) -> Place {
        Place { file: file.into(), line: 1 }
    }

    /// The error text: one line with the place, the field, and what is wrong with it.
    pub(super) fn error(&self, field: &str, what: impl fmt::Display) -> String {
        format!("{}:{}: {field}: {what}", self.file, self.line)
    }
}

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// What TOML can say and a machine file can mean.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Table(Table),
    List(Vec<Node>),
    Text(String),
    Whole(i64),
    Number(f64),
    Flag(bool),
    /// A date, or a number beyond 64 bits: accepted nowhere.
    Other(&'static str),
}

pub(super) type Table = BTreeMap<String, Node>;

impl Value {
    /// What it is, for an error.
    pub(super) fn what(&self) -> String {
        match self {
            Value::Table(_) => "a section".into(),
            Value::List(_) => "a list".into(),
            Value::Text(text) => format!("the text {text:?}"),
            Value::Whole(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Other(what) => (*what).into(),
        }
    }
}

/// Reads a text. `file` is how errors name it.
pub(super) fn parse(file: &str, text: &str) -> Result<Table, String> {
    let reader = Reader { file: file.into(), text };
    let table = DeTable::parse(text).map_err(|error| {
        let place = reader.place(&error.span().unwrap_or(0..0));
        let message = error.message().lines().collect::<Vec<&str>>().join(", ");
        format!("{}:{}: not TOML: {message}", place.file, place.line)
    })?;
    Ok(reader.table(table.get_ref()))
}

struct Reader<'a> {
    file: Rc<str>,
    text: &'a str,
}

impl Reader<'_> {
    fn place(&self, span: &Range<usize>) -> Place {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        Place { file: Rc::clone(&self.file), line: 1 + before.iter().filter(|&&byte| byte == b'\n').count() }
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
            let node = Node { place: self.place(&key.span()), value: self.value(value.get_ref()) };
            (key.get_ref().clone().into_owned(), node)
        };
        table.iter().map(entry).collect()
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(Value::Other("a number beyond 64 bits"), Value::Whole),
            DeValue::Float(number) => number.as_str().parse().map_or(Value::Other("a number"), Value::Number),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(_) => Value::Other("a date"),
            DeValue::Array(list) => Value::List(
                list.iter()
                    .map(|item| Node { place: self.place(&item.span()), value: self.value(item.get_ref()) })
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(self.table(table)),
        }
    }
}

/// How many tables in the tree say `text` in their field `name`.
pub(super) fn count(tree: &Table, name: &str, text: &str) -> usize {
    let own = matches!(tree.get(name), Some(Node { value: Value::Text(found), .. }) if found == text);
    let inner =
        tree.values().map(|node| if let Value::Table(table) = &node.value { count(table, name, text) } else { 0 });
    usize::from(own) + inner.sum::<usize>()
}

/// Fields that belong to one file, whoever inherits from it.
const OWN: [&str; 3] = ["name", "about", "inherits"];

/// The sections of `[os]` of which a machine has one.
pub(super) const POLICIES: [&str; 3] = ["fair", "eevdf", "quantum"];

/// Adds to `child` what only `parent` has. A field of the child takes the place of the parent's as a whole, mark and all.
pub(super) fn inherit(child: &mut Table, mut parent: Table) {
    parent.remove("calibration");
    if let Some(Value::Table(machine)) = parent.get_mut("machine").map(|node| &mut node.value) {
        machine.retain(|name, _| !OWN.contains(&name.as_str()));
    }
    if let (Some(Value::Table(ours)), Some(Value::Table(theirs))) =
        (child.get("os").map(|node| &node.value), parent.get_mut("os").map(|node| &mut node.value))
        && POLICIES.iter().any(|name| ours.contains_key(*name))
    {
        theirs.retain(|name, _| !POLICIES.contains(&name.as_str()));
    }
    for (name, theirs) in parent {
        let depth = if name == "kind" || name == "distance" { 2 } else { 1 };
        add(child, name, theirs, depth);
    }
}

fn add(child: &mut Table, name: String, theirs: Node, depth: u32) {
    match child.get_mut(&name) {
        None => {
            child.insert(name, theirs);
        }
        Some(Node { value: Value::Table(ours), .. }) if depth > 0 => {
            if let Value::Table(theirs) = theirs.value {
                theirs.into_iter().for_each(|(name, node)| add(ours, name, node, depth - 1));
            }
        }
        Some(_) => {}
    }
}
