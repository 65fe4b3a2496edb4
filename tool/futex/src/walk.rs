//! From registers and a copy of the stack to return addresses.
//!
//! By framehop: the tables that compilers leave for exceptions where there are such, frame pointers elsewhere, which Go and
//! most compilers at run time leave. [`crate::walk::caller`] helps where the frame pointer is not known.

pub(crate) mod caller;
pub(crate) mod module;

use crate::record::N_REGISTERS;
use caller::{Calls, Chain, Check, Function, Functions, Lead, ReturnPlace};
use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder, UnwinderNative};
use module::{Elf, Module, Part};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ops::{Deref, Range};

/// Frames of a stack that are kept.
const MOST_FRAMES: usize = 128;

/// The tables of one process.
#[derive(Clone)]
pub(crate) struct Walker {
    tables: UnwinderNative<Part, MayAllocateDuringUnwind>,
    /// Where functions are, by the addresses of a module.
    functions: Vec<(Range<u64>, Functions)>,
    /// Where calls lead, by the addresses behind them and those of functions.
    pub(crate) leads: RefCell<FxHashMap<(u64, u64), Lead>>,
}

/// What is worth keeping between walks, of all processes.
pub(crate) type Cache = CacheNative<MayAllocateDuringUnwind>;

impl Walker {
    pub(crate) fn new() -> Walker {
        Walker { tables: UnwinderNative::new(), functions: Vec::new(), leads: RefCell::default() }
    }

    pub(crate) fn add(&mut self, module: &Module, elf: &Elf) {
        self.tables.add_module(elf.tables(module));
        self.functions.extend(elf.functions(module).map(|functions| (module.start..module.end, functions)));
    }

    /// Takes away the module that begins there.
    pub(crate) fn remove(&mut self, start: u64) {
        self.tables.remove_module(start);
        self.leads.get_mut().clear();
        self.functions.retain(|(range, _)| range.start != start);
    }

    /// Whether a module with tables has that address.
    pub(crate) fn has(&self, address: u64) -> bool {
        self.functions.iter().any(|(range, _)| range.contains(&address))
    }

    /// Whether one module has both.
    pub(crate) fn is_one_module(&self, address: u64, other: u64) -> bool {
        self.functions.iter().any(|(range, _)| range.contains(&address) && range.contains(&other))
    }

    /// The function with that address.
    pub(crate) fn function(&self, address: u64) -> Option<Function> {
        self.functions.iter().find(|(range, _)| range.contains(&address))?.1.at(address)
    }

    /// Addresses behind instructions: of the system call, and of the calls that led there. What was read of the stack is added
    /// to `reads`.
    pub(crate) fn walk(
        &self,
        cache: &mut Cache,
        registers: &[u64],
        stack: &mut impl Words,
        reads: &mut Reads,
    ) -> Vec<u64> {
        let Some((mut own, address)) = begin(registers) else { return Vec::new() };
        let first = FrameAddress::from_instruction_pointer(address);
        let (mut steps, _) = self.follow(cache, first, &mut own, stack, reads);
        if !knows_frame(&own) {
            let last = steps.last().map_or(first, |step| step.1);
            steps.extend(self.beyond(cache, last, own.sp(), stack, reads));
        }
        steps.truncate(MOST_FRAMES - 1);
        std::iter::once(address).chain(steps.into_iter().map(|step| step.1.address())).collect()
    }

    /// The calls that led to `frame`, and whether the stack ends there.
    fn follow(
        &self,
        cache: &mut Cache,
        mut frame: FrameAddress,
        own: &mut UnwindRegsNative,
        stack: &mut impl Words,
        reads: &mut Reads,
    ) -> (Vec<ReturnPlace>, bool) {
        let mut read = |address: u64| {
            let word = stack.word(address);
            reads.push((address, word));
            word.ok_or(())
        };
        let mut steps = Vec::new();
        while steps.len() < MOST_FRAMES {
            let next = self.tables.unwind_frame(frame, own, cache, &mut read);
            let Some(next) = next.ok().flatten().and_then(FrameAddress::from_return_address) else {
                return (steps, next == Ok(None));
            };
            steps.push((own.sp().wrapping_sub(8), next));
            frame = next;
        }
        (steps, false)
    }

    /// The calls that led to a function whose frame pointer is not known; none if it is not sure which did.
    fn beyond(
        &self,
        cache: &mut Cache,
        last: FrameAddress,
        pointer: u64,
        stack: &mut impl Words,
        reads: &mut Reads,
    ) -> Vec<ReturnPlace> {
        let function = self.function(last.address_for_lookup()).filter(|function| function.is_by_frame_pointer);
        let Some(function) = function else { return Vec::new() };
        let mut places = Calls { walker: self, stack }.places(&function, last, pointer);
        for place in &places.list {
            let (Some(address), Some(saved)) = (stack.word(*place), stack.word(place - 8)) else { break };
            let Some(first) = FrameAddress::from_return_address(address) else { break };
            let mut its_reads = vec![(*place, Some(address)), (place - 8, Some(saved))];
            let mut own = at_call(address, place + 8, saved);
            let (above, is_whole) = self.follow(cache, first, &mut own, stack, &mut its_reads);
            let steps = std::iter::once((*place, first)).chain(above).collect();
            let chain = Chain { function: &function, steps, is_whole };
            match chain.check(&places, &mut Calls { walker: self, stack }) {
                Check::Old => {}
                Check::Unsure => break,
                Check::Sure(steps) => {
                    reads.append(&mut its_reads);
                    return steps;
                }
            }
        }
        reads.append(&mut places.seen);
        Vec::new()
    }
}

/// The words of a stack.
pub(crate) trait Words {
    /// The one at an address.
    fn word(&mut self, address: u64) -> Option<u64>;

    /// So many bytes of the process's memory, if they can be read now.
    fn bytes(&self, _address: u64, _n: usize) -> Option<Vec<u8>> {
        None
    }
}

/// A copy of memory that begins at an address.
pub(crate) struct Copied<B>(pub(crate) u64, pub(crate) B);

impl<B: Deref<Target = [u8]>> Words for Copied<B> {
    fn word(&mut self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.0)?).ok()?;
        let bytes = self.1.get(at..at.checked_add(size_of::<u64>())?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// Addresses that a walk has read, and what was there.
pub(crate) type Reads = Vec<(u64, Option<u64>)>;

/// Where a walk begins: the number of the image, and the registers that it looks at.
type WalkStart = (usize, [u64; N_WALKED]);
const N_WALKED: usize = if cfg!(target_arch = "x86_64") { 3 } else { 4 };

/// Walks that need not be made again: a thread that waits in a loop has the same stack each time. One that begins with the same
/// registers and would read the same words has the same result, as it depends on nothing else.
#[derive(Default)]
pub(crate) struct KnownWalks {
    walks: FxHashMap<WalkStart, Vec<(Reads, u32)>>,
    n: usize,
}

impl KnownWalks {
    /// More are forgotten, all at once.
    const MOST: usize = 4096;
    /// So many with the same registers are tried.
    const MOST_ALIKE: usize = 8;

    fn start(image: usize, registers: &[u64]) -> Option<WalkStart> {
        Some((image, *registers.last_chunk()?))
    }

    /// The number of the stack to which such a walk led.
    pub(crate) fn find(&self, image: usize, registers: &[u64], stack: &mut impl Words) -> Option<u32> {
        let alike = self.walks.get(&Self::start(image, registers)?)?;
        let mut is_it = |reads: &Reads| reads.iter().all(|(address, found)| stack.word(*address) == *found);
        alike.iter().find(|(reads, _)| is_it(reads)).map(|(_, number)| *number)
    }

    pub(crate) fn add(&mut self, image: usize, registers: &[u64], reads: Reads, number: u32) {
        let Some(start) = Self::start(image, registers) else { return };
        if self.n >= Self::MOST {
            self.clear();
        }
        let alike = self.walks.entry(start).or_default();
        if alike.len() < Self::MOST_ALIKE {
            alike.push((reads, number));
            self.n += 1;
        }
    }

    /// Something is loaded: a walk may go further now.
    pub(crate) fn clear(&mut self) {
        (self.walks, self.n) = (FxHashMap::default(), 0);
    }
}

#[cfg(target_arch = "x86_64")]
fn begin(registers: &[u64]) -> Option<(UnwindRegsNative, u64)> {
    let &[_, _, frame, pointer, address] = registers else { return None };
    (address != 0).then(|| (UnwindRegsNative::new(address, pointer, frame), address))
}

/// Registers behind a call.
#[cfg(target_arch = "x86_64")]
fn at_call(address: u64, pointer: u64, frame: u64) -> UnwindRegsNative {
    UnwindRegsNative::new(address, pointer, frame)
}

/// Whether the frame pointer was known, or has been found. No function has 0 that needs it.
#[cfg(target_arch = "x86_64")]
fn knows_frame(own: &UnwindRegsNative) -> bool {
    own.bp() != 0
}

#[cfg(target_arch = "aarch64")]
fn at_call(address: u64, pointer: u64, frame: u64) -> UnwindRegsNative {
    UnwindRegsNative::new_with_ptr_auth_mask(ADDRESS, address, pointer, frame)
}

/// Calls of this processor are not known.
#[cfg(target_arch = "aarch64")]
fn knows_frame(_: &UnwindRegsNative) -> bool {
    true
}

#[cfg(target_arch = "aarch64")]
fn begin(registers: &[u64]) -> Option<(UnwindRegsNative, u64)> {
    let &[frame, link, pointer, address] = registers else { return None };
    let own = UnwindRegsNative::new_with_ptr_auth_mask(ADDRESS, link, pointer, frame);
    (address != 0).then_some((own, address))
}

/// Where the stack begins.
pub(crate) fn stack_pointer(registers: &[u64; N_REGISTERS]) -> u64 {
    registers[N_REGISTERS - 2]
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
        let registers = [0, 0, 0x7000 + 16, 0x7000, 0xaaaa];
        let (mut reads, mut none) = (Reads::new(), Reads::new());
        let copied = |stack: &[u8]| Copied(0x7000, stack.to_vec());
        let addresses = walker.walk(&mut Cache::new(), &registers, &mut copied(&stack), &mut reads);
        assert_eq!(addresses, [0xaaaa, 0x1111, 0x2222]);
        assert!(walker.walk(&mut Cache::new(), &[0; 5], &mut copied(&[]), &mut none).is_empty());
        let short = &mut Copied(9, vec![1_u8; 3]);
        assert_eq!(walker.walk(&mut Cache::new(), &[0, 0, 7, 9, 0xaaaa], short, &mut none), [0xaaaa]);
        // It is known again with what it has read, whatever else lies there, and in that image.
        let mut known = KnownWalks::default();
        known.add(5, &registers, reads, 77);
        stack[0] = 9;
        assert_eq!(known.find(5, &registers, &mut copied(&stack)), Some(77));
        assert_eq!(known.find(6, &registers, &mut copied(&stack)), None);
        assert_eq!(known.find(5, &[0, 0, 0x7000 + 24, 0x7000, 0xaaaa], &mut copied(&stack)), None);
        // The end of the copy was read, too: with more of it the walk would go on.
        stack.resize(8192, 0);
        assert_eq!(known.find(5, &registers, &mut copied(&stack)), None);
        stack.truncate(64);
        stack[24] = 1;
        assert_eq!(known.find(5, &registers, &mut copied(&stack)), None);
    }

    #[test]
    fn known_walks_have_a_bound() {
        let mut known = KnownWalks::default();
        let find = |known: &KnownWalks, pointer| known.find(0, &[0, 0, 0, pointer, 1], &mut Copied(pointer, vec![]));
        for pointer in 1..10_000 {
            known.add(0, &[0, 0, 0, pointer, 1], Reads::new(), pointer as u32);
            assert!(known.walks.len() <= KnownWalks::MOST && find(&known, pointer) == Some(pointer as u32));
        }
        for address in 0..100 {
            known.add(0, &[0, 0, 0, 7, 1], vec![(address, Some(1))], 0);
        }
        assert!(known.walks.values().all(|alike| alike.len() <= KnownWalks::MOST_ALIKE));
        known.clear();
        assert_eq!((find(&known, 9_999), known.n), (None, 0));
    }
}
