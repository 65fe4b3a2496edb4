//! The page on paper.

use crate::pages::{HOSTILE, HOSTILE_PROFILE, PROFILE, Page, REAL, TOY};
use crate::tab::WIDE;
use crate::values::{InPage, figures, open};
use std::process::Command;

/// What stands on a page.
#[derive(Debug, Default)]
struct PrintedPage {
    n_texts: usize,
    /// Lines and areas.
    n_shapes: usize,
    /// All characters but blanks.
    text: String,
}

/// What stands on each page, by what MuPDF's interpreter is told to paint.
fn painted(pdf: &[u8]) -> Vec<PrintedPage> {
    let file = tempfile::NamedTempFile::new().expect("the temporary directory can be written");
    std::fs::write(file.path(), pdf).expect("the temporary directory can be written");
    let output =
        Command::new("mutool").arg("trace").arg(file.path()).output().expect("mutool, of Debian's mupdf-tools");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut pages = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines().map(str::trim_start) {
        if line.starts_with("<page ") {
            pages.push(PrintedPage::default());
        }
        let Some(page) = pages.last_mut() else { continue };
        match line.split_once(' ').map_or(line, |(element, _)| element) {
            "<fill_text" | "<stroke_text" => page.n_texts += 1,
            "<fill_path" | "<stroke_path" => page.n_shapes += 1,
            "<g" => page.text += line.split('"').nth(1).unwrap_or_default().trim(),
            _ => {}
        }
    }
    for (escaped, one) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")] {
        pages.iter_mut().for_each(|page| page.text = page.text.replace(escaped, one));
    }
    pages
}

fn check_paper(page: &Page) {
    let mut tab = open(page, WIDE);
    let figures = figures(page);
    let painted = painted(&tab.print());
    assert!(!painted.is_empty());
    for (index, one) in painted.iter().enumerate() {
        assert!(one.n_texts > 0, "{}: page {} of {} is empty: {one:?}", page.file.display(), index + 1, painted.len());
    }
    let n_points: usize = figures.iter().map(|figure| figure.n_points()).sum();
    let n_shapes: usize = painted.iter().map(|one| one.n_shapes).sum();
    assert!(n_shapes > n_points, "{}: {n_shapes} shapes for {n_points} points", page.file.display());
    let text: String = painted.iter().map(|one| one.text.as_str()).collect();
    for figure in figures.iter().filter(|figure| figure.title.is_ascii()) {
        let title: String = figure.title.split_whitespace().collect();
        assert!(text.contains(&title), "{}: {} is not printed", page.file.display(), figure.title);
    }
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
    let figure = &figures(&TOY)[0];
    let middle = tab.middle(&figure.select(".chart"));
    tab.hover(middle);
    let controls =
        "everything().filter((one) => one.matches('.all, .copy, summary, .tooltip, .crosshair') && isSeen(one)).length";
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
    let painted = painted(&tab.print());
    let texts: Vec<bool> = painted.iter().map(|one| one.n_texts > 0).collect();
    assert_eq!(texts, [true, false], "{painted:?}");
}
