//! A server whose locks can be watched: it serves `/metrics` for Prometheus, with nothing but the standard library.
//!
//! ```text
//! cargo run --release -p ondeck --features stats --example metrics &
//! curl http://127.0.0.1:9184/metrics
//! ondeck profile --pid $! --for 10s
//! ```

use ondeck::Mutex;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{sleep, spawn};
use std::time::Duration;

static SESSIONS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// What the server is there for: some threads use the table, and one of them sleeps with it.
fn work() {
    spawn(|| {
        loop {
            let mut sessions = SESSIONS.lock();
            sleep(Duration::from_millis(2));
            sessions.clear();
            drop(sessions);
            sleep(Duration::from_millis(5));
        }
    });
    for n in 0..3 {
        spawn(move || {
            loop {
                SESSIONS.lock().push(n);
                sleep(Duration::from_micros(100));
            }
        });
    }
}

fn metrics() -> String {
    let mut text = String::new();
    // A `String` takes all that is written.
    let _ = ondeck::stats::snapshot().prometheus(&mut text);
    text
}

fn answer(mut connection: TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(connection.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let (status, body) =
        if request.starts_with("GET /metrics ") { ("200 OK", metrics()) } else { ("404 Not Found", String::new()) };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let length = body.len();
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn main() -> std::io::Result<()> {
    if !ondeck::stats::start() {
        eprintln!("metrics: this system cannot count");
    }
    ondeck::name(&SESSIONS, "sessions");
    ondeck::stats::on_long_hold(Duration::from_millis(100), |hold| {
        eprintln!("{} was held for {:?}", hold.lock(), hold.held);
    });
    work();
    // Of another port: `metrics 0` takes any that is free.
    let port = std::env::args().nth(1).unwrap_or_else(|| "9184".into());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    println!("http://{}/metrics", listener.local_addr()?);
    for connection in listener.incoming() {
        if let Err(error) = connection.and_then(answer) {
            eprintln!("metrics: {error}");
        }
    }
    Ok(())
}
