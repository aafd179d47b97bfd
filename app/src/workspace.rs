//! The panels and their arrangement: what there is, where it stands, and how an arrangement is kept and found again.

mod defaults;

use crate::panels::bode::BodePanel;
use crate::panels::channels::ChannelsPanel;
use crate::panels::events::EventsPanel;
use crate::panels::histogram::HistogramPanel;
use crate::panels::line_view::LineViewPanel;
use crate::panels::plots::PlotsPanel;
use crate::panels::spectra::SpectraPanel;
use crate::panels::spectrogram::SpectrogramPanel;
use crate::panels::stability_map::StabilityMapPanel;
use crate::panels::transfer::TransferPanel;
use crate::panels::tuning::TuningPanel;
use crate::panels::xy::XyPanel;
use crate::settings::BenchLayouts;
use eframe::egui::{self, Ui, WidgetText};
use egui_tiles::{Behavior, SimplificationOptions, Tile, TileId, Tiles, Tree, UiResponse};
use serde::{Deserialize, Serialize};

/// The kinds of panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelKind {
    /// Channels over time or place.
    Plots,
    /// The wire along the section.
    Line,
    /// Parameters that need gains.
    Tuning,
    /// Where the loop is stable.
    StabilityMap,
    /// Motor and loop over frequency.
    Bode,
    /// Parameters that apply directly.
    Parameters,
    /// Power spectral densities.
    Spectra,
    /// From one channel to another over frequency.
    Transfer,
    /// How a spectrum changes in time.
    Spectrogram,
    /// How often which values occur.
    Histogram,
    /// One channel against another.
    Xy,
    /// All channels with their values.
    Channels,
    /// What happened.
    Events,
    /// How well the loop keeps time.
    Timing,
    /// Recordings.
    Recordings,
    /// Recordings over each other.
    Comparison,
    /// Iterative validation.
    Validation,
    /// Devices, inputs and calibration.
    Rig,
    /// Scan, home, check, jog, identify.
    Commissioning,
    /// A test written down as a text.
    Script,
}

impl PanelKind {
    /// All of them, in the order of their shortcuts.
    pub const ALL: [PanelKind; 20] = [
        PanelKind::Plots,
        PanelKind::Line,
        PanelKind::Tuning,
        PanelKind::StabilityMap,
        PanelKind::Bode,
        PanelKind::Parameters,
        PanelKind::Spectra,
        PanelKind::Transfer,
        PanelKind::Spectrogram,
        PanelKind::Histogram,
        PanelKind::Xy,
        PanelKind::Channels,
        PanelKind::Events,
        PanelKind::Timing,
        PanelKind::Recordings,
        PanelKind::Comparison,
        PanelKind::Rig,
        PanelKind::Commissioning,
        PanelKind::Validation,
        PanelKind::Script,
    ];

    /// What its tab says.
    pub fn title(self) -> &'static str {
        match self {
            PanelKind::Plots => "Plots",
            PanelKind::Line => "Overhead line",
            PanelKind::Tuning => "Tuning",
            PanelKind::StabilityMap => "Stability map",
            PanelKind::Bode => "Bode",
            PanelKind::Parameters => "Parameters",
            PanelKind::Spectra => "Spectra",
            PanelKind::Transfer => "Transfer function",
            PanelKind::Spectrogram => "Spectrogram",
            PanelKind::Histogram => "Histogram",
            PanelKind::Xy => "XY",
            PanelKind::Channels => "Channels",
            PanelKind::Events => "Events",
            PanelKind::Timing => "Timing",
            PanelKind::Recordings => "Recordings",
            PanelKind::Comparison => "Comparison",
            PanelKind::Rig => "Rig",
            PanelKind::Commissioning => "Commissioning",
            PanelKind::Validation => "Validation",
            PanelKind::Script => "Script",
        }
    }

    /// What it shows, in a sentence.
    pub fn tooltip(self) -> &'static str {
        match self {
            PanelKind::Plots => {
                "Channels over time or along the line, with cursors and statistics."
            }
            PanelKind::Line => {
                "The wire along the section with the moving contact, slack droppers, uplift, and the force over the spans."
            }
            PanelKind::Tuning => {
                "Gains: what is asked for, what the model says of it, what is applied."
            }
            PanelKind::StabilityMap => {
                "Where in the plane of two parameters the loop is stable, with the point in use and its trail."
            }
            PanelKind::Bode => "Motor and loop over frequency: the model beside what is measured.",
            PanelKind::Parameters => "Parameters of the bench that take effect at once.",
            PanelKind::Spectra => "Power spectral densities of channels.",
            PanelKind::Transfer => {
                "From one channel to another over frequency, with the coherence."
            }
            PanelKind::Spectrogram => "How the spectrum of a channel changes in time.",
            PanelKind::Histogram => "How often which values of a channel occur.",
            PanelKind::Xy => "One channel against another.",
            PanelKind::Channels => "Every channel with its value; drag one to a plot.",
            PanelKind::Events => "What happened, to be searched and filtered.",
            PanelKind::Timing => "How punctually the loop wakes up and how long its parts take.",
            PanelKind::Recordings => {
                "Recorded runs: open, compare, export; what is written about the next one."
            }
            PanelKind::Comparison => {
                "Recordings over each other, place by place, with differences, spectra and statistics."
            }
            PanelKind::Rig => "Devices, counters and inputs; calibration of force channels.",
            PanelKind::Commissioning => {
                "Puts a rig to work: scan, home, check, calibrate, identify; moves its motor by hand."
            }
            PanelKind::Validation => {
                "Validation by iteration: how it converges, the run against its reference, the error by band."
            }
            PanelKind::Script => "A whole test as a text: editor, run, stop, and what it shows.",
        }
    }
}

/// A panel with what it remembers. Those without anything to remember are drawn from what the window holds.
#[derive(Serialize, Deserialize)]
pub enum Pane {
    /// See [`PanelKind::Plots`].
    Plots(Box<PlotsPanel>),
    /// See [`PanelKind::Line`].
    Line(Box<LineViewPanel>),
    /// See [`PanelKind::Tuning`].
    Tuning(TuningPanel),
    /// See [`PanelKind::StabilityMap`].
    StabilityMap(Box<StabilityMapPanel>),
    /// See [`PanelKind::Bode`].
    Bode(Box<BodePanel>),
    /// See [`PanelKind::Parameters`].
    Parameters,
    /// See [`PanelKind::Spectra`].
    Spectra(Box<SpectraPanel>),
    /// See [`PanelKind::Transfer`].
    Transfer(Box<TransferPanel>),
    /// See [`PanelKind::Spectrogram`].
    Spectrogram(Box<SpectrogramPanel>),
    /// See [`PanelKind::Histogram`].
    Histogram(Box<HistogramPanel>),
    /// See [`PanelKind::Xy`].
    Xy(Box<XyPanel>),
    /// See [`PanelKind::Channels`].
    Channels(ChannelsPanel),
    /// See [`PanelKind::Events`].
    Events(EventsPanel),
    /// See [`PanelKind::Timing`].
    Timing,
    /// See [`PanelKind::Recordings`].
    Recordings,
    /// See [`PanelKind::Comparison`].
    Comparison,
    /// See [`PanelKind::Rig`].
    Rig,
    /// See [`PanelKind::Commissioning`].
    Commissioning,
    /// See [`PanelKind::Validation`].
    Validation,
    /// See [`PanelKind::Script`].
    Script,
}

impl Pane {
    /// A fresh panel.
    pub fn new(kind: PanelKind) -> Self {
        match kind {
            PanelKind::Plots => Pane::Plots(Default::default()),
            PanelKind::Line => Pane::Line(Default::default()),
            PanelKind::Tuning => Pane::Tuning(Default::default()),
            PanelKind::StabilityMap => Pane::StabilityMap(Default::default()),
            PanelKind::Bode => Pane::Bode(Default::default()),
            PanelKind::Parameters => Pane::Parameters,
            PanelKind::Spectra => Pane::Spectra(Default::default()),
            PanelKind::Transfer => Pane::Transfer(Default::default()),
            PanelKind::Spectrogram => Pane::Spectrogram(Default::default()),
            PanelKind::Histogram => Pane::Histogram(Default::default()),
            PanelKind::Xy => Pane::Xy(Default::default()),
            PanelKind::Channels => Pane::Channels(Default::default()),
            PanelKind::Events => Pane::Events(Default::default()),
            PanelKind::Timing => Pane::Timing,
            PanelKind::Recordings => Pane::Recordings,
            PanelKind::Comparison => Pane::Comparison,
            PanelKind::Rig => Pane::Rig,
            PanelKind::Commissioning => Pane::Commissioning,
            PanelKind::Validation => Pane::Validation,
            PanelKind::Script => Pane::Script,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> PanelKind {
        match self {
            Pane::Plots(_) => PanelKind::Plots,
            Pane::Line(_) => PanelKind::Line,
            Pane::Tuning(_) => PanelKind::Tuning,
            Pane::StabilityMap(_) => PanelKind::StabilityMap,
            Pane::Bode(_) => PanelKind::Bode,
            Pane::Parameters => PanelKind::Parameters,
            Pane::Spectra(_) => PanelKind::Spectra,
            Pane::Transfer(_) => PanelKind::Transfer,
            Pane::Spectrogram(_) => PanelKind::Spectrogram,
            Pane::Histogram(_) => PanelKind::Histogram,
            Pane::Xy(_) => PanelKind::Xy,
            Pane::Channels(_) => PanelKind::Channels,
            Pane::Events(_) => PanelKind::Events,
            Pane::Timing => PanelKind::Timing,
            Pane::Recordings => PanelKind::Recordings,
            Pane::Comparison => PanelKind::Comparison,
            Pane::Rig => PanelKind::Rig,
            Pane::Commissioning => PanelKind::Commissioning,
            Pane::Validation => PanelKind::Validation,
            Pane::Script => PanelKind::Script,
        }
    }
}

/// Draws a panel; the window knows how.
pub trait ShowPane {
    /// Draws it.
    fn show(&mut self, ui: &mut Ui, pane: &mut Pane);
}

/// The arrangement of one bench's panels.
pub struct Workspace {
    bench: &'static str,
    tree: Tree<Pane>,
    /// The name of the arrangement, while it is one that was kept.
    name: Option<String>,
}

/// Distance of a panel's content from its edge.
const MARGIN: f32 = 8.0;
/// Nothing is narrower or lower than this.
const SMALLEST: f32 = 120.0;

impl Workspace {
    /// The arrangement that a person had last, or the one that the bench comes with. The sentence says if
    /// the former could not be read.
    pub fn load(bench: &'static str, layouts: Option<&BenchLayouts>) -> (Self, Option<String>) {
        let default = || Self {
            bench,
            tree: defaults::tree(bench),
            name: None,
        };
        match layouts.and_then(|l| l.current.as_deref()).map(parse) {
            None => (default(), None),
            Some(Ok(tree)) => {
                let own = Self {
                    bench,
                    tree,
                    name: None,
                };
                (own, None)
            }
            Some(Err(e)) => {
                let notice = format!(
                    "the arrangement of the panels could not be read ({e}); the bench's own is used"
                );
                (default(), Some(notice))
            }
        }
    }

    /// The arrangement as text.
    pub fn text(&self) -> Result<String, String> {
        ron::to_string(&self.tree).map_err(|e| e.to_string())
    }

    /// Takes an arrangement that was kept under a name.
    pub fn use_named(&mut self, name: &str, text: &str) -> Result<(), String> {
        self.tree = parse(text).map_err(|e| format!("layout '{name}' cannot be read: {e}"))?;
        self.name = Some(name.to_owned());
        Ok(())
    }

    /// The arrangement that the bench comes with.
    pub fn reset(&mut self) {
        self.tree = defaults::tree(self.bench);
        self.name = None;
    }

    /// The name of the arrangement, if it was kept under one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Says under which name it was kept.
    pub fn set_name(&mut self, name: &str) {
        self.name = Some(name.to_owned());
    }

    /// Brings a panel to the front, opening it beside the others if there is none.
    pub fn bring_to_front(&mut self, kind: PanelKind) {
        let is_it = |tile: &Tile<Pane>| matches!(tile, Tile::Pane(p) if p.kind() == kind);
        let found = self.tree.tiles.iter().find(|(_, tile)| is_it(tile));
        let id = match found {
            Some((id, _)) => *id,
            None => self.open(kind),
        };
        self.tree.make_active(|tile, _| tile == id);
    }

    /// Opens one more panel of a kind, as a tab beside the largest panel.
    pub fn open(&mut self, kind: PanelKind) -> TileId {
        let id = self.tree.tiles.insert_pane(Pane::new(kind));
        let area = |tile: TileId| self.tree.tiles.rect(tile).map_or(0.0, |r| r.area());
        let shown = self.tree.active_tiles();
        let largest = shown
            .into_iter()
            .filter(|t| self.tree.tiles.get_pane(t).is_some())
            .max_by(|a, b| area(*a).total_cmp(&area(*b)));
        let home = largest
            .and_then(|tile| self.tree.tiles.parent_of(tile))
            .or(self.tree.root());
        match home {
            Some(home) => self
                .tree
                .move_tile_to_container(id, home, usize::MAX, false),
            None => self.tree = Tree::new(tree_id(), id, std::mem::take(&mut self.tree.tiles)),
        }
        id
    }

    /// One panel in all the room.
    #[cfg(test)]
    pub fn show_only(&mut self, kind: PanelKind) {
        self.tree = Tree::new_tabs(tree_id(), vec![Pane::new(kind)]);
    }

    /// Which kinds are open.
    #[cfg(test)]
    pub fn is_open(&self, kind: PanelKind) -> bool {
        let mut tiles = self.tree.tiles.tiles();
        tiles.any(|tile| matches!(tile, Tile::Pane(p) if p.kind() == kind))
    }

    /// Draws all panels.
    pub fn show(&mut self, ui: &mut Ui, shower: &mut dyn ShowPane) {
        if self.tree.is_empty() {
            ui.centered_and_justified(|ui| {
                ui.label("No panel is open. Open one with Commands … (Ctrl+P), or reset the layout (Ctrl+Shift+L).")
            });
            return;
        }
        self.tree.ui(&mut Tabs { shower }, ui);
    }
}

/// The name of the tree within the window.
fn tree_id() -> egui::Id {
    egui::Id::unique("workspace")
}

fn parse(text: &str) -> Result<Tree<Pane>, String> {
    ron::from_str(text).map_err(|e| e.to_string())
}

/// How tabs look and behave.
struct Tabs<'a> {
    shower: &'a mut dyn ShowPane,
}

impl Behavior<Pane> for Tabs<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _id: TileId, pane: &mut Pane) -> UiResponse {
        egui::Frame::new()
            .fill(ui.visuals().panel_fill)
            .inner_margin(MARGIN)
            .show(ui, |ui| {
                ui.set_min_size(ui.available_size());
                self.shower.show(ui, pane);
            });
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        pane.kind().title().into()
    }

    fn is_tab_closable(&self, _tiles: &Tiles<Pane>, _id: TileId) -> bool {
        true
    }

    fn on_tab_button(
        &mut self,
        tiles: &mut Tiles<Pane>,
        id: TileId,
        response: egui::Response,
    ) -> egui::Response {
        match tiles.get_pane(&id) {
            Some(pane) => response.on_hover_text(pane.kind().tooltip()),
            None => response,
        }
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        30.0
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        4.0
    }

    fn min_size(&self) -> f32 {
        SMALLEST
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions {
            all_panes_must_have_tabs: true,
            ..SimplificationOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layouts(current: &str) -> BenchLayouts {
        BenchLayouts {
            current: Some(current.into()),
            ..BenchLayouts::default()
        }
    }

    #[test]
    fn an_arrangement_comes_back_with_its_panels() {
        for spec in rt_core::bench::specs() {
            let (mut workspace, _) = Workspace::load(spec.id, None);
            assert!(workspace.is_open(PanelKind::Plots), "{}", spec.id);
            workspace.bring_to_front(PanelKind::Timing);
            let text = workspace.text().unwrap();
            let (again, notice) = Workspace::load(spec.id, Some(&layouts(&text)));
            assert_eq!(notice, None);
            for kind in PanelKind::ALL {
                assert_eq!(again.is_open(kind), workspace.is_open(kind), "{kind:?}");
            }
        }
    }

    #[test]
    fn one_that_cannot_be_read_is_said_and_replaced() {
        let (workspace, notice) = Workspace::load("profile", Some(&layouts("nonsense")));
        assert!(notice.unwrap().contains("could not be read"));
        assert!(workspace.is_open(PanelKind::Plots));
    }

    #[test]
    fn every_kind_can_be_opened_and_has_words() {
        let (mut workspace, _) = Workspace::load("profile", None);
        for kind in PanelKind::ALL {
            workspace.bring_to_front(kind);
            assert!(workspace.is_open(kind));
            assert_eq!(Pane::new(kind).kind(), kind);
            assert!(!kind.title().is_empty() && !kind.tooltip().is_empty());
        }
    }
}
