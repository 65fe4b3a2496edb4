//! `ondeck report`, also of a profile.

use ondeck_kit::drawing::Picture;
use ondeck_kit::exit::Exit;
use ondeck_kit::file::ReadError;
use ondeck_kit::terminal::for_user;
use ondeck_lab::{Report, ReportArgs};
use ondeck_profile::json::{from_json, is_profile};

pub(crate) fn report(args: &ReportArgs) -> Result<(), Exit> {
    let report = Report::read(args)?;
    let Some((file, text)) = report.files().find(|(_, text)| is_profile(text)) else {
        return report.draw();
    };
    // A profile is shown by itself.
    let wrong = |what: &str| Err(Exit::Usage(format!("{} is a profile: {what}", file.display())));
    if report.files().count() > 1 {
        return wrong("it needs a page of its own; accepted: this file alone");
    }
    if report.has_markdown() {
        return wrong("it has no Markdown form; accepted: --output PAGE.html and --svg DIR");
    }
    let profile = from_json(text).map_err(|what| Exit::Usage(ReadError::new(file, what).to_string()))?;
    let pictures = || {
        vec![Picture {
            id: "flame-graph".to_string(),
            title: "who waited for which lock, and who held it meanwhile".to_string(),
            svg: ondeck_profile::flamegraph(&profile),
        }]
    };
    report.write(pictures, || for_user(&ondeck_profile::page(&profile)))
}
