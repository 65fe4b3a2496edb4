//! What is known of each lock: the last second, and how much was waited in each of the last sixty.

use ondeck_profile::{Lock, Profile, busiest, hang, kind_of, largest_cause};
use ondeck_report::wording::{percent, plain};
use std::collections::VecDeque;

/// So many snapshots are kept, one a second.
pub(super) const KEPT: usize = 60;

/// What a snapshot says of a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// Process and address.
    id: (u32, u64),
    pub(super) name: String,
    /// Threads that waited, on average.
    pub(super) waiting: f64,
    pub(super) waits_per_s: f64,
    pub(super) longest_ns: f64,
    /// Who waited most, and with which part; `-` if nobody did.
    pub(super) waiter: String,
    /// Who held it meanwhile; where only that is known, who woke them.
    pub(super) holder: String,
    /// What that did, or why nobody had it: the largest cause with its part; `-` where it is not known.
    pub(super) cause: String,
    /// Threads that waited, on average, in each of the last seconds; the last one at the end.
    pub(super) past: VecDeque<f64>,
}

impl Row {
    fn of(id: (u32, u64), profile: &Profile, lock: &Lock) -> Row {
        let seconds = profile.seconds.max(f64::MIN_POSITIVE);
        let top = |sites| {
            busiest(profile, sites).map_or("-".to_owned(), |(name, part)| format!("{} {}", plain(&name), percent(part)))
        };
        let holder = match lock.wakers.is_empty() {
            false if lock.holders.is_empty() => format!("woken by {}", top(&lock.wakers)),
            _ => top(&lock.holders),
        };
        let cause = largest_cause(profile, lock);
        Row {
            cause: cause.map_or("-".to_owned(), |(cause, part)| format!("{} {}", percent(part), plain(&cause))),
            id,
            name: plain(&lock.name),
            waiting: lock.wait_ns / 1e9 / seconds,
            waits_per_s: lock.waits / seconds,
            longest_ns: lock.longest_ns as f64,
            waiter: top(&lock.waiters),
            holder,
            past: VecDeque::new(),
        }
    }

    /// A second in which nobody waited.
    fn idle(self) -> Row {
        let [waiter, holder, cause] = [(); 3].map(|()| "-".to_owned());
        Row { id: self.id, name: self.name, waiter, holder, cause, past: self.past, ..Row::default() }
    }
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// Most waiting in the last second, then in the last minute.
    #[default]
    Waiting,
    /// Most waits in the last second.
    Waits,
    /// The longest wait that ended in the last second.
    Longest,
    Name,
}

impl Order {
    /// All of them, each followed by what one key press makes of it.
    const ALL: [Order; 4] = [Order::Waiting, Order::Waits, Order::Longest, Order::Name];

    pub(super) fn next(self) -> Order {
        Order::ALL[(self as usize + 1) % Order::ALL.len()]
    }

    /// As its column is called.
    pub(super) fn column(self) -> &'static str {
        ["waiting", "waits/s", "longest", "lock"][self as usize]
    }
}

/// All locks that were waited for in the last minute.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) rows: Vec<Row>,
    /// Snapshots until now.
    pub(super) n_snapshots: usize,
    /// Who waits for whom, if threads hang.
    pub(super) hang: Option<String>,
    order: Order,
    each_lock: bool,
}

impl History {
    /// Without a snapshot. Locks of one kind may be one in all that follow, or each by itself.
    pub(super) fn new(each_lock: bool) -> History {
        History { each_lock, ..History::default() }
    }

    /// Adds a snapshot.
    pub(super) fn add(&mut self, profile: &Profile) {
        self.n_snapshots += 1;
        self.hang = hang(profile).map(|hang| plain(&hang));
        let mut old = std::mem::take(&mut self.rows);
        for lock in profile.locks.iter().filter(|lock| lock.wait_ns > 0.0) {
            let pid = profile.processes.get(lock.process as usize).map_or(0, |process| process.pid);
            let id = (pid, lock.address);
            let mut row = Row::of(id, profile, lock);
            // Of two locks that had one address in one second, one has the past.
            // Of one kind, others may have been waited for in the second before.
            let is_kind = |row: &Row| row.id.0 == pid && kind_of(&row.name) == kind_of(&lock.name);
            let same = old.iter().position(is_kind).filter(|_| !self.each_lock);
            if let Some(at) = same.or_else(|| old.iter().position(|row| row.id == id)) {
                row.past = old.swap_remove(at).past;
            }
            self.rows.push(with(row, None));
        }
        self.rows.extend(old.into_iter().map(Row::idle).map(|row| with(row, Some(0.0))));
        self.rows.retain(|row| row.past.iter().any(|waiting| *waiting > 0.0));
        self.sort_by(self.order);
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    /// Changes the order, of these rows and of what comes.
    pub(super) fn sort_by(&mut self, order: Order) {
        self.order = order;
        let past = |row: &Row| row.past.iter().sum::<f64>();
        self.rows.sort_by(|one, other| {
            let by_column = match order {
                Order::Waiting => other.waiting.total_cmp(&one.waiting),
                Order::Waits => other.waits_per_s.total_cmp(&one.waits_per_s),
                Order::Longest => other.longest_ns.total_cmp(&one.longest_ns),
                Order::Name => one.name.cmp(&other.name),
            };
            by_column.then(past(other).total_cmp(&past(one))).then(one.name.cmp(&other.name))
        });
    }

    /// Threads that waited for any lock in the last second, on average, and their waits a second.
    pub(super) fn sums(&self) -> (f64, f64) {
        // The sum of no numbers is -0, which nobody wants to read.
        let sum = |of: fn(&Row) -> f64| self.rows.iter().map(of).fold(0.0, |sum, one| sum + one);
        (sum(|row| row.waiting), sum(|row| row.waits_per_s))
    }

    /// The most that was waited for one lock in a second.
    pub(super) fn most(&self) -> f64 {
        self.rows.iter().flat_map(|row| &row.past).copied().fold(0.0, f64::max)
    }
}

/// With one more second in its past: this figure, or its own.
fn with(mut row: Row, waiting: Option<f64>) -> Row {
    row.past.push_back(waiting.unwrap_or(row.waiting));
    while row.past.len() > KEPT {
        row.past.pop_front();
    }
    row
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ondeck_profile::{Frame, Process, Site};

    /// A snapshot of `seconds` with such locks: name, address, waits, ns, longest.
    pub(crate) fn snapshot(seconds: f64, locks: &[(&str, u64, f64, f64, u64)]) -> Profile {
        let frame = |function: &str| Frame {
            function: function.into(),
            module: "server".into(),
            is_named: true,
            ..Frame::default()
        };
        let lock = |&(name, address, waits, wait_ns, longest_ns): &(&str, u64, f64, f64, u64)| {
            let site = |stack| vec![Site { stack, count: waits, ns: wait_ns }];
            let (waiters, holders) = (site(0), site(1));
            Lock { name: name.into(), address, waits, wait_ns, longest_ns, waiters, holders, ..Lock::default() }
        };
        Profile {
            command: vec!["./server".into()],
            seconds,
            cores: 4,
            lock: "glibc".into(),
            processes: vec![Process { pid: 7, program: "/bin/server".into(), ..Process::default() }],
            frames: vec![frame("Cache::get(int)"), frame("Cache::put(int)")],
            stacks: vec![vec![0], vec![1]],
            locks: locks.iter().map(lock).collect(),
            ..Profile::default()
        }
    }

    fn names(history: &History) -> Vec<&str> {
        history.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn figures_are_of_one_second_whatever_the_snapshot_had() {
        let mut history = History::default();
        history.add(&snapshot(2.0, &[("queue", 1, 100.0, 3e9, 5_000_000)]));
        let row = &history.rows[0];
        assert_eq!((row.waiting, row.waits_per_s, row.longest_ns), (1.5, 50.0, 5e6));
        assert_eq!((row.waiter.as_str(), row.holder.as_str()), ("Cache::get 100 %", "Cache::put 100 %"));
        assert_eq!((history.sums(), history.most()), ((1.5, 50.0), 1.5));
    }

    #[test]
    fn the_last_second_decides_the_order_and_the_minute_who_is_there() {
        let mut history = History::default();
        history.add(&snapshot(1.0, &[("a", 1, 1.0, 2e9, 9), ("b", 2, 1.0, 1e9, 9), ("idle", 3, 0.0, 0.0, 0)]));
        assert_eq!(names(&history), ["a", "b"]);
        history.add(&snapshot(1.0, &[("b", 2, 1.0, 1e9, 9)]));
        assert_eq!(names(&history), ["b", "a"]);
        let a = &history.rows[1];
        assert_eq!((a.waiting, a.waits_per_s, a.longest_ns, a.waiter.as_str()), (0.0, 0.0, 0.0, "-"));
        assert_eq!([&a.past, &history.rows[0].past], [&[2.0, 0.0], &[1.0, 1.0]]);
        for _ in 0..KEPT - 2 {
            history.add(&snapshot(1.0, &[]));
        }
        assert_eq!(names(&history), ["a", "b"], "in the minute a was waited for as long; names decide");
        history.add(&snapshot(1.0, &[]));
        assert_eq!((names(&history), history.rows[0].past.len()), (vec!["b"], KEPT));
        history.add(&snapshot(1.0, &[]));
        assert!(history.rows.is_empty() && history.sums().1.is_sign_positive());
    }

    #[test]
    fn each_order_is_that_of_its_column_and_stays() {
        let mut history = History::default();
        let second = snapshot(1.0, &[("a", 1, 1.0, 2e9, 5), ("b", 2, 9.0, 1e9, 7), ("c", 3, 5.0, 3e9, 6)]);
        history.add(&second);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push((history.order().column(), names(&history).concat()));
            history.sort_by(history.order().next());
            let sorted = names(&history).concat();
            history.add(&second);
            assert_eq!(names(&history).concat(), sorted);
        }
        let expected = [("waiting", "cab"), ("waits/s", "bca"), ("longest", "bca"), ("lock", "abc")];
        assert_eq!(seen, expected.map(|(column, order)| (column, order.to_owned())));
        assert_eq!(history.order(), Order::Waiting);
    }

    #[test]
    fn a_lock_keeps_its_past_under_another_name() {
        let mut history = History::default();
        history.add(&snapshot(1.0, &[("lock", 1, 1.0, 1e9, 9)]));
        history.add(&snapshot(1.0, &[("lock at 0x1", 1, 1.0, 1e9, 9), ("lock at 0x2", 2, 1.0, 3e9, 9)]));
        assert_eq!(names(&history), ["lock at 0x2", "lock at 0x1"]);
        assert_eq!([history.rows[0].past.len(), history.rows[1].past.len()], [1, 2]);
    }

    #[test]
    fn locks_of_one_kind_keep_their_past_however_many_they_are() {
        for each_lock in [false, true] {
            let mut history = History::new(each_lock);
            history.add(&snapshot(1.0, &[("200 locks made in open (a.c:7)", 1, 1.0, 1e9, 9)]));
            history.add(&snapshot(1.0, &[("initialised in open (a.c:7)", 2, 1.0, 1e9, 9)]));
            assert_eq!(history.rows.len(), if each_lock { 2 } else { 1 });
        }
    }

    #[test]
    fn odd_snapshots_harm_nothing() {
        let mut history = History::default();
        history.add(&snapshot(0.0, &[("a\u{1b}[31m", 1, 1.0, 1e9, 9), ("twin", 1, 1.0, 1e9, 9)]));
        assert!(history.rows.iter().all(|row| !row.name.contains('\u{1b}')));
        history.add(&snapshot(1.0, &[("a", 1, 1.0, 1e9, 9), ("twin", 1, 1.0, 1e9, 9)]));
        assert_eq!(history.n_snapshots, 2);
    }
}
