//! The first thing to know of a check, in one sentence: how often the simulation is right, and where it is not.

use super::{Check, Judgement, Point, WITHIN};
use crate::wording::counted;

/// Fewer points than this are no group: any of them may be off by chance.
const FEWEST: usize = 3;

/// Which points are meant: those that have all that is named.
#[derive(Clone, Debug, PartialEq)]
struct Group<'a> {
    crowd: Option<Occupancy>,
    workload: Option<&'a str>,
    lock: Option<&'a str>,
}

/// How many threads there are for the CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Occupancy {
    /// One.
    Alone,
    /// Each has a CPU.
    Fits,
    /// They share CPUs.
    Shares,
}

impl Occupancy {
    fn of(point: &Point, cpus: u32) -> Occupancy {
        match point.threads {
            1 => Occupancy::Alone,
            n if n <= cpus => Occupancy::Fits,
            _ => Occupancy::Shares,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Occupancy::Alone => "one thread",
            Occupancy::Fits => "several threads with a CPU for each",
            Occupancy::Shares => "more threads than CPUs",
        }
    }
}

impl Group<'_> {
    fn has(&self, point: &Point, cpus: u32) -> bool {
        self.crowd.is_none_or(|crowd| crowd == Occupancy::of(point, cpus))
            && self.workload.is_none_or(|workload| workload == point.workload)
            && self.lock.is_none_or(|lock| lock == point.lock)
    }

    /// After "for".
    fn words(&self) -> String {
        let crowd = self.crowd.map(|crowd| crowd.words().to_owned());
        let workload = self.workload.map(str::to_owned);
        let place = [workload, crowd].into_iter().flatten().collect::<Vec<String>>().join(" at ");
        match (place.is_empty(), self.lock) {
            (true, None) => "this machine".to_owned(),
            (true, Some(lock)) => lock.to_owned(),
            (false, None) => place,
            (false, Some(lock)) => format!("{place} with {lock}"),
        }
    }
}

/// A group, and how many of its points that are not noisy are near and off.
struct Tally<'a> {
    group: Group<'a>,
    near: usize,
    off: usize,
}

impl Check {
    /// The sentence.
    pub fn verdict(&self) -> String {
        let (near, off) = (self.count(Judgement::Near), self.count(Judgement::Off));
        if self.points.is_empty() {
            return "Nothing was both measured and simulated, so nothing can be said.".to_owned();
        }
        if near + off == 0 {
            return self.nothing();
        }
        let count = if off == 0 && near > 1 { "all".to_owned() } else { format!("{near} of") };
        let mut text =
            format!("Simulated within {:.0} % of measured in {count} {}", WITHIN * 100.0, counted(near + off, "point"));
        text += &self.left_out();
        match self.worst() {
            Some(Tally { group, near, off }) => {
                let words = group.words();
                text += &format!(
                    "; do not believe it for {words}, where {off} of {} are off",
                    counted(near + off, "point")
                );
            }
            None if off > 0 => text += "; no lock, workload or number of threads stands out among the others",
            None => {}
        }
        text + "."
    }

    /// The points of which nothing can be said, in brackets.
    fn left_out(&self) -> String {
        let part = |judgement, words: &str| match self.count(judgement) {
            0 => None,
            1 => Some(format!("1 more {}{words}", if judgement == Judgement::Noisy { "is" } else { "was" })),
            n => Some(format!("{n} more {}{words}", if judgement == Judgement::Noisy { "are" } else { "were" })),
        };
        let parts = [
            part(Judgement::Noisy, " too noisy to judge"),
            part(Judgement::OffPace, " measured while the machine ran at another speed than when it was calibrated"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", and ")) }
    }

    /// What is said if nothing can be said.
    fn nothing(&self) -> String {
        let (noisy, off_pace) = (self.count(Judgement::Noisy), self.count(Judgement::OffPace));
        if off_pace >= noisy {
            return format!(
                "This machine ran at another speed than when it was calibrated in {}, so nothing can be said of the \
                 simulation: close other programs, or try again later.",
                if noisy == 0 { "all points".to_owned() } else { format!("{off_pace} of {} points", noisy + off_pace) }
            );
        }
        format!(
            "The rounds of all {} differ too much to judge the simulation: close other programs, or use more --rounds.",
            counted(noisy, "point")
        )
    }

    /// The group that most of the points that are off have in common, if there is one in which most are off.
    fn worst(&self) -> Option<Tally<'_>> {
        let tally = |group: Group<'_>| {
            let count = |judgement| {
                self.points.iter().filter(|p| group.has(p, self.cpus) && p.judgement() == judgement).count()
            };
            (count(Judgement::Near), count(Judgement::Off))
        };
        let excess = |tally: &Tally| tally.off as isize - tally.near as isize;
        let mut worst: Option<Tally> = None;
        for group in self.groups() {
            let (near, off) = tally(group.clone());
            let found = Tally { group, near, off };
            let is_worst = worst.as_ref().is_none_or(|worst| excess(&found) > excess(worst));
            if near + off >= FEWEST && excess(&found) > 0 && is_worst {
                worst = Some(found);
            }
        }
        worst
    }

    /// All groups that could be named, those that say less first: of two that explain as much, the wider one is meant.
    fn groups(&self) -> Vec<Group<'_>> {
        let none = Group { crowd: None, workload: None, lock: None };
        let mut groups = vec![none.clone()];
        for parts in [1, 2] {
            for point in &self.points {
                let crowd = Some(Occupancy::of(point, self.cpus));
                let (workload, lock) = (Some(point.workload.as_str()), Some(point.lock.as_str()));
                let wanted = match parts {
                    1 => [
                        Group { crowd, ..none.clone() },
                        Group { workload, ..none.clone() },
                        Group { lock, ..none.clone() },
                    ],
                    _ => [
                        Group { crowd, lock, ..none.clone() },
                        Group { crowd, workload, ..none.clone() },
                        Group { workload, lock, ..none.clone() },
                    ],
                };
                for group in wanted {
                    if !groups.contains(&group) {
                        groups.push(group);
                    }
                }
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use super::*;

    /// Two locks in two workloads at 1, 2 and 8 threads on 2 CPUs; off are those for which `is_off` holds.
    fn verdict(is_off: impl Fn(&str, u32, &str) -> bool) -> String {
        let mut all = Vec::new();
        for workload in ["v", "w"] {
            for threads in [1, 2, 4, 8] {
                for lock in ["ondeck", "pthread", "std"] {
                    let simulated = if is_off(workload, threads, lock) { 150.0 } else { 100.0 };
                    all.extend(rows((workload, threads, lock), &[100.0, 101.0], &[simulated]));
                }
            }
        }
        Check::new(&all, 2).verdict()
    }

    #[test]
    fn what_is_off_is_named_by_what_it_has_in_common() {
        assert_eq!(verdict(|_, _, _| false), "Simulated within 15 % of measured in all 24 points.");
        assert_eq!(
            verdict(|_, threads, lock| threads > 2 && lock == "pthread"),
            "Simulated within 15 % of measured in 20 of 24 points; do not believe it for more threads than CPUs with \
             pthread, where 4 of 4 points are off."
        );
        let ends = |is_off: fn(&str, u32, &str) -> bool, end: &str| {
            let text = verdict(is_off);
            assert!(text.ends_with(end), "{text}");
        };
        ends(|_, threads, _| threads == 1, "believe it for one thread, where 6 of 6 points are off.");
        ends(|_, threads, _| threads > 1, "believe it for this machine, where 18 of 24 points are off.");
        ends(|workload, _, _| workload == "w", "believe it for w, where 12 of 12 points are off.");
        ends(|_, _, lock| lock == "std", "believe it for std, where 8 of 8 points are off.");
        ends(
            |workload, threads, _| workload == "v" && threads == 2,
            "believe it for v at several threads with a CPU for each, where 3 of 3 points are off.",
        );
    }

    #[test]
    fn nothing_is_named_that_does_not_stand_out() {
        let text = verdict(|workload, threads, lock| (workload, threads, lock) == ("v", 8, "std"));
        assert!(
            text.ends_with("in 23 of 24 points; no lock, workload or number of threads stands out among the others.")
        );
    }

    #[test]
    fn a_slow_machine_is_said_and_counts_neither_way() {
        let near = rows(("v", 2, "std"), &[100.0], &[100.0]);
        let noisy = rows(("v", 2, "ondeck"), &[100.0, 300.0], &[250.0]);
        let mut slow = rows(("w", 2, "std"), &[100.0], &[200.0]);
        slow[0].is_off_pace = true;
        let verdict = |rows: &[crate::row::Row]| Check::new(rows, 2).verdict();
        assert_eq!(
            verdict(&[near, noisy.clone(), slow.clone()].concat()),
            "Simulated within 15 % of measured in 1 of 1 point (1 more is too noisy to judge, and 1 more was measured while \
             the machine ran at another speed than when it was calibrated)."
        );
        assert!(
            verdict(&slow)
                .starts_with("This machine ran at another speed than when it was calibrated in all points, so")
        );
        assert!(verdict(&[noisy, slow].concat()).contains(" calibrated in 1 of 2 points, so nothing can be said"));
    }

    #[test]
    fn noise_is_said_and_counts_neither_way() {
        let near = rows(("v", 2, "std"), &[100.0], &[100.0]);
        let noisy = rows(("v", 2, "ondeck"), &[100.0, 300.0], &[250.0]);
        let verdict = |rows: &[crate::row::Row]| Check::new(rows, 2).verdict();
        assert_eq!(
            verdict(&[near, noisy.clone()].concat()),
            "Simulated within 15 % of measured in 1 of 1 point (1 more is too noisy to judge)."
        );
        assert!(verdict(&noisy).starts_with("The rounds of all 1 point differ too much"));
        assert!(verdict(&[]).starts_with("Nothing was both measured and simulated"));
    }
}
