//! The configurations of the models: what a `spec/<module>.<purpose>.cfg` says, and the rules that it must follow.

use std::collections::BTreeSet;
use std::fmt;

/// What TLC must report, or has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    Invariant(String),
    Property(String),
    Deadlock,
}

impl Verdict {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match *text.split_whitespace().collect::<Vec<_>>() {
            ["holds"] => Some(Verdict::Holds),
            ["deadlock"] => Some(Verdict::Deadlock),
            ["invariant", name] => Some(Verdict::Invariant(name.to_owned())),
            ["property", name] => Some(Verdict::Property(name.to_owned())),
            _ => None,
        }
    }

    /// As the end of a line in the report.
    pub(super) fn finding(&self) -> String {
        if *self == Verdict::Holds { "holds".to_owned() } else { format!("found: {self}") }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds => out.write_str("holds"),
            Verdict::Deadlock => out.write_str("deadlock"),
            Verdict::Invariant(name) => write!(out, "invariant {name}"),
            Verdict::Property(name) => write!(out, "property {name}"),
        }
    }
}

/// One configuration of one module.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) module: String,
    pub(crate) purpose: String,
    pub(crate) expected: Verdict,
    /// What it shows, in one sentence.
    pub(crate) shows: String,
    pub(crate) invariants: Vec<String>,
    pub(crate) properties: Vec<String>,
}

impl Config {
    /// Its name in `spec/`.
    pub(crate) fn file(&self) -> String {
        format!("{}.{}.cfg", self.module, self.purpose)
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let stem = name.strip_suffix(".cfg").unwrap_or(name);
        let (module, purpose) = stem.split_once('.').ok_or("the name is not <module>.<purpose>.cfg")?;
        let mut lines = text.lines();
        let expected = lines.next().and_then(|line| line.strip_prefix("\\* expect: ")).and_then(Verdict::parse).ok_or(
            "the first line is not `\\* expect: ` with `holds`, `invariant NAME`, `property NAME` or `deadlock`",
        )?;
        let shows = lines.next().and_then(|line| line.strip_prefix("\\* ")).filter(|line| line.ends_with('.'));
        let shows = shows.ok_or("the second line is not `\\* ` and a sentence on what it shows")?;
        let config = Config {
            module: module.to_owned(),
            purpose: purpose.to_owned(),
            expected,
            shows: shows.to_owned(),
            invariants: names_after(text, ["INVARIANT", "INVARIANTS"]),
            properties: names_after(text, ["PROPERTY", "PROPERTIES"]),
        };
        config.check_expected().map(|()| config)
    }

    /// What is expected to fail is checked. TLC does not say which temporal property failed, so that must be the only
    /// one.
    fn check_expected(&self) -> Result<(), String> {
        match &self.expected {
            Verdict::Invariant(name) if !self.invariants.contains(name) => {
                Err(format!("it expects invariant {name} to fail, but does not check it"))
            }
            Verdict::Property(name) if self.properties != [name.as_str()] => {
                Err(format!("it expects property {name} to fail, so that must be its only property"))
            }
            _ => Ok(()),
        }
    }

    fn is_green(&self) -> bool {
        self.expected == Verdict::Holds
    }
}

/// Words that begin a part of a configuration.
const KEYWORDS: &str = "SPECIFICATION INIT NEXT CONSTANT CONSTANTS INVARIANT INVARIANTS PROPERTY PROPERTIES CONSTRAINT \
    CONSTRAINTS ACTION_CONSTRAINT ACTION_CONSTRAINTS SYMMETRY VIEW CHECK_DEADLOCK";

fn names_after(text: &str, keywords: [&str; 2]) -> Vec<String> {
    let code = text.lines().map(|line| line.split("\\*").next().unwrap_or_default());
    let mut names = Vec::new();
    let mut is_inside = false;
    for word in code.flat_map(str::split_whitespace) {
        if KEYWORDS.split(' ').any(|keyword| keyword == word) {
            is_inside = keywords.contains(&word);
        } else if is_inside {
            names.push(word.to_owned());
        }
    }
    names
}

/// The configurations among the files of `spec/`, which come as pairs of name and text; or all faults in them.
pub(crate) fn parse_all(files: &[(String, String)]) -> Result<Vec<Config>, Vec<String>> {
    let mut configs = Vec::new();
    let mut faults = Vec::new();
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".cfg")) {
        match Config::parse(name, text) {
            Ok(config) => configs.push(config),
            Err(fault) => faults.push(format!("spec/{name}: {fault}")),
        }
    }
    let with_config: BTreeSet<&str> = modules(&configs).collect();
    let sources: BTreeSet<&str> = files.iter().filter_map(|(name, _)| name.strip_suffix(".tla")).collect();
    let is_shared = |module: &str| files.iter().any(|(_, text)| extends(text, module));
    let lonely = sources.difference(&with_config).filter(|module| !is_shared(module));
    faults.extend(lonely.map(|module| format!("spec/{module}.tla: no configuration runs it")));
    let missing = with_config.difference(&sources).map(|module| format!("spec/{module}.tla: is missing"));
    faults.extend(missing);
    if faults.is_empty() { Ok(configs) } else { Err(faults) }
}

/// Whether a module builds on another: what several variants share has no configuration of its own.
fn extends(text: &str, module: &str) -> bool {
    let lists = text.lines().filter(|line| line.contains("EXTENDS ") || line.contains("INSTANCE "));
    let mut words = lists.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    words.any(|word| word == module)
}

/// The names of the modules that have configurations, once each.
pub(crate) fn modules<'a>(configs: impl IntoIterator<Item = &'a Config>) -> impl Iterator<Item = &'a str> {
    let names: BTreeSet<&str> = configs.into_iter().map(|config| config.module.as_str()).collect();
    names.into_iter()
}

/// Every module shows that its algorithm is safe, that it makes progress, and that faults would be noticed.
pub(crate) fn check_modules(configs: &[Config]) -> Result<(), Vec<String>> {
    let mut faults = Vec::new();
    for module in modules(configs) {
        let count = |is: fn(&Config) -> bool| configs.iter().filter(|c| c.module == module && is(c)).count();
        let wanted = [
            (count(|c| c.is_green() && !c.invariants.is_empty()) >= 1, "no configuration whose invariants hold"),
            (count(|c| c.is_green() && !c.properties.is_empty()) >= 1, "no configuration whose properties hold"),
            (count(|c| c.purpose.starts_with("bug_")) >= 2, "fewer than two seeded bugs (bug_*)"),
            (count(|c| c.purpose.starts_with("bug_") && c.is_green()) == 0, "a seeded bug that must not be found"),
        ];
        let missed = wanted.into_iter().filter(|(is_met, _)| !is_met);
        faults.extend(missed.map(|(_, what)| format!("spec/{module}: {what}")));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREEN: &str =
        "\\* expect: holds\n\\* It works.\nSPECIFICATION Spec\nINVARIANTS\n  A\n  B \\* C\nPROPERTY D\n";

    fn fault(name: &str, text: &str) -> String {
        Config::parse(name, text).map(|_| ()).expect_err("this configuration has a fault")
    }

    #[test]
    fn a_configuration_names_what_it_checks() {
        let config = Config::parse("flip.safety.cfg", GREEN).unwrap();
        assert_eq!((config.module.as_str(), config.purpose.as_str()), ("flip", "safety"));
        assert_eq!((config.expected, config.shows.as_str()), (Verdict::Holds, "It works."));
        assert_eq!(
            (config.invariants, config.properties),
            (vec!["A".to_owned(), "B".to_owned()], vec!["D".to_owned()])
        );
    }

    #[test]
    fn expectation_and_sentence_are_needed() {
        assert!(fault("flip.safety.cfg", "INVARIANT A").contains("first line"));
        assert!(fault("flip.safety.cfg", "\\* expect: luck\n\\* It works.\n").contains("first line"));
        assert!(fault("flip.safety.cfg", "\\* expect: holds\nINVARIANT A").contains("second line"));
        assert!(fault("flip.cfg", GREEN).contains("<module>.<purpose>"));
    }

    #[test]
    fn what_is_expected_to_fail_is_checked() {
        assert!(fault("flip.x.cfg", &GREEN.replace("holds", "invariant E")).contains("does not check it"));
        assert!(fault("flip.x.cfg", &GREEN.replace("holds", "property A")).contains("only property"));
        assert!(Config::parse("flip.x.cfg", &GREEN.replace("holds", "invariant B")).is_ok());
        assert!(Config::parse("flip.x.cfg", &GREEN.replace("holds", "property D")).is_ok());
    }

    fn parsed(names: &[&str]) -> Result<Vec<Config>, Vec<String>> {
        let text =
            |name: &str| if name.contains("bug_") { GREEN.replace("holds", "deadlock") } else { GREEN.to_owned() };
        parse_all(&names.iter().map(|name| (name.to_string(), text(name))).collect::<Vec<_>>())
    }

    #[test]
    fn modules_and_configurations_belong_together() {
        assert_eq!(parsed(&["flip.safety.cfg"]).unwrap_err(), ["spec/flip.tla: is missing"]);
        assert_eq!(parsed(&["flip.tla"]).unwrap_err(), ["spec/flip.tla: no configuration runs it"]);
        let variant = ("flop.tla".to_owned(), "EXTENDS Naturals, flip\n".to_owned());
        let config = ("flop.safety.cfg".to_owned(), GREEN.to_owned());
        assert!(parse_all(&[("flip.tla".to_owned(), String::new()), variant, config]).is_ok());
    }

    #[test]
    fn a_module_shows_more_than_that_it_is_green() {
        let all = ["flip.tla", "flip.safety.cfg", "flip.bug_a.cfg", "flip.bug_b.cfg"];
        assert_eq!(check_modules(&parsed(&all).unwrap()), Ok(()));
        let faults = check_modules(&parsed(&all[..3]).unwrap()).unwrap_err();
        assert_eq!(faults, ["spec/flip: fewer than two seeded bugs (bug_*)"]);
        let faults = check_modules(&parsed(&["flip.tla", "flip.bug_a.cfg", "flip.bug_b.cfg"]).unwrap()).unwrap_err();
        assert_eq!(faults.len(), 2);
    }
}
