//! Lines of dots: two columns and four rows in every cell.

/// A line, as the dots in each cell.
pub(super) struct Dots {
    width: usize,
    cells: Vec<u8>,
}

/// Bits of the dots of a cell, by column and by row from the top.
const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

impl Dots {
    /// A line through two values per cell, given in rows from the bottom. Values above the plot are not drawn. A jump
    /// is a vertical line, not two separate dots.
    pub(super) fn line(values: &[f64], rows: usize) -> Self {
        let mut dots = Self::none(values.len().div_ceil(2), rows);
        let mut before = None;
        for (x, value) in values.iter().enumerate() {
            let here = dot(*value);
            let from = before.unwrap_or(here);
            let (low, high) =
                if from < here { (from + 1, here) } else { (here, here.max(from.saturating_sub(1))) };
            for y in low..=high.min(rows * 4) {
                dots.set(x, y, rows);
            }
            before = Some(here);
        }
        dots
    }

    /// One dot per cell and nothing between them, to differ from a line without colours.
    pub(super) fn points(values: &[f64], rows: usize) -> Self {
        let mut dots = Self::none(values.len(), rows);
        for (column, value) in values.iter().enumerate() {
            dots.set(column * 2, dot(*value), rows);
        }
        dots
    }

    fn none(width: usize, rows: usize) -> Self {
        Self { width, cells: vec![0; width * rows] }
    }

    /// The character of a cell, if the line goes through it.
    pub(super) fn at(&self, column: usize, row: usize) -> Option<char> {
        let bits = *self.cells.get(row * self.width + column)?;
        if bits == 0 { None } else { char::from_u32(0x2800 + u32::from(bits)) }
    }

    /// * `y` - in dots from the bottom.
    fn set(&mut self, x: usize, y: usize, rows: usize) {
        let Some(from_top) = (rows * 4).checked_sub(y + 1) else { return };
        let bit = BITS.get(x % 2).and_then(|column| column.get(from_top % 4));
        let cell = self.cells.get_mut(from_top / 4 * self.width + x / 2);
        if let (Some(bit), Some(cell)) = (bit, cell) {
            *cell |= bit;
        }
    }
}

/// Height in dots from the bottom.
fn dot(value: f64) -> usize {
    (value * 4.0).round().max(0.0) as usize
}
