//! What is typed first: the demo, completions, man pages, the version.

use crate::common::{Scratch, ondeck};

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
fn the_demo_finds_its_lock_and_replaces_it() {
    let demo = ondeck(&["demo", "--library", crate::launch::library()]);
    assert_eq!(demo.code, Some(0), "{}", demo.stderr);
    assert!(demo.stderr.contains("demo_cache") && demo.stderr.contains("demo_look_up"), "{}", demo.stderr);
    let figures = demo.stdout.lines().filter(|line| line.contains("requests/s, ")).count();
    assert!(figures == 2 && demo.stdout.contains("times the requests"), "{}", demo.stdout);
    let (_, page) = demo.stdout.split_once("--report ").unwrap();
    let page = std::fs::read_to_string(page.split_whitespace().next().unwrap()).unwrap();
    assert!(page.contains("demo_cache"), "the page names the lock");
    for line in demo.stdout.lines() {
        assert!(line.chars().count() <= 90, "{line}");
    }
}

#[test]
fn shells_complete_commands_and_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = ondeck(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{}", script.stderr);
        for word in ["profile", "flamegraph", "compare"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
    crate::usage::refused(&["completions", "dosh"], &["dosh", "bash", "fish"]);
}

#[test]
fn every_command_has_a_man_page() {
    let scratch = Scratch::new("man");
    let directory = scratch.path("man1");
    assert_eq!(ondeck(&["man", &directory]).code, Some(0));
    for command in ["", "-bench", "-sim", "-run", "-profile", "-list", "-calibrate", "-report", "-compare", "-demo"] {
        let page = std::fs::read_to_string(format!("{directory}/ondeck{command}.1")).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    crate::usage::refused(&["man", "/dev/null/man"], &["/dev/null/man"]);
}

#[test]
fn help_is_a_command_too() {
    let (help, flag) = (ondeck(&["help", "sim"]), ondeck(&["sim", "--help"]));
    assert_eq!((help.code, help.stdout), (Some(0), flag.stdout));
}

#[test]
fn a_regression_fails_where_that_is_asked_for() {
    let scratch = Scratch::new("regression");
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
