//! Text in columns.

/// Rows of cells. The first column is left-aligned and the others are right-aligned, two spaces apart; each is as wide
/// as its widest cell, so nothing is ever cut.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With the cells of its first row.
    pub fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Table { rows: vec![header.into_iter().map(str::to_owned).collect()] }
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// One line for each row, without spaces at its end.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            // Characters, not cells of a terminal: a wide character in a name shifts its own row and no other.
            self.rows.iter().filter_map(|r| r.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["name", "n", "x"]);
        table.push(["é中".into(), "1000".into(), "-".into()]);
        table.push(["a long name".into(), "1".into()]);
        assert_eq!(
            table.render(),
            "name            n  x\n\
             é中           1000  -\n\
             a long name     1\n"
        );
    }
}
