//! What the samples of one lock add up to.

use super::causes::Sums;
use super::holders::Shares;
use super::stack::Stack;
use super::tally::Tally;
use crate::sums::{Lengths, Sites, Sum, Waits};
use ondeck_record::layout::event;
use ondeck_record::read::Sample;

/// Whether samples of this kind are waits, whose sum has a timeline.
pub(super) const fn is_wait(what: u32) -> bool {
    matches!(event::plain(what), event::WAIT | event::GAVE_UP | event::CONDITION)
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) waits: Waits,
    pub(crate) hold_lengths: Lengths,
    pub(crate) takes: Sum,
    pub(crate) handing_on_ns: f64,
    pub(crate) waiters: Sites<Stack>,
    pub(crate) holders: Sites<Stack>,
    pub(crate) takers: Sites<Stack>,
    pub(crate) causes: Sums,
    /// Who tried to lock it while another thread had it.
    pub(crate) tries: Sites<Stack>,
    /// Who notifies, of a condition variable: how often, and how often all.
    pub(crate) notifiers: Sites<Stack>,
    pub(crate) notifications_of_all: f64,
    /// Waits that began right after another one.
    pub(crate) again: f64,
    pub(crate) tally: Tally,
}

impl Totals {
    /// The numbers of all stacks in it.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = u32> {
        [&self.waiters, &self.holders, &self.takers, &self.tries, &self.notifiers]
            .into_iter()
            .flat_map(|stacks| stacks.0.keys().map(|stack| stack.number))
            .chain(self.causes.stacks())
    }

    /// How many bytes a sample adds at most to those of its lock, if there are some, and to a second one with fewer samples.
    pub(crate) fn room_for(sample: &Sample, totals: Option<&Totals>) -> usize {
        /// In both, and the stack itself once its process has ended.
        const OF_STACK: usize = 1280;
        const OF_THREAD: usize = 64;
        const OF_TIMELINE: usize = 2 * 8000;
        let what = event::plain(sample.event);
        let stack = Stack { number: sample.stack, is_reading: sample.event & event::READING != 0 };
        let has_stack =
            what == event::HANDING_ON || totals.is_some_and(|totals| totals.sites_of(what).0.contains_key(&stack));
        let names_thread = is_wait(what) || what == event::TAKE;
        let has_thread = !names_thread || totals.is_some_and(|totals| totals.waits.threads.contains(&sample.thread));
        let has_timeline = !is_wait(what) || totals.is_some_and(|totals| totals.waits.sum.count > 0.0);
        2 * size_of::<Totals>() * usize::from(totals.is_none())
            + OF_STACK * usize::from(!has_stack)
            + OF_THREAD * usize::from(!has_thread)
            + OF_TIMELINE * usize::from(!has_timeline)
    }

    /// Where [`add`](Self::add) puts the stack of such a sample.
    fn sites_of(&self, what: u32) -> &Sites<Stack> {
        match what {
            event::CHARGE => &self.holders,
            event::TAKE => &self.takers,
            event::TRIED => &self.tries,
            event::NOTIFY => &self.notifiers,
            _ => &self.waiters,
        }
    }

    /// A sample whose time is counted from the start of the run; of a long hold with what the holder did, as far as that was
    /// seen.
    pub(crate) fn add(&mut self, sample: &Sample, did: Option<&Shares>) {
        let Sample { thread, at, ns, weight, .. } = *sample;
        let stack = Stack { number: sample.stack, is_reading: sample.event & event::READING != 0 };
        self.tally.add_sample(sample);
        match event::plain(sample.event) {
            event::CHARGE => {
                self.holders.add(stack, weight, ns);
                self.causes.held(stack, weight, ns, sample.lengths[0], did);
            }
            event::HANDING_ON => {
                self.handing_on_ns += weight * ns as f64;
                self.causes.handed_on(weight, ns, sample.lengths);
            }
            event::TAKE => {
                self.waits.threads.insert(thread);
                self.takes.add(weight, ns);
                self.takers.add(stack, weight, ns);
                self.hold_lengths.add(weight, ns);
            }
            event::TRIED => self.tries.add(stack, weight, 0),
            event::NOTIFY => {
                let all = if sample.event & event::ALL != 0 { weight } else { 0.0 };
                self.notifications_of_all += all;
                self.notifiers.add(stack, weight, 0);
            }
            what if is_wait(what) => {
                self.again += if sample.event & event::AGAIN != 0 { weight } else { 0.0 };
                self.waits.add(thread, at, ns, weight);
                self.waiters.add(stack, weight, ns);
            }
            _ => {}
        }
    }
}
