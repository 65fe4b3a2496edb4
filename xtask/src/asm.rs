//! Machine code of the fast paths: how many locked instructions an uncontended acquire and release cost.
//!
//! A fast path that grows a second locked instruction, or a call, costs several nanoseconds on every use and no test
//! fails. So the machine code of one function per fast path (`crates/locks/examples/fast_paths.rs`) is read and
//! counted along the way that an uncontended caller takes: straight on at every conditional jump, up to the return.

use std::path::Path;
use std::process::Command;

/// A function of the example, and the locked instructions that its straight path may have.
struct Probe {
    symbol: &'static str,
    n_locked: usize,
}

const PROBES: [Probe; 0] = [];

/// What was found on a straight path.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    n_instructions: usize,
    n_locked: usize,
}

/// Compiles the example and checks every probe; prints a table, and the listing of each path that fails.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        println!("asm: skipped, it reads the assembly of x86-64 Linux only");
        return Ok(());
    }
    let listing = compile(root)?;
    let mut failures = String::new();
    println!("{:<32}{:>14}{:>8}", "fast path", "instructions", "locked");
    for probe in &PROBES {
        let lines = body(&listing, probe.symbol).ok_or_else(|| format!("`{}` is not in the listing", probe.symbol))?;
        match straight_path(&lines).map(|path| count(&path)) {
            Ok(found) => {
                println!("{:<32}{:>14}{:>8}", probe.symbol, found.n_instructions, found.n_locked);
                if found.n_locked != probe.n_locked {
                    failures += &complaint(probe, &format!("{} locked instructions", found.n_locked), &lines);
                }
            }
            Err(reason) => failures += &complaint(probe, &reason, &lines),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{failures}asm: not every fast path is as it should be")) }
}

fn complaint(probe: &Probe, found: &str, lines: &[&str]) -> String {
    let listing = lines.join("\n");
    format!("\n{}: {found}; {} and no call are wanted on the straight path\n{listing}\n", probe.symbol, probe.n_locked)
}

/// The assembly of the example in the release profile, as one listing.
fn compile(root: &Path) -> Result<String, String> {
    let directory = root.join("target/asm");
    std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let file = directory.join("fast_paths.s");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["rustc", "--quiet", "--release", "--package", "ondeck-locks", "--example", "fast_paths", "--"])
        // One unit, or the listing comes in parts.
        .args(["-C", "codegen-units=1", "--emit"])
        .arg(format!("asm={}", file.display()))
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("the example `fast_paths` does not compile".to_owned());
    }
    std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Instructions and local labels of one function, without directives and notes.
fn body<'a>(listing: &'a str, symbol: &str) -> Option<Vec<&'a str>> {
    let start = format!("{symbol}:");
    let mut lines = listing.lines().skip_while(|line| *line != start);
    lines.next()?;
    let inside = lines.take_while(|line| !line.starts_with(".Lfunc_end"));
    Some(inside.filter(|line| is_code(line)).collect())
}

fn is_code(line: &str) -> bool {
    let text = line.trim_start();
    let is_directive = text.starts_with('.') && !text.ends_with(':');
    !(text.is_empty() || is_directive || text.starts_with('#') || text.starts_with(".Ltmp"))
}

/// The instructions from the first to the return, on the way that no conditional jump leaves.
fn straight_path<'a>(lines: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let mut path = Vec::new();
    let mut at = 0;
    while path.len() <= lines.len() {
        let line = lines.get(at).ok_or("the code ends without a return")?;
        at += 1;
        if line.ends_with(':') {
            continue;
        }
        path.push(*line);
        let mut words = line.split_whitespace();
        match words.next().unwrap_or_default() {
            "ret" | "retq" => return Ok(path),
            "call" | "callq" => return Err(format!("calls {}", words.next().unwrap_or("?"))),
            "jmp" | "jmpq" => {
                let target = words.next().unwrap_or("?");
                let label = format!("{target}:");
                at = lines.iter().position(|line| *line == label).ok_or_else(|| format!("leaves for {target}"))?;
            }
            _ => {}
        }
    }
    Err("the straight path is a loop".to_owned())
}

/// Counts along a path. An exchange with memory is locked without saying so.
fn count(path: &[&str]) -> Counted {
    let is_prefix = |line: &&&str| line.trim() == "lock";
    let is_locked = |line: &&&str| {
        let mnemonic = line.split_whitespace().next().unwrap_or_default();
        mnemonic == "lock" || (mnemonic.starts_with("xchg") && line.contains('('))
    };
    Counted {
        n_instructions: path.len() - path.iter().filter(is_prefix).count(),
        n_locked: path.iter().filter(is_locked).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
other:
\tlock\t\torq\t%rax, (%rdi)
\tretq
.Lfunc_end0:
probe:
\t.cfi_startproc
\tmovl\t$1, %eax
\tlock
\tcmpxchgl\t%ecx, (%rdi)
.Ltmp3:
\tjne\t.LBB1_2
\tjmp\t.LBB1_3
.LBB1_2:
\tcallq\tslow
\tretq
.LBB1_3:
\txchgl\t%eax, (%rdi)
\txchgl\t%eax, %ecx
\tretq
.Lfunc_end1:
";

    #[test]
    fn the_straight_path_passes_conditional_jumps_and_follows_the_others() {
        let lines = body(LISTING, "probe").unwrap();
        let path = straight_path(&lines).unwrap();
        assert_eq!(count(&path), Counted { n_instructions: 7, n_locked: 2 });
    }

    #[test]
    fn calls_loops_and_missing_returns_are_told() {
        assert_eq!(straight_path(&["\tcallq\tslow", "\tretq"]), Err("calls slow".to_owned()));
        assert_eq!(straight_path(&["\tjmp\tslow"]), Err("leaves for slow".to_owned()));
        assert!(straight_path(&[".L1:", "\tnop", "\tjmp\t.L1"]).is_err());
        assert!(straight_path(&["\tnop"]).is_err());
    }

    #[test]
    fn a_probe_that_is_missing_is_missed() {
        assert!(body(LISTING, "prob").is_none());
    }
}
