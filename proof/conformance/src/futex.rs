//! The kernel's table of sleepers, for harnesses whose threads are coroutines of one real thread.
//!
//! Between two points where the model checker may switch coroutines everything is atomic, so plain data will do. That
//! also keeps the table from adding happens-before edges that no kernel promises.

/// Who sleeps on which address, oldest first. `T` is how the harness unparks a thread.
pub(crate) struct Futex<T> {
    sleepers: Vec<Sleeper<T>>,
    next_ticket: u64,
}

struct Sleeper<T> {
    address: usize,
    ticket: Ticket,
    thread: T,
}

/// One stay in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl<T> Futex<T> {
    pub(crate) fn new() -> Self {
        Futex { sleepers: Vec::new(), next_ticket: 0 }
    }

    /// Puts `thread` to the end of those that sleep on `address`.
    pub(crate) fn enter(&mut self, address: usize, thread: T) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.sleepers.push(Sleeper { address, ticket, thread });
        ticket
    }

    /// Whether nobody has waked this sleeper yet.
    pub(crate) fn sleeps(&self, ticket: Ticket) -> bool {
        self.sleepers.iter().any(|sleeper| sleeper.ticket == ticket)
    }

    /// Ends a stay from the sleeper's side; false if a wake was faster.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> bool {
        let position = self.sleepers.iter().position(|sleeper| sleeper.ticket == ticket);
        position.map(|at| self.sleepers.remove(at)).is_some()
    }

    /// Takes out one sleeper on `address`: the one that `pick` names out of so many.
    pub(crate) fn take(&mut self, address: usize, pick: impl FnOnce(usize) -> usize) -> Option<T> {
        let here: Vec<usize> = (0..self.sleepers.len()).filter(|&at| self.sleepers[at].address == address).collect();
        if here.is_empty() {
            return None;
        }
        Some(self.sleepers.remove(here[pick(here.len())]).thread)
    }
}
