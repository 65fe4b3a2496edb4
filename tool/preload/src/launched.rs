//! What `ondeck run --verbose` and `ondeck run --no-children` ask of the library, as a program begins.
//!
//! Both are variables of the environment. [`TELL`] is handed on to children, so each process that loads the library says so.
//! [`LATER`] has what LD_PRELOAD was before: the library puts that back, and takes its own variables away, so the programs
//! that this one starts find the environment that `ondeck run` found. A child of a fork that starts no program is a copy of
//! this process, and keeps the locks.

use core::ffi::{CStr, c_void};
use core::ptr;
use ondeck_core::kernel::{self, variable};
use ondeck_record::layout::MAGIC;

const TELL: &CStr = c"ONDECK_VERBOSE";
const LATER: &CStr = c"ONDECK_LATER_PRELOAD";
const LOCK: &CStr = c"ONDECK_LOCK";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An ELF note: lengths of its name and its content, a kind, and both of them.
#[repr(C)]
struct Note {
    head: [u32; 3],
    name: [u8; 8],
    magic: [u8; 8],
    version: [u8; VERSION.len().next_multiple_of(4)],
}

/// Which recordings this library makes, for `ondeck`: it looks in the file before it starts a program. Linkers keep notes.
#[used]
#[unsafe(link_section = ".note.ondeck")]
static NOTE: Note = Note {
    head: [7, 8 + VERSION.len() as u32, 1],
    name: *b"ondeck\0\0",
    magic: MAGIC.to_le_bytes(),
    version: {
        let mut padded = [0; VERSION.len().next_multiple_of(4)];
        padded.split_at_mut(VERSION.len()).0.copy_from_slice(VERSION.as_bytes());
        padded
    },
};

/// Does what was asked for. To be called before the program's first instruction: nobody else reads the environment yet.
pub(crate) fn obey() {
    if let Some(value) = variable(TELL)
        && value != c"0"
    {
        tell();
    }
    if let Some(before) = variable(LATER) {
        leave_children_alone(before);
    }
}

/// Says on standard error which process has which lock, in one piece: several processes may write there.
fn tell() {
    let mut program = [0_u8; libc::PATH_MAX as usize];
    let program = match kernel::read_link(c"/proc/self/exe", &mut program) {
        0 => b"?",
        length => &program[..length],
    };
    let name = variable(LOCK).filter(|name| !name.is_empty());
    let mut line = Line { bytes: [0; LINE], n: 0 };
    for word in [
        b"ondeck: process ".as_slice(),
        &decimal(kernel::process()),
        b" (",
        program,
        b") has the lock ",
        name.unwrap_or(c"ondeck").to_bytes(),
        b", from ",
        library(),
        b"\n",
    ] {
        line.push(word);
    }
    kernel::write(libc::STDERR_FILENO, &line.bytes[..line.n]);
}

/// Two paths and the words between them.
const LINE: usize = 3 * libc::PATH_MAX as usize;

/// A line that is written without the allocator, which may be the program's own.
struct Line {
    bytes: [u8; LINE],
    n: usize,
}

impl Line {
    fn push(&mut self, word: &[u8]) {
        for byte in word.iter().filter(|&&byte| byte != 0) {
            if let Some(place) = self.bytes.get_mut(self.n) {
                *place = *byte;
                self.n += 1;
            }
        }
    }
}

/// The digits of `number`, with zero bytes before them.
fn decimal(mut number: u32) -> [u8; 10] {
    let mut digits = [0; 10];
    for place in digits.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    digits
}

/// The file that this code was loaded from.
fn library() -> &'static [u8] {
    let mut found = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: any address may be asked for, and `found` is filled.
    let is_found = unsafe { libc::dladdr(obey as *const c_void, &raw mut found) } != 0;
    if !is_found || found.dli_fname.is_null() {
        return b"?";
    }
    // SAFETY: the loader's name of a library that stays, a string of C.
    beyond_ups(unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes())
}

/// The path that is behind so many `..` that it begins at the root: `ondeck run` puts them there.
fn beyond_ups(path: &[u8]) -> &[u8] {
    const UPS: &[u8] = b"/../../../../../../../..";
    let at = path.windows(UPS.len()).position(|part| part == UPS);
    at.map_or(path, |at| &path[at + UPS.len()..])
}

/// Gives back the value of LD_PRELOAD that was there before, and takes away all that is ours.
fn leave_children_alone(before: &CStr) {
    if before.is_empty() {
        // SAFETY: a string of C; no other thread reads the environment yet.
        unsafe { libc::unsetenv(c"LD_PRELOAD".as_ptr()) };
    } else {
        // SAFETY: strings of C; no other thread reads the environment yet.
        unsafe { libc::setenv(c"LD_PRELOAD".as_ptr(), before.as_ptr(), 1) };
    }
    for ours in [LATER, TELL, LOCK] {
        // SAFETY: as above.
        unsafe { libc::unsetenv(ours.as_ptr()) };
    }
}
