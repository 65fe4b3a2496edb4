//! The configurations of the models: what a `proof/spec/<module>.toml` says, and the rules that it must follow.

use crate::files::ErrorContext;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The file of one module. Its tables have the fields of [`Config`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    /// The constant that switches a seeded bug on; `Bug` if it is not told.
    bug: Option<String>,
    /// What is so in all configurations that do not say otherwise.
    base: Table,
    /// The same for those named `bug_*`, before the base.
    #[serde(default)]
    bugs: Table,
    config: BTreeMap<String, Table>,
}

/// One configuration of one module.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(skip)]
    pub(crate) module: String,
    #[serde(skip)]
    pub(crate) purpose: String,
    /// What TLC must report: `holds`, `invariant NAME`, `property NAME` or `deadlock`.
    #[serde(rename = "expect")]
    pub(crate) expected: String,
    /// What that shows, in one sentence.
    pub(super) shows: String,
    /// Whether the gate runs it, if it holds.
    #[serde(default)]
    pub(super) gate: bool,
    specification: String,
    #[serde(default)]
    symmetry: Vec<String>,
    #[serde(default)]
    pub(crate) invariants: Vec<String>,
    #[serde(default)]
    pub(crate) properties: Vec<String>,
    constants: Table,
}

impl Config {
    /// What one table of a module's file describes, with all that it leaves to the base.
    fn of(module: &str, file: &Module, purpose: &str, own: &Table) -> Result<Self, String> {
        let bug = purpose.strip_prefix("bug_");
        let mut all = file.base.clone();
        all.entry("expect").or_insert("holds".into());
        if bug.is_some() {
            lay(&mut all, &file.bugs);
        }
        let expects_property = own.get("expect").and_then(Value::as_str).is_some_and(|e| e.starts_with("property "));
        if expects_property || own.contains_key("properties") {
            // Symmetry can hide counterexamples of properties. The invariants are checked elsewhere, in more states.
            all.remove("symmetry");
            all.remove("invariants");
        }
        lay(&mut all, own);
        let mut config: Config = all.try_into().at("this configuration")?;
        let switch = file.bug.clone().unwrap_or("Bug".to_owned());
        config.constants.insert(switch, format!("\"{}\"", bug.unwrap_or("none")).into());
        (config.module, config.purpose) = (module.to_owned(), purpose.to_owned());
        match *config.expected.split(' ').collect::<Vec<_>>() {
            ["holds" | "deadlock"] => {}
            ["invariant", name] if config.invariants.iter().any(|checked| checked == name) => {}
            ["invariant", name] => config.invariants.push(name.to_owned()),
            // TLC does not say which one failed.
            ["property", _] if !config.properties.is_empty() => return Err("no other property is checked".to_owned()),
            ["property", name] => config.properties.push(name.to_owned()),
            _ => return Err("TLC reports `holds`, `invariant NAME`, `property NAME` or `deadlock`".to_owned()),
        }
        Ok(config)
    }

    /// As TLC reads it.
    pub(super) fn cfg(&self) -> String {
        let mut text = format!("SPECIFICATION {}\nCONSTANTS\n", self.specification);
        for (name, value) in &self.constants {
            let value = match value {
                Value::Boolean(is) => is.to_string().to_uppercase(),
                Value::Integer(number) => number.to_string(),
                // TLC does not understand any other kind either, and says so.
                other => other.as_str().unwrap_or("?").to_owned(),
            };
            text += &format!("  {name} = {value}\n");
        }
        let lists = [("SYMMETRY", &self.symmetry), ("INVARIANTS", &self.invariants), ("PROPERTIES", &self.properties)];
        for (keyword, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
            text += &format!("{keyword}\n  {}\n", names.join("\n  "));
        }
        text
    }
}

/// Replaces what `over` has too; of constants, each by itself.
fn lay(below: &mut Table, over: &Table) {
    for (key, value) in over {
        match (below.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(over)) => lay(below, over),
            _ => drop(below.insert(key.clone(), value.clone())),
        }
    }
}

/// The configurations of a module, which show that its algorithm is safe, that it makes progress, and that faults would be
/// noticed.
pub(super) fn parse(module: &str, text: &str) -> Result<Vec<Config>, String> {
    let file: Module = toml::from_str(text).map_err(|error| error.to_string())?;
    let configs = file.config.iter().map(|(purpose, own)| Config::of(module, &file, purpose, own).at(purpose));
    let configs = configs.collect::<Result<Vec<_>, _>>()?;
    let (green, red): (Vec<&Config>, Vec<_>) = configs.iter().partition(|config| config.expected == "holds");
    let is_bug = |config: &&&Config| config.purpose.starts_with("bug_");
    for (is_met, fault) in [
        (green.iter().any(|config| !config.invariants.is_empty()), "no configuration whose invariants hold"),
        (green.iter().any(|config| !config.properties.is_empty()), "no configuration whose properties hold"),
        (green.iter().filter(is_bug).count() == 0, "a seeded bug that must not be found"),
        (red.iter().filter(is_bug).count() >= 2, "fewer than two seeded bugs (bug_*)"),
    ] {
        is_met.then_some(()).ok_or(fault)?;
    }
    Ok(configs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLIP: &str = r#"
        [base]
        specification = "Spec"
        symmetry = ["Alike"]
        invariants = ["A", "B"]
        constants = { Threads = "{t1, t2}", Rounds = 1, Endless = false }
        [bugs]
        invariants = ["A"]
        [config]
        safety = { shows = "It works." }
        liveness = { shows = "It ends.", properties = ["Ends"] }
        bug_a = { shows = "It does not work.", expect = "invariant C", constants = { Rounds = 2 } }
        bug_b = { shows = "It stops.", expect = "deadlock" }
    "#;

    #[test]
    fn a_configuration_is_the_base_with_what_it_changes() {
        let configs = parse("flip", FLIP).unwrap();
        let cfg = |purpose: &str| configs.iter().find(|config| config.purpose == purpose).unwrap().cfg();
        let head = "SPECIFICATION Spec\nCONSTANTS\n  Threads = {t1, t2}\n  Rounds = 1\n  Endless = FALSE\n".to_owned();
        let none = head.clone() + "  Bug = \"none\"\n";
        assert_eq!(cfg("safety"), none.clone() + "SYMMETRY\n  Alike\nINVARIANTS\n  A\n  B\n");
        assert_eq!(cfg("liveness"), none + "PROPERTIES\n  Ends\n");
        let bug = head.replace("= 1", "= 2") + "  Bug = \"a\"\n";
        assert_eq!(cfg("bug_a"), bug + "SYMMETRY\n  Alike\nINVARIANTS\n  A\n  C\n");
    }

    #[test]
    fn faults_are_told() {
        for (from, to, fault) in [
            ("symmetry", "symetry", "symetry"),
            ("shows = \"It stops.\", ", "", "bug_b: this configuration: missing field `shows`"),
            ("deadlock", "luck", "TLC reports"),
            ("invariant C\"", "property C\", properties = [\"D\"]", "no other property"),
            ("invariant C", "holds", "must not be found"),
            ("bug_b", "bag_b", "fewer than two"),
            (", properties = [\"Ends\"]", "", "whose properties hold"),
        ] {
            let told = parse("flip", &FLIP.replace(from, to)).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
    }
}
