//! The generic timer's virtual count, which the systems we know let user space read. Its rate stands in a register.

use core::arch::asm;

/// The count may tick every 40 ns only (25 MHz); four ticks are the least that time a delay to within a quarter.
pub(super) const MIN_TICKS: u64 = 4;

/// The counter. It may be read a little early, since nothing orders the read against the code around it; a poll loop
/// has an ISB in every turn.
#[inline(always)]
pub(in crate::platform::hardware) fn ticks() -> u64 {
    let count: u64;
    // SAFETY: reads a register, touches neither memory nor flags.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags)) };
    count
}

/// Reads the rate from the register that states it.
pub(super) fn measure_rate() -> u64 {
    let hz: u64;
    // SAFETY: reads a register, touches neither memory nor flags.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack, preserves_flags)) };
    // The register has 32 significant bits, so the shift loses none.
    (hz << 32) / 1_000_000_000
}
