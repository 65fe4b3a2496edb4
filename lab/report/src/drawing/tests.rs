use super::*;
use ondeck_kit::figure::{Scale, Unit};
use roxmltree::Node;

fn points(values: &[(f64, f64)]) -> Vec<Point> {
    values.iter().map(|(x, y)| Point { x: *x, y: *y, spread: Some((y * 0.9, y * 1.2)), ..Point::default() }).collect()
}

fn series(style: usize, values: &[(f64, f64)]) -> Series {
    Series { name: format!("lock-{style}"), style, source: 0, quiet: false, points: points(values) }
}

/// A figure with so many series, over 1, 2, 4 and 256 threads.
fn figure(n_series: usize) -> Figure {
    let values = |style: usize| [1.0, 2.0, 4.0, 256.0].map(|x| (x, 1.0 / (1.0 + style as f64)));
    Figure {
        id: "throughput".into(),
        title: "Throughput".into(),
        caption: "Medians.".into(),
        text: "What is seen.".into(),
        x: Axis { label: "threads".into(), unit: Unit::Count, scale: Scale::Log, ticks: vec![1.0, 2.0, 4.0, 256.0] },
        y: Axis { label: "relative to one thread".into(), unit: Unit::Ratio, scale: Scale::Linear, ticks: vec![] },
        series: (0..n_series).map(|style| series(style, &values(style))).collect(),
    }
}

fn numbers(text: &str) -> Vec<f64> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || ".-".contains(c))).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap_or_else(|_| panic!("{part} in {text}"))).collect()
}

fn number_of(node: Node, name: &str) -> f64 {
    node.attribute(name).unwrap_or_else(|| panic!("no {name} in {node:?}")).parse().unwrap()
}

/// Left, top, right and bottom of what an element draws; `None` if it draws nothing itself.
fn extent(node: Node) -> Option<[f64; 4]> {
    let number = |name| number_of(node, name);
    let around = |numbers: Vec<f64>| {
        let every_second = |from: usize| numbers.iter().skip(from).step_by(2).copied().collect::<Vec<f64>>();
        let ends = |values: Vec<f64>| {
            (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max))
        };
        let ((left, right), (top, bottom)) = (ends(every_second(0)), ends(every_second(1)));
        [left, top, right, bottom]
    };
    Some(match node.tag_name().name() {
        "rect" => [number("x"), number("y"), number("x") + number("width"), number("y") + number("height")],
        "circle" => {
            let (x, y, r) = (number("cx"), number("cy"), number("r"));
            [x - r, y - r, x + r, y + r]
        }
        "line" => around(["x1", "y1", "x2", "y2"].map(number).to_vec()),
        "polyline" | "polygon" => {
            around(numbers(node.attribute("points")?)).map(|v| if v.is_finite() { v } else { 0.0 })
        }
        "path" => match numbers(node.attribute("d")?)[..] {
            [left, low, right, x, _, high, _, _, _] => around(vec![left, low, right, high, x, high]),
            ref other => panic!("another path: {other:?}"),
        },
        "text" => {
            let (size, text) = (number("font-size"), node.text().unwrap_or_default().trim());
            let (x, y, wide) = (number("x"), number("y"), width(text, size));
            let x = match node.attribute("text-anchor") {
                Some("middle") => x - wide / 2.0,
                Some("end") => x - wide,
                _ => x,
            };
            [x, y - size * 0.8, x + wide, y + size * 0.25]
        }
        _ => return None,
    })
}

/// Draws the figure, checks what must hold of every picture, and gives its text.
fn drawn(figure: &Figure) -> String {
    let text = svg(figure);
    let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let root = document.root_element();
    let size = numbers(root.attribute("viewBox").unwrap());
    assert_eq!(size[..3], [0.0, 0.0, WIDTH]);
    let mut n_drawn = 0;
    for node in root.descendants() {
        for attribute in node.attributes() {
            assert!(!["NaN", "inf"].iter().any(|bad| attribute.value().contains(bad)), "{node:?}: {attribute:?}");
        }
        let Some([left, top, right, bottom]) = extent(node) else { continue };
        n_drawn += 1;
        let is_inside = left >= -0.1 && top >= -0.1 && right <= size[2] + 0.1 && bottom <= size[3] + 0.1;
        assert!(is_inside, "{node:?} {:?} at {:?}", node.text(), [left, top, right, bottom]);
    }
    assert!(n_drawn > 5, "the picture is empty: {text}");
    text
}

/// Texts of all elements of a kind.
fn texts(picture: &str, tag: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(picture).unwrap();
    let nodes = document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", tag)));
    nodes.map(|node| node.text().unwrap_or_default().trim().to_string()).collect()
}

fn count(picture: &str, part: &str) -> usize {
    picture.matches(part).count()
}

#[test]
fn a_picture_says_what_it_shows() {
    let picture = drawn(&figure(3));
    for text in ["Throughput", "Medians.", "relative to one thread", "threads", "lock-0", "256"] {
        assert!(texts(&picture, "text").iter().any(|other| other == text), "no {text} in {picture}");
    }
    assert_eq!(texts(&picture, "desc"), ["What is seen."]);
    assert_eq!(texts(&picture, "title")[0], "Throughput");
    assert_eq!(texts(&picture, "title")[1], "lock-2, 1 threads: 0.333 (0.300 to 0.400)");
    let document = roxmltree::Document::parse(&picture).unwrap();
    assert_eq!(document.root_element().attribute("role"), Some("img"));
    assert_eq!(count(&picture, "<polyline"), 3);
}

#[test]
fn every_scale_is_drawn_on() {
    for x in [Scale::Linear, Scale::Log] {
        for y in [Scale::Linear, Scale::Log] {
            for n_series in [1, 2, 5] {
                let mut figure = figure(n_series);
                (figure.x.scale, figure.y.scale) = (x.clone(), y.clone());
                assert_eq!(count(&drawn(&figure), "<title>"), 4 * n_series, "{x:?} {y:?}");
            }
        }
    }
}

#[test]
fn a_point_higher_up_is_drawn_higher_up() {
    for scale in [Scale::Linear, Scale::Log] {
        let mut figure = figure(1);
        figure.y.scale = scale;
        figure.series = vec![series(0, &[(1.0, 1.0), (2.0, 3.0), (4.0, 2.0)])];
        let picture = drawn(&figure);
        let document = roxmltree::Document::parse(&picture).unwrap();
        let line = document.descendants().find(|node| node.tag_name().name() == "polyline").unwrap();
        let places = numbers(line.attribute("points").unwrap());
        assert!(places[3] < places[5] && places[5] < places[1], "{places:?}");
        assert!(places[0] < places[2] && places[2] < places[4], "{places:?}");
    }
}

#[test]
fn figures_with_little_in_them() {
    assert!(drawn(&figure(0)).contains("no figures"));
    let mut empty = figure(2);
    empty.series[1].points.clear();
    let picture = drawn(&empty);
    assert!(!picture.contains("lock-1") && !picture.contains("no figures"), "{picture}");
    let mut single = figure(0);
    single.x.ticks = vec![16.0];
    single.series = vec![series(0, &[(16.0, 0.0)])];
    single.series[0].points[0].spread = None;
    assert!(texts(&drawn(&single), "text").contains(&"16".to_string()));
}

#[test]
fn a_picture_grows_with_its_names() {
    for n_series in [24, 300] {
        let texts = texts(&drawn(&figure(n_series)), "text");
        assert!((0..n_series).all(|style| texts.contains(&format!("lock-{style}"))), "{texts:?}");
    }
}

#[test]
fn values_of_every_size() {
    let all = [0.0, -5.0, 1e-320, 1e-300, 1e-9, 1e9, 1e300, f64::MAX];
    for y in [Scale::Linear, Scale::Log] {
        for x in [Scale::Linear, Scale::Log] {
            for (one, other) in all.into_iter().flat_map(|one| all.map(|other| (one, other))) {
                let mut figure = figure(0);
                (figure.y.scale, figure.x.scale) = (y.clone(), x.clone());
                figure.series = vec![series(0, &[(one.min(other), one), (one.max(other), other)])];
                drawn(&figure);
            }
        }
    }
}

#[test]
fn names_are_text_whatever_they_are() {
    let names =
        ["</svg><script>alert(1)</script>", "\"'&<>", "\u{202e}\u{0}\u{ffff}\n", "\u{5d0}\u{5d1}", &"x".repeat(1000)];
    for name in names {
        let mut figure = figure(2);
        (figure.title, figure.caption, figure.text) = (name.into(), name.into(), name.into());
        (figure.x.label, figure.y.label) = (name.into(), name.into());
        figure.series[0].name = name.into();
        let picture = drawn(&figure);
        assert!(!picture.contains("<script"), "{picture}");
        assert_eq!(texts(&picture, "title")[0], clean(name).trim());
    }
}

#[test]
fn files_are_told_apart_by_dashes_and_hollow_markers() {
    let mut figure = figure(2);
    figure.series[1] = Series { source: 1, ..figure.series[0].clone() };
    let dashed = |picture: &str| count(picture, "stroke-dasharray=\"8 4\"");
    assert_eq!(dashed(&drawn(&figure)), 2, "a line and its piece in the legend");
    figure.series[1].source = 0;
    assert_eq!(dashed(&drawn(&figure)), 0);
}

#[test]
fn the_same_figure_is_the_same_bytes() {
    let (one, other) = (svg(&figure(24)), svg(&figure(24)));
    assert_eq!(one, other);
    let finest = |number: &str| number.split_once('.').map_or(0, |(_, digits)| digits.len());
    let document = roxmltree::Document::parse(&one).unwrap();
    for attribute in document.descendants().filter_map(|node| node.attribute("points")) {
        assert!(attribute.split([' ', ',']).all(|number| finest(number) <= 1), "{attribute}");
    }
}

#[test]
fn a_chart_in_a_page_is_that_of_the_file_stretched() {
    for n_series in [3, 24] {
        let figure = figure(n_series);
        let (xs, file) = (figure.xs(), drawn(&figure));
        let Inline { places, svg, .. } = chart_in_page(&figure, &xs);
        let (page, file) = (roxmltree::Document::parse(&svg).unwrap(), roxmltree::Document::parse(&file).unwrap());
        let of_series = |style: usize| -> Vec<Node> {
            let of = |up: Node| up.attribute("class").is_some_and(|class| class.starts_with(&format!("s{style} ")));
            page.descendants().filter(|node| node.parent().is_some_and(of)).collect()
        };
        let places = numbers(&places);
        assert_eq!(places.len(), xs.len());
        for style in 0..n_series {
            let points =
                |name: &str| of_series(style).into_iter().filter(|node| node.has_tag_name(name)).collect::<Vec<Node>>();
            let markers = points("use");
            assert_eq!(markers.len(), xs.len(), "{svg}");
            let line = numbers(points("polyline")[0].attribute("points").unwrap());
            for (at, marker) in markers.iter().enumerate() {
                let [x, y] = ["x", "y"].map(|name| numbers(marker.attribute(name).unwrap())[0]);
                let expected = [places[at], line[2 * at], line[2 * at + 1]];
                assert_eq!([x * 10.0, x * 10.0, y * 10.0].map(f64::round), expected);
            }
            // Upwards, parts of the whole are those of the file.
            let file = file.descendants().filter(|node| node.tag_name().name() == "polyline").nth(n_series - 1 - style);
            let heights = |line: &[f64]| line.iter().skip(1).step_by(2).copied().collect::<Vec<f64>>();
            let (file, page) = (heights(&numbers(file.unwrap().attribute("points").unwrap())), heights(&line));
            let scale = (file[0] - file[1]) / (page[0] - page[1]).max(1e-9);
            let is_close = |(one, other): (&f64, &f64)| ((one - file[0]) - (other - page[0]) * scale).abs() < 2.0;
            assert!(page[0] == page[1] || file.iter().zip(&page).all(is_close), "{file:?} {page:?}");
        }
    }
}

#[test]
fn a_phone_has_fewer_numbers_at_an_axis() {
    let mut figure = figure(2);
    let ticks: Vec<f64> = (1..=16).map(f64::from).collect();
    figure.series = vec![series(0, &ticks.iter().map(|x| (*x, 1.0)).collect::<Vec<_>>())];
    (figure.x.ticks, figure.x.scale) = (ticks, Scale::Linear);
    let svg = chart_in_page(&figure, &figure.xs()).svg;
    let all = texts(&svg.replace("<svg>", "<svg xmlns=\"http://www.w3.org/2000/svg\">"), "text").len();
    let only_wide = count(&svg, "class=\"wide\"");
    assert!(only_wide > 0 && only_wide < all, "{only_wide} of {all}");
}
