//! Events in words, the same in the window and on the command line.

use rt_core::channel::Layout;
use rt_core::link::{Event, EventKind, StopCause};
use rt_core::param::ParamSpec;

/// An event in words.
pub fn describe(event: &Event, layout: &Layout, params: &[ParamSpec]) -> String {
    let param = |index: usize| params.get(index).map_or(("?", ""), |p| (p.label, p.unit));
    let said = match event.kind {
        EventKind::State { from, to } => format!("{} → {}", from.name(), to.name()),
        EventKind::ParamApplied { index, value } => {
            let (label, unit) = param(index);
            format!("{label} = {value} {unit} applied")
        }
        EventKind::ParamSettled { index, value } => {
            let (label, unit) = param(index);
            format!("{label} has reached {value} {unit}")
        }
        EventKind::ParamRefused { index, value } => match params.get(index) {
            Some(p) => format!(
                "{} = {value} {} refused: allowed are {} to {}",
                p.label, p.unit, p.min, p.max
            ),
            None => format!("parameter {index} = {value} refused: there is no such parameter"),
        },
        EventKind::Refused(refusal) => refusal.to_string(),
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
        EventKind::Stopping(StopCause::Abandoned) => "stopping: nobody is connected".into(),
        EventKind::Mark { number } => format!("marker {number}"),
    };
    format!("{:10.3} s  {said}", event.t_nanos as f64 * 1e-9)
}
