//! The one table: headings, and rows of cells. It becomes text for a terminal, Markdown, or HTML.

use crate::wording::escape;
use maud::{Markup, Render, html};
use unicode_width::UnicodeWidthStr;

/// Rows of cells under a header. A cell is text, or markup in a table that is for a page only.
#[derive(Clone, Debug)]
pub struct Grid<C = String> {
    header: Vec<String>,
    rows: Vec<Vec<C>>,
    /// So many columns from the left name the row; they are aligned left and repeated in each part.
    leading: usize,
    /// So many columns from the right are aligned left, too.
    texts: usize,
    /// Whether a terminal shows a name in the first column only where it differs from the one above.
    is_grouped: bool,
}

impl<C> Grid<C> {
    /// A grid without rows. The leading columns name a row.
    pub fn new<L: Into<String>, T: Into<String>>(
        leading: impl IntoIterator<Item = L>,
        others: impl IntoIterator<Item = T>,
    ) -> Self {
        let mut header: Vec<String> = leading.into_iter().map(Into::into).collect();
        let leading = header.len();
        header.extend(others.into_iter().map(Into::into));
        Grid { header, rows: Vec::new(), leading, texts: 0, is_grouped: false }
    }

    /// The grid with texts in its last columns.
    pub fn with_texts(self, texts: usize) -> Self {
        Grid { texts, ..self }
    }

    /// The grid of which a terminal shows a name in the first column once for all its rows.
    pub fn grouped(self) -> Self {
        Grid { is_grouped: true, ..self }
    }

    fn is_text(&self, column: usize) -> bool {
        column < self.leading || column + self.texts >= self.header.len()
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has more or fewer cells than the header.
    pub fn row(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<C> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.header.len(), "a row has one cell per column");
        self.rows.push(cells);
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl<C: Render> Grid<C> {
    /// The table as a page has it, in a box that scrolls where it is too wide. `title` names it for those who do not see it.
    pub fn html(&self, title: &str) -> Markup {
        html! {
            div.scroll tabindex="0" role="region" aria-label={ "Data: " (title) } {
                // Each part of a table ends where the next begins; written out, the ends would be a tenth of a page.
                table {
                    thead; tr; @for name in &self.header { th; (name) }
                    tbody;
                    @for row in &self.rows {
                        tr;
                        @for (column, cell) in row.iter().enumerate() {
                            @if column < self.leading { th; (cell) }
                            @else { td class=[self.is_text(column).then_some("words")]; (cell) }
                        }
                    }
                }
            }
        }
    }
}

impl Grid {
    /// Spaces around each cell.
    pub const PADDING: usize = 2;

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
        self.markdown_by(escape)
    }

    /// The same where headings and cells are Markdown.
    pub fn markdown_of_markdown(&self) -> String {
        self.markdown_by(str::to_string)
    }

    fn markdown_by(&self, written: fn(&str) -> String) -> String {
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(|cell| written(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let side = |column| if self.is_text(column) { "---|" } else { "--:|" };
        let sides: String = (0..self.header.len()).map(side).collect();
        format!("{}|{sides}\n{}", line(&self.header), self.rows.iter().map(line).collect::<String>())
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[column]);
        let lines = cells.chain([&self.header[column]]).flat_map(|cell| cell.lines());
        Self::PADDING + lines.map(UnicodeWidthStr::width).max().unwrap_or(0)
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
        let columns: Vec<(usize, usize)> = columns.iter().map(|column| (*column, self.width_of(*column))).collect();
        // Nothing else is drawn but what is between the header and the rows, so that a table can be pasted anywhere.
        let rule = "-".repeat(columns.iter().map(|(_, width)| width).sum());
        let mut text = format!("{}{rule}\n", self.lines(&columns, &self.header, false));
        for (index, row) in self.rows.iter().enumerate() {
            let is_same = index > 0 && self.rows[index - 1][0] == row[0];
            text += &self.lines(&columns, row, self.is_grouped && is_same);
        }
        text
    }

    /// The lines of a row, in columns of these widths; `is_same` leaves the first column empty.
    fn lines(&self, columns: &[(usize, usize)], cells: &[String], is_same: bool) -> String {
        let cell = |column: usize| if is_same && column == 0 { "" } else { &cells[column] };
        let height = columns.iter().map(|(column, _)| cell(*column).lines().count()).max().unwrap_or(0);
        let line = |nth: usize| {
            let part = |(column, width): &(usize, usize)| {
                let text = cell(*column).lines().nth(nth).unwrap_or("");
                let space = " ".repeat(width - Self::PADDING - text.width());
                if self.is_text(*column) { format!(" {text}{space} ") } else { format!(" {space}{text} ") }
            };
            columns.iter().map(part).collect::<String>().trim_end().to_string() + "\n"
        };
        (0..height.max(1)).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(["name"], ["a", "b\nb"]);
        grid.row(["first", "1", "22"].map(String::from));
        grid.row(["", "333", "4"].map(String::from));
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
        let mut grid = Grid::new(["na|me"], ["a\nb"]);
        grid.row(["<b>`x`\n| y", "~ 1*"].map(String::from));
        assert_eq!(grid.markdown(), "| na\\|me | a b |\n|---|--:|\n| &lt;b>\\`x\\` \\| y | \\~ 1\\* |\n");
        let mut grid = Grid::new(["a", "b"], [""; 0]);
        grid.row(["`1`", "*2*"].map(String::from));
        assert_eq!(grid.markdown_of_markdown(), "| a | b |\n|---|---|\n| `1` | *2* |\n");
    }

    #[test]
    fn a_terminal_shows_a_name_once_for_its_rows() {
        let mut grid = Grid::new(["name"], ["n"]).grouped();
        for row in [["a", "1"], ["a", "2"], ["b", "2"]] {
            grid.row(row.map(String::from));
        }
        assert_eq!(grid.render(80), " name  n\n---------\n a     1\n       2\n b     2\n");
        assert!(grid.markdown().contains("| a | 1 |\n| a | 2 |\n"));
    }

    #[test]
    fn wide_letters_take_two_columns() {
        let mut grid = Grid::new(["name"], ["n"]);
        for row in [["\u{30ed}\u{30c3}\u{30af}", "1"], ["lock", "2"]] {
            grid.row(row.map(String::from));
        }
        assert_eq!(grid.render(80), " name    n\n-----------\n \u{30ed}\u{30c3}\u{30af}  1\n lock    2\n");
    }

    #[test]
    fn a_page_has_heads_for_rows_and_columns() {
        let mut grid = Grid::new(["name"], ["n", "what"]).with_texts(1);
        grid.row(["<a>", "1", "text"].map(String::from));
        let text = grid.html("of tests").into_string();
        for expected in [
            "aria-label=\"Data: of tests\"",
            "<thead><tr><th>name<th>n<th>what<tbody>",
            "<tr><th>&lt;a&gt;<td>1<td class=\"words\">text</table>",
        ] {
            assert!(text.contains(expected), "no {expected} in {text}");
        }
    }

    #[test]
    fn what_is_too_wide_goes_below_with_the_names_repeated() {
        let text = grid().render(13);
        assert_eq!(text.matches("first").count(), 2, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 13), "{text}");
        assert_eq!(grid().render(1).matches("first").count(), 2, "a part has a column of figures at any width");
    }
}
