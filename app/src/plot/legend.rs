//! The legend above a plot: number, name and value of each line, and what can be done with it.

use super::canvas::badge;
use super::stack::PlotState;
use crate::data::Data;
use crate::theme;
use crate::units::{fixed_width, shown};
use eframe::egui::text::{LayoutJob, TextFormat, TextWrapping};
use eframe::egui::{
    Align2, Color32, FontId, Popup, Rect, Role, Sense, Ui, Vec2, WidgetInfo, pos2, vec2,
};

/// Height of an entry, in points.
const HEIGHT: f32 = 22.0;
const NAME: FontId = FontId::proportional(14.0);
const VALUE: FontId = FontId::monospace(14.0);

/// What a person did in the legend.
#[derive(Clone, Debug, PartialEq)]
pub enum LegendDeed {
    /// Removes a channel from the plot.
    Remove(String),
    /// Draws a channel wide or thin.
    Bold(String, bool),
    /// Puts a channel in a plot of its own.
    Separate(String),
    /// Points at a line, by its number.
    Point(usize),
}

/// Shows the legend of a plot. `values` are in the units of the screen, one for each entry.
pub fn show(
    ui: &mut Ui,
    plot: usize,
    state: &PlotState,
    data: &Data,
    values: &[Option<f64>],
) -> Vec<LegendDeed> {
    let mut deeds = Vec::new();
    let dark = ui.visuals().dark_mode;
    ui.spacing_mut().item_spacing = vec2(14.0, 2.0);
    for (i, entry) in state.entries.iter().enumerate() {
        let channel = data.channel(&entry.channel).map(|(_, c)| c);
        let name = channel.map_or(entry.channel.as_str(), |c| c.label.as_str());
        let value = match channel {
            Some(c) => {
                let value = values.get(i).copied().flatten().unwrap_or(f64::NAN);
                format!("{} {:<3}", fixed_width(value), shown(&c.unit).unit)
            }
            None => " not in this bench".to_owned(),
        };
        let ink = ui.visuals().text_color();
        let value = ui.painter().layout_no_wrap(value, VALUE, ink);
        let fixed = 22.0 + value.size().x + 22.0;
        let most = (ui.max_rect().width() - fixed).max(30.0);
        let mut job = LayoutJob::single_section(name.to_owned(), TextFormat::simple(NAME, ink));
        job.wrap = TextWrapping::truncate_at_width(most);
        let named = ui.painter().layout_job(job);
        let size = vec2(fixed + named.size().x, HEIGHT);
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        if !ui.is_rect_visible(rect) {
            continue;
        }
        let color = theme::series(dark, entry.color);
        let middle = rect.center().y;
        let painter = ui.painter();
        if response.hovered() || response.has_focus() {
            painter.rect_filled(
                rect.expand(1.0),
                3.0,
                ui.visuals().widgets.hovered.weak_bg_fill,
            );
            deeds.push(LegendDeed::Point(i + 1));
        }
        badge(painter, pos2(rect.left() + 9.0, middle), i + 1, color, dark);
        let at = pos2(rect.left() + 21.0, middle - 0.5 * named.size().y);
        let value_at = pos2(at.x + named.size().x, middle - 0.5 * value.size().y);
        painter.galley(at, named, ink);
        painter.galley(value_at, value, ink);
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Button, true, format!("{name} in plot {}", plot + 1))
        });
        let about = match channel {
            Some(c) => format!(
                "{} ({}, {})\nClick for what can be done with this line.",
                c.label,
                c.id,
                c.role.name()
            ),
            None => "This bench or recording has no such channel; it will be drawn when it has."
                .to_owned(),
        };
        let response = response.on_hover_text(about);
        Popup::menu(&response).show(|ui| {
            let bold = if entry.is_bold {
                "Thin line"
            } else {
                "Wide line"
            };
            if ui.button(bold).clicked() {
                deeds.push(LegendDeed::Bold(entry.channel.clone(), !entry.is_bold));
            }
            if state.entries.len() > 1 && ui.button("To a plot of its own").clicked() {
                deeds.push(LegendDeed::Separate(entry.channel.clone()));
            }
            if ui.button("Remove from this plot").clicked() {
                deeds.push(LegendDeed::Remove(entry.channel.clone()));
            }
        });
        let cross = Rect::from_center_size(pos2(rect.right() - 10.0, middle), Vec2::splat(18.0));
        if removes(ui, cross, plot, name) {
            deeds.push(LegendDeed::Remove(entry.channel.clone()));
        }
    }
    deeds
}

/// The cross behind an entry.
fn removes(ui: &Ui, rect: Rect, plot: usize, name: &str) -> bool {
    let id = ui.scope_id().with(("remove", name));
    let response = ui.interact(rect, id, Sense::click());
    let words = format!("Remove {name} from plot {}", plot + 1);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, words.as_str()));
    let color = if response.hovered() || response.has_focus() {
        ui.visuals().strong_text_color()
    } else {
        Color32::from_gray(128)
    };
    ui.painter()
        .text(rect.center(), Align2::CENTER_CENTER, "×", NAME, color);
    response.on_hover_text(words).clicked()
}
