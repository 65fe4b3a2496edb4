use super::*;

fn rounds(of: &[([f64; 2], f64)]) -> Vec<Round> {
    of.iter().map(|(before, after)| Round { before: *before, after: *after }).collect()
}

/// A program that is faster, and uses as much CPU time.
fn faster() -> Results {
    Results {
        wall: rounds(&[([3.70, 3.80], 2.1), ([3.90, 3.78], 2.0), ([3.76, 3.80], 2.2)]),
        cpu: rounds(&[([4.0, 4.1], 4.0); 3]),
        printed: Default::default(),
    }
}

/// The text, and what is wrong.
fn told(results: &Results, is_input_lost: bool) -> (String, Option<String>) {
    let command = ["./my server", "--port", "80"].map(OsString::from);
    let told = Told { command: &command, library: None, results, is_input_lost };
    (told.text(usize::MAX), told.fault())
}

fn first_line(results: &Results) -> String {
    told(results, false).0.lines().next().unwrap().to_owned()
}

fn difference(line: u64, one: &str, other: &str) -> Option<Difference> {
    Some(Difference { line, texts: [one, other].map(|text| Some(text.to_owned())) })
}

#[test]
fn a_gain_is_told_whole() {
    let (text, fault) = told(&faster(), false);
    insta::assert_snapshot!(text);
    assert_eq!(fault, None);
}

#[test]
fn the_first_line_has_the_verdict() {
    let mut results = faster();
    for round in &mut results.wall {
        *round = Round { before: [round.after; 2], after: round.before[0] };
    }
    let slower = "Slower: with ondeck's locks ./my server took 1.79 times as long (3.76 s instead of 2.10 s). \
                  Two runs with glibc's locks differ by 0 %.";
    assert_eq!(first_line(&results), slower);
    assert!(told(&results, false).0.contains("Keep glibc's locks. Next, "));
    results.wall = rounds(&[([2.0, 2.2], 2.1); 3]);
    let same = "No difference beyond the noise: ./my server took 2.10 s with ondeck's locks and 2.10 s with glibc's. \
                Two runs with glibc's locks differ by 10 %.";
    assert_eq!(first_line(&results), same);
    assert!(told(&results, false).0.contains("runs for a fixed time"));
    results = faster();
    results.wall.truncate(2);
    results.cpu.truncate(2);
    assert!(first_line(&results).starts_with("Too few rounds to tell: ./my server took 2.05 s"));
    assert!(told(&results, false).0.ends_with("\nondeck profile --try --rounds 3 -- './my server' --port 80\n"));
}

#[test]
fn cpu_time_is_told_where_it_differs() {
    let mut results = faster();
    results.cpu = rounds(&[([4.0, 4.1], 5.0); 3]);
    assert!(told(&results, false).0.contains("\nIt used more CPU time: 5.00 s instead of 4.05 s.\n"));
    results.cpu = rounds(&[([4.0, 4.1], 3.0); 3]);
    assert!(told(&results, false).0.contains("\nIt used less CPU time: 3.00 s instead of 4.05 s.\n"));
}

#[test]
fn loading_the_library_is_no_difference() {
    let short = Results { wall: rounds(&[([0.001; 2], 0.002); 3]), cpu: rounds(&[([0.001; 2], 0.002); 3]), ..faster() };
    let (text, _) = told(&short, false);
    assert!(text.starts_with("No difference") && text.contains("These runs are short"), "{text}");
    assert!(!text.contains("CPU time:"), "{text}");
}

#[test]
fn another_output_is_a_fault_only_if_it_never_varies_with_the_same_locks() {
    let mut results = faster();
    results.printed[0].by_locks = difference(3, "12", "13");
    let (text, fault) = told(&results, false);
    let fault = fault.unwrap();
    assert!(fault.contains("line 3 of standard output: `12` with glibc's locks, `13` with ondeck's."), "{fault}");
    assert!(text.starts_with("Faster: ") && !text.contains("ondeck run") && !text.contains("were the same"), "{text}");
    results.printed[0].by_itself = difference(1, "a", "b");
    let (text, fault) = told(&results, false);
    assert_eq!(fault, None);
    assert!(text.contains("cannot be compared") && text.contains("`a` in one run, `b` in another."), "{text}");
}

#[test]
fn another_standard_error_is_told() {
    let mut results = faster();
    results.printed[1].by_locks = Some(Difference { line: 1, texts: [None, Some("odd".into())] });
    let (text, fault) = told(&results, false);
    assert!(text.contains("line 1 of standard error: nothing with glibc's locks, `odd` with ondeck's."), "{text}");
    assert_eq!(fault, None);
    results.printed[1].by_itself = difference(1, "a", "b");
    assert!(!told(&results, false).0.contains("standard error"));
}

#[test]
fn input_that_is_lost_is_told() {
    let has_words = |is_lost| told(&faster(), is_lost).0.contains("`< FILE`");
    assert_eq!([has_words(true), has_words(false)], [true, false]);
}

#[test]
fn failures_say_how_and_with_which_locks() {
    let errors = std::env::temp_dir().join(format!("ondeck-trial-errors-{}", std::process::id()));
    std::fs::write(&errors, format!("{}\nfirst\n  last\x1b \n\n", "x".repeat(1000))).unwrap();
    let command = ["./a b".into(), "it's".into()];
    let failure = |kind| Failure { command: &command, kind, errors: &errors };
    let (three, killed) = (ExitStatus::from_raw(3 << 8), ExitStatus::from_raw(11));
    let plain = failure(Kind::Glibc).with_glibc(three, false);
    assert!(plain.starts_with("./a b ended with exit code 3 with glibc's own locks, so nothing"), "{plain}");
    assert!(plain.contains("(it printed: `last\u{fffd}`)") && plain.contains("try -- sh -c '"), "{plain}");
    assert!(failure(Kind::Glibc).with_glibc(three, true).contains("not in its first run"));
    assert!(failure(Kind::Ondeck).with_ondeck(killed).contains("./a b was killed by SIGSEGV, and with glibc's it"));
    let late = failure(Kind::Ondeck).too_long(Duration::from_secs(40), 1.0);
    assert!(late.contains("not ended after 40 s") && late.contains("with glibc's it took 1.00 s"), "{late}");
    std::fs::remove_file(&errors).unwrap();
    assert!(!failure(Kind::Glibc).with_glibc(killed, false).contains("it printed"));
}
