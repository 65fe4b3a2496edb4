//! The preloaded library as its users have it, for tests of several crates. Cargo makes none for tests, since they could not be
//! linked with it.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Where it is, built.
pub(crate) fn library() -> &'static str {
    static LIBRARY: OnceLock<String> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        // Beside what else is built: the tests hold no lock of cargo's.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--release", "--package", "ondeck-preload", "--target-dir"])
            .arg(&target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .unwrap();
        assert!(status.success(), "the library cannot be built");
        target.join("release/libondeck_pthread.so").to_str().unwrap().to_owned()
    })
}
