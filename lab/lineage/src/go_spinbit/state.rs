//! Sections 3 and 11 of go-spinbit: the word as a value.

use core::fmt;

/// The word. Nodes appear as addresses; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State(pub(super) u64);

impl State {
    pub(super) const FREE: State = State(0);
    pub(super) const LOCKED: u64 = 0x001;
    pub(super) const SLEEPING: u64 = 0x002;
    pub(super) const SPINNING: u64 = 0x100;
    pub(super) const LATCHED: u64 = 0x200;
    pub(super) const FLAGS: u64 = 0x3FF;

    pub(super) fn is_locked(self) -> bool {
        self.0 & State::LOCKED != 0
    }

    pub(super) fn hints_at_sleepers(self) -> bool {
        self.0 & State::SLEEPING != 0
    }

    pub(super) fn has_spinner(self) -> bool {
        self.0 & State::SPINNING != 0
    }

    pub(super) fn is_latched(self) -> bool {
        self.0 & State::LATCHED != 0
    }

    pub(super) fn top(self) -> u64 {
        self.0 & !State::FLAGS
    }

    pub(super) fn has_sleepers(self) -> bool {
        self.top() != 0
    }

    pub(super) fn with_spinner(self) -> State {
        State(self.0 | State::SPINNING)
    }

    /// Held by the waiter that was on deck. The hint may be missing, and this is the last who has to know.
    pub(super) fn grabbed_from_deck(self) -> State {
        let kept = self.0 & !(State::SPINNING | State::SLEEPING) | State::LOCKED;
        State(if self.has_sleepers() { kept | State::SLEEPING } else { kept })
    }

    /// With `node` on top of the stack; a waiter that was on deck is so no more.
    pub(super) fn pushed(self, node: u64, from_deck: bool) -> State {
        let flags = self.0 & State::FLAGS | State::SLEEPING;
        State(node | if from_deck { flags & !State::SPINNING } else { flags })
    }

    /// None if there is nobody to wake, or if somebody else is at it.
    pub(super) fn latched(self) -> Option<State> {
        (self.has_sleepers() && !self.is_latched()).then_some(State(self.0 | State::LATCHED))
    }

    /// Without the queue latch, and with `top` on top of the stack.
    pub(super) fn popped(self, top: u64) -> State {
        State(top | self.0 & State::FLAGS & !State::LATCHED)
    }
}

const _: () = assert!(State::LOCKED | State::SLEEPING | State::SPINNING | State::LATCHED == 0x303);
const _: () = assert!(State::FLAGS & 0x303 == 0x303);

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_locked() { "held" } else { "free" })?;
        let notes = [
            (self.hints_at_sleepers(), ", sleeping"),
            (self.has_spinner(), ", spinning"),
            (self.is_latched(), ", latched"),
            (self.has_sleepers(), ", sleepers"),
        ];
        notes.iter().filter(|(holds, _)| *holds).try_for_each(|(_, note)| f.write_str(note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [u64; 4] = [0, 1 << 10, 3 << 10, !State::FLAGS];

    /// Every combination of the flags, with nobody and with several nodes on top.
    fn states() -> impl Iterator<Item = State> {
        let flags = (0..=State::FLAGS).filter(|bits| bits & !0x303 == 0);
        flags.flat_map(|flags| NODES.map(|top| State(top | flags)))
    }

    #[test]
    fn a_claim_changes_one_flag() {
        for state in states() {
            assert_eq!(state.with_spinner().0 & !State::SPINNING, state.0 & !State::SPINNING);
            assert!(state.with_spinner().has_spinner());
        }
    }

    #[test]
    fn a_grab_from_deck_ends_the_spin_and_says_whether_there_are_sleepers() {
        for state in states() {
            let next = state.grabbed_from_deck();
            assert!(next.is_locked() && !next.has_spinner());
            assert_eq!(next.hints_at_sleepers(), state.has_sleepers());
            assert_eq!((next.top(), next.is_latched()), (state.top(), state.is_latched()));
        }
    }

    #[test]
    fn a_push_replaces_the_top_and_ends_only_its_own_spin() {
        for state in states() {
            for (node, from_deck) in [(5 << 10, false), (5 << 10, true)] {
                let next = state.pushed(node, from_deck);
                assert_eq!(next.top(), node);
                assert!(next.hints_at_sleepers());
                assert_eq!(next.has_spinner(), state.has_spinner() && !from_deck);
                assert_eq!((next.is_locked(), next.is_latched()), (state.is_locked(), state.is_latched()));
            }
        }
    }

    #[test]
    fn the_queue_latch_is_exclusive_and_needs_a_sleeper() {
        for state in states() {
            match state.latched() {
                None => assert!(state.is_latched() || !state.has_sleepers()),
                Some(next) => assert_eq!((next.0, state.is_latched()), (state.0 | State::LATCHED, false)),
            }
        }
    }

    #[test]
    fn a_pop_gives_the_queue_latch_back_and_keeps_the_other_flags() {
        for state in states() {
            for top in NODES {
                let next = state.popped(top);
                assert_eq!((next.top(), next.is_latched()), (top, false));
                assert_eq!(next.0 & 0x103, state.0 & 0x103);
            }
        }
    }

    #[test]
    fn free_is_the_word_without_any_bit() {
        for state in states() {
            assert_eq!(state == State::FREE, state.0 == 0);
        }
    }
}
