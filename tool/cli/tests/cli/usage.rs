//! Every wrong command line ends with exit code 2 and one line that names the flag and what is accepted.

use crate::support::{self, Scratch, ondeck};

/// Runs the command; it must fail with 2, and its one line must have all the words.
#[track_caller]
pub(crate) fn refused(arguments: &[&str], words: &[&str]) {
    eprintln!("{arguments:?}");
    support::refused(&ondeck(arguments), 2, words);
}

#[test]
fn names() {
    refused(&["bench", "--lock", "pthred"], &["--lock", "did you mean 'pthread'?", "parking-lot"]);
    refused(&["bench", "--workload", "solo,sectoins"], &["--workload", "'sections'", "mutex-contention", "all"]);
    refused(&["bench", "--workload", "solo/cs1"], &["--workload"]);
    refused(&["bench", "--lock", "ondeck[best]"], &["--lock", "default", "low-latency", "rotate_ns"]);
    refused(&["bench", "--lock", "ondeck[low-latency+rotate=1]"], &["--lock", "'rotate=1'", "rotate_ns"]);
    refused(&["bench", "--lock", "ondeck[rotate_ns=soon]"], &["--lock", "rotate_ns=soon", "from 0 to"]);
    refused(&["bench", "--lock", "std,ondeck[rotate_ns=-1]"], &["--lock", "rotate_ns=-1", "from 0 to"]);
    refused(&["bench", "--lock", "ondekc[rotate_ns=1]"], &["--lock", "did you mean 'ondeck'?"]);
    refused(&["bench", "--lock", "coreclr-monitor-before[fast]"], &["--lock", "default, lower-spin, no-spin"]);
    refused(&["bench", "--lock", "std[rotate_ns=1]"], &["--lock", "std has no tunings", "ondeck"]);
    refused(&["bench", "--pin", "everywhere"], &["--pin", "none", "alternate"]);
    refused(&["bench", "--format", "xml"], &["--format", "table", "csv", "json"]);
}

#[test]
fn numbers() {
    for threads in ["0", "-1", "1000000000", "4097", "two", "1,,2", "", "4-2", "1..9999", "x", "2x-4"] {
        refused(&["bench", "--threads", threads], &["--threads", "from 1 to 2048"]);
    }
    for seconds in ["0", "-0.5", "nan", "inf", "1e30", "soon"] {
        refused(&["bench", "--seconds", seconds], &["--seconds", "0.001 to 3600"]);
    }
    for rounds in ["0", "-3", "many"] {
        refused(&["bench", "--rounds", rounds], &["--rounds", "from 1 to 10000"]);
    }
    refused(&["bench", "--cs", "-1"], &["--cs", "from 0"]);
    refused(&["bench", "--cs", "4000000000"], &["--cs", "from 0 to"]);
    refused(&["bench", "--out", "4000000000"], &["--out", "from 0 to"]);
    refused(&["bench", "--workload", "lock-bench/locks0"], &["0 locks", "1 to 1000000"]);
    refused(&["bench", "--workload", "pool/burst0"], &["pool/burst0", "1 to 10000 jobs"]);
    refused(&["bench", "--workload", "pool/gap0"], &["gap0", "1 to 100000 us"]);
    refused(&["bench", "--seed", "-1"], &["--seed", "from 0"]);
    refused(&["bench", "--load", "-1"], &["--load", "from 0 to 256"]);
    refused(&["bench", "--yield-after-us", "-1"], &["--yield-after-us", "from 0 to 1000000"]);
}

#[test]
fn combinations() {
    refused(&["bench", "--workload", "spike", "--threads", "1024"], &["--threads 1024", "spike", "1 to 960"]);
    refused(&["bench", "--workload", "solo", "--cs", "1"], &["--cs", "sections"]);
    refused(&["bench", "--workload", "solo/locks2"], &["solo/locks2", "lock-bench"]);
    refused(&["bench", "--workload", "solo", "--yield-after-us", "2"], &["--yield-after-us", "gc-wait"]);
    refused(
        &["bench", "--workload", "pool", "--lock", "std,mcs"],
        &["condition variable, and mcs has none", "ondeck, std"],
    );
    refused(&["sim", "--machine", "m1", "--workload", "pool"], &["pool", "real machines only", "ondeck bench"]);
    refused(&["bench", "--workload", "monitor-latency", "--threads", "1,2"], &["--threads 1", "2 to 1024"]);
    refused(&["bench", "--out", "1", "--out", "2"], &["--out", "twice"]);
    refused(&["bench", "--lock", "ondeck[no-spin]"], &["--lock", "no tuning 'no-spin'"]);
    refused(&["bench", "--out", "a.csv", "--out", "b.csv"], &["--out", "two files"]);
    refused(&["bench", "--lock", "std", "--workload", "sections/cs4000000000-out0"], &["sections", "at most"]);
}

#[test]
fn words() {
    refused(&["bnech"], &["bnech", "bench, sim, run, profile, try, top, list, calibrate, report, compare"]);
    refused(&["bench", "--thread", "2"], &["--thread", "--threads"]);
    refused(&["bench", "now"], &["now", "--help"]);
    refused(&["bench", "--rounds"], &["--rounds"]);
    refused(&["list"], &["locks|workloads|machines"]);
    refused(&["list", "planets"], &["planets", "locks", "workloads", "machines"]);
    refused(&["compare", "one.csv"], &["<NEW>"]);
    refused(&["try", "--rounds", "3"], &["an argument is missing: ondeck try [OPTIONS] -- PROGRAM"]);
}

#[test]
fn files_that_cannot_be_written_are_refused_before_anything_runs() {
    refused(&["bench", "--out", "/no/such/directory/a.csv"], &["--out", "/no/such/directory/a.csv", "No such file"]);
    refused(&["calibrate", "--out", "a.toml"], &["--out"]);
    let scratch = Scratch::new();
    let directory = scratch.path("");
    refused(&["bench", "--out", &directory], &["--out", "is a directory"]);
    // Measuring takes more than two seconds of computing, after which this one is killed.
    let limited = std::process::Command::new("sh")
        .args(["-c", "ulimit -t 2; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_ondeck")])
        .args(["bench", "--out", "/no/such/directory/a.csv"])
        .output();
    assert_eq!(limited.unwrap().status.code(), Some(2), "something was measured");
}

#[test]
fn files_that_cannot_be_compared() {
    let scratch = Scratch::new();
    let header = "platform,machine,workload,lock,threads,round,seconds,ops\n";
    let good = scratch.write("good.csv", &format!("{header}hardware,m,solo,std,1,0,0.1,5\n"));
    let cut = scratch.write("cut.csv", &format!("{header}hardware,m,solo,std,1,0,0.1,5\nhardware,m,so"));
    let foreign = scratch.write("foreign.csv", "name,age\nAda,36\n");
    let odd = scratch.write("odd.csv", &format!("{header}hardware,m,solo,std,few,0,0.1,5\n"));
    let empty = scratch.write("empty.json", "");
    let json = scratch.write("cut.json", "{\"rows\": [\n{\"platform\": \"hard");
    refused(&["compare", &good, "/no/such.csv"], &["/no/such.csv", "cannot be read"]);
    refused(&["compare", &good, &cut], &["cut.csv, line 3", "cut off"]);
    refused(&["compare", &foreign, &good], &["foreign.csv, line 1", "platform is missing", "ondeck bench"]);
    refused(&["compare", &odd, &good], &["odd.csv, line 2", "threads"]);
    refused(&["compare", &empty, &good], &["empty.json", "is empty"]);
    refused(&["compare", &json, &good], &["cut.json, line 2", "cut off"]);
    refused(&["compare", &scratch.path(""), &good], &["cannot be read"]);
    let other = scratch.write("other.csv", &format!("{header}hardware,n,handoff-fast,std,2,0,0.1,5\n"));
    let words =
        ["good.csv and other.csv have nothing in common", "solo, 1 thread, std", "handoff-fast, 2 threads, std"];
    refused(&["compare", &good, &other], &words);
}

#[test]
fn a_bare_ondeck_shows_help_and_fails() {
    assert_eq!([&["--version"][..], &[]].map(|words| ondeck(words).code), [Some(0), Some(2)]);
}
