//! The names of the waiting policies that `gc-wait` compares, which stand where other workloads have their lock:
//! `spin-wait[yield_after_ns=5000]`.

use ondeck_lineage::SpinPolicy;

/// Begins the name of every policy.
pub const NAME: &str = "spin-wait";
/// Spinning before the first yield that is compared if nothing else is asked for, in microseconds: what golang/go commit
/// 475d113b compared.
pub const YIELDS_AFTER_US: [u32; 6] = [1, 5, 10, 30, 100, 200];
/// Longest spinning, in microseconds: a second.
pub const MOST_US: u32 = 1_000_000;

/// The name of the policy that spins for `us` microseconds before its first yield.
pub fn name(us: u32) -> String {
    format!("{NAME}[yield_after_ns={}]", u64::from(us) * 1_000)
}

/// The policy with this name; `None` if it is none.
pub fn parse(name: &str) -> Option<SpinPolicy> {
    nanoseconds(name).map(SpinPolicy::yield_after)
}

/// For how many microseconds the policy with this name spins; `None` if it is none.
pub fn microseconds(name: &str) -> Option<u32> {
    nanoseconds(name).map(|ns| ns / 1_000)
}

fn nanoseconds(name: &str) -> Option<u32> {
    let ns = name.strip_prefix(NAME)?.strip_prefix("[yield_after_ns=")?.strip_suffix(']')?;
    ns.parse().ok().filter(|ns| *ns <= MOST_US * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        assert_eq!(name(5), "spin-wait[yield_after_ns=5000]");
        for us in YIELDS_AFTER_US.into_iter().chain([0, MOST_US]) {
            assert_eq!(parse(&name(us)), Some(SpinPolicy::yield_after(us * 1_000)));
            assert_eq!(microseconds(&name(us)), Some(us));
        }
        let others =
            ["std", "spin-wait", "spin-wait[]", "spin-wait[yield_after_ns=x]", "spin-wait[yield_after_ns=1000000001]"];
        assert!(others.into_iter().all(|name| parse(name).is_none()));
    }
}
