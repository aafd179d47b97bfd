//! The recording of a run: what its header says, frames and events on their way to the file, its end.

use crate::conductor::Outcome;
use crate::event_record;
use crate::home;
use crate::provenance;
use crate::session::{LoadedSession, Session};
use drivers::rig_file::{RigFile, find_cells};
use rt_core::bench::{BenchConfig, pantograph_steady::SteadyWire, profile::Source};
use rt_core::channel::{Frame, Layout};
use rt_core::file;
use rt_core::link::Event;
use rt_core::param::{ParamSet, ParamSpec};
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::header::{SessionHeader, TextMap};
use rt_core::record::recover::{Recovered, recover_directory};
use rt_core::record::setup::RecorderSetup;
use rt_core::rt_env::RtStatus;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a person says about a test.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    /// Who runs it.
    pub operator: Option<String>,
    /// The tested pantograph, in place of the name of its file.
    pub specimen: Option<String>,
    /// Anything worth knowing.
    pub notes: Option<String>,
    /// The conditions of the test.
    pub environment: Environment,
}

/// The conditions of a test that a report has to state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// Rain, or none.
    pub rain: Option<String>,
    /// Ice or frost, or none.
    pub ice: Option<String>,
    /// Temperature of the air, in °C.
    pub temperature_c: Option<f64>,
    /// Wind, in m/s.
    pub wind_m_per_s: Option<f64>,
    /// A tunnel, or none.
    pub tunnel: Option<String>,
}

/// Names of the conditions in a header, and what a person reads.
pub const CONDITIONS: [(&str, &str); 5] = [
    ("rain", "Rain"),
    ("ice", "Ice"),
    ("temperature_c", "Temperature, °C"),
    ("wind_m_per_s", "Wind, m/s"),
    ("tunnel", "Tunnel"),
];

impl Environment {
    /// Coldest and hottest air in °C, and the strongest wind in m/s, that are believed.
    pub const TEMPERATURES_C: std::ops::RangeInclusive<f64> = -90.0..=90.0;
    /// See [`Self::TEMPERATURES_C`].
    pub const WINDS_M_PER_S: std::ops::RangeInclusive<f64> = 0.0..=150.0;

    /// As a header keeps it: what was stated, by name.
    pub fn to_map(&self) -> TextMap {
        let values = [
            self.rain.clone(),
            self.ice.clone(),
            self.temperature_c.map(|t| t.to_string()),
            self.wind_m_per_s.map(|w| w.to_string()),
            self.tunnel.clone(),
        ];
        let named = CONDITIONS.iter().zip(values);
        named
            .filter_map(|((name, _), value)| Some(((*name).to_owned(), value?)))
            .collect()
    }
}

/// A loop that is about to be recorded.
pub struct Subject<'a> {
    /// The session.
    pub loaded: &'a LoadedSession,
    /// Its columns.
    pub layout: &'a Layout,
    /// Its parameters at the start.
    pub params: &'a ParamSet,
    /// What the system granted; `None` on an exact clock.
    pub rt: Option<&'a RtStatus>,
    /// When the loop's time was zero.
    pub t0: SystemTime,
}

/// Entry of a header: how exactly the loop's own timing is kept.
pub const LOOP_TIMING: &str = "loop_timing";
/// The loop's timing has the precision of a float, so a recording holds it to the last bit. Without this
/// entry it had that of a double.
pub const SINGLE: &str = "single";
/// Entry of a header: which instructions long sums are formed with; their last bits depend on it.
pub const ARITHMETIC: &str = "arithmetic";
/// Entry of a header: the commit of the program, and whether its tree was clean.
pub const COMMIT: &str = "commit";
/// Entry of a header: the time set for the run, in s.
pub const SECONDS: &str = "seconds";

/// Entry of a header: the recording that this one was made of.
pub const PARENT: &str = "parent";
/// Entry of a header: the hash of that file.
pub const PARENT_HASH: &str = "parent_hash";

/// Names the recording that another one was made of in that one's header.
pub fn name_parent(further: &mut TextMap, parent: &Path) -> std::io::Result<()> {
    let found = provenance::FileHashes::of(parent)?.sha256;
    further.insert(PARENT.into(), parent.display().to_string());
    further.insert(PARENT_HASH.into(), found);
    Ok(())
}

/// Which instructions long sums are formed with on this machine.
pub fn arithmetic() -> &'static str {
    if rt_core::model::catenary::vector::is_wide() {
        "avx2 and fma"
    } else {
        "plain"
    }
}

/// What this program writes into every header about how it computes and what it was asked for.
pub fn own_entries(session: &Session) -> TextMap {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut entries = TextMap::from([
        ("arguments".to_owned(), arguments.join(" ")),
        (LOOP_TIMING.to_owned(), SINGLE.to_owned()),
        (ARITHMETIC.to_owned(), arithmetic().to_owned()),
        (COMMIT.to_owned(), provenance::COMMIT.to_owned()),
    ]);
    // A command may ask for another time than the file.
    if let Some(seconds) = session.seconds {
        entries.insert(SECONDS.to_owned(), seconds.to_string());
    }
    entries
}

/// The files that describe the rig of a run, by their part in it.
pub fn rig_files(loaded: &LoadedSession) -> Vec<(&'static str, PathBuf)> {
    let rig = loaded.rig_path();
    let mut files = vec![("rig.ron", rig.clone())];
    if let Ok(content) = file::load::<RigFile>(&rig) {
        let base = rig.parent().unwrap_or(Path::new("."));
        files.push(("pantograph.ron", base.join(content.pantograph())));
    }
    files
}

/// The files that describe a run, by their part in it.
fn files(loaded: &LoadedSession) -> Vec<(&'static str, PathBuf)> {
    let mut files = vec![("session.ron", loaded.path.clone())];
    files.extend(rig_files(loaded));
    match &loaded.session.bench {
        BenchConfig::Profile(config) => {
            if let Source::File { path } = &config.source {
                files.push(("profile.csv", loaded.base().join(path)));
            }
        }
        BenchConfig::Jog(_) => {}
        BenchConfig::PantographLqg(config) => {
            let line = config.line.iter();
            files.extend(line.map(|line| ("line.ron", loaded.base().join(line))));
            files.push(("specimen.ron", loaded.base().join(&config.specimen)));
        }
        BenchConfig::PantographSteady(config) => {
            if let SteadyWire::Line { file, .. } = &config.wire {
                files.push(("line.ron", loaded.base().join(file)));
            }
            files.push(("specimen.ron", loaded.base().join(&config.specimen)));
        }
    }
    files
}

/// A file's name without directory and extension.
pub fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The header's entry with the name of a cell's calibration.
pub fn calibration_of(cell: &str) -> String {
    format!("calibration_of_{cell}")
}

/// The header's entry with the line of a cell's calibration: slope in N a unit of the reading, offset in N.
pub fn line_of(cell: &str) -> String {
    format!("calibration_line_of_{cell}")
}

/// What the recording of a run says about itself.
pub fn header(subject: &Subject<'_>, remarks: &Remarks) -> Result<SessionHeader, String> {
    let loaded = subject.loaded;
    let (mut texts, mut hashes) = (TextMap::new(), TextMap::new());
    let (mut specimen, mut line) = (String::new(), String::new());
    let mut further = TextMap::new();
    for (part, path) in files(loaded) {
        let text = std::fs::read_to_string(&path)
            .map_err(|e| format!("cannot read '{}' for the recording: {e}", path.display()))?;
        hashes.insert(part.into(), provenance::sha256(text.as_bytes()));
        texts.insert(part.into(), text);
        further.insert(format!("path_of_{part}"), path.display().to_string());
        match part {
            "pantograph.ron" | "specimen.ron" => specimen = stem(&path),
            "line.ron" => line = stem(&path),
            _ => {}
        }
    }
    further.extend(own_entries(&loaded.session));
    // Those that a start uses now; what is changed afterwards is an event of the recording.
    let found = find_cells(&loaded.rig_path(), Some(&home::calibrations_dir()));
    for cell in found.map_err(|e| e.to_string())?.cells {
        let id = match &cell.calibration {
            None => "none".to_owned(),
            Some(c) => {
                let (slope, offset) = (c.line.slope_n_per_unit, c.line.offset_n);
                further.insert(line_of(&cell.id), format!("{slope} {offset}"));
                c.id.to_string()
            }
        };
        further.insert(calibration_of(&cell.id), id);
    }
    let speed_kmh = match &loaded.session.bench {
        BenchConfig::PantographLqg(config) => Some(config.speed_kmh),
        BenchConfig::PantographSteady(config) => Some(config.speed_kmh),
        BenchConfig::Profile(_) | BenchConfig::Jog(_) => None,
    };
    let specs = subject.params.specs().iter().enumerate();
    let since_1970 = subject.t0.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(SessionHeader {
        bench: loaded.session.bench.spec().id.to_owned(),
        title: loaded.session.title.clone(),
        specimen: remarks.specimen.clone().unwrap_or(specimen),
        line,
        speed_kmh,
        operator: remarks.operator.clone().unwrap_or_default(),
        notes: remarks.notes.clone().unwrap_or_default(),
        environment: remarks.environment.to_map(),
        software_version: provenance::VERSION.to_owned(),
        period_nanos: loaded.period_nanos(),
        // Fits: 2⁶⁴ ns are 585 years.
        t0_unix_nanos: since_1970.as_nanos() as u64,
        channels: subject.layout.channels().iter().map(Into::into).collect(),
        parameters: specs
            .map(|(i, spec)| (spec.id.to_owned(), subject.params.get(i)))
            .collect(),
        files: texts,
        model_hashes: hashes,
        real_time: real_time(subject.rt),
        further,
    })
}

/// Puts a file into a header in place of what played its part before.
pub fn embed(header: &mut SessionHeader, part: &str, path: &Path, text: String) {
    let found = provenance::sha256(text.as_bytes());
    header.model_hashes.insert(part.into(), found);
    header.files.insert(part.into(), text);
    let place = path.display().to_string();
    header.further.insert(format!("path_of_{part}"), place);
}

/// What the end of a recording says of a run: why it ended, and the result.
pub fn summary(outcome: &Outcome, result: Option<&Value>, layout: &Layout) -> (String, TextMap) {
    let mut summary = TextMap::new();
    summary.insert("state".into(), outcome.final_state().into());
    let keys = [
        "mean_n",
        "std_n",
        "max_n",
        "min_n",
        "loss_pct",
        "error_filtered_pct",
    ];
    for (key, value) in keys.map(|key| (key, result.and_then(|r| r[key].as_f64()))) {
        if let Some(value) = value {
            summary.insert(key.into(), value.to_string());
        }
    }
    let reason = match &outcome.fault {
        None => "the run is over".to_owned(),
        Some((fault, _, t_s)) => {
            let words = fault.describe(layout);
            summary.insert("trip".into(), words.id);
            summary.insert("trip_t_s".into(), t_s.to_string());
            format!("the run was ended by a fault: {}", words.what)
        }
    };
    (reason, summary)
}

/// What the system granted, for a header; `None` on an exact clock.
pub fn real_time(rt: Option<&RtStatus>) -> TextMap {
    let mut map = TextMap::new();
    let mut put = |key: &str, value: String| map.insert(key.to_owned(), value);
    let Some(rt) = rt else {
        put("clock", "exact".into());
        return map;
    };
    put("clock", "real".into());
    put("scheduler", rt.scheduler.into());
    put("memory_locked", rt.memory_locked.to_string());
    put("kept_awake", rt.kept_awake.to_string());
    put("preempt_rt", rt.preempt_rt.to_string());
    if let Some(priority) = rt.priority {
        put("priority", priority.to_string());
    }
    if let Some(cpu) = rt.cpu {
        put("cpu", cpu.to_string());
    }
    if let Some(governor) = &rt.governor {
        put("governor", governor.clone());
    }
    if !rt.missing.is_empty() {
        put("missing", rt.missing.join("; "));
    }
    map
}

/// The recorder's setup for a session: its files are called after session, line and speed.
pub fn setup(directory: &Path, loaded: &LoadedSession, header: SessionHeader) -> RecorderSetup {
    let mut words = vec![stem(&loaded.path), header.line.clone()];
    words.extend(header.speed_kmh.map(|speed| format!("{speed:.0}kmh")));
    RecorderSetup {
        name_words: words,
        trigger: loaded.session.record.clone().unwrap_or_default(),
        ..RecorderSetup::new(directory, header)
    }
}

/// Makes whole files of what earlier runs left unfinished in a directory. Says what became of each in
/// words; nothing if the directory does not exist yet.
pub fn recover_leftovers(directory: &Path) -> Vec<String> {
    if !directory.is_dir() {
        return Vec::new();
    }
    let in_words = |recovered: Recovered| match recovered.outcome {
        Ok(path) => format!(
            "an earlier recording was cut off; what was recorded is in {}",
            path.display()
        ),
        Err(e) => format!("an unfinished recording was left as it is: {e}"),
    };
    match recover_directory(directory) {
        Ok(all) => all.into_iter().map(in_words).collect(),
        Err(e) => vec![format!("unfinished recordings were not looked for: {e}")],
    }
}

/// Records a run, or what happens around the triggers of its session, in the thread of whoever drains the
/// loop's rings.
pub struct Recording {
    engine: Engine,
    layout: Layout,
    params: &'static [ParamSpec],
    waits_for_triggers: bool,
}

/// What became of a recording.
pub struct Recorded {
    /// The files, the newest last; one a trigger. Empty if none could be finished or no trigger fired.
    pub paths: Vec<PathBuf>,
    /// Why it ended before the run did, if so.
    pub problem: Option<String>,
    /// Whether it waited for triggers.
    pub waited_for_triggers: bool,
}

impl Recording {
    /// Makes the directory and opens the file, or begins to wait for triggers if the setup has some.
    pub fn begin(
        setup: RecorderSetup,
        layout: &Layout,
        params: &'static [ParamSpec],
    ) -> Result<Self, String> {
        let waits_for_triggers = !setup.trigger.triggers.is_empty();
        let mut engine = Engine::new(setup, Box::new(SystemDisk)).map_err(|e| e.to_string())?;
        if waits_for_triggers {
            engine.arm();
        } else {
            engine.start();
        }
        match engine.status().error {
            Some(error) => Err(error),
            None => Ok(Self {
                engine,
                layout: layout.clone(),
                params,
                waits_for_triggers,
            }),
        }
    }

    /// The file that is being written, under its final name; `None` while a trigger is waited for.
    pub fn path(&self) -> Option<PathBuf> {
        self.engine.status().path
    }

    /// Takes a frame.
    pub fn frame(&mut self, frame: &Frame) {
        self.engine.frame(frame);
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event) {
        self.named_event(event, None);
    }

    /// Takes an event with words of its own, as a marker has.
    pub fn named_event(&mut self, event: &Event, text: Option<&str>) {
        let mut record = event_record::of(event, &self.layout, self.params);
        if let Some(text) = text {
            record.text = text.to_owned();
        }
        self.engine.event(record);
    }

    /// To be called often; gives what a person should know of the disk and of triggers. `drops` is how many frames the
    /// ring could not take since the loop started.
    pub fn service(&mut self, drops: u64) -> Vec<String> {
        self.engine.service(drops);
        let notices = self.engine.take_notices().into_iter();
        // The one file of a whole run is named by whoever opened it.
        let is_routine = |kind: &str| ["recording.trigger", "recording.end"].contains(&kind);
        notices
            .filter(|notice| self.waits_for_triggers || !is_routine(&notice.kind))
            .map(|notice| notice.text)
            .collect()
    }

    /// Finishes the file.
    pub fn finish(mut self, reason: &str, result: TextMap) -> Recorded {
        self.engine.set_result(result);
        self.engine.stop(reason);
        let status = self.engine.status();
        Recorded {
            paths: status.finished,
            problem: status.error,
            waited_for_triggers: self.waits_for_triggers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::record::reader::{Session, TimeRange};
    use rt_core::record::setup::SpaceLimits;

    fn sine() -> LoadedSession {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions/profile-sine.ron");
        LoadedSession::load(&path).unwrap()
    }

    #[test]
    fn a_full_disk_ends_the_recording_and_nothing_else() {
        let loaded = sine();
        let mut layout = Layout::default();
        layout.append(loaded.session.bench.spec().channels).unwrap();
        let params = loaded.session.start_params().unwrap();
        let subject = Subject {
            loaded: &loaded,
            layout: &layout,
            params: &params,
            rt: None,
            t0: SystemTime::now(),
        };
        let header = header(&subject, &Remarks::default()).unwrap();
        let scratch = std::env::temp_dir().join(format!("pantobench-full-{}", std::process::id()));
        let mut setup = setup(&scratch, &loaded, header);
        // To this recorder every disk is full, as soon as it looks.
        setup.space = SpaceLimits {
            warn_below: u64::MAX,
            stop_below: u64::MAX,
        };
        setup.sync_period = std::time::Duration::ZERO;
        let mut recording = Recording::begin(setup, &layout, params.specs()).unwrap();
        let mut frame = Frame::empty();
        let mut warnings = Vec::new();
        for seq in 0..100 {
            (frame.seq, frame.t_nanos) = (seq, seq * 2_000_000);
            recording.frame(&frame);
            warnings.extend(recording.service(0));
        }
        let recorded = recording.finish("the run is over", TextMap::new());
        assert!(warnings[0].contains("MB left"), "{warnings:?}");
        assert_eq!(warnings.len(), 1);
        assert!(recorded.problem.unwrap().contains("free space"));
        let session = Session::open(&recorded.paths[0]).unwrap();
        assert!(session.check().unwrap().info.ok);
        assert_eq!(session.frames(TimeRange::ALL).count(), 1);
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
