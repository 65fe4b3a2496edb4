//! Who may depend on whom. A crate of the workspace that is missing here fails, so adding one is a decision.

use super::Fault;
use crate::command::metadata;
use serde_json::Value;
use std::path::Path;

/// What one crate may name in its manifest.
struct Row {
    name: &'static str,
    /// Crates of this workspace, in any kind of dependency; the words of a text.
    ours: &'static str,
    /// Crates from elsewhere that end up in a user's program; `None` where we do not mind.
    others: Option<&'static str>,
}

const fn row(name: &'static str, ours: &'static str, others: Option<&'static str>) -> Row {
    Row { name, ours, others }
}

/// The direction is `platform <- locks <- ondeck <- lab <- cli`, `platform <- sim <- lab` and `report <- lab`: locks know no
/// simulator, the simulator knows no lock, and a report knows nothing that runs. `capi` is `ondeck` for C, and `pthread` the
/// locks without it. `conformance` looks at these and at the simulator.
const ALLOWED: [Row; 17] = [
    row("ondeck-platform", "", Some("libc windows-sys")),
    row("ondeck-locks", "ondeck-platform", Some("")),
    // The recorder with its feature only.
    row("ondeck", "ondeck-platform ondeck-locks ondeck-record", Some("lock_api serde")),
    // In every program that it is loaded into.
    row("ondeck-pthread", "ondeck-platform ondeck-locks ondeck-record", Some("libc probe")),
    row("ondeck-capi", "ondeck-platform ondeck-locks ondeck", Some("libc")),
    // In a user's program it is what parking_lot was, on the parking core of the next parking_lot.
    row("parking_lot", "ondeck", Some("lock_api parking_lot")),
    row("ondeck-sim", "ondeck-platform", None),
    row("ondeck-report", "", None),
    row("ondeck-lab", "ondeck-platform ondeck-locks ondeck ondeck-sim ondeck-report", None),
    // In every program that is profiled.
    row("ondeck-record", "", Some("libc framehop")),
    row("ondeck-rounds", "ondeck-report", None),
    row("ondeck-trace", "", None),
    row("ondeck-profile", "ondeck-record ondeck-report ondeck-lab ondeck-trace", None),
    row("ondeck-cli", "ondeck-lab ondeck-launch ondeck-report ondeck-profile ondeck-rounds ondeck-trace", None),
    row("ondeck-launch", "ondeck-locks", None),
    row("ondeck-conformance", "ondeck-platform ondeck-locks ondeck ondeck-sim", None),
    // For the table of locks and the pictures, from which pages are written.
    row(
        "xtask",
        "ondeck-locks ondeck-lab ondeck-launch ondeck-platform ondeck-profile ondeck-report ondeck-rounds ondeck-sim",
        None,
    ),
];

/// Asks cargo for the manifests as it understands them.
pub(super) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    Ok(judge(&metadata(root)?))
}

fn judge(metadata: &Value) -> Vec<Fault> {
    let packages = list(&metadata["packages"]);
    let members: Vec<&str> = packages.iter().map(|package| text(&package["name"])).collect();
    packages.iter().flat_map(|package| judge_package(package, &members)).collect()
}

fn judge_package(package: &Value, members: &[&str]) -> Vec<Fault> {
    let name = text(&package["name"]);
    let fault = |what: String| Fault::new(&format!("crate {name}"), 0, what);
    let Some(row) = ALLOWED.iter().find(|row| row.name == name) else {
        return vec![fault("has no row in xtask/src/tidy/dependencies.rs".to_owned())];
    };
    let has = |words: &str, name: &str| words.split(' ').any(|word| word == name);
    let mut faults = Vec::new();
    for dependency in list(&package["dependencies"]) {
        let (other, kind) = (text(&dependency["name"]), dependency["kind"].as_str().unwrap_or("normal"));
        // One of ours has the name of a crate from elsewhere, which others here are compared with.
        if members.contains(&other) && dependency["source"].is_null() {
            if !has(row.ours, other) {
                faults.push(fault(format!("must not depend on {other} ({kind})")));
            }
        } else if kind == "normal" && row.others.is_some_and(|allowed| !has(allowed, other)) {
            faults.push(fault(format!("brings {other} into users' programs, which is not on its list")));
        }
    }
    faults
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(name: &str, dependency: &str, kind: Option<&str>) -> Vec<String> {
        let metadata = json!({ "packages": [
            { "name": name, "dependencies": [{ "name": dependency, "kind": kind }] },
            { "name": "ondeck-lab", "dependencies": [] },
        ]});
        judge(&metadata).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_dependency_against_the_direction_is_named() {
        assert_eq!(
            faults("ondeck-locks", "ondeck-lab", None),
            ["crate ondeck-locks: must not depend on ondeck-lab (normal)"]
        );
        assert_eq!(
            faults("ondeck-locks", "ondeck-lab", Some("dev")),
            ["crate ondeck-locks: must not depend on ondeck-lab (dev)"]
        );
        assert!(faults("ondeck-cli", "ondeck-lab", None).is_empty());
    }

    #[test]
    fn users_get_only_the_listed_crates() {
        assert_eq!(
            faults("ondeck", "rand", None),
            ["crate ondeck: brings rand into users' programs, which is not on its list"]
        );
        assert!(faults("ondeck", "rand", Some("dev")).is_empty());
    }

    #[test]
    fn the_crate_that_is_replaced_is_not_the_one_that_replaces_it() {
        let metadata = |source: Option<&str>| {
            json!({ "packages": [
                { "name": "parking_lot", "dependencies": [] },
                { "name": "ondeck-lab", "dependencies": [{ "name": "parking_lot", "kind": null, "source": source }] },
            ]})
        };
        assert!(judge(&metadata(Some("registry"))).is_empty());
        assert_eq!(judge(&metadata(None)).len(), 1);
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert_eq!(
            faults("ondeck-new", "libc", None),
            ["crate ondeck-new: has no row in xtask/src/tidy/dependencies.rs"]
        );
    }
}
