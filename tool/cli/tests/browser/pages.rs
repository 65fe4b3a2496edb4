//! The pages that are tested, each made once by the real program.

use ondeck_lab::results::document::Document;
use ondeck_lab::results::inputs::Inputs;
use ondeck_lab::results::output::{Results, fingerprint_path, read};
use ondeck_lab::results::row::Row;
use ondeck_profile::{Lock, Profile, Site};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// A page, how long it took to write, and what it has to show; `None` of a profile.
pub(crate) struct Page {
    pub(crate) file: PathBuf,
    pub(crate) took: Duration,
    pub(crate) document: Option<Document>,
}

/// Two files of one machine that does not exist, before and after a change.
pub(crate) static TOY: LazyLock<Page> = LazyLock::new(|| {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/report/testdata");
    report("toy", &[data.join("toy-before.csv"), data.join("toy-after.csv")])
});

/// What was measured on a real machine: every lock, waits, and a spike.
pub(crate) static REAL: LazyLock<Page> = LazyLock::new(|| {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/epyc-2c-vm");
    report("real", &["contention.csv", "waits.csv", "spike.csv", "handoff.csv"].map(|name| results.join(name)))
});

/// A simulated run, beside what was measured.
pub(crate) static TRACED: LazyLock<Page> = LazyLock::new(|| {
    let trace = scratch("traced").join("trace.json");
    let run =
        ["sim", "--machine", "i7-13700h", "--workload", "mutex-contention", "--lock", "ondeck", "--threads", "12"];
    let mut program = Command::new(env!("CARGO_BIN_EXE_ondeck"));
    let output = program.args(run).args(["--seconds", "0.001", "--trace"]).arg(&trace).output().expect("it was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/report/testdata/toy-before.csv");
    report("traced", &[results, trace])
});

/// A foreign file in which every text would do harm, were it taken for anything but text.
pub(crate) static HOSTILE: LazyLock<Page> = LazyLock::new(|| {
    let directory = scratch("hostile");
    let file = directory.join("\"><img src=x onerror=window.hacked=1>.csv");
    write(&file, &hostile_rows());
    let rows = read(&file).expect("it is a result file").0.rows;
    write(&fingerprint_path(&file), &hostile_origin(rows).fingerprint_text());
    report("hostile", &[file])
});

/// More than anybody measures in a week.
pub(crate) static LARGE: LazyLock<Page> = LazyLock::new(|| {
    let file = scratch("large").join("large.csv");
    write(&file, &large_rows());
    report("large", &[file])
});

/// A profile of a program that does not exist.
pub(crate) static PROFILE: LazyLock<Page> = LazyLock::new(|| report("profile", &[profile_file()]));

/// The same with names that would do harm.
pub(crate) static HOSTILE_PROFILE: LazyLock<Page> = LazyLock::new(|| {
    let file = scratch("hostile-profile").join("profile.json");
    write(&file, &serde_json::to_string(&hostile_profile()).expect("it has a JSON form"));
    report("hostile-profile", &[file])
});

/// A thousand locks and twenty thousand stacks.
pub(crate) static LARGE_PROFILE: LazyLock<Page> = LazyLock::new(|| {
    let file = scratch("large-profile").join("profile.json");
    write(&file, &serde_json::to_string(&large_profile()).expect("it has a JSON form"));
    report("large-profile", &[file])
});

/// What the tests of ondeck-profile keep for us.
pub(crate) fn profile_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../profile/testdata/server.json")
}

fn sample_profile() -> Profile {
    let text = std::fs::read_to_string(profile_file()).expect("it is there");
    ondeck_profile::json::from_json(&text).expect("it is a profile")
}

pub(crate) fn hostile_profile() -> Profile {
    let mut profile = sample_profile();
    let mut names = hostile_locks();
    names.extend([HOSTILE_WORKLOAD.to_owned(), "</title>".to_owned(), "x".repeat(4000)]);
    let mut names = names.iter().cycle().cloned();
    let mut next = || names.next().expect("it never ends");
    profile.command.iter_mut().for_each(|word| *word = next());
    profile.processes.iter_mut().for_each(|process| process.program = next());
    profile.notes = (0..14).map(|_| next()).collect();
    profile.lock = next();
    for frame in &mut profile.frames {
        (frame.function, frame.module, frame.file) = (next(), next(), next());
    }
    // Each lock is waited for, so that each has a section.
    let first = profile.locks[0].clone();
    for (index, lock) in profile.locks.iter_mut().enumerate() {
        *lock = Lock { name: next(), address: index as u64, ..first.clone() };
    }
    profile.conditions.iter_mut().for_each(|condition| condition.name = next());
    profile
}

fn large_profile() -> Profile {
    let mut profile = sample_profile();
    let template = profile.locks[0].clone();
    let n_frames = profile.frames.len() as u32;
    profile.locks.clear();
    for index in 0..1000_u32 {
        let part = 1.0 / f64::from(1 + index);
        let mut lock = Lock { name: format!("pool[{index}]"), address: index.into(), ..template.clone() };
        (lock.waits, lock.wait_ns, lock.handing_on_ns) = (lock.waits * part, lock.wait_ns * part, 0.0);
        for (side, sites) in [&mut lock.waiters, &mut lock.holders].into_iter().enumerate() {
            let first = profile.stacks.len() as u32;
            let seed = index * 7 + side as u32;
            let stack = |n: u32| (0..25).map(|level| (seed + n * (25 - level) + level * 3) % n_frames).collect();
            profile.stacks.extend((0..10).map(stack));
            let site = |stack| Site { stack, count: lock.waits / 10.0, ns: lock.wait_ns / 10.0 };
            *sites = (first..first + 10).map(site).collect();
        }
        profile.locks.push(lock);
    }
    profile
}

/// What would harm as a name of a lock: script, markup, length, direction of writing, and signs beyond the first plane.
pub(crate) fn hostile_locks() -> Vec<String> {
    let long = "long".repeat(125);
    let locks = [
        "<script>window.hacked=1</script>",
        "\"><img src=x onerror=window.hacked=1>",
        "</script><script>window.hacked=1</script>",
        "<!--<script>",
        "'+alert(1)+'${window.hacked=1}{{1}}",
        "a|b{c|d}\\n%s&lt;b&gt;",
        "\u{202e}\u{5de}\u{5e0}\u{5e2}\u{5d5}\u{5dc} \u{627}\u{644}\u{642}\u{641}\u{644}",
        "\u{1f512}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        &long,
        "__proto__",
        "constructor",
    ];
    locks.map(str::to_owned).to_vec()
}

/// A workload with the same intentions as the locks.
pub(crate) const HOSTILE_WORKLOAD: &str = "</title><svg onload=window.hacked=1> & <b>bold</b>";

const HEADER: &str = "platform,machine,workload,lock,threads,round,seconds,ops,ops_per_s,ns_per_op,cpus,ctx_switches_per_s,\
                      jain,min_share,wait_p50_ns,wait_p99_ns,wait_p999_ns,wait_max_ns,streak_p90_ns,starve_p90_ns,starve_max_ns";

/// Locks in two workloads, with all figures, and with columns that nobody knows.
fn hostile_rows() -> String {
    let mut rows = format!("{HEADER},\"<b>colour</b>\",\"{}\"\n", "x".repeat(500));
    let long = format!("mutex-{}", "contention ".repeat(45));
    for workload in ["mutex-contention", HOSTILE_WORKLOAD, &long] {
        for (index, lock) in hostile_locks().iter().enumerate() {
            for (threads, round) in [1, 4, 64].into_iter().flat_map(|threads| [0, 1, 2].map(|round| (threads, round))) {
                let ops_per_s = 1e7 / f64::from(threads) * (1.0 + index as f64) + f64::from(round) * 1e4;
                let (workload, lock) = (quoted(workload), quoted(lock));
                let _ = writeln!(
                    rows,
                    "hardware,<i>machine</i>,{workload},{lock},{threads},{round},0.15,1000,{ops_per_s},{},1.5,2000,0.9,0.5,\
                     50,60,70,80,90,100,110,<u>red</u>,1",
                    1e9 / ops_per_s
                );
            }
        }
    }
    rows
}

/// The rows, with what stands beside them.
fn hostile_origin(rows: Vec<Row>) -> Results {
    let nasty = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>";
    let mut origin: serde_json::Value = serde_json::from_str(include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../lab/report/testdata/toy-before.csv.fingerprint.json"
    )))
    .expect("the test data is JSON");
    for fact in ["machine", "cpu", "kernel", "governor", "date"] {
        origin["fingerprint"][fact] = format!("{fact} {nasty}").into();
    }
    Results {
        fingerprint: serde_json::from_value(origin["fingerprint"].take()).expect("it is a fingerprint"),
        command: format!("ondeck bench --lock '{nasty}' {}", "x".repeat(500)),
        warnings: vec![nasty.to_owned(), "w".repeat(500)],
        rows,
    }
}

/// 8 workloads, 25 locks, 10 thread counts and 50 rounds.
fn large_rows() -> String {
    let mut rows = format!("{HEADER}\n");
    for index in 0..100_000_u32 {
        let (round, rest) = (index % 50, index / 50);
        let (power, rest) = (rest % 10, rest / 10);
        let (lock, workload) = (rest % 25, rest / 25);
        let threads = 1 << power;
        let ops_per_s =
            f64::from(2_000_000 + 40_000 * lock + 1000 * (round * 7919 % 50)) / (1.0 + 0.2 * f64::from(power));
        let wait_ns = 1e9 * f64::from(threads) / ops_per_s;
        let _ = writeln!(
            rows,
            "hardware,made-up,work-{workload},lock-{lock},{threads},{round},0.15,300000,{ops_per_s:.1},{:.3},1.9,5000.0,0.95,0.8,\
             {wait_ns:.1},{:.1},{:.1},{:.1},900.0,2000.0,90000.0",
            1e9 / ops_per_s,
            2.0 * wait_ns,
            5.0 * wait_ns,
            9.0 * wait_ns
        );
    }
    rows
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Runs `ondeck report`, which must succeed within the memory that the program promises to need at most.
fn report(name: &str, files: &[PathBuf]) -> Page {
    let file = scratch(name).join("page.html");
    let began = Instant::now();
    // 1 GB, counted in addresses, as `ulimit` can: more than what is in use.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 1000000; exec \"$0\" report \"$@\"", env!("CARGO_BIN_EXE_ondeck")]);
    let output = shell.args(files).arg("-o").arg(&file).stdin(Stdio::null()).output().expect("there is a shell");
    let took = began.elapsed();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let document = |Inputs { sources, traces }| Document::new(&sources, &traces, &ondeck_lab::catalogue());
    Page { file, took, document: Inputs::read(files).ok().map(document) }
}

/// The picture of a profile, in a file of its own.
pub(crate) fn flame_graph(name: &str, profile: &Path) -> PathBuf {
    let directory = scratch(name);
    let mut program = Command::new(env!("CARGO_BIN_EXE_ondeck"));
    let output = program.arg("report").arg(profile).arg("--svg").arg(&directory).output().expect("it was built");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    directory.join("flame-graph.svg")
}

/// A page of a test's own, whole.
pub(crate) fn written(name: &str, html: &str) -> PathBuf {
    let file = scratch(name).join("page.html");
    write(&file, html);
    file
}

/// A directory below `target/`, where what a failed test has seen can be looked at.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser").join(name);
    std::fs::create_dir_all(&directory).expect("cargo's directory for tests can be written");
    directory
}

fn write(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
