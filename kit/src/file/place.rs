//! Where a file is written: a directory that is held open, and a name in it.
//!
//! Root writes into directories of others, as the statistics for node_exporter. Who may change such a directory could put
//! a link there, and root would write to any file. So a link of somebody else is followed only where that user could have
//! written without us: from a directory of that user into another one. The way is walked once. After that all is done in the
//! open directory, where no link is followed and every new file is ours.

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, openat, readlinkat, renameat, statat, unlinkat,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// As many as the kernel follows.
const MOST_LINKS: u32 = 40;
/// What a directory or a link is opened for: to be looked at.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

/// A name in a directory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    directory: Arc<OwnedFd>,
    name: OsString,
    /// Whether the name is a link of `/proc` to what a process has open: there is no other name for it.
    is_opened: bool,
}

/// A file that nobody else has named yet.
pub(super) struct NewFile<'a> {
    place: &'a Place,
    name: OsString,
    pub(super) file: File,
}

impl Place {
    /// Walks there. `None` is a directory.
    pub(super) fn find(path: &Path) -> io::Result<Option<Place>> {
        Walk::new(path)?.finish()
    }

    /// What is there, a link if one is.
    pub(super) fn what(&self) -> Option<Stat> {
        let follow = if self.is_opened { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        statat(&*self.directory, &self.name, follow).ok()
    }

    /// Whether it is to be written to as it is: a pipe, a device, or a file that somebody has opened for us.
    pub(super) fn is_special(&self) -> bool {
        self.is_opened || self.what().is_some_and(|what| !is_replaced(&what))
    }

    /// The file that is called the same and `more`.
    pub(super) fn beside(&self, more: &str) -> Place {
        let mut name = self.name.clone();
        name.push(more);
        Place { name, is_opened: false, ..self.clone() }
    }

    /// Whether what is there can be written. A pipe that has come there meanwhile is not waited for.
    pub(super) fn try_open(&self) -> io::Result<()> {
        self.open(OFlags::NONBLOCK).map(drop)
    }

    fn open(&self, more: OFlags) -> io::Result<File> {
        let follow = if self.is_opened { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC | follow;
        Ok(openat(&*self.directory, &self.name, flags | more, Mode::empty())?.into())
    }

    /// Opens what is no file that can be replaced.
    pub(super) fn open_special(&self) -> io::Result<File> {
        let file = self.open(OFlags::empty())?;
        // Whoever may change the directory may have put a link to somebody's file there.
        if !self.is_opened && is_replaced(&fstat(&file)?) {
            return Err(io::Error::other("it was a pipe or a device, and now is a file"));
        }
        Ok(file)
    }

    /// A new file in the directory, with the mode of what is at this place.
    pub(super) fn create(&self) -> io::Result<NewFile<'_>> {
        let mode = self.what().filter(is_replaced).map(|what| Mode::from_raw_mode(what.st_mode & 0o777));
        // The hasher's keys are random. A name that can be guessed could be taken by somebody else.
        let number = std::hash::RandomState::new().build_hasher().finish();
        let name = OsString::from(format!(".ondeck-{number:016x}.tmp"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&*self.directory, &name, flags, mode.unwrap_or(Mode::from_raw_mode(0o666)))?;
        let new = NewFile { place: self, name, file: file.into() };
        // The mask of new files is not for one that takes another's place.
        mode.map_or(Ok(()), |mode| fchmod(&new.file, mode))?;
        Ok(new)
    }
}

impl NewFile<'_> {
    /// Puts it in the place of what is there.
    pub(super) fn rename(self) -> io::Result<()> {
        let directory = &*self.place.directory;
        // What is dropped now removes nothing: the name is gone.
        Ok(renameat(directory, &self.name, directory, &self.place.name)?)
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(&*self.place.directory, &self.name, AtFlags::empty());
    }
}

/// Whether it is a file, or a link, that a new file takes the place of.
fn is_replaced(what: &Stat) -> bool {
    matches!(FileType::from_raw_mode(what.st_mode), FileType::RegularFile | FileType::Symlink)
}

/// On the way.
struct Walk {
    at: OwnedFd,
    /// The same for messages.
    way: PathBuf,
    /// What is still to go, the next one last.
    rest: Vec<OsString>,
    n_links: u32,
    /// Whose links were followed, beside ours and root's.
    others: Vec<u32>,
}

impl Walk {
    fn new(path: &Path) -> io::Result<Walk> {
        let at = rustix::fs::open(".", LOOK | OFlags::DIRECTORY, Mode::empty())?;
        let mut walk = Walk { at, way: PathBuf::new(), rest: Vec::new(), n_links: 0, others: Vec::new() };
        walk.turn_to(path)?;
        Ok(walk)
    }

    fn finish(mut self) -> io::Result<Option<Place>> {
        while let Some(name) = self.rest.pop() {
            let is_last = self.rest.is_empty();
            let what = match statat(&self.at, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(what) => FileType::from_raw_mode(what.st_mode),
                Err(rustix::io::Errno::NOENT) if is_last => return self.place(name, false).map(Some),
                Err(error) => return Err(error.into()),
            };
            match what {
                FileType::Symlink if is_of_processes(&self.at) => {
                    self.is_followed(&statat(&self.at, &name, AtFlags::SYMLINK_NOFOLLOW)?, &name, false)?;
                    let leads_to = FileType::from_raw_mode(statat(&self.at, &name, AtFlags::empty())?.st_mode);
                    if is_last && leads_to != FileType::Directory {
                        return self.place(name, true).map(Some);
                    }
                    self.enter(&name, OFlags::empty())?;
                }
                FileType::Symlink => self.follow(&name)?,
                FileType::Directory => self.enter(&name, OFlags::NOFOLLOW)?,
                _ if is_last => return self.place(name, false).map(Some),
                _ => return Err(rustix::io::Errno::NOTDIR.into()),
            }
        }
        Ok(None)
    }

    fn enter(&mut self, name: &OsStr, follow: OFlags) -> io::Result<()> {
        self.at = openat(&self.at, name, LOOK | OFlags::DIRECTORY | follow, Mode::empty())?;
        self.way.push(name);
        Ok(())
    }

    /// From here on the way is this one, and what was left of the old way.
    fn turn_to(&mut self, path: &Path) -> io::Result<()> {
        if path.is_absolute() {
            self.at = rustix::fs::open("/", LOOK | OFlags::DIRECTORY, Mode::empty())?;
            self.way = PathBuf::from("/");
        }
        let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        self.rest.extend(names.rev().map(|part| part.as_os_str().to_owned()));
        Ok(())
    }

    /// Goes where the link leads.
    fn follow(&mut self, name: &OsStr) -> io::Result<()> {
        self.n_links += 1;
        if self.n_links > MOST_LINKS {
            return Err(rustix::io::Errno::LOOP.into());
        }
        let (link, to) = read_link(&self.at, name)?;
        self.is_followed(&link, name, true)?;
        self.turn_to(Path::new(&OsString::from_vec(to)))
    }

    /// Whether the link is followed. What another process has open is not made by the owner of that process.
    fn is_followed(&mut self, link: &Stat, name: &OsStr, may_be_others: bool) -> io::Result<()> {
        if is_trusted(link.st_uid) {
            return Ok(());
        }
        if !may_be_others || fstat(&self.at)?.st_uid != link.st_uid {
            return Err(refused(link.st_uid, &self.way.join(name)));
        }
        self.others.push(link.st_uid);
        Ok(())
    }

    fn place(self, name: OsString, is_opened: bool) -> io::Result<Place> {
        let owner = fstat(&self.at)?.st_uid;
        match self.others.iter().find(|other| **other != owner) {
            Some(other) => Err(refused(*other, &self.way.join(&name))),
            None => Ok(Place { directory: Arc::new(self.at), name, is_opened }),
        }
    }
}

fn refused(user: u32, place: &Path) -> io::Error {
    io::Error::other(format!(
        "a symbolic link of user {user} is on the way ({}), and may be meant to destroy a file; accepted: a path without \
         links of other users",
        place.display()
    ))
}

/// We and root. Root is who has the root directory: in a namespace of users that is not always 0.
fn is_trusted(user: u32) -> bool {
    user == rustix::process::geteuid().as_raw() || rustix::fs::stat("/").is_ok_and(|root| root.st_uid == user)
}

/// Whether the directory is one of `/proc`, whose links lead to what no path may lead to.
#[cfg(target_os = "linux")]
fn is_of_processes(directory: impl AsFd) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_of_processes(_directory: impl AsFd) -> bool {
    false
}

/// Whose link it is, and where it leads: of one link, though the name may belong to another one a moment later.
#[cfg(target_os = "linux")]
fn read_link(directory: impl AsFd, name: &OsStr) -> io::Result<(Stat, Vec<u8>)> {
    let link = openat(directory, name, LOOK | OFlags::NOFOLLOW, Mode::empty())?;
    Ok((fstat(&link)?, readlinkat(&link, "", Vec::new())?.into_bytes()))
}

#[cfg(not(target_os = "linux"))]
fn read_link(directory: impl AsFd, name: &OsStr) -> io::Result<(Stat, Vec<u8>)> {
    let link = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((link, readlinkat(directory, name, Vec::new())?.into_bytes()))
}
