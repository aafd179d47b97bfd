//! Recordings compared: aligned by place or time, with differences, statistics, spectra and coherence.

mod chart;
pub mod picture;
pub mod table;
pub(crate) mod track;

pub use track::name_of;

use rt_core::guard::State;
use rt_core::record::error::RecordError;
use rt_core::record::reader::Session;
use rt_core::record::schema::RecordedChannel;
use rt_core::signal::comparison::{ComparisonSettings, Difference, Series, difference};
use rt_core::signal::contact_force::{ContactForceReport, ReportSettings};
use rt_core::signal::error::AnalysisError;
use rt_core::signal::error_index::share_of_mean_percent;
use rt_core::signal::spans::{SpanStatistics, span_statistics};
use rt_core::signal::spectrum::SpectrumSettings;
use rt_core::signal::spectrum::cross::cross_spectrum;
use rt_core::signal::spectrum::density::{Density, welch};
use std::cmp::Ordering;
use track::{LineKnown, Track};

/// What samples of two recordings have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The place along the line, in m.
    Place,
    /// The time since the bench began to run, in s.
    Time,
}

impl Axis {
    /// The unit of positions.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Place => "m",
            Self::Time => "s",
        }
    }

    /// What positions are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Place => "place",
            Self::Time => "time",
        }
    }
}

/// Why recordings cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonError {
    /// One recording is compared with nothing.
    #[error(
        "{0} recording(s) were given; expected at least two: the first is what the others are compared with"
    )]
    TooFew(usize),
    /// A recording cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A position is asked for that recordings do not have.
    #[error(
        "'{name}' has no channel '{PLACE}', so it cannot be aligned by place; align by time",
        PLACE = track::PLACE
    )]
    NoPlace {
        /// Which recording.
        name: String,
    },
    /// The running part is empty.
    #[error("'{name}' holds less than two samples of a running bench with a known {}", axis.name())]
    NeverRan {
        /// Which recording.
        name: String,
        /// What samples were looked for.
        axis: Axis,
    },
    /// Most of a recording is missing.
    #[error(
        "'{name}' lacks {missing} ticks and holds {frames} frames: too little is left to compare"
    )]
    Gaps {
        /// Which recording.
        name: String,
        /// Ticks without a frame so far.
        missing: u64,
        /// Frames of the recording.
        frames: u64,
    },
    /// Channels of one name that are not the same.
    #[error("'{channel}' is in [{unit}] in '{name}', but in [{expected}] in the first recording")]
    Units {
        /// The channel.
        channel: String,
        /// Which recording.
        name: String,
        /// Its unit.
        unit: String,
        /// The first one's.
        expected: String,
    },
    /// A range without a length.
    #[error("the stretch goes from {from} to {to} {unit}; expected its begin first")]
    Range {
        /// Begin.
        from: f64,
        /// End.
        to: f64,
        /// Unit of both.
        unit: &'static str,
    },
    /// The analysis says why not.
    #[error("'{name}' from {from:.3} to {to:.3} {unit}: {source}")]
    Analysis {
        /// Which recording.
        name: String,
        /// Begin of the stretch.
        from: f64,
        /// End of the stretch.
        to: f64,
        /// Unit of both.
        unit: &'static str,
        /// Why not.
        source: AnalysisError,
    },
}

/// What is compared, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The channel.
    pub channel: String,
    /// How samples are aligned; `None`: by place if all recordings have one, else by time.
    pub axis: Option<Axis>,
    /// First position that counts, in the axis' unit; `None`: chosen, see [`Stretch`].
    pub from: Option<f64>,
    /// Last position that counts.
    pub to: Option<f64>,
    /// Filter, threshold of a loss, and bands.
    pub report: ReportSettings,
}

impl Default for Request {
    /// The contact force, as recordings allow.
    fn default() -> Self {
        Self {
            channel: "force".into(),
            axis: None,
            from: None,
            to: None,
            report: ReportSettings::default(),
        }
    }
}

/// What of the recordings is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// First position.
    pub from: f64,
    /// Last position.
    pub to: f64,
    /// How it was chosen, in words.
    pub chosen: &'static str,
}

/// One recording: its curve and what can be said about it alone.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Name of its file without directory and ending.
    pub name: String,
    /// What its session is called.
    pub title: String,
    /// Speed of the train, if there is one, in km/h.
    pub speed_kmh: Option<f64>,
    /// Samples a second, in Hz.
    pub sample_rate_hz: f64,
    /// Positions of all samples of the running part, ascending.
    pub positions: Vec<f64>,
    /// All samples; NaN where there is none.
    pub values: Vec<f64>,
    /// The same after the report's filter.
    pub filtered: Vec<f64>,
    /// Statistics of the stretch.
    pub report: ContactForceReport,
    /// Statistics of the filtered samples in each span of the stretch; empty without a line.
    pub spans: Vec<SpanStatistics>,
    /// Power spectral density of the stretch.
    pub spectrum: Density,
}

/// How much of a recording the first one explains, frequency by frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct Coherence {
    /// Frequencies, in Hz of the recording's own time.
    pub frequencies_hz: Vec<f64>,
    /// γ² at each, from 0 to 1.
    pub coherence: Vec<f64>,
    /// Independent averages that it is worth.
    pub effective_averages: f64,
}

/// One recording against the first.
#[derive(Clone, Debug)]
pub struct Against {
    /// The recording.
    pub curve: Curve,
    /// It less the first at the same positions.
    pub difference: Difference,
    /// The difference after the report's filter; NaN outside the stretch.
    pub filtered_difference: Vec<f64>,
    /// Error index of the unfiltered samples in % of the first one's mean, if that is above 0.
    pub error_percent: Option<f64>,
    /// The same of each of [`Difference::bands`], by filter.
    pub band_error_percent: Vec<Option<f64>>,
    /// Coherence with the first, or why there is none.
    pub coherence: Result<Coherence, AnalysisError>,
}

/// Everything about two or more recordings.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The channel, as the first recording describes it.
    pub channel: RecordedChannel,
    /// How samples were aligned.
    pub axis: Axis,
    /// What was compared.
    pub stretch: Stretch,
    /// The first recording, which the others are compared with.
    pub reference: Curve,
    /// The others.
    pub others: Vec<Against>,
    /// What a person should know before drawing conclusions.
    pub notes: Vec<String>,
}

impl Compared {
    /// All curves, the first one first.
    pub fn curves(&self) -> impl Iterator<Item = &Curve> {
        let others = self.others.iter().map(|a| &a.curve);
        std::iter::once(&self.reference).chain(others)
    }

    /// Whether the channel is a force, so that losses of contact mean something.
    pub fn is_force(&self) -> bool {
        self.channel.unit == "N"
    }
}

/// A segment of a spectrum is at most this long, in s: 0.25 Hz are fine enough for spans of any length.
const LONGEST_SEGMENT_S: f64 = 4.0;
/// A stretch holds at least this many segments' lengths, so that there is something to average.
const LEAST_SEGMENTS: f64 = 4.0;

/// Compares recordings with the first of them.
pub fn compare(sessions: &[Session], request: &Request) -> Result<Compared, ComparisonError> {
    let [first, ..] = sessions else {
        return Err(ComparisonError::TooFew(0));
    };
    if sessions.len() < 2 {
        return Err(ComparisonError::TooFew(sessions.len()));
    }
    let axis = choose_axis(sessions, request.axis)?;
    let channel = first.header().channels[first.column_index(&request.channel)?].clone();
    let mut tracks = Vec::new();
    for session in sessions {
        let own = &session.header().channels[session.column_index(&request.channel)?];
        if own.unit != channel.unit {
            return Err(ComparisonError::Units {
                channel: channel.id,
                name: name_of(session.path()),
                unit: own.unit.clone(),
                expected: channel.unit,
            });
        }
        tracks.push(Track::read(session, &request.channel, axis)?);
    }
    let line = |session: &Session| match axis {
        Axis::Place => LineKnown::of(session.header()),
        Axis::Time => None,
    };
    let lines: Vec<Option<LineKnown>> = sessions.iter().map(line).collect();
    let stretch = choose_stretch(&tracks, lines[0].as_ref(), axis, request)?;
    let context = Context {
        stretch: (stretch.from, stretch.to),
        axis,
        report: &request.report,
        seconds: shortest_s(&tracks, (stretch.from, stretch.to)),
    };
    let mut curves = Vec::new();
    for ((session, track), line) in sessions.iter().zip(tracks).zip(&lines) {
        curves.push(context.curve(session, track, line.as_ref())?);
    }
    let mut curves = curves.into_iter();
    let Some(reference) = curves.next() else {
        return Err(ComparisonError::TooFew(0));
    };
    let others = curves
        .map(|curve| context.against(curve, &reference))
        .collect::<Result<_, _>>()?;
    Ok(Compared {
        notes: notes(sessions, axis),
        channel,
        axis,
        stretch,
        reference,
        others,
    })
}

fn choose_axis(sessions: &[Session], asked: Option<Axis>) -> Result<Axis, ComparisonError> {
    let without = sessions
        .iter()
        .find(|s| s.column_index(track::PLACE).is_err());
    match (asked, without) {
        (Some(Axis::Place), Some(session)) => Err(ComparisonError::NoPlace {
            name: name_of(session.path()),
        }),
        (Some(axis), _) => Ok(axis),
        (None, None) => Ok(Axis::Place),
        (None, Some(_)) => Ok(Axis::Time),
    }
}

fn choose_stretch(
    tracks: &[Track],
    line: Option<&LineKnown>,
    axis: Axis,
    request: &Request,
) -> Result<Stretch, ComparisonError> {
    let ends = |t: &Track| (t.positions[0], t.positions[t.positions.len() - 1]);
    let shared = tracks
        .iter()
        .map(ends)
        .fold((f64::NEG_INFINITY, f64::INFINITY), |a, b| {
            (a.0.max(b.0), a.1.min(b.1))
        });
    let (usual, chosen) = match line {
        Some(line) => (line.evaluated_m, "the spans that a run evaluates"),
        None => (shared, "all that the recordings share"),
    };
    let chosen = if request.from.is_some() || request.to.is_some() {
        "asked for"
    } else {
        chosen
    };
    let (from, to) = (
        request.from.unwrap_or(usual.0),
        request.to.unwrap_or(usual.1),
    );
    // Not a number is no stretch either.
    if from.partial_cmp(&to) != Some(Ordering::Less) {
        let unit = axis.unit();
        return Err(ComparisonError::Range { from, to, unit });
    }
    Ok(Stretch { from, to, chosen })
}

/// The duration of the stretch in the recording that is through it first, in s.
fn shortest_s(tracks: &[Track], stretch: (f64, f64)) -> f64 {
    tracks
        .iter()
        .map(|t| track::part(&t.positions, stretch).len() as f64 / t.sample_rate_hz)
        .fold(f64::INFINITY, f64::min)
}

/// What a person should know before drawing conclusions.
fn notes(sessions: &[Session], axis: Axis) -> Vec<String> {
    let mut notes = Vec::new();
    let first = sessions[0].header();
    for session in sessions.iter().filter(|_| axis == Axis::Time) {
        let begins = session.frame_at(0).ok().flatten();
        if begins.is_some_and(|f| f.frame.state == State::Running) {
            notes.push(format!(
                "'{}' begins while the bench runs: its times are counted from there",
                name_of(session.path())
            ));
        }
    }
    for session in &sessions[1..] {
        let (own, name) = (session.header(), name_of(session.path()));
        let hash = "line.ron";
        if axis == Axis::Place && own.model_hashes.get(hash) != first.model_hashes.get(hash) {
            notes.push(format!(
                "'{name}' ran along another line ('{}') than the first ('{}')",
                own.line, first.line
            ));
        }
        if own.speed_kmh != first.speed_kmh {
            notes.push(format!(
                "'{name}' ran at another speed: its frequencies are those of its own time"
            ));
        }
        if own.bench != first.bench {
            notes.push(format!(
                "'{name}' is of another bench ('{}') than the first ('{}')",
                own.bench, first.bench
            ));
        }
    }
    notes
}

/// What all curves share.
struct Context<'a> {
    stretch: (f64, f64),
    axis: Axis,
    report: &'a ReportSettings,
    seconds: f64,
}

impl Context<'_> {
    fn analysis(&self, name: &str) -> impl Fn(AnalysisError) -> ComparisonError + use<> {
        let (name, (from, to), unit) = (name.to_owned(), self.stretch, self.axis.unit());
        move |source| ComparisonError::Analysis {
            name: name.clone(),
            from,
            to,
            unit,
            source,
        }
    }

    /// The same resolution for all recordings.
    fn spectrum_settings(&self, sample_rate_hz: f64) -> SpectrumSettings {
        let seconds = (self.seconds / LEAST_SEGMENTS).min(LONGEST_SEGMENT_S);
        let segment = (seconds * sample_rate_hz) as usize / 2 * 2;
        SpectrumSettings::new(sample_rate_hz, segment)
    }

    fn curve(
        &self,
        session: &Session,
        track: Track,
        line: Option<&LineKnown>,
    ) -> Result<Curve, ComparisonError> {
        let name = name_of(session.path());
        let refuse = self.analysis(&name);
        let rate = track.sample_rate_hz;
        let part = track::part(&track.positions, self.stretch);
        let report = ContactForceReport::within(&track.values, part.clone(), rate, self.report)
            .map_err(&refuse)?;
        let filtered = self.report.filter.zero_phase(&track.values, rate);
        let filtered = filtered.map_err(&refuse)?.values;
        let supports = line.map_or(&[][..], |l| &l.supports_m);
        let (from, to) = self.stretch;
        let inside = |x: &f64| (from..=to).contains(x);
        let supports: Vec<f64> = supports.iter().copied().filter(inside).collect();
        let spans = if supports.len() < 2 {
            Vec::new()
        } else {
            let found = span_statistics(&track.positions, &filtered, &supports);
            found.map_err(&refuse)?.spans
        };
        let spectrum =
            welch(&track.values[part], &self.spectrum_settings(rate)).map_err(&refuse)?;
        Ok(Curve {
            name,
            title: session.header().title.clone(),
            speed_kmh: session.header().speed_kmh,
            sample_rate_hz: rate,
            positions: track.positions,
            values: track.values,
            filtered,
            report,
            spans,
            spectrum,
        })
    }

    fn against(&self, curve: Curve, reference: &Curve) -> Result<Against, ComparisonError> {
        let refuse = self.analysis(&curve.name);
        fn series(c: &Curve) -> Series<'_> {
            Series {
                places_m: &c.positions,
                forces: &c.values,
                sample_rate_hz: c.sample_rate_hz,
            }
        }
        let settings = ComparisonSettings {
            bands: self.report.bands.clone(),
            order: self.report.filter.order,
            range_m: Some(self.stretch),
        };
        let found = difference(&series(&curve), &series(reference), &settings).map_err(&refuse)?;
        let filter = self.report.filter;
        let smooth = filter.zero_phase(&found.difference, curve.sample_rate_hz);
        let share = |rms: f64| share_of_mean_percent(rms * rms, found.reference_mean).ok();
        let part = track::part(&curve.positions, self.stretch);
        let coherence = cross_spectrum(
            &found.reference[part.clone()],
            &curve.values[part],
            &self.spectrum_settings(curve.sample_rate_hz),
        )
        .and_then(|cross| {
            Ok(Coherence {
                coherence: cross.coherence()?,
                effective_averages: cross.effective_averages,
                frequencies_hz: cross.frequencies_hz,
            })
        });
        Ok(Against {
            filtered_difference: smooth.map_err(&refuse)?.values,
            error_percent: share(found.rms),
            band_error_percent: found.bands.iter().map(|b| share(b.by_filter)).collect(),
            difference: found,
            coherence,
            curve,
        })
    }
}
