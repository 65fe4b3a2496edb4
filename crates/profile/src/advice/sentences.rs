//! The sentences.

use super::measures::{LONG_NS, MOST, SAMPLES};
use super::predict::MEASURED_WITH;
use super::{Advice, Case, Kind, OnMachine, Prediction, Subject};
use crate::names::middle;
use crate::words::{command, kinds, percent};
use crate::{Condition, Profile, Site, WaitKind};
use ondeck_report::wording::{BISTABLE, QUEUES, count, counted, duration_ns, plain, quoted, times};
use std::collections::HashMap;

/// So much of a function's name is shown.
const MOST_NAME: usize = 80;

/// What runs the program in turn with glibc's locks and with ours.
const TRY: &str = "profile --try";

/// What the mean of holds is of. Who loses its core is in the longest hundredth.
const MEAN: &str = "mean of the shortest 99 %";

impl Case<'_> {
    pub(super) fn sentence(&self, kind: Kind) -> String {
        match kind {
            Kind::Quiet => self.quiet(),
            Kind::Unknown => self.unknown(),
            Kind::Late => self.late(),
            Kind::Long => self.long(),
            Kind::SometimesLong => self.sometimes_long(),
            Kind::Woken => self.woken(),
            Kind::Helped => self.helped("", "Try it and measure"),
            Kind::HelpedOnMore => {
                self.helped(" with more cores, not with these", "On such a machine, try it and measure")
            }
            Kind::NotHelped => {
                format!("`ondeck run` would not help: {} {} {}", self.short(), self.foretold(), self.less_often())
            }
            Kind::NotPredicted => self.not_predicted(),
            Kind::OtherKind => self.other_kind(),
            Kind::Answered => {
                let lock = plain(&self.profile.lock);
                format!("{lock} is in place already: {} {}", self.short(), self.less_often())
            }
            Kind::Idle => unreachable!("no lock is a condition variable"),
        }
    }

    fn quiet(&self) -> String {
        let measures = &self.measures;
        format!(
            "Hardly contended: threads waited {} for it. That is {} of the time that its {} could run on {}, and less than \
             two runs differ by. Leave it as it is.",
            duration_ns(measures.lock.wait_ns),
            percent(measures.share()),
            counted(measures.threads as usize, "thread"),
            counted(measures.cores as usize, "core"),
        )
    }

    fn unknown(&self) -> String {
        let measures = &self.measures;
        let (samples, acquisitions) = (measures.samples(), measures.lock.acquisitions);
        let all = whole(acquisitions);
        let why = if samples >= SAMPLES {
            format!("how long it was held is not known for any of its {all} acquisitions")
        } else if measures.rate > 1 {
            format!("only {} of its {all} acquisitions were recorded, and {SAMPLES} are needed", whole(samples))
        } else {
            format!("it was acquired only {all} times, and {SAMPLES} are needed")
        };
        // Three times as many as are needed: the run that is to come may have fewer acquisitions.
        let rate = (acquisitions / (3.0 * SAMPLES)).floor().max(1.0);
        let how = if rate < f64::from(measures.rate) {
            let lock = if self.profile.lock == MEASURED_WITH {
                String::new()
            } else {
                format!("--lock {} ", quoted(&plain(&self.profile.lock)))
            };
            format!("Record more of them:\n{}", self.again(&format!("profile {lock}--rate {rate}")))
        } else {
            "Record a longer run.".to_owned()
        };
        format!("Too few samples: threads waited {} for it, but {why}. {how}", duration_ns(measures.lock.wait_ns))
    }

    fn late(&self) -> String {
        let measures = &self.measures;
        let (threads, cores) = (counted(measures.threads as usize, "thread"), counted(measures.cores as usize, "core"));
        let is_ours_to_try = self.is_mutex() && measures.shares_cores() && self.profile.lock == MEASURED_WITH;
        let (problem, why) = if measures.shares_cores() {
            ("Too few cores", format!("{threads} share {cores}. Use fewer threads or more cores."))
        } else {
            let why = "Other programs or a limit on CPU time may have taken the cores: look for both.";
            ("Late wake-ups", format!("Its {threads} have {cores}. {why}"))
        };
        let is_sound = self.prediction.is_some_and(Prediction::is_like_the_run);
        let foretold = if is_sound { format!(" {}", self.foretold()) } else { String::new() };
        // A convoy looks the same as too few cores, and another lock may end it.
        let try_it = if is_ours_to_try {
            format!(" Or measure whether ondeck's locks help:\n{}", self.again(TRY))
        } else {
            String::new()
        };
        format!("{problem}: {} {why}{foretold}{try_it}", self.freely())
    }

    /// How long it is held, and by whom.
    fn long(&self) -> String {
        let long = match self.measures.section_ns.filter(|_| self.measures.is_known()) {
            Some(ns) => format!("it is held for {} at a time ({MEAN})", duration_ns(ns)),
            None => format!(
                "holds that threads waited for lasted at least {} (mean)",
                duration_ns(self.measures.waited_for_ns())
            ),
        };
        format!("Long sections: {long}. {}", self.charged("Take work out of this section."))
    }

    fn sometimes_long(&self) -> String {
        let measures = &self.measures;
        let who = if measures.shares_cores() {
            let (threads, cores) = (measures.threads as usize, measures.cores as usize);
            format!(": {} share {}", counted(threads, "thread"), counted(cores, "core"))
        } else {
            " to other programs".to_owned()
        };
        format!(
            "A few long sections: 99 of 100 holds last at most {}, but holds that threads waited for lasted at least {} \
             (mean). {} Or holders lost their cores{who}.",
            duration_ns(measures.most_holds_ns().unwrap_or(LONG_NS)),
            duration_ns(measures.waited_for_ns()),
            self.charged("Look for a rare, slow path there."),
        )
    }

    /// Who ended the waiting, where who held the lock is not known.
    fn woken(&self) -> String {
        let lock = self.measures.lock;
        let waiting = duration_ns(lock.wait_ns);
        let who = self.heaviest(&lock.wakers, |site| site.ns).map_or(String::new(), |(place, ns)| {
            format!(" {place} ended {} of that.", percent((ns / lock.wait_ns).min(1.0)))
        });
        format!(
            "Threads waited {waiting} for it.{who} How long it was held was not recorded. Make its sections shorter, or \
             lock it less often."
        )
    }

    fn helped(&self, where_: &str, try_it: &str) -> String {
        let (short, foretold, run) = (self.short(), self.foretold(), self.again("run"));
        format!("`ondeck run` would help{where_}: {short} {foretold} {try_it}:\n{run}")
    }

    /// What is known of a lock that no other lock can stand in for.
    fn other_kind(&self) -> String {
        let lock = self.measures.lock;
        if self.is_spin() {
            return format!(
                "Threads spun for {} in {} waits for it. How long it was held is not recorded. A mutex lets them sleep.",
                duration_ns(lock.wait_ns),
                count(lock.waits)
            );
        }
        format!("`ondeck run` does not change locks for readers and writers: {} {}", self.short(), self.less_often())
    }

    fn not_predicted(&self) -> String {
        let why = match self.prediction {
            None => "No simulation says how much.",
            Some(_) => "The simulation cannot tell, because it differs from this run.",
        };
        format!("`ondeck run` may help: {} {why} Measure it:\n{}", self.short(), self.again(TRY))
    }

    /// The command that starts the program again under `ondeck`.
    fn again(&self, words: &str) -> String {
        let program = Some(command(self.profile)).filter(|command| !command.is_empty());
        format!("ondeck {words} -- {}", program.unwrap_or("PROGRAM".to_owned()))
    }

    /// That the section is short, and how much threads wait.
    fn short(&self) -> String {
        let measures = &self.measures;
        let lock = measures.lock;
        let late = if measures.is_mostly_free() { format!(" Also, {}", self.freely()) } else { String::new() };
        format!(
            "it is held for only {} at a time ({MEAN}), but {} of {} acquisitions wait. On average {} threads wait.{late}",
            duration_ns(measures.section_ns.unwrap_or_default()),
            percent((lock.waits / lock.acquisitions).min(1.0)),
            whole(lock.acquisitions),
            times(measures.waiting()),
        )
    }

    /// How much of the waiting passes while it is free.
    fn freely(&self) -> String {
        let lock = self.measures.lock;
        format!(
            "for {} of the waiting time ({} of {}) the lock was free, but the thread that was woken for it was not running \
             yet.",
            percent(self.measures.free()),
            duration_ns(lock.handing_on_ns),
            duration_ns(lock.wait_ns),
        )
    }

    /// Who is charged most of the waiting, and what to do there.
    fn charged(&self, what_to_do: &str) -> String {
        let lock = self.measures.lock;
        let waiting = duration_ns(lock.wait_ns);
        match self.heaviest(&lock.holders, |site| site.ns) {
            None => format!("Which function held it while threads waited {waiting} is not known."),
            Some((place, ns)) => {
                let share = percent((ns / lock.wait_ns).min(1.0));
                let largest = if ns >= MOST * lock.wait_ns { "" } else { " the largest part," };
                format!("{place} held it during{largest} {share} of the {waiting} that threads waited. {what_to_do}")
            }
        }
    }

    /// What is left to do, and who acquires it most.
    fn less_often(&self) -> String {
        let acquisitions = self.measures.lock.acquisitions;
        match self.heaviest(&self.measures.lock.takers, |site| site.count) {
            None => "Acquire it less often. Which function acquires it most is not known.".to_owned(),
            Some((place, times)) => {
                let share = percent((times / acquisitions).min(1.0));
                format!("Acquire it less often: {place} makes {share} of the acquisitions.")
            }
        }
    }

    /// The function with the most of the sites, by their stacks without frames that only lock: its name with the place
    /// in it that has most, and how much it has.
    pub(super) fn heaviest(&self, sites: &[Site], amount: impl Fn(&Site) -> f64) -> Option<(String, f64)> {
        let mut sums: HashMap<&str, (f64, f64, u32)> = HashMap::new();
        for site in sites {
            let (Some(frame), amount) = (self.tops.top(site.stack), amount(site)) else { continue };
            let (sum, most, place) = sums.entry(self.tops.brief(frame)).or_insert((0.0, 0.0, frame));
            *sum += amount;
            if amount > *most {
                (*most, *place) = (amount, frame);
            }
        }
        // The first by name of those that are alike, so that it is the same each time.
        let (name, (sum, _, frame)) =
            sums.into_iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0).then(other.0.cmp(one.0)))?;
        let frame = &self.profile.frames[frame as usize];
        let file = plain(frame.file.rsplit('/').next().unwrap_or_default());
        let place = if file.is_empty() { String::new() } else { format!(" ({file}:{})", frame.line) };
        (sum > 0.0).then(|| (format!("`{}`{place}", middle(name, MOST_NAME)), sum))
    }

    /// What the simulator says; nothing without a prediction.
    fn foretold(&self) -> String {
        let Some(Prediction { machines, .. }) = self.prediction else { return String::new() };
        let [on_here, on_some, on_many] = machines.each_ref().map(cores);
        let [here, some, many] = machines.each_ref().map(|machine| times(machine.ratio()));
        let [here_model, some_model, many_model] = machines.each_ref().map(simulated);
        let is_marked = |mark: fn(&OnMachine) -> bool| machines.iter().any(mark);
        let marks = [
            is_marked(OnMachine::has_queues).then(|| format!(" ! {QUEUES}.")),
            is_marked(|machine| machine.is_bistable).then(|| format!(" ? {BISTABLE}.")),
        ];
        let marks: String = marks.into_iter().flatten().collect();
        let guesses =
            machines.iter().map(|machine| machine.guesses).fold((0, 0), |all, (n, of)| (all.0 + n, all.1 + of));
        format!(
            "Simulated, threads acquire ondeck's lock {here} times as often as glibc's on {on_here} as here \
             ({here_model}). On {on_some} it is {some} times ({some_model}), on {on_many} {many} times ({many_model}). \
             {} of the {} figures of these models are guesses.{marks}",
            guesses.0, guesses.1
        )
    }
}

fn cores(machine: &OnMachine) -> String {
    counted(machine.cores as usize, "core")
}

/// A number of things: digits behind the point would be none of them.
fn whole(number: f64) -> String {
    if number < 999.5 { format!("{number:.0}") } else { count(number) }
}

/// On what that is simulated: the model, and how many threads, with marks if they are more than its cores, or if the seeds
/// disagree.
fn simulated(machine: &OnMachine) -> String {
    let queues = if machine.has_queues() { "!" } else { "" };
    let bistable = if machine.is_bistable { "?" } else { "" };
    format!("{}, {}{queues}{bistable}", machine.machine, counted(machine.threads as usize, "thread"))
}

/// What has to be known of the condition variables, if threads wait longer on them than for locks.
pub(super) fn of_conditions(profile: &Profile) -> Option<Advice> {
    let longer = |one: &(usize, &Condition), other: &(usize, &Condition)| one.1.wait_ns.total_cmp(&other.1.wait_ns);
    // Who starts threads and waits for their end has nothing to do in almost any program.
    let conditions = || profile.conditions.iter().enumerate().filter(|(_, one)| one.kind != WaitKind::Join);
    let (index, most) = conditions().max_by(longer)?;
    let (all, locks) = (conditions().map(|(_, one)| one.wait_ns).sum::<f64>(), profile.wait_ns());
    let text = format!(
        "threads waited {} on {}, {} of it here, and {} for locks. They may have had nothing to do. A better lock does \
         not change that.",
        duration_ns(all),
        kinds(conditions().map(|(_, one)| one)),
        percent(most.wait_ns / all),
        duration_ns(locks),
    );
    (all > locks).then_some(Advice { subject: Subject::Condition(index), kind: Kind::Idle, text })
}
