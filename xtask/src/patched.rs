//! `cargo xtask patched`: `crates/parking_lot` in the place of parking_lot, in its own tests and in those of its users.
//!
//! Packages come from the registry as cargo gets them, are unpacked below `target/patched`, and nothing of them is kept in
//! this repository. First the tests and examples of parking_lot 0.12 itself are made into a crate that depends on ours
//! (`suite.rs`). Then the tests of programs that use parking_lot run in a tree where ours is patched in, which `cargo tree`
//! must show. What fails there is tried with the original too, so that it is known whose fault it is.

mod suite;
mod trees;

use clap::builder::PossibleValuesParser;
use std::path::Path;
use trees::{ORIGINAL, Package, Trees, test};

/// Who uses it.
const USERS: [Package; 3] = [
    Package { name: "tokio", version: "1.54.1", features: "full,test-util", without: &[] },
    // An actor runtime and an HTTP client with TLS; three test programs are about those.
    Package {
        name: "moka",
        version: "0.12.16",
        features: "sync,future",
        without: &[
            "dev-dependencies.actix-rt",
            "dev-dependencies.reqwest",
            "entry_api_actix_rt2",
            "entry_api_tokio",
            "runtime_actix_rt2",
        ],
    },
    // The last version that used `parking_lot::RwLock`.
    Package { name: "dashmap", version: "5.2.0", features: "", without: &[] },
];

/// What is asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these packages
    #[arg(value_name = "PACKAGE",
          value_parser = PossibleValuesParser::new(USERS.iter().chain([&ORIGINAL]).map(|package| package.name)))]
    packages: Vec<String>,
    /// Only these test programs of the users
    #[arg(long = "test", value_name = "GLOB")]
    globs: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let trees = Trees { ours: root.join("crates/parking_lot"), directory: root.join("target/patched") };
    let is_wanted =
        |package: &Package| options.packages.is_empty() || options.packages.iter().any(|name| name == package.name);
    let mut faults = if is_wanted(&ORIGINAL) { suite::run(&trees)? } else { Vec::new() };
    for user in USERS.iter().filter(|user| is_wanted(user)) {
        faults.extend(try_user(&trees, user, &options.globs)?);
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{}\npatched: {} faults", faults.join("\n"), faults.len())) }
}

/// Runs the tests inside the package and its test programs, and says which fail that do not fail with the original.
fn try_user(trees: &Trees, user: &Package, globs: &[String]) -> Result<Vec<String>, String> {
    let Package { name, version, features, .. } = user;
    let run_tests = |directory: &Path| {
        let mut cargo = trees.cargo(directory, &["test", "--no-fail-fast", "--lib", "--features", features]);
        cargo.args(if globs.is_empty() { &["--tests"][..] } else { &[] });
        test(cargo.args(globs.iter().flat_map(|glob| ["--test", glob.as_str()])))
    };
    let directory = trees.unpack(user, true)?;
    trees.prove(&directory, features)?;
    let (patched, is_good) = run_tests(&directory)?;
    println!("{name} {version} with ours: {} tests passed, {} failed", patched.n_passed, patched.failed.len());
    if patched.n_passed == 0 {
        return Ok(vec![format!("{name}: its tests were not built")]);
    }
    if is_good {
        return Ok(Vec::new());
    }
    let (original, _) = run_tests(&trees.unpack(user, false)?)?;
    println!("{name} with the original: {} tests passed; {} failed", original.n_passed, original.failed.join(", "));
    let ours = patched.failed.iter().filter(|test| !original.failed.contains(test));
    Ok(ours.map(|test| format!("{name}: `{test}` fails with ours only")).collect())
}
