//! A check as text: the sentence, the errors, and what they come to.

use super::{Check, Judgement, Point, RankReversal};
use crate::Grid;
use crate::row::main_unit;
use crate::stats::median;
use crate::wording::{broken, counted, percent, threads, three_digits, wrap};

/// A column of errors is hardly wider than they are.
const NAME_WIDTH: usize = 9;

/// Points of which nothing can be said, and why.
const MARKS: [(Judgement, &str, &str); 2] = [
    (Judgement::Noisy, "~", "noisy: the rounds of the measurement differ by more than this error"),
    (Judgement::OffPace, "!", "the machine ran at another speed than when it was calibrated"),
];

impl Check {
    /// The whole check, at most `width` columns wide.
    pub fn text(&self, width: usize) -> String {
        let mut text = wrap("", &self.verdict(), width);
        if self.points.is_empty() {
            return text;
        }
        text += &format!(
            "\nBy how much the simulated figure is higher or lower than the measured one\n{}",
            self.errors().render(width)
        );
        for (judgement, mark, meaning) in MARKS {
            if self.count(judgement) > 0 {
                text += &wrap(&format!(" {mark}  "), meaning, width);
            }
        }
        text += &format!("\nThe point of each setting that is farthest off\n{}\n", self.farthest().render(width));
        text.extend(self.sentences().iter().map(|sentence| wrap("- ", sentence, width)));
        text
    }

    /// A line for each setting, a column for each lock.
    fn errors(&self) -> Grid {
        let mut locks: Vec<&str> = Vec::new();
        for point in &self.points {
            if !locks.contains(&point.lock.as_str()) {
                locks.push(&point.lock);
            }
        }
        let names = locks.iter().map(|lock| broken(lock, NAME_WIDTH));
        let mut grid = Grid::new(["workload", "threads"], names).grouped();
        for points in self.settings() {
            let Some(Point { workload, threads, .. }) = points.first() else { continue };
            let cell = |lock: &&str| points.iter().find(|point| point.lock == **lock).map_or(String::new(), error);
            grid.row([workload.clone(), threads.to_string()].into_iter().chain(locks.iter().map(cell)));
        }
        grid
    }

    /// Of each setting the figures of the lock whose error is largest, and the median error.
    fn farthest(&self) -> Grid {
        let figures = ["lock", "unit", "measured", "simulated", "error", "median"];
        let mut grid = Grid::new(["workload", "threads"], figures).grouped();
        for points in self.settings() {
            // One of which something can be said, if there is one.
            let judged = points.iter().filter(|point| point.judgement() != Judgement::OffPace);
            let Some(point) = largest(judged).or_else(|| largest(points.iter())) else { continue };
            let unit = main_unit(&point.workload);
            let figure = |value: f64| three_digits(value / unit.size);
            grid.row([
                point.workload.clone(),
                point.threads.to_string(),
                point.lock.clone(),
                unit.name.to_owned(),
                figure(point.measured),
                figure(point.simulated),
                error(point),
                Check::median_error(points.iter()).map_or(String::new(), percent),
            ]);
        }
        grid
    }

    /// What the errors come to.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.disturbances > 0 {
            let times = counted(self.disturbances, "time");
            said.push(format!(
                "Other programs ran meanwhile ({times}), so these figures are worth little: close them, and check again."
            ));
        }
        if let (Some(median), Some(most)) = (Check::median_error(self.judged()), largest(self.judged())) {
            let left_out = MARKS.iter().map(|(judgement, ..)| self.count(*judgement)).sum::<usize>();
            let of_all = match (Check::median_error(self.points.iter()), left_out) {
                (Some(of_all), 1..) => format!(" ({} with the marked points)", percent(of_all)),
                _ => String::new(),
            };
            said.push(format!(
                "Error: median {}{of_all}; largest {} ({}).",
                percent(median),
                error(most).trim(),
                place(&most.workload, most.threads) + ", " + &most.lock
            ));
        }
        let rankings = self.rankings();
        let taus: Vec<f64> = rankings.iter().map(|ranking| ranking.tau).collect();
        let worst = rankings.iter().min_by(|one, other| one.tau.total_cmp(&other.tau));
        said.push(match median(&taus).zip(worst) {
            Some((median, worst)) => format!(
                "Ranking of the locks, where the rounds can tell them apart: Kendall's tau is {median:.2} in the median of {}; \
                 lowest {:.2}, from {} ({}).",
                counted(rankings.len(), "setting"),
                worst.tau,
                counted(worst.pairs, "pair"),
                place(worst.workload, worst.threads)
            ),
            None => "Ranking of the locks: the measurements that count cannot tell them apart.".to_owned(),
        });
        let upsets = self.upsets();
        if upsets.is_empty() {
            said.push("No lock that is best by one is worst by the other.".to_owned());
        }
        said.extend(upsets.iter().map(upset));
        said
    }
}

fn upset(RankReversal { lock, workload, threads, is_best_measured }: &RankReversal) -> String {
    let [best, worst] = if *is_best_measured { ["measured", "simulated"] } else { ["simulated", "measured"] };
    format!("{lock} is the best lock {best} and the worst {worst} ({}).", place(workload, *threads))
}

fn place(workload: &str, n: u32) -> String {
    format!("{workload}, {}", threads(n))
}

fn largest<'a>(points: impl Iterator<Item = &'a Point>) -> Option<&'a Point> {
    points.max_by(|one, other| one.error().abs().total_cmp(&other.error().abs()))
}

/// Marked if nothing follows from it; the mark has its place in any case, so that figures stand below each other.
fn error(point: &Point) -> String {
    let judgement = point.judgement();
    let mark = MARKS.iter().find(|(marked, ..)| *marked == judgement).map_or(" ", |(_, mark, _)| mark);
    format!("{:+.0}%{mark}", point.error() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use super::*;

    #[test]
    fn the_text_begins_with_the_verdict_and_fits() {
        let locks = ["ondeck", "std", "parking-lot", "parking-lot-012", "pthread", "pthread-adaptive"];
        let mut all = Vec::new();
        for (threads, factor) in [(2, 1.1), (8, 3.0)] {
            for (place, lock) in locks.iter().enumerate() {
                let speed = 1e6 * (place + 1) as f64;
                let key = ("sections/cs20000-out20000-near", threads, *lock);
                all.extend(rows(key, &[speed, speed * 1.02], &[speed * factor]));
            }
        }
        all.extend(rows(("mutex-contention", 2, "std"), &[1e6, 2e6], &[2e6]));
        let text = Check::new(&all, 2).text(100);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(
            text.starts_with("Simulated within 15 % of measured in 6 of 12 points (1 more is too noisy to judge); ")
        );
        let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        for shown in [
            "+9%",
            "+33%~",
            "~ noisy: the rounds",
            "- Error: median 103 % (33 % with the marked points); ",
            "largest +197% (sections/cs20000-out20000-near, 8 threads",
            "tau is 1.00 in the median of 2 settings; lowest 1.00, from 15 pairs",
            "- No lock that is best",
        ] {
            assert!(text.contains(shown), "no {shown:?} in {text}");
        }
    }

    #[test]
    fn a_slow_machine_is_marked() {
        let mut all = rows(("w", 2, "a"), &[1.0], &[2.0]);
        all[0].is_off_pace = true;
        let text = Check::new(&all, 2).text(100);
        assert!(text.contains("+100%!") && text.contains(" !  the machine ran at another speed than"), "{text}");
    }

    #[test]
    fn upsets_are_told() {
        let of = |lock, measured, simulated| rows(("w", 1, lock), &[measured], &[simulated]);
        let all = [of("a", 9.0, 1.0), of("b", 1.0, 2.0), of("c", 5.0, 5.0)];
        let said = Check::new(&all.concat(), 2).sentences();
        assert_eq!(said[2..], ["a is the best lock measured and the worst simulated (w, 1 thread)."]);
        let loaded = ["for 2.0 s, other programs used 1.5 of 2 CPUs: figures of that time are too low".to_owned()];
        let disturbed = Check::new(&all.concat(), 2).with_warnings(&loaded).sentences();
        assert!(disturbed[0].starts_with("Other programs ran meanwhile (1 time)") && disturbed[1..] == said);
        assert!(Check::new(&[], 2).text(80).starts_with("Nothing was both"));
    }
}
