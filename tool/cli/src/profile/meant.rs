//! Which processes the numbers of `--pid` mean.

use crate::terminal::for_user;
use ondeck_futex::process::{parent, process_of, window};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Processes, and what is to be said of the choice.
pub(crate) struct MeantProcesses {
    /// Each once.
    pub(crate) pids: Vec<u32>,
    pub(crate) notes: Vec<String>,
}

/// The processes of these numbers, which may be those of threads. `command` is what they are given to: `ondeck COMMAND --pid`.
pub(crate) fn meant(numbers: &[u32], command: &str) -> MeantProcesses {
    let (mut pids, mut notes) = (Vec::new(), Vec::new());
    for number in numbers {
        // One that is not there is refused later, by its number.
        let pid = process_of(*number).unwrap_or(*number);
        if pid != *number {
            notes.push(format!("{number} is a thread of process {pid}. The list is of all threads of the process"));
        }
        if !pids.contains(&pid) {
            pids.push(pid);
        }
    }
    let left_out = workers(&pids);
    if !left_out.is_empty() {
        notes.push(of_workers(&pids, &left_out, command));
    }
    MeantProcesses { pids, notes }
}

/// What is said of processes that are left out.
fn of_workers(pids: &[u32], left_out: &[u32], command: &str) -> String {
    /// A line of so many numbers can still be read.
    const MOST: usize = 32;
    let listed = |pids: &[u32]| pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let n = left_out.len();
    let (children, are) = if n == 1 { ("child", "is") } else { ("children", "are") };
    let (of, all) = match n {
        0..=MOST => (listed(left_out), listed(&[pids, left_out].concat())),
        _ => (format!("{},...", listed(&left_out[..MOST])), format!("{0},$(pgrep -d, -P {0})", listed(pids))),
    };
    for_user(&format!(
        "{n} {children} of the same program {are} left out ({of}). To include {}: sudo ondeck {command} --pid {all}",
        if n == 1 { "the child" } else { "the children" }
    ))
}

/// Processes beyond these that come from them and run the same program, as the workers of a server do.
fn workers(pids: &[u32]) -> Vec<u32> {
    /// A child that becomes another program is its parent's for less.
    const A_MOMENT: Duration = Duration::from_millis(50);
    let found = workers_now(pids);
    if found.is_empty() {
        return found;
    }
    std::thread::sleep(A_MOMENT);
    let still = workers_now(pids);
    found.into_iter().filter(|pid| still.contains(pid)).collect()
}

fn workers_now(pids: &[u32]) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    all.filter_map(|pid| Some((parent(pid)?, pid))).for_each(|(of, pid)| children.entry(of).or_default().push(pid));
    let (mut found, mut at) = (pids.to_vec(), 0);
    // Ends: each process is added once.
    while let Some(pid) = found.get(at).copied() {
        at += 1;
        let Some(program) = program(pid) else { continue };
        let like_it = |child: &u32| self::program(*child).as_ref() == Some(&program);
        for child in children.get(&pid).into_iter().flatten().filter(|child| like_it(child)) {
            if !found.contains(child) {
                found.push(*child);
            }
        }
    }
    let mut left_out = found.split_off(pids.len());
    left_out.sort_unstable();
    left_out
}

/// What a process runs, as far as we may know.
fn program(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{}/exe", window(pid))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;

    #[test]
    fn a_thread_means_its_process_and_each_is_meant_once() {
        let (tell, told) = std::sync::mpsc::channel();
        let (go, end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            // SAFETY: always may be called.
            tell.send(unsafe { libc::gettid() }.unsigned_abs()).unwrap();
            let _ = end.recv();
        });
        let (own, other) = (std::process::id(), told.recv().unwrap());
        let found = meant(&[other, own, other], "profile");
        drop(go);
        thread.join().unwrap();
        assert_eq!(found.pids, [own]);
        assert!(found.notes[0].starts_with(&format!("{other} is a thread of process {own}")), "{:?}", found.notes);
    }

    #[test]
    fn who_is_left_out_is_named_with_a_command_that_has_all() {
        let text = of_workers(&[7], &[8, 9], "top");
        assert!(text.contains("(8,9)") && text.ends_with("ondeck top --pid 7,8,9"), "{text}");
        let many: Vec<u32> = (100..200).collect();
        let text = of_workers(&[7], &many, "profile");
        assert!(text.starts_with("100 children") && text.ends_with("--pid 7,$(pgrep -d, -P 7)"), "{text}");
        assert!(text.len() < 400, "{text}");
    }

    #[test]
    fn workers_are_children_that_run_the_same_program() {
        // Two shells within a shell, and a child of another kind in one of them.
        let script = "( while :; do sleep 1; done ) & ( ( while :; do sleep 1; done ) & wait ) & wait";
        let mut shell = std::process::Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap();
        let pid = shell.id();
        let mut found = Vec::new();
        while found.len() < 3 {
            found = workers(&[pid]);
        }
        let programs: Vec<_> = found.iter().map(|worker| program(*worker)).collect();
        let of_shell = program(pid);
        let none_left = workers(&[&[pid], found.as_slice()].concat());
        // SAFETY: takes numbers only; a group of our own child, which has not been waited for.
        unsafe { libc::kill(-pid.cast_signed(), libc::SIGKILL) };
        shell.wait().unwrap();
        assert_eq!((found.len(), none_left.len()), (3, 0));
        assert!(of_shell.is_some() && programs.iter().all(|program| *program == of_shell), "{programs:?}");
    }
}
