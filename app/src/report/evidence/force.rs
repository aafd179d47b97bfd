//! The contact force of a recording: its curve, the stretch that is evaluated, its statistics, spans and spectrum.

use crate::comparison::Axis;
use crate::comparison::track::{LineKnown, Track, part};
use crate::session;
use rt_core::bench::BenchConfig;
use rt_core::file;
use rt_core::record::reader::Session;
use rt_core::signal::contact_force::{ContactForceReport, ReportSettings};
use rt_core::signal::spans::{SpanStatistics, span_statistics};
use rt_core::signal::spectrum::SpectrumSettings;
use rt_core::signal::spectrum::density::{Density, welch};
use std::ops::Range;
use std::path::Path;

/// See the module's text.
pub struct ForceEvidence {
    /// The channel that is evaluated.
    pub channel: &'static str,
    /// Place along the line, or time of running.
    pub axis: Axis,
    /// Samples a second, in Hz.
    pub sample_rate_hz: f64,
    /// Places in m or times in s of all samples of the running bench.
    pub positions: Vec<f64>,
    /// Unfiltered, in N.
    pub raw: Vec<f64>,
    /// After the report's filter, in N.
    pub filtered: Vec<f64>,
    /// From where to where it is evaluated.
    pub stretch: (f64, f64),
    /// The samples of that stretch.
    pub part: Range<usize>,
    /// Why this stretch, in words.
    pub chosen: String,
    /// Whether it is one span of a steady state, which repeats for ever.
    pub is_period: bool,
    /// Statistics of the stretch.
    pub report: ContactForceReport,
    /// Statistics of each span in it.
    pub spans: Vec<SpanStatistics>,
    /// Places of the supports.
    pub supports_m: Vec<f64>,
    /// Rise of the wire in m at the moment in which the contact passes each support of the stretch.
    pub rise_at_supports: Vec<(f64, f64)>,
    /// Density of the unfiltered force of the stretch.
    pub spectrum: Option<Density>,
}

/// A segment of a spectrum is at most this long, in s; a stretch holds at least so many of them.
const LONGEST_SEGMENT_S: f64 = 4.0;
const LEAST_SEGMENTS: f64 = 4.0;
/// Blocks of a stretch without spans.
const BLOCKS: usize = 10;

impl ForceEvidence {
    /// Reads and evaluates; words if there is nothing to evaluate.
    pub fn of(session: &Session) -> Result<Self, String> {
        let header = session.header();
        let has = |id: &str| session.column_index(id).is_ok();
        // As a run is evaluated: a simulated rig knows the force at the pad itself.
        let channel = ["true_force", "force"]
            .into_iter()
            .find(|id| has(id))
            .ok_or("the recording has no channel of the contact force")?;
        let line = LineKnown::of(header);
        let axis = if line.is_some() && has("line_position") {
            Axis::Place
        } else {
            Axis::Time
        };
        let words = |e: &dyn std::fmt::Display| e.to_string();
        let Track {
            positions,
            values: raw,
            sample_rate_hz,
        } = Track::read(session, channel, axis).map_err(|e| words(&e))?;
        let settings = ReportSettings::default();
        let filtered = settings
            .filter
            .zero_phase(&raw, sample_rate_hz)
            .map_err(|e| words(&e))?
            .values;
        let Chosen {
            stretch,
            why: chosen,
            is_period,
        } = choose(session, axis, line.as_ref(), &positions)?;
        let part = part(&positions, stretch);
        let report = ContactForceReport::within(&raw, part.clone(), sample_rate_hz, &settings)
            .map_err(|e| format!("{e} (evaluated: {chosen})"))?;
        let supports_m = line.map(|l| l.supports_m).unwrap_or_default();
        let inside: Vec<f64> = supports_m
            .iter()
            .copied()
            .filter(|x| (stretch.0..=stretch.1).contains(x))
            .collect();
        let spans = if inside.len() < 2 {
            Vec::new()
        } else {
            let found = span_statistics(&positions, &filtered, &inside);
            found.map_err(|e| words(&e))?.spans
        };
        let seconds = part.len() as f64 / sample_rate_hz;
        let segment_s = (seconds / LEAST_SEGMENTS).min(LONGEST_SEGMENT_S);
        let segment = (segment_s * sample_rate_hz) as usize / 2 * 2;
        let spectrum = welch(
            &raw[part.clone()],
            &SpectrumSettings::new(sample_rate_hz, segment),
        )
        .ok();
        let mut found = Self {
            channel,
            axis,
            sample_rate_hz,
            positions,
            raw,
            filtered,
            stretch,
            part,
            chosen,
            is_period,
            report,
            spans,
            supports_m,
            rise_at_supports: Vec::new(),
            spectrum,
        };
        found.rise_at_supports = found.rises(session, &inside);
        Ok(found)
    }

    /// Another channel at the same places or times.
    pub fn track(&self, session: &Session, channel: &str) -> Result<Track, String> {
        Track::read(session, channel, self.axis).map_err(|e| e.to_string())
    }

    fn rises(&self, session: &Session, supports: &[f64]) -> Vec<(f64, f64)> {
        let Ok(track) = self.track(session, "wire_rise") else {
            return Vec::new();
        };
        let at = |x: f64| {
            let after = track.positions.partition_point(|p| *p < x);
            let before = after.checked_sub(1)?;
            let (x0, x1) = (track.positions[before], *track.positions.get(after)?);
            let (y0, y1) = (track.values[before], track.values[after]);
            Some((x, y0 + (x - x0) / (x1 - x0) * (y1 - y0)))
        };
        let found = supports.iter().filter_map(|x| at(*x));
        found.filter(|(_, rise)| rise.is_finite()).collect()
    }

    /// The samples of the stretch after the filter, and blocks of them that repeat: spans, or equal parts.
    pub fn blocks(&self) -> (&[f64], Vec<Range<usize>>) {
        let values = &self.filtered[self.part.clone()];
        let first = self.part.start;
        let blocks = if self.spans.len() >= 2 {
            let index = |x: f64| {
                let at = self.positions.partition_point(|p| *p < x);
                at.clamp(self.part.start, self.part.end) - first
            };
            let spans = self.spans.iter();
            spans.map(|s| index(s.from_m)..index(s.to_m)).collect()
        } else {
            let length = values.len() / BLOCKS;
            (0..BLOCKS).map(|k| k * length..(k + 1) * length).collect()
        };
        (values, blocks)
    }
}

struct Chosen {
    stretch: (f64, f64),
    why: String,
    is_period: bool,
}

impl Chosen {
    fn new(stretch: (f64, f64), why: impl Into<String>) -> Self {
        Self {
            stretch,
            why: why.into(),
            is_period: false,
        }
    }
}

/// Which stretch is evaluated, and why.
fn choose(
    session: &Session,
    axis: Axis,
    line: Option<&LineKnown>,
    positions: &[f64],
) -> Result<Chosen, String> {
    let (first, last) = (positions[0], positions[positions.len() - 1]);
    if let (Axis::Place, Some(line)) = (axis, line) {
        let (from, to) = line.evaluated_m;
        if last < to {
            if last <= from {
                return Err(format!(
                    "the run ended at {last:.1} m, before the spans that are evaluated ({from:.1} to {to:.1} m)"
                ));
            }
            let words = format!(
                "from the first evaluated span to the end of the run; the spans up to {to:.1} m were not reached"
            );
            return Ok(Chosen::new((from, last), words));
        }
        let words = "the spans that a run evaluates: clear of its start and end";
        return Ok(Chosen::new((from, to), words));
    }
    let text = session.header().files.get("session.ron");
    let own = text.and_then(|t| file::parse::<session::Session>(t, Path::new("session.ron")).ok());
    if let Some(own) = &own
        && matches!(own.bench, BenchConfig::PantographSteady(_))
        && let Some(stretch) = last_span(session)
    {
        let words = "the last whole span, in which the steady state is reached or nearest";
        return Ok(Chosen {
            is_period: true,
            ..Chosen::new(stretch, words)
        });
    }
    let from = own.map_or(first, |s| s.statistics_from_s).max(first);
    if from >= last {
        return Err(format!(
            "the bench ran for {last:.1} s, not as long as what its session leaves out at the start ({from:.1} s)"
        ));
    }
    let words = if from > first {
        format!("from {from:.1} s of running on, as the session says")
    } else {
        "all of the running time".to_owned()
    };
    Ok(Chosen::new((from, last), words))
}

/// The times of running between which the last whole span lies.
fn last_span(session: &Session) -> Option<(f64, f64)> {
    let track = Track::read(session, "span", Axis::Time).ok()?;
    let known = track.values.iter().zip(&track.positions);
    // Times in which the number of the span changed.
    let mut borders = Vec::new();
    let mut before = None;
    for (span, t) in known.filter(|(span, _)| span.is_finite()) {
        if before.is_some_and(|b| b != *span) || before.is_none() {
            borders.push(*t);
        }
        before = Some(*span);
    }
    let [.., from, to] = borders[..] else {
        return None;
    };
    Some((from, to))
}
