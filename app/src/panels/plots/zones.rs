//! Bars between plots, and where a dragged channel can be let go.

use super::Deed;
use super::stack::HANDLE;
use crate::data::{ChannelDrag, Data};
use crate::plot::stack::PlotState;
use eframe::egui::{
    self, DragAndDrop, FontId, Key, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2,
};

/// The bar between two plots, to be dragged or moved with the arrow keys.
pub fn handle(ui: &mut Ui, above: usize, width: f32) -> Option<Deed> {
    let (rect, response) = ui.allocate_exact_size(vec2(width, HANDLE), Sense::click_and_drag());
    let words = format!("Height of plot {}", above + 1);
    response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, words.as_str()));
    let look = ui.visuals().widgets.style(&response);
    let grip = Rect::from_center_size(rect.center(), vec2(40.0, 2.0));
    ui.painter()
        .rect_filled(grip, 1.0, look.fg_stroke.color.gamma_multiply(0.35));
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeVertical);
    }
    let mut by = response.drag_delta().y / 150.0;
    if response.has_focus() {
        let filter = egui::EventFilter {
            vertical_arrows: true,
            ..Default::default()
        };
        ui.memory_mut(|m| m.set_focus_lock_filter(response.id, filter));
        for (key, step) in [(Key::ArrowUp, -0.1), (Key::ArrowDown, 0.1)] {
            if ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, key)) {
                by += step;
            }
        }
    }
    response.on_hover_text("Drag to share the height out.");
    (by != 0.0).then_some(Deed::Taller(above, by))
}

/// Shows what a channel that is dragged over a plot would do, and takes it.
pub fn drop_zone(
    ui: &Ui,
    data: &Data,
    state: &PlotState,
    number: usize,
    rect: Rect,
    zone: &egui::Response,
    deeds: &mut Vec<Deed>,
) {
    if let Some(drag) = zone.dnd_hover_payload::<ChannelDrag>() {
        let (words, color) = match state.accepts(data, &drag.0) {
            Ok(()) => (
                format!("Add to plot {}", number + 1),
                ui.visuals().selection.stroke.color,
            ),
            Err(words) => (words, crate::theme::warning(ui.visuals().dark_mode)),
        };
        paint_zone(ui, rect, &words, color);
    }
    if let Some(drag) = zone.dnd_release_payload::<ChannelDrag>() {
        deeds.push(Deed::Add(number, drag.0.clone()));
    }
}

/// While a channel is dragged, the axis is a place for a plot of its own.
pub fn new_plot_zone(ui: &Ui, rect: Rect, deeds: &mut Vec<Deed>) {
    if !DragAndDrop::has_payload_of_type::<ChannelDrag>(ui.ctx()) {
        return;
    }
    let zone = ui.interact(rect, ui.scope_id().with("new plot"), Sense::hover());
    let color = ui.visuals().selection.stroke.color;
    paint_zone(ui, rect, "Drop here for a plot of its own", color);
    if let Some(drag) = zone.dnd_release_payload::<ChannelDrag>() {
        deeds.push(Deed::Separate(drag.0.clone()));
    }
}

fn paint_zone(ui: &Ui, rect: Rect, words: &str, color: egui::Color32) {
    let painter = ui.painter();
    painter.rect_filled(rect, 4.0, ui.visuals().panel_fill.gamma_multiply(0.7));
    painter.rect_stroke(rect, 4.0, Stroke::new(2.0, color), StrokeKind::Inside);
    let font = FontId::proportional(15.0);
    let galley = painter.layout(
        words.to_owned(),
        font,
        ui.visuals().strong_text_color(),
        rect.width() - 20.0,
    );
    painter.galley(rect.center() - 0.5 * galley.size(), galley, color);
}
