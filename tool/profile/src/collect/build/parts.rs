//! What statistics have of each lock of a recording.

use super::{Builder, Image, SampleRange};
use crate::collect::account::Account;
use crate::collect::{Recording, meaning};
use crate::names;
use crate::profile::{Origin, Spot};
use crate::symbols::Symbols;
use ondeck_record::layout::kind;
use ondeck_record::read::{Lock, ReadError};
use ondeck_record::stats::WaitingThread;
use std::time::Duration;

/// What locks are together that have neither a name nor a place, or for which there is no room.
pub(in crate::collect) const OTHERS: &str = "(others)";

/// A lock that was used: its number, how it is called in statistics, and what is known of it. Several may be called the same.
type Part = (u32, String, Account);

/// The parts of each recording; `None` of one that is damaged.
pub(in crate::collect) fn parts(symbols: &mut Symbols, recordings: &[Recording]) -> Vec<Option<Vec<Part>>> {
    let mut builder = Builder::new(symbols, 1, SampleRange::Start);
    let each = recordings.iter().enumerate();
    each.map(|(number, recording)| builder.parts(number, recording).ok()).collect()
}

impl Builder<'_> {
    fn parts(&mut self, number: usize, recording: &Recording) -> Result<Vec<Part>, ReadError> {
        let mut image = self.image(number, recording)?;
        let mut locks = recording.contents.locks()?;
        let under_way = recording.under_way();
        locks.extend(recording.only_under_way(&locks, &under_way));
        let mut parts = Vec::new();
        for lock in locks.iter().filter(|lock| meaning(lock.kind).is_ok()) {
            let mut account = recording.locks.get(&lock.number).cloned().unwrap_or_default();
            if !recording.is_closed {
                for waiter in under_way.of(lock) {
                    let ns = recording.last_ns.saturating_sub(recording.clock.since(waiter.since));
                    let mut waiting = WaitingThread::default();
                    (waiting.thread, waiting.waited) = (waiter.thread, Duration::from_nanos(ns));
                    account.waiting.push(waiting);
                }
            }
            if account.is_waited_for() {
                // Also of waits that no sample tells of.
                account.waits.longest_ns = account.waits.longest_ns.max(lock.longest_ns);
            }
            let label = match recording.labels.get(&lock.number) {
                Some(label) => label.clone(),
                None => self.label(&mut image, lock)?,
            };
            parts.push((lock.number, label, account));
        }
        Ok(parts)
    }

    fn label(&mut self, image: &mut Image, lock: &Lock) -> Result<String, ReadError> {
        let spot = if lock.kind & !kind::SEVERAL == kind::INITIALISED { Spot::Initialised } else { Spot::FirstSeen };
        let origin = self.stack(image, lock.origin)?.map(|stack| Origin { stack, spot });
        let (name, is_named) = self.name(image, lock, origin, false);
        Ok(label(&name, is_named))
    }
}

/// How a lock is called as long as it is there, whatever else there is: elements of an array are one, as are locks that are
/// made, or first used, at one place.
fn label(name: &str, is_named: bool) -> String {
    let shown = names::shown(name);
    if is_named {
        return shown;
    }
    if name.starts_with("0x") {
        return OTHERS.to_owned();
    }
    names::several(&shown).unwrap_or_else(|| without_indices(&shown))
}

/// `shards[].lock` of `shards[3].lock`.
fn without_indices(name: &str) -> String {
    let mut parts = name.split('[');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        text.push('[');
        text += if rest.starts_with(']') { rest } else { part };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_tells_no_elements_and_no_addresses_apart() {
        for (name, is_named, expected) in [
            ("cache", true, "cache"),
            ("shard[7]", true, "shard[7]"),
            ("0x7", true, "0x7"),
            ("queue+0x28", false, "queue+0x28"),
            ("shards[3].lock", false, "shards[].lock"),
            ("table[1][22]", false, "table[][]"),
            ("<[u8; 4] as a::B>::LOCK", false, "<[u8; 4] as a::B>::LOCK"),
            ("initialised in main (a.c:7)", false, "made in main (a.c:7)"),
            ("first seen in main (a.c:7)", false, "first used in main (a.c:7)"),
            ("0x7f0000001234", false, OTHERS),
        ] {
            assert_eq!(label(name, is_named), expected);
        }
    }
}
