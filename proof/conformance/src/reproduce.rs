//! One line that reproduces a failure, and one with the steps that led to it, printed beside the panic's own message.
//!
//! They are printed by the panic hook because a deadlock inside loom panics while panicking and so aborts the process:
//! nothing that runs after the first panic can be relied on.

use crate::depth;
use crate::steps;
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static LINE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// While this lives, a panic on this thread (or a coroutine of it) prints how to run the failing case again.
pub(crate) struct ReproductionLine(());

impl ReproductionLine {
    /// `environment` is what must be set, as `NAME=value ` with a blank after each, or nothing.
    pub(crate) fn with(environment: &str) -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(install_hook);
        let test = std::thread::current().name().unwrap_or("").to_owned();
        let binary = std::env::current_exe().ok().and_then(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        let target = binary.as_deref().and_then(|name| name.rsplit_once('-')).map_or("", |(target, _hash)| target);
        let long = if depth::is_whole() { "ONDECK_LONG=1 " } else { "" };
        let line = format!("{long}{environment}cargo test -p ondeck-conformance --test {target} -- --exact {test}");
        LINE.set(Some(line));
        ReproductionLine(())
    }
}

impl Drop for ReproductionLine {
    fn drop(&mut self) {
        LINE.set(None);
    }
}

fn install_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        if let Some(line) = LINE.with(|line| line.try_borrow_mut().ok()?.take()) {
            eprintln!("reproduce: {line}");
            eprintln!("steps:{}", steps::story());
        }
    }));
}
