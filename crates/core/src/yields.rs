//! Making way for a thread that is about to be done, whatever its priority.
//!
//! A yield gives the core to threads of the same priority. If the one that is waited for has a lower one and lost this
//! very core to us, as under SCHED_FIFO, it gets nothing from any number of yields, and we would wait for ever. So after
//! some yields follow naps, during which every thread may run.

use crate::Platform;

/// How often a thread has yielded for one thing that another will do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Yields(u32);

impl Yields {
    /// A count and no time, because one yield may take as long as other threads run. Sixteen that give nothing take some
    /// 5 us (2-core virtual machine); what is waited for here takes less, unless its thread has no core. Among threads
    /// of one priority it mostly has had its turn by then, so that only who waits in vain pays for a nap.
    const BEFORE_NAP: u32 = 16;

    /// Long beside the yields and what goes with a nap, so that the other thread gets most of the core; and no longer
    /// than the system may be late for a thread without priority anyhow, as a deadline is overrun by so much.
    const NAP_NS: u32 = 50_000;

    /// One more turn: a yield, or a nap.
    #[cold]
    pub(crate) fn make_way<P: Platform>(&mut self) {
        if self.0 < Self::BEFORE_NAP {
            self.0 += 1;
            P::yield_now();
        } else {
            P::nap_ns(Self::NAP_NS);
        }
    }
}
