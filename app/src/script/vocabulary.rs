//! The words of a script, by subject. Each is registered under a name that the reference explains.

mod analysis;
mod bench;
mod evidence;
mod offline;
mod output;

use super::host::Shared;
use rhai::Engine;

/// Registers a word and remembers its name.
macro_rules! add {
    ($words:ident, $name:literal, $function:expr $(,)?) => {
        $words.engine.register_fn($name, $function);
        $words.names.push($name);
    };
}
use add;

/// Collects the names of everything that is registered.
pub struct Vocabulary<'e> {
    engine: &'e mut Engine,
    /// The names, in order of registration; those with several forms come several times.
    pub names: Vec<&'static str>,
}

impl<'e> Vocabulary<'e> {
    /// Registers all words.
    pub fn register(engine: &'e mut Engine, host: &Shared) -> Vec<&'static str> {
        let mut own = Self {
            engine,
            names: Vec::new(),
        };
        bench::register(&mut own, host);
        analysis::register(&mut own);
        output::register(&mut own, host);
        offline::register(&mut own, host);
        evidence::register(&mut own, host);
        own.names
    }
}
