//! Colours for values: from dark blue to yellow, each step as much lighter as the one before, so that equal
//! steps look equal, also in grey and to the colour-blind.

use eframe::egui::Color32;

/// Nine colours in equal steps, those of the well-known map "viridis".
const STEPS: [[u8; 3]; 9] = [
    [0x44, 0x01, 0x54],
    [0x47, 0x2d, 0x7b],
    [0x3b, 0x52, 0x8b],
    [0x2c, 0x72, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x28, 0xae, 0x80],
    [0x5e, 0xc9, 0x62],
    [0xad, 0xdc, 0x30],
    [0xfd, 0xe7, 0x25],
];

/// Where there is no value.
pub const UNKNOWN: Color32 = Color32::from_rgb(128, 128, 128);

/// The colour of a value from 0 to 1; what lies outside has the colour of the end, what is no number is
/// grey.
pub fn color(value: f64) -> Color32 {
    if value.is_nan() {
        return UNKNOWN;
    }
    let place = value.clamp(0.0, 1.0) * (STEPS.len() - 1) as f64;
    let below = (place as usize).min(STEPS.len() - 2);
    let share = place - below as f64;
    let mixed = |i: usize| {
        let (a, b) = (f64::from(STEPS[below][i]), f64::from(STEPS[below + 1][i]));
        (a + share * (b - a)).round() as u8
    };
    Color32::from_rgb(mixed(0), mixed(1), mixed(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE lightness L* of an sRGB colour (IEC 61966-2-1, CIE 1976).
    fn lightness(color: Color32) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.040_45 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        };
        let y =
            0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b());
        if y > 0.008_856 {
            116.0 * y.cbrt() - 16.0
        } else {
            903.3 * y
        }
    }

    /// The lightness of viridis rises from 15 to 91, almost on a straight line.
    #[test]
    fn equal_steps_are_equally_lighter() {
        let all: Vec<f64> = (0..=64)
            .map(|i| lightness(color(f64::from(i) / 64.0)))
            .collect();
        let (first, last) = (all[0], all[64]);
        assert!(
            (first - 15.0).abs() < 1.5 && (last - 91.0).abs() < 1.5,
            "{first} {last}"
        );
        for (i, found) in all.iter().enumerate() {
            let straight = first + (last - first) * i as f64 / 64.0;
            assert!(
                (found - straight).abs() < 2.5,
                "{i}: {found} instead of {straight}"
            );
        }
        assert!(all.is_sorted());
    }

    #[test]
    fn ends_and_unknown_values_have_their_colours() {
        assert_eq!(color(-1.0), Color32::from_rgb(0x44, 0x01, 0x54));
        assert_eq!(color(f64::INFINITY), Color32::from_rgb(0xfd, 0xe7, 0x25));
        assert_eq!(color(f64::NAN), UNKNOWN);
    }
}
