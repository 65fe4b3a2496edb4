use super::*;
use crate::catalogue::Catalogue;
use crate::made_up::source;
use crate::row::Row;
use ondeck_kit::Grid;
use ondeck_kit::figure::{Axis, Point, Scale, Series, Unit};

/// What somebody might call a lock who wants to get into the page.
const HOSTILE: [&str; 7] = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "\"><img src=http://example.com/a.png onerror=alert(3)>",
    "' onmouseover='alert(4)",
    "<!--<script>\u{2028}\u{2029}\u{202e}",
    "&lt;b&gt; ${alert(5)} {{x}} \\u003c \\",
    "line\nbreak\tand\u{0}nothing",
];

fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.into(), unit, scale, ticks: Vec::new() }
}

fn series(name: &str, style: usize, source: usize, ys: &[f64]) -> Series {
    let point = |(place, y): (usize, &f64)| Point {
        x: (place + 1) as f64,
        y: *y,
        spread: Some((y * 0.9, y * 1.2)),
        ..Point::default()
    };
    Series { name: name.into(), style, source, quiet: false, points: ys.iter().enumerate().map(point).collect() }
}

fn figure(id: &str, series: Vec<Series>) -> Figure {
    Figure {
        id: id.into(),
        title: format!("Title of {id}"),
        caption: "A point is a median.".into(),
        text: "ondeck is at 3.".into(),
        x: axis("threads", Unit::Count, Scale::Linear),
        y: axis("wait", Unit::Ns, Scale::Linear),
        series,
    }
}

/// A table with the text everywhere.
fn main_table(text: &str) -> MainTable {
    let mut grid = Grid::new([text], [text]);
    grid.row([text.to_string(), text.to_string()]);
    MainTable { title: text.into(), units: text.into(), grid, legend: text.into() }
}

fn document() -> Document {
    let locks = vec![series("ondeck", 0, 0, &[1500.0, 2e6]), series("std", 1, 0, &[0.0])];
    Document {
        title: "Which lock keeps its speed?".into(),
        verdict: "With 64 threads, ondeck is fastest.".into(),
        subject: "ondeck and std: mutex-contention on a toy".into(),
        findings: vec![Finding { question: "Which one?".into(), sentences: vec!["It is ondeck: 0.95.".into()] }],
        origins: vec![Origin {
            label: "a.csv".into(),
            facts: vec![("Processor".into(), "Toy Quad".into())],
            command: "ondeck bench --lock ondeck,std".into(),
            warnings: vec!["other programs used 0.3 CPUs".into()],
        }],
        tables: vec![main_table("Measured in M/s")],
        figures: vec![figure("waits", locks)],
        left_out: Some("3 more charts are left out.".into()),
    }
}

/// A document in which every text is `text`.
fn document_of(text: &str) -> Document {
    let mut figure = figure("x", vec![series(text, 0, 0, &[1.0, 2.0])]);
    for place in [&mut figure.id, &mut figure.title, &mut figure.caption, &mut figure.text] {
        *place = text.into();
    }
    figure.x.label = text.into();
    figure.y.label = text.into();
    Document {
        title: text.into(),
        verdict: text.into(),
        subject: text.into(),
        findings: vec![Finding { question: text.into(), sentences: vec![text.into()] }],
        origins: vec![Origin {
            label: text.into(),
            facts: vec![(text.into(), text.into())],
            command: text.into(),
            warnings: vec![text.into()],
        }],
        tables: vec![main_table(text)],
        figures: vec![figure],
        left_out: Some(text.into()),
    }
}

/// The page without what is in script and style elements: what a browser shows that runs no scripts.
fn markup(page: &str) -> String {
    let mut rest = page.to_string();
    for (start, end) in [("<script", "</script>"), ("<style", "</style>")] {
        while let Some(from) = rest.find(start) {
            let to = rest[from..].find(end).expect("each element is closed") + from + end.len();
            rest.replace_range(from..to, "");
        }
    }
    rest
}

#[test]
fn what_matters_is_there_without_a_script() {
    let text = markup(&page(&document()));
    for expected in [
        "<h1>Which lock keeps its speed?</h1>",
        "<h2>Which one?</h2>",
        "<p>It is ondeck: 0.95.</p>",
        "<dt>Processor</dt><dd>Toy Quad</dd>",
        "ondeck bench --lock ondeck,std",
        "<li>other programs used 0.3 CPUs</li>",
        "1 warning",
        "3 more charts are left out.",
        "<td>Measured in M/s",
        "<polyline points=\"500,",
    ] {
        assert!(text.contains(expected), "{expected} is missing");
    }
    assert!(text.find("id=\"answers\"") < text.find("id=\"figures\""), "the answers come first");
    assert!(text.find("id=\"figures\"") < text.find("id=\"origins\""), "where from comes last");
}

#[test]
fn every_point_is_in_a_table() {
    let text = markup(&page(&document()));
    let row = "<th>ondeck<td>1.50 us <small>1.35 us to 1.80 us</small>\
               <td>2.00 ms <small>1.80 ms to 2.40 ms</small>";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("<th>std<td>0 ns <small>0 ns to 0 ns</small><td></table>"), "{text}");
}

#[test]
fn a_point_is_shown_as_what_it_is() {
    let mut figure = document().figures.remove(0);
    (figure.series[0].points[0].at_least, figure.series[0].points[1].bistable) = (true, true);
    let table = table::table(&figure, &figure.xs()).into_string();
    assert!(table.contains("<td>&gt;1.50 us <small>"), "{table}");
    assert!(table.contains("<td>2.00 ms bistable <small>"), "{table}");
}

#[test]
fn a_table_is_no_wider_than_need_be() {
    let mut figure = document().figures.remove(0);
    figure.series.truncate(1);
    let table = table::table(&figure, &figure.xs()).into_string();
    assert!(table.contains("<th>2<td>2.00 ms"), "{table}");
}

#[test]
fn thread_counts_are_not_rounded() {
    let mut figure = document().figures.remove(0);
    figure.series[0].points[1].x = 1234.0;
    assert!(table::table(&figure, &figure.xs()).into_string().contains(">1234<"));
}

#[test]
fn hostile_text_is_text() {
    for text in HOSTILE.iter().map(|text| text.to_string()).chain(["x".repeat(1000)]) {
        let page = page(&document_of(&text));
        assert_eq!(page.matches("<script").count(), 1, "{text:?} opens a script");
        assert_eq!(page.matches("</script").count(), 1, "{text:?} closes a script");
        let markup = markup(&page);
        for tag in ["<img", "<b>", "<!--"] {
            assert!(!markup.contains(tag), "{text:?} becomes {tag}");
        }
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        assert!(markup.contains(&format!("<h1>{escaped}</h1>")), "{text:?} is not shown as it is");
        assert!(markup.contains(&format!("id=\"fig-{escaped}\"")), "{text:?} leaves its attribute");
    }
}

#[test]
fn nothing_is_loaded() {
    let page = page(&document());
    let markup = markup(&page);
    assert!(page.contains("content=\"default-src 'none'; "));
    for attribute in [" src=", " srcset=", "<link", "<iframe", "<object", "<base", "http-equiv=\"refresh\""] {
        assert!(!markup.contains(attribute), "{attribute}");
    }
    assert!(markup.match_indices("href=\"").all(|(at, found)| markup[at + found.len()..].starts_with('#')));
    for loads in ["fetch(", "XMLHttpRequest", "import", "innerHTML", "insertAdjacentHTML", "eval("] {
        assert!(!CHART.contains(loads), "a script has {loads}");
    }
}

#[test]
fn what_is_taken_in_cannot_end_its_element() {
    let script = CHART.to_lowercase();
    assert!(!script.contains("</script") && !script.contains("<script") && !script.contains("<!--"));
}

#[test]
fn charts_and_pictures_look_alike() {
    use ondeck_kit::palette::{DASHES, HUES, MARKERS};
    let page = page(&document());
    for (n, hue) in HUES.iter().enumerate() {
        assert!(
            page.contains(&format!("--style-{n}:{};", hue.light))
                && page.contains(&format!("--style-{n}:{};", hue.dark))
        );
    }
    for (source, dash) in DASHES.iter().enumerate().skip(1) {
        let rule = format!(".file{source} > :is(polyline, use) {{ stroke-dasharray: {dash}; }}");
        assert!(page.contains(&rule), "no {rule}");
    }
    let ids = (0..=MARKERS.len() as u8).flat_map(|shape| [b'a', b'A'].map(|first| char::from(first + shape)));
    assert!(ids.into_iter().all(|id| page.contains(&format!("<g id=\"{id}\">"))));
    assert!(page.contains("<use href=\"#a\""));
}

/// Rows of 24 locks with long names and every figure, two rounds of each.
fn many_rows(workloads: u32, threads: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    for (workload, threads) in (0..workloads).flat_map(|workload| (1..=threads).map(move |threads| (workload, threads)))
    {
        for (lock, round) in (0..24).flat_map(|lock| [(lock, 0), (lock, 1)]) {
            let figure = Some(f64::from(1 + lock * 7 + round * 3 + threads * 100) * 12_345.678_9);
            let lock = format!("a-lock-with-a-name-of-forty-characters-{lock}");
            let row =
                Row { workload: format!("workload/{workload}"), lock, threads: threads + 1, round, ..Row::default() };
            let row = Row { ops_per_s: figure, cpus: figure, ctx_switches_per_s: figure, jain: figure, ..row };
            let row = Row { min_share: figure, wait_p50_ns: figure, wait_p99_ns: figure, wait_p999_ns: figure, ..row };
            let row = Row { wait_max_ns: figure, streak_p90_ns: figure, starve_p90_ns: figure, ..row };
            rows.push(row);
        }
    }
    rows
}

/// As many points as there may be, of few series and of many.
#[test]
fn a_page_is_small_enough_to_be_mailed() {
    for (workloads, threads, points) in [(1, 40, 1920..=1920), (70, 2, 2880..=2880)] {
        let rows = many_rows(workloads, threads);
        let document = Document::new(&[source("a.csv", rows)], &Catalogue::default());
        let n: usize =
            document.figures.iter().flat_map(|figure| &figure.series).map(|series| series.points.len()).sum();
        assert!(
            points.contains(&n) && document.left_out.is_some() == (workloads > 1),
            "{n} points in {} charts",
            document.figures.len()
        );
        let size = page(&document).len();
        assert!(size < 2_000_000, "{size} bytes with {n} points in {} charts", document.figures.len());
    }
}

#[test]
fn a_report_of_nothing_is_still_a_page() {
    let nothing = Document {
        title: String::new(),
        verdict: String::new(),
        subject: String::new(),
        findings: vec![],
        origins: vec![],
        tables: vec![],
        figures: vec![],
        left_out: None,
    };
    assert!(markup(&page(&nothing)).contains("The files have none."));
    let mut empty = document();
    empty.figures = vec![figure("empty", vec![])];
    assert!(markup(&page(&empty)).contains("<tbody></table>"));
}
