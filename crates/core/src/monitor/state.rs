//! The state word of the monitor.

const OWNER_BITS: u32 = 27;
const LEVEL_BITS: u32 = 3;

/// Number of the thread inside; 0 if nobody is.
const OWNER: u32 = (1 << OWNER_BITS) - 1;
/// One level beyond the first.
const LEVEL: u32 = 1 << OWNER_BITS;
const LEVELS: u32 = ((1 << LEVEL_BITS) - 1) << OWNER_BITS;
const WANTED: u32 = 1 << (OWNER_BITS + LEVEL_BITS);
const INFLATED: u32 = 1 << 31;

const _: () = assert!(OWNER ^ LEVELS ^ WANTED ^ INFLATED == u32::MAX, "the fields are disjoint and fill the word");

/// The greatest thread number that fits into a thin word.
pub(super) const MOST_OWNER: u32 = OWNER;

/// A value of the word: free, thin (owner, levels, perhaps WANTED), or INFLATED with the index of a side object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(pub(super) u32);

impl State {
    pub(super) const FREE: State = State(0);

    /// Entered once by the thread `owner`, which fits.
    pub(super) const fn thin(owner: u32) -> State {
        debug_assert!(owner != 0 && owner <= OWNER, "I1: a free word names nobody, and no owner reaches other fields");
        State(owner)
    }

    /// Fat, with the side object `index`.
    pub(super) const fn inflated(index: u32) -> State {
        debug_assert!(index < INFLATED, "I1: an index leaves the flag alone");
        State(INFLATED | index)
    }

    pub(super) const fn is_free(self) -> bool {
        self.0 == 0
    }

    /// Index of the side object; `None` while thin or free.
    pub(super) const fn side(self) -> Option<u32> {
        if self.0 & INFLATED == 0 { None } else { Some(self.0 & !INFLATED) }
    }

    /// The thread inside, according to a thin word.
    pub(super) const fn owner(self) -> u32 {
        self.0 & OWNER
    }

    /// Levels beyond the first, according to a thin word.
    pub(super) const fn levels(self) -> u32 {
        (self.0 & LEVELS) >> OWNER_BITS
    }

    /// Whether a thin word shows that somebody may sleep on it.
    pub(super) const fn is_wanted(self) -> bool {
        self.0 & (WANTED | INFLATED) == WANTED
    }

    pub(super) const fn wanted(self) -> State {
        State(self.0 | WANTED)
    }

    /// One level deeper; `None` if no more fit.
    pub(super) const fn nested(self) -> Option<State> {
        if self.0 & LEVELS == LEVELS { None } else { Some(State(self.0 + LEVEL)) }
    }

    /// One level less; `None` in the first.
    pub(super) const fn unnested(self) -> Option<State> {
        if self.0 & LEVELS == 0 { None } else { Some(State(self.0 - LEVEL)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every thin word with one of some owners: all levels, wanted or not.
    fn thin_words() -> impl Iterator<Item = (u32, u32, bool, State)> {
        let owners = [1, 2, 0x0555_5555, MOST_OWNER - 1, MOST_OWNER];
        owners.into_iter().flat_map(|owner| {
            (0..8).flat_map(move |levels| {
                [false, true].map(|wanted| {
                    let state = State(State::thin(owner).0 + levels * LEVEL);
                    (owner, levels, wanted, if wanted { state.wanted() } else { state })
                })
            })
        })
    }

    #[test]
    fn a_thin_word_keeps_its_fields_apart() {
        for (owner, levels, wanted, state) in thin_words() {
            assert_eq!((state.owner(), state.levels(), state.is_wanted()), (owner, levels, wanted));
            assert_eq!((state.side(), state.is_free()), (None, false));
            assert_eq!(state.wanted().wanted(), state.wanted());
        }
    }

    #[test]
    fn levels_go_up_and_down_and_touch_nothing_else() {
        for (owner, levels, wanted, state) in thin_words() {
            match state.nested() {
                Some(deeper) => {
                    assert_eq!((deeper.owner(), deeper.levels(), deeper.is_wanted()), (owner, levels + 1, wanted));
                    assert_eq!(deeper.unnested(), Some(state));
                }
                None => assert_eq!(levels, 7),
            }
            assert_eq!(state.unnested().is_none(), levels == 0);
        }
    }

    #[test]
    fn a_fat_word_is_its_index() {
        for index in [0, 1, WANTED - 1, WANTED, WANTED | 5, INFLATED - 1] {
            let state = State::inflated(index);
            assert_eq!(state.side(), Some(index));
            assert!(!state.is_wanted() && !state.is_free());
        }
        assert!(State::FREE.is_free() && State::FREE.side().is_none());
    }
}
