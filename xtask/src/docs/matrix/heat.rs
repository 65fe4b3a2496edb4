//! A heat map of a machine: locks down, cells across, a colour for each tenth of the best.

use super::{Load, Share};
use crate::docs::rows::grouped;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// From nothing of the best to all of it: a scale whose lightness falls evenly, so that it can be read without colours.
const COLOURS: [&str; 10] =
    ["#3b0f3f", "#6b1d5c", "#97296a", "#bd3a66", "#da5458", "#ec7449", "#f5983f", "#f8bb55", "#f7da85", "#fbf3c4"];
const CELL: usize = 12;
const ROW: usize = 14;
const NAMES: usize = 190;
const TOP: usize = 64;
const FONT: &str = "font-family='system-ui, sans-serif'";

/// Which column a cell is in: by threads, then by what they do.
type Column = (u32, Load);

/// What is above the columns that stand together.
fn head(load: Load) -> String {
    match load {
        Load::Sections { inside, .. } => inside.to_string(),
        Load::LockBench { .. } => "locks".to_owned(),
        Load::Other => String::new(),
    }
}

/// Fewer columns than these leave no room for more than a number.
const ROOM_FOR_WORDS: usize = 4;

pub(super) fn map(machine: &str, shares: &[&Share], locks: &[&str]) -> String {
    let column = |share: &Share| (share.cell.threads, share.cell.load());
    let mut columns: BTreeMap<Column, usize> = shares.iter().map(|share| (column(share), 0)).collect();
    columns.values_mut().enumerate().for_each(|(place, at)| *at = place);
    let mut paths: [String; COLOURS.len()] = Default::default();
    for share in shares {
        let Some(row) = locks.iter().position(|lock| *lock == share.cell.lock) else { continue };
        let (x, y) = (NAMES + columns[&column(share)] * CELL, TOP + row * ROW);
        let step = ((share.share * COLOURS.len() as f64) as usize).min(COLOURS.len() - 1);
        let _ = write!(paths[step], "M{x} {y}h{}v{}h-{}z", CELL - 1, ROW - 1, CELL - 1);
    }
    let (width, height) = (NAMES + columns.len() * CELL + 10, TOP + locks.len() * ROW + 46);
    let title = format!("Share of the best lock in every cell, simulated {machine}");
    let mut text = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img' {FONT} font-size='10'>\
         <title>{title}</title><rect width='{width}' height='{height}' fill='#ffffff'/>\
         <text x='8' y='16' font-size='13'>{title}</text>\n"
    );
    for (colour, path) in COLOURS.iter().zip(&paths).filter(|(_, path)| !path.is_empty()) {
        let _ = writeln!(text, "<path fill='{colour}' d='{path}'/>");
    }
    for (row, lock) in locks.iter().enumerate() {
        let _ = writeln!(text, "<text x='{}' y='{}' text-anchor='end'>{lock}</text>", NAMES - 6, TOP + row * ROW + 11);
    }
    text += &heads(&columns);
    text += &legend(TOP + locks.len() * ROW + 14);
    text + "</svg>\n"
}

/// Threads and units inside above the columns in which they are the same; within, the units outside grow to the right, or
/// the number of locks.
fn heads(columns: &BTreeMap<Column, usize>) -> String {
    let mut text = String::new();
    let x_of = |columns: &[(&Column, &usize)]| NAMES + columns[0].1 * CELL;
    for (threads, columns) in grouped(columns, |(column, _)| column.0) {
        let x = x_of(&columns);
        let word = if columns.len() >= ROOM_FOR_WORDS { " threads" } else { "" };
        let (line, place) = (format!("<path stroke='#000000' d='M{x} 24V{TOP}'/>"), x + 3);
        let _ = writeln!(text, "{line}<text x='{place}' y='34'>{threads}{word}</text>");
        for (name, columns) in grouped(columns, |(column, _)| head(column.1)) {
            let x = x_of(&columns);
            let (line, place) = (format!("<path stroke='#888888' d='M{x} 42V{TOP}'/>"), x + 2);
            let _ = writeln!(text, "{line}<text x='{place}' y='52' font-size='8'>{name}</text>");
        }
    }
    text
}

fn legend(y: usize) -> String {
    let mut text = String::new();
    for (step, colour) in COLOURS.iter().enumerate() {
        let x = NAMES + step * 36;
        let _ = writeln!(
            text,
            "<rect x='{x}' y='{y}' width='35' height='10' fill='{colour}'/><text x='{x}' y='{}' font-size='8'>0.{step}</text>",
            y + 20
        );
    }
    let _ = writeln!(
        text,
        "<text x='{NAMES}' y='{}' font-size='8'>Above: threads, then units of work inside; in each group, units \
         outside grow to the right. locks: one of 64, then of 1024 locks at random</text>",
        y + 30
    );
    text
}
