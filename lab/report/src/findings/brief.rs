//! What a run ends with: of the same answers as a report has, the first sentences.

use super::reach::{ONE_ROUND, between_seeds};
use super::{QUESTIONS, UNKNOWN};
use crate::board::Board;

/// The sentences, without those that say that nothing is known.
pub(crate) fn sentences(board: &Board) -> Vec<String> {
    let known = |said: &String| !said.starts_with(UNKNOWN);
    let answers = QUESTIONS.iter().flat_map(|(_, rule, most)| rule(board).into_iter().filter(known).take(*most));
    let one_round = (board.rounds == 1).then(|| ONE_ROUND.to_string());
    answers.chain(between_seeds(board)).chain(one_round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::row::Row;

    fn row(lock: &str, threads: u32, round: u32, mega: f64) -> Row {
        let row = Row { workload: "mutex-contention".into(), lock: lock.into(), threads, round, ..Row::default() };
        Row { ops_per_s: Some(mega * 1e6), ..row }
    }

    fn said(cells: &[(&str, u32, [f64; 3])]) -> Vec<String> {
        let rows: Vec<Row> = cells
            .iter()
            .flat_map(|(lock, threads, figures)| {
                (0..3).map(|round| row(lock, *threads, round, figures[round as usize]))
            })
            .collect();
        sentences(&Board::new(&rows, &Catalogue::new(&[], &["ondeck"], &["std", "pthread"])))
    }

    #[test]
    fn seeds_that_differ_are_named() {
        let seeds = |platform: &str, figures: [f64; 3]| {
            let row = |lock, figures: [f64; 3]| {
                figures.into_iter().zip(0..).map(move |(mega, round)| row(lock, 4, round, mega)).collect::<Vec<Row>>()
            };
            let mut rows = [row("ondeck", [60.0, 60.0, 61.0]), row("tas", figures)].concat();
            rows.iter_mut().for_each(|row| row.platform = platform.into());
            between_seeds(&Board::new(&rows, &Catalogue::default()))
        };
        let told = "Seeds differ by 10 % or more in 1 of 2 figures: tas 5.00 to 20.0 M/s (mutex-contention, 4 threads, \
                    bistable).";
        assert_eq!(seeds("sim", [5.0, 20.0, 20.1].map(|mega: f64| mega.floor())).as_deref(), Some(told));
        let near = "No figure differs between seeds by more than 1.7 %.";
        assert_eq!(seeds("sim", [10.0, 10.0, 10.1]).as_deref(), Some(near));
        assert_eq!(seeds("hardware", [5.0, 20.0, 20.0]), None);
    }

    #[test]
    fn who_keeps_and_who_collapses() {
        let said = said(&[
            ("ondeck", 1, [60.0; 3]),
            ("ondeck", 2, [57.0, 57.1, 56.9]),
            ("ondeck", 4, [58.0; 3]),
            ("std", 1, [60.0; 3]),
            ("std", 2, [9.0; 3]),
            ("std", 4, [10.0; 3]),
            ("pthread", 1, [60.0; 3]),
            ("pthread", 2, [33.0; 3]),
            ("pthread", 4, [12.0; 3]),
        ]);
        assert_eq!(
            said[0],
            "Keeps its speed up to 4 threads (mutex-contention): ondeck (at least 0.95 of one thread)."
        );
        assert_eq!(
            said[1],
            "Falls below half of one thread's speed (mutex-contention): std from 2 threads on (down to 0.15) and pthread at 4 threads \
             (down to 0.20)."
        );
        assert!(
            said[2].contains("2.03 times as fast") && said[2].contains("Lowest: 1.00 (mutex-contention, 1 thread"),
            "{}",
            said[2]
        );
        assert!(said[2].contains("In 1 row the difference may be noise"), "{}", said[2]);
    }

    #[test]
    fn a_lock_that_recovers_is_not_said_to_stay_low() {
        let said = said(&[("std", 1, [10.0; 3]), ("std", 2, [4.0; 3]), ("std", 4, [8.0; 3])]);
        assert_eq!(said[0], "Falls below half of one thread's speed (mutex-contention): std at 2 (down to 0.40).");
    }

    #[test]
    fn rounds_that_disagree_say_nothing() {
        let said = said(&[("ondeck", 2, [10.0, 11.0, 9.0]), ("std", 2, [10.5, 10.0, 10.0])]);
        assert_eq!(
            said,
            ["ondeck is 0.95 times as fast as the best peer, std. That may be noise: the rounds disagree."]
        );
    }

    #[test]
    fn no_rows_no_sentences_but_a_hint() {
        assert_eq!(sentences(&Board::new(&[], &Catalogue::default())), Vec::<String>::new());
        assert_eq!(sentences(&Board::new(&[row("std", 2, 0, 1.0)], &Catalogue::default())).len(), 1);
    }
}
