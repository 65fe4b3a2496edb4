use super::*;
use crate::made_up;
use crate::profile::Cause;
use ondeck_kit::palette::contrast;
use roxmltree::Document;

/// Titles of all frames, with what is written on them.
fn frames_of(svg: &str) -> Vec<(String, String)> {
    let tree = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let is_frame = |node: &roxmltree::Node| node.attribute("class").is_some_and(|class| class.starts_with("f "));
    let text = |node: roxmltree::Node, name: &str| {
        let child = node.children().find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", name)));
        child.and_then(|child| child.text()).unwrap_or_default().to_string()
    };
    tree.descendants().filter(is_frame).map(|node| (text(node, "title"), text(node, "text"))).collect()
}

#[test]
fn a_file_has_both_graphs_with_figures() {
    let svg = svg(&made_up::server());
    let frames = frames_of(&svg);
    let titles: Vec<&str> = frames.iter().map(|(title, _)| title.as_str()).collect();
    for title in [
        "all waiting for locks: 12.0 s, 100 %, 110 k times",
        "query_cache+0x18: 11.1 s, 92 %, 91.2 k times",
        "do_command(THD*, bool) (mariadbd): 11.1 s, 92 %, 91.2 k times",
        "Query_cache::unlock() (mariadbd, inlined): 6.12 s, 51 %, 46.7 k times; held",
        "(free: a woken thread did not run yet): 1.56 s, 13 %; free",
    ] {
        assert!(titles.contains(&title), "no {title:?} in {titles:#?}");
    }
    assert!(frames.iter().any(|(_, text)| text == "Query_cache::try_lock"), "{frames:?}");
    assert!(svg.contains(">Who waited<") && svg.contains(">Who held it meanwhile<"));
    assert_eq!(svg, super::svg(&made_up::server()), "the same each time");
}

#[test]
fn holders_have_the_colours_of_what_they_did() {
    let mut profile = made_up::small();
    let lock = &mut profile.locks[0];
    let cause = |state, ns| Cause { state, stack: Some(lock.holders[0].stack), ns, ..Cause::default() };
    let held = lock.holders[0].ns;
    lock.causes = vec![cause(State::Blocked, held * 0.25), cause(State::Computing, held * 0.75)];
    let text = svg(&profile);
    let (waiters, holders) = text.split_once(">Who held it meanwhile<").unwrap();
    let frames = &waiters[waiters.find("<svg class=\"f ").unwrap()..];
    assert!(!frames.contains("state-") && !frames.contains("caused"), "{frames}");
    let stripes = "<rect class=\"state-0\" x=\"0.0000%\" width=\"100%\" height=\"100%\"></rect>\
                   <rect class=\"state-1\" x=\"75.0000%\" width=\"100%\" height=\"100%\"></rect>";
    assert!(holders.contains(stripes) && holders.contains("5 times; computing 75 %, blocked 25 %<"), "{holders}");
    assert!(holders.contains(">computing ") && holders.contains("<rect class=\"state-1\" x=\""), "a legend: {holders}");
    profile.lock = crate::words::FROM_KERNEL.to_owned();
    let holders_are_known = svg(&profile);
    assert!(holders_are_known.contains(">Who held it") && holders_are_known.contains("class=\"state-"));
    profile.locks.iter_mut().for_each(|lock| lock.causes.clear());
    let text = svg(&profile);
    assert!(text.contains(">Who woke the waiting threads<") && !text.contains("class=\"state-"), "{text}");
}

#[test]
fn hostile_names_are_text() {
    for name in
        ["<script>alert(1)</script>", "\"' onload=x", "]]><g>", "a\u{0}\u{202e}\n\u{ffff}", "&lt;", &"x".repeat(4000)]
    {
        let mut profile = made_up::small();
        profile.command = vec![name.into()];
        profile.locks[0].name = name.into();
        profile.frames.iter_mut().for_each(|frame| (frame.function, frame.module) = (name.into(), name.into()));
        let svg = svg(&profile);
        let frames = frames_of(&svg);
        assert!(frames.len() > 6, "{frames:?}");
        assert_eq!(svg.matches("<script").count(), 1);
        let tree = Document::parse(&svg).unwrap();
        let names = ["svg", "title", "style", "rect", "text", "script"];
        assert!(
            tree.descendants().filter(|node| node.is_element()).all(|node| names.contains(&node.tag_name().name()))
        );
        assert!(!tree.descendants().flat_map(|node| node.attributes()).any(|one| one.name().starts_with("on")));
        assert!(svg.len() < 100_000, "{}", svg.len());
    }
}

#[test]
fn a_program_that_did_not_wait_has_a_picture_too() {
    for profile in [made_up::calm(), made_up::silent()] {
        let svg = svg(&profile);
        assert!(frames_of(&svg).is_empty() && svg.contains("There is nothing to show."), "{svg}");
    }
    let mut profile = made_up::small();
    profile.locks[0].waiters.iter_mut().for_each(|site| site.ns = f64::MAX);
    profile.locks[0].wait_ns = f64::MAX;
    assert!(!svg(&profile).contains("NaN"));
}

#[test]
fn what_is_written_on_a_frame_can_be_read() {
    for (at, (ground, _)) in GROUNDS.iter().enumerate() {
        let of_states = states(at).into_iter().zip(State::ALL).map(|(fill, state)| (class_of(state), fill));
        for (selector, fill) in fills(at).into_iter().chain(of_states) {
            assert!(contrast(&fill, ground.ink) >= 4.5, "{selector}: {fill} below {}", ground.ink);
        }
    }
}

/// Red, green and blue of usual eyes, and of those without one kind of cones: Machado, Oliveira and Fernandes 2009.
const EYES: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
];

/// A colour as such eyes see it, in CIELAB, where distances are as large as they look.
fn lab(colour: &str, eyes: [[f64; 3]; 3]) -> [f64; 3] {
    let times = |matrix: [[f64; 3]; 3], of: [f64; 3]| {
        matrix.map(|row| row.iter().zip(of).map(|(one, other)| one * other).sum::<f64>().clamp(0.0, 1.0))
    };
    let linear = [1, 3, 5].map(|at| {
        let share = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    let xyz = [[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8728]];
    let root = |share: f64| if share > 0.008856 { share.cbrt() } else { 7.787 * share + 16.0 / 116.0 };
    let [x, y, z] = times(xyz, times(eyes, linear)).map(root);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn colours_of_states_can_be_told_apart_by_all_eyes() {
    for (at, eyes) in [0, 1].into_iter().flat_map(|at| EYES.map(|eyes| (at, eyes))) {
        let colours = states(at);
        for (place, one) in colours.iter().enumerate() {
            for other in &colours[..place] {
                let (left, right) = (lab(one, eyes), lab(other, eyes));
                let distance = left.iter().zip(right).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt();
                assert!(distance >= 9.0, "{one} and {other} on ground {at}: {distance}");
            }
        }
    }
}

#[test]
fn a_script_and_a_style_can_stand_where_they_do() {
    for text in [SCRIPT, STARTER, STYLE, BASICS] {
        assert!(!text.contains("]]>") && !text.to_lowercase().contains("</script") && !text.contains("<!--"));
    }
    assert!(SCRIPT.contains(&format!("const FLAME_ROW = {ROW};")));
    assert!(!STYLE.contains(['<', '&']));
}

#[test]
fn large_profiles_have_small_pictures() {
    let svg = svg(&made_up::large());
    assert!(svg.len() < 3_000_000, "{} bytes", svg.len());
}
