//! Stacks that begin alike, laid over each other.

use crate::names::shown;
use crate::profile::{Profile, State};
use crate::rows::{HANDING_ON, Place, Side, charges};
use crate::words::{Known, known, waited};
use crate::wrappers::{NO_STACK, Tops};
use indexmap::IndexSet;
use std::collections::HashMap;

/// Stacks go no deeper: what lies below is counted where they end. Recursion may be thousands of frames deep.
const MOST_LEVELS: u32 = 120;

/// Where nobody has the lock.
const FREE: &str = "(free: a woken thread did not run yet)";

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
    /// What of it is in each [`State`], in ns; nothing where that is not asked.
    pub(crate) causes: Causes,
}

/// Times by [`State`], as in [`State::ALL`].
pub(crate) type Causes = [f64; State::ALL.len()];

/// What a stack adds to its frames: as the fields of [`Block`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amounts {
    pub(crate) ns: f64,
    pub(crate) count: f64,
    pub(crate) causes: Causes,
}

impl Amounts {
    fn add(&mut self, more: &Amounts) {
        self.ns += more.ns;
        self.count += more.count;
        self.causes.iter_mut().zip(more.causes).for_each(|(sum, ns)| *sum += ns);
    }

    /// The same with all of it in this state.
    fn with(mut self, state: State) -> Amounts {
        self.causes[state as usize] = self.ns;
        self
    }
}

impl Block {
    /// Its states as parts of all of them. Parts that nobody could see are left out.
    pub(crate) fn parts(&self) -> Vec<(State, f64)> {
        const LEAST: f64 = 0.005;
        let all: f64 = self.causes.iter().sum();
        let parts = State::ALL.into_iter().zip(self.causes).map(|(state, ns)| (state, ns / all));
        parts.filter(|(_, part)| *part >= LEAST).collect()
    }
}

/// All labels of one or more graphs, each once.
#[derive(Default)]
pub(crate) struct Labels {
    all: IndexSet<Label>,
    /// The number of the label that a profile's frame has.
    of_frames: HashMap<u32, usize>,
}

impl Labels {
    pub(crate) fn get(&self, label: usize) -> &Label {
        &self.all[label]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Label> {
        self.all.iter()
    }

    pub(crate) fn plain(&mut self, name: &str, kind: Kind) -> usize {
        let name = shown(name);
        self.all.insert_full(Label { brief: name.clone(), name, module: String::new(), kind }).0
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
        let label = self.all.insert_full(Label { name, brief, module: shown(&frame.module), kind }).0;
        self.of_frames.insert(number, label);
        label
    }
}

/// A tree that grows, its nodes in one list: a stack may be deep.
pub(crate) struct Tree {
    nodes: Vec<Node>,
    children: HashMap<(usize, usize), usize>,
}

struct Node {
    label: usize,
    amounts: Amounts,
    children: Vec<usize>,
}

impl Node {
    fn new(label: usize) -> Node {
        Node { label, amounts: Amounts::default(), children: Vec::new() }
    }
}

impl Tree {
    pub(crate) fn new(root: usize) -> Tree {
        Tree { nodes: vec![Node::new(root)], children: HashMap::new() }
    }

    /// Adds amounts to a path that begins below the root.
    pub(crate) fn add(&mut self, path: impl Iterator<Item = usize>, amounts: &Amounts) {
        let mut at = 0;
        self.nodes[at].amounts.add(amounts);
        for label in path.take(MOST_LEVELS as usize) {
            let next = self.nodes.len();
            let child = *self.children.entry((at, label)).or_insert(next);
            if child == next {
                self.nodes.push(Node::new(label));
                self.nodes[at].children.push(child);
            }
            self.nodes[child].amounts.add(amounts);
            at = child;
        }
    }

    fn ns(&self, node: usize) -> f64 {
        self.nodes[node].amounts.ns
    }

    /// How wide a frame is at least, in ns: so that there are not too many.
    fn least(&self, detail: Detail) -> f64 {
        let mut widths: Vec<f64> = self.nodes.iter().map(|node| node.amounts.ns).collect();
        widths.sort_by(|one, other| other.total_cmp(one));
        // A little more than the first that is too many: of frames that are as wide as each other, none is drawn.
        let crowded = widths.get(detail.most_frames).map_or(0.0, |ns| ns * (1.0 + 1e-9));
        crowded.max(self.ns(0) * detail.least)
    }

    /// The blocks from the root on, widest first; those that are too narrow, side by side as one.
    pub(crate) fn blocks(mut self, labels: &mut Labels, detail: Detail) -> Vec<Block> {
        let least = self.least(detail);
        let mut blocks = Vec::new();
        let mut open = vec![(0usize, 0u32, 0.0)];
        while let Some((node, level, from)) = open.pop() {
            let Node { label, amounts: Amounts { ns, count, causes }, .. } = self.nodes[node];
            blocks.push(Block { label, level, from, ns, count, causes });
            let mut children = std::mem::take(&mut self.nodes[node].children);
            let by_width = |one: &usize, other: &usize| {
                let name = |node: usize| &labels.get(self.nodes[node].label).name;
                self.ns(*other).total_cmp(&self.ns(*one)).then_with(|| name(*one).cmp(name(*other)))
            };
            children.sort_by(by_width);
            let wide = children.partition_point(|child| self.ns(*child) >= least);
            let narrow = children.split_off(wide);
            let mut rest = Node::new(0);
            narrow.iter().for_each(|child| rest.amounts.add(&self.nodes[*child].amounts));
            let mut at = from;
            let mut below: Vec<(usize, u32, f64)> = Vec::new();
            for child in children {
                below.push((child, level + 1, at));
                at += self.ns(child);
            }
            if rest.amounts.ns >= least && rest.amounts.ns > 0.0 {
                rest.label = labels.plain(&format!("({} narrower)", narrow.len()), Kind::Rest);
                self.nodes.push(rest);
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
        let sites = match side {
            Side::Holders if known(self.profile, lock) == Known::Holders => {
                for (place, cause) in charges(lock).into_iter().filter(|(_, cause)| cause.ns > 0.0) {
                    let path = match place {
                        Place::Stack(stack) => self.path(stack),
                        Place::Without(HANDING_ON) => vec![self.labels.plain(FREE, Kind::Rest)],
                        Place::Without(_) => continue,
                    };
                    let amounts = Amounts { ns: cause.ns, count: cause.count, ..Amounts::default() };
                    tree.add(above.into_iter().chain(path), &amounts.with(cause.state));
                }
                return;
            }
            Side::Holders => &lock.wakers,
            Side::Waiters => &lock.waiters,
        };
        for site in sites.iter().filter(|site| site.ns > 0.0) {
            let path = self.path(site.stack);
            let amounts = Amounts { ns: site.ns, count: site.count, ..Amounts::default() };
            tree.add(above.into_iter().chain(path), &amounts);
        }
    }

    /// The labels of a stack from the outermost function on; never none.
    fn path(&mut self, stack: u32) -> Vec<usize> {
        let frames: Vec<u32> = self.tops.stack(stack).rev().collect();
        if frames.is_empty() {
            return vec![self.labels.plain(NO_STACK, Kind::Rest)];
        }
        frames.iter().map(|frame| self.labels.frame(self.tops, self.profile, *frame)).collect()
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
            waiters: vec![crate::Site { stack: 0, count: 1.0, ns: 1000.0 }],
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
