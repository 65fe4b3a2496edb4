use super::*;
use crate::trial::metric::{Fault, Number};

fn rounds(of: &[([f64; 2], f64)]) -> Vec<Round> {
    of.iter().map(|(before, after)| Round { before: *before, after: *after }).collect()
}

/// A program that is faster, and uses as much CPU time.
fn faster() -> Results {
    Results {
        wall: rounds(&[([3.70, 3.80], 2.1), ([3.90, 3.78], 2.0), ([3.76, 3.80], 2.2)]),
        cpu: rounds(&[([4.0, 4.1], 4.0); 3]),
        metric: None,
        pattern: None,
        printed: Default::default(),
    }
}

/// The text, and what is wrong.
fn told(results: &Results, is_input_lost: bool) -> (String, Option<String>) {
    let command = ["./my server", "--port", "80"].map(OsString::from);
    let metric = results.metric.as_ref().map(|measured| Metric {
        pattern: regex_lite::Regex::new("ops/s: ([0-9.]+)").unwrap(),
        is_less_better: measured.is_less_better,
    });
    let told = TrialReport { command: &command, library: None, metric: metric.as_ref(), results, is_input_lost };
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
    assert!(told(&results, false).0.contains("\nKeep glibc's locks. What helps instead "));
    results.wall = rounds(&[([2.0, 2.2], 2.1); 3]);
    let same = "No difference beyond the noise: ./my server took 2.10 s with ondeck's locks and 2.10 s with glibc's. \
                Two runs with glibc's locks differ by 10 %.";
    assert_eq!(first_line(&results), same);
    let (text, _) = told(&results, false);
    assert!(text.contains("runs for a fixed time"), "{text}");
    assert!(text.contains("\nondeck try --metric 'ops/s: ([0-9.,]+)' -- './my server' --port 80\n"), "{text}");
    assert!(text.ends_with("if you have not yet:\nondeck profile -- './my server' --port 80\n"), "{text}");
    results.pattern = Some(r"rate\s+=\s+([0-9.,]+)".to_owned());
    assert!(told(&results, false).0.contains("\nondeck try --metric 'rate\\s+=\\s+([0-9.,]+)' -- "));
    results.wall = rounds(&[([2.0, 2.3], 2.1), ([2.6, 2.2], 2.2), ([2.4, 2.0], 2.3)]);
    let (text, _) = told(&results, false);
    assert!(text.ends_with("\nondeck try --rounds 10 -- './my server' --port 80\n"), "{text}");
    assert!(text.contains("Runs with the same locks differ so much") && !text.contains("keep"), "{text}");
    results = faster();
    results.wall.truncate(2);
    results.cpu.truncate(2);
    assert!(first_line(&results).starts_with("Too few rounds to tell: ./my server took 2.05 s"));
    assert!(told(&results, false).0.ends_with("\nondeck try --rounds 3 -- './my server' --port 80\n"));
}

/// Both runs of a round are alike, and those of the next round are not.
#[test]
fn runs_that_fall_into_two_groups_are_told_as_such() {
    let wall = rounds(&[([1.44, 1.43], 1.44), ([2.61, 2.73], 2.6), ([1.45, 1.44], 1.43)]);
    let mut results = Results { wall, ..faster() };
    let same = "No difference beyond the noise: ./my server took 1.44 s with ondeck's locks and 1.44 s with glibc's. The runs with \
                glibc's locks fall into two groups: 4 near 1.44 s, and 2 near 2.67 s.";
    assert_eq!(first_line(&results), same);
    let (text, _) = told(&results, false);
    assert!(
        text.contains("chance decides into which group a run falls") && !text.contains("keep glibc's locks"),
        "{text}"
    );
    assert!(text.ends_with("\nondeck try --rounds 10 -- './my server' --port 80\n"), "{text}");
    results.wall = results.wall.repeat(3);
    assert!(told(&results, false).0.contains("--rounds 18 "));
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

/// A program that runs for 10 seconds.
fn fixed(metric: &[([f64; 2], f64)], is_less_better: bool) -> Results {
    let first =
        Number { value: 1170.0, unit: "k".to_owned(), digits: "1170".to_owned(), matched: "ops/s: 1170".to_owned() };
    let measured = MetricValues { first, is_less_better, rounds: rounds(metric) };
    let times = rounds(&[([10.0, 10.01], 10.0); 3]);
    let printed = [
        OutputDifferences { by_itself: difference(1, "1", "2"), by_locks: difference(1, "1", "3") },
        OutputDifferences::default(),
    ];
    Results { wall: times.clone(), cpu: times, metric: Some(measured), printed, pattern: None }
}

#[test]
fn a_better_metric_is_told_whole() {
    let (text, fault) = told(&fixed(&[([1170.0, 1180.0], 2100.0); 3], false), false);
    insta::assert_snapshot!(text);
    assert_eq!(fault, None);
}

#[test]
fn the_first_line_says_whether_the_metric_is_better() {
    let less = [([2100.0, 2100.0], 1050.0); 3];
    let worse = "Worse: with ondeck's locks the metric of ./my server falls by a factor of 2.00 (1050k instead of 2100k). \
                 Two runs with glibc's locks differ by 0 %.";
    assert_eq!(first_line(&fixed(&less, false)), worse);
    assert_eq!(first_line(&fixed(&less, true)), worse.replacen("Worse", "Better", 1));
    let same = fixed(&[([2100.0, 2100.0], 2101.0); 3], false);
    assert!(first_line(&same).starts_with("No difference beyond the noise: the metric of ./my server is 2101k with"));
    assert!(!told(&same, false).0.contains("fixed time") && told(&same, false).0.contains("Keep glibc's locks."));
    let mut few = fixed(&less, true);
    few.metric.as_mut().unwrap().rounds.truncate(2);
    assert!(first_line(&few).starts_with("Too few rounds to tell: the metric of ./my server is 1050k with"));
    let next = "\nondeck try --rounds 3 --metric-less 'ops/s: ([0-9.]+)' -- './my server' --port 80\n";
    assert!(told(&few, false).0.ends_with(next));
}

#[test]
fn with_a_metric_other_output_is_told_and_no_fault() {
    let mut results = fixed(&[([1170.0, 1180.0], 2100.0); 3], false);
    results.printed[0].by_itself = None;
    let (text, fault) = told(&results, false);
    assert!(text.contains("line 1 of standard output: `1` with glibc's locks, `3` with ondeck's."), "{text}");
    assert_eq!(fault, None);
    results.wall = rounds(&[([10.0, 10.1], 5.0); 3]);
    assert!(told(&results, false).0.contains("\nIts run time changed: 5.00 s instead of 10.1 s.\n"));
}

#[test]
fn output_without_a_number_is_told_with_what_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let [out, err] = ["out", "err"].map(|name| directory.path().join(name));
    std::fs::write(&out, "first\nlast\n").and_then(|()| std::fs::write(&err, "")).unwrap();
    let (command, pattern) = (["./a b".into()], regex_lite::Regex::new("(ops)").unwrap());
    let metric = Metric { pattern, is_less_better: true };
    let words = NoNumber { command: &command, metric: &metric, kind: Kind::Ondeck, outputs: [&out, &err] };
    let text = |fault| words.text(&fault);
    let no_match = text(Fault::NoMatch);
    assert!(
        no_match.starts_with("--metric-less '(ops)': no line printed by ./a b with ondeck's locks matches. Its last ")
    );
    assert!(no_match.contains("`last`") && no_match.contains("Accepted: a regular expression"), "{no_match}");
    std::fs::write(&out, "").unwrap();
    assert!(text(Fault::NoMatch).contains("It printed nothing."));
    let one = || "1".to_owned();
    for (fault, what) in [
        (
            Fault::NoNumber { matched: one() },
            "printed `1`, which has no number. Accepted: a pattern that matches the number too",
        ),
        (Fault::Cut { matched: one(), number: "1,5".to_owned() }, "only a part of the number 1,5. Accepted: "),
        (Fault::Unclear { digits: one() }, "not clear which number 1 is"),
        (Fault::NotPositive { digits: one() }, "printed 1. Accepted: a number above 0"),
        (
            Fault::OtherUnit { first: "1k".to_owned(), this: "1M".to_owned() },
            "printed 1k, and ./a b with ondeck's locks",
        ),
    ] {
        let text = text(fault);
        assert!(text.contains(what), "{text}");
    }
}
