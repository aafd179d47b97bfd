//! The arrangement that each bench comes with.

use super::{Pane, PanelKind, tree_id};
use egui_tiles::{Container, Linear, LinearDir, TileId, Tiles, Tree};

/// Panels that lie behind each other as tabs.
fn tabs(tiles: &mut Tiles<Pane>, kinds: &[PanelKind]) -> TileId {
    let panes = kinds
        .iter()
        .map(|kind| tiles.insert_pane(Pane::new(*kind)))
        .collect();
    tiles.insert_tab_tile(panes)
}

/// Tiles beside or above each other, with their shares.
fn split(tiles: &mut Tiles<Pane>, dir: LinearDir, parts: &[(TileId, f32)]) -> TileId {
    let mut linear = Linear::new(dir, parts.iter().map(|p| p.0).collect());
    for (tile, share) in parts {
        linear.shares.set_share(*tile, *share);
    }
    tiles.insert_container(Container::Linear(linear))
}

/// What a technician needs first: controls on the left, plots in the middle, the rest behind.
pub fn tree(bench: &str) -> Tree<Pane> {
    use PanelKind as K;
    let mut tiles = Tiles::default();
    let (controls, analysis): (&[K], &[K]) = match bench {
        "pantograph-lqg" => (
            &[K::Tuning, K::StabilityMap, K::Channels],
            &[K::Plots, K::Line, K::Spectra, K::Bode],
        ),
        "jog" => (&[K::Channels, K::Parameters], &[K::Commissioning, K::Plots]),
        "pantograph-steady" => (&[K::Tuning, K::Channels], &[K::Plots, K::Spectra]),
        _ => (
            &[K::Parameters, K::Channels],
            &[K::Plots, K::Spectra, K::Transfer],
        ),
    };
    let left = tabs(&mut tiles, controls);
    let plots = tabs(&mut tiles, analysis);
    let below = tabs(&mut tiles, &[K::Events, K::Timing, K::Recordings, K::Rig]);
    let middle = split(
        &mut tiles,
        LinearDir::Vertical,
        &[(plots, 4.2), (below, 1.0)],
    );
    let root = split(
        &mut tiles,
        LinearDir::Horizontal,
        &[(left, 1.0), (middle, 2.6)],
    );
    Tree::new(tree_id(), root, tiles)
}
