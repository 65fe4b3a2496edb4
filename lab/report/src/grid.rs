//! A table that fits the terminal: what is too wide goes below, with the leading columns repeated.

use crate::wording::escape;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

/// Between the header and the rows; nothing else is drawn, so that a table can be pasted anywhere.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));
/// Rows of cells under a header.
#[derive(Clone, Debug)]
pub struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// So many columns from the left name the row; they are aligned left and repeated in each part.
    leading: usize,
    /// So many columns from the right are aligned left, too.
    texts: usize,
}

impl Grid {
    /// Spaces that the library puts around each cell.
    pub const PADDING: usize = 2;

    /// A grid without rows. The first `leading` columns name a row.
    pub fn new(header: &[&str], leading: usize) -> Self {
        let header = header.iter().map(|title| title.to_string()).collect();
        Grid { header, rows: Vec::new(), leading, texts: 0 }
    }

    /// The grid with texts in its last columns.
    pub fn with_texts(self, texts: usize) -> Self {
        Grid { texts, ..self }
    }

    fn is_text(&self, column: usize) -> bool {
        column < self.leading || column + self.texts >= self.header.len()
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has more or fewer cells than the header.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.header.len(), "a row has one cell per column");
        self.rows.push(cells);
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns that the whole table takes.
    pub fn width(&self) -> usize {
        (0..self.header.len()).map(|column| self.width_of(column)).sum()
    }

    /// The table as text, cut into parts if it is wider than `width`.
    pub fn render(&self, width: usize) -> String {
        let parts: Vec<String> = self.parts(width).iter().map(|columns| self.render_part(columns)).collect();
        parts.join("\n")
    }

    /// The table as GitHub reads it, with every character of a cell as it is.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let escaped = |cells: &[String]| line(cells.iter().map(|cell| escape(cell)).collect());
        let side = |column| if self.is_text(column) { ":--" } else { "--:" };
        let sides = line((0..self.header.len()).map(|column| side(column).to_string()).collect());
        let rows: String = self.rows.iter().map(|row| escaped(row)).collect();
        escaped(&self.header) + &sides + &rows
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[column]);
        let lines = cells.chain([&self.header[column]]).flat_map(|cell| cell.lines());
        Self::PADDING + lines.map(|line| line.chars().count()).max().unwrap_or(0)
    }

    /// Which columns stand in which part. A part has at least one column beside the leading ones, however narrow the
    /// terminal is.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let leading: Vec<usize> = (0..self.leading).collect();
        let leading_width: usize = leading.iter().map(|column| self.width_of(*column)).sum();
        let (mut parts, mut part, mut part_width) = (Vec::new(), leading.clone(), leading_width);
        for column in self.leading..self.header.len() {
            let more = self.width_of(column);
            if part.len() > self.leading && part_width + more > width {
                parts.push(std::mem::replace(&mut part, leading.clone()));
                part_width = leading_width;
            }
            part.push(column);
            part_width += more;
        }
        parts.push(part);
        parts
    }

    fn render_part(&self, columns: &[usize]) -> String {
        let cell = |text: &str, column: usize| {
            let alignment = if self.is_text(column) { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(alignment)
        };
        let line =
            |cells: &[String]| columns.iter().map(|column| cell(&cells[*column], *column)).collect::<Vec<Cell>>();
        let mut table = Table::new();
        table.load_style(STYLE).set_header(line(&self.header));
        for row in &self.rows {
            table.add_row(line(row));
        }
        let text: Vec<String> = table.lines().map(|line| line.trim_end().to_string() + "\n").collect();
        text.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(&["name", "a", "b\nb"], 1);
        grid.row(vec!["first".into(), "1".into(), "22".into()]);
        grid.row(vec!["".into(), "333".into(), "4".into()]);
        grid
    }

    #[test]
    fn columns_are_aligned() {
        let expected = " name     a   b\n              b\n----------------\n first    1  22\n        333   4\n";
        assert_eq!(grid().render(80), expected);
        assert_eq!(grid().width(), 16);
    }

    #[test]
    fn markdown_keeps_its_columns() {
        let mut grid = Grid::new(&["na|me", "a\nb"], 1);
        grid.row(vec!["<b>`x`\n| y".into(), "~ 1*".into()]);
        assert_eq!(grid.markdown(), "| na\\|me | a b |\n| :-- | --: |\n| &lt;b>\\`x\\` \\| y | \\~ 1\\* |\n");
    }

    #[test]
    fn what_is_too_wide_goes_below_with_the_names_repeated() {
        let text = grid().render(13);
        assert_eq!(text.matches("first").count(), 2, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 13), "{text}");
        assert_eq!(grid().render(1).matches("first").count(), 2, "a part has a column of figures at any width");
    }
}
