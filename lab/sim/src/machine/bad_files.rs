//! Files that no machine can be made from: each gets one line with the file, the line, the field and what is accepted.

use super::{from_text, load};

const GOOD: &str = include_str!("../../machines/rpi5.toml");

/// The error for the good file with one text replaced.
fn error(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old:?} is not in the file");
    from_text("f.toml", &GOOD.replacen(old, new, 1)).expect_err(new)
}

/// The line of the good file in which a text first stands.
fn line_of(text: &str) -> usize {
    1 + GOOD[..GOOD.find(text).unwrap()].matches('\n').count()
}

#[test]
fn a_wrong_figure_is_named_with_its_line() {
    let line = line_of("hit_ns");
    let figure = "hit_ns = { value = 1.7,";
    for (new, what) in [
        ("hit_ns = { value = -1.7,", "floating point `-1.7`, expected 0.001 to 4000000 (nanoseconds)"),
        ("hit_ns = { value = nan,", "floating point `NaN`, expected 0.001"),
        ("hit_ns = { value = inf,", "floating point `inf`, expected 0.001"),
        ("hit_ns = { value = 0,", "integer `0`, expected 0.001"),
        ("hit_ns = { value = 1e300,", "expected 0.001"),
        ("hit_ns = { value = 99999999999999999999,", "`99999999999999999999` as i128, expected 0.001"),
        ("hit_ns = { value = \"1.7\",", "string \"1.7\", expected 0.001"),
        ("hit_ns = { value = true,", "boolean `true`, expected 0.001"),
        ("hit_ns = { value = 1979-05-27,", "map, expected 0.001"),
        ("hit_ns = { value = [1.7],", "sequence, expected 0.001"),
        ("hit_ns = {", "missing field `value`"),
        ("hit_ns = { value = 1.7, low = 2,", "value 1.7 is not within low and high: low is 2"),
        ("hit_ns = { value = 1.7, high = 1.6,", "1.7 is not within low and high: high is 1.6"),
        ("hit_ns = { value = 1.7, unit = \"ns\",", "unknown field `unit`, expected one of `value`, `origin`, `from`"),
    ] {
        let error = error(figure, new);
        assert!(error.starts_with(&format!("f.toml:{line}: kind.A76.hit_ns")) && error.contains(what), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let bare = error("hit_ns = { value = 1.7, origin = \"derived\", from = \"4 cycles at 2.4 GHz\" }", "hit_ns = 1.7");
    assert!(bare.contains("hit_ns: invalid type: floating point `1.7`, expected { value = ..., origin = "), "{bare}");
}

#[test]
fn every_figure_must_say_where_it_is_from() {
    let of = |origin: &str| error("origin = \"derived\", from = \"4 cycles at 2.4 GHz\"", origin);
    for (origin, what) in [
        (
            "origin = \"rumour\", from = \"x\"",
            "unknown variant `rumour`, expected one of `measured`, `sibling`, `sourced`, `recalled`",
        ),
        ("from = \"x\"", "missing field `origin`, expected one of measured"),
        ("origin = \"measured\"", "missing field `from`: what is measured"),
        ("origin = \"measured\", from = \"\"", "from: invalid value: string \"\", expected a text of one line"),
        ("origin = 3, from = \"x\"", "origin: invalid type: integer `3`, expected a string"),
    ] {
        assert!(of(origin).contains(what), "{}", of(origin));
    }
}

#[test]
fn fields_are_all_there_and_all_known() {
    let unknown = error("hit_ns =", "hit_nss =");
    assert!(unknown.contains("kind.A76: unknown field `hit_nss`, expected one of `clusters`, `cores`"), "{unknown}");
    let missing = error("[os]\nsyscall_ns", "[os]\n# syscall_ns");
    assert!(missing.contains("os: missing field `syscall_ns`"), "{missing}");
    assert!(missing.starts_with(&format!("f.toml:{}: ", line_of("[os]"))), "{missing}");
    let section = error("[memory]", "[memroy]");
    assert!(section.contains(": unknown field `memroy`, expected one of `machine`, `topology`"), "{section}");
    assert!(from_text("f.toml", "").unwrap_err().starts_with("f.toml:1: machine file: missing field `machine`"));
}

#[test]
fn topology_must_add_up() {
    for (old, new, what) in [
        ("cores = 4", "cores = 257", "cores: invalid value: integer `257`, expected a whole number from 1 to 256"),
        ("cores = 4", "cores = 0", "cores: invalid value: integer `0`, expected a whole number from 1"),
        ("cores = 4", "cores = 4.0", "cores: invalid value: floating point `4.0`, expected a whole number"),
        ("sockets = 1", "sockets = 65", "topology.sockets: 260 cores; accepted: 256 at most"),
        ("sockets = 1", "sockets = 2", "distance.A76-A76.hop_1_ns: missing"),
        ("sockets = 1", "sockets = 2\nhops = [\"01\"]", "topology.hops: accepted: at least 2 rows"),
        ("sockets = 1", "sockets = 2\nhops = [\"01\", \"20\"]", "topology.hops: accepted: at least 2 rows"),
        ("sockets = 1", "sockets = 2\nhops = [\"01\", \"é0\"]", "topology.hops: accepted: at least 2 rows"),
        ("clusters = 1", "clusters = 2", "distance.A76-A76.socket_ns: missing"),
        ("[distance.A76-A76]", "[distance.A76-B]", "distance: [distance.A76-B]; accepted: two kinds"),
        ("kinds = [\"A76\"]", "kinds = []", "topology.kinds: empty"),
        ("kinds = [\"A76\"]", "kinds = [\"A76\", \"A76\"]", "topology.kinds: \"A76\" has no section"),
        ("kinds = [\"A76\"]", "kinds = [\"A-6\"]", "topology.kinds: \"A-6\"; accepted: letters"),
        ("kinds = [\"A76\"]", "kinds = [7]", "topology.kinds: invalid type: integer `7`, expected a string"),
        ("[kind.A76]", "[kind.B]\n[kind.A76]", "kind.B: missing field `clusters`"),
        ("[kind.A76]", "[kind]\nB = 3\n[kind.A76]", "kind.B: invalid type: integer `3`, expected a section"),
        (
            "fill = \"spread\"",
            "fill = \"spraed\"",
            "topology.fill: unknown variant `spraed`, expected `spread` or `pack`",
        ),
        (
            "fill = \"spread\"",
            "fill = \"spread\"\nscalable = 1",
            "topology.scalable: invalid type: integer `1`, expected a boolean",
        ),
        ("value = 64,", "value = 48,", "machine.line_bytes: 48; accepted: a power of two"),
        ("[os.eevdf]", "[os.quantum]\n[os.eevdf]", "os.quantum: missing field `quantum_ms`"),
        ("[os.eevdf]", "[os.eevfd]", "os: unknown field `eevfd`, expected one of `fair`, `eevdf`, `quantum`"),
        (
            "name = \"rpi5\"",
            "name = \"\"",
            "machine.name: invalid value: string \"\", expected a text of one line, not empty",
        ),
    ] {
        let error = error(old, new);
        assert!(error.starts_with("f.toml:") && error.contains(what), "{new}: {error}");
    }
    let ms = |name: &str| format!("{name} = {{ value = 3, origin = \"guess\" }}\n");
    let fair = ["latency_ms", "slice_ms", "wakeup_granularity_ms"].map(ms).concat();
    let two = from_text("f.toml", &format!("{GOOD}\n[os.fair]\n{fair}")).unwrap_err();
    assert!(two.contains(": os.eevdf: beside [os.fair]; accepted: one of them"), "{two}");
    let kind = &GOOD[GOOD.find("[kind.A76]").unwrap()..GOOD.find("[distance.A76-A76]").unwrap()];
    let unused = from_text("f.toml", &format!("{GOOD}\n{}", kind.replace("A76", "B"))).unwrap_err();
    assert!(unused.contains(": kind: [kind.B] is not in topology.kinds"), "{unused}");
    let scalable = GOOD.replace("sockets = 1", "sockets = 2").replace("near =", "scalable = true\nnear =");
    let error = from_text("f.toml", &scalable).unwrap_err();
    assert!(error.contains("topology.scalable: accepted only with one kind"), "{error}");
}

#[test]
fn what_is_not_toml_has_a_line_too() {
    assert!(from_text("f.toml", "[machine]\nname = = 3\n").unwrap_err().starts_with("f.toml:2: not TOML: "));
    let twice = from_text("f.toml", "[machine]\nname = \"a\"\nname = \"b\"\n").unwrap_err();
    assert!(twice.starts_with("f.toml:3: not TOML: duplicate key"), "{twice}");
}

#[test]
fn ancestors_exist_and_make_no_circle() {
    let error = |inherits: &str| {
        let text = format!("[machine]\nname = \"a\"\nabout = \"b\"\ninherits = {inherits}\n");
        from_text("f.toml", &text).unwrap_err()
    };
    assert!(error("\"rpi4\"").contains("f.toml:4: machine.inherits: no machine \"rpi4\"; did you mean rpi5?"));
    assert!(error("5").contains("machine.inherits: accepted: the name of a machine, or a file"));
    assert!(error("\"a.toml\"").contains("accepted here: the name of a machine"));
    let directory = std::env::temp_dir().join(format!("ondeck-machines-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str, inherits: &str| {
        let path = directory.join(name);
        let text = format!("[machine]\nname = \"mine\"\nabout = \"b\"\ninherits = \"{inherits}\"\n");
        std::fs::write(&path, text).unwrap();
        path
    };
    let (one, other) = (file("one.toml", "rpi5"), file("other.toml", "one.toml"));
    assert_eq!((load(&one).unwrap().cores, load(&other).unwrap().name.as_str()), (4, "mine"));
    let circle = load(file("circle.toml", "circle.toml")).unwrap_err();
    let lost = load(file("lost.toml", "nowhere.toml")).unwrap_err();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(circle.contains("circle.toml:4: machine.inherits: \"circle.toml\" goes round in a circle"), "{circle}");
    assert!(lost.contains("lost.toml:4: machine.inherits: ") && lost.contains("nowhere.toml"), "{lost}");
}

/// Every line gone, doubled, or with another value; every length. Whatever comes of it, it is a machine or one line.
#[test]
fn no_change_of_a_file_makes_a_panic() {
    let judge = |text: &str| {
        if let Err(error) = from_text("f.toml", text) {
            let place = error.strip_prefix("f.toml:").and_then(|rest| rest.split_once(':'));
            assert!(place.is_some_and(|(line, _)| line.parse::<usize>().is_ok()), "{error}");
            assert!(!error.contains('\n') && error.len() < 2000, "{error}");
        }
    };
    let lines: Vec<&str> = GOOD.lines().collect();
    let values =
        ["", "-1", "nan", "18446744073709551616", "\"\\u0000\"", "[[]]", "{}", "{ value = {} }", "[1,", "1e99"];
    for at in 0..lines.len() {
        let with = |line: &str| [&lines[..at], &[line], &lines[at + 1..]].concat().join("\n");
        judge(&with(""));
        judge(&with(&format!("{0}\n{0}", lines[at])));
        if let Some((name, _)) = lines[at].split_once(" = ") {
            values.iter().for_each(|value| judge(&with(&format!("{name} = {value}"))));
        }
    }
    (0..GOOD.len()).step_by(11).for_each(|length| judge(&GOOD[..length]));
    judge(&"[".repeat(100_000));
    judge(&format!("a = {}", "[".repeat(100_000)));
    judge(&format!("{}a = 1", "a.".repeat(10_000)));
}
