//! From registers and a copy of the stack to return addresses.
//!
//! By framehop: the tables that compilers leave for exceptions where there are such, frame pointers elsewhere, which Go and
//! most compilers at run time leave.

use crate::module::Part;
use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder, UnwinderNative};

/// Frames of a stack that are kept.
const MOST_FRAMES: usize = 128;

/// The tables of one process.
#[derive(Clone)]
pub(crate) struct Walker {
    tables: UnwinderNative<Part, MayAllocateDuringUnwind>,
}

/// What is worth keeping between walks, of all processes.
pub(crate) type Cache = CacheNative<MayAllocateDuringUnwind>;

impl Walker {
    pub(crate) fn new() -> Walker {
        Walker { tables: UnwinderNative::new() }
    }

    pub(crate) fn add(&mut self, module: framehop::Module<Part>) {
        self.tables.add_module(module);
    }

    /// Addresses behind instructions: of the system call, and of the calls that led there. `stack` begins where the stack
    /// pointer is.
    pub(crate) fn walk(&self, cache: &mut Cache, registers: &[u64], stack: &[u8]) -> Vec<u64> {
        let Some((mut own, address, pointer)) = begin(registers) else { return Vec::new() };
        let mut read = |address: u64| {
            let at = address.checked_sub(pointer).and_then(|at| usize::try_from(at).ok()).ok_or(())?;
            let bytes = stack.get(at..at.checked_add(8).ok_or(())?).ok_or(())?;
            Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| ())?))
        };
        let mut addresses = vec![address];
        let mut frame = FrameAddress::from_instruction_pointer(address);
        while addresses.len() < MOST_FRAMES {
            let next = self.tables.unwind_frame(frame, &mut own, cache, &mut read).ok().flatten();
            let Some(next) = next.and_then(FrameAddress::from_return_address) else { break };
            addresses.push(next.address());
            frame = next;
        }
        addresses
    }
}

#[cfg(target_arch = "x86_64")]
fn begin(registers: &[u64]) -> Option<(UnwindRegsNative, u64, u64)> {
    let &[_, _, frame, pointer, address] = registers else { return None };
    (address != 0).then(|| (UnwindRegsNative::new(address, pointer, frame), address, pointer))
}

#[cfg(target_arch = "aarch64")]
fn begin(registers: &[u64]) -> Option<(UnwindRegsNative, u64, u64)> {
    let &[frame, link, pointer, address] = registers else { return None };
    let own = UnwindRegsNative::new_with_ptr_auth_mask(ADDRESS, link, pointer, frame);
    (address != 0).then_some((own, address, pointer))
}

/// Bits of an address. Where compilers sign return addresses, the signature is above them. A program has longer addresses only
/// if it asks for them, and its code is not there.
#[cfg(any(test, target_arch = "aarch64"))]
const ADDRESS: framehop::aarch64::PtrAuthMask = framehop::aarch64::PtrAuthMask(u64::MAX >> 16);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use framehop::Unwinder;
    use framehop::aarch64::{CacheAarch64, UnwindRegsAarch64, UnwinderAarch64};

    #[test]
    fn signatures_of_return_addresses_are_taken_away() {
        // Signed on an aarch64, as `paciasp` does: a frame with the next frame pointer and a return address.
        let (signed, address) = (0x2b3f_aaaa_bbbb_cccc, 0xaaaa_bbbb_cccc);
        let mut read = |at: u64| if at == 0x7018 { Ok(signed) } else { Ok(0x7000 + 4096) };
        let mut own = UnwindRegsAarch64::new_with_ptr_auth_mask(ADDRESS, signed, 0x7000, 0x7010);
        let tables: UnwinderAarch64<Vec<u8>> = UnwinderAarch64::new();
        let first = FrameAddress::from_instruction_pointer(0x1234);
        let next = tables.unwind_frame(first, &mut own, &mut CacheAarch64::new(), &mut read);
        assert!(next.is_ok_and(|next| next == Some(address)), "{next:x?}");
    }

    #[test]
    fn frame_pointers_are_followed_to_the_end_of_the_copy() {
        // Two frames: each has the next frame pointer and a return address.
        let mut stack = vec![0_u8; 64];
        let mut put = |at: usize, word: u64| stack[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        put(16, 0x7000 + 32);
        put(24, 0x1111);
        put(32, 0x7000 + 4096);
        put(40, 0x2222);
        let walker = Walker::new();
        let addresses = walker.walk(&mut Cache::new(), &[0, 0, 0x7000 + 16, 0x7000, 0xaaaa], &stack);
        assert_eq!(addresses, [0xaaaa, 0x1111, 0x2222]);
        assert!(walker.walk(&mut Cache::new(), &[0; 5], &[]).is_empty());
        assert_eq!(walker.walk(&mut Cache::new(), &[0, 0, 7, 9, 0xaaaa], &[1; 3]), [0xaaaa]);
    }
}
