//! Folded stacks, one a line, for programs that draw flame graphs: `lock;outermost;...;innermost ns`.

use crate::profile::Profile;
pub use crate::rows::Side;
use crate::rows::{functions, of_side};
use ondeck_report::wording::plain;
use std::collections::BTreeMap;

/// All waiting for locks, in ns, as folded stacks below the locks' names: where threads waited, or who held the lock
/// meanwhile. Conditions' waits are not in it.
pub fn folded(profile: &Profile, side: Side) -> String {
    let mut lines: BTreeMap<String, f64> = BTreeMap::new();
    for lock in &profile.locks {
        for row in of_side(lock, side) {
            let mut frames = vec![frame(&plain(&lock.name))];
            frames.extend(functions(profile, row.place).iter().rev().map(|function| frame(function)));
            *lines.entry(frames.join(";")).or_default() += row.ns;
        }
    }
    let line = |(stack, ns): (&String, &f64)| match ns.round() as u64 {
        0 => String::new(),
        ns => format!("{stack} {ns}\n"),
    };
    lines.iter().map(line).collect()
}

/// A name without what separates frames: `[u8; 4]` is a type, and not two frames.
fn frame(name: &str) -> String {
    let name = name.replace(';', ":");
    if name.trim().is_empty() { "?".to_string() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::HANDING_ON;
    use crate::sample::{Builder, toy};

    #[test]
    fn stacks_stand_below_their_lock() {
        let text = folded(&toy(), Side::Waiters);
        let expected = "0x7f0000000080;main;libmystery.so.1+0x1040 1500\n\
                        LOGGER;[unknown stack] 1000\n\
                        LOGGER;main;worker;<log::File as log::Sink>::write 500000\n\
                        queue.mutex+8;main;worker;pop;queue_lock 100000\n\
                        queue.mutex+8;main;worker;push;queue_lock 2000000\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn holders_have_what_passes_while_nobody_holds() {
        let text = folded(&toy(), Side::Holders);
        assert!(text.contains("queue.mutex+8;main;worker;pop;queue_lock 2000000\n"), "{text}");
        assert!(text.contains(&format!("queue.mutex+8;{HANDING_ON} 50000\n")), "{text}");
    }

    #[test]
    fn hostile_names_stay_in_their_frame() {
        let mut builder = Builder::new(1.0);
        let stack = builder.stack(&["a;b\nc 5", "  ", "\u{1b}[31m"]);
        builder.lock("x;\ty 7", 1.0, 10.0, stack, stack);
        let text = folded(&builder.0, Side::Waiters);
        assert_eq!(text, "x: y 7;\u{fffd}[31m;?;a:b c 5 10\n");
    }
}
