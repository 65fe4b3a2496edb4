//! What `ondeck profile` writes.

use super::known_orders::KnownOrders;
use crate::args::{ProfileArgs, ProfileFormat};
use ondeck_kit::exit::Exit;
use ondeck_kit::file::{OutFile, file_of};
use ondeck_kit::terminal::{as_typed, for_user, print, say, width};
use ondeck_profile::{Note, Profile, flamegraph, grouped, json, pprof};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What can be made of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Page,
    FlameGraph,
    Pprof,
    Json,
    List,
}

/// What the files of each form end with, and what each is called.
const FORMS: [(&str, Form, &str); 5] = [
    (".html", Form::Page, "a page"),
    (".svg", Form::FlameGraph, "a flame graph"),
    (".pb.gz", Form::Pprof, "for go tool pprof"),
    (".json", Form::Json, "all figures"),
    (".txt", Form::List, "the list"),
];

impl Form {
    /// The form that the extension of a file says.
    fn of(path: &Path) -> Result<Self, Exit> {
        let name = path.as_os_str().as_encoded_bytes();
        match FORMS.iter().find(|(ending, ..)| name.ends_with(ending.as_bytes())) {
            Some((_, form, _)) => Ok(*form),
            None => {
                let accepted = FORMS.map(|(ending, _, what)| format!("{ending} ({what})")).join(", ");
                Err(Exit::Usage(format!("--output {}: unknown extension; accepted: {accepted}", path.display())))
            }
        }
    }

    fn write(self, profile: &Profile) -> Vec<u8> {
        match self {
            Form::Page => for_user(&ondeck_profile::page(profile)).into_bytes(),
            Form::FlameGraph => flamegraph(profile).into_bytes(),
            Form::Pprof => pprof::write(profile),
            Form::Json => json::to_json(profile).into_bytes(),
            Form::List => for_user(&ondeck_profile::table(profile, TEXT_WIDTH)).into_bytes(),
        }
    }
}

/// The files that were asked for.
pub(super) struct Outputs {
    files: Vec<(Form, PathBuf, OutFile)>,
    /// Whether JSON is printed instead of the list.
    is_json_printed: bool,
    each_lock: bool,
    known_orders: KnownOrders,
    n_snapshots: u32,
    /// What each profile is to say beside its own notes.
    notes: Vec<String>,
}

impl Outputs {
    /// All that can be refused is, before the program is started.
    pub(super) fn check(args: &ProfileArgs) -> Result<Self, Exit> {
        let printed = if args.format == ProfileFormat::Json { Form::Json } else { Form::List };
        let mut wanted = Vec::new();
        for path in &args.output {
            wanted.push((Form::of(path)?, "--output", path));
        }
        let others = [
            (Form::Page, "--report", &args.report),
            (Form::FlameGraph, "--flamegraph", &args.flamegraph),
            (printed, "--out", &args.out),
        ];
        wanted.extend(others.into_iter().filter_map(|(form, flag, path)| Some((form, flag, path.as_ref()?))));
        let mut files: Vec<(Form, PathBuf, OutFile)> = Vec::new();
        for (form, flag, path) in wanted {
            if files.iter().any(|(_, other, _)| other == path) {
                return Err(Exit::Usage(format!("{}: two outputs in one file; each needs its own", path.display())));
            }
            files.extend(file_of(flag, Some(path.as_path()))?.map(|(path, file)| (form, path.to_owned(), file)));
        }
        let is_json_printed = printed == Form::Json && args.out.is_none();
        let known_orders = args.known_orders.as_deref().map_or(Ok(KnownOrders::default()), KnownOrders::read)?;
        let each_lock = args.recorder.each_lock;
        Ok(Outputs { files, is_json_printed, each_lock, known_orders, n_snapshots: 0, notes: Vec::new() })
    }

    /// Each profile says that, too.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn noted(&self, mut profile: Profile) -> Profile {
        profile.notes.extend(self.notes.iter().cloned().map(Note::from));
        self.known_orders.leave_out_of(&mut profile);
        shown(profile, self.each_lock)
    }

    /// What is to be written at the end. All files are tried; the first failure is told. Then the list is printed in any
    /// case: the run may have taken hours.
    pub(super) fn write_all(&self, profile: Profile) -> Result<(), Exit> {
        let profile = &self.noted(profile);
        let mut done = Ok(());
        for (form, _, file) in &self.files {
            let written = file.replace(&form.write(profile)).map_err(Exit::Failed);
            done = done.and(written);
        }
        if self.is_json_printed {
            done = done.and(print(&json::to_json(profile)));
        }
        // The list is in its file, if it has one.
        let is_elsewhere = self.is_json_printed || self.files.iter().any(|(form, ..)| *form == Form::List);
        if !is_elsewhere || matches!(done, Err(Exit::Failed(_))) {
            show(profile);
        }
        done
    }

    /// The same in other files; as a list if there are none. A failure does not end the program that runs.
    pub(super) fn write_snapshot(&mut self, profile: Profile) {
        let profile = &self.noted(profile);
        self.n_snapshots += 1;
        if self.files.is_empty() {
            return show(profile);
        }
        for (form, path, _) in &self.files {
            let path = numbered(path, self.n_snapshots);
            let written = OutFile::check(&path).and_then(|file| file.replace(&form.write(profile)));
            written.unwrap_or_else(|what| say(&format!("warning: snapshot {}: {what}", self.n_snapshots)));
        }
    }
}

/// The profile with locks of one kind as one, unless each is wanted.
pub(crate) fn shown(profile: Profile, each_lock: bool) -> Profile {
    if each_lock { profile } else { grouped(profile) }
}

/// A list in a file is as wide.
const TEXT_WIDTH: usize = 160;

/// Prints the list on standard error.
pub(crate) fn show(profile: &Profile) {
    for line in as_typed(&ondeck_profile::table(profile, width())).lines() {
        say(line);
    }
}

/// `a/b.pb.gz` becomes `a/b.0003.pb.gz`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, end) = match name.strip_suffix(".pb.gz") {
        Some(stem) => (stem.to_owned(), ".pb.gz".to_owned()),
        None => match name.rsplit_once('.') {
            Some((stem, end)) if !stem.is_empty() => (stem.to_owned(), format!(".{end}")),
            _ => (name.clone(), String::new()),
        },
    };
    path.with_file_name(OsString::from(format!("{stem}.{number:04}{end}")))
}

#[cfg(test)]
mod tests {
    use super::numbered;
    use std::path::Path;

    #[test]
    fn snapshots_have_a_number_before_the_extension() {
        for (path, expected) in [
            ("a/b.pb.gz", "a/b.0003.pb.gz"),
            ("page.html", "page.0003.html"),
            ("a.b/plain", "a.b/plain.0003"),
            (".hidden", ".hidden.0003"),
        ] {
            assert_eq!(numbered(Path::new(path), 3), Path::new(expected), "{path}");
        }
    }
}
