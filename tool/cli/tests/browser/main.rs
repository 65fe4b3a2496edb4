//! The page of `ondeck report` in a real Chromium: what a reader sees and does.
//!
//! `cargo test -p ondeck-cli --test browser -- --include-ignored` runs them with `chromium`, or with what the variable
//! `CHROMIUM` names, and for paper with `mutool`. They are ignored elsewhere, as not every machine has these. They use the page as a reader would, with
//! mouse and keys, and know of its making only which elements it has.

mod chart;
mod chromium;
mod keyboard;
mod looks;
mod names;
mod pages;
mod pictures;
mod printed;
mod profile;
mod quiet;
mod reading;
mod tab;
mod timeline;
mod values;
mod watch;
