//! Reading small files; errors read as nothing.

use crate::platform::kernel;
use core::ffi::CStr;

/// An open file.
pub(super) struct File(usize);

impl File {
    /// Opens a file or a directory for reading.
    pub(super) fn open(path: &CStr) -> Option<File> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize];
        // SAFETY: `path` is a C string.
        unsafe { kernel::call(libc::SYS_openat, arguments) }.ok().map(File)
    }

    /// Reads the next directory records, in the kernel's form.
    pub(super) fn read_records<'a>(&self, buffer: &'a mut [u8]) -> &'a [u8] {
        // SAFETY: the descriptor is ours, and the kernel writes at most `len` bytes into a buffer that is ours.
        let n = unsafe { kernel::call(libc::SYS_getdents64, [self.0, buffer.as_mut_ptr() as usize, buffer.len()]) };
        &buffer[..n.unwrap_or(0)]
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours, and nobody uses it after this.
        let _ = unsafe { kernel::call(libc::SYS_close, [self.0]) };
    }
}

/// Reads a file into `buffer`, as much of it as fits, and says how many bytes that were.
///
/// One `read` is enough: the kernel makes the text of the files that we read in one go.
pub(super) fn read(path: &CStr, buffer: &mut [u8]) -> usize {
    let Some(file) = File::open(path) else { return 0 };
    // SAFETY: the descriptor is ours, and the kernel writes at most `len` bytes into a buffer that is ours.
    unsafe { kernel::call(libc::SYS_read, [file.0, buffer.as_mut_ptr() as usize, buffer.len()]) }.unwrap_or(0)
}
