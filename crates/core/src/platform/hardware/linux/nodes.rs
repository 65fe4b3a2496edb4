//! The memory nodes (NUMA) whose cores may run this process.
//!
//! Counted once, by the loader, before the program's own code: a lock that asks reads one word. A lock that asks
//! before, as another library's constructor may, is told that nothing is known yet.

use super::cores;
use super::file;
use core::ffi::CStr;
use core::ops::RangeInclusive;
use core::str;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

static N_NODES: AtomicU32 = AtomicU32::new(0);

/// The number, 0 if it is not known.
#[inline]
pub(super) fn known() -> u32 {
    N_NODES.load(Relaxed)
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        N_NODES.store(count(), Relaxed);
    }
    begin
};

/// Asks the kernel. Those without a core that we may run on do not count: they have memory only, or are forbidden by
/// affinity or control group.
fn count() -> u32 {
    const NODES: &CStr = c"/sys/devices/system/node/online";
    const CORES: &CStr = c"/sys/devices/system/cpu/online";
    let mut text = [0; 256];
    let nodes = read(NODES, &mut text);
    if nodes.is_empty() {
        // A kernel that is built without nodes lists cores only.
        return u32::from(!read(CORES, &mut [0; 256]).is_empty());
    }
    // As on nearly every machine.
    if nodes.trim() == "0" {
        return 1;
    }
    let ours = cores::mask();
    let is_ours = |node: &u32| {
        let mut path = *b"/sys/devices/system/node/node0000000000/cpulist\0";
        let mut text = [0; 1024];
        let path = CStr::from_bytes_until_nul(name_node(&mut path, *node)).unwrap_or_default();
        ranges(read(path, &mut text)).flatten().any(|core| cores::has(&ours, core))
    };
    ranges(nodes).flatten().filter(is_ours).count() as u32
}

/// Puts the number in place of the zeros of the path.
fn name_node(path: &mut [u8; 48], mut node: u32) -> &[u8] {
    const FIRST: usize = b"/sys/devices/system/node/node".len();
    const END: usize = FIRST + b"0000000000".len();
    let n_digits = node.checked_ilog10().map_or(1, |log| log as usize + 1);
    path.copy_within(END.., FIRST + n_digits);
    for digit in path[FIRST..FIRST + n_digits].iter_mut().rev() {
        *digit = b'0' + (node % 10) as u8;
        node /= 10;
    }
    path
}

/// The file's text, empty if there is none.
fn read<'a>(path: &CStr, buffer: &'a mut [u8]) -> &'a str {
    let length = file::read(path, buffer);
    str::from_utf8(&buffer[..length]).unwrap_or_default()
}

/// The numbers of a list such as `0-3,8,10-11`. What is no number or range is left out.
fn ranges(text: &str) -> impl Iterator<Item = RangeInclusive<u32>> {
    text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed() {
        let numbers = |text| ranges(text).flatten().collect::<Vec<_>>();
        assert_eq!(numbers("0\n"), [0]);
        assert_eq!(numbers("0-2,8,10-11\n"), [0, 1, 2, 8, 10, 11]);
        assert_eq!(numbers("\n"), [], "a node with memory only has no cores");
        assert_eq!(numbers("1,x,-3,4-,5"), [1, 5]);
    }

    #[test]
    fn nodes_have_names() {
        for (node, name) in [(0, "0"), (7, "7"), (10, "10"), (4_294_967_295, "4294967295")] {
            let mut path = *b"/sys/devices/system/node/node0000000000/cpulist\0";
            let path = CStr::from_bytes_until_nul(name_node(&mut path, node)).unwrap();
            assert_eq!(path.to_str().unwrap(), format!("/sys/devices/system/node/node{name}/cpulist"));
        }
    }

    #[test]
    fn the_loader_has_counted() {
        assert_eq!(known(), count());
        let nodes = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_else(|_| "0".to_owned());
        assert!(known() as usize <= ranges(&nodes).flatten().count(), "{} of {nodes}", known());
    }
}
