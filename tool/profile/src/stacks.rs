//! The frames and stacks of a profile, each once and with names: both collectors look addresses up in them.

use crate::names::{brief, line};
use crate::profile::Frame;
use crate::symbols::{Module, Symbols};
use crate::wrappers::anonymous::{self, closure_for, is_standard};
use crate::wrappers::{is_wrapper, only_locks};
use indexmap::IndexSet;
use ondeck_record::read::outside::{Share, Spent};
use std::collections::HashMap;

/// The code of a process image, by the number of the image.
#[derive(Clone, Copy)]
pub(crate) struct Code<'a> {
    pub(crate) image: usize,
    pub(crate) modules: &'a [Module],
}

/// What is asked of an image's code. All addresses are return addresses.
#[derive(PartialEq, Eq, Hash)]
enum Question {
    Frames(u64),
    TailCaller(u64),
    Jumper(u32, u64),
    Entered(u64, u64),
}

/// The frames and stacks, and what was looked up for them.
pub(crate) struct Stacks<'s> {
    pub(crate) symbols: &'s mut Symbols,
    pub(crate) frames: IndexSet<Frame>,
    /// The short name of each frame.
    briefs: Vec<String>,
    pub(crate) list: IndexSet<Vec<u32>>,
    known: HashMap<(usize, Question), Vec<u32>>,
    /// Of the symbols' budget, for what is in here.
    share: Option<Share>,
    spent: Option<Spent>,
}

/// In the place of functions and stacks for which there is no room.
const LEFT_OUT: &str = "[left out, no room]";

impl<'s> Stacks<'s> {
    pub(crate) fn new(symbols: &'s mut Symbols) -> Self {
        let (frames, list) = (IndexSet::new(), IndexSet::new());
        let share = symbols.budget().take(0).ok();
        Stacks { symbols, frames, briefs: Vec::new(), list, known: HashMap::new(), share, spent: None }
    }

    /// Whether so many bytes more may be kept.
    fn fits(&mut self, bytes: usize) -> bool {
        let grown = self.share.as_mut().map_or(Ok(()), |share| share.grow(bytes as u64));
        self.spent = self.spent.or(grown.err());
        grown.is_ok()
    }

    /// What to say of those that were left out.
    pub(crate) fn remark(&self) -> Option<String> {
        self.spent.map(|spent| format!("some functions and stacks are missing, as they do not fit: {spent}"))
    }

    pub(crate) fn frame(&self, number: u32) -> &Frame {
        &self.frames[number as usize]
    }

    pub(crate) fn brief(&self, number: u32) -> &str {
        &self.briefs[number as usize]
    }

    /// Whether a frame only locks.
    pub(crate) fn is_wrapper(&self, number: u32) -> bool {
        is_wrapper(self.frame(number), self.brief(number))
    }

    /// The frames of a stack, the innermost first.
    pub(crate) fn of(&self, stack: u32) -> &[u32] {
        &self.list[stack as usize]
    }

    /// The same, each with its short name.
    pub(crate) fn named(&self, stack: u32) -> impl Iterator<Item = (&Frame, &str)> + Clone {
        self.of(stack).iter().map(|number| (self.frame(*number), self.brief(*number)))
    }

    /// As names of locks have it: `first seen in work (a.c:7)`.
    pub(crate) fn place(&self, verb: &str, number: u32) -> String {
        format!("{verb}in {}{}", self.brief(number), line(self.frame(number)))
    }

    pub(crate) fn number(&mut self, mut frame: Frame) -> u32 {
        // Its short name, and the place of both, take about as much.
        let bytes = 2 * (size_of::<Frame>() + frame.function.len() + frame.module.len() + frame.file.len());
        if !self.frames.contains(&frame) && !self.fits(bytes) {
            frame = Frame { function: LEFT_OUT.to_owned(), ..Frame::default() };
        }
        let (number, is_new) = self.frames.insert_full(frame);
        if is_new {
            self.briefs.push(brief(&self.frames[number].function));
        }
        number as u32
    }

    /// The number of a stack of these frames, in which those without a name of their own get one.
    pub(crate) fn stack(&mut self, mut frames: Vec<u32>) -> u32 {
        let list: Vec<&Frame> = frames.iter().map(|number| self.frame(*number)).collect();
        for (at, frame) in anonymous::named(&list) {
            frames[at] = self.number(frame);
        }
        for at in (0..frames.len()).rev() {
            if let Some(closure) = self.closure_of_gone(frames[at], &frames[at + 1..]) {
                frames.insert(at + 1, closure);
            }
        }
        self.stack_as_it_is(frames)
    }

    /// The closure that a function runs, in the place of who made it, if that is not on the stack: its last act was a jump.
    fn closure_of_gone(&mut self, number: u32, around: &[u32]) -> Option<u32> {
        let (frame, name) = (self.frame(number), self.brief(number));
        let is_own =
            !frame.is_inlined && !only_locks(frame, name) && !is_standard(name.split("::").next().unwrap_or(""));
        let closure = closure_for(&frame.function).filter(|_| is_own)?;
        let mut outer = around.iter().filter(|outer| !self.is_wrapper(**outer));
        let is_there = outer.next().is_some_and(|maker| {
            brief(closure).strip_prefix(self.brief(*maker)).is_some_and(|rest| rest.starts_with("::"))
        });
        let (function, module) = (closure.replace("_env#", "#"), frame.module.clone());
        (!is_there).then(|| self.number(Frame { function, module, is_named: true, ..Frame::default() }))
    }

    /// The same without new names.
    pub(crate) fn stack_as_it_is(&mut self, mut frames: Vec<u32>) -> u32 {
        if !self.list.contains(&frames) && !self.fits(size_of_val(&*frames) + 2 * size_of::<Vec<u32>>()) {
            frames = vec![self.number(Frame { function: LEFT_OUT.to_owned(), ..Frame::default() })];
        }
        self.list.insert_full(frames).0 as u32
    }

    /// The functions at an address.
    pub(crate) fn frames_of(&mut self, code: Code, address: u64) -> Vec<u32> {
        // What is left of a recorded stack begins behind the recorder's own frames, and the address of a system call is
        // behind its instruction: all are return addresses.
        self.known(code, Question::Frames(address), |all| all.symbols.frames(code.modules, address, true))
    }

    /// The function that has jumped to the one that locks or unlocks.
    pub(crate) fn tail_caller(&mut self, code: Code, caller: u64) -> Vec<u32> {
        self.known(code, Question::TailCaller(caller), |all| all.symbols.tail_caller(code.modules, caller))
    }

    /// The function that is not on the stack any more between that of a frame, which returns to `inner`, and its caller.
    pub(crate) fn gone_before(&mut self, code: Code, reached: u32, inner: u64, caller: u64) -> Vec<u32> {
        match self.frame(reached).is_named {
            true => self.jumper(code, reached, caller),
            false => self.entered(code, inner, caller),
        }
    }

    /// The function that has jumped to that of a frame, if the caller had called another one.
    fn jumper(&mut self, code: Code, reached: u32, caller: u64) -> Vec<u32> {
        self.known(code, Question::Jumper(reached, caller), |all| {
            let function = &all.frames[reached as usize].function;
            all.symbols.jumper(code.modules, function, caller)
        })
    }

    /// The function of a library by which its nameless part was reached that `inner` returns to.
    fn entered(&mut self, code: Code, inner: u64, caller: u64) -> Vec<u32> {
        self.known(code, Question::Entered(inner, caller), |all| all.symbols.entered(code.modules, inner, caller))
    }

    fn known(&mut self, code: Code, question: Question, ask: impl FnOnce(&mut Self) -> Vec<Frame>) -> Vec<u32> {
        let key = (code.image, question);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let numbers: Vec<u32> = ask(self).into_iter().map(|frame| self.number(frame)).collect();
        if self.fits(size_of_val(&*numbers) + 2 * size_of::<(usize, Question, Vec<u32>)>()) {
            self.known.insert(key, numbers.clone());
        }
        numbers
    }
}
