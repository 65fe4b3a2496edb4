//! The reader-writer lock: all that a mutex promises, of its writers alone; and readers, upgrades and deadlines beside them.

use crate::{DEADLINE_NS, MODEL, SEARCH, SOON_NS, SPINNING};
use ondeck_conformance::properties::{exclusion, freeing, freeing_timed, timed, tries};
use ondeck_conformance::rwlock::Role::*;
use ondeck_conformance::rwlock::{Writers, freed, freed_quiet, freed_spread, shared, shared_quiet};
use ondeck_conformance::{Harness, LoomHarness, NarrowCounterHarness, ScheduleHarness};

/// With counters by core, and with words as they are.
type Counting<H> = NarrowCounterHarness<H, 0, true>;

mod loom {
    use super::*;

    type H = LoomHarness;
    type W = Writers<<H as Harness>::Platform>;

    #[test]
    fn writers_alone() {
        MODEL.reaching(&["doze", "seize"]).check(|| exclusion::<H, W>(2, 2));
        MODEL.preemptions(2).check(|| exclusion::<H, W>(3, 1));
        MODEL.preemptions(2).check(|| tries::<H, W>(3, 1));
        MODEL.expiring().preemptions(2).reaching(&["reopen"]).check(|| timed::<H, W>(2, 1, 2, DEADLINE_NS));
        SPINNING.reaching(&["close"]).check(|| exclusion::<H, W>(2, 2));
    }

    #[test]
    fn readers_and_a_writer() {
        MODEL.reaching(&["turn_away", "admit", "doze"]).check(|| shared::<H>(&[Read, Write], 2));
        MODEL.preemptions(2).reaching(&["turn_away", "close"]).check(|| shared::<H>(&[Read, Read, Write], 1));
        MODEL.preemptions(2).check(|| shared::<H>(&[Read, Write, Write], 1));
        MODEL.preemptions(2).check(|| shared::<H>(&[ReadTwice, Write], 2));
        SPINNING.check(|| shared::<H>(&[Read, Write], 2));
    }

    #[test]
    fn tries_disturb_nobody() {
        MODEL.preemptions(2).check(|| shared::<H>(&[TryRead, Write, Read], 1));
        MODEL.preemptions(2).check(|| shared::<H>(&[TryWrite, Write, Read], 1));
    }

    #[test]
    fn deadlines() {
        let model = MODEL.expiring().preemptions(2);
        model.reaching(&["leave"]).check(|| shared::<H>(&[ReadUntil(DEADLINE_NS), Write], 2));
        model.reaching(&["reopen", "let_in"]).check(|| shared::<H>(&[WriteUntil(DEADLINE_NS), Read, Read], 1));
        model.check(|| shared::<H>(&[WriteUntil(DEADLINE_NS), ReadUntil(DEADLINE_NS), Write], 1));
    }

    #[test]
    fn upgrades() {
        let model = MODEL.preemptions(2);
        model.reaching(&["reserve", "close", "seize"]).check(|| shared::<H>(&[Upgrade, Read], 2));
        model.check(|| shared::<H>(&[Upgrade, Write], 2));
        model.check(|| shared::<H>(&[Upgrade, Write, Read], 1));
        model.check(|| shared::<H>(&[Upgrade, Reserve], 2));
        model.check(|| shared::<H>(&[Upgrade, Upgrade], 1));
        model.check(|| shared::<H>(&[TryUpgrade, Unreserve, Write], 1));
        MODEL.preemptions(1).check(|| shared::<H>(&[UpAndDown, Downgrade, Read], 1));
        let expiring = MODEL.expiring().preemptions(1);
        expiring.check(|| shared::<H>(&[UpgradeUntil(DEADLINE_NS), Read, Write], 1));
        expiring.check(|| shared::<H>(&[ReserveUntil(DEADLINE_NS), Upgrade, Read], 1));
    }

    #[test]
    fn fair_releases() {
        let model = MODEL.preemptions(2);
        model.check(|| shared::<H>(&[WriteFairly, Write], 2));
        model.check(|| shared::<H>(&[WriteFairly, Reserve, Read], 1));
        model.check(|| shared::<H>(&[ReadFairly, Write, Write], 1));
        model.check(|| shared::<H>(&[ReserveFairly, Write, Reserve], 1));
        SPINNING.check(|| shared::<H>(&[WriteFairly, WriteFairly], 2));
    }

    #[test]
    fn free_after_release() {
        MODEL.preemptions(2).check(|| freeing::<H, W>(3));
        MODEL.expiring().preemptions(1).check(|| freeing_timed::<H, W>(3, DEADLINE_NS));
        MODEL.preemptions(2).check(|| freed::<H>(2, 0));
        MODEL.preemptions(1).check(|| freed::<H>(2, 1));
    }
}

/// A lock whose readers count by core, and a writer that comes.
mod spread {
    use super::*;

    type H = Counting<LoomHarness>;

    #[test]
    fn readers_and_a_writer() {
        let all = [
            ["spread", "count", "close", "expel", "fold", "seize"].as_slice(),
            &["count", "expel", "exit", "fold"],
            &["enter", "spread", "count", "expel"],
        ];
        MODEL.preemptions(2).check_containing(&all, || shared::<H>(&[Spread, Write], 2));
        MODEL.preemptions(2).reaching(&["fold", "turn_away"]).check(|| shared::<H>(&[Spread, Read, Write], 1));
        MODEL.preemptions(2).reaching(&["fold"]).check(|| shared::<H>(&[Spread, Write, Write], 1));
    }

    #[test]
    fn a_reader_folds_it() {
        MODEL.preemptions(2).reaching(&["gather", "fold", "close"]).check(|| shared::<H>(&[Spread, Compact, Write], 1));
        let all = [["gather", "close", "doze", "exit", "fold", "seize"].as_slice()];
        MODEL.preemptions(3).check_containing(&all, || shared::<H>(&[Spread, Compact, Write], 1));
        MODEL.preemptions(1).reaching(&["gather"]).check(|| shared::<H>(&[Spread, Compact, Upgrade], 1));
    }

    #[test]
    fn tries_and_upgrades() {
        MODEL.preemptions(2).reaching(&["fold", "reopen"]).check(|| shared::<H>(&[Spread, TryWrite], 2));
        MODEL.preemptions(2).reaching(&["fold"]).check(|| shared::<H>(&[Spread, TryRead, Write], 1));
        MODEL.preemptions(2).reaching(&["fold"]).check(|| shared::<H>(&[Spread, Upgrade], 2));
        MODEL.preemptions(1).reaching(&["fold"]).check(|| shared::<H>(&[Spread, Upgrade, Write], 1));
        MODEL.preemptions(1).reaching(&["fold"]).check(|| shared::<H>(&[Spread, TryUpgrade, Downgrade], 1));
        let expiring = MODEL.expiring().preemptions(1);
        expiring.reaching(&["fold"]).check(|| shared::<H>(&[Spread, WriteUntil(DEADLINE_NS), Read], 1));
    }

    #[test]
    fn free_after_release() {
        MODEL.preemptions(2).reaching(&["fold"]).check(|| freed_spread::<H>(2, 0));
        MODEL.preemptions(1).reaching(&["fold"]).check(|| freed_spread::<H>(1, 1));
    }
}

/// A lock whose writers leave without a locked instruction at first.
mod quiet {
    use super::*;

    type H = Counting<LoomHarness>;
    type W = Writers<<H as Harness>::Platform>;

    /// A knock is undone by a store that was under way; found by the release; and settled, which ends in a sleep.
    #[test]
    fn writers_alone() {
        let all = [
            ["slip", "knock", "admit"].as_slice(),
            &["knock", "expel", "settle", "doze", "admit", "seize"],
            &["knock", "slip", "claim", "slip"],
        ];
        MODEL.check_containing(&all, || exclusion::<H, W>(2, 2));
        MODEL.preemptions(2).reaching(&["settle", "slip"]).check(|| exclusion::<H, W>(3, 1));
        MODEL.preemptions(2).reaching(&["slip"]).check(|| tries::<H, W>(3, 1));
        let expiring = MODEL.expiring().preemptions(2);
        expiring.reaching(&["settle", "reopen"]).check(|| timed::<H, W>(2, 1, 2, DEADLINE_NS));
        SPINNING.reaching(&["settle"]).check(|| exclusion::<H, W>(2, 2));
    }

    #[test]
    fn readers_and_a_writer() {
        let all = [
            ["slip", "enter", "slip"].as_slice(),
            &["enter", "knock", "expel", "settle", "enter", "turn_away", "admit"],
            &["enter", "admit", "enter", "exit"],
        ];
        MODEL.check_containing(&all, || shared_quiet::<H>(&[Read, Write], 2));
        MODEL.preemptions(2).reaching(&["settle"]).check(|| shared_quiet::<H>(&[Read, Read, Write], 1));
        MODEL.preemptions(2).reaching(&["settle"]).check(|| shared_quiet::<H>(&[Read, Write, Write], 1));
        MODEL.preemptions(2).reaching(&["hush", "settle"]).check(|| shared_quiet::<H>(&[Hush, Read], 2));
        MODEL.preemptions(1).reaching(&["settle"]).check(|| shared_quiet::<H>(&[Hush, Read, Write], 1));
        SPINNING.reaching(&["settle"]).check(|| shared_quiet::<H>(&[Read, Write], 2));
    }

    #[test]
    fn deadlines_and_tries() {
        let model = MODEL.expiring().preemptions(2);
        model.reaching(&["slip"]).check(|| shared_quiet::<H>(&[ReadUntil(DEADLINE_NS), Write], 2));
        let model = MODEL.expiring().preemptions(1);
        model.check(|| shared_quiet::<H>(&[WriteUntil(DEADLINE_NS), ReadUntil(DEADLINE_NS), Write], 1));
        MODEL.preemptions(1).check(|| shared_quiet::<H>(&[TryRead, Write, Read], 1));
        MODEL.preemptions(1).check(|| shared_quiet::<H>(&[TryWrite, Write, Read], 1));
    }

    #[test]
    fn upgrades() {
        let model = MODEL.preemptions(2);
        model.reaching(&["reserve", "slip"]).check(|| shared_quiet::<H>(&[Upgrade, Read], 2));
        model.reaching(&["settle"]).check(|| shared_quiet::<H>(&[Upgrade, Write], 2));
        MODEL.preemptions(1).check(|| shared_quiet::<H>(&[TryUpgrade, Reserve, Write], 1));
        MODEL.preemptions(1).check(|| shared_quiet::<H>(&[UpAndDown, Downgrade, Read], 1));
        MODEL.preemptions(1).check(|| shared_quiet::<H>(&[Spread, Hush, Write], 1));
        MODEL.preemptions(1).check(|| shared_quiet::<H>(&[WriteFairly, Write, Read], 1));
    }

    #[test]
    fn free_after_release() {
        MODEL.preemptions(1).reaching(&["slip"]).check(|| freeing::<H, W>(3));
        MODEL.expiring().preemptions(1).reaching(&["slip"]).check(|| freeing_timed::<H, W>(3, DEADLINE_NS));
        MODEL.preemptions(2).reaching(&["slip"]).check(|| freed_quiet::<H>(2, 0));
        MODEL.preemptions(1).reaching(&["slip"]).check(|| freed_quiet::<H>(2, 1));
    }
}

mod broad {
    use super::*;

    type H = ScheduleHarness;
    type W = Writers<<H as Harness>::Platform>;

    #[test]
    fn writers_alone() {
        SEARCH.check(|| exclusion::<H, W>(5, 5));
        SEARCH.check(|| timed::<H, W>(6, 4, 3, SOON_NS));
    }

    #[test]
    fn all_roles() {
        SEARCH.check(|| shared::<H>(&[Read, Write, Read, Upgrade, Read, Downgrade], 3));
        SEARCH.check(|| shared::<H>(&[ReadTwice, UpAndDown, Reserve, Unreserve, TryUpgrade, Write], 3));
        let roles =
            [WriteUntil(SOON_NS), ReadUntil(SOON_NS), Read, UpgradeUntil(SOON_NS), ReserveUntil(SOON_NS), Write];
        SEARCH.check(move || shared::<H>(&roles, 3));
        SEARCH.check(|| shared::<H>(&[TryRead, TryWrite, Read, Write, Read, Read, Write], 4));
        SEARCH.check(|| shared::<H>(&[ReadFairly, WriteFairly, ReserveFairly, Read, Write, Upgrade], 3));
        SEARCH.check(|| freed::<H>(5, 2));
    }

    #[test]
    fn all_roles_with_counters() {
        type H = Counting<ScheduleHarness>;
        SEARCH.check(|| shared::<H>(&[Spread, Write, Compact, Upgrade, Spread, Downgrade], 3));
        SEARCH.check(|| shared::<H>(&[ReadTwice, UpAndDown, Spread, Unreserve, TryUpgrade, TryWrite], 3));
        let roles =
            [WriteUntil(SOON_NS), ReadUntil(SOON_NS), Spread, UpgradeUntil(SOON_NS), ReserveUntil(SOON_NS), Write];
        SEARCH.check(move || shared::<H>(&roles, 3));
        SEARCH.check(|| shared::<H>(&[Spread, ReadFairly, WriteFairly, ReserveFairly, Upgrade], 3));
        SEARCH.check(|| freed_spread::<H>(5, 2));
    }

    #[test]
    fn quiet_holds() {
        type H = Counting<ScheduleHarness>;
        type W = Writers<<H as Harness>::Platform>;
        let all = [["slip", "knock", "settle"].as_slice()];
        SEARCH.check_containing(&all, || exclusion::<H, W>(5, 5));
        SEARCH.check_containing(&all, || timed::<H, W>(6, 4, 3, SOON_NS));
        SEARCH.check(|| shared_quiet::<H>(&[Hush, Read, Hush, Upgrade, Read, Downgrade], 3));
        SEARCH.check(|| shared_quiet::<H>(&[Hush, ReadTwice, UpAndDown, Reserve, TryUpgrade, TryWrite], 3));
        let roles = [WriteUntil(SOON_NS), ReadUntil(SOON_NS), Hush, UpgradeUntil(SOON_NS), ReserveUntil(SOON_NS), Read];
        SEARCH.check(move || shared_quiet::<H>(&roles, 3));
        SEARCH.check(|| shared_quiet::<H>(&[Hush, ReadFairly, WriteFairly, ReserveFairly, Spread], 3));
        SEARCH.check(|| freed_quiet::<H>(5, 2));
    }
}
