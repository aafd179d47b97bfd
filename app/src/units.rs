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

/// A count with narrow spaces between groups of three digits.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
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

/// An amount of data.
pub fn bytes(count: u64) -> String {
    match count as f64 {
        b if b >= 1e12 => format!("{:.1} TB", b * 1e-12),
        b if b >= 1e9 => format!("{:.1} GB", b * 1e-9),
        b if b >= 1e6 => format!("{:.1} MB", b * 1e-6),
        b => format!("{:.0} kB", b * 1e-3),
    }
}

/// A time as minutes and seconds.
pub fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    format!("{}:{:02}", whole / 60, whole % 60)
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
    fn counts_amounts_and_times_are_easy_to_read() {
        assert_eq!(grouped(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!((grouped(0), grouped(999)), ("0".into(), "999".into()));
        assert_eq!(bytes(81_500_000_000), "81.5 GB");
        assert_eq!((bytes(2_000), clock(125.7)), ("2 kB".into(), "2:05".into()));
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
