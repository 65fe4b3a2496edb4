//! What the words after `cargo xtask programs` ask for.

use super::table::{PROGRAMS, program};
use super::{advice, compare, overhead, predict, profiles, responses, small};
use std::path::{Path, PathBuf};

pub(super) const USAGE: &str = "\
usage: cargo xtask programs [--only NAME,...] [--rounds N] [--library PATH] [--lock NAME] [--check]
       cargo xtask programs --predict [--only NAME,...]
       cargo xtask programs --profiles [--only NAME,...] [--check]
       cargo xtask programs --advice [--only NAME,...] [--rounds N]
       cargo xtask programs --overhead [--only NAME,...] [--rounds N]
       cargo xtask programs --responses [--only NAME,...] [--rounds N]
       cargo xtask programs --small [--only NAME,...] [--rounds N] [--library PATH] [--lock NAME]

Runs programs with glibc's locks and with a preloaded library, in turn.
  --only NAME,...   some of the programs
  --rounds N        how often each setting runs with each kind of locks; 5
  --library PATH    what is preloaded, if not libondeck_pthread.so as built from here
  --lock NAME       the lock that the library shall put in the mutexes' place
  --check           each program once, briefly: only looks at what comes out, and writes nothing
  --predict         with glibc's locks and few threads, to measure sections, of which a simulated machine of many cores
                    tells what those locks and ours would do there
  --profiles        under `ondeck profile`: the lock that is known to be hot must be found, and who waits for it; a minute
  --advice          what `ondeck profile` advises, and what `ondeck run` then does; six minutes
  --overhead        what `ondeck profile` costs, with glibc's locks and with ours; seven minutes
  --responses       how long clients wait for an answer, with glibc's locks and with ours; seven minutes
  --small           small-sections and random-of-many in all their settings, with glibc's locks twice in each round and with
                    ours; seven minutes";

/// Some figures of programs.
#[derive(Debug)]
pub(super) struct Mode {
    /// What asks for them.
    flag: &'static str,
    /// The flags that it takes, beside `--only`.
    takes: &'static [&'static str],
    pub(super) run: fn(&Path, &Wish) -> Result<(), String>,
}

/// The first is the one without a flag.
const MODES: [Mode; 7] = [
    Mode { flag: "", takes: &["--rounds", "--library", "--lock", "--check"], run: compare },
    Mode { flag: "--predict", takes: &[], run: predict::run },
    Mode { flag: "--profiles", takes: &["--check"], run: profiles::run },
    Mode { flag: "--advice", takes: &["--rounds"], run: advice::run },
    Mode { flag: "--overhead", takes: &["--rounds"], run: overhead::run },
    Mode { flag: "--responses", takes: &["--rounds"], run: responses::run },
    Mode { flag: "--small", takes: &["--rounds", "--library", "--lock"], run: small::run },
];

#[derive(Debug, Default)]
pub(super) struct Wish {
    pub(super) only: Vec<String>,
    pub(super) rounds: Option<u32>,
    pub(super) library: Option<PathBuf>,
    pub(super) lock: Option<String>,
    pub(super) is_check: bool,
}

impl Wish {
    pub(super) fn parse(words: &[String]) -> Result<(&'static Mode, Wish), String> {
        let mut wish = Wish::default();
        let (mut modes, mut flags) = (Vec::new(), Vec::new());
        let mut words = words.iter();
        while let Some(flag) = words.next() {
            if let Some(mode) = MODES.iter().find(|mode| mode.flag == flag) {
                modes.push(mode);
                continue;
            }
            let mut value = || words.next().ok_or(USAGE);
            match flag.as_str() {
                "--check" => wish.is_check = true,
                "--only" => wish.only.extend(value()?.split(',').map(str::to_owned)),
                "--rounds" => wish.rounds = Some(rounds(value()?)?),
                "--library" => wish.library = Some(value()?.into()),
                "--lock" => wish.lock = Some(value()?.clone()),
                _ => return Err(USAGE.into()),
            }
            flags.push(flag.as_str());
        }
        let mode = modes.first().copied().unwrap_or(&MODES[0]);
        if modes.len() > 1 || flags.iter().any(|flag| *flag != "--only" && !mode.takes.contains(flag)) {
            return Err(USAGE.into());
        }
        match wish.only.iter().find(|name| program(name).is_none()) {
            None => Ok((mode, wish)),
            Some(name) => {
                let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
                Err(format!("no program is called `{name}`; there are {}", names.join(", ")))
            }
        }
    }

    /// Whether the program of this name shall run.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }
}

fn rounds(value: &str) -> Result<u32, String> {
    let rounds = value.parse().ok().filter(|rounds| *rounds > 0);
    rounds.ok_or_else(|| format!("--rounds {value}: a number from 1 is wanted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(&'static str, Wish), String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Wish::parse(&words).map(|(mode, wish)| (mode.flag, wish))
    }

    #[test]
    fn words_are_understood_or_refused() {
        let (mode, all) = parse("").unwrap();
        assert!(mode.is_empty() && all.wants("sqlite"));
        let (_, wish) = parse("--only leveldb,node --rounds 3 --library a.so --lock std --check").unwrap();
        assert_eq!((wish.only.len(), wish.rounds, wish.is_check), (2, Some(3), true));
        assert_eq!((wish.library.clone(), wish.lock.as_deref()), (Some("a.so".into()), Some("std")));
        assert!(wish.wants("node") && !wish.wants("sqlite"));
        assert!(parse("--only redis").unwrap_err().contains("`redis`; there are uncontended, sysbench-mutex"));
        assert!(parse("--rounds 0").unwrap_err().contains("from 1"));
    }

    #[test]
    fn each_mode_has_its_flags() {
        for (words, expected) in [
            ("--predict --only node", "--predict"),
            ("--check --profiles", "--profiles"),
            ("--advice --rounds 2", "--advice"),
            ("--overhead --rounds 2", "--overhead"),
            ("--responses --only node", "--responses"),
            ("--small --rounds 2 --library a.so --lock std", "--small"),
        ] {
            assert_eq!(parse(words).map(|(mode, _)| mode), Ok(expected));
        }
        for refused in [
            "--rounds",
            "--quick yes",
            "--predict --rounds 3",
            "--predict --check",
            "--profiles --rounds 3",
            "--profiles --lock std",
            "--advice --check",
            "--overhead --check",
            "--overhead --library a.so",
            "--profiles --overhead",
            "--small --check",
        ] {
            assert_eq!(parse(refused).err().as_deref(), Some(USAGE), "{refused}");
        }
    }
}
