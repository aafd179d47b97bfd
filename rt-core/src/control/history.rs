//! What a technician did to the tuning: undo, redo, A/B comparison, named presets.

use super::assessment::Tuning;
use std::collections::BTreeMap;

/// Changes that can be undone; older ones are forgotten.
const MOST_UNDONE: usize = 500;

/// The tuning in use with its past.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningHistory {
    current: Tuning,
    /// The other side of the A/B comparison.
    other: Tuning,
    past: Vec<Tuning>,
    future: Vec<Tuning>,
    presets: BTreeMap<String, Tuning>,
}

/// Why a preset cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    /// A preset must be called something.
    #[error("the preset has no name; give it one")]
    NoName,
    /// There is one already.
    #[error("there is a preset '{name}' already; remove it first or choose another name")]
    Exists {
        /// Its name.
        name: String,
    },
    /// There is none.
    #[error("there is no preset '{name}'; presets: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
}

impl TuningHistory {
    /// Starts with a tuning on both sides of the comparison.
    pub fn new(tuning: Tuning) -> Self {
        Self {
            current: tuning,
            other: tuning,
            past: Vec::new(),
            future: Vec::new(),
            presets: BTreeMap::new(),
        }
    }

    /// The tuning in use.
    pub fn current(&self) -> &Tuning {
        &self.current
    }

    /// The other side of the A/B comparison.
    pub fn other(&self) -> &Tuning {
        &self.other
    }

    /// Another tuning from now on. What was undone before is lost; no change is no entry.
    pub fn change(&mut self, tuning: Tuning) {
        if tuning == self.current {
            return;
        }
        if self.past.len() == MOST_UNDONE {
            self.past.remove(0);
        }
        self.past.push(std::mem::replace(&mut self.current, tuning));
        self.future.clear();
    }

    /// Takes the last change back; the tuning to be applied, if there is one.
    pub fn undo(&mut self) -> Option<Tuning> {
        let before = self.past.pop()?;
        self.future
            .push(std::mem::replace(&mut self.current, before));
        Some(self.current)
    }

    /// Makes the change that was taken back last again.
    pub fn redo(&mut self) -> Option<Tuning> {
        let after = self.future.pop()?;
        self.past.push(std::mem::replace(&mut self.current, after));
        Some(self.current)
    }

    /// Keeps the tuning in use as the other side of the comparison.
    pub fn keep_as_other(&mut self) {
        self.other = self.current;
    }

    /// Changes sides; the switch can be undone like any change.
    pub fn switch(&mut self) -> Tuning {
        let before = self.current;
        self.change(self.other);
        self.other = before;
        self.current
    }

    /// Names of the presets in alphabetical order.
    pub fn presets(&self) -> impl Iterator<Item = &str> {
        self.presets.keys().map(String::as_str)
    }

    /// Keeps the tuning in use under a name.
    pub fn save_preset(&mut self, name: &str) -> Result<(), PresetError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(PresetError::NoName);
        }
        if self.presets.contains_key(name) {
            return Err(PresetError::Exists { name: name.into() });
        }
        self.presets.insert(name.into(), self.current);
        Ok(())
    }

    /// Uses a preset; the change can be undone.
    pub fn use_preset(&mut self, name: &str) -> Result<Tuning, PresetError> {
        let tuning = *self.presets.get(name).ok_or_else(|| self.unknown(name))?;
        self.change(tuning);
        Ok(tuning)
    }

    /// Forgets a preset.
    pub fn remove_preset(&mut self, name: &str) -> Result<(), PresetError> {
        match self.presets.remove(name) {
            Some(_) => Ok(()),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> PresetError {
        PresetError::Unknown {
            name: name.into(),
            known: self.presets().collect::<Vec<_>>().join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_q(q: f64) -> Tuning {
        Tuning {
            q,
            ..Tuning::TUR_2024
        }
    }

    #[test]
    fn undo_and_redo_walk_the_same_way() {
        let mut history = TuningHistory::new(with_q(1.0));
        assert_eq!(history.undo(), None);
        for q in [2.0, 3.0, 3.0, 4.0] {
            history.change(with_q(q));
        }
        let back: Vec<f64> = std::iter::from_fn(|| history.undo()).map(|t| t.q).collect();
        assert_eq!(back, [3.0, 2.0, 1.0]);
        let forth: Vec<f64> = std::iter::from_fn(|| history.redo()).map(|t| t.q).collect();
        assert_eq!(forth, [2.0, 3.0, 4.0]);
        history.undo();
        history.change(with_q(9.0));
        assert_eq!(history.redo(), None);
        assert_eq!(history.undo().map(|t| t.q), Some(3.0));
    }

    #[test]
    fn old_changes_are_forgotten_and_the_newest_kept() {
        let mut history = TuningHistory::new(with_q(0.5));
        for i in 1..=2 * MOST_UNDONE {
            history.change(with_q(i as f64));
        }
        let back: Vec<f64> = std::iter::from_fn(|| history.undo()).map(|t| t.q).collect();
        assert_eq!(back.len(), MOST_UNDONE);
        assert_eq!(back[0], (2 * MOST_UNDONE - 1) as f64);
    }

    #[test]
    fn two_sides_are_compared_and_the_switch_undone() {
        let mut history = TuningHistory::new(with_q(1.0));
        history.keep_as_other();
        history.change(with_q(2.0));
        assert_eq!((history.switch().q, history.other().q), (1.0, 2.0));
        assert_eq!((history.switch().q, history.other().q), (2.0, 1.0));
        assert_eq!(history.undo().map(|t| t.q), Some(1.0));
    }

    #[test]
    fn presets_are_kept_used_and_written() {
        let mut history = TuningHistory::new(with_q(1.0));
        history.save_preset(" soft ").unwrap();
        history.change(with_q(7.0));
        assert_eq!(history.save_preset("  "), Err(PresetError::NoName));
        assert!(matches!(
            history.save_preset("soft"),
            Err(PresetError::Exists { .. })
        ));
        let text = history.use_preset("hard").unwrap_err().to_string();
        assert_eq!(text, "there is no preset 'hard'; presets: soft");
        assert_eq!(history.use_preset("soft").unwrap().q, 1.0);
        assert_eq!(history.undo().map(|t| t.q), Some(7.0));
        let written = ron::to_string(&history).unwrap();
        assert_eq!(ron::from_str::<TuningHistory>(&written).unwrap(), history);
        history.remove_preset("soft").unwrap();
        assert!(history.remove_preset("soft").is_err());
        assert_eq!(history.presets().count(), 0);
    }
}
