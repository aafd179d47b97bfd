//! All parameters of the bench, made from their declarations. Beside each control stands the value
//! that the loop has applied: what is asked for and what is in force are two things.

use crate::theme;
use crate::units::{fixed_width, shown};
use eframe::egui::{RichText, Slider, SliderClamping, Ui};
use rt_core::param::{Applies, ParamSpec, Scale};

/// What the controls show, kept between frames.
pub struct Controls {
    asked: Vec<f64>,
    refused: Vec<Option<String>>,
}

impl Controls {
    /// Controls at the values of the start.
    pub fn new(start: &[f64]) -> Self {
        Self {
            asked: start.to_vec(),
            refused: vec![None; start.len()],
        }
    }

    /// Draws them; returns the changes that were asked for as (index, SI value).
    pub fn show(&mut self, ui: &mut Ui, specs: &[ParamSpec], applied: &[f64]) -> Vec<(usize, f64)> {
        let mut changes = Vec::new();
        ui.heading("Parameters");
        if specs.is_empty() {
            ui.label("This bench has no parameters.");
        } else if specs.iter().all(|s| s.applies == Applies::ByDesign) {
            ui.label(
                "All parameters of this bench need gains that are designed first: they are in the panel Tuning.",
            );
        }
        for (i, (spec, asked)) in specs.iter().zip(&mut self.asked).enumerate() {
            // Those that need gains have a panel of their own.
            if spec.applies == Applies::ByDesign {
                continue;
            }
            let unit = shown(spec.unit);
            ui.add_space(6.0);
            let label = ui
                .label(RichText::new(spec.label).strong())
                .on_hover_text(spec.help);
            let mut value = *asked * unit.factor;
            let range = spec.min * unit.factor..=spec.max * unit.factor;
            let slider = Slider::new(&mut value, range)
                .logarithmic(spec.scale == Scale::Logarithmic)
                .clamping(SliderClamping::Never)
                .suffix(if unit.unit.is_empty() {
                    String::new()
                } else {
                    format!(" {}", unit.unit)
                });
            let response = ui.add(slider).labelled_by(label.id);
            if response.on_hover_text(spec.help).changed() {
                match spec.check(value / unit.factor) {
                    Ok(accepted) => {
                        *asked = accepted;
                        self.refused[i] = None;
                        changes.push((i, accepted));
                    }
                    Err(_) => {
                        self.refused[i] = Some(format!(
                            "{value} is refused: {} to {} {}",
                            spec.min * unit.factor,
                            spec.max * unit.factor,
                            unit.unit
                        ));
                    }
                }
            }
            let in_force = applied.get(i).copied().unwrap_or(f64::NAN) * unit.factor;
            let text = format!("applied {} {}", fixed_width(in_force), unit.unit);
            ui.label(RichText::new(text).monospace().size(13.0))
                .on_hover_text("The value that the loop has confirmed.");
            if let Some(refused) = &self.refused[i] {
                ui.colored_label(theme::warning(ui.visuals().dark_mode), refused);
            }
        }
        changes
    }
}
