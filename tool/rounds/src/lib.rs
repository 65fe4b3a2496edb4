//! Runs commands in turn, in rounds, and says which of two kinds was faster.
//!
//! `ondeck try` and `cargo xtask programs` use it. Begin with [`RunningProcess`], a command under way; [`Round`], one time of
//! each kind; [`Comparison`], what comes out.
//!
//! A machine changes more between two runs than most programs gain by another lock. So the kinds take turns, each comes
//! first in some round, and one kind runs twice in each round: then it is known how much its own runs differ.
//!
//! | file | what is in it |
//! |---|---|
//! | `process` | one run: its time, its CPU time and how it ended; nothing of it is left behind |
//! | `compare` | which kind was faster, and whether that is more than chance |
//! | `output` | whether two runs printed the same, and where the first difference is |

mod compare;
mod output;
#[cfg(unix)]
mod process;

pub use compare::{Comparison, Outcome, ROUNDS_NEEDED, Round, compare};
pub use output::{Difference, difference};
#[cfg(unix)]
pub use process::{FinishedProcess, RunFailure, RunningProcess, Usage};

/// The order of `n` runs in a round, as numbers from 0: in `n` rounds that follow each other, each has each place once.
pub fn order(n: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |place| (place + round) % n)
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_run_has_each_place_once() {
        let rounds: Vec<Vec<usize>> = (0..4).map(|round| super::order(3, round).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }
}
