//! How the library is linked.

fn main() {
    // Code at the same place in the file as in memory: perf takes the one for the other when it looks for our probes, and
    // stops the program in the middle of another instruction.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,separate-code");
    println!("cargo::rerun-if-changed=build.rs");
}
