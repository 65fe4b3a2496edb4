//! What the words after `cargo xtask programs` ask for.

use super::table::PROGRAMS;
use std::path::PathBuf;

pub(super) const USAGE: &str = "\
usage: cargo xtask programs [--only NAME,...] [--rounds N] [--library PATH] [--lock NAME] [--check]
       cargo xtask programs --predict [--only NAME,...]
       cargo xtask programs --profiles [--only NAME,...] [--check]
       cargo xtask programs --advice [--only NAME,...] [--rounds N]
       cargo xtask programs --overhead [--only NAME,...] [--rounds N]
       cargo xtask programs --responses [--only NAME,...] [--rounds N]
       cargo xtask programs --small [--only NAME,...] [--rounds N] [--library PATH] [--lock NAME]

Runs programs with glibc's locks and with a preloaded library, in turn.
  --only NAME,...   some of the programs; the figures go to target/, and the record stays as it is
  --rounds N        how often each setting runs with each kind of locks; 5
  --library PATH    what is preloaded, if not libondeck_pthread.so as built from here
  --lock NAME       the lock that the library shall put in the mutexes' place; figures as with --only
  --check           each program once, briefly: only looks at what comes out, and writes nothing
  --predict         with glibc's locks and few threads, to measure sections, of which a simulated machine of many cores
                    tells what those locks and ours would do there
  --profiles        under `ondeck profile`: the lock that is known to be hot must be found, and who waits for it; a minute
  --advice          what `ondeck profile` advises, and what `ondeck run` then does; six minutes
  --overhead        what `ondeck profile` costs, with glibc's locks and with ours; seven minutes
  --responses       how long clients wait for an answer, with glibc's locks and with ours; seven minutes
  --small           small-sections and random-of-many in all their settings, with glibc's locks twice in each round and with
                    ours; seven minutes";

/// Which figures are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// With glibc's locks and with ours.
    #[default]
    Compare,
    Predict,
    Profiles,
    Advice,
    Overhead,
    Responses,
    /// Of one small program, in many settings.
    Small,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) mode: Mode,
    pub(super) only: Vec<String>,
    pub(super) rounds: Option<u32>,
    pub(super) library: Option<PathBuf>,
    pub(super) lock: Option<String>,
    pub(super) is_check: bool,
}

impl Wish {
    pub(super) fn parse(words: &[String]) -> Result<Wish, String> {
        let mut wish = Wish::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--check" => wish.is_check = true,
                "--predict" => wish.choose(Mode::Predict)?,
                "--profiles" => wish.choose(Mode::Profiles)?,
                "--advice" => wish.choose(Mode::Advice)?,
                "--overhead" => wish.choose(Mode::Overhead)?,
                "--responses" => wish.choose(Mode::Responses)?,
                "--small" => wish.choose(Mode::Small)?,
                _ => wish.set(word, words.next())?,
            }
        }
        wish.must_fit()?;
        let name = wish.only.iter().find(|name| PROGRAMS.iter().all(|program| program.name != **name));
        match name {
            None => Ok(wish),
            Some(name) => {
                let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
                Err(format!("no program is called `{name}`; there are {}", names.join(", ")))
            }
        }
    }

    fn choose(&mut self, mode: Mode) -> Result<(), String> {
        if self.mode != Mode::Compare {
            return Err(USAGE.into());
        }
        self.mode = mode;
        Ok(())
    }

    /// A flag that has a value.
    fn set(&mut self, flag: &str, value: Option<&String>) -> Result<(), String> {
        let value = value.ok_or(USAGE)?;
        match flag {
            "--only" => self.only.extend(value.split(',').map(str::to_owned)),
            "--rounds" => self.rounds = Some(rounds(value)?),
            "--library" => self.library = Some(value.into()),
            "--lock" => self.lock = Some(value.clone()),
            _ => return Err(USAGE.into()),
        }
        Ok(())
    }

    /// Whether the mode knows all the flags.
    fn must_fit(&self) -> Result<(), String> {
        let (has_rounds, is_ours) = (self.rounds.is_some(), self.library.is_none() && self.lock.is_none());
        let fits = match self.mode {
            Mode::Compare => true,
            Mode::Predict => is_ours && !self.is_check && !has_rounds,
            Mode::Profiles => is_ours && !has_rounds,
            Mode::Advice | Mode::Overhead | Mode::Responses => is_ours && !self.is_check,
            Mode::Small => !self.is_check,
        };
        if fits { Ok(()) } else { Err(USAGE.into()) }
    }

    /// Whether the program of this name shall run.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    /// Whether the figures are those of all programs with what is built from here, as the page shows them.
    pub(super) fn is_whole(&self) -> bool {
        self.only.is_empty() && self.lock.is_none()
    }
}

fn rounds(value: &str) -> Result<u32, String> {
    let rounds = value.parse().ok().filter(|rounds| *rounds > 0);
    rounds.ok_or_else(|| format!("--rounds {value}: a number from 1 is wanted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Wish, String> {
        Wish::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_understood_or_refused() {
        assert_eq!(parse(""), Ok(Wish::default()));
        let wish = parse("--only leveldb,node --rounds 3 --library a.so --lock std --check").unwrap();
        assert_eq!((wish.only.len(), wish.rounds, wish.is_check), (2, Some(3), true));
        assert_eq!((wish.library.clone(), wish.lock.as_deref()), (Some("a.so".into()), Some("std")));
        assert!(wish.wants("node") && !wish.wants("sqlite") && parse("").unwrap().wants("sqlite"));
        assert!(parse("--only leveldb").is_ok_and(|wish| !wish.is_whole()));
        assert!(parse("--only redis").unwrap_err().contains("`redis`; there are uncontended, sysbench-mutex"));
        assert!(parse("--rounds 0").unwrap_err().contains("from 1"));
        for refused in ["--rounds", "--quick yes"] {
            assert_eq!(parse(refused), Err(USAGE.into()));
        }
    }

    #[test]
    fn each_mode_has_its_flags() {
        let mode = |text| parse(text).map(|wish| wish.mode);
        assert_eq!(mode("--predict --only node"), Ok(Mode::Predict));
        assert_eq!(mode("--check --profiles"), Ok(Mode::Profiles));
        assert_eq!(mode("--advice --rounds 2"), Ok(Mode::Advice));
        assert_eq!(mode("--overhead --rounds 2"), Ok(Mode::Overhead));
        assert_eq!(mode("--responses --only node"), Ok(Mode::Responses));
        assert_eq!(mode("--small --rounds 2 --library a.so --lock std"), Ok(Mode::Small));
        for refused in [
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
            assert_eq!(mode(refused), Err(USAGE.into()), "{refused}");
        }
    }
}
