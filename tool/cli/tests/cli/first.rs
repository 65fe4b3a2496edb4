//! What is typed first: the demo, completions, man pages, the version.

use crate::support::{Scratch, done, ondeck};

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
fn the_demo_finds_its_lock_and_replaces_it() {
    let demo = done(&["demo", "--library", crate::support::programs::library()]);
    // Where a thread is never interrupted inside, nobody waits.
    assert!(["demo_cache", "of 2 locks"].iter().any(|words| demo.stderr.contains(words)), "{}", demo.stderr);
    let figures = demo.stdout.lines().filter(|line| line.contains("requests/s, ")).count();
    assert!(figures == 2 && demo.stdout.contains("times the requests"), "{}", demo.stdout);
    let (_, page) = demo.stdout.split_once(" -o ").unwrap();
    assert!(std::fs::read_to_string(page.split_whitespace().next().unwrap()).unwrap().contains("demo-server"));
    for line in demo.stdout.lines() {
        assert!(line.chars().count() <= 90, "{line}");
    }
}

#[test]
fn shells_complete_commands_and_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = done(&["completions", shell]);
        for word in ["profile", "metric", "top", "compare"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn every_command_has_a_man_page() {
    let scratch = Scratch::new();
    let directory = scratch.path("man1");
    assert_eq!(ondeck(&["man", &directory]).code, Some(0));
    let commands = "bench sim run profile try top list calibrate report compare demo";
    for command in std::iter::once(String::new()).chain(commands.split(' ').map(|name| format!("-{name}"))) {
        let page = std::fs::read_to_string(format!("{directory}/ondeck{command}.1")).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
}

#[test]
fn help_is_a_command_too() {
    let (help, flag) = (ondeck(&["help", "sim"]), ondeck(&["sim", "--help"]));
    assert_eq!((help.code, help.stdout), (Some(0), flag.stdout));
}

#[test]
fn a_regression_fails_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let file = |name: &str, factor: f64| {
        let row = |round: u32| format!("hardware,m,solo,std,1,{round},1,{}\n", (10.0 + f64::from(round)) * factor);
        let rows: String = (0..6).map(row).collect();
        scratch.write(name, &format!("platform,machine,workload,lock,threads,round,seconds,ns_per_op\n{rows}"))
    };
    let (fast, slow) = (file("fast.csv", 1.0), file("slow.csv", 2.0));
    let compared = |old: &str, new: &str| ondeck(&["compare", "--fail-on", "regression", old, new]);
    let worse = compared(&fast, &slow);
    assert!(worse.code == Some(1) && worse.stderr.contains("worse in slow.csv: "), "{}", worse.stderr);
    assert!(!worse.stdout.is_empty(), "the table comes first");
    assert_eq!(compared(&slow, &fast).code, Some(0), "better is no regression");
    assert_eq!(ondeck(&["compare", &fast, &slow]).code, Some(0), "nobody has asked");
}
