use super::*;
use crate::made_up;
use ondeck_report::palette::contrast;
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
        "Query_cache::unlock() (mariadbd, inlined): 6.12 s, 51 %, 46.7 k times",
        "(free: a woken thread did not run yet): 1.56 s, 13 %",
    ] {
        assert!(titles.contains(&title), "no {title:?} in {titles:#?}");
    }
    assert!(frames.iter().any(|(_, text)| text == "Query_cache::try_lock"), "{frames:?}");
    assert!(svg.contains(">Who waited<") && svg.contains(">Who held it meanwhile<"));
    assert_eq!(svg, super::svg(&made_up::server()), "the same each time");
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
    let light: fn(usize) -> &'static str = |hue| HUES[hue].light;
    let dark: fn(usize) -> &'static str = |hue| HUES[hue].dark;
    for (ground, of) in [(LIGHT, light), (DARK, dark)] {
        for (selector, fill) in fills(ground, of) {
            assert!(contrast(&fill, ground.ink) >= 4.5, "{selector}: {fill} below {}", ground.ink);
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
