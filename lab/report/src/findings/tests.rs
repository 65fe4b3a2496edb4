//! Both sides of each rule, and files that nobody would write.

use super::answer::SHOWN;
use super::*;
use crate::fingerprint::Fingerprint;
use crate::made_up::{rounds, source};
use crate::row::Row;

/// The sentences under the question that has the words.
fn said(sources: &[Source], words: &str) -> Vec<String> {
    findings(sources, &Catalogue::new(&[], &[], &["std", "pthread"]))
        .into_iter()
        .find(|answer| answer.question.contains(words))
        .map_or(Vec::new(), |answer| answer.sentences)
}

fn said_of(rows: Vec<Row>, words: &str) -> Vec<String> {
    said(&[source("a.csv", rows)], words)
}

#[test]
fn kept_from_nine_tenths_on_and_collapsed_below_half() {
    let of = |part: f64| {
        let rows = [rounds("w", "std", 1, &[10.0; 3]), rounds("w", "std", 2, &[10.0 * part; 3])];
        said_of(rows.concat(), "keeps the speed")
    };
    assert_eq!(of(0.9), ["Keeps its speed up to 2 threads (w): std (at least 0.90 of one thread)."]);
    assert_eq!(of(0.89), ["Keeps half or more of its speed up to 2 threads (w): std (0.89 at 2 threads)."]);
    assert_eq!(of(0.5), ["Keeps half or more of its speed up to 2 threads (w): std (0.50 at 2 threads)."]);
    assert_eq!(of(0.49), ["Falls below half of one thread's speed (w): std at 2 threads (down to 0.49)."]);
}

#[test]
fn rounds_on_both_sides_of_a_bound_are_shown() {
    let of = |figures: [f64; 3]| {
        let rows = [rounds("w", "std", 1, &[10.0; 3]), rounds("w", "std", 2, &figures)];
        said_of(rows.concat(), "keeps the speed").remove(0)
    };
    assert!(of([9.1, 9.2, 9.3]).ends_with("std (at least 0.92 of one thread)."));
    assert!(of([8.9, 9.2, 9.3]).ends_with("std (at least 0.92 of one thread; in rounds 0.89 to 0.93)."));
    assert!(of([4.9, 4.8, 5.1]).ends_with("std at 2 threads (down to 0.49; in rounds 0.48 to 0.51)."));
    assert!(of([4.9, 4.8, 4.95]).ends_with("std at 2 threads (down to 0.49)."));
}

#[test]
fn each_workload_with_one_thread_and_more_is_judged_the_widest_first() {
    let mut rows = [rounds("a", "std", 1, &[10.0]), rounds("a", "std", 2, &[9.5])].concat();
    for threads in [1, 2, 4] {
        rows.extend(rounds("b", "std", threads, &[10.0]));
    }
    rows.extend(rounds("c", "std", 2, &[10.0]));
    let said = said_of(rows, "keeps the speed");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("up to 4 threads (b)") && said[1].contains("up to 2 threads (a)"), "{said:?}");
}

#[test]
fn without_one_thread_nothing_is_said_to_be_kept() {
    let said = said_of(rounds("w", "std", 2, &[10.0]), "keeps the speed");
    assert_eq!(said, ["Unknown: no workload was run both with one thread and with more."]);
    assert!(said_of(rounds("handoff-fast", "std", 2, &[10.0]), "keeps the speed").is_empty());
}

#[test]
fn fastest_only_where_all_rounds_say_so() {
    let of = |std: [f64; 3]| {
        let rows = [rounds("w", "ondeck", 2, &[20.0; 3]), rounds("w", "std", 2, &std)];
        said_of(rows.concat(), "fastest").pop().unwrap()
    };
    assert_eq!(of([10.0; 3]), "w: At 2 threads ondeck is fastest, with 2.00 times the throughput of std.");
    assert_eq!(of([10.0, 10.0, 20.1]), "w: At 2 threads ondeck and std do not clearly differ (the rounds disagree).");
    assert_eq!(of([10.0, 10.0, 20.0]), "w: At 2 threads ondeck and std do not clearly differ (the rounds disagree).");
}

#[test]
fn one_round_is_said_to_be_one() {
    let rows = [rounds("w", "ondeck", 2, &[20.0]), rounds("w", "std", 2, &[10.0])].concat();
    let fastest = said_of(rows.clone(), "fastest");
    assert_eq!(
        fastest[1],
        "w: At 2 threads ondeck is fastest in the only round, with 2.00 times the throughput of std."
    );
    assert!(said_of(rows, "reach")[0].starts_with("One round cannot show"));
}

#[test]
fn settings_with_the_same_lead_share_a_clause() {
    let mut rows = Vec::new();
    for (threads, ondeck, std, pthread) in [(2, 20.0, 10.0, 8.0), (3, 20.0, 9.0, 9.0), (4, 20.0, 5.0, 8.0)] {
        for (lock, mega) in [("ondeck", ondeck), ("std", std), ("pthread", pthread)] {
            rows.extend(rounds("w", lock, threads, &[mega; 2]));
        }
    }
    let all = "w: At all 3 numbers of threads from 2 to 4 ondeck is fastest, with 2.00 (std, 2 threads) to 2.50 (pthread, \
               4 threads) times the throughput of the next.";
    assert_eq!(said_of(rows.clone(), "fastest")[1], all);
    rows.extend([rounds("w", "ondeck", 8, &[5.0; 2]), rounds("w", "std", 8, &[15.0; 2])].concat());
    let some = "w: At 2, 3 and 4 threads ondeck is fastest, with 2.00 (std, 2 threads) to 2.50 (pthread, 4 threads) times \
                the throughput of the next. At 8 threads std is fastest, with 3.00 times the throughput of ondeck.";
    assert_eq!(said_of(rows, "fastest")[1], some);
}

#[test]
fn a_lock_that_is_behind_is_told_from_those_that_are_level() {
    let rows = [
        rounds("w", "ondeck", 2, &[20.0, 21.0]),
        rounds("w", "std", 2, &[20.5, 20.4]),
        rounds("w", "pthread", 2, &[10.25, 10.25]),
    ];
    let said = said_of(rows.concat(), "fastest").pop().unwrap();
    let expected = "w: At 2 threads ondeck and std do not clearly differ (the rounds disagree). There, ondeck has 2.00 \
                    times the throughput of pthread.";
    assert_eq!(said, expected);
}

#[test]
fn waits_are_told_where_most_threads_are() {
    let mut rows =
        [rounds("w", "std", 1, &[10.0]), rounds("w", "std", 2, &[10.0]), rounds("w", "std", 8, &[10.0])].concat();
    for row in &mut rows {
        let part = f64::from(row.threads);
        (row.wait_p99_ns, row.wait_max_ns) = (Some(1e3 * part), Some(1e6 * part));
    }
    assert_eq!(
        said_of(rows, "wait"),
        [
            "Time that 99 of 100 waits stayed within at 8 threads (w): std 8.00 us.",
            "Longest wait at 8 threads (w): std 8.00 ms."
        ]
    );
}

#[test]
fn what_rounds_and_warnings_mean() {
    let mut source = source("a.csv", rounds("w", "std", 2, &[10.0; 4]));
    source.results.warnings = vec!["a neighbour".into()];
    source.notes = vec!["an odd column".into()];
    let expected = [
        "A lock counts as ahead if it is ahead in each of 4 rounds. For two equal locks, this happens by chance in 1 of 8 \
         cases.",
        "The figures came with 2 warnings; see the end.",
    ];
    assert_eq!(said(&[source], "reach"), expected);
}

#[test]
fn several_files_are_named_unless_they_say_the_same() {
    let a = source("a.csv", [rounds("w", "std", 1, &[10.0; 4]), rounds("w", "std", 2, &[9.5; 4])].concat());
    let b = source("b.csv", [rounds("w", "std", 1, &[10.0; 4]), rounds("w", "std", 2, &[4.0; 4])].concat());
    let said_of_two = said(&[a.clone(), b], "keeps");
    assert!(
        said_of_two[0].starts_with("a.csv: Keeps its speed") && said_of_two[1].starts_with("b.csv: Falls below half")
    );
    assert!(said(&[a.clone(), a], "keeps")[0].starts_with("Keeps its speed up to 2"));
}

#[test]
fn an_answer_is_short_whatever_the_files_are() {
    let mut rows = Vec::new();
    for workload in 0..500 {
        rows.extend([1, 2].map(|threads| rounds(&format!("w{workload}"), "std", threads, &[10.0; 4])).concat());
    }
    for lock in 0..300 {
        rows.extend([1, 2].map(|threads| rounds("w0", &format!("lock{lock}"), threads, &[10.0; 4])).concat());
    }
    let mut sources = vec![source("all.csv", rows)];
    sources.extend((0..9).map(|n| source(&format!("{n}.csv"), rounds("w0", "std", 2, &[10.0 + f64::from(n); 4]))));
    for answer in findings(&sources, &Catalogue::default()) {
        assert!(answer.sentences.len() <= SHOWN + 3, "{answer:?}");
        assert!(answer.sentences.iter().all(|sentence| sentence.len() < 1000), "{answer:?}");
    }
    let kept = said(&sources[..1], "keeps");
    assert_eq!(kept.len(), SHOWN + 1);
    assert_eq!(kept[SHOWN], "Left out: 494 more sentences; see the figures.");
    assert!(kept[0].contains("and 293 more."), "{}", kept[0]);
}

#[test]
fn of_many_numbers_of_threads_a_few_are_named() {
    let mut rows = Vec::new();
    // Of three numbers, std collapses at one and is behind x there.
    for threads in 1..=500 {
        let mega = if threads % 3 == 0 { [1.0, 2.0] } else { [9.0, 4.0] };
        rows.extend([0, 1].map(|n| rounds("w", ["std", "x"][n], threads, &[mega[n]; 4])).concat());
    }
    let kept = said_of(rows.clone(), "keeps");
    assert!(kept[1].contains("std at 3, 6, 9,") && kept[1].contains(" and 150 more (down to 0.11)"), "{kept:?}");
    let fastest = said_of(rows, "fastest");
    assert!(fastest.iter().all(|sentence| sentence.len() < 1000), "{fastest:?}");
    // 2; 3; 4, 5; 6; and so on up to 498; 499, 500: 333 parts.
    assert!(fastest[0].ends_with(". This changes 325 more times after that."), "{fastest:?}");
}

#[test]
fn odd_figures_give_no_nonsense() {
    let mut rows = Vec::new();
    for (threads, mega) in [(1, 1e294), (2, 0.0), (4, 1e-300), (8, -5.0)] {
        rows.extend(
            [rounds("w\nx", "<script>", threads, &[mega; 4]), rounds("w\nx", "std", threads, &[0.0; 4])].concat(),
        );
    }
    for answer in findings(&[source("a.csv", rows.clone()), source("b.csv", rows)], &Catalogue::new(&[], &[], &["std"]))
    {
        for sentence in &answer.sentences {
            assert!(!sentence.contains('\n') && sentence.len() < 1000, "{sentence}");
            assert!(!sentence.contains("NaN") && !sentence.contains("inf"), "{sentence}");
        }
    }
    assert!(findings(&[], &Catalogue::default()).is_empty());
}

#[test]
fn a_file_without_a_row_has_a_page_that_says_so() {
    let sources = [source("measured", Vec::new()), source("simulated", rounds("w", "std", 2, &[1.0; 2]))];
    assert_eq!(said(&sources, "How far")[0], "measured: None: no round counts.");
    assert_eq!(said(&sources[..1], "How far"), ["None: no round counts."]);
    for sources in [&sources[..], &sources[..1]] {
        let document = crate::document::Document::new(sources, &Catalogue::default());
        assert!(crate::html::page(&document).contains("no round counts"));
    }
}

#[test]
fn the_title_names_what_was_run_and_where() {
    let title_of = |sources: &[Source]| {
        let title = title(sources, &Catalogue::default());
        assert!(title.split_whitespace().count() <= 8, "{title}");
        [title, subject(sources, &Catalogue::default())]
    };
    let run = |workload: &str, lock: &str| rounds(workload, lock, 2, &[10.0]);
    assert_eq!(title_of(&[source("a.csv", run("w", "std"))]), ["std: w", "std: w on toy-4c"]);
    let phases = [run("spike/before", "std"), run("spike/during", "std"), run("w", "x")].concat();
    assert_eq!(title_of(&[source("a.csv", phases)]), ["std, x: spike and 1 more", "std and x: spike and w on toy-4c"]);
    let mut rows: Vec<Row> = (0..6).flat_map(|n| run(&format!("w{n}"), &format!("x{n}"))).collect();
    rows.extend(rounds("w3", "x0", 4, &[10.0]));
    let other = run("w0", "x1").into_iter().map(|row| Row { machine: "a\nb".into(), ..row }).collect();
    assert_eq!(
        title_of(&[source("a.csv", rows), source("b.csv", other)]),
        [
            "2 files, 6 locks: w0 and 5 more",
            "x0, x1, x2, x3 and 2 more: w0 and 5 more workloads on toy-4c and a b (2 files)"
        ]
    );
    let simulated = run("w", "std").into_iter().map(|row| Row { platform: "sim".into(), ..row }).collect();
    assert_eq!(title_of(&[source("a.csv", simulated)])[0], "std: w, simulated");
}

#[test]
fn an_origin_without_a_fingerprint_says_so() {
    let mut odd = source("a.csv", rounds("w", "std", 2, &[10.0; 3]));
    odd.notes.push("unknown column \"mood\"".into());
    odd.results.warnings.push("other programs\nused 0.3 CPUs".into());
    odd.results.rows[1].seconds = 0.2;
    odd.results.rows[2].seconds = f64::NAN;
    let origin_of = |source: &Source| {
        let origin = origin(source);
        let facts: Vec<String> = origin.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        (facts, origin.command, origin.warnings)
    };
    let (facts, command, warnings) = origin_of(&odd);
    assert_eq!(
        facts,
        [
            "Machine: toy-4c",
            "Fingerprint: none came with the file: processor, kernel and load are unknown",
            "Rounds: 3",
            "Rows: 3",
            "Seconds per measurement: 0.1 to 0.2",
        ]
    );
    assert_eq!((command.as_str(), warnings), ("", vec!["other programs used 0.3 CPUs".into(), odd.notes[0].clone()]));
    odd.results.rows[0].platform = "sim".into();
    assert_eq!(origin_of(&odd).0[2], "Platform: hardware and sim");
}

#[test]
fn an_origin_has_what_its_fingerprint_knows() {
    let machine = Fingerprint { machine: "toy-4c".into(), cpus_online: 4, cores: Some(2), ..Fingerprint::default() };
    let mut known = source("a.csv", rounds("w", "std", 2, &[10.0]));
    known.results.fingerprint = Some(Fingerprint { kernel: "6.0".into(), os: "linux".into(), ..machine });
    known.results.command = "ondeck bench --lock std".into();
    let origin = origin(&known);
    let fact = |name: &str| origin.facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1.as_str());
    let names = ["Machine", "CPUs online", "Cores", "Virtual machine", "System", "Seconds per measurement"];
    assert_eq!(names.map(fact), ["toy-4c", "4", "2", "no", "linux 6.0", "0.1"].map(Some));
    assert_eq!(["CPUs usable", "SMT", "Governor", "NUMA nodes", "Fingerprint"].map(fact), [None; 5]);
    assert_eq!(origin.command, "ondeck bench --lock std");
}

fn verdict_of(rows: Vec<Row>) -> Option<String> {
    verdict(&[source("a.csv", rows)], &Catalogue::new(&[], &[], &["std", "pthread"]))
}

#[test]
fn the_verdict_is_of_the_most_threads() {
    let at = |lock: &str, threads, mega: f64| rounds("w", lock, threads, &[mega, mega * 1.01]);
    let rows = [at("std", 1, 9.0), at("ondeck", 1, 10.0), at("std", 8, 2.0), at("ondeck", 8, 10.0)];
    let expected = "With 8 threads (w), ondeck is fastest: 5.00 times the throughput of the next, std.";
    assert_eq!(verdict_of(rows.concat()).unwrap(), expected);
    // Where the flagship is neither the first nor the second, it is named too.
    let rows = [at("std", 8, 10.0), at("x", 8, 8.0), at("ondeck", 8, 4.0)].concat();
    let expected = "With 8 threads (w), std is fastest: 1.25 times the throughput of the next, x; ondeck has 0.40 times that \
                    of std.";
    assert_eq!(verdict_of(rows).unwrap(), expected);
}

#[test]
fn the_verdict_says_what_rounds_cannot_tell() {
    let at = |lock: &str, mega: &[f64]| rounds("w", lock, 8, mega);
    let level = [at("std", &[10.0, 9.0]), at("ondeck", &[9.0, 10.0])].concat();
    assert_eq!(verdict_of(level.clone()).unwrap(), "With 8 threads (w), ondeck and std are level.");
    let third = [level, at("x", &[1.0, 1.0])].concat();
    let said = verdict_of(third).unwrap();
    assert!(
        said.starts_with("With 8 threads (w), ondeck and std are level; ") && said.ends_with("throughput of x."),
        "{said}"
    );
    let one = [at("std", &[10.0]), at("ondeck", &[5.0])].concat();
    assert!(verdict_of(one).unwrap().contains("std is fastest in the only round: 2.00 times"));
    let tie = [at("std", &[10.0]), at("ondeck", &[10.0])].concat();
    assert_eq!(verdict_of(tie).unwrap(), "With 8 threads (w), ondeck and std are level.");
}

#[test]
fn the_verdict_of_one_lock_is_what_it_keeps() {
    let rows = [rounds("w", "std", 1, &[10.0; 2]), rounds("w", "std", 4, &[5.0; 2])].concat();
    assert_eq!(verdict_of(rows).unwrap(), "With 4 threads (w), std does 0.50 times what one thread does.");
    assert_eq!(verdict_of(rounds("w", "std", 1, &[10.0; 2])), None);
    assert_eq!(verdict(&[], &Catalogue::default()), None);
}

/// The verdict is of the workload whose chart is the first; of several that have none, it would be an arbitrary one.
#[test]
fn the_verdict_is_of_the_first_chart() {
    let at = |workload: &str, threads: &[u32], mega: f64| {
        let of =
            |threads: &u32| [rounds(workload, "std", *threads, &[1.0; 2]), rounds(workload, "x", *threads, &[mega; 2])];
        threads.iter().flat_map(of).flatten().collect::<Vec<Row>>()
    };
    let two = [at("v", &[4], 9.0), at("w", &[1, 8], 2.0)].concat();
    assert!(verdict_of(two).unwrap().starts_with("With 8 threads (w), x is fastest: 2.00 times"));
    assert_eq!(verdict_of([at("v", &[4], 9.0), at("w", &[8], 2.0)].concat()), None);
    let spike = ["before", "during", "after"].map(|phase| at(&format!("spike/{phase}"), &[2], 9.0));
    assert_eq!(verdict_of(spike.concat()), None);
}
