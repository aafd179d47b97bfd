//! How values are shown: SI inside, the unit that technicians use on the screen.

/// A unit on the screen and the factor from SI to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown<'a> {
    /// Shown value = factor · SI value.
    pub factor: f64,
    /// The unit's name on the screen.
    pub unit: &'a str,
}

/// The shown unit for an SI unit: lengths in mm, stiffnesses in kN/m, everything else as it is.
pub fn shown(unit: &str) -> Shown<'_> {
    match unit {
        "m" => Shown {
            factor: 1e3,
            unit: "mm",
        },
        "N/m" => Shown {
            factor: 1e-3,
            unit: "kN/m",
        },
        other => Shown {
            factor: 1.0,
            unit: other,
        },
    }
}

/// A value with a fixed number of characters, so that a changing number does not move its neighbours.
pub fn fixed_width(value: f64) -> String {
    if !value.is_finite() {
        return format!("{:>9}", "–");
    }
    let digits = match value.abs() {
        a if a >= 10_000.0 => 0,
        a if a >= 1_000.0 => 1,
        a if a >= 100.0 => 2,
        _ => 3,
    };
    format!("{value:>9.digits$}")
}

/// A value with so many significant digits, without zeros at its end: for numbers whose ranges span decades.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let before_point = value.abs().log10().floor() as i32 + 1;
    let decimals = (digits as i32 - before_point).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        let short = text.trim_end_matches('0').trim_end_matches('.');
        return short.to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_width() {
        for value in [0.0, -0.0123, 9.9999, -150.25, 99_999.0, -99_999.0, f64::NAN] {
            assert_eq!(fixed_width(value).chars().count(), 9, "{value}");
        }
    }

    #[test]
    fn decades_apart_numbers_have_the_same_precision() {
        for (value, text) in [
            (0.0, "0"),
            (1e-3, "0.001"),
            (0.012345, "0.01235"),
            (49.999, "50"),
            (123.45, "123.5"),
            (-5.0, "-5"),
            (1e6, "1000000"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(significant(value, 4), text);
        }
    }

    #[test]
    fn lengths_are_shown_in_millimetres() {
        assert_eq!(
            (shown("m").factor, shown("m").unit, shown("N").factor),
            (1e3, "mm", 1.0)
        );
    }
}
