//! What stacks must have in them: inlined and generic functions by name, and addresses where there are no names.

use crate::compare::{has_name, stack_text};
use crate::lock_of;
use crate::run::{ProfiledRun, opened_libraries};
use ondeck_profile::{Frame, Profile};

/// A function, and whether the compiler put it into its caller; `None` if that is up to it.
type Expected<'a> = (&'a str, Option<bool>);

/// Whether these frames follow each other somewhere in the stack.
fn has_run(profile: &Profile, stack: u32, expected: &[Expected]) -> bool {
    let frames: Vec<&Frame> = profile.frames_of(stack).collect();
    frames.windows(expected.len()).any(|window| {
        window.iter().zip(expected).all(|(frame, (name, is_inlined))| {
            has_name(&frame.function, name) && is_inlined.is_none_or(|is_inlined| frame.is_inlined == is_inlined)
        })
    })
}

/// Who waited for the lock came this way, all of them.
fn waiters_came(profile: &Profile, lock: &str, expected: &[Expected]) -> Vec<String> {
    let lock = lock_of(profile, lock);
    let others = lock.waiters.iter().filter(|site| !has_run(profile, site.stack, expected));
    let mut faults: Vec<String> = others
        .map(|site| format!("lock {}: {expected:?} expected, {} found", lock.name, stack_text(profile, site.stack)))
        .collect();
    if lock.waiters.is_empty() {
        faults.push(format!("lock {}: nobody waited", lock.name));
    }
    faults
}

pub(crate) fn templates(run: &ProfiledRun) -> Vec<String> {
    let whole = [
        ("Guarded<int>::put_inside", Some(true)),
        ("Guarded<int>::put", Some(false)),
        ("waits_for_the_whole", Some(false)),
    ];
    let mut faults = waiters_came(&run.profile, "shop::whole.mutex", &whole);
    let begin = [("Guarded<double>::put_inside", Some(true)), ("Guarded<double>::put", Some(false))];
    faults.extend(waiters_came(&run.profile, "shop::broken.mutex", &begin));
    let end = [("call_it", Some(false)), ("waits_for_the_broken", Some(false))];
    faults.extend(waiters_came(&run.profile, "shop::broken.mutex", &end));
    // Compilers give no more of a lambda's name than that, where it has no symbol of its own.
    let lambda = [("Guarded<double>::put", Some(false)), ("operator()", Some(true)), ("call_it", Some(false))];
    faults.extend(waiters_came(&run.profile, "shop::broken.mutex", &lambda));
    faults
}

pub(crate) fn generics(run: &ProfiledRun) -> Vec<String> {
    let way = [("take_inside", Some(true)), ("take", Some(false)), ("grows", Some(false))];
    let mut faults = waiters_came(&run.profile, "*APPLES*", &way);
    faults.extend(waiters_came(&run.profile, "*PEARS*", &way));
    // The last part of an older symbol is a hash, as `::h937bebcd6a692afa`.
    let has_hash = |function: &str| {
        let last = function.rsplit("::h").next().filter(|last| function.contains("::h") && last.len() == 16);
        last.is_some_and(|last| last.chars().all(|c| c.is_ascii_hexdigit()))
    };
    let frames = run.profile.frames.iter().filter(|frame| has_hash(&frame.function));
    faults.extend(frames.map(|frame| format!("{}: with its hash", frame.function)));
    faults
}

/// Three frames of the program, each within its function, with the build id that the file has.
pub(crate) fn stripped(run: &ProfiledRun) -> Vec<String> {
    let (profile, truth) = (&run.profile, &run.truths[0]);
    let mut faults = Vec::new();
    let address = truth.locks[0].address();
    let locks = profile.locks.iter().filter(|lock| lock.address == address);
    for site in locks.flat_map(|lock| &lock.waiters) {
        let frames: Vec<&Frame> = profile.frames_of(site.stack).take(3).collect();
        let is_in = |frame: &Frame, function: &str| {
            let (from, to) = truth.bounds(function).unwrap_or_default();
            (from..to).contains(&frame.address) && frame.function == format!("{}+{:#x}", frame.module, frame.address)
        };
        let functions = ["waits_inside", "waits_between", "waits_outside"];
        if frames.len() < 3 || !frames.iter().zip(functions).all(|(frame, function)| is_in(frame, function)) {
            faults.push(format!("{functions:?} expected, {} found", stack_text(profile, site.stack)));
        }
    }
    let expected = build_id(&run.command[0]);
    for frame in profile.frames.iter().filter(|frame| frame.module == truth.program) {
        if frame.build_id != expected {
            faults.push(format!("{}: build id {expected} expected, {} found", frame.function, frame.build_id));
        }
    }
    faults
}

/// What the linker wrote: in the note `GNU`, of type 3. There is one such note in these programs.
fn build_id(program: &str) -> String {
    let bytes = std::fs::read(program).unwrap();
    let head = b"\x14\0\0\0\x03\0\0\0GNU\0";
    let at =
        bytes.windows(head.len()).position(|window| window == head).expect("a program with a build id") + head.len();
    bytes[at..at + 20].iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn opened(run: &ProfiledRun) -> Vec<String> {
    let mut faults = Vec::new();
    for (lock, library) in ["lock_of_library", "lock_of_closed_library"].into_iter().zip(opened_libraries()) {
        let id = build_id(&library);
        for site in &lock_of(&run.profile, lock).waiters {
            let frames: Vec<&Frame> = run.profile.frames_of(site.stack).take(2).collect();
            let modules: Vec<&str> = frames.iter().map(|frame| frame.module.as_str()).collect();
            if modules != ["opened_lib.so", "opened"] || frames[0].build_id != id {
                faults.push(format!("lock {lock}: frames in {library} ({id}) and opened expected, {frames:?} found"));
            }
        }
    }
    faults
}
