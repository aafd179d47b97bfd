//! Reading of reference data: one line a quantity, its name and its numbers.

pub mod line;
pub mod numbers;

use std::collections::BTreeMap;
use std::path::Path;

/// Named rows of numbers from `tests/reference/`.
pub struct Reference(BTreeMap<String, Vec<f64>>);

impl Reference {
    /// Reads a file written by one of the scripts beside it.
    pub fn load(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/reference")
            .join(name);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        Self(
            rows.map(|line| {
                let mut words = line.split_whitespace();
                let name = words.next().expect("a name").to_owned();
                (name, words.map(|w| w.parse().expect("a number")).collect())
            })
            .collect(),
        )
    }

    /// The numbers of a row.
    pub fn row(&self, name: &str) -> &[f64] {
        self.0
            .get(name)
            .unwrap_or_else(|| panic!("no row '{name}' in the reference data"))
    }
}
