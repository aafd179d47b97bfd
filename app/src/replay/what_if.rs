//! A recorded session run again on the exact clock against the simulated rig, with other parameters or on
//! another rig, and compared with the recording.

mod child;
mod track;

pub use track::Track;

use super::embedded::Embedded;
use super::script::Script;
use super::{ReplayError, in_own_thread};
use crate::changes::Made;
use crate::conductor::Outcome;
use crate::follower::Follower;
use crate::grip::Grip;
use crate::recording::{Recorded, Recording, SECONDS};
use crate::runtime::{self, Prepared};
use crate::session::{Change, LoadedSession};
use rt_core::bench::{BenchConfig, profile::Source};
use rt_core::file::FileContent;
use rt_core::guard::State;
use rt_core::param::ParamSet;
use rt_core::record::event::EventRecord;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::rt_env::flush_denormals;
use rt_core::signal::comparison::{Comparison, ComparisonSettings, compare};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What is to be different.
#[derive(Clone, Debug, Default)]
pub struct Alterations {
    /// Parameters that begin with other values and keep them.
    pub set: Vec<(String, f64)>,
    /// Parameters that change while the bench runs.
    pub set_at: Vec<Change>,
    /// Another rig.
    pub rig: Option<PathBuf>,
    /// Begin with parameters even if the model says that they are unstable, and change to such.
    pub insist: bool,
    /// Compare both runs with the coupled solution too.
    pub against_implicit: bool,
    /// Record the new run to this directory.
    pub record: Option<PathBuf>,
}

impl Alterations {
    /// Whether a parameter is given here, so that what was recorded of it does not count.
    fn replaces(&self, id: &str) -> bool {
        let in_change = |change: &Change| change.params.contains_key(id);
        self.set.iter().any(|(set, _)| set == id) || self.set_at.iter().any(in_change)
    }

    /// In words, for titles.
    pub fn words(&self) -> String {
        let pair = |(id, value): (&String, &f64)| format!("{id}={value}");
        let mut words: Vec<String> = self.set.iter().map(|(id, v)| pair((id, v))).collect();
        for change in &self.set_at {
            let pairs: Vec<String> = change.params.iter().map(pair).collect();
            words.push(format!("{} after {} s", pairs.join(", "), change.after_s));
        }
        if let Some(rig) = &self.rig {
            words.push(format!("rig {}", crate::recording::stem(rig)));
        }
        if words.is_empty() {
            "nothing changed".into()
        } else {
            words.join(", ")
        }
    }
}

/// What the forces of both runs are compared along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// The place along the line.
    Place,
    /// The time of running.
    Time,
}

/// A recorded session and what became of it otherwise.
pub struct WhatIf {
    /// The recorded run.
    pub recorded: Track,
    /// The new run.
    pub computed: Track,
    /// Results of both, in the words of `pantobench run`; `None` where a run has none.
    pub results: [Option<Value>; 2],
    /// How far the new force is from the recorded one, or why that cannot be said.
    pub comparison: Result<Comparison, String>,
    /// What it is compared along.
    pub along: Along,
    /// Parameters at the start of the new run.
    pub params: ParamSet,
    /// What became of changes of parameters.
    pub changes: Vec<Made>,
    /// How the new run ended.
    pub outcome: Outcome,
    /// The recording of the new run.
    pub recording: Option<Recorded>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Runs a recorded session again with what is to be different. `say` hears what happens; `stop` ends it.
pub fn what_if(
    session: &Session,
    alterations: &Alterations,
    say: fn(&str),
    stop: &AtomicBool,
) -> Result<WhatIf, ReplayError> {
    in_own_thread(|| run(session, alterations, say, stop))
}

fn run(
    session: &Session,
    alterations: &Alterations,
    say: fn(&str),
    stop: &AtomicBool,
) -> Result<WhatIf, ReplayError> {
    // As every run on the exact clock.
    flush_denormals();
    let header = session.header();
    let embedded = Embedded::unpack(header)?;
    let mut notes = embedded.notes.clone();
    let layout = embedded.layout(header)?;
    let mut recorded = Track::new(&layout, &embedded.loaded);
    let mut last = None;
    let mut runs = 0;
    for frame in session.frames(TimeRange::ALL) {
        let frame = frame?.frame;
        let begins = frame.state == State::Running && last != Some(State::Running);
        runs += usize::from(begins);
        last = Some(frame.state);
        if runs < 2 {
            recorded.add(&frame);
        }
    }
    if runs > 1 {
        notes.push(format!(
            "the bench runs {runs} times in this recording; the first is run again"
        ));
    }
    let span = recorded.running_ticks().ok_or(ReplayError::NeverRan)?;
    let events = session.events(TimeRange::ALL)?;
    let loaded = altered(session, &embedded, &events, span, alterations)?;

    let Prepared {
        mut rt_loop,
        mut user,
        layout,
        designer,
        params,
        ..
    } = runtime::prepare_exact(&loaded)?;
    user.display = None;
    let recording = match &alterations.record {
        None => None,
        Some(directory) => {
            let setup = child::setup(session, directory, alterations, &loaded, &layout, &params)?;
            let begun = Recording::begin(setup, &layout, params.specs());
            Some(begun.map_err(ReplayError::Recording)?)
        }
    };
    let mut computed = Track::new(&layout, &loaded);
    let (outcome, changes, recording) = {
        let mut follower = Follower::new(&loaded, &layout, designer, params, recording, say);
        // A computation: nobody is beside it, and nothing moves.
        follower.grip = Grip::Program;
        follower.on_frame = Some(Box::new(|frame| computed.add(frame)));
        while rt_loop.cycle() {
            follower.follow(&mut user, stop);
        }
        follower.follow(&mut user, stop);
        (
            follower.conductor.outcome,
            follower.changes.made,
            follower.recording,
        )
    };
    let results = [(&recorded, &embedded.loaded), (&computed, &loaded)]
        .map(|(track, loaded)| track.result(loaded, alterations.against_implicit));
    let recording =
        recording.map(|recording| child::finish(recording, &outcome, results[1].as_ref(), &layout));
    let (along, comparison) = compared(&computed, &recorded);
    Ok(WhatIf {
        recorded,
        computed,
        results,
        comparison,
        along,
        params,
        changes,
        outcome,
        recording,
        notes,
    })
}

/// The recorded session with what is to be different; recorded changes of other parameters remain.
fn altered(
    session: &Session,
    embedded: &Embedded,
    events: &[EventRecord],
    run: (u64, u64),
    alterations: &Alterations,
) -> Result<LoadedSession, ReplayError> {
    let header = session.header();
    let mut loaded = embedded.loaded.clone();
    let period_s = header.period_nanos as f64 * 1e-9;
    let script = Script::read(events, loaded.session.bench.spec().params)?;
    let mut start = loaded.session.start_params()?;
    let mut changes = script.changes(&mut start, run, period_s);
    for (id, value) in &alterations.set {
        start.preset(id, *value)?;
    }
    for change in &mut changes {
        change.params.retain(|id, _| !alterations.replaces(id));
        change.insist |= alterations.insist;
    }
    changes.retain(|change| !change.params.is_empty());
    changes.extend(alterations.set_at.iter().cloned().map(|change| Change {
        insist: change.insist || alterations.insist,
        ..change
    }));
    let file = &mut loaded.session;
    file.params = params_by_name(&start);
    file.changes = changes;
    file.seconds = seconds(header.further.get(SECONDS), &script, file, run, period_s);
    match (&mut file.bench, alterations.insist) {
        (BenchConfig::PantographLqg(config), true) => config.start_unstable = true,
        (BenchConfig::PantographSteady(config), true) => config.start_unstable = true,
        _ => {}
    }
    if let Some(rig) = &alterations.rig {
        let path = std::path::absolute(rig).unwrap_or_else(|_| rig.clone());
        file.rig = path.display().to_string();
    }
    file.check().map_err(|source| {
        ReplayError::File(rt_core::file::FileError::Senseless {
            kind: "change",
            path: session.path().to_owned(),
            source,
        })
    })?;
    Ok(loaded)
}

/// How long the new run may last. Without a time set for it, a bench that never ends by itself runs as long
/// as it did.
fn seconds(
    stated: Option<&String>,
    script: &Script,
    file: &crate::session::Session,
    run: (u64, u64),
    period_s: f64,
) -> Option<f64> {
    let stated = stated.and_then(|text| text.parse().ok());
    let seen = script.run_ticks.map(|ticks| ticks as f64 * period_s);
    let length = (run.1 - run.0) as f64 * period_s;
    let unless_it_ends = (!ends_by_itself(&file.bench)).then_some(length);
    stated.or(seen).or(file.seconds).or(unless_it_ends)
}

fn ends_by_itself(bench: &BenchConfig) -> bool {
    match bench {
        BenchConfig::PantographLqg(_) | BenchConfig::PantographSteady(_) => true,
        BenchConfig::Jog(_) => false,
        BenchConfig::Profile(config) => match config.source {
            Source::Chirp { .. } | Source::File { .. } => true,
            Source::Sine { .. } | Source::Steps { .. } => false,
        },
    }
}

/// All parameters by name.
fn params_by_name(params: &ParamSet) -> std::collections::BTreeMap<String, f64> {
    let specs = params.specs().iter().enumerate();
    specs
        .map(|(i, spec)| (spec.id.to_owned(), params.get(i)))
        .collect()
}

/// Compares the forces of two runs: at the same places where both run along a line, else at the same times.
fn compared(computed: &Track, recorded: &Track) -> (Along, Result<Comparison, String>) {
    let by_place = (computed.by_place(), recorded.by_place());
    let (along, ours, theirs) = match by_place {
        (Some(ours), Some(theirs)) => (Along::Place, Some(ours), Some(theirs)),
        _ => (Along::Time, computed.by_time(), recorded.by_time()),
    };
    let compared = match (ours, theirs) {
        (Some(ours), Some(theirs)) => {
            compare(&ours, &theirs, &ComparisonSettings::default()).map_err(|e| e.to_string())
        }
        _ => Err("one of the runs has no contact force".into()),
    };
    (along, compared)
}
