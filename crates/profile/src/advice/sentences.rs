//! The sentences.

use super::measures::{LONG_NS, MOST, SAMPLES};
use super::{Advice, Case, Kind, OnMachine, Prediction, Subject};
use crate::names::middle;
use crate::words::percent;
use crate::{Condition, Profile, Site};
use ondeck_report::wording::{count, counted, duration_ns, list, plain, times};
use std::collections::HashMap;

/// So much of a function's name is shown.
const MOST_NAME: usize = 80;

/// What the mean of holds is of. Who loses its core is in the longest hundredth.
const MEAN: &str = "mean of the shorter 99 %";

impl Case<'_> {
    pub(super) fn sentence(&self, kind: Kind) -> String {
        match kind {
            Kind::Quiet => self.quiet(),
            Kind::Unknown => self.unknown(),
            Kind::Late => self.late(),
            Kind::Long => self.long(),
            Kind::SometimesLong => self.sometimes_long(),
            Kind::Helped => self.helped(),
            Kind::NotHelped => format!(
                "`ondeck run` would not help: {}; {}; what is left is to take it less often: {}",
                self.short(),
                self.foretold(),
                self.taken()
            ),
            Kind::NotPredicted => self.not_predicted(),
            Kind::Answered => format!(
                "{} answers already: {}; what is left is to take it less often: {}",
                plain(&self.profile.lock),
                self.short(),
                self.taken()
            ),
            Kind::Idle => unreachable!("no lock is a condition variable"),
        }
    }

    fn quiet(&self) -> String {
        let measures = &self.measures;
        format!(
            "not contended enough to matter: threads waited {} for it, {} of the time that its {} could run on {}, which is \
             less than two runs differ by",
            duration_ns(measures.lock.wait_ns),
            percent(measures.share()),
            counted(measures.threads as usize, "thread"),
            counted(measures.cores as usize, "core"),
        )
    }

    fn unknown(&self) -> String {
        let measures = &self.measures;
        let (samples, acquisitions) = (measures.samples(), measures.lock.acquisitions);
        let why = if samples < SAMPLES {
            let rate = if measures.rate > 1 { format!(", one of {}", measures.rate) } else { String::new() };
            let (samples, all) = (whole(samples), whole(acquisitions));
            format!("{samples} of its {all} acquisitions were looked at{rate}, fewer than {SAMPLES}")
        } else {
            format!("how long it was held is known of none of its {} acquisitions", whole(acquisitions))
        };
        // Three times as many as are needed: the run that is to come may have fewer acquisitions.
        let rate = (acquisitions / (3.0 * SAMPLES)).floor().max(1.0);
        let how = if rate < f64::from(measures.rate) {
            format!("`ondeck profile --rate {rate}` looks at more of them")
        } else {
            "a longer run has more of them".to_owned()
        };
        let waited = duration_ns(measures.lock.wait_ns);
        format!("what would help cannot be told, though threads waited {waited}: {why}; {how}")
    }

    fn late(&self) -> String {
        let measures = &self.measures;
        let (threads, cores) = (counted(measures.threads as usize, "thread"), counted(measures.cores as usize, "core"));
        let why = if measures.shares_cores() {
            format!("{threads} share {cores}: fewer threads or more cores would shorten that")
        } else {
            format!("its {threads} have {cores}, so that other programs or a limit on CPU time may have taken them")
        };
        let is_sound = self.prediction.is_some_and(Prediction::is_like_the_run);
        let foretold = if is_sound { format!("; {}", self.foretold()) } else { String::new() };
        format!("woken threads ran late: {}, and {why}{foretold}", self.freely())
    }

    fn long(&self) -> String {
        format!("shorten the section: {}", self.held())
    }

    fn sometimes_long(&self) -> String {
        let measures = &self.measures;
        let who = if measures.shares_cores() {
            let (threads, cores) = (measures.threads as usize, measures.cores as usize);
            format!("as {} share {}", counted(threads, "thread"), counted(cores, "core"))
        } else {
            "to other programs".to_owned()
        };
        format!(
            "shorten its longest sections: 99 of 100 holds last at most {}, but those that threads waited for at least {} \
             (mean), and {}; or holders lost their core, {who}",
            duration_ns(measures.most_holds_ns().unwrap_or(LONG_NS)),
            duration_ns(measures.waited_for_ns()),
            self.charged(),
        )
    }

    fn helped(&self) -> String {
        let is_here = self.prediction.is_some_and(|prediction| prediction.here().is_better());
        let where_ = if is_here { "" } else { " with more cores, and not with these" };
        format!("`ondeck run` would help{where_}: {}; {}", self.short(), self.foretold())
    }

    fn not_predicted(&self) -> String {
        let unlike = self.prediction.map_or("which was not simulated".to_owned(), |prediction| {
            format!(
                "which the simulator cannot tell, as glibc's mutex is acquired {} times a second in it and {} of them wait \
                 ({}), and was {} times and {}",
                count(prediction.here().glibc_per_s),
                percent(prediction.simulated_waits),
                simulated(prediction.here()),
                count(prediction.measured_per_s),
                percent(prediction.measured_waits),
            )
        });
        format!("`ondeck run` may help, {unlike}: {}", self.short())
    }

    /// That the section is short, and how much threads wait.
    fn short(&self) -> String {
        let measures = &self.measures;
        let lock = measures.lock;
        let late = if measures.is_mostly_free() { format!(", and {}", self.freely()) } else { String::new() };
        format!(
            "it is held for {} at a time ({MEAN}), {} of {} acquisitions wait, {} threads at a time (mean){late}",
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
            "{} of the waiting ({} of {}) passed while it was free and who was to have it next did not run yet",
            percent(self.measures.free()),
            duration_ns(lock.handing_on_ns),
            duration_ns(lock.wait_ns),
        )
    }

    /// How long it is held, and by whom.
    fn held(&self) -> String {
        let long = match self.measures.section_ns.filter(|_| self.measures.is_known()) {
            Some(ns) => format!("it is held for {} at a time ({MEAN})", duration_ns(ns)),
            None => format!(
                "holds that threads waited for lasted at least {} (mean)",
                duration_ns(self.measures.waited_for_ns())
            ),
        };
        format!("{long}, and {}", self.charged())
    }

    /// Who is charged most of the waiting.
    fn charged(&self) -> String {
        let lock = self.measures.lock;
        let waiting = duration_ns(lock.wait_ns);
        match self.heaviest(&lock.holders, |site| site.ns) {
            None => format!("who held it while threads waited {waiting} is not known"),
            Some((place, ns)) => {
                let share = percent((ns / lock.wait_ns).min(1.0));
                if ns >= MOST * lock.wait_ns {
                    format!("{place} is charged {share} of the {waiting} that threads waited")
                } else {
                    format!("of the {waiting} that threads waited the largest part, {share}, is charged to {place}")
                }
            }
        }
    }

    /// Who acquires it most.
    fn taken(&self) -> String {
        let acquisitions = self.measures.lock.acquisitions;
        match self.heaviest(&self.measures.lock.takers, |site| site.count) {
            None => "who acquires it is not known".to_owned(),
            Some((place, times)) => {
                format!("{place} makes {} of the acquisitions", percent((times / acquisitions).min(1.0)))
            }
        }
    }

    /// The function with the most of the sites, by their stacks without frames that only lock: its name with the place
    /// in it that has most, and how much it has.
    fn heaviest(&self, sites: &[Site], amount: impl Fn(&Site) -> f64) -> Option<(String, f64)> {
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
        let [here, larger @ ..] = machines;
        let on = |machine: &OnMachine| {
            format!("{} times on {} ({})", times(machine.ratio()), cores(machine), simulated(machine))
        };
        let (ratio, on_what) = (times(here.ratio()), simulated(here));
        let mut parts = vec![format!("{ratio} times as often as glibc's on {} as here ({on_what})", cores(here))];
        parts.extend(larger.iter().map(on));
        format!("ondeck's lock would be acquired {}", list(&parts))
    }
}

fn cores(machine: &OnMachine) -> String {
    counted(machine.cores as usize, "core")
}

/// A number of things: digits behind the point would be none of them.
fn whole(number: f64) -> String {
    if number < 999.5 { format!("{number:.0}") } else { count(number) }
}

/// On what that is simulated.
fn simulated(machine: &OnMachine) -> String {
    format!("simulated, {}, {}", machine.machine, counted(machine.threads as usize, "thread"))
}

/// What has to be known of the condition variables, if threads wait longer on them than for locks.
pub(super) fn of_conditions(profile: &Profile) -> Option<Advice> {
    let longer = |one: &(usize, &Condition), other: &(usize, &Condition)| one.1.wait_ns.total_cmp(&other.1.wait_ns);
    let (index, most) = profile.conditions.iter().enumerate().max_by(longer)?;
    let (all, locks) = (profile.conditions.iter().map(|one| one.wait_ns).sum::<f64>(), profile.wait_ns());
    let text = format!(
        "threads waited {} on condition variables, {} of it on this one, and {} for locks: it is idle waiting perhaps, of \
         threads that have nothing to do, and a better lock does not shorten it",
        duration_ns(all),
        percent(most.wait_ns / all),
        duration_ns(locks),
    );
    (all > locks).then_some(Advice { subject: Subject::Condition(index), kind: Kind::Idle, text })
}
