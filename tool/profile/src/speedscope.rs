//! The file for speedscope, which is a web page with flame graphs: <https://www.speedscope.app>.
//!
//! It has a profile for who waited, and one for who held the lock meanwhile. Weights are the waiting in ns. Below the lock's
//! name stand the stacks. Waits on conditions are not in it.

use crate::profile::Profile;
use crate::rows::{Place, Row, Side, functions, of_side};
use indexmap::IndexSet;
use ondeck_report::wording::plain;
use serde::Serialize;
use serde_json::{Value, json};

/// Names of the profiles, in the order of [`Side::BOTH`].
const NAMES: [&str; 2] = ["waiting, by who waited", "waiting, by who held the lock meanwhile"];

#[derive(PartialEq, Eq, Hash, Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl Frame {
    fn named(name: &str) -> Frame {
        Frame { name: plain(name), file: None, line: None }
    }
}

/// The profile as speedscope opens it, in JSON.
pub fn speedscope(profile: &Profile) -> String {
    let mut frames = IndexSet::new();
    let profiles: Vec<Value> =
        Side::BOTH.into_iter().zip(NAMES).map(|(side, name)| sampled(profile, side, name, &mut frames)).collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": format!("ondeck {}", env!("CARGO_PKG_VERSION")),
        "name": plain(&profile.command.join(" ")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames.iter().collect::<Vec<&Frame>>() },
        "profiles": profiles,
    })
    .to_string()
}

/// One side: each sample begins where the one before it ends.
fn sampled(profile: &Profile, side: Side, name: &str, frames: &mut IndexSet<Frame>) -> Value {
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for lock in &profile.locks {
        for row in of_side(lock, side).into_iter().filter(|row| row.ns.round() > 0.0) {
            let path = [Frame::named(&lock.name)].into_iter().chain(stack(profile, row));
            samples.push(path.map(|frame| frames.insert_full(frame).0).collect::<Vec<usize>>());
            weights.push(row.ns.round() as u64);
        }
    }
    let end = weights.iter().copied().fold(0, u64::saturating_add);
    json!({
        "type": "sampled", "name": name, "unit": "nanoseconds", "startValue": 0, "endValue": end,
        "samples": samples, "weights": weights,
    })
}

/// The frames of a row, the outermost first; never none.
fn stack(profile: &Profile, row: Row) -> Vec<Frame> {
    let frame = |frame: &crate::Frame| Frame {
        name: plain(&frame.function),
        file: (!frame.file.is_empty()).then(|| plain(&frame.file)),
        line: (frame.line > 0).then_some(frame.line),
    };
    let frames: Vec<Frame> = match row.place {
        Place::Stack(stack) => profile.frames_of(stack).rev().map(frame).collect(),
        Place::Without(_) => Vec::new(),
    };
    let named = || functions(profile, row.place).iter().map(|name| Frame::named(name)).collect();
    if frames.is_empty() { named() } else { frames }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::folded;
    use crate::sample::toy;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    /// As speedscope's own schema has it, which allows nothing else.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct File {
        #[serde(rename = "$schema")]
        schema: String,
        shared: Shared,
        profiles: Vec<Sampled>,
        name: Option<String>,
        active_profile_index: Option<usize>,
        exporter: Option<String>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shared {
        frames: Vec<FrameOfFile>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct FrameOfFile {
        name: String,
        file: Option<String>,
        line: Option<u32>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Sampled {
        r#type: String,
        name: String,
        unit: String,
        start_value: u64,
        end_value: u64,
        samples: Vec<Vec<usize>>,
        weights: Vec<u64>,
    }

    #[test]
    fn each_side_is_a_profile_with_the_waiting_below_each_lock() {
        let profile = toy();
        let file: File = serde_json::from_str(&speedscope(&profile)).unwrap();
        assert_eq!(file.schema, "https://www.speedscope.app/file-format-schema.json");
        assert_eq!((file.name.as_deref(), file.active_profile_index), (Some("./server --port 80 80"), Some(0)));
        assert!(file.exporter.is_some_and(|exporter| exporter.starts_with("ondeck ")));
        for (side, found) in Side::BOTH.into_iter().zip(&file.profiles) {
            assert_eq!((found.r#type.as_str(), found.unit.as_str()), ("sampled", "nanoseconds"));
            assert_eq!(found.start_value..found.end_value, 0..found.weights.iter().sum());
            let mut lines: BTreeMap<String, u64> = BTreeMap::new();
            for (sample, weight) in found.samples.iter().zip(&found.weights) {
                let names: Vec<&str> = sample.iter().map(|frame| file.shared.frames[*frame].name.as_str()).collect();
                *lines.entry(names.join(";")).or_default() += weight;
            }
            let text: String = lines.iter().map(|(stack, ns)| format!("{stack} {ns}\n")).collect();
            assert_eq!(text, folded(&profile, side), "{}", found.name);
        }
        let push = file.shared.frames.iter().find(|frame| frame.name == "push").unwrap();
        assert_eq!((push.file.as_deref(), push.line), (Some("src/server.c"), Some(4)));
    }
}
