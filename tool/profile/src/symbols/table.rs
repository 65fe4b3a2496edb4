//! What lies where, by the symbol tables of ELF files.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionIndex, SymbolKind, SymbolSection, elf};
use ondeck_record::read::outside::{Budget, Share};
use std::collections::HashMap;

/// One symbol with its place in the file's addresses.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The highest `end` of this entry and all before it: where it is not above an address, none of them holds it.
    reach: u64,
    has_size: bool,
    is_global: bool,
    /// As the file has it, mangled, without its version.
    pub(super) name: Box<str>,
}

/// Symbols of one kind, by address. Where several have one address, the best of them.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Entry>);

/// Code and data of a file.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) code: Table,
    pub(super) data: Table,
    /// Of what the entries take.
    share: Option<Share>,
    /// Why some symbols are not there.
    pub(super) fault: Option<String>,
}

/// Longer names are cut: many symbols may have one name that is as long as the file.
pub(super) const LONGEST_NAME: usize = 16 << 10;
/// More than any program has. A table may be longer than any disk, of holes.
pub(super) const MOST_SYMBOLS: usize = 1 << 24;

impl Tables {
    /// Without any entries; they will be within that budget.
    pub(super) fn within(budget: &Budget) -> Self {
        Tables { share: budget.take(0).ok(), ..Tables::default() }
    }

    /// Whether there is room for one more entry of that name.
    fn fits(&mut self, name: &str) -> bool {
        let bytes = (size_of::<Entry>() + name.len()) as u64;
        let grown = self.share.as_mut().map_or(Ok(()), |share| share.grow(bytes));
        if let Err(spent) = grown {
            self.fault = Some(format!("its symbols do not fit: {spent}. Some functions have no names"));
        }
        grown.is_ok()
    }

    /// Adds what a file's symbol tables have; says whether it has the full one, and not only that for dynamic linking.
    pub(super) fn add(&mut self, file: &object::File<'_>) -> bool {
        let code = executable_sections(file);
        self.add_all(file.dynamic_symbols(), &HashMap::new());
        let n_before = self.len();
        self.add_all(file.symbols(), &code);
        self.len() > n_before
    }

    fn add_all<'a>(&mut self, symbols: impl Iterator<Item = impl ObjectSymbol<'a>>, code: &HashMap<SectionIndex, u64>) {
        for symbol in symbols.take(MOST_SYMBOLS) {
            let SymbolSection::Section(section) = symbol.section() else { continue };
            let is_code = match symbol.kind() {
                SymbolKind::Text => true,
                // A label of assembler code.
                SymbolKind::Unknown if code.contains_key(&section) => true,
                SymbolKind::Data if symbol.size() > 0 => false,
                _ => continue,
            };
            let Ok(name) = symbol.name() else { continue };
            let name = &name[..name.floor_char_boundary(LONGEST_NAME)];
            let name = name.split('@').next().unwrap_or_default();
            // `$x` and `$d` mark where code and data begin, on Arm and RISC-V, and `.L` is inside a function.
            if symbol.address() == 0 || name.is_empty() || name.starts_with(['$', '.']) {
                continue;
            }
            let start = symbol.address();
            let has_size = symbol.size() > 0;
            // Until its neighbours are known a symbol without a size reaches to the end of its section. In the table for
            // dynamic linking most functions are missing, so that it would take others' places: there it has one byte.
            let end = match has_size {
                true => start.saturating_add(symbol.size()),
                false => code.get(&section).map_or(start.saturating_add(1), |end| *end),
            };
            if !self.fits(name) {
                return;
            }
            let table = if is_code { &mut self.code } else { &mut self.data };
            table.0.push(Entry { start, end, reach: end, has_size, is_global: symbol.is_global(), name: name.into() });
        }
    }

    fn len(&self) -> usize {
        self.code.0.len() + self.data.0.len()
    }

    /// To be called when all is added.
    pub(super) fn sort(&mut self) {
        self.code.sort();
        self.data.sort();
    }
}

/// The sections that hold code, and where they end.
fn executable_sections(file: &object::File<'_>) -> HashMap<SectionIndex, u64> {
    let is_code = |flags| matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_EXECINSTR));
    let sections = file.sections().filter(|section| is_code(section.flags()));
    sections.map(|section| (section.index(), section.address().saturating_add(section.size()))).collect()
}

impl Entry {
    /// What is first of several names for one place: one with a size, the public one, the plainest.
    fn rank(&self) -> (bool, usize, bool, usize, &str) {
        let n_underscores = self.name.bytes().take_while(|byte| *byte == b'_').count();
        (!self.has_size, n_underscores, !self.is_global, self.name.len(), &self.name)
    }
}

impl Table {
    fn sort(&mut self) {
        self.0.sort_by(|a, b| (a.start, a.rank()).cmp(&(b.start, b.rank())));
        self.0.dedup_by_key(|entry| entry.start);
        let starts: Vec<u64> = self.0.iter().skip(1).map(|entry| entry.start).chain([u64::MAX]).collect();
        for (entry, next) in self.0.iter_mut().zip(starts) {
            if !entry.has_size {
                entry.end = entry.end.min(next);
            }
        }
        let mut reach = 0;
        self.0.retain_mut(|entry| {
            // A label in a function is a part of it.
            let is_kept = entry.has_size || entry.start >= reach;
            if is_kept {
                reach = entry.end.max(reach);
                entry.reach = reach;
            }
            is_kept
        });
    }

    /// The address of a symbol by its name as the file has it. A search: for few of them.
    pub(super) fn named(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|entry| &*entry.name == name).map(|entry| entry.start)
    }

    /// The symbol that holds an address; of several, one in the other, the one that begins last.
    pub(super) fn find(&self, address: u64) -> Option<&Entry> {
        let n_before = self.0.partition_point(|entry| entry.start <= address);
        self.0[..n_before].iter().rev().take_while(|entry| entry.reach > address).find(|entry| entry.end > address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(&str, u64, u64)]) -> Table {
        let entry = |&(name, start, size): &(&str, u64, u64)| Entry {
            start,
            end: if size > 0 { start + size } else { 1000 },
            reach: 0,
            has_size: size > 0,
            is_global: true,
            name: name.into(),
        };
        let mut table = Table(entries.iter().map(entry).collect());
        table.sort();
        table
    }

    fn found(table: &Table, address: u64) -> Option<&str> {
        table.find(address).map(|entry| &*entry.name)
    }

    #[test]
    fn a_symbol_is_believed_up_to_its_size_and_one_without_up_to_the_next() {
        let table = table(&[("sized", 100, 20), ("label", 200, 0), ("last", 300, 0)]);
        let names = [99, 100, 119, 120, 199, 200, 299, 300, 999, 1000].map(|address| found(&table, address));
        let (sized, label, last) = (Some("sized"), Some("label"), Some("last"));
        assert_eq!(names, [None, sized, sized, None, None, label, label, last, last, None]);
    }

    #[test]
    fn the_innermost_symbol_and_the_plainest_name_win() {
        let table = table(&[
            ("outer", 100, 100),
            ("inner", 120, 10),
            ("__inner", 120, 10),
            ("label", 120, 0),
            ("label_inside", 140, 0),
            ("far", 150, 1),
        ]);
        let names = [110, 120, 129, 130, 145, 150, 199, 200].map(|address| found(&table, address));
        let (outer, inner) = (Some("outer"), Some("inner"));
        assert_eq!(names, [outer, inner, inner, outer, outer, Some("far"), outer, None]);
    }
}
