//! The page on paper.

use crate::pages::{HOSTILE, HOSTILE_PROFILE, PROFILE, Page, REAL, TOY};
use crate::tab::WIDE;
use crate::values::{figures, open};
use lopdf::Document;
use lopdf::content::Content;

/// Operators of a page's content: those that show text, and those that paint a line or an area.
#[derive(Debug, Default)]
struct Painted {
    n_texts: usize,
    n_shapes: usize,
}

/// What stands on each page. Chromium keeps parts that are see-through in forms of their own.
fn painted(pdf: &Document) -> Vec<Painted> {
    pdf.get_pages()
        .into_values()
        .map(|page| {
            let mut painted = Painted::default();
            count(&pdf.get_page_content(page), &mut painted);
            let (resources, _) = pdf.get_page_resources(page).expect("a page has resources");
            let forms = resources.and_then(|all| all.get_deref(b"XObject", pdf).ok()?.as_dict().ok());
            for (_, form) in forms.into_iter().flatten() {
                let stream = form.as_reference().and_then(|id| pdf.get_object(id)).and_then(|form| form.as_stream());
                if let Ok(content) = stream.and_then(|stream| stream.decompressed_content()) {
                    count(&content, &mut painted);
                }
            }
            painted
        })
        .collect()
}

fn count(content: &[u8], painted: &mut Painted) {
    let Ok(content) = Content::decode(content) else { return };
    for operation in content.operations {
        match operation.operator.as_str() {
            "Tj" | "TJ" | "'" | "\"" => painted.n_texts += 1,
            "f" | "F" | "f*" | "S" | "s" | "B" | "B*" | "b" | "b*" => painted.n_shapes += 1,
            _ => {}
        }
    }
}

fn check_paper(page: &Page) {
    let mut tab = open(page, WIDE);
    let figures = figures(&mut tab);
    let pdf = Document::load_mem(&tab.print()).expect("Chromium prints a PDF");
    let painted = painted(&pdf);
    assert!(!painted.is_empty());
    for (index, one) in painted.iter().enumerate() {
        assert!(one.n_texts > 0, "{}: page {} of {} is empty: {one:?}", page.file.display(), index + 1, painted.len());
    }
    let n_points: usize = figures.iter().map(|figure| figure.n_points()).sum();
    let n_shapes: usize = painted.iter().map(|one| one.n_shapes).sum();
    assert!(n_shapes > n_points, "{}: {n_shapes} shapes for {n_points} points", page.file.display());
    let numbers: Vec<u32> = pdf.get_pages().into_keys().collect();
    let text: String = pdf.extract_text(&numbers).expect("it has text").split_whitespace().collect();
    for figure in figures.iter().filter(|figure| figure.title.is_ascii()) {
        let title: String = figure.title.split_whitespace().collect();
        assert!(text.contains(&title), "{}: {} is not printed", page.file.display(), figure.title);
    }
    assert_eq!(tab.complaints(), Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn every_figure_is_printed_and_no_page_is_empty() {
    for page in [&TOY, &REAL, &HOSTILE, &PROFILE, &HOSTILE_PROFILE] {
        check_paper(page);
    }
}

#[test]
#[ignore = "needs Chromium"]
fn paper_has_charts_and_legends_but_nothing_to_press() {
    let mut tab = open(&TOY, WIDE);
    let figure = &figures(&mut tab)[0];
    let middle = tab.middle(&figure.select(".chart"));
    tab.hover(middle);
    let controls = "everything().filter((one) => one.matches('.scale, .reset, .all, .copy, summary, .tooltip, .crosshair') && isSeen(one)).length";
    assert!(tab.eval::<usize>(controls) > 3, "on the screen there are some");
    tab.media("print", "light");
    assert_eq!(tab.eval::<usize>(controls), 0);
    assert!(tab.eval::<bool>(
        "figures().every((one) => isSeen(one.querySelector('.chart svg')) && seriesButtons(one).every(isSeen))"
    ));
    let size: f64 = tab.eval("figures().map((one) => one.querySelector('.chart svg').getBoundingClientRect().height).sort((a, b) => a - b)[0]");
    assert!(size > 200.0, "the lowest chart has {size} pixels");
}

/// Of two pages, the one without anything is noticed.
#[test]
#[ignore = "needs Chromium"]
fn an_empty_page_would_be_noticed() {
    let html = "<!doctype html><p>text</p><div style='break-before: page; height: 1px'></div>";
    let mut tab = crate::tab::Tab::open(&crate::pages::written("empty-page", html), WIDE);
    let painted = painted(&Document::load_mem(&tab.print()).expect("Chromium prints a PDF"));
    let texts: Vec<bool> = painted.iter().map(|one| one.n_texts > 0).collect();
    assert_eq!(texts, [true, false], "{painted:?}");
}
