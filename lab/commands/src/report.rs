//! `ondeck report`.

use crate::args::ReportArgs;
use ondeck_kit::drawing::Picture;
use ondeck_kit::exit::Exit;
use ondeck_kit::file::OutFile;
use ondeck_kit::terminal::{print, say};
use ondeck_report::document::Document;
use ondeck_report::drawing::pictures;
use ondeck_report::html::page;
use ondeck_report::inputs;
use ondeck_report::markdown::markdown;
use ondeck_report::output::{fingerprint_path, text_of};
use ondeck_workloads::catalogue;
use std::path::{Path, PathBuf};

/// What is to be made of files that have been read, and where its page goes.
pub struct Report<'a> {
    args: &'a ReportArgs,
    page_file: Option<OutFile>,
    texts: Vec<String>,
}

impl<'a> Report<'a> {
    /// Reads the files, once the page is known to be writable.
    pub fn read(args: &'a ReportArgs) -> Result<Self, Exit> {
        let page_file = args.output.as_deref().map(|path| page_file(path, &args.files)).transpose()?;
        if args.markdown && page_file.as_ref().is_some_and(OutFile::is_stdout) {
            let what = "--output - and --markdown both write to standard output; use only one of them";
            return Err(Exit::Usage(what.to_string()));
        }
        let texts: Result<Vec<String>, _> = args.files.iter().map(|file| text_of(file)).collect();
        let texts = texts.map_err(|error| Exit::Usage(error.to_string()))?;
        Ok(Report { args, page_file, texts })
    }

    /// The files and what is in them.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.args.files.iter().map(PathBuf::as_path).zip(self.texts.iter().map(String::as_str))
    }

    /// Whether tables are to be printed.
    pub fn has_markdown(&self) -> bool {
        self.args.markdown
    }

    /// Makes everything of results.
    pub fn draw(&self) -> Result<(), Exit> {
        let sources = inputs::parse(&self.args.files, &self.texts).map_err(|error| Exit::Usage(error.to_string()))?;
        // The Markdown has them itself.
        for note in sources.iter().flat_map(|source| &source.notes).filter(|_| !self.args.markdown) {
            say(&format!("warning: {note}"));
        }
        let catalogue = catalogue();
        let document = Document::new(&sources, &catalogue);
        self.write(|| pictures(&document), || page(&document))?;
        if self.args.markdown {
            print(&markdown(&sources, &document, &catalogue))?;
        }
        Ok(())
    }

    /// Writes what is asked for of the pictures and the page.
    pub fn write(&self, pictures: impl FnOnce() -> Vec<Picture>, page: impl FnOnce() -> String) -> Result<(), Exit> {
        let pictures = if self.args.svg.is_some() { pictures() } else { Vec::new() };
        let files = self.args.svg.as_deref().map(|directory| picture_files(&pictures, directory)).transpose()?;
        // Nothing is refused any more: either all is written, or the disk fails.
        if let Some(file) = &self.page_file {
            file.replace(page().as_bytes()).map_err(Exit::Failed)?;
        }
        for (picture, file) in pictures.iter().zip(files.into_iter().flatten()) {
            file.replace(picture.svg.as_bytes()).map_err(Exit::Failed)?;
            say(&format!("{}.svg: {}", picture.id, picture.title));
        }
        Ok(())
    }
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
