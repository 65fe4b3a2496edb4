//! Servers under load from programs that keep glibc's locks: only the server is measured.

use super::place::Place;
use super::process::{Locks, Process};
use super::run::{Run, Sample};
use crate::files::ErrorContext;
use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// The setting in which other programs want every CPU meanwhile.
pub(super) const BUSY: &str = "64, CPUs busy";
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
    listener.map(|address| address.port()).at("127.0.0.1")
}

/// The query cache's one mutex is what is hot here. Threads are kept, and with them their counts of switches.
fn mariadbd(place: &Place, locks: &Locks) -> Result<Process, String> {
    let directory = place.directory.display();
    let server = place.start(
        locks,
        &format!(
            "mariadbd --no-defaults --user=root --skip-grant-tables --skip-networking --max-connections=200 \
             --query-cache-type=1 --query-cache-size=16M --thread-cache-size=100 --innodb-log-file-size=4M \
             --innodb-buffer-pool-size=64M --datadir={directory}/data --socket={directory}/socket --pid-file={directory}/pid"
        ),
    )?;
    server.until(|| UnixStream::connect(place.file("socket")).is_ok())?;
    Ok(server)
}

/// A database without any account: the server makes its own files where it finds a directory.
pub(super) fn prepare_mariadb(place: &Place) -> Result<(), String> {
    for name in ["data/mysql", "data/bench"] {
        fs::create_dir_all(place.file(name)).at(name)?;
    }
    let server = mariadbd(place, &Locks::Glibc)?;
    place.plain(&format!("{POINT_SELECTS} prepare"))?;
    server.stop()
}

pub(super) fn mariadb(run: &Run) -> Result<Sample, String> {
    let Run { place, setting, locks } = run;
    let server = mariadbd(place, locks)?;
    // Other programs, one for each CPU.
    let n_burners = if setting.label == BUSY { std::thread::available_parallelism().map_or(1, usize::from) } else { 0 };
    let burner = |_| place.start(&Locks::Glibc, "awk BEGIN{while(1);}");
    let burners = (0..n_burners).map(burner).collect::<Result<Vec<_>, _>>()?;
    let before = server.usage()?;
    let words = format!("--threads={} --time={}", setting.threads, place.either(3, 1));
    let ended = place.plain(&format!("{POINT_SELECTS} {words} run"))?;
    let usage = server.usage()?.since(before);
    drop(burners);
    let of = |name| ended.number(name);
    let (ops, errors) = (of("queries:   ")?, of("ignored errors:")? + of("reconnects:")?);
    if let Some(line) = server.errors().lines().find(|line| line.contains("[ERROR]")) {
        return Err(format!("the server complains: {line}"));
    }
    server.stop()?;
    Sample::of(of("total time:")?, (ops, errors), usage)
}

/// Under another user's name it would be nobody's child: the kernel forgets to end it with us.
pub(super) fn memcached(run: &Run) -> Result<Sample, String> {
    let (place, port) = (run.place, free_port()?);
    let server =
        run.start(&format!("memcached -l 127.0.0.1 -p {port} -U 0 -m 64 -u root -t {}", run.setting.threads))?;
    server.until(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let before = server.usage()?;
    let time = place.either("2s", "1s");
    let ended = place.plain(&format!("memcaslap -s 127.0.0.1:{port} -T 2 -c 32 -v 0.1 -t {time}"))?;
    let usage = server.usage()?.since(before);
    server.stop()?;
    let of = |name| ended.number(name);
    let (ops, wrong) = (of(" Ops:")?, of("get_misses:")? + of("verify_misses:")? + of("verify_failed:")?);
    Sample::of(ops / of(" TPS:")?, (ops, wrong), usage)
}

/// What rsyslog shall do: take lines from a socket, put each through the queue by itself, and write them to a file.
fn rsyslog_conf(place: &Place, port: u16, workers: u32) -> String {
    let (directory, out) = (place.directory.display(), place.file("lines").display().to_string());
    format!(
        "global(workDirectory=\"{directory}\" net.enableDNS=\"off\" processInternalMessages=\"off\")\n\
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
        sent.at("a sender")
    };
    std::thread::scope(|scope| {
        let senders: Vec<_> = texts.iter().map(|text| scope.spawn(move || send(text))).collect();
        senders.into_iter().try_for_each(|sender| sender.join().map_err(|_| "a sender panicked".to_owned())?)
    })
}

pub(super) fn rsyslog(run: &Run) -> Result<Sample, String> {
    let (place, port, file) = (run.place, free_port()?, run.place.file("lines"));
    let _ = fs::remove_file(&file);
    place.write("rsyslog.conf", &rsyslog_conf(place, port, run.setting.threads))?;
    let server = run.start(&format!("rsyslogd -n -f {0}/rsyslog.conf -i {0}/pid", place.directory.display()))?;
    server.until(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let n_lines = place.either(LINES, LINES / 10);
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
    let text = fs::read_to_string(&file).at(&file)?;
    compare_lines(&text, &sent)?;
    let ops = f64::from(n_lines * SENDERS) * seen as f64 / n_bytes as f64;
    Sample::of(seconds, (ops, 0.0), usage)
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
}
