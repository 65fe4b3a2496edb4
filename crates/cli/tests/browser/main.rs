//! The page of `ondeck report` in a real Chromium: what a reader sees and does.
//!
//! `cargo xtask browser` finds Chromium and runs these tests, which are ignored elsewhere, as not every machine has one.
//! They use the page as a reader would, with mouse and keys, and know of its making only which elements it has.

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
