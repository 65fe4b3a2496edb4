//! `ondeck report`.

use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::terminal::{for_user, print, say};
use ondeck_profile::json::{from_json, is_profile};
use ondeck_report::document::Document;
use ondeck_report::drawing::{Picture, pictures};
use ondeck_report::html::page;
use ondeck_report::inputs;
use ondeck_report::markdown::markdown;
use ondeck_report::output::{OutFile, ReadError, fingerprint_path, text_of};
use ondeck_workloads::catalogue;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ReportArgs) -> Result<(), Exit> {
    let page_file = args.output.as_deref().map(|path| page_file(path, &args.files)).transpose()?;
    if args.markdown && page_file.as_ref().is_some_and(OutFile::is_stdout) {
        let what = "--output - and --markdown both write to standard output; use only one of them";
        return Err(Exit::Usage(what.to_string()));
    }
    let texts: Result<Vec<String>, _> = args.files.iter().map(|file| text_of(file)).collect();
    let texts = texts.map_err(|error| Exit::Usage(error.to_string()))?;
    if let Some(place) = texts.iter().position(|text| is_profile(text)) {
        return profile(args, place, &texts[place], page_file);
    }
    let sources = inputs::parse(&args.files, &texts).map_err(|error| Exit::Usage(error.to_string()))?;
    // The Markdown has them itself.
    for note in sources.iter().flat_map(|source| &source.notes).filter(|_| !args.markdown) {
        say(&format!("warning: {note}"));
    }
    let catalogue = catalogue();
    let document = Document::new(&sources, &catalogue);
    let pictures = if args.svg.is_some() { pictures(&document) } else { Vec::new() };
    let picture_files = args.svg.as_deref().map(|directory| picture_files(&pictures, directory)).transpose()?;
    let page = page_file.as_ref().map(|_| page(&document));
    write(page_file.zip(page), &pictures, picture_files)?;
    if args.markdown {
        print(&markdown(&sources, &document, &catalogue))?;
    }
    Ok(())
}

/// The page and the picture of a profile, which is shown by itself: `place` is its place among the files.
fn profile(args: &ReportArgs, place: usize, text: &str, page_file: Option<OutFile>) -> Result<(), Exit> {
    let file = &args.files[place];
    let wrong = |what: &str| Err(Exit::Usage(format!("{} is a profile: {what}", file.display())));
    if args.files.len() > 1 {
        return wrong("it needs a page of its own; accepted: this file alone");
    }
    if args.markdown {
        return wrong("it has no Markdown form; accepted: --output PAGE.html and --svg DIR");
    }
    let profile = from_json(text).map_err(|what| Exit::Usage(ReadError::new(file, what).to_string()))?;
    let pictures = match args.svg {
        None => Vec::new(),
        Some(_) => vec![Picture {
            id: "flame-graph".to_string(),
            title: "who waited for which lock, and who held it meanwhile".to_string(),
            svg: ondeck_profile::flamegraph(&profile),
        }],
    };
    let picture_files = args.svg.as_deref().map(|directory| picture_files(&pictures, directory)).transpose()?;
    let page = page_file.as_ref().map(|_| for_user(&ondeck_profile::page(&profile)));
    write(page_file.zip(page), &pictures, picture_files)
}

/// Writes page and pictures. Nothing is refused any more: either all is written, or the disk fails.
fn write(page: Option<(OutFile, String)>, pictures: &[Picture], files: Option<Vec<OutFile>>) -> Result<(), Exit> {
    if let Some((file, text)) = page {
        file.replace(text.as_bytes()).map_err(Exit::Failed)?;
    }
    for (picture, file) in pictures.iter().zip(files.into_iter().flatten()) {
        file.replace(picture.svg.as_bytes()).map_err(Exit::Failed)?;
        say(&format!("{}.svg: {}", picture.id, picture.title));
    }
    Ok(())
}

/// The file of the page, which is none of those that it is made from.
fn page_file(path: &Path, inputs: &[PathBuf]) -> Result<OutFile, Exit> {
    let wrong = |what: String| Exit::Usage(format!("--output: {what}"));
    let file = OutFile::check(path).map_err(wrong)?;
    match inputs.iter().find(|input| file.is(input) || file.is(&fingerprint_path(input))) {
        Some(input) => {
            Err(wrong(format!("{} belongs to the input {} and would be lost", path.display(), input.display())))
        }
        None => Ok(file),
    }
}

/// A file for each picture. The directory is made if there is none.
fn picture_files(pictures: &[Picture], directory: &Path) -> Result<Vec<OutFile>, Exit> {
    let cannot = |error: std::io::Error| Exit::Usage(format!("--svg: cannot make {}: {error}", directory.display()));
    std::fs::create_dir_all(directory).map_err(cannot)?;
    let file = |picture: &Picture| OutFile::check(&directory.join(format!("{}.svg", picture.id)));
    let files: Result<Vec<OutFile>, String> = pictures.iter().map(file).collect();
    files.map_err(|what| Exit::Usage(format!("--svg: {what}")))
}
