//! What locks inside of libraries' functions are, and what can be done about them.

/// Functions of libraries that have a lock.
#[derive(Debug, PartialEq)]
pub(crate) struct LibraryLock {
    /// How their names begin, without `_` before them; with `$` at its end, a whole name.
    functions: &'static str,
    pub(crate) what: &'static str,
    pub(crate) advice: &'static str,
}

const RUST: &str = "Who holds it is not seen here: `sudo ondeck profile --futex` shows who lets the others wait";

#[rustfmt::skip]
const LIBRARY_LOCKS: &[LibraryLock] = &[
    LibraryLock {
        functions: "malloc calloc realloc free$ cfree$ aligned_alloc posix_memalign memalign valloc int_malloc int_free \
            int_realloc arena_get2 operator new operator delete",
        what: "the allocator's lock",
        advice: "Allocate less there, or use an allocator whose threads have memory of their own",
    },
    LibraryLock {
        functions: "printf fprintf vprintf vfprintf puts$ fputs$ fputc putc putchar fwrite fread fgets fgetc getc getline getdelim \
            fflush ungetc fseek ftell fclose perror IO_ overflow$ flockfile",
        what: "the lock of a FILE",
        advice: "Write larger pieces, or give each thread its own",
    },
    LibraryLock {
        functions: "munmap$ mremap$ mprotect$ brk$",
        what: "the kernel's lock of the memory map",
        advice: "Keep memory that was mapped and use it again, or have fewer threads change the map",
    },
    LibraryLock {
        functions: "localtime mktime strftime tzset ctime timelocal tz_convert timegm",
        what: "the lock of the time zone",
        advice: "Work out what the time zone changes once, and not for each time",
    },
    LibraryLock {
        functions: "cxa_guard_acquire pthread_once call_once std::call_once std::sys::sync::once",
        what: "the end of an initialisation",
        advice: "Do that before the threads start, or make it shorter",
    },
    LibraryLock {
        functions: "dlopen dlsym dlclose dl_iterate_phdr dl_ tls_get_addr Unwind_",
        what: "the loader's lock",
        advice: "Load libraries before the threads start, and throw fewer exceptions",
    },
    LibraryLock {
        functions: "random$ rand$ srand lrand48 drand48",
        what: "the lock of the random numbers",
        advice: "Give each thread a generator of its own",
    },
    LibraryLock {
        functions: "getenv setenv putenv unsetenv",
        what: "the lock of the environment",
        advice: "Read it once",
    },
    LibraryLock {
        functions: "syslog vsyslog openlog",
        what: "the lock of the system log",
        advice: "Write less, or let one thread write",
    },
    LibraryLock {
        functions: "std::sys::sync::mutex std::sys::unix::locks::futex_mutex std::sys::pal::unix::locks::futex_mutex std::sync::mutex \
            std::sync::poison::mutex",
        what: "a `std::sync::Mutex`",
        advice: RUST,
    },
    LibraryLock {
        functions: "std::sys::sync::rwlock std::sys::unix::locks::futex_rwlock std::sys::pal::unix::locks::futex_rwlock \
            std::sync::rwlock std::sync::poison::rwlock",
        what: "a `std::sync::RwLock`",
        advice: RUST,
    },
    LibraryLock {
        functions: "parking_lot::raw_mutex parking_lot::raw_fair_mutex",
        what: "a mutex of parking_lot",
        advice: RUST,
    },
    LibraryLock {
        functions: "parking_lot::raw_rwlock",
        what: "an RwLock of parking_lot",
        advice: RUST,
    },
    LibraryLock {
        functions: "GOMP_critical GOMP_atomic omp_set_lock omp_set_nest_lock",
        what: "a critical section or a lock of OpenMP",
        advice: "Do less there, or let each thread add up its own",
    },
    LibraryLock {
        functions: "ObjectMonitor::",
        what: "a monitor of Java",
        advice: "A profiler of Java's shows which: `asprof -e lock`",
    },
];

/// The place in the table of a function with that short name.
pub(crate) fn library_lock(brief: &str) -> Option<&'static LibraryLock> {
    let plain = plain(brief);
    let is_it = |name: &str| match name.strip_suffix('$') {
        Some(whole) => plain == whole,
        None => plain.starts_with(name),
    };
    LIBRARY_LOCKS.iter().find(|lock| lock.functions.split_whitespace().any(is_it))
}

/// A function of the C library by the name that its users know: debug information has names for its parts.
pub(crate) fn plain(brief: &str) -> &str {
    let plain = brief.trim_start_matches("__GI_").trim_start_matches('_').trim_start_matches("libc_");
    if plain.is_empty() { brief } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_by_any_of_their_names() {
        let what = |brief: &str| library_lock(brief).map(|lock| lock.what);
        for name in ["malloc", "__libc_malloc", "__GI___libc_malloc", "_int_free", "cfree"] {
            assert_eq!(what(name), Some("the allocator's lock"), "{name}");
        }
        for name in ["fprintf", "___fprintf_chk", "__vfprintf_internal", "_IO_puts", "fwrite", "__overflow"] {
            assert_eq!(what(name), Some("the lock of a FILE"), "{name}");
        }
        for name in ["__localtime_r", "__tz_convert", "mktime"] {
            assert_eq!(what(name), Some("the lock of the time zone"), "{name}");
        }
        assert_eq!(what("__cxa_guard_acquire"), Some("the end of an initialisation"));
        assert_eq!(what("std::sys::sync::mutex::futex::Mutex::lock_contended"), Some("a `std::sync::Mutex`"));
        for name in ["freeze", "work", "", "_"] {
            assert_eq!(what(name), None, "{name}");
        }
    }
}
