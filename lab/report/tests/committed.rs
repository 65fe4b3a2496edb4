//! The result files of the repository are read as any other: each fingerprint is that of its rows, and pages are small.

use ondeck_report::catalogue::Catalogue;
use ondeck_report::document::Document;
use ondeck_report::html::page;
use ondeck_report::inputs;
use ondeck_report::output::{fingerprint_path, read};
use std::fs;
use std::path::{Path, PathBuf};

/// All files below the directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).expect("it is a directory of the repository").map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn every_fingerprint_is_that_of_its_rows() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [lab.join("testdata"), lab.join("../../results")].map(|directory| files_below(&directory)).concat();
    let beside = files.iter().filter(|path| path.to_string_lossy().ends_with(".fingerprint.json"));
    let mut n = 0;
    for path in beside {
        let file = files.iter().find(|file| fingerprint_path(file) == *path);
        let file = file.unwrap_or_else(|| panic!("{} stands beside nothing", path.display()));
        let (results, doubts) = read(file).unwrap();
        assert!(results.fingerprint.is_some() && doubts.is_empty(), "{doubts:?}");
        n += 1;
    }
    assert!(n > 5, "{n} fingerprints");
}

/// Each directory as one page: nobody lays more files over each other.
#[test]
fn a_page_of_them_has_less_than_100_kilobytes() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for directory in ["testdata", "../../results/epyc-2c-vm"] {
        let mut files = files_below(&here.join(directory));
        files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
        let document = Document::new(&inputs::read(&files).unwrap(), &Catalogue::default());
        let size = page(&document).len();
        assert!(!document.figures.is_empty() && size < 100_000, "{directory}: {size} bytes");
    }
}
