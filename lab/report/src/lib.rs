//! What is made of rows: files, comparisons, tables, findings, charts and pages.
//!
//! All that measures uses it: `workloads`, the tools and the program `ondeck`. Begin with [`Row`](row::Row);
//! [`Board`](board::Board), rows as they are compared; [`Document`](document::Document), a report before it has a form.
//!
//! Knows nothing of what runs locks. A [`Row`](row::Row) is what one lock did in one workload at one number of threads in
//! one round; the measuring program gives rows, and data flows one way from there:
//!
//! ```text
//!   rows -> output       CSV and JSON, with a fingerprint; and back
//!        -> compare      two files, whether they differ
//!        -> board        arranged -> run_table, wait_table, findings -> closing     what a run ends with
//!        -> inputs       files of a report -> findings, main_table, plotting -> document -> html, drawing, markdown
//! ```

pub mod board;
pub mod catalogue;
mod closing;
pub mod compare;
pub mod document;
pub mod drawing;
pub mod findings;
pub mod fingerprint;
pub mod html;
pub mod inputs;
#[cfg(test)]
mod made_up;
pub mod main_table;
pub mod markdown;
pub mod output;
pub mod plotting;
pub mod row;
mod run_table;
mod wait_table;

pub use catalogue::FLAGSHIP;
pub use closing::summary;
