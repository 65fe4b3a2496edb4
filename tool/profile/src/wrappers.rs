//! Frames that stand between a program and its lock and say nothing of either: the waiting function is the one that
//! called them.
//!
//! A name counts if it says so itself ([`locks_by_name`]), as `sqlite3_mutex_enter` does in any library; if it is compiled for a
//! closure of its caller, which it runs; or if its short form begins with one of [`BEGINNINGS`]. A function whose name is not
//! known counts if it is in one of [`LIBRARIES`]. The lists are here and nowhere else: a frame that is missing shows up as the top
//! of many stacks.

pub(crate) mod anonymous;

use crate::names::brief;
use crate::profile::{Frame, Profile, Site};
use anonymous::closure_for;
use std::collections::HashMap;

/// Whether a frame is of a library that a program stands on, and not its own.
pub(crate) fn is_below(frame: &Frame) -> bool {
    begins(
        frame.module.rsplit('/').next().unwrap_or_default(),
        "libc. libc- ld- libpthread libstdc++ libondeck [vdso] linux-vdso.",
    )
}

/// Whether a text begins with one of some words.
pub(crate) fn begins(text: &str, words: &str) -> bool {
    words.split(' ').any(|word| text.starts_with(word))
}

/// Frames that no function has: what the stack wants, or has, a lock for readers and writers for.
pub(crate) const READING: &str = "(reading)";
pub(crate) const WRITING: &str = "(writing)";

/// In the place of a function that is gone from the stack, as its last act was a jump.
pub(crate) const UNKNOWN: &str = "[unknown]";

/// How the short names of such functions begin: what is before the first, with each of the others behind it.
#[rustfmt::skip]
const BEGINNINGS: &[(&str, &str)] = &[
    // The C library, with the names that its parts give each other, and C11.
    ("", "pthread_mutex_ __pthread_mutex_ ___pthread_mutex_ __GI___pthread_mutex_ pthread_cond_ \
        __pthread_cond_ ___pthread_cond_ __lll_ __GI___lll_ lll_ futex_ __futex_ __GI___futex_ \
        mtx_ cnd_ syscall pthread_rwlock_ __pthread_rwlock_ ___pthread_rwlock_ pthread_barrier_ \
        pthread_once __pthread_once pthread_join pthread_timedjoin_np __pthread_clockjoin sem_wait \
        sem_timedwait sem_clockwait __new_sem_wait sem_post __new_sem_post do_futex_wait"),
    // musl.
    ("", "__lock __timedwait __syscall_cp __wait"),
    // C++: libstdc++ and libc++.
    ("", "__gthread_ __gthrw_ __glibcxx_rwlock_"),
    ("std::", "__mutex_base:: __recursive_mutex_base:: __timed_mutex_impl:: __libcpp_recursive_mutex_ \
        __libcpp_condvar_ lock try_lock unique_lock:: __shared_mutex_pthread:: __shared_timed_mutex_base:: \
        __glibcxx_rwlock_ counting_semaphore:: __semaphore_impl:: call_once __atomic_wait \
        __atomic_base::wait __atomic_semaphore:: __tree_barrier:: __libcpp_atomic_wait \
        __libcpp_platform_wait_on_address __cxx_atomic_wait atomic::wait atomic_flag::wait \
        barrier:: latch:: thread::join condition_variable:: condition_variable_any:: \
        _V2::condition_variable_any:: __condvar::"),
    ("std::__detail::", "__lock_impl __try_lock_impl __platform_wait __wait __timed_wait"),
    // Rust: the standard library, whose modules have moved over time, parking_lot, and what drops a guard.
    ("std::sync::", "mutex:: poison:: condvar:: once barrier:: lazy_lock:: mpmc:: mpsc:: rwlock::"),
    ("std::", "thread::park thread::JoinInner:: thread::JoinHandle:: \
        thread::lifecycle::JoinInner:: thread::join_handle:: sys:: sys_common::"),
    ("", "parking_lot:: parking_lot_core:: lock_api::"),
    ("core::", "ptr::drop_in_place mem::drop sync::atomic::"),
    // Go's runtime.
    ("", "runtime.futex runtime.notesleep runtime.notetsleep runtime.mPark runtime.stopm"),
    // Libraries that programs take their mutexes from.
    ("boost::", "posix::pthread_ pthread:: shared_mutex:: condition_variable_any:: condition_variable::"),
    ("absl::", "Mutex:: MutexLock:: ReaderMutexLock:: WriterMutexLock:: CondVar:: \
        base_internal::SpinLock synchronization_internal::"),
    ("", "AbslInternal nsync_ nsync::nsync_ g_bit_lock g_pointer_bit_lock QReadWriteLock:: QWaitCondition:: \
        QWaitConditionPrivate:: QSemaphore::"),
    ("SDL_", "mutexP mutexV CondWait WaitCondition SemWait WaitSemaphore"),
    ("folly::", "SharedMutex MicroLock Baton:: SaturatingSemaphore:: ParkingLot:: \
        parking_lot_detail:: detail::futex detail::distributed_mutex:: detail::MemoryIdler::"),
    ("WTF::", "ParkingLot:: Lock WordLock Condition::"),
    // CPython.
    ("", "take_gil drop_gil PyCOND_TIMEDWAIT PyEval_RestoreThread PyEval_SaveThread \
        _PyThreadState_Attach _PyThreadState_Detach PyThread_acquire_lock PyThread_release_lock \
        acquire_timed _PyMutex_Lock PyMutex_Lock _PySemaphore_"),
    // MySQL and MariaDB.
    ("", "os_event sync_array_ TTASEventMutex:: rw_lock_s_lock rw_lock_x_lock \
        rw_lock_sx_lock pfs_rw_lock_ srw_mutex_impl:: ssux_lock_impl::"),
    // OpenMP by GCC.
    ("", "GOMP_critical_ GOMP_atomic_ GOMP_barrier omp_set_lock omp_unset_lock omp_test_lock omp_set_nest_lock omp_unset_nest_lock"),
    // Ours.
    ("", "ondeck_ ondeck::"),
];

/// How the files of libraries begin that have such functions.
const LIBRARIES: &str = "libc.so libc- libpthread libstdc++.so libondeck libabsl_synchronization.so libabsl_base.so libnsync.so libgomp.so [vdso] linux-vdso.";

/// Packages of Rust that lock and do nothing else.
const PACKAGES: &[&str] = &["lock_api", "parking_lot", "parking_lot_core", "ondeck", "ondeck-lineage", "ondeck-record"];

/// Words in names: what is done with locks and nothing else, and in which way.
const ACTS: &str = "acquire release try enter leave exit new free init destroy create delete make alloc get put take drop read \
    write reader writer rd wr rw shared exclusive slow slowpath contended fast wait timed timedwait until for signal broadcast \
    notify wake one all section do internal impl";
/// Words before which `lock` is no verb.
const NO_ACTS: &str = "with without under in holding has is no by for wait";
/// Words behind the name of a lock in the name of a class that locks it.
const BEHIND: &str = "section guard key holder handle scope var variable impl base private";

/// Headers whose functions only lock: ours, and those of C++ libraries below a directory [`OF_CPP`]. A function that is made
/// for a type of another function's own is inlined without a path.
const HEADERS: &[&str] =
    &["condition_variable", "condition_variable.h", "mutex", "shared_mutex", "std_mutex.h", "unique_lock.h"];
const OF_CPP: &str = "/c++/";
const OUR_HEADER: &str = "ondeck.hpp";

/// What is known of each frame of a profile, found out once: there are more stacks than frames.
pub(crate) struct Tops<'p> {
    profile: &'p Profile,
    briefs: Vec<String>,
    wrappers: Vec<bool>,
}

impl<'p> Tops<'p> {
    /// Looks at all frames.
    pub(crate) fn new(profile: &'p Profile) -> Tops<'p> {
        let briefs: Vec<String> = profile.frames.iter().map(|frame| brief(&frame.function)).collect();
        let wrappers = profile.frames.iter().zip(&briefs).map(|(frame, brief)| is_wrapper(frame, brief)).collect();
        Tops { profile, briefs, wrappers }
    }

    /// The short name of a frame.
    pub(crate) fn brief(&self, frame: u32) -> &str {
        self.briefs.get(frame as usize).map_or("", String::as_str)
    }

    /// Whether the frame is there only because somebody locks.
    pub(crate) fn is_wrapper(&self, frame: u32) -> bool {
        self.wrappers.get(frame as usize).copied().unwrap_or(false)
    }

    /// The numbers of a stack's frames, the innermost first; those that no frame has are left out.
    pub(crate) fn stack(&self, stack: u32) -> impl DoubleEndedIterator<Item = u32> + Clone + use<'p> {
        let numbers = self.profile.stacks.get(stack as usize).map_or(&[][..], Vec::as_slice);
        let n_frames = self.profile.frames.len();
        numbers.iter().copied().filter(move |number| (*number as usize) < n_frames)
    }

    /// The innermost frame that is no wrapper; the innermost of all if there is no other, `None` of an empty stack.
    pub(crate) fn top(&self, stack: u32) -> Option<u32> {
        let frame = |number: &u32| &self.profile.frames[*number as usize];
        top(self.stack(stack), |number| self.is_wrapper(*number), |number| is_below(frame(number)))
    }

    /// The function that calls the [`top`](Self::top) of that part of both, by their counts; a frame of it.
    pub(crate) fn calls_both(&self, some: &[Site], others: &[Site], part: f64) -> Option<u32> {
        let (some, others) = (self.callers(some), self.callers(others));
        let has_part =
            |callers: &HashMap<&str, (u32, f64)>, name: &str| callers.get(name).is_some_and(|one| one.1 >= part);
        let both = some.keys().find(|name| has_part(&some, name) && has_part(&others, name))?;
        Some(some[both].0)
    }

    /// The functions of the program that call the tops of the sites, each with a frame, and the part of the counts.
    fn callers(&self, sites: &[Site]) -> HashMap<&str, (u32, f64)> {
        let whole: f64 = sites.iter().map(|site| site.count).sum();
        let mut callers: HashMap<&str, (u32, f64)> = HashMap::new();
        for site in sites {
            let Some(top) = self.top(site.stack) else { continue };
            let is_own = |number: &u32| !is_below(&self.profile.frames[*number as usize]) && !self.is_wrapper(*number);
            let mut around = self.stack(site.stack).skip_while(|number| *number != top).skip(1);
            let Some(caller) = around.find(is_own) else { continue };
            callers.entry(self.brief(caller)).or_insert((caller, 0.0)).1 += site.count / whole;
        }
        callers
    }

    /// Of a stack whose [`top`](Self::top) has no name, the innermost function around that which has one.
    pub(crate) fn known_caller(&self, stack: u32) -> Option<u32> {
        let (top, frame) = (self.top(stack)?, |number: u32| &self.profile.frames[number as usize]);
        if frame(top).function.starts_with(UNKNOWN.trim_end_matches(']')) {
            return None;
        }
        let mut around = self.stack(stack).skip_while(|number| *number != top);
        let is_known = |number: &u32| frame(*number).is_named && !is_below(frame(*number)) && !self.is_wrapper(*number);
        around.next().filter(|number| !frame(*number).is_named).and_then(|_| around.find(is_known))
    }

    /// Whose sites have the most time together, by the short name of their [`top`](Self::top), and which part of all
    /// that is.
    pub(crate) fn busiest(&self, sites: &[Site]) -> Option<(String, f64)> {
        let mut sums: HashMap<(&str, &str), f64> = HashMap::new();
        for site in sites {
            let name = self.top(site.stack).map_or(NO_STACK, |frame| self.brief(frame));
            *sums.entry((name, self.access(site.stack).unwrap_or(""))).or_default() += site.ns;
        }
        let whole: f64 = sites.iter().map(|site| site.ns).sum();
        // The first by name of those that are alike, so that it is the same each time.
        let ((name, access), ns) =
            sums.into_iter().max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
        let access = if access.is_empty() { String::new() } else { format!(" {access}") };
        Some((format!("{name}{access}"), if whole > 0.0 { ns / whole } else { 0.0 }))
    }

    /// What a stack wants, or has, a lock for readers and writers for: [`READING`] or [`WRITING`].
    pub(crate) fn access(&self, stack: u32) -> Option<&'static str> {
        let brief = self.brief(self.stack(stack).next()?);
        [READING, WRITING].into_iter().find(|access| *access == brief)
    }
}

/// Whose sites of a lock have the most time together, by a short name of the function, and which part of all that is; `None`
/// without sites. Functions that only lock are left out: it is who called them.
pub fn busiest(profile: &Profile, sites: &[Site]) -> Option<(String, f64)> {
    Tops::new(profile).busiest(sites)
}

/// The innermost of a stack's frames that is no wrapper. Where that is not of the program, as what starts threads, or where all
/// are wrappers, the outermost of the wrappers that are; the innermost of all where none is.
pub(crate) fn top<F: Copy>(
    frames: impl DoubleEndedIterator<Item = F> + Clone,
    is_wrapper: impl Fn(&F) -> bool,
    is_below: impl Fn(&F) -> bool,
) -> Option<F> {
    let found = frames.clone().find(|frame| !is_wrapper(frame));
    if found.is_some_and(|frame| !is_below(&frame)) {
        return found;
    }
    let wrappers = frames.clone().take_while(|frame| is_wrapper(frame));
    let own = wrappers.filter(|frame| !is_below(frame)).last();
    own.or(found).or_else(|| frames.clone().next())
}

pub(crate) fn is_wrapper(frame: &Frame, brief: &str) -> bool {
    only_locks(frame, brief) || closure_for(&frame.function).is_some()
}

/// The same of a function that runs nothing of its caller's.
pub(crate) fn only_locks(frame: &Frame, brief: &str) -> bool {
    if !frame.is_named {
        return begins(&frame.module, LIBRARIES);
    }
    let is_known = [READING, WRITING].iter().any(|access| brief.starts_with(access))
        || BEGINNINGS.iter().any(|(before, names)| brief.strip_prefix(before).is_some_and(|rest| begins(rest, names)));
    let is_of_header = frame.is_inlined && !brief.contains("::") && is_of_header(&frame.file);
    let is_of_library = is_of_locks(&frame.file) || is_of_standard_library(frame, brief) || is_of_header;
    is_known || is_of_library || locks_by_name(frame, brief)
}

/// Whether a function is of a standard library by its source file. Only of an inlined function, which may have no path, is
/// that enough: the last line of a program's function may be one of a header.
fn is_of_standard_library(frame: &Frame, brief: &str) -> bool {
    let is_rust = frame.file.split_once("/library/").is_some_and(|(source, _)| {
        source.starts_with("/rustc/") || source.contains("/rustc-") || source.ends_with("/rustlib/src/rust")
    });
    let is_library = is_rust || frame.file.contains("/include/c++/");
    is_library
        && match brief.split_once("::") {
            Some(("std" | "core" | "alloc" | "__gnu_cxx", _)) => true,
            // Of a parameter or a type, as `F::call_once`: packages and namespaces are written in small letters.
            Some((root, _)) => {
                frame.is_inlined && root.starts_with(|first: char| !first.is_lowercase() && first != '_')
            }
            None => frame.is_inlined,
        }
}

/// The words of a name, in lower case: `pthread mutex enter` of `pthreadMutexEnter`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let letters: Vec<char> = name.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let is_before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let is_after_small = at > 0 && letters[at - 1].is_lowercase();
        if !letter.is_alphabetic() || letter.is_uppercase() && (is_before_small || is_after_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphabetic()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_in(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Whether a word is of a lock: `mutex`, `rwlock`, `locker`, `unlock`.
fn is_a_lock(word: &str) -> bool {
    let is_one = |end| word.ends_with(end);
    is_in("barrier cond condition critical guard latch semaphore", word)
        || (is_one("mutex") || is_one("lock") || is_one("locker")) && !is_in("block clock deadlock", word)
}

/// Whether a function does no more than to lock, to unlock, to make or to free a lock, as its name says: `CRYPTO_THREAD_lock_new`,
/// and for a class that only locks `app::Mutex::unlock`, `~StorageLockKey`. What another class calls so, as `Cache::unlock`, may do
/// more. Of an inlined function whose class is not known, `lock` is enough.
fn locks_by_name(frame: &Frame, brief: &str) -> bool {
    let mut parts = brief.rsplit("::");
    let (function, class) = (parts.next().unwrap_or_default(), words(parts.next().unwrap_or_default()));
    let words = words(function);
    let is_act = |word: &String| is_a_lock(word) || is_in(ACTS, word);
    let behind = class.iter().rposition(|word| is_a_lock(word)).map(|at| &class[at + 1..]);
    let is_of_lock = behind.is_some_and(|behind| behind.iter().all(|word| is_in(BEHIND, word)));
    if is_of_lock && !words.is_empty() && (words == class || words.iter().all(is_act)) {
        return true;
    }
    let begins = |at: &usize| is_a_lock(&words[*at]) && words[*at..].iter().all(is_act);
    let Some(at) = (0..words.len()).find(begins) else { return false };
    let (before, rest) = words.split_at(at);
    let is_verb = is_in("unlock trylock rdlock wrlock relock", &rest[0]) || before.iter().any(is_act);
    let is_verb = class.is_empty() && (is_verb || frame.is_inlined && before.is_empty());
    let is_other = |word: &String| is_a_lock(word) || is_in(NO_ACTS, word);
    (rest.len() > 1 || is_verb) && !before.iter().any(is_other)
}

/// The same of C++'s, and of ours.
fn is_of_header(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    name == OUR_HEADER || file.contains(OF_CPP) && HEADERS.contains(&name)
}

/// Whether a source file is of a package of locks. Where a program has tables of lines only, names of functions that were
/// inlined do not tell whose they are.
fn is_of_locks(file: &str) -> bool {
    let mut parts = file.rsplit('/').skip_while(|part| *part != "src").skip(1);
    let Some(package) = parts.next() else { return false };
    PACKAGES.iter().any(|name| {
        let version = package.strip_prefix(name);
        version.is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        })
    })
}

/// Whether a function takes several locks at once: it waits for one, tries the others, and begins with another one if that
/// fails. So it may wait for any of them.
pub(crate) fn takes_group(frame: &Frame, brief: &str) -> bool {
    const WHOLE: &str = "std::lock std::scoped_lock::scoped_lock std::__detail::__lock_impl std::__lock_first boost::lock \
        boost::detail::lock_impl folly::lock";
    const BARE: &str = "lock scoped_lock __lock_impl __lock_first";
    let is_in = |names: &str| names.split(' ').any(|name| name == brief);
    is_in(WHOLE) || frame.is_inlined && is_in(BARE) && is_of_header(&frame.file)
}

/// What stands in the place of an empty stack.
pub(crate) const NO_STACK: &str = "(no stack)";

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a function in a module, or in a source file and maybe inlined.
    fn judged(function: &str, module: &str, file: &str, is_inlined: bool) -> bool {
        let is_named = !function.contains("+0x");
        let [name, module, file] = [function, module, file].map(str::to_owned);
        is_wrapper(&Frame { function: name, module, file, is_inlined, is_named, ..Frame::default() }, &brief(function))
    }

    #[test]
    fn locking_is_told_from_what_locks() {
        for (function, module) in [
            ("std::mutex::lock()", "app"),
            ("std::lock_guard<std::mutex>::lock_guard(std::mutex&)", "app"),
            ("void std::lock<std::mutex, std::mutex>(std::mutex&, std::mutex&)", "app"),
            ("__gthread_mutex_lock(pthread_mutex_t*)", "app"),
            ("pthread_mutex_lock", "libc.so.6"),
            ("libc.so.6+0x8f2a1", "libc.so.6"),
            ("std::sys::sync::mutex::pthread::Mutex::lock", "app"),
            ("<std::sync::poison::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop", "app"),
            ("core::ptr::drop_in_place<std::sync::poison::mutex::MutexGuard<u64>>", "app"),
            ("<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock", "app"),
            ("rocksdb::port::Mutex::Lock()", "librocksdb.so.7.8"),
            ("kyotocabinet::Mutex::Mutex()", "libkyotocabinet.so.16"),
            ("inline_mysql_mutex_lock(mysql_mutex_t*, char const*, unsigned int)", "mariadbd"),
            ("boost::posix::pthread_mutex_unlock(pthread_mutex_t*)", "app"),
            ("std::__glibcxx_rwlock_unlock(pthread_rwlock_t*)", "app"),
            ("app::Mutex::lock", "app"),
            ("<app::SpinGuard<T> as core::ops::drop::Drop>::drop", "app"),
            ("Lock::Lock(std::mutex&)", "app"),
            ("app::ScopedLocker<int>::~ScopedLocker()", "app"),
            ("CriticalSection::Enter()", "app"),
        ] {
            assert!(judged(function, module, "", false), "{function}");
        }
        for (function, module) in [
            ("main", "app"),
            ("row_lock_table(row_prebuilt_t*)", "mariadbd"),
            ("app+0x1234", "app"),
            ("malloc", "libc.so.6"),
            ("std::vector<int>::push_back(int)", "app"),
            ("rocksdb::MutexLocker::work()", "app"),
            ("LockManager::acquire()", "app"),
            ("Block::~Block()", "app"),
            ("Clock::lock()", "app"),
        ] {
            assert!(!judged(function, module, "", false), "{function}");
        }
    }

    #[test]
    fn a_name_says_in_any_library_that_a_function_only_locks() {
        for (function, module) in [
            ("sqlite3_mutex_enter", "libsqlite3.so.0"),
            ("pthreadMutexEnter", "libsqlite3.so.0"),
            ("CRYPTO_THREAD_unlock", "libcrypto.so.3"),
            ("CRYPTO_THREAD_write_lock", "libcrypto.so.3"),
            ("CRYPTO_THREAD_lock_new", "libcrypto.so.3"),
            ("duckdb::StorageLockKey::~StorageLockKey()", "libduckdb.so"),
            ("LWLockAcquire", "postgres"),
            ("g_rw_lock_reader_unlock", "libglib-2.0.so.0"),
            ("g_mutex_lock_slowpath", "libglib-2.0.so.0"),
            ("SDL_UnlockMutex", "libSDL2.so"),
            ("parsec_barrier_wait", "app"),
            ("QMutexLocker::~QMutexLocker()", "app"),
            ("v8::base::ConditionVariable::Wait(v8::base::Mutex*)", "node"),
            (
                "auto Guarded<int>::with<Sessions::expire()::{lambda(int&)#1}>(Sessions::expire()::{lambda(int&)#1})",
                "app",
            ),
        ] {
            assert!(judged(function, module, "", false), "{function}");
        }
        for (function, module) in [
            ("Query_cache::unlock()", "mariadbd"),
            ("cache_lock", "app"),
            ("transfer_with_lock", "app"),
            ("lock_and_work", "app"),
            ("unlock_page", "app"),
            ("mutex_report", "app"),
            ("MutexPool::get()", "app"),
            ("lock_PyThread_acquire_lock", "python3"),
            ("lock", "app"),
        ] {
            assert!(!judged(function, module, "", false), "{function}");
        }
    }

    #[test]
    fn files_of_packages_of_locks_are_known() {
        for file in [
            "/r/src/x-1/lock_api-0.5.0/src/mutex.rs",
            "/w/crates/ondeck/src/raw.rs",
            "ondeck-0.1.0/src/poison/mutex.rs",
        ] {
            assert!(is_of_locks(file), "{file}");
        }
        for file in ["", "app/src/main.rs", "/w/ondeck-client/src/raw.rs", "ondeck/tests/raw.rs", "src/lib.rs"] {
            assert!(!is_of_locks(file), "{file}");
        }
    }

    /// As with `debug = "line-tables-only"`.
    #[test]
    fn inlined_functions_are_known_by_their_files() {
        let judged = |function: &str, file: &str, is_inlined| judged(function, "", file, is_inlined);
        for (function, file) in [
            ("lock<u64>", "/rustc/00ff/library/std/src/sync/poison/mutex.rs"),
            ("unlock", "/rustc/00ff/library/std/src/sys/sync/mutex/futex.rs"),
            ("join<()>", "/rustc/00ff/library/std/src/thread/join_handle.rs"),
            ("drop_in_place<u64>", "/usr/src/rustc-1.63.0/library/core/src/ptr/mod.rs"),
            ("drop<u64>", "/opt/.rustup/toolchains/y/lib/rustlib/src/rust/library/core/src/mem/mod.rs"),
            ("F::call_once<fn()>", "/rustc/00ff/library/core/src/ops/function.rs"),
            ("core::mem::replace::<u64>", "/rustc/00ff/library/core/src/mem/mod.rs"),
            ("__invoke<main()::<lambda()> >", "/usr/include/c++/12/bits/invoke.h"),
        ] {
            assert!(judged(function, file, true), "{function}");
        }
        for (function, file) in [
            ("app::work", "/rustc/00ff/library/core/src/ptr/mod.rs"),
            ("drop", "src/main.rs"),
            ("replace", "/w/library/core/src/lib.rs"),
            ("space::work()", "/usr/include/c++/12/bits/std_mutex.h"),
        ] {
            assert!(!judged(function, file, true), "{function}");
        }
        let file = "/usr/include/c++/12/bits/std_mutex.h";
        assert!(judged("try_lock<u64>", "src/main.rs", true), "whose is not known");
        assert!(!judged("lock", "src/main.rs", false));
        assert!(!judged("work()", file, false), "its last line is another function's");
        assert!(judged("std::thread::_State_impl<int>::_M_run()", file, false));
    }

    /// As a wait with a lambda for its condition.
    #[test]
    fn functions_of_headers_are_known_by_their_files() {
        let judged = |function: &str, file: &str| judged(function, "", file, true);
        let wait = "wait<Ready<int> >";
        for file in ["/usr/include/ondeck.hpp", "/usr/include/c++/14/condition_variable", "/lib/c++/v1/mutex"] {
            assert!(judged(wait, file), "{file}");
        }
        for (function, file) in [(wait, "/src/mutex"), (wait, "/src/ondeck.cpp"), ("app::wait", "/src/ondeck.hpp")] {
            assert!(!judged(function, file), "{function} in {file}");
        }
    }

    /// One function may do both, and is two then.
    #[test]
    fn readers_are_told_from_writers() {
        let mut profile = crate::made_up::small();
        let serve = profile.stacks[0].clone();
        for access in [READING, WRITING] {
            let frame = Frame { function: access.into(), is_named: true, ..Frame::default() };
            profile.frames.push(frame);
            let number = profile.frames.len() as u32 - 1;
            profile.stacks.push(std::iter::once(number).chain(serve.iter().copied()).collect());
        }
        let (reading, writing) = (profile.stacks.len() as u32 - 2, profile.stacks.len() as u32 - 1);
        let tops = Tops::new(&profile);
        assert_eq!([reading, writing].map(|stack| tops.access(stack)), [Some(READING), Some(WRITING)]);
        assert_eq!(tops.top(reading).map(|frame| tops.brief(frame)), Some("serve"));
        let site = |stack, ns| Site { stack, count: 1.0, ns };
        let (name, share) = tops.busiest(&[site(writing, 30.0), site(reading, 60.0), site(0, 10.0)]).unwrap();
        assert_eq!((name.as_str(), share), ("serve (reading)", 0.6));
    }

    #[test]
    fn the_top_is_the_first_that_is_no_wrapper() {
        let profile = crate::made_up::small();
        let tops = Tops::new(&profile);
        let name = |stack| tops.top(stack).map(|frame| tops.brief(frame));
        assert_eq!([0, 1, 2, 99].map(name), [Some("serve"), Some("pthread_mutex_unlock"), None, None]);
    }

    #[test]
    fn stacks_with_the_same_top_are_taken_together() {
        let profile = crate::made_up::small();
        let tops = Tops::new(&profile);
        let site = |stack, ns| Site { stack, count: 1.0, ns };
        let (name, share) = tops.busiest(&[site(2, 40.0), site(0, 30.0), site(3, 30.0)]).unwrap();
        assert_eq!((name.as_str(), share), ("serve", 0.6));
        assert_eq!(tops.access(0), None);
        assert_eq!(tops.busiest(&[]), None);
        assert_eq!(tops.busiest(&[site(2, 0.0)]), Some((NO_STACK.to_string(), 0.0)));
    }
}
