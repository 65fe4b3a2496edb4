//! How the program ends.

/// Any end but a plain success.
pub enum Exit {
    /// The command line or an input file is wrong; one line that says what is accepted.
    Usage(String),
    /// The run failed; one line that says what was seen.
    Failed(String),
    /// A program has not been started, or has ended in a way that leaves nothing else to say; one line, and the exit code.
    OfProgram(String, i32),
    /// A program that was started here has ended, with this exit code, after all of ours was done.
    Program(i32),
    /// A signal has ended the run, Ctrl-C say; what was ready has been written.
    Interrupted(i32),
    /// The reader of our output has gone.
    BrokenPipe,
}

/// Says what is to be said and gives the exit code.
pub fn code(done: Result<(), Exit>) -> i32 {
    let (what, code) = match done {
        Ok(()) | Err(Exit::BrokenPipe) => return 0,
        Err(Exit::Program(code)) => return code,
        // As a shell says of a program that the signal has killed.
        Err(Exit::Interrupted(signal)) => return 128 + signal,
        Err(Exit::Failed(what)) => (what, 1),
        Err(Exit::Usage(what)) => (what, 2),
        Err(Exit::OfProgram(what, code)) => (what, code),
    };
    eprintln!("error: {what}");
    code
}
