//! Wiring and signs of a rig, checked with tiny moves: the motor goes where it is sent, pressing raises the force, every
//! load cell answers with the right sign, nothing is stuck, lost or noisy.
//!
//! The sign of a force is that of its first answer to a step: whatever the specimen does later, its inertia resists at
//! first, so that a step downward squeezes the pad.

use super::WorkError;
use super::play::{Played, Stand};
use drivers::cells;
use drivers::rig_file;
use rt_core::bench::profile::Source;
use rt_core::calibration::WARN_DAYS;
use rt_core::calibration::date::Date;
use rt_core::identify::noise_floor;
use rt_core::rig::{CellSpec, Purpose};

/// One question and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Stable name, for machines.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// Whether it is as it should be.
    pub held: bool,
    /// What was found, in words.
    pub found: String,
    /// What to do if it is not held.
    pub advice: &'static str,
}

/// The answers to all questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The answers, in the order in which they were asked.
    pub items: Vec<Item>,
    /// Height of the steps that were needed, in m.
    pub step_m: f64,
    /// Standard deviation of the force at rest, in N.
    pub force_noise_n: Option<f64>,
    /// Standard deviation of the position at rest, in m.
    pub position_noise_m: Option<f64>,
}

impl Checked {
    /// Whether everything is as it should be.
    pub fn is_held(&self) -> bool {
        self.items.iter().all(|item| item.held)
    }
}

const FIRST_STEP_M: f64 = 5e-6;
const LARGEST_STEP_M: f64 = 4e-4;
const HOLD_S: f64 = 0.4;
/// Rest, the gentle start of the profile's time, and a step that is held.
const RUN_S: f64 = 2.6;
/// The force has answered when it is this many times its noise away from rest.
const CLEAR: f64 = 6.0;
/// A position noisier than this cannot be controlled on, in m.
const MOST_POSITION_NOISE_M: f64 = 50e-6;
/// A force noisier than this says nothing about a pantograph, in N.
const MOST_FORCE_NOISE_N: f64 = 5.0;
/// Time after a step in which the first answer is looked for, in s.
const FIRST_ANSWER_S: f64 = 0.06;

/// A signal at a step downward out of complete rest.
struct Answer {
    rest: f64,
    noise: f64,
    /// Deviations from rest, from the tick of the step on.
    after: Vec<f64>,
}

impl Answer {
    fn of(values: &[f64], step: usize, hold: usize) -> Self {
        let quiet = &values[..step];
        let known: Vec<f64> = quiet.iter().copied().filter(|x| x.is_finite()).collect();
        let rest = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let after = values[step..].iter().take(hold).filter(|x| x.is_finite());
        Self {
            rest,
            noise: noise_floor(quiet).unwrap_or(0.0),
            after: after.map(|x| x - rest).collect(),
        }
    }

    /// The first value that stands out of the noise, soon after the step.
    fn first(&self, within: usize) -> Option<f64> {
        let clear = CLEAR * self.noise.max(1e-12);
        let soon = self.after.iter().take(within);
        soon.copied().find(|x| x.abs() > clear)
    }

    /// Whether it answers so strongly that its first swing, and not a later one, is the first to stand out.
    fn is_clear(&self, within: usize) -> bool {
        let soon = self.after.iter().take(within);
        let strongest = soon.fold(0.0_f64, |a, x| a.max(x.abs()));
        strongest > 3.0 * CLEAR * self.noise
    }

    /// Where it ends, and the standard error of that.
    fn end(&self) -> (f64, f64) {
        let last = &self.after[self.after.len() * 3 / 4..];
        let count = last.len().max(1) as f64;
        (last.iter().sum::<f64>() / count, self.noise / count.sqrt())
    }
}

/// The tick in which the reference steps down first.
fn first_step_down(reference: &[f64], height: f64) -> Option<usize> {
    let at = reference
        .windows(2)
        .position(|w| w[0] - w[1] > 0.5 * height);
    at.map(|k| k + 1)
}

struct Questions {
    items: Vec<Item>,
}

impl Questions {
    fn ask(
        &mut self,
        id: impl Into<String>,
        question: impl Into<String>,
        held: bool,
        found: String,
        advice: &'static str,
    ) {
        self.items.push(Item {
            id: id.into(),
            question: question.into(),
            held,
            found,
            advice,
        });
    }
}

/// Moves the rig by a fraction of a millimetre and looks at what it answers. `say` hears what is being done.
pub fn check(stand: &Stand, say: &mut dyn FnMut(&str)) -> Result<Checked, WorkError> {
    let (low, _, park) = stand.range_m();
    stand.require_in_range(
        "the check needs",
        (park - LARGEST_STEP_M).max(low.min(park)),
    )?;
    let stand = &stand.permitted(Purpose::Check)?;
    let mut questions = Questions { items: Vec::new() };
    let cells = ask_calibrations(stand, &mut questions)?;
    let mut height = FIRST_STEP_M;
    let (played, hold, step) = loop {
        say(&format!("a step of {:.0} µm", 1e6 * height));
        let source = Source::Steps {
            height_m: -height,
            hold_s: HOLD_S,
        };
        let played = stand.play_profile(park, source, Some(RUN_S))?;
        let hold = (HOLD_S / played.period_s) as usize;
        let step = first_step_down(&played.series("motor_reference"), height);
        let Some(step) = step else {
            let text = "the reference never moved: the run was too short";
            return Err(WorkError::Result(text.into()));
        };
        let force = Answer::of(&played.series("force"), step, hold);
        let position = Answer::of(&played.series("motor_position"), step, hold);
        let within = (FIRST_ANSWER_S / played.period_s) as usize;
        let (moved, error) = position.end();
        let answers = |cell: &CellSpec| {
            let raw = Answer::of(&played.series(cell.raw.id), step, hold);
            raw.is_clear(within)
        };
        let is_clear = force.is_clear(within)
            && moved.abs() > 4.0 * CLEAR * error
            && cells.iter().all(answers);
        if is_clear || height >= LARGEST_STEP_M {
            break (played, hold, step);
        }
        height = (2.0 * height).min(LARGEST_STEP_M);
    };
    let rest = played.rest_ticks();
    let at_rest = |channel: &str| noise_floor(&played.series(channel)[..rest]);
    let (force_noise_n, position_noise_m) = (at_rest("force"), at_rest("motor_position"));
    ask_exchanges(&played, &mut questions);
    ask_position(
        &played,
        step,
        hold,
        height,
        position_noise_m,
        &mut questions,
    );
    ask_force(&played, step, hold, force_noise_n, &mut questions);
    for cell in &cells {
        ask_cell(&played, cell, step, hold, &mut questions);
    }
    Ok(Checked {
        items: questions.items,
        step_m: height,
        force_noise_n,
        position_noise_m,
    })
}

fn ask_calibrations(stand: &Stand, questions: &mut Questions) -> Result<Vec<CellSpec>, WorkError> {
    let own = crate::home::calibrations_dir();
    let found = rig_file::find_cells(&stand.path, Some(&own));
    let cells = found.map_err(|e| WorkError::Input(e.to_string()))?.cells;
    if cells.is_empty() {
        return Ok(cells);
    }
    let warnings = cells::warnings(&cells, Date::today(), WARN_DAYS);
    let text = if warnings.is_empty() {
        "all valid".into()
    } else {
        warnings.join("; ")
    };
    questions.ask(
        "calibrations",
        "Every load cell has a valid calibration",
        warnings.is_empty(),
        text,
        "Calibrate the cells: pantobench calibrate new, or the panel Rig.",
    );
    Ok(cells)
}

fn ask_exchanges(played: &Played, questions: &mut Questions) {
    let lost: u64 = played.exchanges.iter().map(|e| e.lost).sum();
    let late: u64 = played.exchanges.iter().map(|e| e.late).sum();
    let tried: u64 = played.exchanges.iter().map(|e| e.tried).sum();
    questions.ask(
        "exchanges",
        "Every exchange is answered in time",
        lost == 0 && late == 0,
        format!("{lost} lost and {late} late of {tried}"),
        "Check cables, shields and connectors; see the counters of pantobench rig scan.",
    );
}

fn ask_position(
    played: &Played,
    step: usize,
    hold: usize,
    height: f64,
    noise: Option<f64>,
    questions: &mut Questions,
) {
    let answer = Answer::of(&played.series("motor_position"), step, hold);
    let (moved, error) = answer.end();
    let gain = -moved / height;
    questions.ask(
        "position.moves",
        "The motor moves when it is sent",
        moved.abs() > CLEAR * error,
        format!("{:.1} µm for {:.1} µm", -1e6 * moved, 1e6 * height),
        "Check that the drive is enabled, not braked, and that its encoder is connected.",
    );
    questions.ask(
        "position.sign",
        "Sent upward, the position rises",
        gain > 0.0,
        if gain > 0.0 {
            "same direction".into()
        } else {
            "opposite direction".into()
        },
        "Swap the direction of the encoder or of the drive; do not run before.",
    );
    questions.ask(
        "position.scale",
        "It moves as far as it is sent",
        (0.9..=1.1).contains(&gain),
        format!("{gain:.3} m a metre; expected 0.9 to 1.1"),
        "Check the scales of reference and encoder in drive and rig file.",
    );
    let noise = noise.unwrap_or(f64::NAN);
    questions.ask(
        "position.noise",
        "The position is quiet at rest",
        noise < MOST_POSITION_NOISE_M,
        format!(
            "σ {:.2} µm; expected below {:.0} µm",
            1e6 * noise,
            1e6 * MOST_POSITION_NOISE_M
        ),
        "Check shield and supply of the encoder, and that the drive does not hunt.",
    );
}

fn ask_force(
    played: &Played,
    step: usize,
    hold: usize,
    noise: Option<f64>,
    questions: &mut Questions,
) {
    let answer = Answer::of(&played.series("force"), step, hold);
    let within = (FIRST_ANSWER_S / played.period_s) as usize;
    let first = answer.first(within);
    let shown = first.map_or_else(
        || "no answer above the noise".to_owned(),
        |f| format!("{f:+.2} N at first, from {:.1} N at rest", answer.rest),
    );
    questions.ask(
        "force.answers",
        "The force answers when the pad is pressed",
        first.is_some(),
        shown.clone(),
        "Check that the specimen touches the pad, and the load cell's cable and amplifier.",
    );
    questions.ask(
        "force.sign",
        "Pressing raises the force",
        first.is_some_and(|f| f > 0.0),
        shown,
        "Swap the polarity of the load cells, or calibrate them with the other sign.",
    );
    let forces = played.series("force");
    let known: Vec<f64> = forces.into_iter().filter(|x| x.is_finite()).collect();
    let repeats = known
        .windows(2)
        .filter(|w| w[0].to_bits() == w[1].to_bits())
        .count();
    let share = repeats as f64 / known.len().max(2) as f64;
    questions.ask(
        "force.alive",
        "The force is not stuck",
        share < 0.9,
        format!("{:.0} % of its values repeat the one before", 100.0 * share),
        "Check that the amplifier is sampled as often as the loop exchanges, and that it is not frozen.",
    );
    let noise = noise.unwrap_or(f64::NAN);
    questions.ask(
        "force.noise",
        "The force is quiet at rest",
        noise < MOST_FORCE_NOISE_N,
        format!("σ {noise:.3} N; expected below {MOST_FORCE_NOISE_N} N"),
        "Check shields, grounding and the amplifier's filter.",
    );
}

fn ask_cell(played: &Played, cell: &CellSpec, step: usize, hold: usize, questions: &mut Questions) {
    let slope = cell.calibration.as_ref().map(|c| c.line.slope_n_per_unit);
    let answer = Answer::of(&played.series(cell.raw.id), step, hold);
    let within = (FIRST_ANSWER_S / played.period_s) as usize;
    let first = answer
        .first(within)
        .zip(slope)
        .map(|(raw, slope)| raw * slope);
    questions.ask(
        format!("cell.{}", cell.id),
        format!("Load cell {} ({}) rises when pressed", cell.id, cell.name),
        first.is_some_and(|f| f > 0.0),
        match first {
            Some(f) => format!("{f:+.2} N at first"),
            None if slope.is_none() => "no calibration".into(),
            None => "no answer above the noise".into(),
        },
        "Check its cable, its polarity and its calibration.",
    );
}
