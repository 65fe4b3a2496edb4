//! Who may depend on whom. A crate of the workspace that is missing here fails, so adding one is a decision.

use super::Fault;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// What one crate may name in its manifest.
struct Row {
    name: &'static str,
    /// Crates of this workspace, in any kind of dependency.
    ours: &'static [&'static str],
    /// Crates from elsewhere that end up in a user's program; `None` where we do not mind.
    others: Option<&'static [&'static str]>,
}

/// The direction is `platform <- locks <- ondeck <- lab <- cli`, `platform <- sim <- lab` and `report <- lab`: locks know no
/// simulator, the simulator knows no lock, and a report knows nothing that runs. `capi` is `ondeck` for C, and `pthread` the
/// locks without it. `conformance` looks at these and at the simulator.
const ALLOWED: [Row; 17] = [
    Row { name: "ondeck-platform", ours: &[], others: Some(&["libc", "windows-sys"]) },
    Row { name: "ondeck-locks", ours: &["ondeck-platform"], others: Some(&[]) },
    // The recorder with its feature only.
    Row {
        name: "ondeck",
        ours: &["ondeck-platform", "ondeck-locks", "ondeck-record"],
        others: Some(&["lock_api", "serde"]),
    },
    // In every program that it is loaded into.
    Row {
        name: "ondeck-pthread",
        ours: &["ondeck-platform", "ondeck-locks", "ondeck-record"],
        others: Some(&["libc", "probe"]),
    },
    Row { name: "ondeck-capi", ours: &["ondeck-platform", "ondeck-locks", "ondeck"], others: Some(&["libc"]) },
    // In a user's program it is what parking_lot was, on the parking core of the next parking_lot.
    Row { name: "parking_lot", ours: &["ondeck"], others: Some(&["lock_api", "parking_lot"]) },
    Row { name: "ondeck-sim", ours: &["ondeck-platform"], others: None },
    Row { name: "ondeck-report", ours: &[], others: None },
    Row {
        name: "ondeck-lab",
        ours: &["ondeck-platform", "ondeck-locks", "ondeck", "ondeck-sim", "ondeck-report"],
        others: None,
    },
    // In every program that is profiled.
    Row { name: "ondeck-record", ours: &[], others: Some(&["libc", "framehop"]) },
    Row { name: "ondeck-rounds", ours: &["ondeck-report"], others: None },
    Row { name: "ondeck-trace", ours: &[], others: None },
    Row {
        name: "ondeck-profile",
        ours: &["ondeck-record", "ondeck-report", "ondeck-lab", "ondeck-trace"],
        others: None,
    },
    Row {
        name: "ondeck-cli",
        ours: &["ondeck-lab", "ondeck-launch", "ondeck-report", "ondeck-profile", "ondeck-rounds", "ondeck-trace"],
        others: None,
    },
    Row { name: "ondeck-launch", ours: &["ondeck-locks"], others: None },
    Row {
        name: "ondeck-conformance",
        ours: &["ondeck-platform", "ondeck-locks", "ondeck", "ondeck-sim"],
        others: None,
    },
    // For the table of locks and the pictures, from which pages are written.
    Row {
        name: "xtask",
        ours: &[
            "ondeck-locks",
            "ondeck-lab",
            "ondeck-platform",
            "ondeck-profile",
            "ondeck-report",
            "ondeck-rounds",
            "ondeck-sim",
        ],
        others: None,
    },
];

/// Asks cargo for the manifests as it understands them.
pub(super) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run `cargo metadata`: {error}"))?;
    if !output.status.success() {
        return Err("`cargo metadata` failed".to_owned());
    }
    let metadata = serde_json::from_slice(&output.stdout).map_err(|error| format!("`cargo metadata`: {error}"))?;
    Ok(judge(&metadata))
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
    let mut faults = Vec::new();
    for dependency in list(&package["dependencies"]) {
        let (other, kind) = (text(&dependency["name"]), dependency["kind"].as_str().unwrap_or("normal"));
        // One of ours has the name of a crate from elsewhere, which others here are compared with.
        if members.contains(&other) && dependency["source"].is_null() {
            if !row.ours.contains(&other) {
                faults.push(fault(format!("must not depend on {other} ({kind})")));
            }
        } else if kind == "normal" && row.others.is_some_and(|allowed| !allowed.contains(&other)) {
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
