//! The traces that a report shows: files of `ondeck sim --trace`, and what such a file has besides the slices of a viewer.

use crate::output::ReadError;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// Later times, in microseconds, are no times of a run: it is eleven days.
const LATEST_US: f64 = 1e12;

/// Tells the file from those of other programs.
pub const MARKER: &str = "ondeck-futex-1";

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Name of the machine.
    pub machine: String,
    /// Name of the workload with its parameters.
    pub workload: String,
    /// Name of the lock, as the command line spells it.
    pub lock: String,
    /// Threads that want the lock.
    pub threads: u32,
    /// What decided everything that was left to chance.
    pub seed: u64,
    /// The command that runs it again; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
}

/// What the file says of itself, in `otherData`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`MARKER`].
    pub kind: String,
    /// What was run.
    #[serde(flatten)]
    pub subject: Subject,
    /// Time from the start of the run to the last event that is in the file, in microseconds.
    pub end_us: f64,
    /// Whether the run went on after that.
    pub is_cut: bool,
}

/// Number of the group of tracks of the threads, `pid` in the file.
pub const THREADS: u32 = 2;
/// Number of the track of thread 0, `tid` in the file. No two are the same, and none is that of a group, which viewers take
/// for the first thread of a process.
pub const FIRST_THREAD: u32 = 10_001;

/// Where a thread is, as the lock under observation sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Place {
    /// It holds the lock.
    #[serde(rename = "at bat")]
    AtBat,
    /// It wants the lock and is awake: it runs, could run, or was woken and is about to. That is whoever is on deck,
    /// arrivals that look, and sleepers that are not up yet: what a thread does tells nothing of the seat that it has.
    #[serde(rename = "awake")]
    Awake,
    /// It wants the lock and sleeps, a nap on deck included.
    #[serde(rename = "dugout")]
    Dugout,
    /// It does not want the lock.
    #[serde(rename = "outside")]
    Outside,
}

impl Place {
    /// All of them, the nearest to the lock first.
    pub const ALL: [Place; 4] = [Place::AtBat, Place::Awake, Place::Dugout, Place::Outside];

    /// As the trace file and the report call it.
    pub fn name(self) -> &'static str {
        match self {
            Place::AtBat => "at bat",
            Place::Awake => "awake",
            Place::Dugout => "dugout",
            Place::Outside => "outside",
        }
    }
}

/// What was recorded of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Short name that tells the file from the others of the report.
    pub label: String,
    /// What was run.
    pub header: Header,
    /// What each thread was at, by the threads' numbers.
    pub threads: BTreeMap<u32, Vec<Span>>,
}

/// A thread at one place, from one time to another in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where.
    pub place: Place,
    /// From when, since the start of the run.
    pub from_ns: u64,
    /// Until when, and that is later.
    pub to_ns: u64,
}

/// The file, as far as it is read here.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(rename = "otherData")]
    header: Header,
    #[serde(rename = "traceEvents", borrow)]
    events: Vec<Event<'a>>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    ph: Cow<'a, str>,
    #[serde(default)]
    pid: u32,
    #[serde(default)]
    tid: u32,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default, borrow)]
    cat: Cow<'a, str>,
}

/// Whether the text is that of a trace of ours, be it damaged or not.
pub fn is_trace(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"traceEvents\"") && text.contains(MARKER)
}

impl Trace {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is not as `ondeck sim --trace` writes it.
    pub fn parse(file: &Path, label: String, text: &str) -> Result<Trace, ReadError> {
        let parsed: File = serde_json::from_str(text).map_err(|error| ReadError::json(file, &error, EXPECTED))?;
        let File { header, events } = parsed;
        let mut threads: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
        for event in events.iter().filter(|event| event.ph == "X" && event.pid == THREADS) {
            let Some(place) = Place::ALL.into_iter().find(|place| place.name() == event.cat) else { continue };
            let wrong = |what: &str| {
                let Event { tid, ts, dur, .. } = event;
                ReadError::new(file, format!("the slice at ts {ts}, dur {dur} of tid {tid} {what}; {EXPECTED}"))
            };
            let is_time = |us: f64| (0.0..LATEST_US).contains(&us);
            if !is_time(event.ts) || !is_time(event.dur) {
                return Err(wrong("is at no time of a run"));
            }
            let thread = event.tid.checked_sub(FIRST_THREAD).ok_or_else(|| wrong("is on no track of a thread"))?;
            let ns = |us: f64| (us * 1e3).round() as u64;
            let from_ns = ns(event.ts);
            let span = Span { place, from_ns, to_ns: from_ns + ns(event.dur) };
            let spans = threads.entry(thread).or_default();
            if spans.last().is_some_and(|last| last.to_ns > span.from_ns) {
                return Err(wrong("begins before the one in front of it ends"));
            }
            push(spans, span);
        }
        Ok(Trace { label, header, threads })
    }
}

const EXPECTED: &str = "expected a trace as `ondeck sim --trace` writes it";

/// Adds a span. One that goes on where the last one ends, at the same place, is no span of its own: whoever loses the CPU
/// stays where it is.
fn push(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        _ if span.from_ns == span.to_ns => {}
        Some(last) if last.place == span.place && last.to_ns == span.from_ns => last.to_ns = span.to_ns,
        _ => spans.push(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Trace, String> {
        assert!(is_trace(text), "{text}");
        Trace::parse(Path::new("a.json"), "a.json".into(), text).map_err(|error| error.to_string())
    }

    fn file(events: &str) -> String {
        let header = r#"{"kind":"ondeck-futex-1","machine":"toy","workload":"w","lock":"tas","threads":2,"seed":3,"end_us":9,"is_cut":false}"#;
        format!("{{\"otherData\":{header},\"traceEvents\":[{events}]}}")
    }

    fn slice(tid: u32, ts: &str, dur: &str, place: &str) -> String {
        format!(r#"{{"ph":"X","pid":2,"tid":{tid},"ts":{ts},"dur":{dur},"cat":"{place}","name":"{place}, or so"}}"#)
    }

    #[test]
    fn places_that_go_on_are_one_span() {
        let first = [
            slice(10_001, "0", "0.5", "outside"),
            slice(10_001, "0.5", "1", "awake"),
            slice(10_002, "0.7", "0.001", "wake"),
            slice(10_001, "1.5", "1.001", "awake"),
            slice(10_001, "2.501", "0.499", "at bat"),
            r#"{"ph":"i","s":"t","pid":2,"tid":10001,"ts":2.6,"cat":"outside","name":"grab"}"#.to_string(),
            slice(10_001, "4", "1", "at bat"),
        ];
        let trace = parse(&file(&first.join(","))).unwrap();
        let span = |place, from_ns, to_ns| Span { place, from_ns, to_ns };
        let expected = vec![
            span(Place::Outside, 0, 500),
            span(Place::Awake, 500, 2501),
            span(Place::AtBat, 2501, 3000),
            span(Place::AtBat, 4000, 5000),
        ];
        assert_eq!(trace.threads, BTreeMap::from([(0, expected)]));
        assert_eq!((trace.header.subject.lock.as_str(), trace.header.end_us), ("tas", 9.0));
    }

    #[test]
    fn names_are_those_of_the_file() {
        for place in Place::ALL {
            assert_eq!(serde_json::to_string(&place).unwrap(), format!("{:?}", place.name()));
        }
    }

    #[test]
    fn damage_is_named() {
        for (text, words) in [
            (file("")[..file("").len() - 3].to_string(), ["a.json", "cut off"]),
            (file("{}"), ["missing field `ph`", "ondeck sim --trace"]),
            (file("").replace("\"lock\":\"tas\",", ""), ["missing field `lock`", "ondeck sim --trace"]),
            (file(&slice(10_001, "-1", "1", "outside")), ["ts -1", "no time of a run"]),
            (file(&slice(10_001, "1", "1e300", "outside")), ["dur 1", "no time of a run"]),
            (file(&slice(7, "1", "1", "outside")), ["tid 7", "no track of a thread"]),
            (
                file(&[slice(10_001, "1", "2", "outside"), slice(10_001, "2.5", "2", "awake")].join(",")),
                ["ts 2.5", "begins before"],
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{words:?} in {error}");
        }
        assert!(!is_trace("{\"rows\": []}") && !is_trace("{\"traceEvents\": []}"));
    }
}
