//! Tests that need a process of their own: they run this very test binary again with one test selected.

use std::process::{Child, Command};

/// A command that runs the ignored test `test` of the module at `path`, which is its `module_path!()`, and nothing else.
///
/// The test is ignored in an ordinary run, as it is only the child's half.
pub fn test_in_child(path: &str, test: &str) -> Command {
    // The names of tests begin behind the crate's.
    let test = &format!("{path}::{test}").split_once("::").expect("a crate and a test").1.to_owned();
    let mut command = Command::new(std::env::current_exe().expect("a running test has a path"));
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]).env("RUST_BACKTRACE", "0");
    command
}

/// Waits for `child`, which must succeed.
pub fn succeed(mut child: Child) {
    let status = child.wait().expect("the child can be waited for");
    assert!(status.success(), "the child failed: {status}");
}

/// Pins the calling thread, and those that it will start, to the first core that it may use.
pub fn stay_on_one_core() {
    // SAFETY: all zeros is an empty CPU set.
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes within the set.
    let found = unsafe { libc::sched_getaffinity(0, size_of_val(&cores), &mut cores) };
    assert_eq!(found, 0, "the affinity can be read");
    let is_usable = |&core: &usize| {
        // SAFETY: below the size of the set.
        unsafe { libc::CPU_ISSET(core, &cores) }
    };
    let core = (0..libc::CPU_SETSIZE as usize).find(is_usable).expect("there is a core");
    // SAFETY: all zeros is an empty CPU set.
    let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: below the size of the set.
    unsafe { libc::CPU_SET(core, &mut one) };
    // SAFETY: reads the set.
    let set = unsafe { libc::sched_setaffinity(0, size_of_val(&one), &one) };
    assert_eq!(set, 0, "the affinity can be set to a core that we had");
}
