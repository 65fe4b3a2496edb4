//! `ondeck calibrate`.

use crate::args::CalibrateArgs;
use crate::deliver::file_of;
use crate::exit::Exit;
use crate::terminal::{end_of_run, print, progress_bar, say, stop_on_signal, width};
use ondeck_report::wording::wrap;
use ondeck_workloads::calibrate::{Calibration, calibrate, machine_file};
use ondeck_workloads::this_machine;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &CalibrateArgs) -> Result<(), Exit> {
    let out = file_of("--out", args.out.as_deref())?.map(|(_, file)| file);
    let fingerprint = this_machine::fingerprint();
    let calibration = calibration(stop_on_signal())?;
    let end = end_of_run(None);
    let written = match (&out, end.is_ok()) {
        (Some(out), true) => {
            out.replace(machine_file::text(&calibration, &fingerprint).as_bytes()).map_err(Exit::Failed)
        }
        _ => Ok(()),
    };
    let table = format!("{}\n{}", wrap("", &fingerprint.line(), width()), calibration.table(width()));
    if out.is_some_and(|out| out.is_stdout()) {
        say(table.trim_end())
    } else {
        print(&table)?
    }
    if end.is_err() {
        say("interrupted: no machine file was written");
    }
    written.and(end)
}

/// Measures this machine, with a bar that shows how far it is.
pub(crate) fn calibration(stop: &AtomicBool) -> Result<Calibration, Exit> {
    let bar = progress_bar();
    let calibration = calibrate(stop, &mut |what, done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_string());
    });
    bar.finish_and_clear();
    let calibration = calibration.map_err(Exit::Failed)?;
    if let Some(doubt) = calibration.doubt() {
        say(&format!("warning: {doubt}"));
    }
    Ok(calibration)
}
