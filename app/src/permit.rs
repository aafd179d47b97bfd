//! Whether a bench may be armed: what speaks against it outside of what the guard sees, in words that say what to do.
//! A person may insist; that is recorded.

use rt_core::bench::Approval;
use rt_core::calibration::Validity;
use rt_core::calibration::date::Date;
use rt_core::link::Objection;
use rt_core::rig::RigSpec;
use rt_core::rt_env::RtStatus;

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

/// Refuses work that arms by itself in real time, with nobody to confirm or insist.
pub fn unattended(rig: &RigSpec, rt: &RtStatus, today: Date) -> Result<(), String> {
    if let Some(within_s) = rig.safety.confirm_within_s {
        return Err(format!(
            "'{}' is armed in two steps by a person (safety.confirm_within_s: {within_s}), and this arms by itself: use the window or 'pantobench run --confirm'",
            rig.name
        ));
    }
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
        assert_eq!(unattended(&rig, &rt, made), Ok(()));
        rig.safety.confirm_within_s = Some(5.0);
        let two_steps = unattended(&rig, &rt, made).unwrap_err();
        assert!(two_steps.contains("two steps"), "{two_steps}");
        rig.safety.confirm_within_s = None;
        rig.safety.needs_real_time = Some(true);
        let refused = unattended(&rig, &rt, made).unwrap_err();
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
}
