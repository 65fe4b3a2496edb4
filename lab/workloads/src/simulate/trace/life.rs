//! What a thread is at, from one event of the timeline to the next.

use ondeck_report::trace::Place;
use ondeck_sim::timeline::{Mark, ThreadEvent};

/// What a thread wants of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockIntent {
    Nothing,
    Wants,
    Holds,
}

/// What the scheduler has made of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchedState {
    Running { cpu: u32 },
    Ready,
    Asleep,
    Waking,
    Gone,
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadState {
    wish: LockIntent,
    pub(super) being: SchedState,
}

impl ThreadState {
    /// Before the first event.
    pub(super) const NOT_BEGUN: ThreadState = ThreadState { wish: LockIntent::Nothing, being: SchedState::Gone };

    /// After the event. Most events change nothing.
    pub(super) fn after(self, what: &ThreadEvent) -> ThreadState {
        let being = |being| ThreadState { being, ..self };
        let wish = |wish| ThreadState { wish, ..self };
        match *what {
            ThreadEvent::Runs { cpu } => being(SchedState::Running { cpu }),
            ThreadEvent::Waits => being(SchedState::Ready),
            ThreadEvent::Sleeps => being(SchedState::Asleep),
            ThreadEvent::Woken { .. } => being(SchedState::Waking),
            ThreadEvent::Ends => being(SchedState::Gone),
            ThreadEvent::Marked(Mark::Asks) => wish(LockIntent::Wants),
            ThreadEvent::Marked(Mark::Holds) => wish(LockIntent::Holds),
            ThreadEvent::Marked(Mark::Released) => wish(LockIntent::Nothing),
            ThreadEvent::Paused { .. } | ThreadEvent::LineMoved { .. } | ThreadEvent::Step(_) => self,
        }
    }

    /// Nowhere is who has not begun or is gone.
    pub(super) fn place(self) -> Option<Place> {
        match (self.wish, self.being) {
            (_, SchedState::Gone) => None,
            (LockIntent::Holds, _) => Some(Place::AtBat),
            (LockIntent::Wants, SchedState::Asleep) => Some(Place::Dugout),
            (LockIntent::Wants, _) => Some(Place::Awake),
            (LockIntent::Nothing, _) => Some(Place::Outside),
        }
    }

    /// What stands on the slice of the thread's track.
    pub(super) fn words(self) -> &'static str {
        match (self.wish, self.being) {
            (_, SchedState::Gone) => "gone",
            (LockIntent::Holds, SchedState::Running { .. }) => "at bat",
            (LockIntent::Holds, SchedState::Ready) => "at bat, without a CPU",
            (LockIntent::Holds, SchedState::Asleep) => "at bat, asleep",
            (LockIntent::Holds, SchedState::Waking) => "at bat, waking",
            (LockIntent::Wants, SchedState::Running { .. }) => "awake",
            (LockIntent::Wants, SchedState::Ready) => "awake, without a CPU",
            (LockIntent::Wants, SchedState::Asleep) => "dugout",
            (LockIntent::Wants, SchedState::Waking) => "awake, just woken",
            (LockIntent::Nothing, SchedState::Running { .. }) => "outside",
            (LockIntent::Nothing, SchedState::Ready) => "outside, without a CPU",
            (LockIntent::Nothing, SchedState::Asleep) => "outside, asleep",
            (LockIntent::Nothing, SchedState::Waking) => "outside, waking",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_waits_awake_or_asleep() {
        let story = [
            (ThreadEvent::Runs { cpu: 3 }, Some(Place::Outside), "outside"),
            (ThreadEvent::Marked(Mark::Asks), Some(Place::Awake), "awake"),
            (ThreadEvent::Waits, Some(Place::Awake), "awake, without a CPU"),
            (ThreadEvent::Runs { cpu: 1 }, Some(Place::Awake), "awake"),
            (ThreadEvent::Sleeps, Some(Place::Dugout), "dugout"),
            (ThreadEvent::Woken { by: Some(7) }, Some(Place::Awake), "awake, just woken"),
            (ThreadEvent::Runs { cpu: 1 }, Some(Place::Awake), "awake"),
            (ThreadEvent::Marked(Mark::Holds), Some(Place::AtBat), "at bat"),
            (ThreadEvent::Paused { for_ps: 5 }, Some(Place::AtBat), "at bat"),
            (ThreadEvent::Waits, Some(Place::AtBat), "at bat, without a CPU"),
            (ThreadEvent::Runs { cpu: 1 }, Some(Place::AtBat), "at bat"),
            (ThreadEvent::Marked(Mark::Released), Some(Place::Outside), "outside"),
            (ThreadEvent::Sleeps, Some(Place::Outside), "outside, asleep"),
            (ThreadEvent::Ends, None, "gone"),
        ];
        let mut life = ThreadState::NOT_BEGUN;
        assert_eq!(life.place(), None);
        for (what, place, words) in story {
            life = life.after(&what);
            assert_eq!((life.place(), life.words()), (place, words), "after {what:?}");
        }
    }

    #[test]
    fn the_words_begin_with_the_place() {
        for wish in [LockIntent::Nothing, LockIntent::Wants, LockIntent::Holds] {
            for being in [SchedState::Running { cpu: 0 }, SchedState::Ready, SchedState::Asleep, SchedState::Waking] {
                let life = ThreadState { wish, being };
                let place = life.place().expect("only the gone are nowhere");
                assert!(life.words().starts_with(place.name()), "{life:?}");
            }
        }
    }
}
