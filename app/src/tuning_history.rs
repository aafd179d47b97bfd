//! What a technician did to the tuning: undo, redo, A/B comparison, named presets that outlive the program.

use rt_core::param::{Applies, ParamSet};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Changes that can be undone; older ones are forgotten.
const MOST_UNDONE: usize = 500;

/// Values of all designed parameters by their identifiers.
pub type Tuning = BTreeMap<String, f64>;

/// The designed part of a set of parameters.
pub fn tuning_of(params: &ParamSet) -> Tuning {
    let specs = params.specs().iter().enumerate();
    specs
        .filter(|(_, spec)| spec.applies == Applies::ByDesign)
        .map(|(i, spec)| (spec.id.to_owned(), params.get(i)))
        .collect()
}

/// Puts a tuning into a set of parameters; what it does not name or what is out of range stays as it is.
pub fn put(tuning: &Tuning, params: &mut ParamSet) {
    for (id, value) in tuning {
        let _ = params.preset(id, *value);
    }
}

/// The tuning in use with its past.
#[derive(Clone, Debug, PartialEq)]
pub struct TuningHistory {
    current: Tuning,
    /// The other side of the A/B comparison.
    other: Tuning,
    past: Vec<Tuning>,
    future: Vec<Tuning>,
}

impl TuningHistory {
    /// Starts with a tuning on both sides of the comparison.
    pub fn new(tuning: Tuning) -> Self {
        Self {
            other: tuning.clone(),
            current: tuning,
            past: Vec::new(),
            future: Vec::new(),
        }
    }

    /// Another tuning is in use from now on. What was undone before is lost; no change is no entry.
    pub fn note(&mut self, tuning: Tuning) {
        if tuning == self.current {
            return;
        }
        // Steps along the past or the future are told by the loop like every other change.
        if self.past.last() == Some(&tuning) {
            self.past.pop();
            self.future
                .push(std::mem::replace(&mut self.current, tuning));
        } else if self.future.last() == Some(&tuning) {
            self.future.pop();
            self.past.push(std::mem::replace(&mut self.current, tuning));
        } else {
            if self.past.len() == MOST_UNDONE {
                self.past.remove(0);
            }
            self.past.push(std::mem::replace(&mut self.current, tuning));
            self.future.clear();
        }
    }

    /// What undo would bring back.
    pub fn before(&self) -> Option<&Tuning> {
        self.past.last()
    }

    /// What redo would bring back.
    pub fn after(&self) -> Option<&Tuning> {
        self.future.last()
    }

    /// Keeps the tuning in use as the other side of the comparison.
    pub fn keep_as_other(&mut self) {
        self.other = self.current.clone();
    }

    /// Changes sides: what to use now; the tuning in use becomes the other side.
    pub fn switch(&mut self) -> Tuning {
        std::mem::replace(&mut self.other, self.current.clone())
    }

    /// Whether both sides of the comparison are the same.
    pub fn sides_are_equal(&self) -> bool {
        self.other == self.current
    }
}

/// Named tunings of a bench in a file of their own.
#[derive(Clone, Debug)]
pub struct Presets {
    path: PathBuf,
    named: BTreeMap<String, Tuning>,
}

impl Presets {
    /// Reads a file; one that does not exist yet has none.
    pub fn load(path: PathBuf) -> Result<Self, String> {
        let named = match std::fs::read_to_string(&path) {
            Ok(text) => ron::from_str(&text).map_err(|e| {
                format!(
                    "{}: the presets cannot be read: {e}; mend or remove the file",
                    path.display()
                )
            })?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(e) => return Err(format!("{}: {e}", path.display())),
        };
        Ok(Self { path, named })
    }

    /// Names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// The tuning of a name.
    pub fn get(&self, name: &str) -> Option<&Tuning> {
        self.named.get(name)
    }

    /// Keeps a tuning under a name, in place of one that has it already, and writes the file.
    pub fn save(&mut self, name: &str, tuning: Tuning) -> Result<(), String> {
        let name = name.trim();
        if name.is_empty() {
            return Err("the preset has no name; give it one".into());
        }
        self.named.insert(name.into(), tuning);
        self.write()
    }

    /// Forgets a preset and writes the file.
    pub fn remove(&mut self, name: &str) -> Result<(), String> {
        self.named.remove(name);
        self.write()
    }

    fn write(&self) -> Result<(), String> {
        let at = |e: &dyn std::fmt::Display| format!("{}: {e}", self.path.display());
        let pretty = ron::ser::PrettyConfig::default();
        let text = ron::ser::to_string_pretty(&self.named, pretty).map_err(|e| at(&e))?;
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| at(&e))?;
        }
        // Whole or not at all.
        let part = self.path.with_extension("part");
        std::fs::write(&part, text).map_err(|e| at(&e))?;
        std::fs::rename(&part, &self.path).map_err(|e| at(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_q(q: f64) -> Tuning {
        [("q".to_owned(), q)].into()
    }

    #[test]
    fn undo_and_redo_walk_the_same_way() {
        let mut history = TuningHistory::new(with_q(1.0));
        assert_eq!(history.before(), None);
        for q in [2.0, 3.0, 3.0, 4.0] {
            history.note(with_q(q));
        }
        for q in [3.0, 2.0, 1.0] {
            let before = history.before().cloned().unwrap();
            assert_eq!(before, with_q(q));
            history.note(before);
        }
        assert_eq!(history.before(), None);
        let after = history.after().cloned().unwrap();
        assert_eq!(after, with_q(2.0));
        history.note(after);
        history.note(with_q(9.0));
        assert_eq!(
            (history.after(), history.before()),
            (None, Some(&with_q(2.0)))
        );
    }

    #[test]
    fn old_changes_are_forgotten_and_the_newest_kept() {
        let mut history = TuningHistory::new(with_q(0.5));
        for i in 1..=2 * MOST_UNDONE {
            history.note(with_q(i as f64));
        }
        assert_eq!(history.past.len(), MOST_UNDONE);
        assert_eq!(
            history.before(),
            Some(&with_q((2 * MOST_UNDONE - 1) as f64))
        );
    }

    #[test]
    fn two_sides_are_compared() {
        let mut history = TuningHistory::new(with_q(1.0));
        history.keep_as_other();
        history.note(with_q(2.0));
        for q in [1.0, 2.0, 1.0] {
            let side = history.switch();
            assert_eq!(side, with_q(q));
            history.note(side);
        }
    }

    #[test]
    fn presets_outlive_the_program_and_a_broken_file_is_told() {
        let folder =
            std::env::temp_dir().join(format!("pantobench-presets-{}", std::process::id()));
        let path = folder.join("bench.ron");
        let mut presets = Presets::load(path.clone()).unwrap();
        assert!(presets.save("  ", with_q(1.0)).is_err());
        presets.save(" soft ", with_q(1.0)).unwrap();
        presets.save("hard", with_q(7.0)).unwrap();
        presets.remove("hard").unwrap();
        let again = Presets::load(path.clone()).unwrap();
        assert_eq!(again.names().collect::<Vec<_>>(), ["soft"]);
        assert_eq!(again.get("soft"), Some(&with_q(1.0)));
        std::fs::write(&path, "nonsense").unwrap();
        let text = Presets::load(path).unwrap_err();
        assert!(
            text.contains("bench.ron") && text.contains("cannot be read"),
            "{text}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
