//! Servers under load from programs that keep glibc's locks: only the server is measured.

use super::batch::number;
use super::preload::Variant;
use super::process::{Ended, Process, Usage, run_plain};
use super::responses::Times;
use super::table::Setting;
use super::{Ground, Sample, needs};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a server may take until it answers.
const STARTING: Duration = Duration::from_secs(40);
/// Lines that each sender gives to rsyslog.
const LINES: u32 = 150_000;
const SENDERS: u32 = 4;
/// How much rsyslog keeps back before it writes to its file, in bytes.
const BUFFER: usize = 65536;

/// Other programs, as far as a server can tell: one for each CPU, until this is dropped.
struct Burners(Arc<AtomicBool>, Vec<JoinHandle<()>>);

impl Burners {
    fn start() -> Burners {
        let stop = Arc::new(AtomicBool::new(false));
        let n_cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let burner = |_| {
            let stop = stop.clone();
            std::thread::spawn(move || while !stop.load(Ordering::Relaxed) {})
        };
        let threads = (0..n_cpus).map(burner).collect();
        Burners(stop, threads)
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        for thread in self.1.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Waits until somebody can connect.
fn await_answer(server: &Process, connects: impl Fn() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !connects() {
        server.must_run()?;
        if start.elapsed() > STARTING {
            return Err(format!("nobody answers after {} s: {}", STARTING.as_secs(), server.errors()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// A port that nobody listens at. Somebody may come between this look and the server's; then the server says so.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("127.0.0.1: {error}"))
}

fn mariadbd(ground: &Ground, variant: &Variant) -> Result<Process, String> {
    let (data, socket) = (ground.file("data"), ground.file("socket"));
    let mut command = needs::command("mariadbd");
    command.args(["--no-defaults", "--user=root", "--skip-grant-tables", "--skip-networking", "--max-connections=200"]);
    // The query cache's one mutex is what is hot here. Threads are kept, and with them their counts of switches.
    command.args(["--query-cache-type=1", "--query-cache-size=16M", "--thread-cache-size=100"]);
    command.args(["--innodb-log-file-size=4M", "--innodb-buffer-pool-size=64M"]);
    command.args([format!("--datadir={}", data.display()), format!("--socket={}", socket.display())]);
    command.arg(format!("--pid-file={}", ground.file("pid").display()));
    let server = Process::start(&mut command, variant, &ground.file("mariadbd.out"))?;
    await_answer(&server, || UnixStream::connect(&socket).is_ok())?;
    Ok(server)
}

/// The client, which asks for one row at a time.
fn point_selects(ground: &Ground, words: &[String]) -> Result<Ended, String> {
    let mut command = needs::command("sysbench");
    command.args(["oltp_point_select", "--mysql-user=root", "--mysql-db=bench", "--tables=1", "--table-size=10000"]);
    command.arg("--db-ps-mode=disable").arg(format!("--mysql-socket={}", ground.file("socket").display())).args(words);
    run_plain(&mut command, &ground.file("sysbench.out"), ground.limit())
}

/// A database without any account: the server makes its own files where it finds a directory.
pub(super) fn prepare_mariadb(ground: &Ground) -> Result<(), String> {
    for name in ["data/mysql", "data/bench"] {
        fs::create_dir_all(ground.file(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    let server = mariadbd(ground, &Variant::plain())?;
    point_selects(ground, &["prepare".to_owned()])?;
    server.stop()
}

pub(super) fn mariadb(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let server = mariadbd(ground, variant)?;
    let burners = setting.is_busy.then(Burners::start);
    let before = server.usage()?;
    let time = format!("--time={}", ground.either(3, 1));
    let words = [format!("--threads={}", setting.threads), time, "--histogram=on".to_owned(), "run".to_owned()];
    let ended = point_selects(ground, &words)?;
    let usage = server.usage()?.since(before);
    drop(burners);
    let of = |name| number(&ended.text, name);
    let times = ground.has_times.then(|| histogram(&ended.text)).transpose()?;
    let (ops, errors) = (of("queries:   ")?, of("ignored errors:")? + of("reconnects:")?);
    let log = server.errors();
    let complaint = log.lines().find(|line| line.contains("[ERROR]"));
    if let Some(line) = complaint {
        return Err(format!("the server complains: {line}"));
    }
    server.stop()?;
    if errors != 0.0 || ops == 0.0 {
        return Err(format!("{errors} errors in {ops} queries"));
    }
    Ok(Sample { seconds: of("total time:")?, ops, usage, result: String::new(), times })
}

/// The times that sysbench prints, a line for each: milliseconds, a bar, and how many queries.
fn histogram(text: &str) -> Result<Times, String> {
    let count = |line: &str| {
        let (time, rest) = line.split_once('|')?;
        Some((time.trim().parse::<f64>().ok()? * 1e3, rest.split_whitespace().last()?.parse().ok()?))
    };
    Times::of_counts(text.lines().filter_map(count).collect()).ok_or(format!("no histogram in: {text}"))
}

pub(super) fn memcached(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let port = free_port()?;
    let mut command = needs::command("memcached");
    // Under another name it would be nobody's child: the kernel forgets to end it with us.
    command.args(["-l", "127.0.0.1", "-U", "0", "-m", "64", "-u", "root", "-t", &setting.threads.to_string()]);
    let server = Process::start(command.args(["-p", &port.to_string()]), variant, &ground.file("memcached.out"))?;
    await_answer(&server, || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let before = server.usage()?;
    let mut load = needs::command("memcaslap");
    load.args(["-s", &format!("127.0.0.1:{port}"), "-T", "2", "-c", "32", "-v", "0.1"]);
    load.args(["-t", ground.either("2s", "1s")]);
    let ended = run_plain(&mut load, &ground.file("memcaslap.out"), ground.limit())?;
    let usage = server.usage()?.since(before);
    let times = ground.has_times.then(|| readers(port)).transpose()?;
    server.stop()?;
    let of = |name| number(&ended.text, name);
    let wrong = of("get_misses:")? + of("verify_misses:")? + of("verify_failed:")?;
    let ops = of(" Ops:")?;
    if wrong != 0.0 || ops == 0.0 {
        return Err(format!("{wrong} of {ops} answers are missing or wrong"));
    }
    Ok(Sample { seconds: ops / of(" TPS:")?, ops, usage, result: String::new(), times })
}

/// Clients that read one value again and again, as memcaslap tells times only by powers of two.
fn readers(port: u16) -> Result<Times, String> {
    const READERS: usize = 32;
    const SECONDS: Duration = Duration::from_secs(3);
    let failed = |error: std::io::Error| format!("a reader: {error}");
    ask(&mut connected(port).map_err(failed)?, b"set key 0 0 5\r\nvalue\r\n", b"STORED\r\n").map_err(failed)?;
    let reader = || -> std::io::Result<Vec<(f64, u64)>> {
        let (mut stream, mut times, start) = (connected(port)?, Vec::new(), Instant::now());
        while start.elapsed() < SECONDS {
            let asked = Instant::now();
            ask(&mut stream, b"get key\r\n", b"VALUE key 0 5\r\nvalue\r\nEND\r\n")?;
            times.push((asked.elapsed().as_secs_f64() * 1e6, 1));
        }
        Ok(times)
    };
    let times = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(reader)).collect();
        let times = readers.into_iter().map(|reader| reader.join().map_err(|_| "a reader panicked")?.map_err(failed));
        times.collect::<Result<Vec<_>, String>>()
    })?;
    Times::of_counts(times.concat()).ok_or_else(|| "nobody has read anything".to_owned())
}

fn connected(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn ask(stream: &mut TcpStream, question: &[u8], answer: &[u8]) -> std::io::Result<()> {
    let mut given = vec![0; answer.len()];
    stream.write_all(question)?;
    stream.read_exact(&mut given)?;
    let is_right = given == answer;
    is_right.then_some(()).ok_or_else(|| std::io::Error::other(String::from_utf8_lossy(&given).into_owned()))
}

/// What rsyslog shall do: take lines from a socket, put each through the queue by itself, and write them to a file.
fn rsyslog_conf(ground: &Ground, port: u16, workers: u32) -> String {
    let (place, out) = (ground.place.display(), ground.file("lines").display().to_string());
    format!(
        "global(workDirectory=\"{place}\" net.enableDNS=\"off\" processInternalMessages=\"off\")\n\
         module(load=\"imptcp\" threads=\"2\")\n\
         main_queue(queue.type=\"FixedArray\" queue.size=\"100000\" queue.workerThreads=\"{workers}\"\n\
         queue.workerThreadMinimumMessages=\"1\" queue.dequeueBatchSize=\"1\"\n\
         queue.timeoutEnqueue=\"60000\" queue.timeoutShutdown=\"15000\")\n\
         template(name=\"message\" type=\"string\" string=\"%msg%\\n\")\n\
         input(type=\"imptcp\" address=\"127.0.0.1\" port=\"{port}\")\n\
         action(type=\"omfile\" file=\"{out}\" template=\"message\" asyncWriting=\"off\" flushOnTXEnd=\"off\"\n\
         ioBufferSize=\"{BUFFER}\")\n"
    )
}

/// What one sender sends, and what shall stand in the file for it.
fn messages(sender: u32, n_lines: u32) -> (String, String) {
    let (mut sent, mut written) = (String::new(), String::new());
    for line in 0..n_lines {
        let _ = writeln!(sent, "<13>Nov 22 10:00:00 host tag: {sender} {line}");
        let _ = writeln!(written, " {sender} {line}");
    }
    (sent, written)
}

fn send_all(port: u16, texts: &[String]) -> Result<(), String> {
    let send = |text: &String| -> Result<(), String> {
        let stream = TcpStream::connect(("127.0.0.1", port));
        let sent = stream.and_then(|mut stream| stream.write_all(text.as_bytes()));
        sent.map_err(|error| format!("a sender: {error}"))
    };
    std::thread::scope(|scope| {
        let senders: Vec<_> = texts.iter().map(|text| scope.spawn(move || send(text))).collect();
        senders.into_iter().try_for_each(|sender| sender.join().map_err(|_| "a sender panicked".to_owned())?)
    })
}

pub(super) fn rsyslog(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let (port, file) = (free_port()?, ground.file("lines"));
    let _ = fs::remove_file(&file);
    let conf = ground.file("rsyslog.conf");
    fs::write(&conf, rsyslog_conf(ground, port, setting.threads)).map_err(|error| format!("rsyslog.conf: {error}"))?;
    let mut command = needs::command("rsyslogd");
    command.args(["-n", "-f"]).arg(&conf).arg("-i").arg(ground.file("pid"));
    let server = Process::start(&mut command, variant, &ground.file("rsyslogd.out"))?;
    await_answer(&server, || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let n_lines = ground.either(LINES, LINES / 10);
    let (sent, mut expected): (Vec<String>, Vec<String>) = (0..SENDERS).map(|sender| messages(sender, n_lines)).unzip();
    let n_bytes: usize = expected.iter().map(String::len).sum();
    let (before, start) = (server.usage()?, Instant::now());
    send_all(port, &sent)?;
    let seen = await_bytes(&server, &file, n_bytes.saturating_sub(BUFFER), ground.limit())?;
    let (usage, seconds) = (server.usage()?.since(before), start.elapsed().as_secs_f64());
    server.stop()?;
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    compare_lines(&text, &mut expected)?;
    let n_all = f64::from(n_lines * SENDERS);
    Ok(rsyslog_sample(n_all * seen as f64 / n_bytes as f64, seconds, usage))
}

fn rsyslog_sample(ops: f64, seconds: f64, usage: Usage) -> Sample {
    Sample { seconds, ops, usage, result: "every line once".to_owned(), times: None }
}

/// Waits until the file is so long, and says how long it is then. Looks often, as that is when the clock stops.
fn await_bytes(server: &Process, file: &Path, n_bytes: usize, limit: Duration) -> Result<usize, String> {
    let start = Instant::now();
    loop {
        let seen = fs::metadata(file).map_or(0, |metadata| usize::try_from(metadata.len()).unwrap_or(usize::MAX));
        if seen >= n_bytes {
            return Ok(seen);
        }
        server.must_run()?;
        if start.elapsed() > limit {
            return Err(format!("after {} s {seen} of {n_bytes} bytes are written", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether every line is there once; their order is free, as many threads have written them.
fn compare_lines(text: &str, expected: &mut [String]) -> Result<(), String> {
    let mut seen: Vec<&str> = text.lines().collect();
    let mut wanted: Vec<&str> = expected.iter().flat_map(|text| text.lines()).collect();
    seen.sort_unstable();
    wanted.sort_unstable();
    if seen == wanted {
        return Ok(());
    }
    let first = seen.iter().zip(&wanted).find(|(seen, wanted)| seen != wanted);
    let first = first.map_or(String::new(), |(seen, wanted)| format!("; `{seen}` where `{wanted}` is due"));
    Err(format!("{} lines of {} are written{first}", seen.len(), wanted.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_without_their_order() {
        let mut expected = vec![messages(0, 2).1, messages(1, 1).1];
        assert_eq!(compare_lines(" 1 0\n 0 1\n 0 0\n", &mut expected), Ok(()));
        let fault = compare_lines(" 1 0\n 0 1\n 0 1\n", &mut expected).unwrap_err();
        assert_eq!(fault, "3 lines of 3 are written; ` 0 1` where ` 0 0` is due");
        assert!(messages(3, 1).0.ends_with("tag: 3 0\n"));
    }

    #[test]
    fn times_of_sysbench_are_read() {
        let text = "       value  -------- distribution -------- count\n       0.056 |**               990\n       1.210 |  10\n";
        assert_eq!(histogram(text).map(|times| (times.p50, times.p999)), Ok((56.0, 1210.0)));
        assert!(histogram("queries: 3").unwrap_err().starts_with("no histogram"));
    }

    #[test]
    fn burners_end() {
        drop(Burners::start());
    }
}
