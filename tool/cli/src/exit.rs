//! How the program ends.

/// Any end but a plain success.
pub(crate) enum Exit {
    /// The command line or an input file is wrong; one line that says what is accepted.
    Usage(String),
    /// The run failed; one line that says what was seen.
    Failed(String),
    /// A program has not been started; one line that says why, and the exit code for it.
    NotStarted(String, i32),
    /// A program that was started here has ended, with this exit code, after all of ours was done.
    Program(i32),
    /// A program that was started here has ended in a way that leaves nothing to say but this line; with its exit code.
    Ended(String, i32),
    /// A signal has ended the run, Ctrl-C say; what was ready has been written.
    Interrupted(i32),
    /// The reader of our output has gone.
    BrokenPipe,
}

/// Says what is to be said and gives the exit code.
pub(crate) fn code(done: Result<(), Exit>) -> i32 {
    match done {
        Ok(()) => 0,
        Err(Exit::BrokenPipe) => 0,
        Err(Exit::Failed(what)) => {
            eprintln!("error: {what}");
            1
        }
        Err(Exit::Usage(what)) => {
            eprintln!("error: {what}");
            2
        }
        Err(Exit::NotStarted(what, code) | Exit::Ended(what, code)) => {
            eprintln!("error: {what}");
            code
        }
        Err(Exit::Program(code)) => code,
        // As a shell says of a program that the signal has killed.
        Err(Exit::Interrupted(signal)) => 128 + signal,
    }
}
