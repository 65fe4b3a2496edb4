//! Who has called a function that keeps its frame by a frame pointer, where only the stack pointer is known.
//!
//! The return address lies somewhere up the stack, and old ones that are left from other calls may lie below it. A word is
//! taken for it only if the instruction before that address is a call, and if that call leads to this function: at once, by a
//! stub of the linker, or by a jump of the function that it calls. Of a function without room of its own making (`alloca`) the
//! place is known from how it begins. Then the call may also be one through a pointer, which does not say where it leads.

use crate::walk::module::Part;
use crate::walk::{Reads, Walker, Words};
use framehop::FrameAddress;
use gimli::{BaseAddresses, CfaRule, EhFrame, EhFrameHdr, LittleEndian, UnwindContext, UnwindSection, X86_64};
use std::ops::Range;

/// Where the functions of a module begin and end, from its tables for exceptions.
#[derive(Clone)]
pub(crate) struct Functions {
    pub(crate) bias: u64,
    pub(crate) bases: BaseAddresses,
    pub(crate) header: Part,
    pub(crate) frames: Part,
}

/// A function, or a part of one that has its own entry in the table.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) code: Range<u64>,
    /// Whether its frame is found by the frame pointer there.
    pub(crate) is_by_frame_pointer: bool,
}

impl Functions {
    /// The function with that address, in the process.
    pub(crate) fn at(&self, address: u64) -> Option<Function> {
        let own = address.wrapping_sub(self.bias);
        let header = EhFrameHdr::new(&self.header, LittleEndian).parse(&self.bases, 8).ok()?;
        let frames = EhFrame::new(&self.frames, LittleEndian);
        let entry = header.table()?.fde_for_address(&frames, &self.bases, own, EhFrame::cie_from_offset).ok()?;
        let mut room = UnwindContext::new();
        let row = entry.unwind_info_for_address(&frames, &self.bases, &mut room, own).ok()?;
        let is_by_frame_pointer = *row.cfa() == CfaRule::RegisterAndOffset { register: X86_64::RBP, offset: 16 };
        let [start, end] = [entry.initial_address(), entry.end_address()].map(|own| own.wrapping_add(self.bias));
        Some(Function { code: start..end, is_by_frame_pointer })
    }
}

/// Where the call before a return address leads, as for some function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// There is none.
    NoCall,
    Elsewhere,
    /// It goes through a pointer.
    Unknown,
    Here,
}

/// Where a return address may lie.
pub(crate) struct Places {
    /// The nearest first.
    pub(crate) list: Vec<u64>,
    /// Whether the function's code says so, too.
    pub(crate) are_sure: bool,
    /// All words there that are in known code.
    pub(crate) seen: Reads,
}

/// A return address, and where it lies.
pub(crate) type ReturnPlace = (u64, FrameAddress);

/// The calls that led to a function, if the first place is the right one.
pub(crate) struct Chain<'a> {
    pub(crate) function: &'a Function,
    pub(crate) steps: Vec<ReturnPlace>,
    /// Whether the stack ends with them.
    pub(crate) is_whole: bool,
}

/// What may be thought of it.
pub(crate) enum Check {
    Sure(Vec<ReturnPlace>),
    Unsure,
    /// It is left from an earlier call.
    Old,
}

impl Chain<'_> {
    /// Each function must have been called by the next. A call through a pointer may have led to the function itself, and what
    /// lies below be old.
    pub(crate) fn check<W: Words>(mut self, places: &Places, calls: &mut Calls<'_, W>) -> Check {
        let mut has_left = places.are_sure;
        for at in 1..self.steps.len() {
            let [(_, below), (place, step)] = [self.steps[at - 1], self.steps[at]];
            // Code that a program has made as it runs.
            let Some(called) = calls.walker.function(below.address_for_lookup()) else {
                self.steps.truncate(at);
                break;
            };
            match calls.lead(step.address(), &called) {
                Lead::Here => has_left |= !calls.walker.is_one_module(self.function.code.start, step.address()),
                Lead::Unknown if has_left || self.is_first(at, calls) || !self.may_lead(at, calls) => {}
                Lead::Unknown => return Check::Unsure,
                // This one has called the function itself.
                _ if places.list.contains(&place) => return Check::Old,
                _ => return Check::Unsure,
            }
        }
        let (first, last) = (self.steps[0].0, self.steps[self.steps.len() - 1].0);
        let is_missed = |other: &u64| (first..last).contains(other) && self.steps.iter().all(|step| step.0 != *other);
        if !places.are_sure && places.list.iter().any(is_missed) { Check::Unsure } else { Check::Sure(self.steps) }
    }

    /// Whether a thread or the program begins with what is called there.
    fn is_first<W: Words>(&self, at: usize, calls: &Calls<'_, W>) -> bool {
        let address = self.steps[at].1.address();
        let n_above = self.steps.len() - at;
        self.is_whole
            && (n_above <= 2 || n_above == 3 && !calls.walker.is_one_module(self.function.code.start, address))
    }

    /// Whether the frame pointer that is saved there can be that of the function's caller.
    fn may_lead<W: Words>(&self, at: usize, calls: &mut Calls<'_, W>) -> bool {
        let (place, step) = self.steps[at];
        let caller = calls.walker.function(step.address_for_lookup()).filter(|caller| caller.is_by_frame_pointer);
        let frame = self.steps.get(at + 1).map(|above| above.0 - 8);
        caller.is_none() || frame.is_none() || calls.stack.word(place - 8) == frame
    }
}

/// Calls in the code of a process.
pub(crate) struct Calls<'a, W> {
    pub(crate) walker: &'a Walker,
    pub(crate) stack: &'a mut W,
}

/// A stub of the linker is not longer.
const STUB: u64 = 16;

impl<W: Words> Calls<'_, W> {
    /// The places above the stack pointer, of a function that was reached at `last`.
    pub(crate) fn places(&mut self, function: &Function, last: FrameAddress, pointer: u64) -> Places {
        /// No frame is looked for in more.
        const MOST: u64 = 32 << 10;
        let code = self.code(&function.code);
        let n_passed = (last.address_for_lookup() - function.code.start) as usize;
        let (size, is_whole) = frame(&code, n_passed.min(code.len()));
        let nearest = pointer.wrapping_add(size);
        if is_whole {
            // Behind a call with arguments on the stack, these are taken from it.
            let arguments = match code.get(n_passed + 1..) {
                Some(&[0x48, 0x83, 0xc4, n @ 0..=0x7f, ..]) => u64::from(n),
                _ => 0,
            };
            let place = nearest.wrapping_add(arguments);
            if self.is_sure(function, place) {
                return Places { list: vec![place], are_sure: true, seen: Reads::new() };
            }
        }
        let all = (nearest..nearest.saturating_add(MOST)).step_by(size_of::<u64>());
        let (mut list, mut seen) = (Vec::new(), Reads::new());
        for place in all {
            let Some(address) = self.stack.word(place) else { break };
            if !self.walker.has(address) {
                continue;
            }
            seen.push((place, Some(address)));
            if self.lead(address, function) == Lead::Here && self.has_caller(place) {
                list.push(place);
            }
        }
        Places { list, are_sure: false, seen }
    }

    /// Whether a function has surely its return address there, if its frame is as long as its code says.
    fn is_sure(&mut self, function: &Function, place: u64) -> bool {
        let Some(address) = self.stack.word(place).filter(|address| self.walker.has(*address)) else { return false };
        match self.lead(address, function) {
            Lead::Here => self.has_caller(place),
            Lead::Unknown => {
                // Then the caller must have a frame of the same form, and have been called itself.
                let Some(caller) = self.walker.function(address - 1).filter(|caller| caller.is_by_frame_pointer) else {
                    return false;
                };
                let above = self.stack.word(place - 8).unwrap_or(0).wrapping_add(8);
                let address = self.stack.word(above).filter(|_| self.has_caller(place));
                address.is_some_and(|address| matches!(self.lead(address, &caller), Lead::Here | Lead::Unknown))
            }
            _ => false,
        }
    }

    /// Whether the frame pointer below a return address can be the caller's.
    fn has_caller(&mut self, place: u64) -> bool {
        let (Some(address), Some(saved)) = (self.stack.word(place), self.stack.word(place - 8)) else { return false };
        let Some(caller) = self.walker.function(address.wrapping_sub(1)) else { return false };
        !caller.is_by_frame_pointer || saved > place && saved % 8 == 0 && self.stack.word(saved).is_some()
    }

    /// Where the call before `behind` leads.
    pub(crate) fn lead(&mut self, behind: u64, to: &Function) -> Lead {
        let key = (behind, to.code.start);
        let known = self.walker.leads.borrow().get(&key).copied();
        known.unwrap_or_else(|| {
            let lead = self.find_lead(behind, to);
            // Code that is in no file may change.
            if self.walker.has(behind) {
                self.walker.leads.borrow_mut().insert(key, lead);
            }
            lead
        })
    }

    fn find_lead(&self, behind: u64, to: &Function) -> Lead {
        let code = self.stack.bytes(behind.wrapping_sub(7), 7).unwrap_or_default();
        let Ok(code) = <[u8; 7]>::try_from(code) else { return Lead::NoCall };
        let there = relative(&code[3..], behind);
        let target = match code {
            [_, _, 0xe8, ..] => there,
            [_, 0xff, 0x15, ..] => there.and_then(|place| self.word(place)),
            _ if is_indirect(code) => return Lead::Unknown,
            _ => return Lead::NoCall,
        };
        match target {
            Some(target) if self.reaches(target, &to.code) => Lead::Here,
            _ => Lead::Elsewhere,
        }
    }

    /// Whether what is called at `target` is a function, or goes on there by a jump.
    fn reaches(&self, target: u64, to: &Range<u64>) -> bool {
        if target == to.start {
            return true;
        }
        let own = self.walker.function(target).map(|own| own.code).filter(|own| own.start == target);
        let own = own.unwrap_or(target..target.saturating_add(STUB));
        let is_stub = |at: u64| self.jumps(&(at..at.saturating_add(STUB))).contains(&to.start);
        self.jumps(&own).into_iter().any(|next| to.contains(&next) || !own.contains(&next) && is_stub(next))
    }

    /// Where jumps in some code go to. There may be some among them that are none.
    fn jumps(&self, range: &Range<u64>) -> Vec<u64> {
        let code = self.code(range);
        let jump = |at: usize| {
            let end = |length: u64| range.start + at as u64 + length;
            match code[at..] {
                [0xe9, ref rest @ ..] => relative(rest, end(5)),
                [0x0f, 0x80..=0x8f, ref rest @ ..] => relative(rest, end(6)),
                [0xff, 0x25, ref rest @ ..] => self.word(relative(rest, end(6))?),
                _ => None,
            }
        };
        (0..code.len()).filter_map(jump).collect()
    }

    fn code(&self, range: &Range<u64>) -> Vec<u8> {
        const MOST: u64 = 64 << 10;
        self.stack.bytes(range.start, (range.end - range.start).min(MOST) as usize).unwrap_or_default()
    }

    fn word(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.stack.bytes(address, 8)?.try_into().ok()?))
    }
}

/// An address that four bytes give from the end of their instruction.
fn relative(bytes: &[u8], end: u64) -> Option<u64> {
    Some(end.wrapping_add_signed(i32::from_le_bytes(*bytes.first_chunk()?).into()))
}

/// Whether these end with a call through a register, or through a pointer in memory.
fn is_indirect(code: [u8; 7]) -> bool {
    (2..=7).any(|length| {
        let &[0xff, how, ref rest @ ..] = &code[7 - length..] else { return false };
        let has_index = how & 7 == 4 && how >> 6 != 3;
        let n_rest = match how >> 6 {
            0 if how & 7 == 5 || has_index && rest.first().is_some_and(|index| index & 7 == 5) => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        how >> 3 & 7 == 2 && rest.len() == n_rest + usize::from(has_index)
    })
}

/// How many bytes a function has surely taken below its return address when it has passed so many of its code, and whether it
/// takes no more but for the arguments of a call.
fn frame(code: &[u8], n_passed: usize) -> (u64, bool) {
    let passed = &code[..n_passed];
    let passed = passed.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(passed);
    let Some(mut rest) = passed.strip_prefix(&[0x55, 0x48, 0x89, 0xe5]) else { return (8, false) };
    let mut size = 8;
    while let [0x50..=0x57, next @ ..] | [0x41, 0x50..=0x57, next @ ..] = rest {
        (size, rest) = (size + 8, next);
    }
    // Page by page, if it is long.
    loop {
        let (more, next) = match *rest {
            [0x48, 0x83, 0xec, n @ 0..=0x7f, ref next @ ..] => (u64::from(n), next),
            [0x48, 0x81, 0xec, a, b, c, d @ 0..=0x7f, ref next @ ..] => (u32::from_le_bytes([a, b, c, d]).into(), next),
            _ => break,
        };
        (size, rest) = (size + more, next.strip_prefix(&[0x48, 0x83, 0x0c, 0x24, 0]).unwrap_or(next));
    }
    // Whether it takes more later, or moves the stack pointer to where a register says.
    let moves = |code: &[u8]| match *code {
        [0x48, 0x81 | 0x83, 0xec | 0xe4] => true,
        [0x48 | 0x4c, 0x29 | 0x89, how] => how & 0xc7 == 0xc4,
        _ => false,
    };
    let rest = &code[n_passed - rest.len()..];
    (size, !rest.windows(3).any(moves))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_through_pointers_are_told_from_other_code() {
        let is = |code: &[u8]| {
            let mut all = [0x90; 7];
            all[7 - code.len()..].copy_from_slice(code);
            is_indirect(all)
        };
        let calls: [&[u8]; 8] = [
            &[0xff, 0xd0],
            &[0x41, 0xff, 0xd4],
            &[0xff, 0x10],
            &[0xff, 0x50, 0x18],
            &[0xff, 0x54, 0x24, 0x18],
            &[0xff, 0x14, 0xc5, 0, 0, 0, 0],
            &[0xff, 0x94, 0x24, 0, 1, 0, 0],
            &[0xff, 0x90, 0, 1, 0, 0],
        ];
        assert!(calls.into_iter().all(is));
        let others: [&[u8]; 5] =
            [&[0xff, 0xe0], &[0xff, 0x50], &[0xff, 0xd0, 0x90], &[0x0f, 0x05], &[0xff, 0x54, 0x24]];
        assert!(!others.into_iter().any(is));
    }

    #[test]
    fn the_beginning_of_a_function_says_how_long_its_frame_is() {
        let begin = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x54, 0x53, 0x48, 0x83, 0xec, 0x20];
        let with = |rest: &[u8]| {
            let code = [&begin[..], rest, &[0xe8, 0, 0, 0, 0, 0xc9, 0xc3]].concat();
            frame(&code, code.len() - 3)
        };
        assert_eq!(with(&[]), (8 + 16 + 32, true));
        assert_eq!(with(&[0x48, 0x29, 0xc4]), (56, false), "alloca");
        let long = [0x48, 0x83, 0x0c, 0x24, 0, 0x48, 0x81, 0xec, 0, 0x10, 0, 0];
        assert_eq!(with(&long), (56 + 4096, true));
        // What it has not passed it has not done.
        assert_eq!(frame(&begin, 10), (16, false));
        assert_eq!(frame(&begin[8..], 7), (8, false));
        assert_eq!(frame(&[], 0), (8, false));
    }
}
