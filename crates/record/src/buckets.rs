//! How lengths are sorted for statistics: two buckets for each power of ten, from a microsecond on.

/// The upper limits of all buckets but the last, in ns.
pub(crate) const LIMITS_NS: [u64; 15] = {
    let mut limits = [1_000; 15];
    let mut at = 1;
    while at < limits.len() {
        limits[at] = if at % 2 == 1 { limits[at - 1] * 3 } else { limits[at - 2] * 10 };
        at += 1;
    }
    limits
};

/// The bucket of a length: a limit belongs to what is below it.
pub(crate) fn bucket_of_ns(ns: u64) -> usize {
    LIMITS_NS.partition_point(|limit| *limit < ns)
}
