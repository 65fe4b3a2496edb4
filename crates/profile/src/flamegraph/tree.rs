//! Stacks that begin alike, laid over each other.

use crate::names::shown;
use crate::profile::{Profile, Site};
use crate::words::{others, waited};
use crate::wrappers::{NO_STACK, Tops};
use std::collections::HashMap;

/// Stacks go no deeper: what lies below is counted where they end. Recursion may be thousands of frames deep.
const MOST_LEVELS: u32 = 120;

/// What a frame of the picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The whole.
    Root,
    /// A lock.
    Lock,
    /// A function.
    Function,
    /// A function that the compiler put into its caller.
    Inlined,
    /// A function that only locks.
    Wrapper,
    /// What is no function: several frames too narrow to be drawn, a lock that was free.
    Rest,
}

/// What is written on a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label {
    /// The whole name.
    pub(crate) name: String,
    /// As short as it can be.
    pub(crate) brief: String,
    /// The program or library; empty of what is no function.
    pub(crate) module: String,
    /// What it is.
    pub(crate) kind: Kind,
}

/// A frame with its place in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    /// Index in [`Labels`].
    pub(crate) label: usize,
    /// 0 of the root.
    pub(crate) level: u32,
    /// Where it begins, in ns from the left edge.
    pub(crate) from: f64,
    /// How wide it is.
    pub(crate) ns: f64,
    /// How many waits, or holds, it stands for.
    pub(crate) count: f64,
}

/// All labels of one or more graphs, each once.
#[derive(Default)]
pub(crate) struct Labels {
    all: Vec<Label>,
    numbers: HashMap<Label, usize>,
    /// The number of the label that a profile's frame has.
    of_frames: HashMap<u32, usize>,
}

impl Labels {
    pub(crate) fn get(&self, label: usize) -> &Label {
        &self.all[label]
    }

    pub(crate) fn all(&self) -> &[Label] {
        &self.all
    }

    fn number(&mut self, label: Label) -> usize {
        let next = self.all.len();
        *self.numbers.entry(label).or_insert_with_key(|label| {
            self.all.push(label.clone());
            next
        })
    }

    fn plain(&mut self, name: &str, kind: Kind) -> usize {
        let name = shown(name);
        self.number(Label { brief: name.clone(), name, module: String::new(), kind })
    }

    fn frame(&mut self, tops: &Tops, profile: &Profile, number: u32) -> usize {
        if let Some(known) = self.of_frames.get(&number) {
            return *known;
        }
        let frame = &profile.frames[number as usize];
        let kind = match () {
            () if tops.is_wrapper(number) => Kind::Wrapper,
            () if frame.is_inlined => Kind::Inlined,
            () => Kind::Function,
        };
        let (name, brief) = (shown(&frame.function), shown(tops.brief(number)));
        let label = self.number(Label { name, brief, module: shown(&frame.module), kind });
        self.of_frames.insert(number, label);
        label
    }
}

/// A tree that grows, its nodes in one list: a stack may be deep.
struct Tree {
    nodes: Vec<Node>,
    children: HashMap<(usize, usize), usize>,
}

struct Node {
    label: usize,
    ns: f64,
    count: f64,
    children: Vec<usize>,
}

impl Tree {
    fn new(root: usize) -> Tree {
        let root = Node { label: root, ns: 0.0, count: 0.0, children: Vec::new() };
        Tree { nodes: vec![root], children: HashMap::new() }
    }

    /// Adds an amount to a path that begins below the root.
    fn add(&mut self, path: impl Iterator<Item = usize>, ns: f64, count: f64) {
        let mut at = 0;
        self.grow(at, ns, count);
        for label in path.take(MOST_LEVELS as usize) {
            let next = self.nodes.len();
            let child = *self.children.entry((at, label)).or_insert(next);
            if child == next {
                self.nodes.push(Node { label, ns: 0.0, count: 0.0, children: Vec::new() });
                self.nodes[at].children.push(child);
            }
            self.grow(child, ns, count);
            at = child;
        }
    }

    fn grow(&mut self, node: usize, ns: f64, count: f64) {
        self.nodes[node].ns += ns;
        self.nodes[node].count += count;
    }

    /// How wide a frame is at least, in ns: so that there are not too many.
    fn least(&self, detail: Detail) -> f64 {
        let mut widths: Vec<f64> = self.nodes.iter().map(|node| node.ns).collect();
        widths.sort_by(|one, other| other.total_cmp(one));
        // A little more than the first that is too many: of frames that are as wide as each other, none is drawn.
        let crowded = widths.get(detail.most_frames).map_or(0.0, |ns| ns * (1.0 + 1e-9));
        crowded.max(self.nodes[0].ns * detail.least)
    }

    /// The blocks from the root on, widest first; those that are too narrow, side by side as one.
    fn blocks(mut self, labels: &mut Labels, detail: Detail) -> Vec<Block> {
        let least = self.least(detail);
        let mut blocks = Vec::new();
        let mut open = vec![(0usize, 0u32, 0.0)];
        while let Some((node, level, from)) = open.pop() {
            let Node { label, ns, count, .. } = self.nodes[node];
            blocks.push(Block { label, level, from, ns, count });
            let mut children = std::mem::take(&mut self.nodes[node].children);
            let by_width = |one: &usize, other: &usize| {
                let (one, other) = (&self.nodes[*one], &self.nodes[*other]);
                let name = |node: &Node| &labels.get(node.label).name;
                other.ns.total_cmp(&one.ns).then_with(|| name(one).cmp(name(other)))
            };
            children.sort_by(by_width);
            let wide = children.partition_point(|child| self.nodes[*child].ns >= least);
            let narrow = children.split_off(wide);
            let sum = |of: fn(&Node) -> f64| narrow.iter().map(|child| of(&self.nodes[*child])).sum::<f64>();
            let (rest_ns, rest_count) = (sum(|node| node.ns), sum(|node| node.count));
            let mut at = from;
            let mut below: Vec<(usize, u32, f64)> = Vec::new();
            for child in children {
                below.push((child, level + 1, at));
                at += self.nodes[child].ns;
            }
            if rest_ns >= least && rest_ns > 0.0 {
                let label = labels.plain(&format!("({} narrower)", narrow.len()), Kind::Rest);
                self.nodes.push(Node { label, ns: rest_ns, count: rest_count, children: Vec::new() });
                below.push((self.nodes.len() - 1, level + 1, at));
            }
            open.extend(below.into_iter().rev());
        }
        blocks
    }
}

/// How much of the stacks is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Frames that are a smaller part of the whole are merged.
    pub(crate) least: f64,
    /// About so many frames are drawn, the widest.
    pub(crate) most_frames: usize,
}

/// Which stacks of a lock are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Who waited.
    Waiters,
    /// Who held it meanwhile; who woke the waiters, where only that is known.
    Holders,
}

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side::Waiters, Side::Holders];

    fn sites(self, lock: &crate::profile::Lock) -> &[Site] {
        match self {
            Side::Waiters => &lock.waiters,
            Side::Holders => others(lock).1,
        }
    }
}

/// Builds graphs of one profile.
pub(crate) struct Graphs<'p> {
    profile: &'p Profile,
    tops: &'p Tops<'p>,
    pub(crate) labels: Labels,
}

impl<'p> Graphs<'p> {
    pub(crate) fn new(profile: &'p Profile, tops: &'p Tops<'p>) -> Graphs<'p> {
        Graphs { profile, tops, labels: Labels::default() }
    }

    /// All locks: the root is all waiting, below it are the locks.
    pub(crate) fn all(&mut self, side: Side, detail: Detail) -> Vec<Block> {
        let root = self.labels.plain("all waiting for locks", Kind::Root);
        let mut tree = Tree::new(root);
        for (index, lock) in waited(self.profile) {
            let name = self.labels.plain(&lock.name, Kind::Lock);
            self.add(&mut tree, index, side, Some(name));
        }
        tree.blocks(&mut self.labels, detail)
    }

    /// One lock, which is the root.
    pub(crate) fn one(&mut self, lock: usize, side: Side, detail: Detail) -> Vec<Block> {
        let root = self.labels.plain(&self.profile.locks[lock].name, Kind::Lock);
        let mut tree = Tree::new(root);
        self.add(&mut tree, lock, side, None);
        tree.blocks(&mut self.labels, detail)
    }

    fn add(&mut self, tree: &mut Tree, lock: usize, side: Side, above: Option<usize>) {
        let lock = &self.profile.locks[lock];
        for site in side.sites(lock).iter().filter(|site| site.ns > 0.0) {
            let frames: Vec<u32> = self.tops.stack(site.stack).rev().collect();
            let mut path: Vec<usize> =
                frames.iter().map(|frame| self.labels.frame(self.tops, self.profile, *frame)).collect();
            if path.is_empty() {
                path.push(self.labels.plain(NO_STACK, Kind::Rest));
            }
            tree.add(above.into_iter().chain(path), site.ns, site.count);
        }
        if side == Side::Holders && lock.handing_on_ns > 0.0 {
            let free = self.labels.plain("(free: a woken thread did not run yet)", Kind::Rest);
            tree.add(above.into_iter().chain([free]), lock.handing_on_ns, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    /// Level, name, beginning and width of each block.
    fn told(profile: &Profile, side: Side, least: f64) -> Vec<(u32, String, f64, f64)> {
        let tops = Tops::new(profile);
        let mut graphs = Graphs::new(profile, &tops);
        let blocks = graphs.all(side, Detail { least, most_frames: 1000 });
        let name = |block: &Block| graphs.labels.get(block.label).name.clone();
        blocks.iter().map(|block| (block.level, name(block), block.from, block.ns)).collect()
    }

    fn row(level: u32, name: &str, from: f64, ns: f64) -> (u32, String, f64, f64) {
        (level, name.to_string(), from, ns)
    }

    #[test]
    fn stacks_that_begin_alike_lie_over_each_other() {
        let expected = [
            row(0, "all waiting for locks", 0.0, 10_000.0),
            row(1, "small.lock", 0.0, 10_000.0),
            row(2, "main", 0.0, 10_000.0),
            row(3, "serve", 0.0, 6000.0),
            row(4, "pthread_mutex_lock", 0.0, 6000.0),
            row(3, "run", 6000.0, 4000.0),
            row(4, "serve", 6000.0, 4000.0),
            row(5, "std::mutex::lock()", 6000.0, 4000.0),
        ];
        assert_eq!(told(&made_up::small(), Side::Waiters, 0.001), expected);
    }

    #[test]
    fn holders_and_the_time_between_them_are_as_wide_as_the_waiting() {
        let all = told(&made_up::small(), Side::Holders, 0.001);
        assert_eq!(all[0], row(0, "all waiting for locks", 0.0, 10_000.0));
        assert!(all.contains(&row(2, NO_STACK, 5000.0, 3600.0)), "{all:?}");
        assert!(all.contains(&row(2, "(free: a woken thread did not run yet)", 8600.0, 1400.0)), "{all:?}");
    }

    #[test]
    fn narrow_frames_become_one() {
        let mut profile = made_up::small();
        let lock = profile.locks[0].clone();
        let small = |n| crate::Lock {
            name: format!("small {n}"),
            wait_ns: 1000.0,
            waiters: vec![Site { stack: 0, count: 1.0, ns: 1000.0 }],
            ..lock.clone()
        };
        profile.locks.extend((0..20).map(small));
        let all = told(&profile, Side::Waiters, 0.2);
        assert!(all.contains(&row(1, "(20 narrower)", 10_000.0, 20_000.0)), "{all:?}");
        assert!(!all.iter().any(|(_, name, ..)| name.starts_with("small 1")), "{all:?}");
    }

    #[test]
    fn of_too_many_frames_the_widest_are_drawn() {
        let profile = made_up::large();
        let tops = Tops::new(&profile);
        for most_frames in [1, 50, 700] {
            let blocks = Graphs::new(&profile, &tops).all(Side::Waiters, Detail { least: 0.0, most_frames });
            // Beside the last that is drawn at each level lie those that are merged.
            assert!((1..=2 * most_frames + 1).contains(&blocks.len()), "{} of {most_frames}", blocks.len());
        }
    }

    #[test]
    fn recursion_ends_somewhere() {
        let mut profile = made_up::small();
        profile.stacks[0] = vec![1; 100_000];
        let deepest = told(&profile, Side::Waiters, 0.0001).iter().map(|(level, ..)| *level).max();
        assert_eq!(deepest, Some(MOST_LEVELS));
    }

    #[test]
    fn every_block_lies_within_one_a_level_higher() {
        let all = told(&made_up::server(), Side::Holders, 0.0001);
        for (level, name, from, ns) in &all[1..] {
            let is_within = |(one, _, left, wide): &&(u32, String, f64, f64)| {
                one + 1 == *level && *left <= from + 1e-3 && left + wide >= from + ns - 1e-3
            };
            assert!(all.iter().any(|other| is_within(&other)), "{name} at level {level}");
        }
    }
}
