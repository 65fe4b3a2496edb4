//! Servers under load from programs that keep glibc's locks: only the server is measured.

use super::Sample;
use super::ground::{Ground, Run};
use super::preload::Variant;
use super::process::Process;
use super::responses::Times;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Lines that each sender gives to rsyslog.
const LINES: u32 = 150_000;
const SENDERS: u32 = 4;
/// How much rsyslog keeps back before it writes to its file, in bytes.
const BUFFER: usize = 65536;

/// The client of MariaDB, which asks for one row at a time.
const POINT_SELECTS: &str = "sysbench oltp_point_select --mysql-user=root --mysql-db=bench --mysql-socket=socket --tables=1 \
                             --table-size=10000 --db-ps-mode=disable";

/// A port that nobody listens at. Somebody may come between this look and the server's; then the server says so.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("127.0.0.1: {error}"))
}

/// The query cache's one mutex is what is hot here. Threads are kept, and with them their counts of switches.
fn mariadbd(ground: &Ground, variant: &Variant) -> Result<Process, String> {
    let place = ground.place.display();
    let server = ground.start(
        variant,
        &format!(
            "mariadbd --no-defaults --user=root --skip-grant-tables --skip-networking --max-connections=200 \
             --query-cache-type=1 --query-cache-size=16M --thread-cache-size=100 --innodb-log-file-size=4M \
             --innodb-buffer-pool-size=64M --datadir={place}/data --socket={place}/socket --pid-file={place}/pid"
        ),
    )?;
    server.until(|| UnixStream::connect(ground.file("socket")).is_ok())?;
    Ok(server)
}

/// A database without any account: the server makes its own files where it finds a directory.
pub(super) fn prepare_mariadb(ground: &Ground) -> Result<(), String> {
    for name in ["data/mysql", "data/bench"] {
        fs::create_dir_all(ground.file(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    let server = mariadbd(ground, &Variant::plain())?;
    ground.plain(&format!("{POINT_SELECTS} prepare"))?;
    server.stop()
}

pub(super) fn mariadb(run: &Run) -> Result<Sample, String> {
    let Run { ground, setting, .. } = run;
    let server = mariadbd(ground, run.variant)?;
    // Other programs, one for each CPU.
    let n_burners = if setting.is_busy { std::thread::available_parallelism().map_or(1, usize::from) } else { 0 };
    let burner = |_| ground.start(&Variant::plain(), "awk BEGIN{while(1);}");
    let burners = (0..n_burners).map(burner).collect::<Result<Vec<_>, _>>()?;
    let before = server.usage()?;
    let words = format!("--threads={} --time={} --histogram=on", setting.threads, ground.either(3, 1));
    let ended = ground.plain(&format!("{POINT_SELECTS} {words} run"))?;
    let usage = server.usage()?.since(before);
    drop(burners);
    let times = ground.has_times.then(|| histogram(&ended.text)).transpose()?;
    let of = |name| ended.number(name);
    let (ops, errors) = (of("queries:   ")?, of("ignored errors:")? + of("reconnects:")?);
    if let Some(line) = server.errors().lines().find(|line| line.contains("[ERROR]")) {
        return Err(format!("the server complains: {line}"));
    }
    server.stop()?;
    if errors != 0.0 || ops == 0.0 {
        return Err(format!("{errors} errors in {ops} queries"));
    }
    Ok(Sample { times, ..Sample::new(of("total time:")?, ops, usage) })
}

/// The times that sysbench prints, a line for each: milliseconds, a bar, and how many queries.
fn histogram(text: &str) -> Result<Times, String> {
    let count = |line: &str| {
        let (time, rest) = line.split_once('|')?;
        Some((time.trim().parse::<f64>().ok()? * 1e3, rest.split_whitespace().last()?.parse().ok()?))
    };
    Times::of_counts(text.lines().filter_map(count).collect()).ok_or(format!("no histogram in: {text}"))
}

/// Under another user's name it would be nobody's child: the kernel forgets to end it with us.
pub(super) fn memcached(run: &Run) -> Result<Sample, String> {
    let (ground, port) = (run.ground, free_port()?);
    let server =
        run.start(&format!("memcached -l 127.0.0.1 -p {port} -U 0 -m 64 -u root -t {}", run.setting.threads))?;
    server.until(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let before = server.usage()?;
    let time = ground.either("2s", "1s");
    let ended = ground.plain(&format!("memcaslap -s 127.0.0.1:{port} -T 2 -c 32 -v 0.1 -t {time}"))?;
    let usage = server.usage()?.since(before);
    let times = ground.has_times.then(|| readers(port)).transpose()?;
    server.stop()?;
    let of = |name| ended.number(name);
    let (ops, wrong) = (of(" Ops:")?, of("get_misses:")? + of("verify_misses:")? + of("verify_failed:")?);
    if wrong != 0.0 || ops == 0.0 {
        return Err(format!("{wrong} of {ops} answers are missing or wrong"));
    }
    Ok(Sample { times, ..Sample::new(ops / of(" TPS:")?, ops, usage) })
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

/// What stands before the message in a line, and is not written.
const HEAD: &str = "<13>Nov 22 10:00:00 host tag:";

/// What one sender sends.
fn lines(sender: u32, n_lines: u32) -> String {
    (0..n_lines).map(|line| format!("{HEAD} {sender} {line}\n")).collect()
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

pub(super) fn rsyslog(run: &Run) -> Result<Sample, String> {
    let (ground, port, file) = (run.ground, free_port()?, run.ground.file("lines"));
    let _ = fs::remove_file(&file);
    ground.write("rsyslog.conf", &rsyslog_conf(ground, port, run.setting.threads))?;
    let server = run.start(&format!("rsyslogd -n -f {0}/rsyslog.conf -i {0}/pid", ground.place.display()))?;
    server.until(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let n_lines = ground.either(LINES, LINES / 10);
    let sent: Vec<String> = (0..SENDERS).map(|sender| lines(sender, n_lines)).collect();
    let n_bytes: usize = sent.iter().map(|text| text.len() - n_lines as usize * HEAD.len()).sum();
    let (before, start) = (server.usage()?, Instant::now());
    send_all(port, &sent)?;
    let mut seen = 0;
    server.until(|| {
        seen = fs::metadata(&file).map_or(0, |metadata| metadata.len() as usize);
        seen >= n_bytes.saturating_sub(BUFFER)
    })?;
    let (usage, seconds) = (server.usage()?.since(before), start.elapsed().as_secs_f64());
    server.stop()?;
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    compare_lines(&text, &sent)?;
    let ops = f64::from(n_lines * SENDERS) * seen as f64 / n_bytes as f64;
    Ok(Sample::new(seconds, ops, usage))
}

/// Whether the message of every line is there once; their order is free, as many threads have written them.
fn compare_lines(text: &str, sent: &[String]) -> Result<(), String> {
    let mut seen: Vec<&str> = text.lines().collect();
    let mut wanted: Vec<&str> = sent.iter().flat_map(|text| text.lines()).map(|line| &line[HEAD.len()..]).collect();
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
        let sent = [lines(0, 2), lines(1, 1)];
        assert_eq!(compare_lines(" 1 0\n 0 1\n 0 0\n", &sent), Ok(()));
        let fault = compare_lines(" 1 0\n 0 1\n 0 1\n", &sent).unwrap_err();
        assert_eq!(fault, "3 lines of 3 are written; ` 0 1` where ` 0 0` is due");
        assert!(sent[1].ends_with("tag: 1 0\n"));
    }

    #[test]
    fn times_of_sysbench_are_read() {
        let text = "       value  -------- distribution -------- count\n       0.056 |**               990\n       1.210 |  10\n";
        assert_eq!(histogram(text).map(|times| (times.p50, times.p999)), Ok((56.0, 1210.0)));
        assert!(histogram("queries: 3").unwrap_err().starts_with("no histogram"));
    }
}
