//! What `ondeck profile` writes.

use crate::args::{ProfileArgs, ProfileFormat};
use ondeck_kit::exit::Exit;
use ondeck_kit::file::OutFile;
use ondeck_kit::file::file_of;
use ondeck_kit::terminal::{as_typed, for_user, print, say, width};
use ondeck_launch::{Launch, Refusal};
use ondeck_profile::{Profile, flamegraph, grouped, json, pprof};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What can be made of a profile.
type Form = fn(&Profile) -> Vec<u8>;

/// The files that were asked for.
pub(super) struct Outputs {
    files: Vec<(Form, PathBuf, OutFile)>,
    /// What goes to the terminal, or a pipe.
    format: ProfileFormat,
    is_printed: bool,
    each_lock: bool,
    n_snapshots: u32,
    /// What each profile is to say beside its own notes.
    notes: Vec<String>,
}

impl Outputs {
    /// All that can be refused is, before the program is started.
    pub(super) fn check(args: &ProfileArgs) -> Result<Self, Exit> {
        let printed: Form = match args.format {
            ProfileFormat::Table => |profile| for_user(&ondeck_profile::table(profile, TEXT_WIDTH)).into_bytes(),
            ProfileFormat::Json => |profile| json::to_json(profile).into_bytes(),
        };
        let wanted: [(Form, _, _); 4] = [
            (pprof::write, "--output", &args.output),
            (|profile| for_user(&ondeck_profile::page(profile)).into_bytes(), "--report", &args.report),
            (|profile| flamegraph(profile).into_bytes(), "--flamegraph", &args.flamegraph),
            (printed, "--out", &args.out),
        ];
        let mut files = Vec::new();
        for (form, flag, path) in wanted {
            files.extend(file_of(flag, path.as_deref())?.map(|(path, file)| (form, path.to_owned(), file)));
        }
        for (at, (_, path, _)) in files.iter().enumerate() {
            if files[..at].iter().any(|(_, other, _)| other == path) {
                return Err(Exit::Usage(format!("{}: two outputs in one file; each needs its own", path.display())));
            }
        }
        let (format, is_printed, each_lock) = (args.format, args.out.is_none(), args.recorder.each_lock);
        Ok(Outputs { files, format, is_printed, each_lock, n_snapshots: 0, notes: Vec::new() })
    }

    /// Each profile says that, too.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn noted(&self, mut profile: Profile) -> Profile {
        profile.notes.extend(self.notes.iter().cloned());
        shown(profile, self.each_lock)
    }

    /// What is to be written at the end. All files are tried; the first failure is told. Then the list is printed in any
    /// case: the run may have taken hours.
    pub(super) fn write_all(&self, profile: Profile) -> Result<(), Exit> {
        let profile = &self.noted(profile);
        let mut done = Ok(());
        for (form, _, file) in &self.files {
            let written = file.replace(&form(profile)).map_err(Exit::Failed);
            done = done.and(written);
        }
        let is_list = self.format == ProfileFormat::Table;
        if self.is_printed && !is_list {
            done = done.and(print(&json::to_json(profile)));
        }
        // The list is in its file, if it has one. JSON is printed instead of the list, and written beside it.
        if self.is_printed == is_list || matches!(done, Err(Exit::Failed(_))) {
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
            let written = OutFile::check(&path).and_then(|file| file.replace(&form(profile)));
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

/// Where the probes are, and how they are used.
pub(super) fn probes(pid: u32, launch: &Launch) -> Result<String, Refusal> {
    let library = ondeck_launch::library(launch)?;
    let library = library.display();
    Ok(format!(
        "probes: ondeck:contended, ondeck:acquired, ondeck:release, ondeck:wake in {library}\n  \
         bpftrace -p {pid} -e 'usdt:{library}:ondeck:contended {{ @[ustack] = count(); }}'\n  \
         perf buildid-cache --add {library} && perf record -e sdt_ondeck:acquired -g -p {pid}"
    ))
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
