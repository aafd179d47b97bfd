//! Colours, sizes and fonts of the window, for dark and light.

use eframe::egui::{
    self, Color32, FontFamily, FontId, Painter, Pos2, Shape, Stroke, TextStyle, Theme,
};
use rt_core::guard::State;

/// Readable at arm's length on a workshop's screen.
pub fn apply(ctx: &egui::Context) {
    let mut fonts = egui::FontDefinitions::default();
    // Arrows and shapes that the proportional font lacks are taken from the monospaced one.
    if let Some(family) = fonts.families.get_mut(&FontFamily::Proportional) {
        family.push("Hack".to_owned());
    }
    ctx.set_fonts(fonts);
    for theme in [Theme::Dark, Theme::Light] {
        ctx.style_mut_of(theme, |style| {
            style.text_styles = [
                (
                    TextStyle::Small,
                    FontId::new(13.0, FontFamily::Proportional),
                ),
                (TextStyle::Body, FontId::new(15.0, FontFamily::Proportional)),
                (
                    TextStyle::Button,
                    FontId::new(15.0, FontFamily::Proportional),
                ),
                (
                    TextStyle::Heading,
                    FontId::new(19.0, FontFamily::Proportional),
                ),
                (
                    TextStyle::Monospace,
                    FontId::new(15.0, FontFamily::Monospace),
                ),
            ]
            .into();
            style.spacing.item_spacing = egui::vec2(8.0, 6.0);
            style.spacing.button_padding = egui::vec2(12.0, 6.0);
            style.spacing.slider_width = 150.0;
            if theme == Theme::Dark {
                style.visuals.override_text_color = Some(Color32::from_gray(225));
                style.visuals.panel_fill = Color32::from_rgb(24, 27, 31);
                style.visuals.extreme_bg_color = Color32::from_rgb(14, 16, 19);
            } else {
                style.visuals.override_text_color = Some(Color32::from_gray(25));
                style.visuals.panel_fill = Color32::from_rgb(244, 245, 247);
                style.visuals.extreme_bg_color = Color32::WHITE;
            }
        });
    }
}

/// Colour of a state; always shown together with its name and shape.
pub fn state_color(state: State) -> Color32 {
    match state {
        State::Idle => Color32::from_rgb(97, 106, 117),
        State::Ready => Color32::from_rgb(36, 99, 180),
        State::Armed => Color32::from_rgb(148, 97, 0),
        State::Running => Color32::from_rgb(24, 122, 60),
        State::Stopping | State::Holding => Color32::from_rgb(148, 97, 0),
        State::Tripped => Color32::from_rgb(190, 32, 38),
    }
}

/// Draws a shape that tells states apart without colour.
pub fn paint_state_shape(
    painter: &Painter,
    state: State,
    center: Pos2,
    radius: f32,
    color: Color32,
) {
    let at = |x: f32, y: f32| center + radius * egui::vec2(x, y);
    let polygon = |points: Vec<Pos2>| {
        painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
    };
    match state {
        State::Idle => {
            painter.circle_stroke(center, radius * 0.9, Stroke::new(2.5, color));
        }
        State::Ready => {
            painter.circle_filled(center, radius, color);
        }
        State::Armed => polygon(vec![at(0.0, -1.0), at(1.0, 0.8), at(-1.0, 0.8)]),
        State::Running => polygon(vec![at(-0.8, -1.0), at(1.0, 0.0), at(-0.8, 1.0)]),
        State::Stopping => polygon(vec![at(-1.0, -0.8), at(1.0, -0.8), at(0.0, 1.0)]),
        // Two bars: at rest, and still powered.
        State::Holding => {
            polygon(vec![
                at(-0.9, -0.9),
                at(-0.2, -0.9),
                at(-0.2, 0.9),
                at(-0.9, 0.9),
            ]);
            polygon(vec![
                at(0.2, -0.9),
                at(0.9, -0.9),
                at(0.9, 0.9),
                at(0.2, 0.9),
            ]);
        }
        State::Tripped => polygon(vec![
            at(-0.9, -0.9),
            at(0.9, -0.9),
            at(0.9, 0.9),
            at(-0.9, 0.9),
        ]),
    }
}

/// Colour of Stop and of faults.
pub const DANGER: Color32 = Color32::from_rgb(190, 32, 38);

/// Colour of faults as text.
pub fn danger_text(dark: bool) -> Color32 {
    if dark {
        Color32::from_rgb(255, 120, 115)
    } else {
        DANGER
    }
}

/// Colour of text that matters less, still readable.
pub fn weak_text(dark: bool) -> Color32 {
    Color32::from_gray(if dark { 165 } else { 90 })
}

/// A diamond: what is asked for and not yet applied.
pub fn paint_diamond(painter: &Painter, center: Pos2, radius: f32, color: Color32) {
    let at = |x: f32, y: f32| center + radius * egui::vec2(x, y);
    let points = vec![at(0.0, -1.0), at(1.0, 0.0), at(0.0, 1.0), at(-1.0, 0.0)];
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}

/// Colour of a share of a scale, from 0 (dark blue) to 1 (yellow): ordered by brightness, so that it can be
/// read without telling hues apart (cividis).
pub fn heat(share: f32) -> Color32 {
    const STOPS: [Color32; 5] = [
        Color32::from_rgb(0, 32, 77),
        Color32::from_rgb(65, 77, 107),
        Color32::from_rgb(124, 123, 120),
        Color32::from_rgb(188, 175, 111),
        Color32::from_rgb(255, 234, 70),
    ];
    let place = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let below = (place as usize).min(STOPS.len() - 2);
    STOPS[below].lerp_to_gamma(STOPS[below + 1], place - below as f32)
}

/// Colour of warnings as text.
pub fn warning(dark: bool) -> Color32 {
    if dark {
        Color32::from_rgb(255, 190, 90)
    } else {
        Color32::from_rgb(140, 80, 0)
    }
}

/// Colour of good news as text.
pub fn good(dark: bool) -> Color32 {
    if dark {
        Color32::from_rgb(110, 210, 140)
    } else {
        Color32::from_rgb(20, 110, 50)
    }
}

/// Colour of a channel's line, by its role.
pub fn line(dark: bool, role: rt_core::channel::Role) -> Color32 {
    use rt_core::channel::Role;
    match (role, dark) {
        (Role::Measured, true) => Color32::from_rgb(100, 180, 255),
        (Role::Measured, false) => Color32::from_rgb(10, 90, 180),
        (Role::Computed, true) => Color32::from_rgb(200, 170, 255),
        (Role::Computed, false) => Color32::from_rgb(110, 60, 170),
        (Role::Command, true) => Color32::from_rgb(255, 180, 90),
        (Role::Command, false) => Color32::from_rgb(180, 90, 0),
    }
}

/// Colour of the plots' grid: there, but behind the lines.
pub fn grid(dark: bool) -> Color32 {
    Color32::from_gray(if dark { 52 } else { 216 })
}

/// How many colours there are for lines that stand together.
pub const SERIES: usize = 8;

/// Colour of the n-th line of a plot; lines are told apart by number and width too.
pub fn series(dark: bool, n: usize) -> Color32 {
    const DARK: [(u8, u8, u8); SERIES] = [
        (100, 180, 255),
        (255, 170, 70),
        (110, 210, 140),
        (240, 130, 190),
        (235, 215, 90),
        (190, 160, 255),
        (90, 215, 215),
        (255, 125, 110),
    ];
    const LIGHT: [(u8, u8, u8); SERIES] = [
        (10, 90, 180),
        (190, 90, 0),
        (20, 120, 60),
        (170, 40, 120),
        (130, 105, 0),
        (100, 60, 180),
        (0, 115, 130),
        (190, 40, 40),
    ];
    let (r, g, b) = if dark { DARK } else { LIGHT }[n % SERIES];
    Color32::from_rgb(r, g, b)
}

/// Colour of the contact wire in motion.
pub fn contact_wire(dark: bool) -> Color32 {
    if dark {
        Color32::from_rgb(255, 160, 85)
    } else {
        Color32::from_rgb(185, 80, 0)
    }
}

/// Colour of the wires that carry the contact wire, and of droppers.
pub fn carrying_wire(dark: bool) -> Color32 {
    if dark {
        Color32::from_rgb(130, 160, 190)
    } else {
        Color32::from_rgb(70, 100, 135)
    }
}

/// Colour of masts and of wires at rest.
pub fn structure(dark: bool) -> Color32 {
    Color32::from_gray(if dark { 110 } else { 150 })
}
