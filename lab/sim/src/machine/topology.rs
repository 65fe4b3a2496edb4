//! Which cores there are, which hardware threads they have, how far they are apart, and in which order they fill.

use super::schema::{DISTANCE, KIND};
use super::section::Section;
use super::{Cpu, MAX_CORES};
use std::collections::BTreeMap;

/// What the sections `topology` and `distance` say, and the counts of `kind`.
pub(super) struct Topology<'a> {
    /// The kinds in order, with their sections.
    pub(super) kinds: Vec<(&'a str, Section<'a>)>,
    pub(super) cores: Vec<Core>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) distance_ps: Vec<u32>,
}

/// A core's place.
#[derive(Clone, Copy)]
pub(super) struct Core {
    kind: u32,
    socket: u32,
    /// Among all clusters of the machine.
    cluster: u32,
    /// Among the clusters of its kind in its socket.
    cluster_in_socket: u32,
    /// Among the cores of its cluster.
    core_in_cluster: u32,
    threads: u32,
}

impl<'a> Topology<'a> {
    /// `cores` is what the command line asks for, of a machine that is as large as one likes.
    pub(super) fn read(file: &Section<'a>, topology: &Section<'a>, cores: Option<u32>) -> Result<Self, String> {
        topology.text("origin")?;
        topology.text("from")?;
        let kinds = kinds(file, topology)?;
        let cores = place_cores(topology, &kinds, cores)?;
        let cpus = cpus(topology, &cores)?;
        let distance_ps = Distances::read(file, topology, &kinds)?.matrix(file, &cores)?;
        Ok(Topology { kinds, cores, cpus, distance_ps })
    }
}

/// The sections of the kinds in the order in which `topology.kinds` names them.
fn kinds<'a>(file: &Section<'a>, topology: &Section<'a>) -> Result<Vec<(&'a str, Section<'a>)>, String> {
    let names = topology.texts("kinds")?;
    let mut sections: BTreeMap<&str, Section<'_>> = file.sections("kind", KIND)?.into_iter().collect();
    let mut kinds = Vec::new();
    for name in names {
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(topology.error("kinds", format!("{name:?}; accepted: letters, digits and _")));
        }
        let Some(section) = sections.remove(name) else {
            return Err(topology.error("kinds", format!("{name:?} has no section [kind.{name}], or is named twice")));
        };
        kinds.push((name, section));
    }
    match sections.into_keys().next() {
        Some(unused) => Err(file.error("kind", format!("[kind.{unused}] is not in topology.kinds"))),
        None => Ok(kinds),
    }
}

/// All cores, in the numbering of the system: socket by socket, kind by kind, cluster by cluster.
fn place_cores(topology: &Section<'_>, kinds: &[(&str, Section<'_>)], asked: Option<u32>) -> Result<Vec<Core>, String> {
    let sockets = topology.count("sockets")?;
    let is_scalable = topology.flag("scalable")?;
    let mut shapes = Vec::new();
    for (_, section) in kinds {
        let cores = if is_scalable { asked } else { None };
        shapes.push((section.count("clusters")?, cores.unwrap_or(section.count("cores")?), section.count("threads")?));
    }
    if is_scalable && (sockets != 1 || shapes.len() != 1 || shapes[0].0 != 1) {
        let what = "accepted only with one kind, one socket and one cluster, which then grows";
        return Err(topology.error("scalable", what));
    }
    let n_cores: u64 = shapes.iter().map(|shape| u64::from(sockets) * u64::from(shape.0) * u64::from(shape.1)).sum();
    if n_cores > u64::from(MAX_CORES) {
        let what = format!("{n_cores} cores; accepted: {MAX_CORES} at most");
        return Err(topology.error("sockets", what));
    }
    let mut placed = Vec::new();
    let mut n_clusters = 0;
    for socket in 0..sockets {
        for (kind, &(clusters, cores, threads)) in (0..).zip(&shapes) {
            for cluster_in_socket in 0..clusters {
                placed.extend((0..cores).map(|core_in_cluster| Core {
                    kind,
                    socket,
                    cluster: n_clusters,
                    cluster_in_socket,
                    core_in_cluster,
                    threads,
                }));
                n_clusters += 1;
            }
        }
    }
    Ok(placed)
}

/// The hardware threads, those of one core side by side, with their ranks.
fn cpus(topology: &Section<'_>, cores: &[Core]) -> Result<Vec<Cpu>, String> {
    let is_spread = topology.text("fill")? == "spread";
    let by_socket = topology.text("near")? == "socket";
    let n_together = if topology.has("together") { topology.count("together")? } else { 0 };
    let mut cpus = Vec::new();
    let mut keys = Vec::new();
    for (index, core) in (0..).zip(cores) {
        for thread in 0..core.threads {
            let node = if by_socket { core.socket } else { core.cluster };
            let within = if is_spread {
                [core.core_in_cluster, core.cluster_in_socket, core.socket]
            } else {
                [core.socket, core.cluster_in_socket, core.core_in_cluster]
            };
            keys.push((thread, core.kind, within, cpus.len()));
            cpus.push(Cpu { core: index, kind: core.kind, socket: core.socket, node, rank: 0 });
        }
    }
    keys.sort_unstable();
    keep_together(&mut keys, n_together as usize, |cpu| cpus[cpu].socket);
    for (rank, (.., cpu)) in (0..).zip(keys) {
        cpus[cpu].rank = rank;
    }
    Ok(cpus)
}

/// Moves the first so many CPUs of the first socket to the front.
fn keep_together<K>(keys: &mut Vec<(u32, u32, K, usize)>, n: usize, socket: impl Fn(usize) -> u32) {
    let first = keys.extract_if(.., |(.., cpu)| socket(*cpu) == 0).take(n).collect::<Vec<_>>();
    keys.splice(0..0, first);
}

/// How far cores are apart, by their kinds and by what they share.
struct Distances<'a> {
    /// The kinds' names.
    names: Vec<&'a str>,
    /// By the kinds, smaller index first.
    by_kinds: BTreeMap<(u32, u32), Section<'a>>,
    /// Between sockets.
    hops: Vec<Vec<u32>>,
}

impl<'a> Distances<'a> {
    fn read(file: &Section<'a>, topology: &Section<'a>, kinds: &[(&'a str, Section<'a>)]) -> Result<Self, String> {
        let mut by_kinds = BTreeMap::new();
        let index = |name: &str| (0u32..).zip(kinds).find(|(_, kind)| kind.0 == name).map(|(index, _)| index);
        // A machine of one core has no distances.
        let sections = if file.has("distance") { file.sections("distance", DISTANCE)? } else { Vec::new() };
        for (name, section) in sections {
            let wrong =
                || file.error("distance", format!("[distance.{name}]; accepted: two kinds, as in [distance.P-E]"));
            let (one, other) = name.split_once('-').ok_or_else(wrong)?;
            let (one, other) = (index(one).ok_or_else(wrong)?, index(other).ok_or_else(wrong)?);
            if by_kinds.insert((one.min(other), one.max(other)), section).is_some() {
                return Err(file.error("distance", format!("[distance.{name}] is there twice, in both orders")));
            }
        }
        Ok(Distances { names: kinds.iter().map(|kind| kind.0).collect(), by_kinds, hops: hops(topology)? })
    }

    fn matrix(&self, file: &Section<'_>, cores: &[Core]) -> Result<Vec<u32>, String> {
        let mut matrix = Vec::with_capacity(cores.len() * cores.len());
        let mut known = BTreeMap::new();
        for (from, one) in cores.iter().enumerate() {
            for (to, other) in cores.iter().enumerate() {
                if from == to {
                    matrix.push(0);
                    continue;
                }
                let key = (one.kind.min(other.kind), one.kind.max(other.kind), self.relation(one, other));
                let ps = known.get(&key).copied().map_or_else(|| self.ps(file, key), Ok)?;
                known.insert(key, ps);
                matrix.push(ps);
            }
        }
        Ok(matrix)
    }

    fn ps(&self, file: &Section<'_>, (one, other, relation): (u32, u32, &str)) -> Result<u32, String> {
        let section = self.by_kinds.get(&(one, other)).ok_or_else(|| {
            let [one, other] = [one, other].map(|kind| self.names[kind as usize]);
            file.error("distance", format!("[distance.{one}-{other}] is missing: there are such pairs of cores"))
        })?;
        section.ps(relation)
    }

    /// The field that says how far the two are apart.
    fn relation(&self, one: &Core, other: &Core) -> &'static str {
        match self.hops[one.socket as usize][other.socket as usize] {
            0 if one.cluster == other.cluster => "cluster_ns",
            0 => "socket_ns",
            1 => "hop_1_ns",
            2 => "hop_2_ns",
            _ => "hop_3_ns",
        }
    }
}

/// Hops between sockets: as the rows of digits say, else one between any two.
fn hops(topology: &Section<'_>) -> Result<Vec<Vec<u32>>, String> {
    let sockets = topology.count("sockets")? as usize;
    if !topology.has("hops") {
        return Ok((0..sockets).map(|one| (0..sockets).map(|other| u32::from(one != other)).collect()).collect());
    }
    let digits = |row: &str| row.chars().map(|c| c.to_digit(4)).collect::<Option<Vec<u32>>>();
    let rows: Option<Vec<Vec<u32>>> = topology.texts("hops")?.into_iter().map(digits).collect();
    let is_sound = |rows: &Vec<Vec<u32>>| {
        let n = rows.len();
        rows.iter().all(|row| row.len() == n)
            && (0..n).all(|one| {
                (0..n).all(|other| (rows[one][other] == 0) == (one == other) && rows[one][other] == rows[other][one])
            })
    };
    // More rows than sockets are in order: a machine of which only some nodes are used inherits the rows of the whole.
    rows.filter(|rows| rows.len() >= sockets && is_sound(rows)).ok_or_else(|| {
        let what = format!(
            "accepted: at least {sockets} rows for {sockets} sockets, each with as many digits 0 to 3 as there are rows, \
             symmetric, 0 on the diagonal only"
        );
        topology.error("hops", what)
    })
}
