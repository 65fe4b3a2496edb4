//! Names for closures, lambdas and destructors that were compiled into their callers. Debug information may call them
//! `{closure#0}`, `operator()` or `drop` and no more: then the functions around them tell whose they are, by the types that
//! they were compiled for.

use crate::names::brief;
use crate::profile::Frame;
use crate::wrappers::{is_below, is_wrapper, top};

/// The frames of a stack, innermost first, that get another name, by their places.
pub(crate) fn named(stack: &[&Frame]) -> Vec<(usize, Frame)> {
    let mut found: Vec<(usize, Frame)> = Vec::new();
    // Whose closure it is, may be a closure's that has a name by now.
    for at in (0..stack.len()).rev() {
        let frame = stack[at];
        let Some(anonymous) = Anonymous::of(frame) else { continue };
        let function = |at: usize| match found.iter().find(|(known, _)| *known == at) {
            Some((_, frame)) => frame.function.as_str(),
            None => stack[at].function.as_str(),
        };
        // Up to the first of the program, or of a library that is compiled for nobody.
        let is_last = |outer: &usize| is_of_program(stack[*outer]) || is_below(stack[*outer]);
        let last = (at + 1..stack.len()).find(is_last);
        let around = || (at + 1..=last.unwrap_or(stack.len() - 1)).map(function);
        let caller = last.filter(|last| is_of_program(stack[*last]));
        let named_by = |caller| {
            let outer = match anonymous {
                Anonymous::Closure(_) => with_crate(brief(function(caller)), stack[caller], stack),
                Anonymous::Lambda => brief(function(caller)),
            };
            format!("{outer}::{}", anonymous.name())
        };
        let name = anonymous.type_in(around()).or_else(|| caller.map(named_by));
        if let Some(function) = name {
            found.push((at, Frame { function, ..frame.clone() }));
        }
    }
    found.extend(stack.windows(2).enumerate().filter_map(|(at, pair)| Some((at, dropped(pair[0], pair[1])?))));
    found.extend(run_by_a_thread(stack));
    found
}

/// `app::work` of `work`, which is all that tables of lines have of a function that was inlined. A closure in it tells the path
/// where something is compiled for it, and other functions of the package tell the crate.
fn with_crate(brief_name: String, frame: &Frame, stack: &[&Frame]) -> String {
    if brief_name.contains("::") || !frame.is_inlined {
        return brief_name;
    }
    let closure = format!("::{brief_name}::{{");
    let in_a_name = |function: &str| {
        let whole = |(at, _)| function[begin(function, at, " &*").unwrap_or(0)..at].to_owned();
        let mut paths = function.match_indices(&closure).map(whole);
        paths.find(|path| !path.contains(['<', '>']) && !is_standard(path.split("::").next().unwrap_or_default()))
    };
    let of_package = |other: &&&Frame| is_of_program(other) && package(&other.file) == package(&frame.file);
    let crate_of = |other: &&Frame| Some(brief(&other.function).split_once("::")?.0.to_owned());
    let whose = stack
        .iter()
        .find_map(|other| in_a_name(&other.function))
        .or_else(|| stack.iter().filter(of_package).find_map(crate_of).filter(|whose| !whose.starts_with('{')));
    whose.map_or(brief_name.clone(), |whose| format!("{whose}::{brief_name}"))
}

/// What the files of a package of Rust have in common; a file that lies elsewhere stands for itself.
fn package(file: &str) -> &str {
    file.rfind("src/").map_or(file, |at| &file[..at])
}

/// `app::Guard::drop` of Rust's `drop` by its caller, `drop_in_place<app::Guard>`.
fn dropped(frame: &Frame, outer: &Frame) -> Option<Frame> {
    let of =
        outer.function.strip_prefix("drop_in_place<").filter(|_| frame.function.split('<').next() == Some("drop"))?;
    let function = format!("{}::drop", &of[..end(of)]);
    (!is_wrapper(frame, "drop")).then(|| Frame { function, ..frame.clone() })
}

/// Without debug information, what a thread runs is compiled into a function of the standard library.
fn run_by_a_thread(stack: &[&Frame]) -> Option<(usize, Frame)> {
    let is_wrapped = |at: &usize| is_wrapper(stack[*at], &brief(&stack[*at].function));
    let at = top(0..stack.len(), is_wrapped, |at| is_below(stack[*at]))?;
    let frame = Some(stack[at]).filter(|frame| frame.line == 0)?;
    let name = frame.function.as_str();
    let function = match name.strip_prefix('<').unwrap_or(name) {
        rest if rest.starts_with("std::thread::") && rest.contains("{closure#") => closure_in(name)?,
        _ if name.starts_with("std::") => Anonymous::Lambda.type_in(std::iter::once(name))?,
        _ => return None,
    };
    Some((at, Frame { function, ..frame.clone() }))
}

/// The closure that a function of the standard library is compiled for, as symbols have it.
fn closure_in(name: &str) -> Option<String> {
    let whole = |(at, _)| Some(&name[begin(name, at, " &*")?..]);
    let types = name.match_indices("::{closure#").filter_map(whole);
    let mut own = types.filter(|path| !is_standard(path.split("::").next().unwrap_or_default()));
    own.next().map(|path| path[..end(path)].to_owned())
}

fn is_of_program(frame: &Frame) -> bool {
    let brief = brief(&frame.function);
    let is_standard = brief.split_once("::").is_some_and(|(root, _)| is_standard(root));
    frame.is_named && !is_standard && !is_below(frame) && !is_wrapper(frame, &brief)
}

pub(crate) fn is_standard(root: &str) -> bool {
    ["std", "core", "alloc"].contains(&root)
}

/// A function without a path.
enum Anonymous<'a> {
    /// Rust's, as `closure#0` or `async_block#1`.
    Closure(&'a str),
    /// C++'s.
    Lambda,
}

impl<'a> Anonymous<'a> {
    fn of(frame: &'a Frame) -> Option<Anonymous<'a>> {
        let function = frame.function.as_str();
        let closure = function.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let anonymous = match closure {
            Some((label, rest)) if label.contains('#') && !rest.starts_with("::") => Anonymous::Closure(label),
            None if function.starts_with("operator()") => Anonymous::Lambda,
            _ => return None,
        };
        (!is_wrapper(frame, &brief(function))).then_some(anonymous)
    }

    fn name(&self) -> String {
        match self {
            Anonymous::Closure(label) => format!("{{{label}}}"),
            Anonymous::Lambda => "{lambda}::operator()".to_owned(),
        }
    }

    /// Its name by its type, from the first of these functions that is compiled for it: the type is among those in the
    /// function's name.
    fn type_in<'f>(&self, mut functions: impl Iterator<Item = &'f str> + Clone) -> Option<String> {
        match self {
            Anonymous::Closure(label) => {
                let own_type = format!("{{{}}}", label.replacen('#', "_env#", 1));
                functions.find_map(|function| {
                    let path = |(at, _)| Some(&function[begin(function, at, " &*")?..at]);
                    let mut paths = function.match_indices(&own_type).filter_map(path);
                    let path = paths.find(|path| !is_standard(path.split("::").next().unwrap_or_default()))?;
                    Some(format!("{path}{{{label}}}"))
                })
            }
            // Symbols number them, debug information does not.
            Anonymous::Lambda => ["{lambda(", "<lambda("].into_iter().find_map(|sign| {
                functions.clone().find_map(|function| {
                    let whole = |(at, _)| Some(function[begin(function, at, "")?..].trim_start());
                    let whole = function.match_indices(sign).filter_map(whole).find(|it| !it.starts_with("std::"))?;
                    Some(format!("{}::operator()", curly(whole[..end(whole)].trim_end_matches([' ', '&', '*']))))
                })
            }),
        }
    }
}

/// Where in a name the type begins that has a part at `at`, if it is one of those in angle brackets: behind the bracket, a
/// comma, or one of `ends`.
fn begin(name: &str, at: usize, ends: &str) -> Option<usize> {
    let mut depth = 0;
    for (place, c) in name[..at].char_indices().rev() {
        match c {
            '>' if name[..place].ends_with('-') => {}
            '>' | ')' | ']' => depth += 1,
            '<' | '(' | '[' if depth > 0 => depth -= 1,
            '(' | '[' => return None,
            '<' => return Some(place + 1),
            _ if depth == 0 && (c == ',' || ends.contains(c)) => return Some(place + 1),
            _ => {}
        }
    }
    None
}

/// Where the type ends that a text begins with.
fn end(text: &str) -> usize {
    let mut depth = 0;
    for (place, c) in text.char_indices() {
        match c {
            '>' if text[..place].ends_with('-') => {}
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' if depth > 0 => depth -= 1,
            '>' | ')' | ']' => return place,
            ',' if depth == 0 => return place,
            _ => {}
        }
    }
    text.len()
}

/// The closure that a function is compiled for, by its name: `A::work()::{lambda()#1}` of `with<A::work()::{lambda()#1}>(int)`. Not
/// that of the class that it is of, which may have kept it.
pub(crate) fn closure_for(function: &str) -> Option<&str> {
    let is_closure = |one: &&str| {
        let signs = ["::{lambda(", "::<lambda(", "::{closure"];
        let is_own = |at| begin(one, at, "").is_none() && !is_standard(one.split("::").next().unwrap_or_default());
        signs.iter().filter_map(|sign| one.find(sign)).any(is_own)
    };
    let mut rest = function;
    while let Some(open) = rest.find('<') {
        rest = &rest[open + 1..];
        let mut types = Vec::new();
        let behind = loop {
            let (one, more) = rest.split_at(end(rest));
            types.push(one.trim());
            rest = more.strip_prefix([',', '>']).unwrap_or_default();
            if !more.starts_with(',') {
                break more;
            }
        };
        let is_last = behind == ">" || behind.starts_with(">(");
        if let Some(found) = types.into_iter().find(is_closure).filter(|_| is_last) {
            return Some(found);
        }
    }
    None
}

/// `{lambda(int)}` of `<lambda(int)>`, as symbols have it.
fn curly(name: &str) -> String {
    let mut name = name.to_owned();
    while let Some(at) = name.find("<lambda(") {
        let close = at + 1 + end(&name[at + 1..]);
        if close < name.len() {
            name.replace_range(close..=close, "}");
        }
        name.replace_range(at..=at, "{");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str) -> Frame {
        let (function, file) = (function.to_owned(), file.to_owned());
        Frame { function, file, line: 7, is_named: true, is_inlined: true, ..Frame::default() }
    }

    /// The functions of a stack, with their files, and the names that they get.
    fn names(stack: &[(&str, &str)]) -> Vec<String> {
        let frames: Vec<Frame> = stack.iter().map(|(function, file)| frame(function, file)).collect();
        let mut names: Vec<String> = frames.iter().map(|frame| frame.function.clone()).collect();
        for (at, frame) in named(&frames.iter().collect::<Vec<_>>()) {
            names[at] = frame.function;
        }
        names
    }

    #[test]
    fn closures_are_named_by_what_was_compiled_for_them() {
        const STD: &str = "/rustc/00ff/library/std/src/thread/lifecycle.rs";
        let run = "{closure#0}<app::main::{closure_env#3}, ()>";
        let stack = [
            ("{closure#3}", "src/main.rs"),
            ("std::sys::backtrace::__rust_begin_short_backtrace", STD),
            (run, STD),
            ("call_once<(), std::thread::spawn_unchecked::{closure_env#0}<app::main::{closure_env#3}, ()>>", STD),
        ];
        assert_eq!(names(&stack)[0], "app::main::{closure#3}");
        assert_eq!(names(&stack)[2], run, "the library's own");
        let stack = [
            ("{closure#0}", "src/main.rs"),
            ("call_once<std::thread::spawn::{closure_env#0}<u8>, <app::A as app::B>::c::{closure_env#0}<u8>>", STD),
        ];
        assert_eq!(names(&stack)[0], "<app::A as app::B>::c::{closure#0}");
        let stack = [("{async_block#1}", "src/main.rs"), ("poll<&mut app::serve::{async_block_env#1}>", STD)];
        assert_eq!(names(&stack)[0], "app::serve::{async_block#1}");
    }

    #[test]
    fn closures_are_named_by_their_callers() {
        const STD: &str = "/rustc/00ff/library/std/src/thread/lifecycle.rs";
        let stack = [
            ("lock<u64>", "/rustc/00ff/library/std/src/sync/poison/mutex.rs"),
            ("{closure#0}", "src/main.rs"),
            ("{closure#1}<u64>", "src/main.rs"),
            ("app::outer", "src/main.rs"),
            ("call_once<app::main::{closure_env#0}>", STD),
        ];
        assert_eq!(names(&stack)[1..3], ["app::outer::{closure#1}::{closure#0}", "app::outer::{closure#1}"]);
        assert_eq!(names(&[("{closure#0}", "src/main.rs"), ("core::ops::f", "")])[0], "{closure#0}", "not known");
    }

    /// As with tables of lines only.
    #[test]
    fn closures_of_inlined_functions_keep_their_crate() {
        const STD: &str = "/rustc/00ff/library/std/src/thread/lifecycle.rs";
        const REGISTRY: &str = "/r/registry/src/x-1/other-1.0.0/src/lib.rs";
        // By what is compiled for the closure, or for one in it.
        let inner = ("with<app::deep::work::{closure#0}::{closure_env#0}, ()>", "src/main.rs");
        let stack = [("{closure#0}", "src/main.rs"), inner, ("{closure#0}", "src/main.rs"), ("work", "src/deep.rs")];
        assert_eq!(names(&stack)[0], "app::deep::work::{closure#0}::{closure#0}");
        assert_eq!(names(&stack)[2], "app::deep::work::{closure#0}");
        // By another function of the package.
        let outer = [("other::run", REGISTRY), ("app::start", "src/start.rs"), ("std::thread::f", STD)];
        let stack = [&[("{closure#0}", "src/main.rs"), ("main", "src/main.rs")][..], &outer].concat();
        assert_eq!(names(&stack)[0], "app::main::{closure#0}");
        let stack = [&[("{closure#0}", REGISTRY), ("each<u8>", REGISTRY)][..], &outer].concat();
        assert_eq!(names(&stack)[0], "other::each::{closure#0}");
        // A path is not made up.
        let stack = [("{closure#0}", "src/main.rs"), ("main", "src/main.rs"), ("other::run", REGISTRY)];
        assert_eq!(names(&stack)[0], "main::{closure#0}");
    }

    #[test]
    fn destructors_are_named_by_what_they_are_called_for() {
        const STD: &str = "/rustc/00ff/library/core/src/ptr/mod.rs";
        let stack = [("drop<u8>", "src/main.rs"), ("drop_in_place<app::Guard<'_, u8>>", STD)];
        assert_eq!(names(&stack)[0], "app::Guard<'_, u8>::drop");
        let stack = [("drop<app::Guard>", STD), ("app::work", "src/main.rs")];
        assert_eq!(names(&stack)[0], "drop<app::Guard>");
    }

    #[test]
    fn lambdas_are_named_by_what_was_compiled_for_them() {
        const STD: &str = "/usr/include/c++/12/bits/invoke.h";
        let run = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#3}> > >::_M_run()";
        let stack = [("operator()", "main.cc"), ("__invoke_impl<void, main()::<lambda(int)> >", STD), (run, STD)];
        assert_eq!(names(&stack)[0], "main::{lambda()#3}::operator()");
        assert_eq!(names(&stack[..2])[0], "main()::{lambda(int)}::operator()");
        assert_eq!(brief(&names(&stack[..2])[0]), "main::{lambda}::operator()");
        let stack = [("operator()", "main.cc"), ("__invoke_impl<void, outer()::<lambda()>& >", STD)];
        assert_eq!(names(&stack)[0], "outer()::{lambda()}::operator()");
        let stack = [("operator()", "main.cc"), ("space::outer(int)", "main.cc"), (run, STD)];
        assert_eq!(names(&stack)[0], "space::outer::{lambda}::operator()");
        // Without debug information.
        let stack = ["___pthread_mutex_lock", run].map(|name| Frame { line: 0, ..frame(name, "") });
        let named = named(&stack.iter().collect::<Vec<_>>());
        assert_eq!((named[0].0, named[0].1.function.as_str()), (1, "main::{lambda()#3}::operator()"));
    }

    #[test]
    fn what_a_thread_runs_is_named_by_a_symbol() {
        let run = "<std::thread::lifecycle::spawn_unchecked<app::main::{closure#0}::{closure#3}, ()>::{closure#1} as \
                   core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}";
        for (run, expected) in [
            (run, "app::main::{closure#0}::{closure#3}"),
            ("core::ops::function::FnOnce::call_once{{vtable.shim}}", "core::ops::function::FnOnce::call_once"),
        ] {
            let stack = ["___pthread_mutex_lock", run].map(|name| Frame { line: 0, ..frame(name, "") });
            let named = named(&stack.iter().collect::<Vec<_>>());
            let name = named.first().map_or(stack[1].function.as_str(), |(_, frame)| frame.function.as_str());
            assert!(name.starts_with(expected), "{name}");
        }
    }

    #[test]
    fn a_lambda_in_a_lambda_for_a_lambda() {
        let inner =
            "auto main::{lambda(auto:1)#1}::operator()<main::{lambda()#4}>(main::{lambda()#4}) const::{lambda()#1}";
        let run = format!("std::thread::_State_impl<std::thread::_Invoker<std::tuple<{inner}> > >::_M_run()");
        let stack =
            [("operator()", "main.cc"), ("operator()", "main.cc"), (run.as_str(), "/usr/include/c++/12/thread")];
        let names = names(&stack);
        assert_eq!(names[..2], ["main::{lambda()#4}::operator()".to_owned(), format!("{inner}::operator()")]);
        assert_eq!(brief(&names[1]), "main::{lambda#1}::operator()::{lambda#1}::operator()");
    }

    #[test]
    fn who_runs_a_closure_was_compiled_for_it() {
        for (function, closure) in [
            (
                "auto A<std::map<int, long> >::with<B::c()::{lambda(auto:1&)#1}>(B::c()::{lambda(auto:1&)#1})",
                "B::c()::{lambda(auto:1&)#1}",
            ),
            ("with<int, B::c(int)::<lambda(auto:1&)> >", "B::c(int)::<lambda(auto:1&)>"),
            ("app::with::<app::main::{closure#0}, ()>", "app::main::{closure#0}"),
            ("with<u64, app::main::{closure_env#0}>", "app::main::{closure_env#0}"),
        ] {
            assert_eq!(closure_for(function), Some(closure), "{function}");
        }
        for function in [
            "Task<main::{lambda()#1}>::run()",
            "f(std::function<void (main::{lambda()#1})>)",
            "main::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
            "run<std::tuple<main::{lambda()#1}> >(int)",
            "with<std::thread::spawn::{closure_env#0}<u8>>",
            "with<int>(int)",
            "with<a::{closure",
            "with<",
            "",
        ] {
            assert_eq!(closure_for(function), None, "{function}");
        }
    }

    #[test]
    fn damaged_names_are_left_or_cut() {
        for name in ["lambda(", "<lambda(", "x<<lambda(", "a<b::{lambda(", "<->{closure_env#0}", "é<é::<lambda(é"] {
            names(&[("operator()", ""), (name, "")]);
            names(&[("{closure#0}", ""), (name, "")]);
            names(&[("drop", ""), (&format!("drop_in_place<{name}"), "")]);
        }
    }
}
