use super::*;

fn found(pattern: &str, text: &str) -> Option<Result<Number, Fault>> {
    last_match(&Regex::new(pattern).unwrap(), text.as_bytes()).unwrap()
}

#[track_caller]
fn value(pattern: &str, text: &str) -> f64 {
    found(pattern, text).expect("a match").expect("a number").value
}

#[track_caller]
fn fault(pattern: &str, text: &str) -> Fault {
    found(pattern, text).expect("a match").expect_err("no number")
}

#[test]
fn the_last_match_counts() {
    let text = "ops: 1\nops: 2, ops: 3\r\nother: 4\n";
    assert_eq!([value("ops: [0-9]+", text), value("ops: ([0-9]+)$", text)], [3.0, 3.0]);
}

#[test]
fn the_first_group_that_took_part_has_the_number() {
    assert_eq!(value("([0-9]+) ops in ([0-9]+) s", "1200 ops in 10 s"), 1200.0);
    assert_eq!(value("[0-9]+ ops in ([0-9]+) s", "1200 ops in 10 s"), 10.0);
    assert_eq!(value("ops ([0-9]+)|rate ([0-9]+)", "rate 7"), 7.0);
    assert_eq!(value("(?:ops|rate) [0-9]+", "rate 7"), 7.0);
    assert_eq!(value("(ops.*)", "ops: 12 per second"), 12.0);
}

#[test]
fn a_digit_of_a_name_is_no_number() {
    assert_eq!([value("p99: .*", "p99: 12.5 ms"), value("p99.9: .*", "p99.9: 13 ms")], [12.5, 13.0]);
    assert_eq!([value("95th.*", "95th percentile: 80"), value(".*", "12 threads")], [80.0, 12.0]);
    assert_eq!(value("n([0-9]+)", "n12"), 12.0);
}

#[test]
fn numbers_have_points_exponents_and_thousands() {
    for (text, number) in [
        ("x 1234", 1234.0),
        ("x 0.5", 0.5),
        ("x .5", 0.5),
        ("x 1.2e6", 1.2e6),
        ("x 1E-3", 1e-3),
        ("x 1,234", 1234.0),
        ("x 1,234,567.8", 1_234_567.8),
        ("x 12.", 12.0),
        ("x 12, 13", 12.0),
        ("x=12;", 12.0),
    ] {
        assert_eq!(value("x.*", text), number, "{text}");
    }
    for text in ["x 1,23", "x 0,123", "x 1.234.567", "x 1'234", "x 1_000", "x 1234,567"] {
        let digits = text[2..].to_owned();
        assert_eq!(fault("x.*", text), Fault::Unclear { digits });
    }
    for text in ["x 0", "x -5", "x 0.0", "x 1e999"] {
        assert!(matches!(fault("x.*", text), Fault::NotPositive { .. }), "{text}");
    }
    assert_eq!(fault("x.*", "x none"), Fault::NoNumber { matched: "x none".to_owned() });
}

#[test]
fn a_part_of_a_number_is_refused() {
    let cut = |pattern, text, matched: &str, number: &str| {
        let expected = Fault::Cut { matched: matched.to_owned(), number: number.to_owned() };
        assert_eq!(fault(pattern, text), expected);
    };
    cut("ops: [0-9]+", "ops: 1,234", "ops: 1", "1,234");
    cut("ops: [0-9]+", "ops: 12.5", "ops: 12", "12.5");
    cut("[0-9]+$", "ops: 1,234", "234", "1,234");
    // A `.*` that takes more than was meant.
    cut("ops.*([0-9]+)", "ops: 1234", "ops: 1234", "1234");
    cut("ops.*([0-9.]+)", "ops: 12.5", "ops: 12.5", "12.5");
    assert!(matches!(fault("ops: [0-9.]+", "ops: 1.5e6"), Fault::Cut { .. }));
    // Columns that commas separate.
    assert_eq!([value("^10,([0-9]+),", "10,200,300"), value("^10,([0-9]+)$", "10,200")], [200.0, 200.0]);
    assert_eq!(value("([0-9]+) [0-9]", "10 200"), 10.0);
}

#[test]
fn the_unit_is_what_stands_behind_the_number() {
    let unit = |text| found("x [0-9.]+", text).unwrap().unwrap().unit;
    for (text, expected) in [
        ("x 12.3k", "k"),
        ("x 12.3k,", "k"),
        ("x 9.1MiB/s", "MiB"),
        ("x 80 ms", " ms"),
        ("x 9.4 Gbits/sec", " Gbits/sec"),
        ("x 80 µs", " µs"),
        ("x 12 %", ""),
        ("x 5%", "%"),
        ("x 12Ω", "Ω"),
        ("x 12 requests", ""),
        ("x 12 sleepers", ""),
        ("x 12", ""),
    ] {
        assert_eq!(unit(text), expected, "{text}");
    }
}

#[test]
fn another_unit_is_a_fault() {
    let number = |text| found("x.*", text).unwrap().unwrap();
    assert_eq!(number("x 1 ms").with_unit_of(&number("x 2 ms")).unwrap().value, 1.0);
    let expected = Fault::OtherUnit { first: "980 us".to_owned(), this: "1.02 ms".to_owned() };
    assert_eq!(number("x 1.02 ms").with_unit_of(&number("x 980 us")), Err(expected));
}

#[test]
fn output_without_line_breaks_is_read_in_pieces() {
    let long = "y".repeat(3 << 20);
    assert_eq!(found("x", &long), None);
    assert_eq!(value("x [0-9]+", &format!("{long}\nx 3")), 3.0);
}

#[test]
fn what_is_no_text_is_no_obstacle() {
    let pattern = Regex::new("ops: [0-9]+").unwrap();
    let found = last_match(&pattern, &b"\xff\xfe\nops: 5\xff\n"[..]).unwrap().unwrap();
    assert_eq!(found.unwrap().value, 5.0);
}

#[test]
fn standard_error_counts_where_nothing_else_matches() {
    let directory = tempfile::tempdir().unwrap();
    let [out, err] = ["out", "err"].map(|name| directory.path().join(name));
    let metric = Metric { pattern: Regex::new("ops: .*").unwrap(), is_less_better: false };
    std::fs::write(&out, "starting\n").unwrap();
    std::fs::write(&err, "ops: 5\n").unwrap();
    let number = || metric.number(&[&out, &err]).unwrap();
    assert_eq!(number().unwrap().value, 5.0);
    std::fs::write(&out, "ops: 6\n").unwrap();
    assert_eq!(number().unwrap().value, 6.0);
    std::fs::write(&out, "").and_then(|()| std::fs::write(&err, "")).unwrap();
    assert_eq!(number(), Err(Fault::NoMatch));
}

#[test]
fn better_is_more_or_less_as_asked() {
    let number = found("x.*", "x 5").unwrap().unwrap();
    let rounds = vec![Round { before: [100.0, 101.0], after: 150.0 }; 3];
    let mut measured = MetricValues { first: number, is_less_better: false, rounds };
    assert_eq!(measured.compared().unwrap().outcome, Outcome::Faster);
    measured.is_less_better = true;
    assert_eq!(measured.compared().unwrap().outcome, Outcome::Slower);
}

#[test]
fn a_small_number_keeps_its_digits() {
    let measured =
        |text| MetricValues { first: found("x.*", text).unwrap().unwrap(), is_less_better: false, rounds: Vec::new() };
    assert_eq!(measured("x 1").shown(12_345.6), "12346");
    assert_eq!(measured("x 1k").shown(1.5), "1.50k");
    assert_eq!(measured("x 1 ms").shown(1.5e-7), "1.50e-7 ms");
}

#[test]
fn a_pattern_is_made_of_the_word_before_the_number() {
    let pattern = |one, other| pattern_for_line(one, other, 2.0);
    assert_eq!(pattern("rate 3.79", "rate 3.72").unwrap(), r"rate\s+([0-9.,]+)");
    assert_eq!(pattern("3 runs, ops/s: 12 in all\n", "3 runs, ops/s: 9 in all\n").unwrap(), r"ops/s:\s+([0-9.,]+)");
    assert_eq!(pattern("ops=12", "ops=13").unwrap(), "ops=([0-9.,]+)");
    for [one, other] in
        [["12", "13"], ["ops: none", "ops: few"], ["pid a1", "pid b1"], ["", "x"], ["ops 1\n", "ops 1\n"]]
    {
        assert_eq!(pattern(one, other), None);
    }
    // How long it ran, in seconds and in milliseconds.
    assert_eq!([pattern("time: 1.97s", "time: 1.98s"), pattern("time: 1970", "time: 1980")], [None, None]);
    let made = pattern("a (b) - 12,5", "a (b) - 12,6").unwrap();
    assert!(Regex::new(&made).unwrap().is_match("a (b) - 12,5"), "{made}");
}

#[test]
fn a_pattern_is_for_the_first_number_that_differs() {
    let pattern = |one: &str, other: &str| pattern_for(one.as_bytes(), other.as_bytes(), 1.0).unwrap();
    let [one, other] = ["threads: 4\ntime: 1.01\nevents: 12\n", "threads: 4\ntime: 1.02\nevents: 13\n"];
    assert_eq!(pattern(one, other).unwrap(), r"events:\s+([0-9.,]+)");
    assert_eq!([pattern(one, one), pattern(one, "threads: 4\n"), pattern("", other)], [None, None, None]);
}
