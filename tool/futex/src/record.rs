//! The bytes of a record, as `perf_event_open(2)` describes them, for the fields that [`crate::event`] asks for.

use crate::maps::Mapping;
use crate::tracefs::Tracepoints;
use perf_event_open_sys::bindings as sys;

/// What the kernel tells.
#[derive(Debug, PartialEq)]
pub(crate) enum Record<'a> {
    /// A thread calls, and may sleep.
    Wait(Call<'a>),
    /// A call returns, and has woken nobody.
    Return { about: RecordOrigin, result: i64 },
    /// A call returns, and has woken so many.
    Wake { call: Call<'a>, woken: i64 },
    /// A program or library is mapped, to be run.
    Mapped { about: RecordOrigin, pid: u32, mapping: Mapping, path: &'a [u8] },
    /// The process has become another program.
    Exec { about: RecordOrigin },
    /// A process has started another one.
    Forked { at: u64, pid: u32, parent: u32 },
    /// A thread has ended.
    Ended { at: u64, pid: u32, thread: u32 },
    /// So many records were lost, as the ring was full.
    Lost { at: u64, n: u64 },
}

/// Who and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordOrigin {
    pub(crate) pid: u32,
    pub(crate) thread: u32,
    pub(crate) at: u64,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Call<'a> {
    pub(crate) about: RecordOrigin,
    pub(crate) address: u64,
    pub(crate) op: i32,
    /// What the word must be for the thread to sleep, of a call that may.
    pub(crate) value: u32,
    /// In the order of their numbers; empty for a process of 32 bits, whose stack cannot be walked here.
    pub(crate) registers: [u64; N_REGISTERS],
    /// `None` if it was not copied.
    pub(crate) stack: Option<&'a [u8]>,
}

pub(crate) const N_REGISTERS: usize = crate::event::REGISTERS.count_ones() as usize;

/// Kinds of `bindings` are enumerations of C, with a type of their own.
const LOST: u32 = sys::PERF_RECORD_LOST;
const COMM: u32 = sys::PERF_RECORD_COMM;
const EXIT: u32 = sys::PERF_RECORD_EXIT;
const FORK: u32 = sys::PERF_RECORD_FORK;
const SAMPLE: u32 = sys::PERF_RECORD_SAMPLE;
const MMAP2: u32 = sys::PERF_RECORD_MMAP2;
const LOST_SAMPLES: u32 = sys::PERF_RECORD_LOST_SAMPLES;

impl<'a> Record<'a> {
    /// The same of all but calls, which are most, and whose bytes are not looked at.
    pub(crate) fn parse_change(points: &Tracepoints, kind: u32, misc: u16, bytes: &'a [u8]) -> Option<Record<'a>> {
        if kind == SAMPLE { None } else { Record::parse(points, kind, misc, bytes) }
    }

    /// `None` for what is of no use, or too short.
    pub(crate) fn parse(points: &Tracepoints, kind: u32, misc: u16, bytes: &'a [u8]) -> Option<Record<'a>> {
        let mut rest = Bytes(bytes);
        match kind {
            SAMPLE => sample(points, rest),
            LOST => {
                rest.u64()?;
                lost(rest.u64()?, bytes)
            }
            LOST_SAMPLES => lost(rest.u64()?, bytes),
            COMM if misc & sys::PERF_RECORD_MISC_COMM_EXEC as u16 != 0 => Some(Record::Exec { about: at_end(bytes)? }),
            FORK | EXIT => {
                let (pid, parent, thread, _) = (rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?);
                let at = rest.u64()?;
                Some(if kind == FORK { Record::Forked { at, pid, parent } } else { Record::Ended { at, pid, thread } })
            }
            MMAP2 => {
                let (pid, _) = (rest.u32()?, rest.u32()?);
                let (start, length, offset) = (rest.u64()?, rest.u64()?, rest.u64()?);
                let (major, minor, number) = (rest.u32()?, rest.u32()?, rest.u64()?);
                // The number's generation, and how it is mapped.
                rest.take(16)?;
                let path = rest.0.split(|byte| *byte == 0).next()?;
                let end = start.saturating_add(length);
                let device = u64::from(major) << 32 | u64::from(minor);
                let mapping = Mapping { start, end, offset, device, number, is_current: false };
                Some(Record::Mapped { about: at_end(bytes)?, pid, mapping, path })
            }
            _ => None,
        }
    }
}

fn sample<'a>(points: &Tracepoints, mut rest: Bytes<'a>) -> Option<Record<'a>> {
    let (pid, thread, at) = (rest.u32()?, rest.u32()?, rest.u64()?);
    let about = RecordOrigin { pid, thread, at };
    let length = rest.u32()?;
    let data = Bytes(rest.take(length as usize)?);
    let which = u16::from_ne_bytes(data.0.get(..2)?.try_into().ok()?);
    let is_exit = which == points.exit;
    if is_exit && rest.0.is_empty() {
        return Some(Record::Return { about, result: data.at(points.result)? as i64 });
    }
    if !is_exit && which != points.enter {
        return None;
    }
    let registers = if rest.0.is_empty() { [0; N_REGISTERS] } else { registers(&mut rest)? };
    let stack = if rest.0.is_empty() { None } else { Some(stack(&mut rest)?) };
    if is_exit {
        let (address, op) = arguments(&registers);
        let result = data.at(points.result)? as i64;
        return Some(match stack {
            None if result <= 0 => Record::Return { about, result },
            _ => Record::Wake { call: Call { about, address, op, value: 0, registers, stack }, woken: result },
        });
    }
    let (address, op) = (data.at(points.address)?, data.at(points.op)? as i32);
    let value = data.at(points.value)? as u32;
    Some(Record::Wait(Call { about, address, op, value, registers, stack }))
}

fn registers(rest: &mut Bytes<'_>) -> Option<[u64; N_REGISTERS]> {
    let mut registers = [0; N_REGISTERS];
    let abi = rest.u64()?;
    if abi != 0 {
        for register in &mut registers {
            *register = rest.u64()?;
        }
    }
    Some(if abi == u64::from(sys::PERF_SAMPLE_REGS_ABI_64) { registers } else { [0; N_REGISTERS] })
}

fn stack<'a>(rest: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let size = rest.u64()? as usize;
    let copied = rest.take(size)?;
    let used = if size > 0 { (rest.u64()? as usize).min(size) } else { 0 };
    Some(&copied[..used])
}

/// A sample of [`crate::hold`].
pub(crate) struct WatchedStack<'a> {
    /// Of the word that was written, or 0.
    pub(crate) address: u64,
    pub(crate) registers: [u64; N_REGISTERS],
    pub(crate) stack: &'a [u8],
}

pub(crate) fn watched_stack(bytes: &[u8]) -> Option<WatchedStack<'_>> {
    let mut rest = Bytes(bytes);
    Some(WatchedStack { address: rest.u64()?, registers: registers(&mut rest)?, stack: stack(&mut rest)? })
}

/// The first two arguments of a system call that returns, as far as registers still have them.
fn arguments(registers: &[u64; N_REGISTERS]) -> (u64, i32) {
    if cfg!(target_arch = "x86_64") { (registers[1], registers[0] as i32) } else { (0, 0) }
}

fn lost<'a>(n: u64, bytes: &[u8]) -> Option<Record<'a>> {
    Some(Record::Lost { at: at_end(bytes)?.at, n })
}

/// Who and when stands at the end of what is no sample.
fn at_end(bytes: &[u8]) -> Option<RecordOrigin> {
    let mut rest = Bytes(bytes.get(bytes.len().checked_sub(16)?..)?);
    Some(RecordOrigin { pid: rest.u32()?, thread: rest.u32()?, at: rest.u64()? })
}

/// Bytes that are read from the beginning.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }

    /// The eight bytes at a place.
    fn at(&self, offset: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(offset..offset.checked_add(8)?)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// The head of a sample of thread 8 in process 7 at 99, with data of a tracepoint.
    fn head(id: u16, data: &[u64]) -> Vec<u8> {
        let mut bytes = [words(&[7 | 8 << 32, 99]), (data.len() as u32 * 8 + 12).to_ne_bytes().to_vec()].concat();
        bytes.extend(id.to_ne_bytes());
        bytes.extend([0; 6]);
        bytes.extend(words(data));
        // The kernel fills up to eight bytes.
        bytes.extend([0; 4]);
        bytes
    }

    fn call() -> Vec<u8> {
        [head(522, &[202, 0x1000, 128, 3]), registers_and_stack()].concat()
    }

    fn registers_and_stack() -> Vec<u8> {
        let registers: Vec<u64> = std::iter::once(2).chain(1..=N_REGISTERS as u64).collect();
        let stack = [16, 0xaaaa, 0xbbbb, 8];
        words(&[&registers[..], &stack].concat())
    }

    const ABOUT: RecordOrigin = RecordOrigin { pid: 7, thread: 8, at: 99 };

    #[test]
    fn a_call_has_its_address_registers_and_the_used_part_of_its_stack() {
        let bytes = call();
        let Some(Record::Wait(call)) = Record::parse(&Tracepoints::SOME, SAMPLE, 0, &bytes) else { panic!("no call") };
        assert_eq!((call.about, call.address, call.op, call.value), (ABOUT, 0x1000, 128, 3));
        assert_eq!(call.registers[..3], [1, 2, 3]);
        assert_eq!(call.stack, Some(&0xaaaa_u64.to_ne_bytes()[..]));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_wake_has_its_arguments_from_registers() {
        let bytes = [head(521, &[202, 3]), registers_and_stack()].concat();
        let Some(Record::Wake { call, woken }) = Record::parse(&Tracepoints::SOME, SAMPLE, 0, &bytes) else {
            panic!("no wake")
        };
        assert_eq!((call.about, call.address, call.op, woken), (ABOUT, 2, 1, 3));
    }

    #[test]
    fn a_call_or_wake_may_come_without_its_stack() {
        let bytes = head(522, &[202, 0x1000, 128, 3]);
        let Some(Record::Wait(call)) = Record::parse(&Tracepoints::SOME, SAMPLE, 0, &bytes) else { panic!("no call") };
        assert_eq!((call.address, call.op, call.stack), (0x1000, 128, None));
        let registers = words(&std::iter::once(2).chain(1..=N_REGISTERS as u64).collect::<Vec<u64>>());
        let bytes = [head(521, &[202, 3]), registers.clone()].concat();
        let wake = Record::parse(&Tracepoints::SOME, SAMPLE, 0, &bytes);
        assert!(matches!(wake, Some(Record::Wake { call: Call { stack: None, .. }, woken: 3 })), "{wake:?}");
        let bytes = [head(521, &[202, 0]), registers].concat();
        let expected = Record::Return { about: ABOUT, result: 0 };
        assert_eq!(Record::parse(&Tracepoints::SOME, SAMPLE, 0, &bytes), Some(expected));
    }

    #[test]
    fn returns_ends_and_losses_are_read() {
        let bytes = head(521, &[202, (-110_i64) as u64]);
        let expected = Record::Return { about: ABOUT, result: -110 };
        assert_eq!(Record::parse(&Tracepoints::SOME, SAMPLE, 0, &bytes), Some(expected));
        assert_eq!(
            Record::parse(&Tracepoints::SOME, LOST, 0, &words(&[5, 12, 0, 99])),
            Some(Record::Lost { at: 99, n: 12 })
        );
        let bytes = words(&[7 | 6 << 32, 8 | 6 << 32, 55, 0, 0]);
        let (pid, thread, at) = (7, 8, 55);
        assert_eq!(Record::parse(&Tracepoints::SOME, FORK, 0, &bytes), Some(Record::Forked { at, pid, parent: 6 }));
        assert_eq!(Record::parse(&Tracepoints::SOME, EXIT, 0, &bytes), Some(Record::Ended { at, pid, thread }));
        let mapped =
            [words(&[7 | 8 << 32, 0x1000, 0x2000, 0x3000, 8 | 1 << 32, 99, 0, 0]), b"/lib/a.so\0\0\0\0\0\0\0".to_vec()];
        let mapped = [mapped.concat(), words(&[7 | 8 << 32, 99])].concat();
        let Some(Record::Mapped { mapping, path, .. }) = Record::parse(&Tracepoints::SOME, MMAP2, 0, &mapped) else {
            panic!("not mapped")
        };
        let expected =
            Mapping { start: 0x1000, end: 0x3000, offset: 0x3000, device: 8 << 32 | 1, number: 99, is_current: false };
        assert_eq!((mapping, path), (expected, &b"/lib/a.so"[..]));
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        let bytes = call();
        for n in 0..bytes.len() {
            // Or a call whose stack was not copied.
            let cut = Record::parse(&Tracepoints::SOME, SAMPLE, 0, &bytes[..n]);
            assert!(matches!(cut, None | Some(Record::Wait(Call { stack: None, .. }))), "{n}: {cut:?}");
        }
        for kind in 0..30 {
            assert_eq!(Record::parse(&Tracepoints::SOME, kind, u16::MAX, &[1; 3]), None);
        }
    }
}
