//! What the pointer and keys do in a plot: zoom, pan, cursors, a stretch between them.

use super::cursors::Which;
use super::scale::Scale;
use eframe::egui::{
    CursorIcon, EventFilter, Key, Modifiers, PointerButton, Rect, Response, Sense, Ui, Vec2,
    WidgetInfo, pos2,
};

/// How close to a cursor a drag takes hold of it, in points.
const REACH: f32 = 6.0;

/// What a person asks of the horizontal axis and the cursors; values in the axis' unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gesture {
    /// Moves the picture.
    Pan(f64),
    /// Looks closer (below 1) or from further away.
    Zoom {
        /// Of the width.
        factor: f64,
        /// What stays where it is.
        around: f64,
    },
    /// Back to the newest samples.
    Release,
    /// Moves a cursor.
    Cursor(Which, f64),
    /// Puts the cursors at both ends of a stretch.
    Stretch(f64, f64),
    /// Looks at a stretch.
    Hold(f64, f64),
}

/// What a drag has taken hold of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grab {
    /// The picture.
    Picture,
    /// A cursor.
    Cursor(Which),
    /// One end of a stretch.
    Stretch(f64),
}

/// Reads what is done in a plot. `cursors` are where they stand on the axis.
pub fn read(
    ui: &Ui,
    response: &Response,
    scale: &Scale,
    cursors: Option<[(Which, Option<f64>); 2]>,
    grab: &mut Option<Grab>,
) -> Vec<Gesture> {
    let plot = response.rect;
    let mut gestures = Vec::new();
    let at = |x: f32| scale.at_part(f64::from((x - plot.left()) / plot.width()));
    let near = |x: f32| {
        let cursors = cursors.into_iter().flatten();
        let placed = cursors.filter_map(|(which, at)| {
            let there = plot.left() + scale.part(at?) as f32 * plot.width();
            Some((which, (there - x).abs()))
        });
        let closest = placed.min_by(|a, b| a.1.total_cmp(&b.1));
        closest.filter(|c| c.1 <= REACH).map(|c| c.0)
    };
    if response.drag_started_by(PointerButton::Primary)
        && let Some(from) = ui.input(|i| i.pointer.press_origin())
    {
        let is_stretch = ui.input(|i| i.modifiers.shift);
        *grab = Some(match near(from.x) {
            Some(which) => Grab::Cursor(which),
            None if is_stretch => Grab::Stretch(at(from.x)),
            None => Grab::Picture,
        });
    }
    if response.dragged_by(PointerButton::Primary)
        && let (Some(grabbed), Some(pointer)) = (*grab, response.interact_pointer_pos())
    {
        let per_point = (scale.to - scale.from) / f64::from(plot.width());
        gestures.push(match grabbed {
            Grab::Picture => Gesture::Pan(-per_point * f64::from(response.drag_delta().x)),
            Grab::Cursor(which) => Gesture::Cursor(which, at(pointer.x)),
            Grab::Stretch(from) => Gesture::Stretch(from, at(pointer.x)),
        });
    }
    if response.drag_stopped() {
        *grab = None;
    }
    if response.double_clicked() {
        gestures.push(Gesture::Release);
    } else if response.clicked() {
        response.request_focus();
    }
    if let Some(pointer) = response.hover_pos() {
        if near(pointer.x).is_some() || matches!(grab, Some(Grab::Cursor(_))) {
            ui.set_cursor_icon(CursorIcon::ResizeHorizontal);
        }
        gestures.extend(wheel(ui, plot, scale, at(pointer.x)));
    }
    if response.has_focus() {
        gestures.extend(keys(ui, response, scale));
    }
    gestures
}

fn wheel(ui: &Ui, plot: Rect, scale: &Scale, around: f64) -> Vec<Gesture> {
    let (wheel, pinch) = ui.input_mut(|i| {
        // Taken, so that the stack does not scroll as well.
        let wheel = std::mem::replace(&mut i.smooth_scroll_delta, Vec2::ZERO);
        (wheel, i.zoom_delta())
    });
    let mut gestures = Vec::new();
    let factor = f64::from(-wheel.y * 0.004).exp() / f64::from(pinch);
    if factor != 1.0 {
        gestures.push(Gesture::Zoom { factor, around });
    }
    if wheel.x != 0.0 {
        let per_point = (scale.to - scale.from) / f64::from(plot.width());
        gestures.push(Gesture::Pan(-per_point * f64::from(wheel.x)));
    }
    gestures
}

fn keys(ui: &Ui, response: &Response, scale: &Scale) -> Vec<Gesture> {
    let filter = EventFilter {
        horizontal_arrows: true,
        ..EventFilter::default()
    };
    ui.memory_mut(|m| m.set_focus_lock_filter(response.id, filter));
    let centre = scale.at_part(0.5);
    let pointer = response.hover_pos().map(|p| {
        let part = (p.x - response.rect.left()) / response.rect.width();
        scale.at_part(f64::from(part))
    });
    let width = scale.to - scale.from;
    let zoom = |factor| Gesture::Zoom {
        factor,
        around: pointer.unwrap_or(centre),
    };
    let deeds = [
        (Key::ArrowLeft, Gesture::Pan(-0.1 * width)),
        (Key::ArrowRight, Gesture::Pan(0.1 * width)),
        (Key::Plus, zoom(0.8)),
        (Key::Equals, zoom(0.8)),
        (Key::Minus, zoom(1.25)),
        (Key::Home, Gesture::Release),
        (Key::A, Gesture::Cursor(Which::A, pointer.unwrap_or(centre))),
        (Key::B, Gesture::Cursor(Which::B, pointer.unwrap_or(centre))),
    ];
    ui.input_mut(|input| {
        let mut found = Vec::new();
        for (key, gesture) in deeds {
            if input.consume_key(Modifiers::NONE, key) {
                found.push(gesture);
            }
        }
        found
    })
}

/// The bar below the axis: where the picture stands in all that is known, to be dragged. `known` are its
/// ends in the axis' unit.
pub fn scroll_bar(ui: &Ui, strip: Rect, scale: &Scale, known: (f64, f64)) -> Option<Gesture> {
    let id = ui.scope_id().with("history");
    let response = ui.interact(strip, id, Sense::click_and_drag());
    let words = "Part of the past that is shown";
    response.widget_info(|| WidgetInfo::slider(true, scale.to, words));
    let visuals = ui.visuals();
    let track = strip.shrink2(Vec2::new(0.0, 3.0));
    ui.painter()
        .rect_filled(track, 3.0, visuals.extreme_bg_color);
    let length = (known.1 - known.0).max(scale.to - scale.from).max(1e-9);
    let x = |at: f64| {
        let part = ((at - known.0) / length).clamp(0.0, 1.0);
        strip.left() + part as f32 * strip.width()
    };
    let (left, right) = (x(scale.from), x(scale.to));
    // A thumb that can be seen and taken, however short the picture.
    let middle = 0.5 * (left + right);
    let half = 0.5 * (right - left).max(12.0);
    let thumb = Rect::from_min_max(
        pos2(middle - half, track.top()),
        pos2(middle + half, track.bottom()),
    );
    let look = visuals.widgets.style(&response);
    ui.painter().rect_filled(
        thumb.intersect(track),
        3.0,
        look.fg_stroke.color.gamma_multiply(0.6),
    );
    let response =
        response.on_hover_text("Drag to look back; double-click to go back to the newest samples.");
    if response.double_clicked() {
        return Some(Gesture::Release);
    }
    let pointer = response.interact_pointer_pos()?;
    if !(response.dragged() || response.clicked()) {
        return None;
    }
    let centre = known.0 + length * f64::from((pointer.x - strip.left()) / strip.width());
    let half = 0.5 * (scale.to - scale.from);
    Some(Gesture::Hold(centre - half, centre + half))
}
