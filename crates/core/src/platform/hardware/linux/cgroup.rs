//! The CPU quota of the process's control group, version 2 or 1.
//!
//! A group is limited by its own quota and by those of all groups above it. In a container `/proc/self/cgroup` may
//! name the group as the host sees it, under a root that the container does not see; the walk up ends at the mount
//! point, which is then the container's own group. The mount points are the usual ones, not looked up.

use super::file;
use core::ffi::CStr;
use core::iter;
use core::num::NonZeroU64;

/// A version of control groups.
#[derive(Debug, PartialEq)]
struct Hierarchy {
    mount: &'static str,
    /// The files that have, one after the other, quota and period in microseconds.
    files: &'static [&'static str],
}

const V1: Hierarchy = Hierarchy { mount: "/sys/fs/cgroup/cpu", files: &["/cpu.cfs_quota_us", "/cpu.cfs_period_us"] };
const V2: Hierarchy = Hierarchy { mount: "/sys/fs/cgroup", files: &["/cpu.max"] };

/// How many cores' worth of time the process may use, rounded up; `u32::MAX` where nothing limits it.
pub(super) fn quota() -> u32 {
    // Some thirteen lines of up to 250 bytes in the containers we have seen.
    let mut text = [0; 4096];
    let length = file::read(c"/proc/self/cgroup", &mut text);
    let memberships = text[..length].split(|&byte| byte == b'\n').filter_map(membership);
    let quotas = memberships.flat_map(|(hierarchy, group)| {
        ancestors(group).filter_map(move |group| parse_quota(read_quota(&hierarchy, group, &mut [0; 64])))
    });
    quotas.min().unwrap_or(u32::MAX)
}

/// What a line of `/proc/self/cgroup` says, `number:controllers:path`: a group that may limit CPU time.
fn membership(line: &[u8]) -> Option<(Hierarchy, &[u8])> {
    let mut fields = line.splitn(3, |&byte| byte == b':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    if number == b"0" && controllers.is_empty() {
        return Some((V2, path));
    }
    let is_cpu = controllers.split(|&byte| byte == b',').any(|controller| controller == b"cpu");
    is_cpu.then_some((V1, path))
}

/// The group and all above it, ending with the empty path of the root.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    iter::successors(Some(path), |path| path.iter().rposition(|&byte| byte == b'/').map(|end| &path[..end]))
}

/// The text of a group's quota; empty if there is none.
fn read_quota<'a>(hierarchy: &Hierarchy, group: &[u8], text: &'a mut [u8]) -> &'a [u8] {
    let mut length = 0;
    for name in hierarchy.files {
        let mut path = [0; 1024];
        let parts = [hierarchy.mount.as_bytes(), group, name.as_bytes()];
        length += join(&parts, &mut path).map_or(0, |path| file::read(path, &mut text[length..]));
    }
    &text[..length]
}

/// The parts in a row as a C string; nothing if they do not fit.
fn join<'a>(parts: &[&[u8]], buffer: &'a mut [u8]) -> Option<&'a CStr> {
    let mut length = 0;
    for part in parts {
        buffer.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    buffer.get_mut(length..=length)?[0] = 0;
    CStr::from_bytes_until_nul(buffer).ok()
}

/// Cores' worth of time, rounded up, from quota and period; nothing if the quota is `max` (version 2), -1 (version 1)
/// or no number.
fn parse_quota(text: &[u8]) -> Option<u32> {
    let mut words = core::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: NonZeroU64 = words.next()?.parse().ok()?;
    u32::try_from(quota.div_ceil(period.get())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_rounded_up() {
        for (text, cores) in [
            ("max 100000\n", None),
            ("-1\n100000\n", None),
            ("", None),
            ("100000\n", None),
            ("100000 0\n", None),
            ("many 100000", None),
            ("100000 100000\n", Some(1)),
            ("150000 100000\n", Some(2)),
            ("1000 100000\n", Some(1)),
            ("50000\n100000\n", Some(1)),
            ("1600000\n100000\n", Some(16)),
            ("18446744073709551615 1", None),
        ] {
            assert_eq!(parse_quota(text.as_bytes()), cores, "{text:?}");
        }
    }

    #[test]
    fn lines_that_may_limit_cpu_time_are_found() {
        for (line, group) in [
            ("0::/user.slice/a.scope", Some((V2, "/user.slice/a.scope"))),
            ("0::/", Some((V2, "/"))),
            ("4:cpu,cpuacct:/docker/7f", Some((V1, "/docker/7f"))),
            ("1:cpu:/a:b", Some((V1, "/a:b"))),
            ("2:cpuset:/", None),
            ("9:name=systemd:/", None),
            ("3:cpuacct", None),
            ("", None),
        ] {
            assert_eq!(
                membership(line.as_bytes()),
                group.map(|(version, path)| (version, path.as_bytes())),
                "{line:?}"
            );
        }
    }

    #[test]
    fn the_walk_up_ends_at_the_root() {
        let walk = |path: &'static str| {
            ancestors(path.as_bytes()).map(|path| core::str::from_utf8(path).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(walk("/a/b"), ["/a/b", "/a", ""]);
        assert_eq!(walk("/"), [""]);
        assert_eq!(walk(""), [""]);
        assert_eq!(walk("/../a"), ["/../a", "/..", ""]);
    }

    #[test]
    fn paths_that_do_not_fit_are_none() {
        assert_eq!(join(&[b"/a", b"/b"], &mut [1; 5]), Some(c"/a/b"));
        assert_eq!(join(&[b"/a", b"/b"], &mut [1; 4]), None);
        assert_eq!(join(&[b"/a", b"/b"], &mut [1; 3]), None);
    }

    #[test]
    fn this_machine_gives_an_answer() {
        assert!(quota() >= 1);
    }
}
