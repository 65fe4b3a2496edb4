//! The kernel, asked without the C library: system calls, and its clocks.
//!
//! A program, or a library that is loaded beside ours, may define `open`, `mmap`, `clock_gettime` or any other function of
//! the C library, and what it does there may lock a mutex: one that waits for us, or that is recorded and reads the clock
//! again. So whatever a lock or the recorder does in a process that is not its own goes by none of these names. `errno` stays
//! as it was: an error is in the answer.
//!
//! Of processors other than x86-64 and aarch64 the C library's `syscall` is called.

mod vdso;

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

/// What a system call answers, or the number of the error.
pub type Answer = Result<usize, c_int>;

/// The system call of that number.
///
/// # Safety
/// What the call asks for.
#[inline]
pub unsafe fn call<const N: usize>(number: c_long, arguments: [usize; N]) -> Answer {
    const { assert!(N <= 6, "no system call has more") };
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: as the caller says.
    let answer = unsafe { raw(number, all) };
    // Errors are the last page of addresses.
    if (-4095..0).contains(&answer) { Err(-answer as c_int) } else { Ok(answer as usize) }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
unsafe fn raw(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as the caller says.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as the caller says.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => answer,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn raw(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    #[cfg(target_os = "android")]
    use libc::__errno as errno_location;
    #[cfg(not(target_os = "android"))]
    use libc::__errno_location as errno_location;
    // SAFETY: takes nothing.
    let errno = unsafe { errno_location() };
    // SAFETY: this thread's own.
    let before = unsafe { *errno };
    // SAFETY: as the caller says.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) } as isize;
    // SAFETY: this thread's own.
    let error = unsafe { errno.replace(before) };
    if answer == -1 { -(error as isize) } else { answer }
}

/// What a clock of the kernel says, whatever the program takes for it.
pub fn clock(clock: libc::clockid_t) -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    if !vdso::read(clock, &mut now) {
        // A `timespec` as the C library has it: where that has other fields than the kernel, the library is asked.
        #[cfg(target_pointer_width = "64")]
        // SAFETY: writes one timespec that we own.
        let _ = unsafe { call(libc::SYS_clock_gettime, [clock as usize, (&raw mut now) as usize]) };
        #[cfg(not(target_pointer_width = "64"))]
        // SAFETY: as above.
        unsafe {
            libc::clock_gettime(clock, &mut now)
        };
    }
    now
}

/// CLOCK_MONOTONIC in nanoseconds. It begins at boot, or in a time namespace at what that says, and is never negative.
pub fn monotonic_ns() -> u64 {
    let now = clock(libc::CLOCK_MONOTONIC);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The kernel's number of the calling thread.
pub fn thread() -> u32 {
    // SAFETY: no arguments, no memory.
    unsafe { call(libc::SYS_gettid, []) }.unwrap_or(0) as u32
}

/// The kernel's number of the process.
pub fn process() -> u32 {
    // SAFETY: no arguments, no memory.
    unsafe { call(libc::SYS_getpid, []) }.unwrap_or(0) as u32
}

/// Advice about pages: `madvise`.
///
/// # Safety
/// The pages may be treated as the advice says.
pub unsafe fn advise(place: *mut c_void, length: usize, advice: c_int) -> Answer {
    // SAFETY: as the caller says.
    unsafe { call(libc::SYS_madvise, [place as usize, length, advice as usize]) }
}

/// New memory, of zeros.
#[cfg(target_pointer_width = "64")]
pub fn map_memory(length: usize) -> Option<*mut c_void> {
    const NO_FILE: usize = usize::MAX;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let place = unsafe { call(libc::SYS_mmap, [0, length, protection as usize, flags as usize, NO_FILE, 0]) };
    place.ok().map(|place| place as *mut c_void)
}

/// Whether the page at an address can be read. The kernel reads a signal mask from there before it finds that what it is
/// asked to do with it is no request.
pub fn can_read(address: u64) -> bool {
    const NO_REQUEST: usize = u32::MAX as usize;
    // SAFETY: fails, one way or the other.
    let answer = unsafe { call(libc::SYS_rt_sigprocmask, [NO_REQUEST, address as usize, 0, 8]) };
    debug_assert!(answer.is_err());
    answer == Err(libc::EINVAL)
}

/// Where the link leads to that `/proc` has for this process: as much as there is room for, and how many bytes.
pub fn read_link(path: &CStr, room: &mut [u8]) -> usize {
    let here = libc::AT_FDCWD as usize;
    let (name, place, length) = (path.as_ptr() as usize, room.as_mut_ptr() as usize, room.len());
    // SAFETY: a string of C, and room of that length.
    unsafe { call(libc::SYS_readlinkat, [here, name, place, length]) }.unwrap_or(0)
}

/// Writes to a file as much as it takes at once.
pub fn write(file: c_int, text: &[u8]) {
    // SAFETY: the text is alive, and of that length. There is nobody to tell that it could not be written.
    let _ = unsafe { call(libc::SYS_write, [file as usize, text.as_ptr() as usize, text.len()]) };
}

/// The value of a variable of the environment, as it stands there. It is to be used before anybody may change it.
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let name = name.to_bytes();
    // SAFETY: of the C library: null, or a list of strings that ends with null.
    let mut at = unsafe { environ };
    if at.is_null() {
        return None;
    }
    loop {
        // SAFETY: not behind the end of the list.
        let entry = unsafe { *at };
        if entry.is_null() {
            return None;
        }
        // SAFETY: a string of C.
        let entry = unsafe { CStr::from_ptr(entry) };
        if entry.to_bytes().strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'=')) {
            let value = &entry.to_bytes_with_nul()[name.len() + 1..];
            return CStr::from_bytes_with_nul(value).ok();
        }
        // SAFETY: this was not the end.
        at = unsafe { at.add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_those_of_the_environment() {
        for (name, value) in std::env::vars_os() {
            let [name, value] = [name, value].map(|text| std::ffi::CString::new(text.into_encoded_bytes()).unwrap());
            assert_eq!(variable(&name), Some(value.as_c_str()));
        }
        assert_eq!((variable(c"ONDECK_NO_SUCH"), variable(c"PAT"), variable(c"")), (None, None, None));
    }

    fn errno() -> i32 {
        std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
    }

    #[test]
    fn an_error_is_in_the_answer_and_nowhere_else() {
        // SAFETY: there is no such file.
        assert_eq!(unsafe { libc::close(-1) }, -1);
        assert_eq!(errno(), libc::EBADF);
        let path = c"/no/such/file";
        // SAFETY: a string of C.
        let answer = unsafe { call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0]) };
        assert_eq!((answer, errno()), (Err(libc::ENOENT), libc::EBADF));
        // SAFETY: refused before anything is looked at.
        assert_eq!(unsafe { call(-1, []) }, Err(libc::ENOSYS));
    }

    #[test]
    fn the_kernel_tells_the_same_as_the_c_library() {
        // SAFETY: always may be called.
        let thread_number = unsafe { libc::gettid() };
        assert_eq!((thread(), process()), (thread_number as u32, std::process::id()));
        let mut path = [0; 4096];
        let length = read_link(c"/proc/self/exe", &mut path);
        assert_eq!(std::env::current_exe().unwrap().to_str(), std::str::from_utf8(&path[..length]).ok());
        assert_eq!(read_link(c"/proc/self/nothing", &mut path), 0);
    }

    #[test]
    fn all_six_arguments_arrive() {
        let place = map_memory(4096).unwrap();
        // SAFETY: a page of ours, of zeros.
        assert_eq!(unsafe { place.cast::<u64>().read() }, 0);
        let file = tempfile();
        write(file, b"abc");
        let (protection, flags) = (libc::PROT_READ as usize, (libc::MAP_PRIVATE | libc::MAP_FIXED) as usize);
        // SAFETY: in the place of that page.
        let answer = unsafe { call(libc::SYS_mmap, [place as usize, 4096, protection, flags, file as usize, 0]) };
        assert_eq!(answer, Ok(place as usize));
        // SAFETY: mapped just now.
        assert_eq!(unsafe { place.cast::<[u8; 4]>().read() }, *b"abc\0");
    }

    fn tempfile() -> c_int {
        // SAFETY: a string of C.
        let file = unsafe { libc::memfd_create(c"test".as_ptr(), 0) };
        assert!(file >= 0);
        file
    }

    #[test]
    fn the_clocks_are_those_of_the_program() {
        for id in [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME] {
            let by_name = || {
                let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                // SAFETY: `now` is ours.
                unsafe { libc::clock_gettime(id, &mut now) };
                (now.tv_sec, now.tv_nsec)
            };
            let (before, ours, after) = (by_name(), clock(id), by_name());
            assert!((before..=after).contains(&(ours.tv_sec, ours.tv_nsec)), "{before:?} {ours:?} {after:?}");
        }
    }
}
