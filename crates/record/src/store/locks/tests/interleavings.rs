//! Runs threads in each order that they may have, one at a time, where a thread loses its core a few times at most: it
//! does so at a [`step`]. What processors do beyond that is not tried.

use core::cell::RefCell;
use std::eprintln;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::vec::Vec;

std::thread_local! {
    static HERE: RefCell<Option<(Arc<Run>, usize)>> = const { RefCell::new(None) };
}

/// Another thread may come in between here. Nothing in a thread of another test.
pub(crate) fn step() {
    let here = HERE.with_borrow(Clone::clone);
    if let Some((run, me)) = here {
        run.pass(me, false);
    }
}

struct Run {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whose turn it is.
    turn: usize,
    is_over: Vec<bool>,
    /// Which of how many was chosen, each time that there was a choice.
    choices: Vec<(usize, usize)>,
    n_chosen: usize,
    /// So many times a thread may still lose its core.
    n_left: usize,
}

impl State {
    /// Who is next, of all that are not over, if `me` has come to a step or its end.
    fn choose(&mut self, me: Option<usize>) {
        let others = (0..self.is_over.len()).filter(|one| Some(*one) != me && !self.is_over[*one]);
        let options: Vec<usize> = match me {
            Some(me) if !self.is_over[me] => core::iter::once(me).chain(others).take(1 + self.n_left * 9).collect(),
            _ => others.collect(),
        };
        if options.is_empty() {
            return;
        }
        if self.n_chosen == self.choices.len() {
            self.choices.push((0, options.len()));
        }
        self.turn = options[self.choices[self.n_chosen].0];
        self.n_chosen += 1;
        if me.is_some_and(|me| !self.is_over[me] && self.turn != me) {
            self.n_left -= 1;
        }
    }
}

impl Run {
    fn pass(&self, me: usize, is_over: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over[me] = is_over;
        state.choose(Some(me));
        self.changed.notify_all();
        while !is_over && state.turn != me {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn begin(self: &Arc<Self>, me: usize) -> End {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.turn != me {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        HERE.set(Some((self.clone(), me)));
        End
    }
}

/// A thread comes to its end, or panics.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let Some((run, me)) = HERE.take() else { return };
        if std::thread::panicking() {
            eprintln!("thread {me}, with {:?}", run.state.lock().unwrap_or_else(PoisonError::into_inner).choices);
        }
        run.pass(me, true);
    }
}

/// Runs the threads in all orders in which they lose their cores so often at most, each time after `prepare`. How many there
/// are.
pub(super) fn in_each(most: usize, prepare: impl Fn(), threads: &[&(dyn Fn() + Sync)]) -> usize {
    let mut choices = Vec::new();
    for n in 1.. {
        prepare();
        let mut state = State { is_over: std::vec![false; threads.len()], choices, n_left: most, ..State::default() };
        state.choose(None);
        let run = Arc::new(Run { state: Mutex::new(state), changed: Condvar::new() });
        std::thread::scope(|scope| {
            for (me, thread) in threads.iter().enumerate() {
                let run = run.clone();
                scope.spawn(move || {
                    let _end = run.begin(me);
                    thread();
                });
            }
        });
        let mut state = run.state.lock().unwrap_or_else(PoisonError::into_inner);
        choices = core::mem::take(&mut state.choices);
        while choices.last().is_some_and(|(chosen, n)| chosen + 1 == *n) {
            choices.pop();
        }
        let Some((chosen, _)) = choices.last_mut() else { return n };
        *chosen += 1;
    }
    unreachable!("there are fewer")
}
