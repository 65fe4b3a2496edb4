//! Processes that run already and have the recorder in them: it is found, switched on, and off again. The protocol is in
//! [`ondeck_record::control`], whose observer this is.

mod filters;
mod made;
mod memory;

pub use filters::{Filter, Refused};
pub use made::{file_name, make_ready};
use memory::Memory;
use ondeck_futex::process::number_inside;
pub use ondeck_record::RecordOptions;
use ondeck_record::control::{Control, answer, command};
pub use ondeck_record::layout::HEADER_BYTES;
use std::fmt;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Why a process is not recorded.
#[derive(Debug)]
pub enum NotRecorded {
    /// No recorder is in it: it was not started by `ondeck run`, and has no locks that can record.
    NoRecorder,
    /// Its memory may not be written, or is gone.
    NotAllowed(io::Error),
    /// Its recorder is of another version, whose recordings begin with these bytes.
    OtherVersion(u64),
    /// More bytes of its memory than these would have to be read to find one.
    TooMuch(u64),
    /// Another observer records it.
    Observed,
    /// It is recorded from its start on.
    FromItsStart,
    /// Its locks cannot be recorded.
    OtherLock,
    /// It cannot use the file for the recording: that was refused.
    NoFile(Refused),
    /// A filter of system calls is set that its recorder has not begun with.
    Filtered(Filter),
    /// No thread of it has used a lock for that time.
    Idle(Duration),
    /// It has begun to obey and does not come to an end, as if it were stopped.
    Stopped,
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotRecorded::NoRecorder => f.write_str("no recorder is in the process"),
            NotRecorded::NotAllowed(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                write!(f, "its memory may not be written: {error}")
            }
            NotRecorded::NotAllowed(error) if has_ended(error) => {
                f.write_str("it has ended or has become another program meanwhile")
            }
            NotRecorded::NotAllowed(error) => write!(f, "it cannot be reached: {error}"),
            NotRecorded::OtherVersion(_) => f.write_str("the recorder in the process is of another version of ondeck"),
            NotRecorded::TooMuch(most) => write!(
                f,
                "no recorder was found in the first {} MB of headers and notes of its files, and it has more of them",
                most >> 20
            ),
            NotRecorded::Observed => f.write_str("another ondeck records it just now"),
            NotRecorded::FromItsStart => f.write_str("it is recorded already, since it was started"),
            NotRecorded::OtherLock => f.write_str(
                "it runs with a lock that cannot be recorded; accepted: ondeck run with --lock ondeck or glibc",
            ),
            NotRecorded::NoFile(refused) => write!(f, "it cannot use a file for its recording: {refused}"),
            NotRecorded::Filtered(filter) => filter.fmt(f),
            NotRecorded::Stopped => f.write_str("it stands still"),
            NotRecorded::Idle(time) => write!(f, "no thread of it has used a lock for {:.0} s", time.as_secs_f64()),
        }
    }
}

impl std::error::Error for NotRecorded {}

/// How the kernel answers about memory that is gone.
fn has_ended(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, UnexpectedEof, WriteZero};
    const NO_PROCESS: i32 = 3;
    matches!(error.kind(), NotFound | UnexpectedEof | WriteZero) || error.raw_os_error() == Some(NO_PROCESS)
}

/// Who makes the files for a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// There is [one](file_name) for each recorder in the directory, [ready](make_ready).
    AreMade,
    /// The process itself. Under a filter of system calls that may end it.
    OfProcess,
}

/// A process with the recorder in it. Records until [`end`](Self::end). If it has not ended by the time when this is dropped, it
/// will with its next lock, and removes its file.
#[derive(Debug)]
pub struct RunningProcess {
    recorders: Arc<[Recorder]>,
    /// Those that record.
    begun: Vec<usize>,
    heart: Option<Heart>,
    /// What tells this observer from others.
    number: u64,
}

impl RunningProcess {
    /// The recorders of that process.
    pub fn find(pid: u32) -> Result<Self, NotRecorded> {
        let memory = Arc::new(Memory::of(pid)?);
        let process = number_inside(pid).unwrap_or(pid);
        let recorder =
            |control| Recorder { pid, memory: memory.clone(), control, process, was_rung: AtomicBool::new(false) };
        let recorders: Arc<[Recorder]> = memory.recorders().iter().copied().map(recorder).collect();
        if recorders.is_empty() {
            return Err(memory.why_none());
        }
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64);
        let number = (now ^ u64::from(std::process::id()) << 40).max(1);
        let process = RunningProcess { recorders, begun: Vec::new(), heart: None, number };
        process.be_the_only_one()?;
        Ok(process)
    }

    /// Takes the place of the observer, unless another one beats there.
    fn be_the_only_one(&self) -> Result<(), NotRecorded> {
        /// Another one that came at the same time has written by then.
        const A_WHILE: Duration = Duration::from_millis(5);
        let beats = || self.recorders.iter().map(Recorder::beats).collect::<Result<Vec<u64>, _>>();
        let observers = || self.recorders.iter().map(Recorder::observer).collect::<Result<Vec<u64>, _>>();
        if observers()?.iter().any(|number| *number != 0) {
            let before = beats()?;
            // Its thread may get a core late.
            for _ in 0..3 {
                std::thread::sleep(Heart::GAP);
                if beats()? != before {
                    return Err(NotRecorded::Observed);
                }
            }
        }
        self.recorders.iter().try_for_each(|recorder| recorder.be_observed_by(self.number))?;
        std::thread::sleep(A_WHILE);
        if observers()?.iter().any(|number| *number != self.number) {
            return Err(NotRecorded::Observed);
        }
        Ok(())
    }

    /// How many recorders it has. Each takes a file of its own.
    pub fn n_recorders(&self) -> usize {
        self.recorders.len()
    }

    /// Has it record what `options` say. Returns once it does; if it has several recorders, once those do that can.
    pub fn begin(&mut self, options: &RecordOptions, files: Files) -> Result<(), NotRecorded> {
        /// A server that does nothing may use a lock each second.
        const PATIENCE: Duration = Duration::from_secs(3);
        let until = Instant::now() + PATIENCE;
        for recorder in self.recorders.iter() {
            if recorder.observer()? != self.number {
                return Err(NotRecorded::Observed);
            }
            recorder.seal_or_refuse()?;
        }
        self.heart = Some(Heart::of(self.recorders.clone()).map_err(NotRecorded::NotAllowed)?);
        self.recorders.iter().for_each(Recorder::remember);
        for (at, recorder) in self.recorders.iter().enumerate() {
            let file = if files == Files::AreMade { at as u32 + 1 } else { 0 };
            recorder.write(offset_of!(Control, file), &file.to_ne_bytes())?;
            recorder.command(command::BEGIN, Some(options))?;
        }
        let mut why = NotRecorded::Idle(PATIENCE);
        for (at, recorder) in self.recorders.iter().enumerate() {
            match recorder.begun_until(until) {
                Ok(answer::BEGUN) => self.begun.push(at),
                Ok(answer::RECORDED) => why = NotRecorded::FromItsStart,
                Ok(answer::OTHER_LOCK) => why = NotRecorded::OtherLock,
                Ok(answer::NO_FILE) => why = NotRecorded::NoFile(recorder.refused()),
                Ok(_) => {}
                Err(error) => why = error,
            }
        }
        if self.begun.is_empty() {
            return Err(why);
        }
        Ok(())
    }

    /// Whether it still records what it was told to. It does not if it took us for gone, as when we were stopped, or if another
    /// observer has come at the same time.
    pub fn goes_on(&self) -> bool {
        let is_on = |recorder: &Recorder| recorder.answer().is_ok_and(|answer| answer == answer::BEGUN);
        let goes_on = |recorder: &Recorder| recorder.is_observed_by(self.number) && is_on(recorder);
        self.begun.iter().all(|at| goes_on(&self.recorders[*at]))
    }

    /// Whether another observer has come at the same time.
    pub fn has_another_observer(&self) -> bool {
        self.begun.iter().any(|at| !self.recorders[*at].is_observed_by(self.number))
    }

    /// Whether its memory is there no more: it has ended, or is about to, or has become another program.
    pub fn is_gone(&self) -> bool {
        self.recorders.iter().any(|recorder| recorder.memory.is_gone())
    }

    /// Whether it has become another program, of which nothing is recorded.
    pub fn has_become_another_program(&self) -> bool {
        self.recorders.iter().any(|recorder| recorder.memory.is_replaced())
    }

    /// Has it record no more, and says whether it does not. What it has recorded can be read then, in any case: a process that
    /// uses no lock writes nothing.
    pub fn end(&mut self) -> bool {
        const PATIENCE: Duration = Duration::from_millis(500);
        let until = Instant::now() + PATIENCE;
        let (recorders, number) = (&self.recorders, self.number);
        // What another observer has begun is its own.
        self.begun.retain(|at| recorders[*at].is_observed_by(number));
        for at in &self.begun {
            // Of a process that has ended nothing need be told.
            let _ = recorders[*at].command(command::END, None);
        }
        self.begun.retain(|at| matches!(recorders[*at].ended_until(until), Ok(false)));
        if self.begun.is_empty() {
            self.heart = None;
        }
        self.begun.is_empty()
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        self.end();
        for at in &self.begun {
            let _ = self.recorders[*at].command(command::ABANDON, None);
        }
        let ours = self.recorders.iter().filter(|recorder| recorder.is_observed_by(self.number));
        ours.for_each(|recorder| _ = recorder.be_observed_by(0));
    }
}

/// One recorder: the library's that was loaded before the program, or the program's own.
#[derive(Debug)]
struct Recorder {
    /// The process, by its number here.
    pid: u32,
    memory: Arc<Memory>,
    /// The address of its [`Control`].
    control: u64,
    /// The process, as it knows itself.
    process: u32,
    /// Whether its bytes were 1 before we came: in a program that records since its start they stay so.
    was_rung: AtomicBool,
}

impl Recorder {
    fn command(&self, command: u32, options: Option<&RecordOptions>) -> Result<(), NotRecorded> {
        self.write(offset_of!(Control, answer), &answer::NONE.to_ne_bytes())?;
        self.write(offset_of!(Control, process), &self.process.to_ne_bytes())?;
        if let Some(options) = options {
            self.write(offset_of!(Control, options), options.as_bytes())?;
        }
        self.write(offset_of!(Control, command), &command.to_ne_bytes())?;
        self.ring()
    }

    /// The answer to the command to begin; if there is none until then, that is taken back.
    fn begun_until(&self, until: Instant) -> Result<u32, NotRecorded> {
        /// A thread that has taken a command says so at once, unless it loses its core.
        const SURELY: Duration = Duration::from_millis(100);
        /// A sandbox may be closed meanwhile.
        const LOOK: Duration = Duration::from_millis(20);
        while Instant::now() < until && self.may_be_commanded().is_ok() {
            match self.answer_until(until.min(Instant::now() + LOOK))? {
                answer::NONE => {}
                answer => return Ok(answer),
            }
        }
        self.write(offset_of!(Control, command), &command::NOTHING.to_ne_bytes())?;
        std::thread::sleep(SURELY);
        let answer = self.answer_until(Instant::now())?;
        if answer == answer::NONE {
            self.silence()?;
            self.may_be_commanded()?;
        }
        Ok(answer)
    }

    /// Whether the command to end was obeyed until then. If not, it stays, and the next lock obeys.
    fn ended_until(&self, until: Instant) -> Result<bool, NotRecorded> {
        let has_ended = self.answer_until(until)? == answer::ENDED;
        if has_ended {
            self.silence()?;
        }
        Ok(has_ended)
    }

    /// The answer, or that there is none until then.
    fn answer_until(&self, until: Instant) -> Result<u32, NotRecorded> {
        /// To make a file takes some ms.
        const LONGEST: Duration = Duration::from_secs(5);
        loop {
            match self.answer()? {
                answer::NONE if Instant::now() >= until => return Ok(answer::NONE),
                answer::NONE => self.ring()?,
                answer::UNDER_WAY if Instant::now() >= until + LONGEST => return Err(NotRecorded::Stopped),
                answer::UNDER_WAY => {}
                answer => return Ok(answer),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn answer(&self) -> Result<u32, NotRecorded> {
        self.memory.word(self.control + offset_of!(Control, answer) as u64)
    }

    fn observer(&self) -> Result<u64, NotRecorded> {
        self.memory.word(self.control + offset_of!(Control, observer) as u64)
    }

    fn is_observed_by(&self, number: u64) -> bool {
        self.observer().is_ok_and(|found| found == number)
    }

    fn be_observed_by(&self, number: u64) -> Result<(), NotRecorded> {
        self.write(offset_of!(Control, observer), &number.to_ne_bytes())
    }

    fn beats(&self) -> Result<u64, NotRecorded> {
        self.memory.word(self.control + offset_of!(Control, beats) as u64)
    }

    fn beat(&self, beats: u64) {
        // Of a process that has ended nothing need be told.
        let _ = self.write(offset_of!(Control, beats), &beats.to_ne_bytes());
    }

    /// Remembers what is in the bytes by which threads learn of commands.
    fn remember(&self) {
        let is_set = |address: &u64| self.memory.word::<u8>(*address).is_ok_and(|byte| byte != 0);
        self.was_rung.store(self.bells().iter().any(is_set), Relaxed);
    }

    fn ring(&self) -> Result<(), NotRecorded> {
        self.bells().into_iter().try_for_each(|address| self.memory.write(address, &[1]))
    }

    fn silence(&self) -> Result<(), NotRecorded> {
        if self.was_rung.load(Relaxed) {
            return Ok(());
        }
        self.bells().into_iter().try_for_each(|address| self.memory.write(address, &[0]))
    }

    /// Where those bytes are.
    fn bells(&self) -> Vec<u64> {
        let bell = |at: usize| self.control + (offset_of!(Control, bells) + at * size_of::<u64>()) as u64;
        let address = |at| self.memory.word(bell(at)).ok();
        (0..Control::BELLS).filter_map(address).filter(|address| *address != 0).collect()
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<(), NotRecorded> {
        self.memory.write(self.control + at as u64, bytes)
    }
}

/// Shows the recorders that their observer is there. A thread of its own: to find names may take an observer long.
#[derive(Debug)]
struct Heart {
    stops: Arc<AtomicBool>,
    beats: Option<JoinHandle<()>>,
}

/// The same observer may begin again: no two beats of it are one number.
static BEATS: Mutex<u64> = Mutex::new(0);

impl Heart {
    const GAP: Duration = Duration::from_millis(500);

    fn of(recorders: Arc<[Recorder]>) -> io::Result<Self> {
        let stops = Arc::new(AtomicBool::new(false));
        let is_over = stops.clone();
        let started = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
        let beat = move || {
            while !is_over.load(Relaxed) {
                let mut beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner);
                *beats += 1;
                recorders.iter().for_each(|recorder| recorder.beat(started.wrapping_add(*beats)));
                recorders.iter().for_each(Recorder::seal_if_filtered);
                drop(beats);
                std::thread::park_timeout(Self::GAP);
            }
        };
        let beats = std::thread::Builder::new().name("beats".to_owned()).spawn(beat)?;
        Ok(Heart { stops, beats: Some(beats) })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stops.store(true, Relaxed);
        if let Some(beats) = self.beats.take() {
            beats.thread().unpark();
            let _ = beats.join();
        }
    }
}
