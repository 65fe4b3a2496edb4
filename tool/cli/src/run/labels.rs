//! What tells the lines of one program's file from those of another one: node_exporter puts the files of a directory together.

use crate::args::LaunchArgs;
use ondeck_kit::exit::Exit;
use ondeck_profile::Labels;
use std::path::Path;

/// The labels of each line: those that a program has by itself, unless others were given.
pub(super) fn of(args: &LaunchArgs, file: &Path) -> Result<Labels, Exit> {
    let given = &args.stats.labels;
    for (at, (name, _)) in given.iter().enumerate() {
        if given[..at].iter().any(|(other, _)| other == name) {
            let what = format!("--label: {name} comes twice; accepted: each name once, like --label {name}=berlin");
            return Err(Exit::Usage(what));
        }
    }
    let program = args.command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let cgroups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = [
        ("program", program.to_string_lossy().into_owned()),
        ("unit", unit(&cgroups).unwrap_or_default().to_owned()),
        ("file", file.file_stem().unwrap_or_default().to_string_lossy().into_owned()),
    ];
    let is_given = |name: &str| given.iter().any(|(other, _)| other == name);
    let own = own.iter().filter(|(name, _)| !is_given(name)).map(|(name, value)| (*name, value.as_str()));
    let mut labels = Labels::default();
    for (name, value) in own.chain(given.iter().map(|(name, value)| (name.as_str(), value.as_str()))) {
        // For Prometheus an empty label is none.
        if !value.is_empty() {
            labels.add(name, value);
        }
    }
    Ok(labels)
}

/// The service of systemd that `/proc/PID/cgroup` tells of. That of a user's session is none.
fn unit(cgroups: &str) -> Option<&str> {
    let mut parts = cgroups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).flat_map(|path| path.split('/'));
    parts.rfind(|part| part.ends_with(".service") && !part.starts_with("user@"))
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn a_service_is_told_from_what_is_none() {
        for (cgroups, expected) in [
            ("0::/system.slice/web@1.service\n", Some("web@1.service")),
            ("0::/system.slice/web.service/workers\n", Some("web.service")),
            ("12:cpu:/\n1:name=systemd:/system.slice/web.service\n", Some("web.service")),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/web.service\n", Some("web.service")),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n", None),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(unit(cgroups), expected, "{cgroups}");
        }
    }
}
