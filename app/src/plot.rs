//! The parts of the plots panel, each of one idea.

pub mod axis;
pub mod canvas;
pub mod cursors;
pub mod events;
pub mod gestures;
pub mod legend;
pub mod limits;
pub mod menus;
pub mod mesh;
pub mod overlay;
pub mod picture;
pub mod place;
pub mod range;
pub mod scale;
pub mod stack;
pub mod strip;
pub mod svg;
pub mod table;
pub mod toolbar;
pub mod traces;
pub mod words;
