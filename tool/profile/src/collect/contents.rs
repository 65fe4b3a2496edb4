//! What a recording says beside its samples: from its file while the process runs, and from memory afterwards. A program may
//! start thousands of processes, and files that stay open or are kept would use up what the system has of them.

use super::account::Account;
use super::looked_at::LookedAt;
use crate::symbols::stamp;
use ondeck_record::layout::Stamp;
use ondeck_record::read::{Lock, Module, Names, Nesting, ReadError, Reader, RecordingInfo, Waiter};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// One recording.
#[derive(Debug)]
pub(super) struct Contents {
    about: RecordingInfo,
    /// Of its file, by which it is known among the mappings of processes.
    name: String,
    from: ContentSource,
    gone: Gone,
    /// What was at the paths of modules when they were seen first, for those of which the program does not tell: it asks the
    /// kernel before it starts only.
    stamps: Vec<Option<Stamp>>,
}

/// What was read of locks, and of orders in which they were taken, before their places in the recording were given to others.
#[derive(Debug, Default)]
struct Gone {
    locks: BTreeMap<u32, Lock>,
    /// By the locks, how they were had and that the second was tried.
    nestings: BTreeMap<([u32; 2], [bool; 2], bool), Nesting>,
}

impl Gone {
    fn add(&mut self, nestings: Vec<Nesting>) {
        let key = |one: &Nesting| (one.locks, one.shared, one.is_tried);
        self.nestings.extend(nestings.into_iter().map(|one| (key(&one), one)));
    }
}

#[derive(Debug)]
enum ContentSource {
    File(Reader),
    Memory(EndedRecording),
}

/// What is left of a recording whose process is gone: what its samples need.
#[derive(Debug, Default)]
struct EndedRecording {
    locks: Vec<Lock>,
    modules: Vec<Module>,
    stacks: HashMap<u32, Vec<u64>>,
    names: Names,
    nestings: Vec<Nesting>,
}

impl Contents {
    pub(super) fn of(reader: Reader) -> Self {
        let name = name_of(&reader.path().to_string_lossy());
        Contents {
            about: reader.about.clone(),
            name,
            from: ContentSource::File(reader),
            gone: Gone::default(),
            stamps: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn about(&self) -> &RecordingInfo {
        &self.about
    }

    /// The file, as long as there is one.
    pub(super) fn reader(&mut self) -> Option<&mut Reader> {
        match &mut self.from {
            ContentSource::File(reader) => Some(reader),
            ContentSource::Memory(_) => None,
        }
    }

    /// Whether the program may give places of locks to others.
    pub(super) fn gives_places_back(&self) -> bool {
        matches!(&self.from, ContentSource::File(reader) if reader.gives_places_back())
    }

    /// Whether the process is still there, with its program; `None` if the file cannot tell.
    pub(super) fn is_mapped(&self) -> Option<bool> {
        match &self.from {
            ContentSource::File(reader) => reader.is_mapped(),
            ContentSource::Memory(_) => Some(false),
        }
    }

    pub(super) fn locks(&self) -> Result<Vec<Lock>, ReadError> {
        match &self.from {
            ContentSource::File(reader) => self.with_gone(reader.locks()?),
            ContentSource::Memory(kept) => Ok(kept.locks.clone()),
        }
    }

    fn with_gone(&self, mut locks: Vec<Lock>) -> Result<Vec<Lock>, ReadError> {
        if !self.gone.locks.is_empty() {
            let here: HashSet<u32> = locks.iter().map(|lock| lock.number).collect();
            locks.extend(self.gone.locks.values().filter(|lock| !here.contains(&lock.number)));
        }
        Ok(locks)
    }

    /// If orders are recorded and places for them become few: keeps all that is there, so that the program may give the places of
    /// locks that it does not use to others, and of their orders. There is an end to what is kept.
    pub(super) fn keep_orders(&mut self) -> Result<(), ReadError> {
        const MOST: usize = 1 << 20;
        let ContentSource::File(reader) = &mut self.from else { return Ok(()) };
        let n_kept = self.gone.locks.len().max(self.gone.nestings.len());
        if !reader.has_nestings() || n_kept > MOST || !reader.wants_places()? {
            return Ok(());
        }
        reader.begin_epoch()?;
        let names = reader.names()?;
        for mut lock in reader.locks()? {
            lock.name = names.kept(&lock);
            self.gone.locks.insert(lock.number, lock);
        }
        self.gone.add(reader.nestings()?);
        reader.take_epoch()
    }

    /// The names that the program has given its locks. To be asked for before the locks.
    pub(super) fn names(&self) -> Result<Names, ReadError> {
        match &self.from {
            ContentSource::File(reader) => reader.names(),
            ContentSource::Memory(kept) => Ok(kept.names.clone()),
        }
    }

    /// The locks that were taken while another one was held.
    pub(super) fn nestings(&self) -> Result<Vec<Nesting>, ReadError> {
        match &self.from {
            ContentSource::File(reader) => {
                let mut all = Gone { nestings: self.gone.nestings.clone(), ..Gone::default() };
                all.add(reader.nestings()?);
                Ok(all.nestings.into_values().collect())
            }
            ContentSource::Memory(kept) => Ok(kept.nestings.clone()),
        }
    }

    pub(super) fn modules(&self) -> Result<Vec<Module>, ReadError> {
        let reader = match &self.from {
            ContentSource::File(reader) => reader,
            ContentSource::Memory(kept) => return Ok(kept.modules.clone()),
        };
        let mut modules = reader.modules()?;
        for (module, stamp) in modules.iter_mut().zip(&self.stamps) {
            module.stamp = module.stamp.or(*stamp);
        }
        Ok(modules)
    }

    /// Looks at the files of modules that are new.
    pub(super) fn look_at_files(&mut self, looked_at: Option<&LookedAt>) -> Result<(), ReadError> {
        let ContentSource::File(reader) = &self.from else { return Ok(()) };
        let new = reader.modules_from(self.stamps.len() as u64)?;
        let needs_one = |module: &Module| module.stamp.is_none() && module.build_id.is_empty();
        let now = |module: &Module| match looked_at.and_then(|process| process.open(&module.path)) {
            None => std::fs::metadata(&module.path).as_ref().map(stamp).ok(),
            Some(file) => file.ok()?.metadata().as_ref().map(stamp).ok(),
        };
        self.stamps.extend(new.iter().map(|module| now(module).filter(|_| needs_one(module))));
        Ok(())
    }

    /// The return addresses of a stack, the innermost first; empty if there is none of that number.
    pub(super) fn stack(&self, number: u32) -> Result<Vec<u64>, ReadError> {
        match &self.from {
            ContentSource::File(reader) => reader.stack(number),
            ContentSource::Memory(kept) => Ok(kept.stacks.get(&number).cloned().unwrap_or_default()),
        }
    }

    /// The process is gone, and all its samples are in `accounts`: keeps what these need, and what the names of stacks need if looks
    /// have found other waits; and removes the file, whose path is the answer if that could be done.
    pub(super) fn keep(
        &mut self,
        accounts: &BTreeMap<u32, Account>,
        waiters: &[Waiter],
        has_other_waits: bool,
    ) -> Result<Option<PathBuf>, ReadError> {
        let ContentSource::File(reader) = &self.from else { return Ok(None) };
        let mut kept = EndedRecording::default();
        let is_waited_for =
            |lock: &Lock| waiters.iter().any(|waiter| waiter.lock == lock.number || waiter.address == lock.address);
        kept.nestings = self.nestings()?;
        let nested: HashSet<u32> = kept.nestings.iter().flat_map(|nesting| nesting.locks).collect();
        let is_used = !accounts.is_empty() || !waiters.is_empty() || !nested.is_empty();
        if is_used || has_other_waits {
            kept.modules = self.modules()?;
        }
        if is_used {
            let names = self.names()?;
            kept.locks = self.locks()?;
            let is_used = |lock: &Lock| accounts.contains_key(&lock.number) || nested.contains(&lock.number);
            kept.locks.retain(|lock| is_used(lock) || is_waited_for(lock));
            let addresses =
                kept.locks.iter().map(|lock| lock.address).chain(waiters.iter().map(|waiter| waiter.address));
            kept.names = names.of_addresses(addresses);
            let waiting = waiters.iter().map(|waiter| waiter.stack);
            let origins = kept.locks.iter().map(|lock| lock.origin);
            let taking = kept.nestings.iter().flat_map(|nesting| nesting.stacks);
            for number in accounts.values().flat_map(Account::stacks).chain(origins).chain(waiting).chain(taking) {
                if let Entry::Vacant(place) = kept.stacks.entry(number) {
                    place.insert(reader.stack(number)?);
                }
            }
        }
        let path: &Path = reader.path();
        let path = path.to_owned();
        // One that stays is in a directory that is removed in the end.
        let is_removed = std::fs::remove_file(&path).is_ok();
        self.from = ContentSource::Memory(kept);
        self.gone = Gone::default();
        Ok(is_removed.then_some(path))
    }
}

/// A file's name and its directory's, which no other directory for recordings has.
pub(super) fn name_of(path: &str) -> String {
    path.rsplitn(3, '/').take(2).collect::<Vec<&str>>().join(" in ")
}
