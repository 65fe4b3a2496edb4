//! What the loader runs of this library: before the program begins, and after its end.

use crate::{launched, platform, process, real, thread};

/// Run by the loader before the program, so that nothing of this has to be done when a mutex is first locked: the C library
/// may allocate here, take the loader's lock, or read files.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        real::look_up_all();
        platform::ask_early();
        ondeck_record::ask_by(thread::number);
        ondeck_record::ask_loader();
        // SAFETY: the handler only stores.
        unsafe { libc::pthread_atfork(None, None, Some(process::in_child)) };
        // A recording tells of programs without a lock, too.
        process::prepare();
        launched::obey();
    }
    begin
};

/// Before any lock is used.
#[used]
#[unsafe(link_section = ".init_array.00100")]
static STAY_LOUD: extern "C" fn() = {
    extern "C" fn stay_loud() {
        // To release by a sequence is not cheaper there for functions that are called (X42 in docs/experiments.md).
        if ondeck_core::Hardware::is_zen_3() {
            ondeck_core::Hardware::stay_loud();
        }
    }
    stay_loud
};

/// Run by the loader after the program's own end.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = {
    extern "C" fn end() {
        ondeck_record::exit();
    }
    end
};
