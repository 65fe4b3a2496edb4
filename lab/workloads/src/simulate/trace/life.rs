//! What a thread is at, from one event of the timeline to the next.

use super::header::Place;
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

    /// What stands on the slice of the thread's track: its place, and what keeps it from running there.
    pub(super) fn words(self) -> [&'static str; 2] {
        let more = match (self.wish, self.being) {
            (_, SchedState::Running { .. } | SchedState::Gone) | (LockIntent::Wants, SchedState::Asleep) => "",
            (_, SchedState::Ready) => ", without a CPU",
            (_, SchedState::Asleep) => ", asleep",
            (LockIntent::Wants, SchedState::Waking) => ", just woken",
            (_, SchedState::Waking) => ", waking",
        };
        [self.place().map_or("gone", Place::name), more]
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
            assert_eq!((life.place(), life.words().concat().as_str()), (place, words), "after {what:?}");
        }
    }
}
