//! Names from rig files that live as long as the program: channels carry `&'static str`.
//!
//! A name is kept once, however often its file is read.

use std::collections::BTreeSet;
use std::sync::OnceLock;

#[expect(
    clippy::disallowed_types,
    reason = "names are interned while a rig is built, never on the real-time thread"
)]
static NAMES: OnceLock<std::sync::Mutex<BTreeSet<&'static str>>> = OnceLock::new();

/// The same text, for ever.
pub fn intern(text: &str) -> &'static str {
    let names = NAMES.get_or_init(Default::default);
    let mut names = names
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = names.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let elsewhere = String::from("age_of_a_test");
        let (one, other) = (intern("age_of_a_test"), intern(&elsewhere));
        assert_eq!(one, "age_of_a_test");
        assert!(std::ptr::eq(one, other));
    }
}
