//! Circles in the order in which locks are taken: a thread takes B while it has A, and another one A while it has B. If both
//! do so at once, each waits for the other for ever.
//!
//! Two questions are asked. Of locks themselves: then the circle is certain. And of their classes, those that come from one place
//! of the program: then the orders are of different objects, as far as was seen, and the program may know why
//! these never meet. Of one class, an order of two locks says nothing of two others, so there only the first question is asked.
//!
//! A circle needs a thread for each of its steps, all at once. Two steps are never taken at once if both threads have a third
//! lock alone, an *outer lock*, or if one has a lock that the other one has: then there is no circle. And each thread has to wait for
//! the next one: who takes a lock to read does not wait for one who has it to read.

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A lock that was taken while another one was held. Locks have numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) held: u32,
    pub(crate) taken: u32,
    /// Which of the two is had, or taken, to read: together with all others that read.
    pub(crate) shared: [bool; 2],
    /// Others that were held alone each time; 0 where there is none.
    pub(crate) outer: [u32; 2],
}

/// What has to be known of a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) class: u32,
    pub(crate) address: u64,
    /// Whether nothing tells the classes apart but the place of their first use, which may be chance.
    pub(crate) is_vague: bool,
    /// Whether this is one lock each time, and not a later one at the address of one that is gone.
    pub(crate) is_one: bool,
}

/// What the locks of a circle have in common from one step to the next, the most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Same {
    Objects,
    Addresses,
    Classes,
}

/// Steps of which each takes the lock, or one of the class, that the next one has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) steps: Vec<usize>,
    pub(crate) same: Same,
    /// How many circles of locks of these classes there are.
    pub(crate) count: u32,
}

/// All pairs of locks, or of classes, that are taken in both orders; and where there are none, the shortest circle of each
/// part in which any leads to any.
pub(crate) fn circles(steps: &[Step], members: &HashMap<u32, Member>) -> Vec<Circle> {
    let class = |lock: u32| members[&lock].class;
    let key = |circle: &[usize]| turned(circle.iter().map(|step| class(steps[*step].held)).collect());
    let same = |circle: &[usize]| {
        let is_one = circle.iter().all(|step| members[&steps[*step].held].is_one);
        if is_one { Same::Objects } else { Same::Addresses }
    };
    let mut found: BTreeMap<Vec<u32>, Circle> = BTreeMap::new();
    let mut by_locks = Graph::new(steps, |lock| lock).circles(|_| true, &HashSet::new());
    by_locks.sort_by_key(|circle| same(circle));
    for circle in by_locks {
        let known =
            found.entry(key(&circle)).or_insert_with(|| Circle { same: same(&circle), steps: circle, count: 0 });
        known.count += 1;
    }
    let told: HashSet<u32> = found.keys().flatten().copied().collect();
    let is_by_chance = |all: &[usize]| {
        let ascends = |step: &Step| members[&step.held].address < members[&step.taken].address;
        let is_vague = |step: &Step| members[&step.held].is_vague && members[&step.taken].is_vague;
        let first = ascends(&steps[all[0]]);
        all.iter().all(|step| is_vague(&steps[*step]) && ascends(&steps[*step]) == first)
    };
    for circle in Graph::new(steps, class).circles(|all| !is_by_chance(all), &told) {
        found.entry(key(&circle)).or_insert(Circle { steps: circle, same: Same::Classes, count: 1 });
    }
    let mut all: Vec<Circle> = found.into_values().collect();
    all.sort_by_key(|circle| (circle.same, circle.steps.len(), circle.steps[0]));
    all
}

/// A circle that begins with its least, so that it is the same wherever it was found.
pub(crate) fn turned<T: Ord + Clone>(mut circle: Vec<T>) -> Vec<T> {
    let least = (0..circle.len()).min_by_key(|at| [&circle[*at..], &circle[..*at]].concat()).unwrap_or(0);
    circle.rotate_left(least);
    circle
}

/// So many steps between two nodes are looked at, those with the fewest outer locks first.
const MOST_STEPS: usize = 300;
/// So many ways are looked for in one part, fewer in one with many edges: each way looks at all of them.
const MOST_WAYS: usize = 1000;
const MOST_LOOKED: usize = 2_000_000;
/// A deadlock needs a thread for each step: longer circles are none that happens.
const LONGEST: usize = 1000;
/// So many times two steps are compared for one circle.
const MOST_COMPARED: usize = 1_000_000;

type Edge = (u32, u32);

/// Nodes are locks or classes, and edges have all their steps.
struct Graph<'s> {
    steps: &'s [Step],
    edges: BTreeMap<Edge, Vec<usize>>,
    /// The part of each node: within one, any leads to any.
    part: HashMap<u32, usize>,
    /// Those edges that stay in one part.
    inside: DiGraphMap<u32, ()>,
}

impl<'s> Graph<'s> {
    fn new(steps: &'s [Step], node: impl Fn(u32) -> u32) -> Self {
        let mut edges: BTreeMap<Edge, Vec<usize>> = BTreeMap::new();
        let ends = steps.iter().map(|step| (node(step.held), node(step.taken)));
        let (held, taken): (HashSet<u32>, HashSet<u32>) = ends.clone().filter(|(from, to)| from != to).unzip();
        for (at, (from, to)) in ends.enumerate() {
            // No circle has others, and most of many locks are of that kind: each of a pair that comes and goes.
            if from != to && taken.contains(&from) && held.contains(&to) {
                edges.entry((from, to)).or_default().push(at);
            }
        }
        let restraint = |step: &usize| {
            let Step { outer, shared, .. } = steps[*step];
            (outer.iter().filter(|outer| **outer != 0).count(), shared.iter().filter(|one| **one).count())
        };
        edges.values_mut().for_each(|all| all.sort_by_key(restraint));
        let all: DiGraphMap<u32, ()> = DiGraphMap::from_edges(edges.keys().copied());
        let parts = kosaraju_scc(&all).into_iter().enumerate();
        let part: HashMap<u32, usize> =
            parts.flat_map(|(part, nodes)| nodes.into_iter().map(move |node| (node, part))).collect();
        let inside = DiGraphMap::from_edges(edges.keys().copied().filter(|(from, to)| part[from] == part[to]));
        Graph { steps, edges, part, inside }
    }

    /// Circles of steps; `may_be` says of all steps of a circle's edges whether it counts. Parts with a node of
    /// `told` have no others than pairs.
    fn circles(&self, may_be: impl Fn(&[usize]) -> bool, told: &HashSet<u32>) -> Vec<Vec<usize>> {
        let counts =
            |edges: &[Edge]| may_be(&edges.iter().flat_map(|edge| &self.edges[edge]).copied().collect::<Vec<_>>());
        let possible = |edges: &[Edge]| self.possible(edges).filter(|_| counts(edges));
        let told: HashSet<usize> = told.iter().filter_map(|node| self.part.get(node)).copied().collect();
        let mut parts: BTreeMap<usize, Vec<Edge>> = BTreeMap::new();
        for edge in self.inside.all_edges().map(|(from, to, ())| (from, to)) {
            parts.entry(self.part[&edge.0]).or_default().push(edge);
        }
        let mut circles = Vec::new();
        for (part, inside) in parts {
            let pairs = inside.iter().filter(|(from, to)| from < to && self.edges.contains_key(&(*to, *from)));
            let pairs: Vec<_> = pairs.filter_map(|(from, to)| possible(&[(*from, *to), (*to, *from)])).collect();
            if pairs.is_empty() && !told.contains(&part) {
                circles.extend(self.shortest(&inside, possible));
            }
            circles.extend(pairs);
        }
        // As the order of parts is nobody's.
        circles.sort();
        circles
    }

    /// The shortest circle of at least three of these edges, as far as is looked.
    fn shortest(&self, inside: &[Edge], possible: impl Fn(&[Edge]) -> Option<Vec<usize>>) -> Option<Vec<usize>> {
        let mut shortest: Option<Vec<usize>> = None;
        for edge in inside.iter().take(MOST_WAYS.min(MOST_LOOKED / inside.len() + 1)) {
            let longest = shortest.as_ref().map_or(LONGEST, |found| found.len() - 1);
            if longest < 3 {
                break;
            }
            let way = self.way_back(*edge).filter(|way| way.len() <= longest);
            shortest = way.and_then(|way| possible(&way)).or(shortest);
        }
        shortest
    }

    /// The shortest circle of at least three edges that begins with this one.
    fn way_back(&self, edge: Edge) -> Option<Vec<Edge>> {
        let (goal, start) = edge;
        let mut before: HashMap<u32, u32> = HashMap::from([(start, goal)]);
        let mut next = VecDeque::from([start]);
        while let Some(node) = next.pop_front() {
            for to in self.inside.neighbors(node) {
                if to == goal && node != start {
                    let mut way = vec![(node, goal)];
                    while way[way.len() - 1] != edge {
                        let at = way[way.len() - 1].0;
                        way.push((before[&at], at));
                    }
                    way.reverse();
                    return Some(way);
                }
                if to != goal && !before.contains_key(&to) {
                    before.insert(to, node);
                    next.push_back(to);
                }
            }
        }
        None
    }

    /// A step for each edge, so that all of them can be taken at once, and wait for each other.
    fn possible(&self, edges: &[Edge]) -> Option<Vec<usize>> {
        let (mut chosen, mut places) = (Vec::new(), Vec::new());
        let (mut place, mut n_compared) = (0, 0);
        while chosen.len() < edges.len() {
            n_compared += chosen.len();
            if n_compared > MOST_COMPARED {
                return None;
            }
            let all = &self.edges[&edges[chosen.len()]];
            match all.get(place).filter(|_| place < MOST_STEPS) {
                Some(step) if self.goes(&chosen, *step, chosen.len() + 1 == edges.len()) => {
                    chosen.push(*step);
                    places.push(place);
                    place = 0;
                }
                Some(_) => place += 1,
                // None goes with those before: another one for the edge before.
                None => {
                    chosen.pop();
                    place = places.pop()? + 1;
                }
            }
        }
        Some(chosen)
    }

    /// Whether a step can be taken at once with those before it, and the last of these waits for it. The last of all waits
    /// for the first.
    fn goes(&self, before: &[usize], step: usize, is_last: bool) -> bool {
        before.iter().all(|other| !self.exclude(*other, step))
            && before.last().is_none_or(|other| self.waits_for(*other, step))
            && (!is_last || self.waits_for(step, before[0]))
    }

    /// Whether a step's thread waits for that of the next one: not to read what that one reads.
    fn waits_for(&self, step: usize, next: usize) -> bool {
        !(self.steps[step].shared[1] && self.steps[next].shared[0])
    }

    /// Whether two steps cannot be taken at once.
    fn exclude(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.steps[one], &self.steps[other]);
        let has = |step: &Step, lock: u32| lock != 0 && step.outer.contains(&lock);
        has(one, other.held) || has(other, one.held) || one.outer.iter().any(|outer| has(other, *outer))
    }
}

#[cfg(test)]
mod tests;
