//! What a thread is at, from one event of the timeline to the next.

use ondeck_report::trace::Place;
use ondeck_sim::timeline::{Mark, What};

/// What a thread wants of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Nothing,
    Wants,
    Holds,
}

/// What the scheduler has made of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Being {
    Running { cpu: u32 },
    Ready,
    Asleep,
    Waking,
    Gone,
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    wish: Wish,
    pub(super) being: Being,
}

impl Life {
    /// Before the first event.
    pub(super) const NOT_BEGUN: Life = Life { wish: Wish::Nothing, being: Being::Gone };

    /// After the event. Most events change nothing.
    pub(super) fn after(self, what: &What) -> Life {
        let being = |being| Life { being, ..self };
        let wish = |wish| Life { wish, ..self };
        match *what {
            What::Runs { cpu } => being(Being::Running { cpu }),
            What::Waits => being(Being::Ready),
            What::Sleeps => being(Being::Asleep),
            What::Woken { .. } => being(Being::Waking),
            What::Ends => being(Being::Gone),
            What::Marked(Mark::Asks) => wish(Wish::Wants),
            What::Marked(Mark::Holds) => wish(Wish::Holds),
            What::Marked(Mark::Released) => wish(Wish::Nothing),
            What::Paused { .. } | What::LineMoved { .. } | What::Step(_) => self,
        }
    }

    /// Nowhere is who has not begun or is gone.
    pub(super) fn place(self) -> Option<Place> {
        match (self.wish, self.being) {
            (_, Being::Gone) => None,
            (Wish::Holds, _) => Some(Place::AtBat),
            (Wish::Wants, Being::Asleep) => Some(Place::Dugout),
            (Wish::Wants, _) => Some(Place::Awake),
            (Wish::Nothing, _) => Some(Place::Outside),
        }
    }

    /// What stands on the slice of the thread's track.
    pub(super) fn words(self) -> &'static str {
        match (self.wish, self.being) {
            (_, Being::Gone) => "gone",
            (Wish::Holds, Being::Running { .. }) => "at bat",
            (Wish::Holds, Being::Ready) => "at bat, without a CPU",
            (Wish::Holds, Being::Asleep) => "at bat, asleep",
            (Wish::Holds, Being::Waking) => "at bat, waking",
            (Wish::Wants, Being::Running { .. }) => "awake",
            (Wish::Wants, Being::Ready) => "awake, without a CPU",
            (Wish::Wants, Being::Asleep) => "dugout",
            (Wish::Wants, Being::Waking) => "awake, just woken",
            (Wish::Nothing, Being::Running { .. }) => "outside",
            (Wish::Nothing, Being::Ready) => "outside, without a CPU",
            (Wish::Nothing, Being::Asleep) => "outside, asleep",
            (Wish::Nothing, Being::Waking) => "outside, waking",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_waits_awake_or_asleep() {
        let story = [
            (What::Runs { cpu: 3 }, Some(Place::Outside), "outside"),
            (What::Marked(Mark::Asks), Some(Place::Awake), "awake"),
            (What::Waits, Some(Place::Awake), "awake, without a CPU"),
            (What::Runs { cpu: 1 }, Some(Place::Awake), "awake"),
            (What::Sleeps, Some(Place::Dugout), "dugout"),
            (What::Woken { by: Some(7) }, Some(Place::Awake), "awake, just woken"),
            (What::Runs { cpu: 1 }, Some(Place::Awake), "awake"),
            (What::Marked(Mark::Holds), Some(Place::AtBat), "at bat"),
            (What::Paused { for_ps: 5 }, Some(Place::AtBat), "at bat"),
            (What::Waits, Some(Place::AtBat), "at bat, without a CPU"),
            (What::Runs { cpu: 1 }, Some(Place::AtBat), "at bat"),
            (What::Marked(Mark::Released), Some(Place::Outside), "outside"),
            (What::Sleeps, Some(Place::Outside), "outside, asleep"),
            (What::Ends, None, "gone"),
        ];
        let mut life = Life::NOT_BEGUN;
        assert_eq!(life.place(), None);
        for (what, place, words) in story {
            life = life.after(&what);
            assert_eq!((life.place(), life.words()), (place, words), "after {what:?}");
        }
    }

    #[test]
    fn the_words_begin_with_the_place() {
        for wish in [Wish::Nothing, Wish::Wants, Wish::Holds] {
            for being in [Being::Running { cpu: 0 }, Being::Ready, Being::Asleep, Being::Waking] {
                let life = Life { wish, being };
                let place = life.place().expect("only the gone are nowhere");
                assert!(life.words().starts_with(place.name()), "{life:?}");
            }
        }
    }
}
