//! Machine code of the fast paths: how many locked instructions an uncontended acquire and release cost.
//!
//! A fast path that grows a second locked instruction, or a call, costs several nanoseconds on every use and no test
//! fails. So the machine code of one function per fast path (`lab/lineage/examples/fast_paths.rs`) is read and
//! counted along the way that an uncontended caller takes: straight on at every conditional jump, up to the return.

use crate::command::{cargo, succeed};
use crate::files::{ErrorContext, read};
use std::path::Path;

/// What a straight path has to have.
#[derive(Clone, Copy)]
struct Requirement {
    n_locked: usize,
    /// Backward jumps: a read-modify-write that the processor lacks becomes a compare-exchange that is tried again.
    n_retries: usize,
}

const ACQUIRE: Requirement = Requirement { n_locked: 1, n_retries: 0 };

/// Locks, as the functions of the example begin, with what their releases have.
const LOCKS: [(&str, Requirement); 9] = [
    ("tas", Requirement { n_locked: 0, n_retries: 0 }),
    ("ttas", Requirement { n_locked: 0, n_retries: 0 }),
    ("ticket", Requirement { n_locked: 0, n_retries: 0 }),
    ("mcs", Requirement { n_locked: 1, n_retries: 0 }),
    ("go_tristate_futex", Requirement { n_locked: 1, n_retries: 0 }),
    ("go_tristate_sema", Requirement { n_locked: 1, n_retries: 0 }),
    // A fetch-and whose old value is used; the files' `# Lineage` says what it costs.
    ("go_spinbit_futex", Requirement { n_locked: 1, n_retries: 1 }),
    ("go_spinbit", Requirement { n_locked: 1, n_retries: 1 }),
    ("ondeck", Requirement { n_locked: 1, n_retries: 0 }),
];

/// What was found on a straight path.
#[derive(Debug, Default, PartialEq, Eq)]
struct StraightPath {
    n_instructions: usize,
    n_locked: usize,
    n_retries: usize,
}

/// Compiles the example and checks every probe; prints a table, and the listing of each path that fails.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        println!("asm: skipped, it reads the assembly of x86-64 Linux only");
        return Ok(());
    }
    let listing = compile(root)?;
    let mut failures = String::new();
    println!("{:<28}{:>14}{:>8}{:>9}", "fast path", "instructions", "locked", "retries");
    let paths = |(lock, release)| [(format!("{lock}_acquire"), ACQUIRE), (format!("{lock}_release"), release)];
    for (symbol, wanted) in LOCKS.into_iter().flat_map(paths) {
        let lines = body(&listing, &symbol).ok_or_else(|| format!("`{symbol}` is not in the listing"))?;
        match straight_path(&lines) {
            Ok(StraightPath { n_instructions, n_locked, n_retries }) => {
                println!("{symbol:<28}{n_instructions:>14}{n_locked:>8}{n_retries:>9}");
                if (n_locked, n_retries) != (wanted.n_locked, wanted.n_retries) {
                    let found = format!("{n_locked} locked and {n_retries} retries");
                    failures += &complaint(&symbol, wanted, &found, &lines);
                }
            }
            Err(reason) => failures += &complaint(&symbol, wanted, &reason, &lines),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{failures}asm: not every fast path is as it should be")) }
}

fn complaint(symbol: &str, Requirement { n_locked, n_retries }: Requirement, found: &str, lines: &[&str]) -> String {
    let listing = lines.join("\n");
    format!("\n{symbol}: {found}; wanted are {n_locked} locked, {n_retries} retries and no call\n{listing}\n")
}

/// The assembly of the example in the release profile, as one listing.
fn compile(root: &Path) -> Result<String, String> {
    let file = root.join("target/asm/fast_paths.s");
    std::fs::create_dir_all(root.join("target/asm")).at("target/asm")?;
    let mut rustc = cargo(root);
    rustc.args(["rustc", "--quiet", "--release", "--package", "ondeck-lineage"]);
    // One unit, or the listing comes in parts.
    rustc.args(["--example", "fast_paths", "--", "-C", "codegen-units=1", "--emit"]);
    succeed(rustc.arg(format!("asm={}", file.display())))?;
    read(&file)
}

/// Instructions and local labels of one function, without directives and notes. Of functions with the same code the
/// compiler keeps one and writes `other = one` for the rest.
fn body<'a>(listing: &'a str, symbol: &str) -> Option<Vec<&'a str>> {
    let assignment = format!("{symbol} = ");
    let symbol = listing.lines().find_map(|line| line.strip_prefix(&assignment)).unwrap_or(symbol);
    let mut lines = listing.lines().skip_while(|line| line.strip_suffix(':') != Some(symbol));
    lines.next()?;
    let inside = lines.take_while(|line| !line.starts_with(".Lfunc_end"));
    Some(inside.filter(|line| is_code(line)).collect())
}

fn is_code(line: &str) -> bool {
    let text = line.trim_start();
    let is_directive = text.starts_with('.') && !text.ends_with(':');
    !(text.is_empty() || is_directive || text.starts_with('#') || text.starts_with(".Ltmp"))
}

/// Follows the code from the first instruction to the return, on the way that no conditional jump leaves.
fn straight_path(lines: &[&str]) -> Result<StraightPath, String> {
    let mut path = StraightPath::default();
    let mut at = 0;
    while path.n_instructions <= lines.len() {
        let line = lines.get(at).ok_or("the code ends without a return")?;
        let mut words = line.split_whitespace();
        let (mnemonic, operand) = (words.next().unwrap_or_default(), words.next().unwrap_or("?"));
        let target = lines.iter().position(|line| line.strip_suffix(':') == Some(operand));
        at += 1;
        if line.ends_with(':') {
            continue;
        }
        // The prefix may stand on a line of its own. An exchange with memory is locked without saying so.
        path.n_instructions += usize::from(line.trim() != "lock");
        path.n_locked += usize::from(mnemonic == "lock" || (mnemonic.starts_with("xchg") && line.contains('(')));
        match mnemonic {
            "ret" | "retq" => return Ok(path),
            "call" | "callq" => return Err(format!("calls {operand}")),
            "jmp" | "jmpq" => at = target.ok_or_else(|| format!("leaves for {operand}"))?,
            _ if mnemonic.starts_with('j') => path.n_retries += usize::from(target.is_some_and(|target| target < at)),
            _ => {}
        }
    }
    Err("the straight path is a loop".to_owned())
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
same = probe
";

    #[test]
    fn the_straight_path_passes_conditional_jumps_and_follows_the_others() {
        let lines = body(LISTING, "probe").unwrap();
        assert_eq!(straight_path(&lines), Ok(StraightPath { n_instructions: 7, n_locked: 2, n_retries: 0 }));
    }

    #[test]
    fn a_backward_jump_is_a_retry() {
        let lines = [".L1:", "\tlock\t\tcmpxchgq\t%rcx, (%rdi)", "\tjne\t.L1", "\tretq"];
        assert_eq!(straight_path(&lines), Ok(StraightPath { n_instructions: 3, n_locked: 1, n_retries: 1 }));
    }

    #[test]
    fn calls_loops_and_missing_returns_are_told() {
        assert_eq!(straight_path(&["\tcallq\tslow", "\tretq"]), Err("calls slow".to_owned()));
        assert_eq!(straight_path(&["\tjmp\tslow"]), Err("leaves for slow".to_owned()));
        assert!(straight_path(&[".L1:", "\tnop", "\tjmp\t.L1"]).is_err());
        assert!(straight_path(&["\tnop"]).is_err());
    }

    #[test]
    fn a_probe_may_be_another_name_but_not_missing() {
        assert_eq!(body(LISTING, "same"), body(LISTING, "probe"));
        assert!(body(LISTING, "prob").is_none());
    }
}
