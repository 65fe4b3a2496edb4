//! Circles in the order in which locks are taken: a thread takes B while it has A, and another one A while it has B. If both
//! do so at once, each waits for the other for ever.
//!
//! Two questions are asked. Of locks themselves: then the circle is certain. And of their classes, those that come from one place
//! of the program: then the orders are of different objects, as far as was seen, and the program may know why
//! these never meet. Of one class, an order of two locks says nothing of two others, so there only the first question is asked.
//!
//! A circle needs a thread for each of its steps, all at once. Two steps are never taken at once if both threads have a third
//! lock alone, a *gate*, or if one has a lock that the other one has: then there is no circle.

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A lock that was taken while another one was held. Locks have numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) held: u32,
    pub(crate) taken: u32,
    /// Others that were held alone each time; 0 where there is none.
    pub(crate) gates: [u32; 2],
}

/// What has to be known of a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) class: u32,
    pub(crate) address: u64,
    /// Whether nothing tells the classes apart but the place of their first use, which may be chance.
    pub(crate) is_vague: bool,
}

/// Steps of which each takes the lock, or one of the class, that the next one has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) steps: Vec<usize>,
    pub(crate) same_objects: bool,
    /// How many circles of locks of these classes there are.
    pub(crate) count: u32,
}

/// All pairs of locks, or of classes, that are taken in both orders; and where there are none, the shortest circle of each
/// part in which any leads to any.
pub(crate) fn circles(steps: &[Step], members: &HashMap<u32, Member>) -> Vec<Circle> {
    let class = |lock: u32| members[&lock].class;
    let mut found: BTreeMap<Vec<u32>, Circle> = BTreeMap::new();
    let by_locks = Graph::new(steps, |lock| lock);
    for circle in by_locks.circles(|_| true, &HashSet::new()) {
        let key = turned(circle.iter().map(|step| class(steps[*step].held)).collect());
        let known = found.entry(key).or_insert(Circle { steps: circle, same_objects: true, count: 0 });
        known.count += 1;
    }
    let told: HashSet<u32> = found.keys().flatten().copied().collect();
    let by_classes = Graph::new(steps, class);
    let is_by_chance = |all: &[usize]| {
        let ascends = |step: &Step| members[&step.held].address < members[&step.taken].address;
        let is_vague = |step: &Step| members[&step.held].is_vague && members[&step.taken].is_vague;
        let first = ascends(&steps[all[0]]);
        all.iter().all(|step| is_vague(&steps[*step]) && ascends(&steps[*step]) == first)
    };
    for circle in by_classes.circles(|all| !is_by_chance(all), &told) {
        let key = turned(circle.iter().map(|step| class(steps[*step].held)).collect());
        found.entry(key).or_insert(Circle { steps: circle, same_objects: false, count: 1 });
    }
    let mut all: Vec<Circle> = found.into_values().collect();
    all.sort_by_key(|circle| (!circle.same_objects, circle.steps.len(), circle.steps[0]));
    all
}

/// A circle that begins with its least, so that it is the same wherever it was found.
fn turned(mut circle: Vec<u32>) -> Vec<u32> {
    let least = (0..circle.len()).min_by_key(|at| [&circle[*at..], &circle[..*at]].concat()).unwrap_or(0);
    circle.rotate_left(least);
    circle
}

/// So many steps between two nodes are looked at, those with the fewest gates first.
const MOST_STEPS: usize = 300;
/// So many ways are looked for in one part.
const MOST_WAYS: usize = 1000;

/// Nodes are locks or classes, and edges have all their steps.
struct Graph<'s> {
    steps: &'s [Step],
    edges: BTreeMap<(u32, u32), Vec<usize>>,
    graph: DiGraphMap<u32, ()>,
}

impl<'s> Graph<'s> {
    fn new(steps: &'s [Step], node: impl Fn(u32) -> u32) -> Self {
        let mut edges: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for (at, step) in steps.iter().enumerate() {
            let (from, to) = (node(step.held), node(step.taken));
            if from != to {
                edges.entry((from, to)).or_default().push(at);
            }
        }
        let n_gates = |step: &usize| steps[*step].gates.iter().filter(|gate| **gate != 0).count();
        edges.values_mut().for_each(|all| all.sort_by_key(n_gates));
        let graph = DiGraphMap::from_edges(edges.keys().copied());
        Graph { steps, edges, graph }
    }

    /// Circles of steps; `may_be` says of all steps of a circle's edges whether it counts. Parts with a node of
    /// `told` have no others than pairs.
    fn circles(&self, may_be: impl Fn(&[usize]) -> bool, told: &HashSet<u32>) -> Vec<Vec<usize>> {
        let counts = |edges: &[(u32, u32)]| {
            may_be(&edges.iter().flat_map(|edge| &self.edges[edge]).copied().collect::<Vec<_>>())
        };
        let mut circles = Vec::new();
        for part in kosaraju_scc(&self.graph).into_iter().filter(|part| part.len() > 1) {
            let part: HashSet<u32> = part.into_iter().collect();
            let inside = || self.edges.keys().copied().filter(|(from, to)| part.contains(from) && part.contains(to));
            let pairs = inside().filter(|(from, to)| from < to && self.edges.contains_key(&(*to, *from)));
            let pairs = pairs.filter_map(|(from, to)| self.possible(&[(from, to), (to, from)], counts));
            let n_before = circles.len();
            circles.extend(pairs);
            if circles.len() == n_before && part.is_disjoint(told) {
                let ways = inside().take(MOST_WAYS).filter_map(|edge| self.way_back(edge, &part));
                let ways = ways.filter_map(|way| self.possible(&way, counts));
                circles.extend(ways.min_by_key(Vec::len));
            }
        }
        // As the order of parts is nobody's.
        circles.sort();
        circles
    }

    /// The shortest circle of at least three edges that begins with this one.
    fn way_back(&self, edge: (u32, u32), part: &HashSet<u32>) -> Option<Vec<(u32, u32)>> {
        let (goal, start) = edge;
        let mut before: HashMap<u32, u32> = HashMap::from([(start, goal)]);
        let mut next = VecDeque::from([start]);
        while let Some(node) = next.pop_front() {
            for to in self.graph.neighbors(node).filter(|to| part.contains(to)) {
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

    /// A step for each edge, so that all of them can be taken at once.
    fn possible(&self, edges: &[(u32, u32)], counts: impl Fn(&[(u32, u32)]) -> bool) -> Option<Vec<usize>> {
        let mut chosen = Vec::new();
        // Of a pair, each step is tried with each; else what goes with those before.
        let firsts = self.edges[&edges[0]].iter().take(if edges.len() == 2 { MOST_STEPS } else { 1 });
        let is_found = firsts.into_iter().any(|first| {
            chosen = vec![*first];
            edges[1..].iter().all(|edge| {
                let goes = |step: &&usize| chosen.iter().all(|other| !self.exclude(*other, **step));
                let next = self.edges[edge].iter().take(MOST_STEPS).find(goes).copied();
                chosen.extend(next);
                next.is_some()
            })
        });
        (is_found && counts(edges)).then_some(chosen)
    }

    /// Whether two steps cannot be taken at once.
    fn exclude(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.steps[one], &self.steps[other]);
        let has = |step: &Step, lock: u32| lock != 0 && step.gates.contains(&lock);
        has(one, other.held) || has(other, one.held) || one.gates.iter().any(|gate| has(other, *gate))
    }
}

#[cfg(test)]
mod tests;
