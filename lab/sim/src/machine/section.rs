//! Reads the fields of one section, and says what is wrong with them.

use super::schema::{Accepts, FIGURE, Field, ORIGINS, Range};
use super::tree::{Node, Place, Table, Value};

/// A section of a machine file whose fields are all known.
pub(super) struct Section<'a> {
    /// How errors name it, with a dot behind: `kind.P.`.
    path: String,
    place: Place,
    table: &'a Table,
    fields: &'static [Field],
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(super) fn file(table: &'a Table, place: Place, fields: &'static [Field]) -> Result<Self, String> {
        Section { path: String::new(), place, table, fields }.checked()
    }

    fn new(path: String, node: &'a Node, fields: &'static [Field]) -> Result<Self, String> {
        let Value::Table(table) = &node.value else {
            return Err(node.place.error(&path, format!("{}; accepted: a section", node.value.what())));
        };
        Section { path: path + ".", place: node.place.clone(), table, fields }.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let known = |name: &String| self.fields.iter().any(|field| field.name == name);
        match self.table.iter().find(|(name, _)| !known(name)) {
            Some((name, node)) => Err(node.place.error(&self.name_of(name), self.not_known())),
            None => Ok(self),
        }
    }

    fn not_known(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name).collect();
        format!("not a field; accepted: {}", names.join(", "))
    }

    fn name_of(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    /// An error about one of its fields, or about what follows from it.
    pub(super) fn error(&self, name: &str, what: impl std::fmt::Display) -> String {
        let place = self.table.get(name).map_or(&self.place, |node| &node.place);
        place.error(&self.name_of(name), what)
    }

    /// Whether the field is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// A section in this one.
    pub(super) fn section(&self, name: &str, fields: &'static [Field]) -> Result<Section<'a>, String> {
        Section::new(self.name_of(name), self.node(name)?, fields)
    }

    /// The sections in a section whose names are free: `[kind.NAME]`.
    pub(super) fn sections(&self, name: &str, fields: &'static [Field]) -> Result<Vec<(&'a str, Section<'a>)>, String> {
        let Value::Table(table) = &self.node(name)?.value else {
            return Err(self.error(name, "accepted: sections"));
        };
        let section = |(inner, node): (&'a String, &'a Node)| {
            Ok((inner.as_str(), Section::new(format!("{}.{inner}", self.name_of(name)), node, fields)?))
        };
        table.iter().map(section).collect()
    }

    fn node(&self, name: &str) -> Result<&'a Node, String> {
        self.table.get(name).ok_or_else(|| {
            let what = format!("missing; accepted: {}", self.accepts(name));
            self.place.error(&self.name_of(name), what)
        })
    }

    fn accepts(&self, name: &str) -> Accepts {
        let field = self.fields.iter().find(|field| field.name == name);
        field.expect("only fields of the schema are asked for").accepts
    }

    fn wrong(&self, name: &str, value: &Value) -> String {
        self.error(name, format!("{}; accepted: {}", value.what(), self.accepts(name)))
    }

    /// A text without a mark, as a name.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        match &self.node(name)?.value {
            Value::Text(text) if is_one_line(text) => match self.accepts(name) {
                Accepts::Word(words) if !words.contains(&text.as_str()) => {
                    Err(self.wrong(name, &self.node(name)?.value))
                }
                _ => Ok(text),
            },
            value => Err(self.wrong(name, value)),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'a str>, String> {
        let node = self.node(name)?;
        let Value::List(list) = &node.value else { return Err(self.wrong(name, &node.value)) };
        let texts = list.iter().map(|item| match &item.value {
            Value::Text(text) if is_one_line(text) => Ok(text.as_str()),
            value => Err(item
                .place
                .error(&self.name_of(name), format!("{} in the list; accepted: {}", value.what(), self.accepts(name)))),
        });
        let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
        if texts.is_empty() {
            Err(self.error(name, format!("empty; accepted: {}", self.accepts(name))))
        } else {
            Ok(texts)
        }
    }

    /// True or false, without a mark; false if it is not there.
    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.table.get(name).map(|node| &node.value) {
            None => Ok(false),
            Some(Value::Flag(flag)) => Ok(*flag),
            Some(value) => Err(self.wrong(name, value)),
        }
    }

    /// A whole number without a mark of its own.
    pub(super) fn count(&self, name: &str) -> Result<u32, String> {
        Ok(self.number(name, &self.node(name)?.value)? as u32)
    }

    /// A figure that is a time, in picoseconds.
    pub(super) fn ps(&self, name: &str) -> Result<u32, String> {
        self.long_ps(name).map(|ps| ps as u32)
    }

    /// A figure that is a time and may be long, in picoseconds.
    pub(super) fn long_ps(&self, name: &str) -> Result<u64, String> {
        let ps_per_unit = if matches!(self.accepts(name), Accepts::Ms(_)) { 1e9 } else { 1e3 };
        Ok((self.figure(name)? * ps_per_unit).round() as u64)
    }

    /// A figure that is a ratio, in thousandths.
    pub(super) fn thousandths(&self, name: &str) -> Result<u32, String> {
        Ok((self.figure(name)? * 1000.0).round() as u32)
    }

    /// A figure that is a whole number.
    pub(super) fn whole(&self, name: &str) -> Result<u32, String> {
        Ok(self.figure(name)? as u32)
    }

    /// A figure that is true or false.
    pub(super) fn switch(&self, name: &str) -> Result<bool, String> {
        match self.marked(name)?.get("value").map(|node| &node.value) {
            Some(Value::Flag(flag)) => Ok(*flag),
            Some(value) => Err(self.wrong(name, value)),
            None => Err(self.error(name, "`value` is missing")),
        }
    }

    fn figure(&self, name: &str) -> Result<f64, String> {
        let table = self.marked(name)?;
        let value = table.get("value").ok_or_else(|| self.error(name, "`value` is missing"))?;
        let number = self.number(name, &value.value)?;
        for (bound, is_outside) in [("low", f64::gt as fn(&f64, &f64) -> bool), ("high", f64::lt)] {
            let Some(limit) = table.get(bound) else { continue };
            let limit = self.number(name, &limit.value)?;
            if is_outside(&limit, &number) {
                return Err(self.error(name, format!("value {number} is not within low and high: {bound} is {limit}")));
            }
        }
        Ok(number)
    }

    /// The fields of a figure, once its mark is right.
    fn marked(&self, name: &str) -> Result<&'a Table, String> {
        let node = self.node(name)?;
        let Value::Table(table) = &node.value else {
            let example = "{ value = ..., origin = \"...\", from = \"...\" }";
            return Err(self.error(name, format!("{}; accepted: {example}", node.value.what())));
        };
        if let Some(other) = table.keys().find(|key| !FIGURE.contains(&key.as_str())) {
            return Err(self.error(name, format!("`{other}` is not part of a figure; accepted: {}", FIGURE.join(", "))));
        }
        let text = |part: &str| match table.get(part).map(|node| &node.value) {
            Some(Value::Text(text)) if is_one_line(text) => Ok(Some(text.as_str())),
            Some(value) => Err(self.error(name, format!("`{part}` is {}; accepted: a text", value.what()))),
            None => Ok(None),
        };
        let accepted = ORIGINS.join(", ");
        match text("origin")? {
            None => Err(self.error(name, format!("`origin` is missing; accepted: {accepted}"))),
            Some(origin) if !ORIGINS.contains(&origin) => {
                Err(self.error(name, format!("origin {origin:?}; accepted: {accepted}")))
            }
            Some("guess") => text("from").map(|_| table),
            Some(origin) => match text("from")? {
                Some(_) => Ok(table),
                None => Err(self.error(name, format!("`from` is missing: what is {origin} says from what"))),
            },
        }
    }

    fn number(&self, name: &str, value: &Value) -> Result<f64, String> {
        let (Range { least, most }, must_be_whole) = match self.accepts(name) {
            Accepts::Ns(range) | Accepts::Ms(range) | Accepts::Ratio(range) => (range, false),
            Accepts::Number(range) | Accepts::Count(range) => (range, true),
            other => unreachable!("{name} is not a number but {other}"),
        };
        match value {
            Value::Whole(number) if (least..=most).contains(&(*number as f64)) => Ok(*number as f64),
            Value::Number(number) if !must_be_whole && (least..=most).contains(number) => Ok(*number),
            _ => Err(self.wrong(name, value)),
        }
    }
}

fn is_one_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}
