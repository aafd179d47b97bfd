//! Events in words, the same in the window and on the command line.

use rt_core::channel::Layout;
use rt_core::control::predictive::FallBack;
use rt_core::guard::Cut;
use rt_core::link::{Event, EventKind, Objection, StopCause};
use rt_core::param::{Applies, ParamSpec};
use rt_core::rig::RigCommand;

/// An event in words, with its time.
pub fn describe(event: &Event, layout: &Layout, params: &[ParamSpec]) -> String {
    let said = words(event, layout, params);
    format!("{:10.3} s  {said}", event.t_nanos as f64 * 1e-9)
}

/// An event in words.
pub fn words(event: &Event, layout: &Layout, params: &[ParamSpec]) -> String {
    let param = |index: usize| params.get(index).map_or(("?", ""), |p| (p.label, p.unit));
    match event.kind {
        EventKind::State { from, to } => format!("{} → {}", from.name(), to.name()),
        EventKind::ParamApplied { index, value } => {
            let (label, unit) = param(index);
            match params
                .get(index)
                .and_then(|p| p.choices.get(value as usize))
            {
                Some(choice) => format!("{label} = {choice} applied"),
                None => format!("{label} = {value} {unit} applied"),
            }
        }
        EventKind::ParamSettled { index, value } => {
            let (label, unit) = param(index);
            format!("{label} has reached {value} {unit}")
        }
        EventKind::ParamRefused { index, value } => match params.get(index) {
            Some(p) if p.applies == Applies::ByDesign => {
                format!(
                    "{} = {value} refused: it needs gains designed for it",
                    p.label
                )
            }
            Some(p) => format!(
                "{} = {value} {} refused: allowed are {} to {}",
                p.label, p.unit, p.min, p.max
            ),
            None => format!("parameter {index} = {value} refused: there is no such parameter"),
        },
        EventKind::Retuned(approval) => {
            let margin = approval.least_disk.map_or_else(String::new, |disk| {
                format!(", smallest disk margin {disk:.3}")
            });
            let insisted = if approval.is_override {
                "; insisted on against the verdict"
            } else {
                ""
            };
            format!(
                "new gains in use: predicted ρ {:.4}{margin}{insisted}",
                approval.rho
            )
        }
        EventKind::RetuningRefused(verdict) => format!("new gains refused: {verdict}"),
        EventKind::RetuningMisfit => "new gains refused: they are not for this bench".into(),
        EventKind::FellBack(cause) => format!(
            "fell back to the LQG controller: {}",
            match cause {
                FallBack::Innovation(mean) => format!(
                    "the predictive model no longer explains the measurements (innovation {mean:.1})"
                ),
                FallBack::Tracking(far) => format!(
                    "the motor was {:.2} mm from where the predictive controller wanted it",
                    1e3 * far
                ),
            }
        ),
        EventKind::Refused(refusal) => refusal.to_string(),
        EventKind::ArmingAsked { .. } => "arming asked for: confirm it".into(),
        EventKind::ArmingExpired => "arming was not confirmed in time: asked for no longer".into(),
        EventKind::Insisted(objection) => {
            format!("armed all the same, although {}", against(objection))
        }
        EventKind::Warning(fault) => format!("warning: {}", fault.describe(layout).what),
        EventKind::Tripped { fault, action } => {
            format!("{} ({})", fault.describe(layout).what, action.effect())
        }
        EventKind::Stopping(StopCause::Fault(fault)) => {
            format!("stopping: {}", fault.describe(layout).what)
        }
        EventKind::Stopping(StopCause::Requested) => "stopping: asked to".into(),
        EventKind::Stopping(StopCause::Duration) => "stopping: the time set is over".into(),
        EventKind::Stopping(StopCause::Finished) => "stopping: the bench has finished".into(),
        EventKind::Stopping(StopCause::Ending) => "stopping: asked to end".into(),
        EventKind::Stopping(StopCause::Abandoned) => "stopping: nobody is connected".into(),
        EventKind::Stopping(StopCause::ArmedTooLong) => {
            "stopping: it was armed and nobody let it run".into()
        }
        EventKind::Stopping(StopCause::DeadMan) => {
            "stopping: nobody holds the dead man's switch".into()
        }
        EventKind::PowerCut(cause) => format!(
            "the power was cut: {}",
            match cause {
                Cut::SecondStop => "STOP was pressed again",
                Cut::DeadMan => "nobody holds the dead man's switch",
                Cut::HeldTooLong => "a position is held for a bounded time only",
                Cut::NotAtRest => "the motor braked and did not come to rest",
                Cut::Ending => "the program ends",
            }
        ),
        EventKind::AtRest(rest) if rest.is_still => format!(
            "at rest {:.2} s after the drive went off, {:.1} mm from where the stop began",
            rest.after_s,
            1e3 * rest.moved
        ),
        EventKind::AtRest(rest) => format!(
            "not seen to rest within {:.1} s after the drive went off: look at the rig",
            rest.after_s
        ),
        EventKind::Widened {
            column,
            bench,
            session,
        } => {
            let channel = layout.channels().get(column);
            let (label, unit) = channel.map_or(("?", ""), |c| (c.label, c.unit));
            format!(
                "the session widens a limit of the bench: {label} {} to {} {unit} in place of {} to {} {unit}",
                session.0, session.1, bench.0, bench.1
            )
        }
        EventKind::Mark { number } => format!("marker {number}"),
        // Finding it takes its time; that it was found shows in the state.
        EventKind::RigDone(RigCommand::Home) => "the drive begins to find its home position".into(),
        EventKind::RigDone(command) => format!("{} done", rig_command(&command)),
        EventKind::RigRefused { command, refusal } => {
            format!("{} refused: {refusal}", rig_command(&command))
        }
    }
}

/// What spoke against arming, in words.
fn against(objection: Objection) -> &'static str {
    match objection {
        Objection::Calibration => "a load cell has no valid calibration",
        Objection::RealTime => "the loop has no real-time rights",
        Objection::Tuning => "the model says that the gains in use are unstable or too close to it",
        Objection::Unattended => {
            "nobody is beside the rig: its file allows this unattended (safety.unattended)"
        }
    }
}

/// What a rig is asked for, in words; cells are counted from 1.
fn rig_command(command: &RigCommand) -> String {
    match command {
        RigCommand::Calibrate { cell, id, line } => format!(
            "load cell {}: calibration {id} ({} N a unit, {} N at 0)",
            cell + 1,
            line.slope_n_per_unit,
            line.offset_n
        ),
        RigCommand::HangLoad { cell, newtons } => {
            format!("load cell {}: hang {newtons} N", cell + 1)
        }
        RigCommand::RemoveLoads => "take hung loads off".into(),
        RigCommand::Home => "find the home position".into(),
        RigCommand::StopHoming => "stop finding the home position".into(),
        RigCommand::Reset => "reset of what drives have latched".into(),
    }
}
