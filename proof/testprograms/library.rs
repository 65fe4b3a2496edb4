//! The preloaded library as its users have it, for tests of several crates. Cargo makes none for tests, since they could not be
//! linked with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where it is, built.
pub(crate) fn library() -> &'static str {
    static LIBRARY: OnceLock<String> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let built = built(".", &["--package", "ondeck-preload"]);
        built.join("libondeck_pthread.so").to_str().unwrap().to_owned()
    })
}

/// What cargo makes of these words as users would have it, with optimisation: beside what else is built, as the tests hold no
/// lock of cargo's. The directory is from the package's own: a package's name may be another one's too.
pub(crate) fn built(directory: &str, words: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--target-dir"]).arg(&target).args(words);
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(directory));
    assert!(cargo.status().unwrap().success(), "{words:?} cannot be built");
    target.join("release")
}
