//! `ondeck calibrate`.

use crate::args::CalibrateArgs;
use crate::display::{end_of_run, stop_on_signal};
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::{print, progress_bar, say, width};
use ondeck_kit::wording::wrap;
use ondeck_workloads::calibrate::calibrate;
use ondeck_workloads::this_machine;

/// Measures this machine, with a bar that shows how far it is, and prints the table.
pub fn run(_: &CalibrateArgs) -> Result<(), Exit> {
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
