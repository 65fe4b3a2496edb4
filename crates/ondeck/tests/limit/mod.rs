//! Ends a test program that hangs. A lock that loses a wake-up would otherwise keep whoever runs the tests waiting for ever.
//!
//! A test program includes this module, and needs to do nothing else.

#![cfg(all(target_os = "linux", not(miri)))]

/// Several times as long as the slowest of the programs takes on a busy machine.
const SECONDS: u32 = 900;

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let handler = end as extern "C" fn(libc::c_int);
    // SAFETY: always may be called, and the handler may be run at any moment.
    unsafe { libc::signal(libc::SIGALRM, handler as libc::sighandler_t) };
    // SAFETY: always may be called.
    unsafe { libc::alarm(SECONDS) };
}

extern "C" fn end(_: libc::c_int) {
    const WORDS: &str = "no end after 900 s: a wake-up is lost, or a thread cannot run\n";
    // SAFETY: the text is alive, and of that length.
    unsafe { libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len()) };
    // SAFETY: always may be called, also by a signal handler.
    unsafe { libc::abort() };
}
