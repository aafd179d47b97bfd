//! One round on the rig: heights become a profile that the bench `profile` plays without feedback, and the force is read.
//!
//! The profile in cycles: hold at the first height · the way · hold · glide back to the first height · hold. The bench
//! itself moves the motor to the first height in `ENTRY_CYCLES` and brings the profile's time up to its rate in as many
//! again, in which (ENTRY_CYCLES + 1)/2 cycles of the profile pass: Σ s(i/E) = (E + 1)/2 for i = 1 … E and the smooth
//! step s, because s(x) + s(1 − x) = 1. E is odd, so that afterwards the bench meets the samples themselves.

use super::IterateError;
use super::way::Way;
use crate::session::{LoadedSession, Session};
use drivers::rig_file::RigFile;
use rt_core::channel::{Frame, Layout};
use rt_core::file;
use rt_core::guard::State;
use rt_core::signal::ease::smooth_step;
use std::fmt::Write;
use std::path::Path;

/// Cycles in which the motor moves to the first height, and the profile's time to its rate.
const ENTRY_CYCLES: usize = 751;
/// Sample of the profile that the bench shows when its time has come up to its rate.
const FIRST: usize = ENTRY_CYCLES.div_ceil(2);
/// Sample at which the train starts: what the entry excites has a second to fade.
pub const START: usize = FIRST + 500;
/// Cycles of rest behind the way and behind the glide.
const REST_CYCLES: usize = 150;
/// Cycles of the glide back.
const GLIDE_CYCLES: usize = 500;

/// Heights of a whole profile in steps of the line, from heights along the way.
pub fn with_entry_and_exit(way: &Way, heights: &[f64]) -> Vec<f64> {
    let (first, last) = (
        heights.first().copied().unwrap_or(0.0),
        heights.last().copied().unwrap_or(0.0),
    );
    let mut all = vec![first; START * way.finer];
    all.extend(heights);
    all.extend(std::iter::repeat_n(last, REST_CYCLES * way.finer));
    let glide = GLIDE_CYCLES * way.finer;
    all.extend((1..=glide).map(|i| last + smooth_step(i as f64 / glide as f64) * (first - last)));
    all.extend(std::iter::repeat_n(first, REST_CYCLES * way.finer));
    all
}

/// The session that plays references, one a cycle, written with its profile to a directory under a name.
pub fn session(
    hil: &LoadedSession,
    way: &Way,
    references: &[f64],
    (directory, name, title): (&Path, &str, &str),
) -> Result<LoadedSession, IterateError> {
    let mut csv = String::from("time_s,height_m\n");
    for (j, reference) in references.iter().enumerate() {
        // Writing to a text does not fail.
        let _ = writeln!(csv, "{},{reference}", j as f64 * way.period_s);
    }
    let write = |name: String, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|source| IterateError::Disk {
            path: path.clone(),
            source,
        })?;
        Ok::<_, IterateError>(path)
    };
    write(format!("{name}.csv"), &csv)?;
    let path = write(format!("{name}.ron"), &session_text(hil, way, name, title)?)?;
    Ok(LoadedSession::load(&path)?)
}

/// The session file: the rig, its lift and its limits are those of the hardware-in-the-loop run; limits on what only
/// that bench computes have nothing to hold here.
fn session_text(
    hil: &LoadedSession,
    way: &Way,
    name: &str,
    title: &str,
) -> Result<String, IterateError> {
    let of = &hil.session;
    let rig_path = std::path::absolute(hil.rig_path()).unwrap_or(hil.rig_path());
    let rig: RigFile = file::load(&rig_path)?;
    let channels = rig.spec().channels;
    let entry_s = ENTRY_CYCLES as f64 * way.period_s;
    let mut text = format!(
        "// Made by iterative validation: a wire's heights, played without force feedback.\nSession(\n    \
         title: {title:?},\n    bench: Profile(source: File(path: {:?}), entry_s: {entry_s:?}),\n    rig: {:?},\n",
        format!("{name}.csv"),
        rig_path.display().to_string(),
    );
    let mut put = |line: String| {
        text.push_str("    ");
        text.push_str(&line);
        text.push_str(",\n");
    };
    if let Some(uplift) = of.uplift_n {
        put(format!("uplift_n: Some({uplift:?})"));
    }
    put(format!("period_us: Some({:?})", way.period_s * 1e6));
    put(format!("max_misses: {}", of.max_misses));
    put(format!("priority: {}", of.priority));
    if let Some(cpu) = of.cpu {
        put(format!("cpu: Some({cpu})"));
    }
    let limits: Vec<String> = of
        .limits
        .iter()
        .filter(|limit| channels.iter().any(|c| c.id == limit.channel))
        .map(|l| {
            format!(
                "(channel: {:?}, low: {:?}, high: {:?}, for_cycles: {}, action: {:?})",
                l.channel, l.low, l.high, l.for_cycles, l.action
            )
        })
        .collect();
    put(format!("limits: [{}]", limits.join(", ")));
    text.push_str(")\n");
    // It is read back at once; what cannot be read is a fault of this program, told with its place.
    file::parse::<Session>(&text, Path::new(name))?;
    Ok(text)
}

/// Force and motor position of a round as they were read, from the sample [`FIRST`] of the profile on.
pub struct Round {
    columns: [usize; 3],
    running: usize,
    references: Vec<f64>,
    /// Force, in N.
    pub force: Vec<f64>,
    /// Motor position, in m.
    pub position: Vec<f64>,
    misplaced: usize,
    last_seq: Option<u64>,
    /// Cycles that the loop left out.
    pub skipped: u64,
}

/// How far a height may be from the profile's sample, in m: rounding of sums of the time.
const SAME_M: f64 = 1e-7;

impl Round {
    /// For a bench that plays these references.
    pub fn for_layout(layout: &Layout, references: &[f64]) -> Result<Self, IterateError> {
        let column = |id: &str| {
            layout
                .column(id)
                .map_err(|e| IterateError::Unfit(e.to_string()))
        };
        Ok(Self {
            columns: [
                column("force")?,
                column("motor_position")?,
                column("profile_height")?,
            ],
            running: 0,
            references: references.to_vec(),
            force: Vec::new(),
            position: Vec::new(),
            misplaced: 0,
            last_seq: None,
            skipped: 0,
        })
    }

    /// Takes a frame in.
    pub fn add(&mut self, frame: &Frame) {
        if frame.state != State::Running {
            return;
        }
        self.running += 1;
        if let Some(last) = self.last_seq {
            self.skipped += frame.seq.saturating_sub(last + 1);
        }
        self.last_seq = Some(frame.seq);
        if self.running < 2 * ENTRY_CYCLES {
            return;
        }
        let [force, position, height] = self.columns.map(|column| frame.values[column]);
        if let Some(reference) = self.references.get(FIRST + self.force.len()) {
            self.misplaced += usize::from((reference - height).abs() > SAME_M);
        }
        self.force.push(force);
        self.position.push(position);
    }

    /// The cycle of these records in which the train stands for the last time.
    pub fn start(&self) -> usize {
        START - FIRST
    }

    /// Refuses a round whose samples are not where they are looked for.
    pub fn check(&self) -> Result<(), IterateError> {
        if self.misplaced > 0 {
            return Err(IterateError::Unfit(format!(
                "in {} cycles the profile was not where it should be: its scale, offset and rate must stay as they are",
                self.misplaced
            )));
        }
        Ok(())
    }
}
