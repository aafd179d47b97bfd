//! Hazards to people: someone reaches in, goes away, arms by mistake, or is not there at all.

use super::{Facts, Hazard, Protected};

/// All of them.
pub(super) fn hazards(facts: &Facts<'_>) -> Vec<Hazard> {
    vec![
        reaching_in(facts),
        operator_gone(facts),
        armed_by_mistake(facts),
        unattended(facts),
    ]
}

/// What a safety circuit is, by its name: files have no other field for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Circuit {
    Stop,
    Guard,
    Other,
}

impl Circuit {
    fn of(id: &str, label: &str) -> Self {
        let text = format!("{id} {label}").to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["stop", "estop", "e_stop", "emergency", "halt"]) {
            Circuit::Stop
        } else if has(&[
            "door", "guard", "gate", "fence", "curtain", "hatch", "cover",
        ]) {
            Circuit::Guard
        } else {
            Circuit::Other
        }
    }
}

fn circuits<'a>(facts: &'a Facts<'_>, wanted: Circuit) -> impl Iterator<Item = &'a str> {
    let are = move |(id, label): &&(String, String)| Circuit::of(id, label) == wanted;
    facts
        .circuits
        .iter()
        .filter(are)
        .map(|(_, label)| label.as_str())
}

fn reaching_in(facts: &Facts<'_>) -> Hazard {
    let mut hazard = Hazard::new("reaching_in", "Someone reaches into the rig while it moves");
    for wanted in [Circuit::Stop, Circuit::Guard] {
        for label in circuits(facts, wanted) {
            hazard = hazard.by(format!("{label}: power off when it opens"));
        }
    }
    let has = |wanted| circuits(facts, wanted).next().is_some();
    match (has(Circuit::Stop), has(Circuit::Guard)) {
        (true, true) => hazard,
        (true, false) => hazard.at_best(
            Protected::Weak,
            "no circuit of a door or guard is read: keep people away by other means",
        ),
        (false, true) => hazard.at_best(
            Protected::Weak,
            "no circuit of an emergency stop is read: it has to act on the drive by itself, and a recording will not \
             show it",
        ),
        (false, false) => hazard.at_best(
            Protected::Missing,
            "no circuit of an emergency stop or a door is read (interlocks): the program neither sees them nor stops by \
             them",
        ),
    }
}

fn operator_gone(facts: &Facts<'_>) -> Hazard {
    let hazard = Hazard::new(
        "operator_gone",
        "Whoever watches goes away while the drive is on",
    );
    let safety = &facts.spec.safety;
    match (safety.dead_man_s, facts.spec.dead_man) {
        (Some(s), Some(_)) => hazard.by(format!("dead man's switch on an input, {s} s")),
        (Some(s), None) => hazard
            .by(format!("a key that is held, told every {s} s"))
            .at_best(Protected::Weak, "a key of a computer is no safety switch"),
        (None, _) if circuits(facts, Circuit::Guard).next().is_some() => hazard
            .by("people are kept out by a guard that switches off")
            .at_best(
                Protected::Weak,
                "nobody has to hold anything while it moves (safety.dead_man_s)",
            ),
        (None, _) => hazard.at_best(
            Protected::Missing,
            "nobody has to hold anything while it moves (safety.dead_man_s), and no guard keeps people out",
        ),
    }
}

/// From this time on an armed rig counts as forgotten, in s.
const FORGOTTEN_S: f64 = 600.0;

fn armed_by_mistake(facts: &Facts<'_>) -> Hazard {
    let mut hazard = Hazard::new(
        "armed_by_mistake",
        "It is armed by mistake, or armed and forgotten",
    );
    let safety = &facts.spec.safety;
    hazard = match safety.confirm_within_s {
        Some(s) => hazard.by(format!("two steps to arm, within {s} s")),
        None => hazard.at_best(
            Protected::Weak,
            "one step arms it (safety.confirm_within_s)",
        ),
    };
    match safety.armed_for_s {
        Some(s) if s <= FORGOTTEN_S => hazard.by(format!("off after {s} s if nobody lets it run")),
        Some(s) => hazard.at_best(
            Protected::Weak,
            format!("it stays armed for {s} s without a run (safety.armed_for_s)"),
        ),
        None if safety.confirm_within_s.is_none() => hazard.at_best(
            Protected::Missing,
            "it stays armed for ever without a run (safety.armed_for_s)",
        ),
        None => hazard.at_best(
            Protected::Weak,
            "it stays armed for ever without a run (safety.armed_for_s)",
        ),
    }
}

fn unattended(facts: &Facts<'_>) -> Hazard {
    let hazard = Hazard::new("unattended_motion", "It moves with nobody beside it");
    let allowed: Vec<&str> = facts
        .spec
        .safety
        .unattended
        .iter()
        .map(|p| p.name())
        .collect();
    if allowed.is_empty() {
        return hazard.by("the file allows it for nothing (safety.unattended)");
    }
    hazard.at_best(
        Protected::Weak,
        format!(
            "the file allows it for: {} (safety.unattended)",
            allowed.join(", ")
        ),
    )
}
