//! The one permit for everything that moves a rig, whoever asks: who has to be there, and what speaks against it outside of
//! what the guard sees, in words that say what to do. A person may insist; that is recorded.

use crate::grip::{Attended, Grip, Tell};
use crate::hand::{Hand, Names, SWITCH, TERMINAL, WINDOW};
use crate::terminal::Keys;
use rt_core::bench::Approval;
use rt_core::calibration::Validity;
use rt_core::calibration::date::Date;
use rt_core::channel::Layout;
use rt_core::link::Objection;
use rt_core::rig::{Purpose, RigSpec};
use rt_core::rt_env::RtStatus;
use std::sync::Arc;
use std::time::Duration;

/// Something that speaks against arming.
#[derive(Clone, Debug, PartialEq)]
pub struct Hindrance {
    /// What kind it is.
    pub objection: Objection,
    /// What is wrong and what to do.
    pub text: String,
}

/// What speaks against arming a rig today. `rt` is unknown on an exact clock, which needs no rights; `gains` are those in
/// use, if they were ever exchanged.
pub fn hindrances(
    rig: &RigSpec,
    rt: Option<&RtStatus>,
    gains: Option<&Approval>,
    today: Date,
) -> Vec<Hindrance> {
    let mut all = Vec::new();
    if rig.safety.needs_calibration != Some(false) {
        for cell in &rig.cells {
            let problem = match &cell.calibration {
                None => "was never calibrated".to_owned(),
                Some(c) => match c.validity(today, 0) {
                    Validity::Expired { .. } => {
                        format!("has calibration {}, valid until {}", c.id, c.valid_until)
                    }
                    Validity::Valid { .. } | Validity::EndsSoon { .. } => continue,
                },
            };
            all.push(Hindrance {
                objection: Objection::Calibration,
                text: format!(
                    "load cell '{}' ({}) {problem}: calibrate it in the panel Rig or with 'pantobench calibrate new'",
                    cell.id, cell.name
                ),
            });
        }
    }
    if rig.safety.needs_real_time == Some(true)
        && let Some(rt) = rt.filter(|rt| !rt.is_real_time())
    {
        all.push(Hindrance {
            objection: Objection::RealTime,
            text: format!(
                "the loop has no real-time rights, so exchanges may come late: {}",
                rt.missing.join("; ")
            ),
        });
    }
    if let Some(gains) = gains.filter(|gains| gains.is_override) {
        all.push(Hindrance {
            objection: Objection::Tuning,
            text: format!(
                "the gains in use were insisted on: the model predicts ρ {:.4}. Apply a stable tuning first",
                gains.rho
            ),
        });
    }
    all
}

/// How a person is there.
#[derive(Clone, Default)]
pub enum Presence {
    /// Not at all, unless at a real switch of the rig.
    #[default]
    Nobody,
    /// At the terminal, if it is one.
    Terminal,
    /// In the window.
    Window(Arc<Hand>, Tell),
}

impl std::fmt::Debug for Presence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Presence::Nobody => "Nobody",
            Presence::Terminal => "Terminal",
            Presence::Window(..) => "Window",
        })
    }
}

/// What is asked.
pub struct Asked<'a> {
    /// The rig that is to be moved.
    pub rig: &'a RigSpec,
    /// Why.
    pub purpose: Purpose,
    /// Who is there.
    pub presence: &'a Presence,
    /// Whether time passes in cycles only, too fast for anyone to hold anything.
    pub is_exact: bool,
    /// Whether a person wants to do it although the rig file allows it unattended.
    pub by_hand: bool,
}

/// Who may move the rig, once it is known.
#[derive(Clone)]
pub struct Permit {
    attended: Option<Attended>,
    unattended: bool,
}

impl Permit {
    /// For what moves nothing real and asks nobody: computations.
    pub const COMPUTED: Permit = Permit {
        attended: None,
        unattended: true,
    };

    /// What has to be recorded about it.
    pub fn note(&self) -> Option<Objection> {
        self.unattended.then_some(Objection::Unattended)
    }

    /// Whether a person lets it move.
    pub fn is_by_person(&self) -> bool {
        self.attended.is_some()
    }

    /// The person, for what moves without a loop.
    pub fn attended(&self) -> Option<&Attended> {
        self.attended.as_ref()
    }

    /// One consent for a piece of work of several runs that follow each other at once.
    #[must_use]
    pub fn for_all_runs(mut self) -> Self {
        if let Some(attended) = &mut self.attended {
            attended.given = Some(Arc::default());
        }
        self
    }

    /// Who arms a loop with these columns.
    pub fn grip(&self, layout: &Layout) -> Grip {
        match &self.attended {
            Some(attended) => {
                let switch = attended.switch;
                Grip::person(attended.clone(), switch.and_then(|(id, _)| layout.find(id)))
            }
            None if self.unattended => Grip::Program,
            None => Grip::Free,
        }
    }
}

/// Whether a rig is moved, and by whom; the words say why not and what to do.
pub fn permit(asked: &Asked<'_>) -> Result<Permit, String> {
    let (rig, safety) = (asked.rig, &asked.rig.safety);
    let wants = wants_a_person(rig);
    if wants.is_empty() {
        return Ok(Permit {
            attended: None,
            unattended: false,
        });
    }
    if safety.unattended.contains(asked.purpose) && !asked.by_hand {
        return Ok(Permit {
            attended: None,
            unattended: true,
        });
    }
    let purpose = asked.purpose.name();
    let refused = |why: &str| {
        format!(
            "'{}' {}, and {why}. Do it in a terminal or in the window, with someone beside the rig; or let its file \
             allow it unattended (safety.unattended: [\"{purpose}\"])",
            rig.name,
            wants.join(" and ")
        )
    };
    if asked.is_exact {
        return Err(refused(
            "nobody can look or hold anything in a time that passes as fast as the machine can (without --fast they can)",
        ));
    }
    let hand = Arc::new(Hand::default());
    let (mut attended, keys) = match asked.presence {
        Presence::Window(hand, tell) => (
            Attended::at(rig, Arc::clone(hand), WINDOW, Arc::clone(tell)),
            Ok(None),
        ),
        Presence::Terminal | Presence::Nobody => {
            let tell: Tell = Arc::new(|text: &str| tell!("{text}"));
            let keys = match asked.presence {
                Presence::Terminal => Keys::open(&hand).map(|keys| Some(Arc::new(keys))),
                _ => Err("nobody is there".to_owned()),
            };
            (Attended::at(rig, hand, TERMINAL, tell), keys)
        }
    };
    match (keys, rig.dead_man) {
        (Ok(keys), _) => attended.keys = keys,
        // The switch itself can take both steps.
        (Err(_), Some(channel)) => {
            attended.switch = Some((channel, true));
            attended.names = SWITCH;
        }
        (Err(why), None) => return Err(refused(&why)),
    }
    Ok(Permit {
        attended: Some(attended),
        unattended: false,
    })
}

impl Attended {
    fn at(rig: &RigSpec, hand: Arc<Hand>, names: Names, tell: Tell) -> Self {
        let seconds = |s: Option<f64>| s.map(Duration::from_secs_f64);
        Self {
            hand,
            names: match rig.dead_man {
                Some(_) => Names {
                    hold: SWITCH.hold,
                    ..names
                },
                None => names,
            },
            tell,
            keys: None,
            within: seconds(rig.safety.confirm_within_s),
            hold: seconds(rig.safety.dead_man_s),
            switch: rig.dead_man.map(|channel| (channel, false)),
            given: None,
        }
    }
}

/// What asks for a person, in words; nothing on a rig that hurts nobody and has no such rules.
pub fn wants_a_person(rig: &RigSpec) -> Vec<String> {
    let safety = &rig.safety;
    let mut wants = Vec::new();
    wants.extend(rig.is_hardware.then(|| "is hardware".to_owned()));
    wants.extend(
        safety
            .confirm_within_s
            .map(|s| format!("is armed in two steps (safety.confirm_within_s: {s})")),
    );
    wants.extend(
        safety
            .dead_man_s
            .map(|s| format!("has a dead man's switch (safety.dead_man_s: {s})")),
    );
    wants
}

/// Refuses work in real time that nobody can insist on: the words say why.
pub fn refuse_hindered(rig: &RigSpec, rt: &RtStatus, today: Date) -> Result<(), String> {
    let found = hindrances(rig, Some(rt), None, today);
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("arming is refused: {}", sentence(&found)))
}

/// All hindrances in one sentence.
pub fn sentence(all: &[Hindrance]) -> String {
    let texts: Vec<&str> = all.iter().map(|h| h.text.as_str()).collect();
    texts.join(". ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivers::rig_file::find_cells;
    use std::path::Path;

    fn rig() -> RigSpec {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/simulated-load-cells.ron");
        let file: drivers::rig_file::RigFile = rt_core::file::load(&path).unwrap();
        let mut spec = file.spec();
        spec.cells = find_cells(&path, None).unwrap().cells;
        spec
    }

    #[test]
    fn stale_calibrations_missing_rights_and_insisted_gains_speak_against_arming() {
        let mut rig = rig();
        let day = |text: &str| Date::parse(text).unwrap();
        let made = rig.cells[0].calibration.as_ref().unwrap().made.date();
        assert_eq!(hindrances(&rig, None, None, made), []);
        let far = hindrances(&rig, None, None, day("2099-06-01"));
        assert_eq!(far.len(), rig.cells.len());
        assert!(
            far[0].text.contains("calibrate it") && far[0].text.contains("valid until"),
            "{}",
            far[0].text
        );
        rig.cells[0].calibration = None;
        let none = hindrances(&rig, None, None, made);
        assert!(
            none[0].text.contains("never calibrated"),
            "{}",
            none[0].text
        );
        rig.safety.needs_calibration = Some(false);
        assert_eq!(hindrances(&rig, None, None, made), []);

        let rt = RtStatus {
            scheduler: "other",
            priority: None,
            memory_locked: false,
            cpu: None,
            kept_awake: false,
            governor: None,
            preempt_rt: false,
            missing: vec!["no SCHED_FIFO".into()],
        };
        assert_eq!(
            hindrances(&rig, Some(&rt), None, made),
            [],
            "a simulated rig hurts nobody"
        );
        assert_eq!(refuse_hindered(&rig, &rt, made), Ok(()));
        rig.safety.needs_real_time = Some(true);
        let refused = refuse_hindered(&rig, &rt, made).unwrap_err();
        assert!(refused.contains("no SCHED_FIFO"), "{refused}");
        let late = hindrances(&rig, Some(&rt), None, made);
        assert_eq!(late[0].objection, Objection::RealTime);
        assert!(late[0].text.contains("no SCHED_FIFO"));

        let gains = |is_override| Approval {
            rho: 1.02,
            least_disk: None,
            is_override,
        };
        assert_eq!(hindrances(&rig, None, Some(&gains(false)), made), []);
        let wild = hindrances(&rig, None, Some(&gains(true)), made);
        assert_eq!(wild[0].objection, Objection::Tuning);
        assert!(sentence(&wild).contains("1.0200"));
    }

    fn ask(rig: &RigSpec, purpose: Purpose, presence: &Presence) -> Result<Permit, String> {
        permit(&Asked {
            rig,
            purpose,
            presence,
            is_exact: false,
            by_hand: false,
        })
    }

    #[test]
    fn whoever_asks_needs_a_person_beside_what_can_hurt() {
        let plain = rig();
        let hurts = |change: fn(&mut RigSpec)| {
            let mut rig = plain.clone();
            change(&mut rig);
            rig
        };
        let window = Presence::Window(Arc::default(), Arc::new(|_: &str| {}));
        for rig in [
            hurts(|r| r.is_hardware = true),
            hurts(|r| r.safety.confirm_within_s = Some(5.0)),
            hurts(|r| r.safety.dead_man_s = Some(0.5)),
        ] {
            for purpose in Purpose::ALL {
                assert!(ask(&plain, purpose, &Presence::Nobody).is_ok());
                let refused = ask(&rig, purpose, &Presence::Nobody).err().unwrap();
                let name = format!("[\"{}\"]", purpose.name());
                assert!(
                    refused.contains(&name) && refused.contains(&rig.name),
                    "{refused}"
                );
                let permit = ask(&rig, purpose, &window).unwrap();
                assert!(permit.is_by_person() && permit.note().is_none());
            }
        }
    }

    #[test]
    fn what_a_file_allows_unattended_is_allowed_by_name_and_noted() {
        let mut rig = rig();
        rig.is_hardware = true;
        rig.safety.unattended = ron::from_str(r#"["run"]"#).unwrap();
        let permit = ask(&rig, Purpose::Run, &Presence::Nobody).unwrap();
        assert_eq!(permit.note(), Some(Objection::Unattended));
        assert!(matches!(permit.grip(&Layout::default()), Grip::Program));
        assert!(ask(&rig, Purpose::Iterate, &Presence::Nobody).is_err());
    }

    #[test]
    fn a_real_switch_is_a_person_and_makes_keys_count_for_steps_only() {
        let mut rig = rig();
        rig.is_hardware = true;
        rig.safety.dead_man_s = Some(0.5);
        rig.dead_man = Some("dead_man");
        let alone = ask(&rig, Purpose::Run, &Presence::Nobody).unwrap();
        assert_eq!(alone.attended().unwrap().switch, Some(("dead_man", true)));
        let window = Presence::Window(Arc::default(), Arc::new(|_: &str| {}));
        let beside = ask(&rig, Purpose::Run, &window).unwrap();
        assert_eq!(beside.attended().unwrap().switch, Some(("dead_man", false)));
        assert!(beside.attended().unwrap().names.hold.contains("switch"));
    }

    #[test]
    fn nobody_holds_anything_in_a_time_that_only_passes_in_cycles() {
        let mut rig = rig();
        rig.safety.dead_man_s = Some(0.5);
        let refused = permit(&Asked {
            rig: &rig,
            purpose: Purpose::Run,
            presence: &Presence::Terminal,
            is_exact: true,
            by_hand: false,
        });
        assert!(refused.err().unwrap().contains("--fast"));
    }
}
