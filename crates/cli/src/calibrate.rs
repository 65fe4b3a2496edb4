//! `ondeck calibrate`.

use crate::args::CalibrateArgs;
use crate::exit::Exit;
use crate::terminal::{print, progress_bar, say, stop_on_ctrl_c, width};
use ondeck_lab::calibrate::{calibrate, machine_file};
use ondeck_lab::fingerprint::Fingerprint;
use ondeck_lab::output::OutFile;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) fn run(args: &CalibrateArgs) -> Result<(), Exit> {
    let out = args.out.as_deref().map(OutFile::check).transpose();
    let out = out.map_err(|what| Exit::Usage(format!("--out: {what}")))?;
    let fingerprint = Fingerprint::of_this_machine();
    let stop = stop_on_ctrl_c();
    let bar = progress_bar();
    let calibration = calibrate(stop, &mut |what, done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_string());
    });
    bar.finish_and_clear();
    let calibration = calibration.map_err(Exit::Failed)?;
    let is_whole = !stop.load(Relaxed);
    if let (Some(out), true) = (&out, is_whole) {
        out.replace(machine_file(&calibration, &fingerprint).as_bytes()).map_err(Exit::Failed)?;
    }
    print(&format!("{}\n\n{}", fingerprint.line(), calibration.table(width())))?;
    if !is_whole {
        say("interrupted; no machine file is written of a part");
        return Err(Exit::Interrupted);
    }
    Ok(())
}
