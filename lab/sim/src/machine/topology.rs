//! Which cores there are, which hardware threads they have, how far they are apart, and in which order they fill.

use super::model::{Cpu, MAX_CORES};
use super::schema::{Distance, File, Fill, Kind, Layout, Near};
use super::tree::{FieldError, wrong};
use std::collections::BTreeMap;

/// What the sections `topology` and `distance` say, and the counts of `kind`.
pub(super) struct Topology<'a> {
    /// The names of the kinds, in order.
    pub(super) kinds: Vec<&'a str>,
    pub(super) n_cores: u32,
    pub(super) cpus: Vec<Cpu>,
    pub(super) distance_ps: Vec<u32>,
}

/// A core's place.
#[derive(Clone, Copy)]
struct Core {
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
    pub(super) fn of(file: &'a File, cores: Option<u32>) -> Result<Self, FieldError> {
        let kinds = kinds(file)?;
        let sections: Vec<&Kind> = kinds.iter().map(|name| &file.kind[*name]).collect();
        let cores = place_cores(&file.topology, &sections, cores)?;
        let cpus = cpus(&file.topology, &cores);
        let distance_ps = Distances::of(file, &kinds)?.matrix(&cores)?;
        Ok(Topology { kinds, n_cores: cores.len() as u32, cpus, distance_ps })
    }
}

/// The names of the kinds in the order in which `topology.kinds` has them.
fn kinds(file: &File) -> Result<Vec<&str>, FieldError> {
    let wrong = |what| Err(wrong("topology.kinds", what));
    let names: Vec<&str> = file.topology.kinds.iter().map(|name| name.0.as_str()).collect();
    if names.is_empty() {
        return wrong("empty; accepted: a list of texts, not empty".into());
    }
    for (place, name) in names.iter().enumerate() {
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return wrong(format!("{name:?}; accepted: letters, digits and _"));
        }
        if !file.kind.contains_key(*name) || names[..place].contains(name) {
            return wrong(format!("{name:?} has no section [kind.{name}], or is named twice"));
        }
    }
    match file.kind.keys().find(|name| !names.contains(&name.as_str())) {
        Some(unused) => Err(self::wrong("kind", format!("[kind.{unused}] is not in topology.kinds"))),
        None => Ok(names),
    }
}

/// All cores, in the numbering of the system: socket by socket, kind by kind, cluster by cluster.
fn place_cores(topology: &Layout, kinds: &[&Kind], asked: Option<u32>) -> Result<Vec<Core>, FieldError> {
    let sockets = topology.sockets.0;
    let is_scalable = topology.scalable == Some(true);
    let asked = asked.filter(|_| is_scalable);
    let shape = |kind: &&Kind| (kind.clusters.0, asked.unwrap_or(kind.cores.0), kind.threads.0);
    let shapes: Vec<(u32, u32, u32)> = kinds.iter().map(shape).collect();
    if is_scalable && (sockets != 1 || shapes.len() != 1 || shapes[0].0 != 1) {
        let what = "accepted only with one kind, one socket and one cluster, which then grows";
        return Err(wrong("topology.scalable", what));
    }
    let n_cores: u64 = shapes.iter().map(|shape| u64::from(sockets) * u64::from(shape.0) * u64::from(shape.1)).sum();
    if n_cores > u64::from(MAX_CORES) {
        return Err(wrong("topology.sockets", format!("{n_cores} cores; accepted: {MAX_CORES} at most")));
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
fn cpus(topology: &Layout, cores: &[Core]) -> Vec<Cpu> {
    let mut cpus = Vec::new();
    let mut keys = Vec::new();
    for (index, core) in (0..).zip(cores) {
        for thread in 0..core.threads {
            let node = if topology.near == Near::Socket { core.socket } else { core.cluster };
            let within = if topology.fill == Fill::Spread {
                [core.core_in_cluster, core.cluster_in_socket, core.socket]
            } else {
                [core.socket, core.cluster_in_socket, core.core_in_cluster]
            };
            keys.push((thread, core.kind, within, cpus.len()));
            cpus.push(Cpu { core: index, kind: core.kind, socket: core.socket, node, rank: 0 });
        }
    }
    keys.sort_unstable();
    let n_together = topology.together.map_or(0, |together| together.0 as usize);
    keep_together(&mut keys, n_together, |cpu| cpus[cpu].socket);
    for (rank, (.., cpu)) in (0..).zip(keys) {
        cpus[cpu].rank = rank;
    }
    cpus
}

/// Moves the first so many CPUs of the first socket to the front.
fn keep_together<K>(keys: &mut Vec<(u32, u32, K, usize)>, n: usize, socket: impl Fn(usize) -> u32) {
    let first = keys.extract_if(.., |(.., cpu)| socket(*cpu) == 0).take(n).collect::<Vec<_>>();
    keys.splice(0..0, first);
}

/// How far cores are apart, by their kinds and by what they share.
struct Distances<'a> {
    /// The kinds' names.
    names: &'a [&'a str],
    /// By the kinds, smaller index first, with the names of the sections.
    by_kinds: BTreeMap<(u32, u32), (&'a str, &'a Distance)>,
    /// Between sockets.
    hops: Vec<Vec<u32>>,
}

impl<'a> Distances<'a> {
    fn of(file: &'a File, names: &'a [&'a str]) -> Result<Self, FieldError> {
        let mut by_kinds = BTreeMap::new();
        let index = |name: &str| names.iter().position(|kind| *kind == name).map(|index| index as u32);
        // A machine of one core has no distances.
        for (name, section) in file.distance.iter().flatten() {
            let pair = name.split_once('-').and_then(|(one, other)| Some((index(one)?, index(other)?)));
            let Some((one, other)) = pair else {
                return Err(wrong("distance", format!("[distance.{name}]; accepted: two kinds, as in [distance.P-E]")));
            };
            if by_kinds.insert((one.min(other), one.max(other)), (name.as_str(), section)).is_some() {
                return Err(wrong("distance", format!("[distance.{name}] is there twice, in both orders")));
            }
        }
        Ok(Distances { names, by_kinds, hops: hops(&file.topology)? })
    }

    fn matrix(&self, cores: &[Core]) -> Result<Vec<u32>, FieldError> {
        let mut matrix = Vec::with_capacity(cores.len() * cores.len());
        for (from, one) in cores.iter().enumerate() {
            for (to, other) in cores.iter().enumerate() {
                matrix.push(if from == to { 0 } else { self.ps(one, other)? });
            }
        }
        Ok(matrix)
    }

    fn ps(&self, one: &Core, other: &Core) -> Result<u32, FieldError> {
        let kinds = (one.kind.min(other.kind), one.kind.max(other.kind));
        let Some((name, section)) = self.by_kinds.get(&kinds) else {
            let [one, other] = [kinds.0, kinds.1].map(|kind| self.names[kind as usize]);
            let what = format!("[distance.{one}-{other}] is missing: there are such pairs of cores");
            return Err(wrong("distance", what));
        };
        let (field, found) = match self.hops[one.socket as usize][other.socket as usize] {
            0 if one.cluster == other.cluster => ("cluster_ns", section.cluster_ns),
            0 => ("socket_ns", section.socket_ns),
            1 => ("hop_1_ns", section.hop_1_ns),
            2 => ("hop_2_ns", section.hop_2_ns),
            _ => ("hop_3_ns", section.hop_3_ns),
        };
        let missing = || wrong(format!("distance.{name}.{field}"), "missing: there are cores that are so far apart");
        found.map(|ns| ns.0).ok_or_else(missing)
    }
}

/// Hops between sockets: as the rows of digits say, else one between any two.
fn hops(topology: &Layout) -> Result<Vec<Vec<u32>>, FieldError> {
    let sockets = topology.sockets.0 as usize;
    let Some(rows) = &topology.hops else {
        return Ok((0..sockets).map(|one| (0..sockets).map(|other| u32::from(one != other)).collect()).collect());
    };
    let digits = |row: &str| row.chars().map(|c| c.to_digit(4)).collect::<Option<Vec<u32>>>();
    let rows: Option<Vec<Vec<u32>>> = rows.iter().map(|row| digits(&row.0)).collect();
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
        wrong("topology.hops", what)
    })
}
