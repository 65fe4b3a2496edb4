//! Made-up profiles for tests: a database server that waits for three of its locks, and small ones.

use crate::profile::{
    Bar, Condition, Dropped, Frame, Histogram, Lock, Origin, Process, ProcessEnd, Profile, Site, Spot, Timeline,
    VERSION,
};
use std::collections::HashMap;

/// Puts a profile together from names.
struct Builder {
    profile: Profile,
    frames: HashMap<String, u32>,
    stacks: HashMap<Vec<u32>, u32>,
}

impl Builder {
    fn new(command: &[&str]) -> Builder {
        let profile = Profile {
            version: VERSION,
            command: command.iter().map(|word| word.to_string()).collect(),
            started_at: 1_795_218_652.25,
            seconds: 4.0,
            cores: 16,
            lock: "glibc".into(),
            rate: 64,
            ..Profile::default()
        };
        Builder { profile, frames: HashMap::new(), stacks: HashMap::new() }
    }

    /// A frame from `function @ file:line module`, all but the function left out at will; with `^` in front, inlined.
    fn frame(&mut self, text: &str) -> u32 {
        if let Some(known) = self.frames.get(text) {
            return *known;
        }
        let (name, place) = text.split_once(" @ ").unwrap_or((text, ""));
        let (place, module) = place.split_once(' ').unwrap_or((place, "mariadbd"));
        let (file, line) = place.split_once(':').unwrap_or((place, "0"));
        let number = self.profile.frames.len() as u32;
        self.profile.frames.push(Frame {
            function: name.trim_start_matches('^').into(),
            module: module.into(),
            file: file.into(),
            line: line.parse().expect("a line is a number"),
            address: 0x40_1000 + u64::from(number) * 0x130,
            build_id: "5be1c0ffee".into(),
            is_inlined: name.starts_with('^'),
            is_named: !name.contains("+0x"),
        });
        self.frames.insert(text.into(), number);
        number
    }

    fn stack(&mut self, frames: &[&str]) -> u32 {
        let frames: Vec<u32> = frames.iter().map(|text| self.frame(text)).collect();
        let next = self.profile.stacks.len() as u32;
        *self.stacks.entry(frames.clone()).or_insert_with(|| {
            self.profile.stacks.push(frames);
            next
        })
    }

    fn sites(&mut self, parts: &[(&[&str], f64)], count: f64, ns: f64) -> Vec<Site> {
        let site = |(frames, part): &(&[&str], f64)| Site {
            stack: self.stack(frames),
            count: (count * part).round(),
            ns: (ns * part).round(),
        };
        parts.iter().map(site).collect()
    }
}

/// `count` durations around `typical` ns, with a long tail.
fn histogram(typical: u64, count: f64) -> Histogram {
    let weights = [1.0, 3.0, 8.0, 14.0, 11.0, 6.0, 3.0, 2.0, 1.2, 0.6, 0.2];
    let whole: f64 = weights.iter().sum();
    let mut from = (typical / 64).max(1);
    let bar = |weight: &f64| {
        let bar = Bar { from, to: from * 2, count: (count * weight / whole).round() };
        from *= 2;
        bar
    };
    Histogram(weights.iter().map(bar).filter(|bar| bar.count > 0.0).collect())
}

fn timeline(ns: f64, phase: usize) -> Timeline {
    let shape = |slice: usize| 1.0 + ((slice * 7 + phase * 13) % 11) as f64 / 4.0 + if slice > 24 { 2.0 } else { 0.0 };
    let whole: f64 = (0..40).map(shape).sum();
    Timeline { slice: 0.1, amounts: (0..40).map(|slice| (ns * shape(slice) / whole).round()).collect() }
}

const LOCK: &[&str] = &["pthread_mutex_lock @ pthread_mutex_lock.c:94 libc.so.6"];

/// Stacks that end in the server's main loop.
fn within<'a>(inner: &[&[&'a str]]) -> Vec<&'a str> {
    let outer = [
        "do_handle_one_connection(CONNECT*, bool) @ sql/sql_connect.cc:1416",
        "handle_one_connection @ sql/sql_connect.cc:1318",
        "libc.so.6+0x891c4 @ :0 libc.so.6",
    ];
    let middle = [
        "dispatch_command(enum_server_command, THD*, char*, unsigned int, bool) @ sql/sql_parse.cc:1893",
        "do_command(THD*, bool) @ sql/sql_parse.cc:1406",
    ];
    [inner.concat(), middle.to_vec(), outer.to_vec()].concat()
}

/// A lock, with all sums that a real one would have.
fn lock(name: &str, process: u32, address: u64, waits: f64, mean_ns: f64) -> Lock {
    let wait_ns = waits * mean_ns;
    Lock {
        name: name.into(),
        process,
        address,
        acquisitions: waits * 3.0 + 20_000.0,
        waits,
        wait_ns,
        longest_ns: if waits > 0.0 { (mean_ns * 30.0) as u64 } else { 0 },
        wait_histogram: histogram(mean_ns as u64, waits),
        hold_histogram: histogram(9000, waits * 3.0 + 20_000.0),
        hold_ns: (waits * 3.0 + 20_000.0) * 2300.0,
        handing_on_ns: (wait_ns * 0.14).round(),
        most_waiting: if waits > 0.0 { 1 + (waits as u32 % 13) } else { 0 },
        threads: 24,
        members: 1,
        ..Lock::default()
    }
}

fn template(function: &str) -> String {
    let inner = "std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, unsigned long>";
    format!(
        "std::_Hashtable<std::__cxx11::basic_string<char>, {inner}, std::allocator<{inner} >, std::__detail::_Select1st, \
         std::equal_to<std::__cxx11::basic_string<char> >>::{function}(std::pair<{inner}, bool>&&)"
    )
}

/// A database server under load, of which a second process exists for a while.
pub(crate) fn server() -> Profile {
    let mut builder = Builder::new(&["/usr/sbin/mariadbd", "--datadir=/srv/data", "--thread-handling=one per client"]);
    let process =
        |pid, parent, program: &str, from, to, ended| Process { pid, parent, program: program.into(), from, to, ended };
    builder.profile.processes = vec![
        process(4711, 4700, "/usr/sbin/mariadbd", 0.004, 4.0, ProcessEnd::Exit),
        process(4790, 4711, "/usr/bin/wsrep_notify", 1.25, 1.5, ProcessEnd::Abruptly),
    ];
    query_cache(&mut builder);
    log(&mut builder);
    table_cache(&mut builder);
    for index in 0..30u64 {
        let name = format!("LOCK_stats_{index} (sql/mysqld.cc:{})", 700 + index);
        let mut idle = lock(&name, (index % 2) as u32, 0x55d0_1000 + index * 64, 0.0, 0.0);
        idle.acquisitions = 40_000.0 / (1.0 + index as f64);
        idle.handing_on_ns = 0.0;
        builder.profile.locks.push(idle);
    }
    conditions(&mut builder);
    builder.profile.dropped = Dropped { samples: 12, stacks: 0, locks: 0, processes: 1, nestings: 0 };
    builder.profile.notes = vec!["stacks were walked by frame pointers: functions without one are left out".into()];
    builder.profile
}

fn finish(
    builder: &mut Builder,
    mut lock: Lock,
    waiters: &[(&[&str], f64)],
    holders: &[(&[&str], f64)],
    origin: &[&str],
) {
    lock.waiters = builder.sites(waiters, lock.waits, lock.wait_ns);
    lock.holders = builder.sites(holders, lock.waits * 0.8, lock.wait_ns - lock.handing_on_ns);
    lock.takers = builder.sites(holders, lock.acquisitions, lock.hold_ns);
    lock.origin = Some(Origin { stack: builder.stack(origin), spot: Spot::Initialised });
    lock.timeline = timeline(lock.wait_ns, builder.profile.locks.len());
    builder.profile.locks.push(lock);
}

fn query_cache(builder: &mut Builder) {
    let take =
        ["^inline_mysql_mutex_lock(mysql_mutex_t*, char const*, unsigned int) @ include/mysql/psi/mysql_thread.h:746"];
    let free = ["pthread_mutex_unlock @ :0 libc.so.6", "^Query_cache::unlock() @ sql/sql_cache.cc:674"];
    let wait = ["Query_cache::try_lock(THD*, Query_cache::Cache_try_lock_mode) @ sql/sql_cache.cc:470"];
    let parse = "mysql_parse(THD*, char*, unsigned int, Parser_state*) @ sql/sql_parse.cc:7820";
    let select = ["execute_sqlcom_select(THD*, TABLE_LIST*) @ sql/sql_parse.cc:6230", parse];
    let send = ["Query_cache::send_result_to_client(THD*, char*, unsigned int) @ sql/sql_cache.cc:1890", parse];
    let send = within(&[LOCK, &take, &wait, &send]);
    let store = ["Query_cache::store_query(THD*, TABLE_LIST*) @ sql/sql_cache.cc:1410"];
    let store = within(&[LOCK, &take, &wait, &store, &select]);
    let drop = [
        "Query_cache::invalidate_table(THD*, TABLE_LIST*) @ sql/sql_cache.cc:3321",
        "mysql_insert(THD*, TABLE_LIST*, List<Item>&) @ sql/sql_insert.cc:1160",
        parse,
    ];
    let drop = within(&[&free, &drop]);
    let kept = within(&[&free, &["Query_cache::store_query(THD*, TABLE_LIST*) @ sql/sql_cache.cc:1520"], &select]);
    let lock = lock("query_cache+0x18", 0, 0x55d0_2018, 91_200.0, 122_000.0);
    let origin = [
        "Query_cache::init() @ sql/sql_cache.cc:2512",
        "init_server_components() @ sql/mysqld.cc:5101",
        "main @ sql/main.cc:34",
    ];
    finish(builder, lock, &[(&send, 0.71), (&store, 0.29)], &[(&drop, 0.64), (&kept, 0.36)], &origin);
}

fn log(builder: &mut Builder) {
    let take = [
        "^std::lock_guard<std::mutex>::lock_guard(std::mutex&) @ bits/std_mutex.h:229",
        "std::mutex::lock() @ bits/std_mutex.h:113",
    ];
    let write = [
        "log_t::append_prepare(unsigned long, bool) @ storage/innobase/mtr/mtr0mtr.cc:900",
        "^mtr_t::finish_write(unsigned long) @ storage/innobase/mtr/mtr0mtr.cc:1144",
        "mtr_t::commit() @ storage/innobase/mtr/mtr0mtr.cc:360",
    ];
    let commit = ["trx_commit_low(trx_t*) @ storage/innobase/trx/trx0trx.cc:1520"];
    let wait = within(&[LOCK, &[take[1], take[0]], &write, &commit]);
    let free = ["pthread_mutex_unlock @ :0 libc.so.6", "std::mutex::unlock() @ bits/std_mutex.h:132"];
    let hold = within(&[&free, &write]);
    let mut lock = lock("log_sys+0x40 (log_t::create(), log0log.cc:180)", 0, 0x55d0_3040, 14_300.0, 58_000.0);
    (lock.spins, lock.parks, lock.wakes) = (Some(240_000.0), Some(9_800.0), Some(9_750.0));
    finish(
        builder,
        lock,
        &[(&wait, 1.0)],
        &[(&hold, 1.0)],
        &["log_t::create() @ storage/innobase/log/log0log.cc:180", "main @ sql/main.cc:34"],
    );
}

fn table_cache(builder: &mut Builder) {
    let (find, insert) = (template("find"), template("_M_insert_unique_node"));
    let acquire = "tdc_acquire_share(THD*, TABLE_LIST*, unsigned int, TABLE**) @ sql/table_cache.cc:802";
    let wait = within(&[LOCK, &[&find, acquire]]);
    let add = "tc_add_table(THD*, TABLE*) @ sql/table_cache.cc:372";
    let hold = within(&[&["pthread_mutex_unlock @ :0 libc.so.6", &insert, add]]);
    let name = format!("{} (sql/table_cache.cc:190)", template("_M_mutex"));
    let lock = lock(&name, 0, 0x55d0_4080, 4_100.0, 19_000.0);
    finish(
        builder,
        lock,
        &[(&wait, 1.0)],
        &[(&hold, 1.0)],
        &["tdc_init() @ sql/table_cache.cc:190", "main @ sql/main.cc:34"],
    );
}

fn conditions(builder: &mut Builder) {
    let idle = ["pthread_cond_wait @ :0 libc.so.6", "buf_flush_page_cleaner @ storage/innobase/buf/buf0flu.cc:2400"];
    for (index, name) in ["buf_pool+0x880", "LOCK_thread_cache (sql/mysqld.cc:6130)"].iter().enumerate() {
        let (waits, mean) = (400.0 / (1.0 + index as f64), 38e6);
        let waiters = builder.sites(&[(&idle, 1.0)], waits, waits * mean);
        builder.profile.conditions.push(Condition {
            name: name.to_string(),
            address: 0x55d0_9000 + index as u64 * 64,
            waits,
            wait_ns: waits * mean,
            longest_ns: 1_004_000_000,
            wait_histogram: histogram(38_000_000, waits),
            waiters,
            ..Condition::default()
        });
    }
}

/// A program that locked and never waited.
pub(crate) fn calm() -> Profile {
    let mut builder = Builder::new(&["sort"]);
    let mut idle = lock("main.table (main.c:7)", 0, 0x4000, 0.0, 0.0);
    idle.acquisitions = 20_000.0;
    idle.handing_on_ns = 0.0;
    builder.profile.locks.push(idle);
    builder.profile
}

/// A program without a lock.
pub(crate) fn silent() -> Profile {
    Builder::new(&["true"]).profile
}

/// Four stacks: one with a wrapper, one of a wrapper alone, an empty one, and a second that `serve` is the top of.
pub(crate) fn small() -> Profile {
    let mut builder = Builder::new(&["small"]);
    builder.stack(&["pthread_mutex_lock @ :0 libc.so.6", "serve", "main"]);
    builder.stack(&["pthread_mutex_unlock @ :0 libc.so.6"]);
    builder.stack(&[]);
    builder.stack(&["^std::mutex::lock()", "serve", "run", "main"]);
    let mut lock = lock("small.lock", 0, 0x4000, 10.0, 1000.0);
    lock.waiters = vec![Site { stack: 0, count: 6.0, ns: 6000.0 }, Site { stack: 3, count: 4.0, ns: 4000.0 }];
    lock.holders = vec![Site { stack: 1, count: 5.0, ns: 5000.0 }, Site { stack: 2, count: 5.0, ns: 3600.0 }];
    builder.profile.locks.push(lock);
    builder.profile
}

/// All that is made of a profile, whatever stands in it.
pub(crate) fn show(profile: &Profile) {
    let sizes = [crate::terminal::table(profile, 120).len(), crate::page(profile).len()];
    assert!(sizes.iter().all(|size| *size < 10 << 20), "{sizes:?}");
    // Read back or refused: a figure may be too large for any run.
    let _ = crate::json::from_json(&crate::json::to_json(profile));
}

/// The sample that other crates test with, as a file.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/server.json");

/// `INSTA_UPDATE=always` writes it anew.
#[test]
fn the_file_is_current() {
    let text = serde_json::to_string(&server()).expect("a profile has a JSON form") + "\n";
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(FILE, &text).expect("the source can be written");
    }
    assert!(std::fs::read_to_string(FILE).is_ok_and(|kept| kept == text), "INSTA_UPDATE=always writes testdata anew");
}

#[test]
fn sums_are_as_a_profile_promises() {
    for lock in server().locks.iter().chain(&small().locks) {
        let sum = |sites: &[Site]| sites.iter().map(|site| site.ns).sum::<f64>();
        assert!((sum(&lock.waiters) - lock.wait_ns).abs() <= 2.0, "{}", lock.name);
        assert!((sum(&lock.holders) + lock.handing_on_ns - lock.wait_ns).abs() <= 2.0, "{}", lock.name);
    }
}

/// A thousand locks, and twenty thousand stacks of names as templates have them.
pub(crate) fn large() -> Profile {
    let mut builder = Builder::new(&["large"]);
    let deep: Vec<u32> =
        (0..400).map(|n| builder.frame(&format!("{} @ src/part_{n}.cc:{n}", template(&format!("f{n}"))))).collect();
    for index in 0..1000usize {
        let mut lock = lock(
            &format!("pool[{index}] ({})", template("_M_mutex")),
            0,
            index as u64 * 64,
            1.0 + 1e6 / (1.0 + index as f64),
            9000.0,
        );
        let sites = |builder: &mut Builder, seed: usize| -> Vec<Site> {
            let first = builder.profile.stacks.len() as u32;
            for n in 0..10 {
                let frame = |level: usize| deep[(index * 31 + seed * 7 + n * level * 13 + level * 3) % deep.len()];
                // Every thread begins alike.
                builder.profile.stacks.push((0..20).map(frame).chain(deep[..10].iter().copied()).collect());
            }
            (first..first + 10).map(|stack| Site { stack, count: lock.waits / 10.0, ns: lock.wait_ns / 10.0 }).collect()
        };
        (lock.waiters, lock.holders) = (sites(&mut builder, 1), sites(&mut builder, 2));
        lock.timeline = timeline(lock.wait_ns, index);
        builder.profile.locks.push(lock);
    }
    builder.profile
}
