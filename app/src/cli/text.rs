//! Tables and numbers for people.

/// A number with six significant digits, or a dash where there is none.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let digits = 5 - value.abs().log10().floor() as i32;
    if (0..=9).contains(&digits) {
        format!("{value:.*}", digits as usize)
    } else if digits < 0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3e}")
    }
}

/// Prints rows in columns: the first two to the left, all others to the right.
pub fn table(heading: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|r| r.get(column))
            .map(|c| c.chars().count());
        cells
            .chain([heading[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (i, (cell, width)) in cells.zip(&widths).enumerate() {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            let cell = if i < 2 {
                format!("{cell}{padding}")
            } else {
                format!("{padding}{cell}")
            };
            text.push_str(&cell);
            text.push_str("  ");
        }
        say!("{}", text.trim_end());
    };
    line(&mut heading.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_keep_six_digits_whatever_their_size() {
        let shown = [120.0, 0.0123456789, 1234567.0, 3e-9, -0.5, f64::NAN, 0.0].map(number);
        assert_eq!(
            shown,
            [
                "120.000",
                "0.0123457",
                "1234567",
                "3.000e-9",
                "-0.500000",
                "–",
                "0"
            ]
        );
    }
}
