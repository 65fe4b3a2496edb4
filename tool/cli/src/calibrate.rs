//! `ondeck calibrate`.

use crate::exit::Exit;
use crate::terminal::{end_of_run, print, progress_bar, say, stop_on_signal, width};
use ondeck_report::wording::wrap;
use ondeck_workloads::calibrate::calibrate;
use ondeck_workloads::this_machine;

/// Measures this machine, with a bar that shows how far it is, and prints the table.
pub(crate) fn run() -> Result<(), Exit> {
    let fingerprint = this_machine::fingerprint();
    let bar = progress_bar();
    let calibration = calibrate(stop_on_signal(), &mut |what, done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_string());
    });
    bar.finish_and_clear();
    let calibration = calibration.map_err(Exit::Failed)?;
    if let Some(doubt) = calibration.doubt() {
        say(&format!("warning: {doubt}"));
    }
    print(&format!("{}\n{}", wrap("", &fingerprint.line(), width()), calibration.table(width())))?;
    end_of_run(None)
}
