//! `ondeck report`.

use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::terminal::{print, say};
use ondeck_lab::lock::locks;
use ondeck_lab::output::{OutFile, fingerprint_path};
use ondeck_lab::report::document::Document;
use ondeck_lab::report::markdown::markdown;
use ondeck_lab::report::page::page;
use ondeck_lab::report::picture::svg;
use ondeck_lab::report::source::Source;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ReportArgs) -> Result<(), Exit> {
    let page_file = args.output.as_deref().map(|path| page_file(path, &args.files)).transpose()?;
    let sources = Source::read_all(&args.files).map_err(|error| Exit::Usage(error.to_string()))?;
    for note in sources.iter().flat_map(|source| &source.notes) {
        say(&format!("warning: {note}"));
    }
    let document = document(&sources);
    if let Some(file) = page_file {
        file.replace(page(&document).as_bytes()).map_err(Exit::Failed)?;
    }
    if let Some(directory) = &args.svg {
        write_pictures(&document, directory)?;
    }
    if args.markdown {
        print(&markdown(&sources, &document))?;
    }
    Ok(())
}

/// The file of the page, which is none of those that it is made from.
fn page_file(path: &Path, inputs: &[PathBuf]) -> Result<OutFile, Exit> {
    let wrong = |what: String| Exit::Usage(format!("--output: {what}"));
    let file = OutFile::check(path).map_err(wrong)?;
    match inputs.iter().find(|input| file.is(input) || file.is(&fingerprint_path(input))) {
        Some(input) => Err(wrong(format!("{} belongs to {}, which is to be read", path.display(), input.display()))),
        None => Ok(file),
    }
}

/// The report of these files.
pub(crate) fn document(sources: &[Source]) -> Document {
    let peers: Vec<&str> = locks().iter().filter(|lock| lock.peer).map(|lock| lock.name).collect();
    Document::new(sources, &peers)
}

fn write_pictures(document: &Document, directory: &Path) -> Result<(), Exit> {
    let cannot = |error: std::io::Error| Exit::Usage(format!("--svg: cannot make {}: {error}", directory.display()));
    std::fs::create_dir_all(directory).map_err(cannot)?;
    for figure in &document.figures {
        let file = OutFile::check(&directory.join(format!("{}.svg", figure.id))).map_err(Exit::Usage)?;
        file.replace(svg(figure).as_bytes()).map_err(Exit::Failed)?;
        say(&format!("{}.svg: {}", figure.id, figure.title));
    }
    Ok(())
}
