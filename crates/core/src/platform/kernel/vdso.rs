//! The clock as the kernel gives it to every process: a function in a small library of its own, which needs no system call.
//!
//! The C library reads the clock by it too. It is looked up in the tables of that library, which is always there and never
//! moves; no loader is asked.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use libc::{clockid_t, timespec};

type Clock = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;

/// Null before it was looked up. Threads that race to do it store the same.
static FUNCTION: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// There is none.
const NONE: *mut c_void = core::ptr::without_provenance_mut(1);

/// Reads a clock into `now`. False if there is no such function here, or it does not know that clock.
#[inline]
pub(super) fn read(clock: clockid_t, now: &mut timespec) -> bool {
    let function = match FUNCTION.load(Relaxed) {
        function if function.is_null() => look_up(),
        function => function,
    };
    if function == NONE {
        return false;
    }
    // SAFETY: the kernel's function has this type.
    let function = unsafe { transmute::<*mut c_void, Clock>(function) };
    // SAFETY: writes one timespec that is the caller's.
    unsafe { function(clock, now) == 0 }
}

#[cold]
#[inline(never)]
fn look_up() -> *mut c_void {
    let function = find().unwrap_or(NONE);
    FUNCTION.store(function, Relaxed);
    function
}

#[cfg(target_arch = "x86_64")]
const NAME: Option<&CStr> = Some(c"__vdso_clock_gettime");
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
const NAME: Option<&CStr> = Some(c"__kernel_clock_gettime");
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
const NAME: Option<&CStr> = None;

/// The function, by the library's table of symbols.
#[cfg(target_pointer_width = "64")]
fn find() -> Option<*mut c_void> {
    let name = NAME?;
    // SAFETY: always may be called.
    let start = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize as *const u8;
    let image = Image { start: (!start.is_null()).then_some(start)? };
    let (symbols, names) = image.tables()?;
    let is_it = |symbol: &&libc::Elf64_Sym| {
        // SAFETY: within the table of names.
        let found = unsafe { names.add(symbol.st_name as usize) };
        // SAFETY: names end with zeros.
        symbol.st_shndx != 0 && unsafe { CStr::from_ptr(found) } == name
    };
    let symbol = symbols.iter().find(is_it)?;
    Some(image.start.wrapping_add(symbol.st_value as usize).cast_mut().cast())
}

#[cfg(not(target_pointer_width = "64"))]
fn find() -> Option<*mut c_void> {
    let _: Option<&CStr> = NAME;
    None
}

/// The library as it lies in memory, whose addresses are counted from its start.
#[cfg(target_pointer_width = "64")]
struct Image {
    start: *const u8,
}

#[cfg(target_pointer_width = "64")]
impl Image {
    /// Its symbols, and where their names are.
    fn tables(&self) -> Option<(&[libc::Elf64_Sym], *const c_char)> {
        const STRTAB: u64 = 5;
        const SYMTAB: u64 = 6;
        let (mut symbols, mut names) = (0, 0);
        for [tag, value] in self.dynamic()? {
            match *tag {
                SYMTAB => symbols = *value as usize,
                STRTAB => names = *value as usize,
                0 => break,
                _ => {}
            }
        }
        // The kernel's linker script puts the names behind the symbols, and nothing says how many these are.
        let length = names.checked_sub(symbols).filter(|_| symbols != 0)?;
        let place = self.start.wrapping_add(symbols).cast();
        // SAFETY: as that library says of itself.
        let symbols = unsafe { core::slice::from_raw_parts(place, length / size_of::<libc::Elf64_Sym>()) };
        Some((symbols, self.start.wrapping_add(names).cast()))
    }

    /// What the loader of a program would read of it: tags and values.
    fn dynamic(&self) -> Option<&[[u64; 2]]> {
        // SAFETY: the kernel says that this is the header of a file, and it has mapped that.
        let header = unsafe { &*self.start.cast::<libc::Elf64_Ehdr>() };
        let place = self.start.wrapping_add(header.e_phoff as usize).cast::<libc::Elf64_Phdr>();
        // SAFETY: as the header says.
        let parts = unsafe { core::slice::from_raw_parts(place, header.e_phnum.into()) };
        let dynamic = parts.iter().find(|part| part.p_type == libc::PT_DYNAMIC)?;
        // Linked to begin at 0, as all are that we know; another one would have other addresses.
        parts.iter().find(|part| part.p_type == libc::PT_LOAD).filter(|part| part.p_vaddr == 0)?;
        let place = self.start.wrapping_add(dynamic.p_vaddr as usize).cast();
        // SAFETY: as the table of parts says.
        Some(unsafe { core::slice::from_raw_parts(place, dynamic.p_memsz as usize / 16) })
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;

    /// Not under an emulator or a debugger that hides the library.
    #[test]
    fn the_clock_is_read_without_a_system_call() {
        // SAFETY: always may be called.
        if unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } == 0 {
            return;
        }
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        assert!(read(libc::CLOCK_MONOTONIC, &mut now) && (now.tv_sec, now.tv_nsec) > (0, 0));
        assert_ne!(FUNCTION.load(Relaxed), NONE);
    }
}
