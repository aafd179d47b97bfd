//! The coupled solution of the same line and the same simulated pantograph, with and without the interaction spring:
//! the third way to the same force, and the share of that spring.

use super::IterateError;
use super::way::{Way, bench};
use crate::session::LoadedSession;
use drivers::rig_file::{RigFile, rig_pantograph};
use rt_core::file;
use rt_core::model::catenary::{Coupling, FullWire, Run, Series};

/// Step, in s.
const STEP_S: f64 = 5e-4;

/// Both solutions.
pub struct Implicit {
    /// The head touches the wire through the pad.
    pub pad: Series,
    /// Through pad and interaction spring in series, as the run did.
    pub with_spring: Series,
}

/// Solves for a simulated rig; `None` for hardware, whose pantograph is not known.
pub fn solve(loaded: &LoadedSession, way: &Way) -> Result<Option<Implicit>, IterateError> {
    let rig: RigFile = file::load(&loaded.rig_path())?;
    let RigFile::Simulated(rig) = rig else {
        return Ok(None);
    };
    let pantograph = rig_pantograph(&loaded.rig_path())?;
    let params = loaded.session.start_params();
    let params = params.map_err(|e| IterateError::Unfit(e.to_string()))?;
    let pad = rig.pad_stiffness_n_per_m;
    let solution = |stiffness: f64| -> Result<Series, IterateError> {
        let mut run = Run::with_spans(&pantograph, way.speed_kmh, way.spans);
        run.start_span = way.start_span;
        run.uplift_n = loaded.session.uplift_n.unwrap_or(rig.uplift_n);
        run.coupling = Coupling::Implicit { stiffness };
        let mut wire = FullWire::new(way.line.clone(), STEP_S)?;
        Ok(run.simulate(&way.line, &mut wire, &pantograph, &mut |_| ())?)
    };
    Ok(Some(Implicit {
        pad: solution(pad)?,
        with_spring: solution(bench(loaded)?.contact_stiffness(&params, pad))?,
    }))
}
