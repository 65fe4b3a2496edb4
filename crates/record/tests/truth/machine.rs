//! Kernels that are not to be had: calls that are refused to the calling thread and to those that it starts.

use libc::c_int;
use std::mem::offset_of;

/// From now on that advice of `madvise` is refused, with that error. The recorder asks the kernel itself, so the kernel answers.
pub(crate) fn refuse(advice: c_int, error: c_int) {
    let step = |code: u32, skips: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: skips, k };
    let (load, compare) = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K);
    let (number, arguments) = (offset_of!(libc::seccomp_data, nr), offset_of!(libc::seccomp_data, args));
    let mut steps = [
        step(load, 0, number as u32),
        step(compare, 3, libc::SYS_madvise as u32),
        step(load, 0, arguments as u32 + 2 * 8),
        step(compare, 1, advice as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: numbers only.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: reads the filter, which is alive.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) }, 0);
}
