//! Reading small files by bare system calls; errors read as nothing.

use core::ffi::{CStr, c_int};

/// An open file.
pub(super) struct File(c_int);

impl File {
    /// Opens a file or a directory for reading.
    pub(super) fn open(path: &CStr) -> Option<File> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: `path` is a C string.
        let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
        if fd < 0 { None } else { Some(File(fd as c_int)) }
    }

    /// Reads the next directory records, in the kernel's form.
    pub(super) fn read_records<'a>(&self, buffer: &'a mut [u8]) -> &'a [u8] {
        // SAFETY: the descriptor is ours, and the kernel writes at most `len` bytes into a buffer that is ours.
        let n = unsafe { libc::syscall(libc::SYS_getdents64, self.0, buffer.as_mut_ptr(), buffer.len()) };
        &buffer[..usize::try_from(n).unwrap_or(0)]
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours, and nobody uses it after this.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// Reads a file into `buffer`, as much of it as fits, and says how many bytes that were.
///
/// One `read` is enough: the kernel makes the text of the files that we read in one go.
pub(super) fn read(path: &CStr, buffer: &mut [u8]) -> usize {
    let Some(file) = File::open(path) else { return 0 };
    // SAFETY: the descriptor is ours, and the kernel writes at most `len` bytes into a buffer that is ours.
    let n = unsafe { libc::syscall(libc::SYS_read, file.0, buffer.as_mut_ptr(), buffer.len()) };
    usize::try_from(n).unwrap_or(0)
}
