//! The flagship without the yields of its arrivals.

use ondeck_lineage::ondeck::{BALANCED, Policy, Tuning};

/// [`BALANCED`] without the yields of arrivals that find no seat. Such a yield writes nothing; in a search it only makes
/// executions longer, and puts off the sleep whose races are looked for.
#[derive(Clone, Copy, Debug)]
pub struct NoYields;

// SAFETY: a reference to a constant.
unsafe impl Policy for NoYields {
    fn tuning() -> &'static Tuning {
        const TUNING: Tuning = Tuning { yields: 0, ..BALANCED };
        &TUNING
    }
}
