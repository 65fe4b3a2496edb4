//! Chromium without a window, and the protocol by which its own tools speak to it.
//!
//! The protocol is JSON over two pipes. A driver from elsewhere would bring two minutes of building, and would drop the
//! events of a Chromium that is newer than itself, which are what these tests are about. When this end of the pipes closes,
//! Chromium ends, so that a test that is killed leaves none behind.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(60);

const FLAGS: [&str; 14] = [
    "--remote-debugging-pipe",
    "--headless",
    "--disable-gpu",
    // A frame is drawn as soon as it is asked for, not sixty times a second.
    "--disable-frame-rate-limit",
    "--disable-gpu-vsync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    // Nothing but the page may cause a request.
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    // Containers have little of it.
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND",
];

/// A running Chromium with nothing in it but what its test opens.
pub(crate) struct Chromium {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    n_calls: u64,
    /// What Chromium told without being asked, in its order.
    events: Vec<Value>,
    profile: PathBuf,
}

impl Chromium {
    pub(crate) fn start() -> Self {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let program = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
        let name = format!("chromium-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&profile).expect("cargo's directory for tests can be written");
        let log = File::create(profile.join("stderr")).expect("a new directory can be written");
        // Chromium reads from descriptor 3 and writes to 4. A shell can arrange that without unsafe code.
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >&2"]).arg(program).args(FLAGS);
        // It refuses to run as root otherwise, which is what a container has.
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0);
        shell.args(is_root.then_some("--no-sandbox"));
        shell.arg(format!("--user-data-dir={}", profile.display())).arg("about:blank");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut process = shell.spawn().expect("there is a shell");
        let to = process.stdin.take().expect("it is piped");
        let from = listen(BufReader::new(process.stdout.take().expect("it is piped")));
        Self { process, to, from, n_calls: 0, events: Vec::new(), profile }
    }

    /// Calls a method of the protocol, of one tab or, without a line to one, of the whole browser.
    pub(crate) fn call(&mut self, line: Option<&str>, method: &str, params: &Value) -> Result<Value, String> {
        self.n_calls += 1;
        let id = self.n_calls;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(line) = line {
            message["sessionId"] = line.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap_or_else(|error| self.died(method, &error.to_string()));
        loop {
            let mut answer = self.next(method);
            if answer["id"] != id {
                self.events.push(answer);
            } else if answer["error"].is_null() {
                return Ok(answer["result"].take());
            } else {
                return Err(format!("{method}: {}", answer["error"]));
            }
        }
    }

    /// Waits until Chromium has told of this.
    pub(crate) fn wait_for(&mut self, event: &str) {
        while !self.events.iter().any(|known| known["method"] == event) {
            let next = self.next(event);
            self.events.push(next);
        }
    }

    pub(crate) fn events(&self) -> &[Value] {
        &self.events
    }

    fn next(&self, what: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => panic!("{what}: Chromium did not answer within {PATIENCE:?}"),
            RecvTimeoutError::Disconnected => self.died(what, "it is gone"),
        })
    }

    fn died(&self, what: &str, how: &str) -> ! {
        let log = std::fs::read_to_string(self.profile.join("stderr")).unwrap_or_default();
        panic!("{what}: Chromium does not hear or speak any more: {how}\n{log}")
    }
}

/// Messages end with a zero byte; the receiver is cut off when Chromium ends.
fn listen(pipe: impl BufRead + Send + 'static) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for message in pipe.split(0).map_while(Result::ok) {
            let message = serde_json::from_slice(&message).expect("the protocol is JSON");
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Asked to close, it also ends its helpers, which would write into the directory while that is being removed.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        while self.from.recv_timeout(Duration::from_secs(5)).is_ok() {}
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
