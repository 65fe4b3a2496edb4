//! Loops in which a thread only waits until another one changes something, as those of spin locks: known by their instructions.
//!
//! From an address at which a thread was seen, its instructions are read up to the first jump back to or before it: that is the
//! innermost loop around it. It waits if it calls nothing and changes nothing, but that it swaps what it finds for a value that is the
//! same each time, as who tries to take a lock does; and if each time
//!
//! - it has a `pause`, which does nothing but wait, and looks at one place in memory or at none; or
//! - it is short, and looks at one place, once.
//!
//! So a counter that is raised by comparing and swapping is none, as it writes what it has read and changed; nor is a loop that goes
//! through memory; nor one that reads data and looks whether somebody has changed them meanwhile. A loop that waits in a function
//! that it calls is not known. Only of x86-64.

use crate::process::memory;

/// Whether a thread of a process at that address is in such a loop.
pub(crate) fn is_there(pid: u32, address: u64) -> bool {
    /// Bytes before it and behind it. Loops that wait are short.
    const AROUND: u64 = 128;
    let Some(start) = address.checked_sub(AROUND) else { return false };
    memory(pid, start, 2 * AROUND as usize).is_some_and(|code| is_waiting(&code, start, address))
}

/// Of other processors nothing is known.
#[cfg(not(target_arch = "x86_64"))]
fn is_waiting(_: &[u8], _: u64, _: u64) -> bool {
    false
}

/// The same, by the bytes from `start` on.
#[cfg(target_arch = "x86_64")]
fn is_waiting(code: &[u8], start: u64, address: u64) -> bool {
    x86::innermost_loop(code, start, address).is_some_and(|instructions| x86::waits(&instructions))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use iced_x86::{
        Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    };
    use std::collections::BTreeSet;

    /// The instructions from an address on.
    fn from<'c>(code: &'c [u8], start: u64, address: u64) -> Option<Decoder<'c>> {
        let rest = code.get(usize::try_from(address.checked_sub(start)?).ok()?..)?;
        Some(Decoder::with_ip(64, rest, address, DecoderOptions::NONE))
    }

    /// The instructions of the innermost loop around an instruction, from the first to the jump back.
    pub(super) fn innermost_loop(code: &[u8], start: u64, address: u64) -> Option<Vec<Instruction>> {
        let mut decoder = from(code, start, address)?;
        let mut back = None;
        while back.is_none() && decoder.can_decode() {
            let instruction = decoder.decode();
            match instruction.flow_control() {
                FlowControl::Next => {}
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                    if instruction.near_branch_target() <= address =>
                {
                    back = Some(instruction);
                }
                FlowControl::ConditionalBranch => {}
                _ => return None,
            }
        }
        let back = back?;
        let (first, end) = (back.near_branch_target(), back.next_ip());
        let body: Vec<Instruction> = from(code, start, first)?.iter().take_while(|one| one.ip() < end).collect();
        // What is read from the first on must meet both, or it begins in the middle of something.
        let meets = |ip: u64| body.iter().any(|one| one.ip() == ip);
        (meets(address) && body.last().is_some_and(|last| last.ip() == back.ip())).then_some(body)
    }

    /// What the loop's instructions do to memory: the places they use, and the registers whose values they would put there. `None` if
    /// they do more than wait.
    struct Uses {
        places: BTreeSet<(Register, Register, u64)>,
        n_looks: usize,
        tried: Vec<Register>,
        pauses: bool,
    }

    pub(super) fn waits(body: &[Instruction]) -> bool {
        let mut info = InstructionInfoFactory::new();
        let Some(uses) = uses(body, &mut info) else { return false };
        let changed = changed(body, &mut info);
        let is_same = |register: &Register| !changed.contains(register);
        let is_one =
            uses.places.len() <= 1 && uses.places.iter().all(|(base, index, _)| is_same(base) && is_same(index));
        let only_looks = uses.n_looks == 1 && body.len() <= SHORT;
        is_one && uses.tried.iter().all(is_same) && (uses.pauses || only_looks)
    }

    fn uses(body: &[Instruction], info: &mut InstructionInfoFactory) -> Option<Uses> {
        let mut uses = Uses { places: BTreeSet::new(), n_looks: 0, tried: Vec::new(), pauses: false };
        for instruction in body {
            uses.pauses |= instruction.mnemonic() == Mnemonic::Pause;
            let does = instruction.flow_control();
            if !matches!(does, FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch) {
                return None;
            }
            let memory = info.info(instruction).used_memory().iter();
            for memory in memory.filter(|memory| memory.access() != OpAccess::NoMemAccess) {
                uses.n_looks += 1;
                uses.places.insert((
                    memory.base().full_register(),
                    memory.index().full_register(),
                    memory.displacement(),
                ));
                let reads_only = matches!(memory.access(), OpAccess::Read | OpAccess::CondRead);
                match (reads_only, swaps(instruction)) {
                    (true, _) => {}
                    (false, true) => uses.tried.push(instruction.op1_register().full_register()),
                    (false, false) => return None,
                }
            }
        }
        Some(uses)
    }

    /// The registers that do not have the same value each time. What a swap finds is known not to be what is tried next.
    fn changed(body: &[Instruction], info: &mut InstructionInfoFactory) -> BTreeSet<Register> {
        let mut changed = BTreeSet::new();
        // A value may go through several registers, each time round through one more.
        for _ in body {
            let n_before = changed.len();
            for instruction in body.iter().filter(|instruction| !swaps(instruction)) {
                let is_new = !is_constant(instruction, &changed);
                let writes = |access: OpAccess| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::None);
                let written = info.info(instruction).used_registers().iter();
                let written = written.filter(|register| is_new && writes(register.access()));
                changed.extend(written.map(|register| register.register().full_register()));
            }
            if changed.len() == n_before {
                break;
            }
        }
        changed
    }

    /// Whether what it writes does not depend on memory, or on a register with another value each time.
    fn is_constant(instruction: &Instruction, changed: &BTreeSet<Register>) -> bool {
        let is_zero =
            instruction.mnemonic() == Mnemonic::Xor && instruction.op0_register() == instruction.op1_register();
        let from = match instruction.op1_kind() {
            OpKind::Register => Some(instruction.op1_register().full_register()),
            OpKind::Memory => return false,
            _ => None,
        };
        is_zero || instruction.mnemonic() == Mnemonic::Mov && from.is_none_or(|register| !changed.contains(&register))
    }

    /// Instructions. Without a pause, a longer loop does something.
    const SHORT: usize = 8;

    /// Whether it puts a value in the place of another one, and adds nothing to that.
    fn swaps(instruction: &Instruction) -> bool {
        matches!(instruction.mnemonic(), Mnemonic::Xchg | Mnemonic::Cmpxchg | Mnemonic::Bts)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    std::arch::global_asm!(
        // Until a swap finds that nobody has it, as a lock with a pause does.
        "ondeck_spins: mov ecx, 1",
        "2: mov eax, ecx",
        "xchg al, byte ptr [rdi]",
        "test al, al",
        "je 3f",
        "pause",
        "jmp 2b",
        "3: ret",
        // The same without a pause, by comparing.
        "ondeck_compares: mov edx, 1",
        "2: xor eax, eax",
        "lock cmpxchg dword ptr [rdi], edx",
        "jne 2b",
        "ret",
        // Only looks.
        "ondeck_looks: mov eax, dword ptr [rdi + 8]",
        "test eax, eax",
        "jne ondeck_looks",
        "ret",
        // A counter.
        "ondeck_counts: mov eax, dword ptr [rdi]",
        "2: lea edx, [rax + 1]",
        "lock cmpxchg dword ptr [rdi], edx",
        "jne 2b",
        "ret",
        // Adds, again and again.
        "ondeck_adds: lock add dword ptr [rdi], 1",
        "dec rcx",
        "jne ondeck_adds",
        "ret",
        // Goes through memory.
        "ondeck_searches: mov al, byte ptr [rdi]",
        "inc rdi",
        "test al, al",
        "jne ondeck_searches",
        "ret",
        // Copies, and looks whether that was changed meanwhile.
        "ondeck_copies: mov eax, dword ptr [rdi]",
        "mov r8, qword ptr [rdi + 8]",
        "cmp eax, dword ptr [rdi]",
        "jne ondeck_copies",
        "ret",
        // Only looks whether something was changed while it looked.
        "ondeck_compares_twice: mov eax, dword ptr [rdi]",
        "cmp eax, dword ptr [rdi]",
        "jne ondeck_compares_twice",
        "ret",
        // Lets others go first, for a while.
        "ondeck_backs_off: pause",
        "dec ecx",
        "jne ondeck_backs_off",
        "ret",
        // Computes.
        "ondeck_computes: imul rax, rax, 3",
        "dec rcx",
        "jne ondeck_computes",
        "ret",
        "ondeck_loops_end: ret",
    );

    unsafe extern "C" {
        fn ondeck_spins();
        fn ondeck_compares();
        fn ondeck_looks();
        fn ondeck_counts();
        fn ondeck_adds();
        fn ondeck_searches();
        fn ondeck_copies();
        fn ondeck_compares_twice();
        fn ondeck_backs_off();
        fn ondeck_computes();
        fn ondeck_loops_end();
    }

    /// Of all bytes of a function at which an instruction may be, how many are in a loop that waits.
    fn n_waiting(function: unsafe extern "C" fn(), end: unsafe extern "C" fn()) -> usize {
        let (from, to) = (function as usize as u64, end as usize as u64);
        // SAFETY: instructions of this program, between two of its labels.
        let code = unsafe { std::slice::from_raw_parts(from as *const u8, (to - from) as usize) };
        (from..to).filter(|address| is_waiting(code, from, *address)).count()
    }

    #[test]
    fn loops_that_wait_are_known_from_those_that_do_something() {
        let all = [
            (ondeck_spins as unsafe extern "C" fn(), 6, "spins"),
            (ondeck_compares, 3, "compares"),
            (ondeck_looks, 3, "looks"),
            (ondeck_counts, 0, "counts"),
            (ondeck_adds, 0, "adds"),
            (ondeck_searches, 0, "searches"),
            (ondeck_copies, 0, "copies"),
            (ondeck_compares_twice, 0, "compares twice"),
            (ondeck_backs_off, 3, "backs off"),
            (ondeck_computes, 0, "computes"),
        ];
        let ends =
            all.iter().skip(1).map(|(function, ..)| *function).chain([ondeck_loops_end as unsafe extern "C" fn()]);
        for ((function, expected, name), end) in all.iter().zip(ends) {
            assert_eq!(n_waiting(*function, end), *expected, "{name}");
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            is_waiting(&bytes, 0x1000, 0x1000 + (state >> 32) % 80);
        }
        assert!(!is_waiting(&[], 0, 5) && !is_waiting(&[0xeb, 0xfe], 9, 5));
    }
}
