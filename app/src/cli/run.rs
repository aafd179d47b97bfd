//! `pantobench run`: a whole session without a window.

mod arming;
mod record;

use super::{Failure, text};
use crate::changes::{self, Made};
use crate::conductor::Outcome;
use crate::follower::Follower;
use crate::hil_result::HilSamples;
use crate::permit::Permit;
use crate::recording::{Environment, Recorded, Recording, Subject};
use crate::runtime::{self, Prepared, StartError};
use crate::session::LoadedSession;
use crate::statistics::RunStatistics;
use crate::steady_result::SteadySamples;
use arming::{DeadMan, Insist, Said, ask_permit};
use drivers::hardware::HardwareError;
use drivers::rig_file::RigError;
use rt_core::bench::{BenchConfig, BenchSpec};
use rt_core::channel::Layout;
use rt_core::link::{StopCause, UserSide};
use rt_core::rt_env::RtStatus;
use rt_core::timing::{Histogram, Timing};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

/// Arguments of `pantobench run`.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example: pantobench run sessions/profile-sine.ron --fast --json\n\
                        Example: pantobench run sessions/dsa380-300.ron --record recordings --operator \"late shift\"\n\n\
                        Ctrl-C stops the bench in a controlled way. A rig that is hardware, or asks for two steps or a \
                        dead man's switch, is moved by a person at the terminal (A, then C, then the space bar held) \
                        unless its file says safety.unattended. An open safety circuit or a drive's error ends the run \
                        before it begins. Exit codes: 0 done, 1 tripped or stopped by a fault, 2 bad input, 3 it never \
                        ran."
)]
pub struct Arguments {
    /// The session file.
    #[arg(value_name = "SESSION.ron")]
    session: PathBuf,
    /// Run for this long instead of what the session says, in s.
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Compare a pantograph bench with the coupled solution of the same line, pantograph and stiffness.
    #[arg(long, value_enum, value_name = "WHAT")]
    against: Option<Against>,
    /// Change parameters while the bench runs, for example 8:q=500,r=2 after 8 s; may be repeated.
    #[arg(long, value_name = "S:ID=VALUE,…")]
    change: Vec<String>,
    /// Go on against an objection, which is recorded: changes of parameters that the model says are unstable (tuning,
    /// the default), arming without valid calibrations, arming without real-time rights.
    #[arg(
        long,
        value_enum,
        value_name = "WHAT,…",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "tuning"
    )]
    insist: Vec<Insist>,
    /// Accepted for what was written before: the second step of arming is taken with a key, beside the rig.
    #[arg(long)]
    confirm: bool,
    /// Who holds the dead man's switch of a rig that has one: a person at the keys, or this program where the rig file
    /// allows it (safety.unattended); whoever the file allows if left out.
    #[arg(long, value_enum, value_name = "WHO")]
    dead_man: Option<DeadMan>,
    /// Reset what the drive has latched, once, before anything else. Nothing moves by it.
    #[arg(long)]
    acknowledge: bool,
    /// Let a drive that does not know where it is find its home position first.
    #[arg(long)]
    home: bool,
    /// Run on an exact clock, as fast as the machine can: the same result every time.
    #[arg(long)]
    fast: bool,
    /// Record every frame and every event, or those around the session's triggers, to new files in this
    /// directory. What an earlier run left unfinished there is recovered first.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Who runs the test, for the recording.
    #[arg(long, value_name = "NAME", requires = "record")]
    operator: Option<String>,
    /// What is tested, for the recording; the name of the pantograph's file if left out.
    #[arg(long, value_name = "TEXT", requires = "record")]
    specimen: Option<String>,
    /// Anything worth knowing, for the recording.
    #[arg(long, value_name = "TEXT", requires = "record")]
    notes: Option<String>,
    /// Temperature of the air in °C, for the recording.
    #[arg(long, value_name = "C", requires = "record", value_parser = temperature)]
    temperature: Option<f64>,
    /// Wind in m/s, for the recording.
    #[arg(long, value_name = "M/S", requires = "record", value_parser = wind)]
    wind: Option<f64>,
    /// Rain, for the recording, for example "none".
    #[arg(long, value_name = "TEXT", requires = "record")]
    rain: Option<String>,
    /// Ice or frost, for the recording.
    #[arg(long, value_name = "TEXT", requires = "record")]
    ice: Option<String>,
    /// Tunnel, for the recording.
    #[arg(long, value_name = "TEXT", requires = "record")]
    tunnel: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn said(&self, is_exact: bool) -> Said<'_> {
        Said {
            dead_man: self.dead_man,
            is_confirmed: self.confirm,
            insisted: &self.insist,
            is_exact,
        }
    }

    fn let_move(&self, follower: &mut Follower<'_>, permit: &Permit) {
        follower.conductor.homes = self.home;
        follower.conductor.acknowledges = self.acknowledge;
        follower.grip = permit.grip(&follower.layout);
    }
}

fn within(text: &str, range: std::ops::RangeInclusive<f64>, unit: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| range.contains(v));
    value.ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        format!("expected a number from {low} to {high} {unit}")
    })
}

fn temperature(text: &str) -> Result<f64, String> {
    within(text, Environment::TEMPERATURES_C, "°C")
}

fn wind(text: &str) -> Result<f64, String> {
    within(text, Environment::WINDS_M_PER_S, "m/s")
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Against {
    /// The implicit reference solver.
    Implicit,
}

/// Set by Ctrl-C and by a request to terminate.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    crate::signals::set_on_request_to_end(&flag).map_err(Failure::Environment)?;
    Ok(flag)
}

/// Everything that is known after a run.
struct Report {
    bench: &'static BenchSpec,
    layout: Layout,
    period_nanos: u64,
    outcome: Outcome,
    statistics: RunStatistics,
    cycles: u64,
    overruns: u64,
    skipped: u64,
    drops: u64,
    timing: Arc<Timing>,
    rt: Option<RtStatus>,
    samples: Option<HilSamples>,
    steady: Option<SteadySamples>,
    changes: Vec<Made>,
    recording: Option<Recording>,
}

impl Report {
    fn running_s(&self) -> f64 {
        (self.statistics.running_cycles() * self.period_nanos) as f64 / 1e9
    }
}

/// Runs and prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut loaded = LoadedSession::load(&arguments.session).map_err(Failure::input)?;
    if let Some(seconds) = arguments.seconds {
        loaded.session.seconds = Some(seconds);
        rt_core::file::FileContent::check(&loaded.session)
            .map_err(|e| Failure::Input(format!("--seconds is refused: {}", e.problem)))?;
    }
    for text in &arguments.change {
        let change = changes::parse(text, arguments.insist.contains(&Insist::Tuning))
            .map_err(|e| Failure::Input(format!("--change {text} is refused: {e}")))?;
        loaded.session.changes.push(change);
    }
    rt_core::file::FileContent::check(&loaded.session)
        .map_err(|e| Failure::Input(format!("a change is refused: {e}")))?;
    if arguments.against.is_some() && !matches!(loaded.session.bench, BenchConfig::PantographLqg(_))
    {
        return Err(Failure::Input(format!(
            "--against is refused: bench '{}' does not run along a line",
            loaded.session.bench.spec().id
        )));
    }
    record::recover_leftovers(arguments);
    let stop = stop_flag()?;
    let mut report = if arguments.fast {
        run_exact(&loaded, arguments, &stop)?
    } else {
        run_real_time(&loaded, arguments, &stop)?
    };
    let result = result(&report, &loaded, arguments.against);
    // Whatever became of the result, the recording gets its end.
    let recorded = record::finish(&mut report, result.as_ref().ok());
    let result = result?;
    if arguments.json {
        say!("{}", to_json(&report, result, recorded.as_ref()));
    } else {
        print_text(&report, &result);
    }
    judge(&report)
}

fn start_failure(e: StartError) -> Failure {
    match e {
        StartError::Thread(_)
        | StartError::Rig(RigError::Hardware {
            source: HardwareError::Bus { .. },
            ..
        }) => Failure::Environment(e.to_string()),
        _ => Failure::input(e),
    }
}

fn say(text: &str) {
    tell!("{text}");
}

fn run_exact(
    loaded: &LoadedSession,
    arguments: &Arguments,
    stop: &AtomicBool,
) -> Result<Report, Failure> {
    rt_core::rt_env::flush_denormals();
    let Prepared {
        mut rt_loop,
        mut user,
        layout,
        bench,
        designer,
        params,
        period_nanos,
        ..
    } = runtime::prepare_exact(loaded).map_err(start_failure)?;
    user.display = None;
    let permit = ask_permit(&mut user, None, &arguments.said(true))?;
    let subject = Subject {
        loaded,
        layout: &layout,
        params: &params,
        rt: None,
        t0: SystemTime::now(),
    };
    let recording = record::begin(arguments, &subject)?;
    let mut follower = Follower::new(loaded, &layout, designer, params, recording, say);
    arguments.let_move(&mut follower, &permit);
    while rt_loop.cycle() {
        follower.follow(&mut user, stop);
    }
    follower.follow(&mut user, stop);
    Ok(report(follower, &user, bench, period_nanos, None))
}

fn run_real_time(
    loaded: &LoadedSession,
    arguments: &Arguments,
    stop: &AtomicBool,
) -> Result<Report, Failure> {
    let mut run = runtime::start_real_time(loaded).map_err(start_failure)?;
    let subject = Subject {
        loaded,
        layout: &run.layout,
        params: &run.params,
        rt: Some(&run.rt),
        t0: SystemTime::now(),
    };
    let rt = run.rt.clone();
    let opened = ask_permit(&mut run.user, Some(&rt), &arguments.said(false))
        .and_then(|permit| Ok((permit, record::begin(arguments, &subject)?)));
    let (permit, recording) = match opened {
        Ok(opened) => opened,
        Err(e) => {
            // Nothing has moved: the loop is Idle until the follower answers it.
            let _ = run.quit();
            return Err(e);
        }
    };
    run.user.display = None;
    for missing in &run.rt.missing {
        tell!("note: {missing}");
    }
    let designer = run.designer.take();
    let mut follower = Follower::new(loaded, &run.layout, designer, run.params, recording, say);
    let devices = run.user.rig.devices.clone();
    let mut problems = vec![None; devices.len()];
    arguments.let_move(&mut follower, &permit);
    while !run.thread.is_finished() {
        follower.follow(&mut run.user, stop);
        for (device, told) in devices.iter().zip(&mut problems) {
            let problem = device.problem();
            if problem != *told {
                problem.iter().for_each(|text| tell!("note: {text}"));
                *told = problem;
            }
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    follower.follow(&mut run.user, stop);
    let done = report(
        follower,
        &run.user,
        run.bench,
        run.period_nanos,
        Some(run.rt.clone()),
    );
    run.quit().map_err(Failure::Result)?;
    Ok(done)
}

fn report(
    follower: Follower,
    user: &UserSide,
    bench: &'static BenchSpec,
    period_nanos: u64,
    rt: Option<RtStatus>,
) -> Report {
    let timing = &user.timing;
    Report {
        bench,
        layout: follower.layout,
        period_nanos,
        outcome: follower.conductor.outcome,
        statistics: follower.statistics,
        samples: follower.samples,
        steady: follower.steady,
        changes: follower.changes.made,
        recording: follower.recording,
        cycles: Timing::read(&timing.cycles),
        overruns: Timing::read(&timing.overruns),
        skipped: Timing::read(&timing.skipped),
        drops: Timing::read(&timing.record_drops),
        timing: Arc::clone(timing),
        rt,
    }
}

fn judge(report: &Report) -> Result<(), Failure> {
    let outcome = &report.outcome;
    if !outcome.ran && outcome.fault.is_some() {
        return Err(never_ran(report));
    }
    if let Some((fault, action, t_s)) = &outcome.fault {
        let words = fault.describe(&report.layout);
        let effect = action.map_or(rt_core::fault::Action::Stop.effect(), |a| a.effect());
        return Err(Failure::Result(format!(
            "at {t_s:.3} s: {} ({effect}). {}",
            words.what, words.advice
        )));
    }
    if let Some((made, refused)) = report
        .changes
        .iter()
        .find_map(|made| Some((made, made.outcome.as_ref().err()?)))
    {
        return Err(Failure::Result(format!(
            "the change after {} s was refused: {refused}. Insist on it with --insist or insist: true",
            made.after_s
        )));
    }
    if let Some(cause @ (StopCause::DeadMan | StopCause::ArmedTooLong)) = outcome.stop {
        let text = match cause {
            StopCause::DeadMan => "stopped: nobody held the dead man's switch",
            _ => "stopped: it was armed and did not run in time",
        };
        return Err(Failure::Result(text.into()));
    }
    if outcome.is_restless {
        return Err(Failure::Result(
            "the motor was not seen to come to rest: look at the rig, and at events and position in the recording"
                .into(),
        ));
    }
    if !outcome.ran {
        return Err(never_ran(report));
    }
    Ok(())
}

fn never_ran(report: &Report) -> Failure {
    let why = report.outcome.why_it_never_ran(&report.layout);
    Failure::Environment(format!("the bench did not run: {why}"))
}

fn to_json(r: &Report, result: Value, recorded: Option<&Recorded>) -> Value {
    let mut channels = Map::new();
    for (spec, s) in r.layout.channels().iter().zip(r.statistics.channels()) {
        channels.insert(
            spec.id.into(),
            json!({ "mean": s.mean(), "std": s.std(), "min": s.min(), "max": s.max() }),
        );
    }
    let trip = r.outcome.fault.map(|(fault, action, t_s)| {
        let words = fault.describe(&r.layout);
        json!({
            "fault": words.id, "t_s": t_s, "measured": words.measured, "limit": words.limit,
            "what": words.what, "action": format!("{:?}", action.unwrap_or(rt_core::fault::Action::Stop)),
        })
    });
    json!({
        "bench": r.bench.id,
        "seconds": r.running_s(),
        "cycles": r.cycles,
        "overruns": r.overruns,
        "skipped": r.skipped,
        "drops": r.drops,
        "timing": { "wake_us": percentiles(&r.timing.wake), "exec_us": percentiles(&r.timing.exec) },
        "state": r.outcome.final_state(),
        "trip": trip,
        "changes": r.changes.iter().map(Made::to_json).collect::<Vec<_>>(),
        "channels": channels,
        "result": result,
        "recording": recorded.and_then(|r| r.paths.last()),
        "recordings": recorded.map_or(&[][..], |r| &r.paths),
        "recording_problem": recorded.and_then(|r| r.problem.as_ref()),
    })
}

fn percentiles(h: &Histogram) -> Value {
    let us = |nanos: u64| nanos as f64 * 1e-3;
    json!({ "p50": us(h.percentile(0.5)), "p99": us(h.percentile(0.99)), "p999": us(h.percentile(0.999)), "max": us(h.max()) })
}

/// The bench's own result. A run that ended before its evaluated spans has none.
fn result(r: &Report, loaded: &LoadedSession, against: Option<Against>) -> Result<Value, Failure> {
    if let Some(samples) = &r.samples {
        match samples.evaluate(loaded, against.is_some()) {
            Ok(result) => return Ok(result),
            Err(problem) if against.is_some() && r.outcome.fault.is_none() => {
                return Err(Failure::Result(format!(
                    "the run cannot be compared: {problem}"
                )));
            }
            Err(_) => {}
        }
    }
    let Some(column) = r.layout.find("tracking_error") else {
        return Ok(json!({}));
    };
    let s = &r.statistics.channels()[column];
    const MM: f64 = 1e3;
    let max_abs = s.max().zip(s.min()).map(|(max, min)| max.max(-min) * MM);
    let (mean, std) = (s.mean().map(|v| v * MM), s.std().map(|v| v * MM));
    // A run that ended before its first span was over shows nothing of its steady state.
    let steady = r.steady.as_ref().map(|s| s.evaluate(loaded));
    let mut result = steady.and_then(Result::ok).unwrap_or_else(|| json!({}));
    result["tracking_mm"] = json!({ "mean": mean, "std": std, "max_abs": max_abs });
    Ok(result)
}

/// The steady-state bench's result in a few lines.
fn print_steady(result: &Value) {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    say!(
        "\nforce, last span   mean {:.3} N   σ {:.3} N   max {:.1}   min {:.1} N",
        number(&result["mean_n"]),
        number(&result["std_n"]),
        number(&result["max_n"]),
        number(&result["min_n"])
    );
    say!(
        "direct solution    mean {:.3} N   σ {:.3} N   the run is {:.2} % of σ away from it",
        number(&result["direct"]["mean_n"]),
        number(&result["direct"]["std_n"]),
        number(&result["error_direct_pct"])
    );
    let agreed = match result["converged"].as_bool() {
        Some(true) => "two spans agree",
        Some(false) => "two spans do not agree yet",
        None => "no agreement was asked for",
    };
    say!(
        "after {} spans: {agreed} (change {:.2} %, residual {:.2} % of σ)",
        number(&result["spans"]),
        number(&result["span_change_pct"]),
        number(&result["residual_pct"])
    );
}

/// A pantograph bench's result in a few lines.
fn print_result(result: &Value) {
    let number = |key: &str| result[key].as_f64().unwrap_or(f64::NAN);
    if result["mean_n"].is_null() {
        return;
    }
    if !result["direct"].is_null() {
        print_steady(result);
        return;
    }
    say!(
        "\nforce, 20 Hz    mean {:.2} N   σ {:.2} N   max {:.1}   min {:.1} N   loss of contact {:.2} %",
        number("mean_n"),
        number("std_n"),
        number("max_n"),
        number("min_n"),
        number("loss_pct")
    );
    let bands = result["contact_force"]["bands"].as_array();
    let of_band = |b: &Value| {
        let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
        let (low, high) = (number(&b["band"]["low_hz"]), number(&b["band"]["high_hz"]));
        format!("{low}–{high} Hz {:.2} N", number(&b["by_filter"]))
    };
    let bands: Vec<String> = bands.into_iter().flatten().map(of_band).collect();
    let losses = &result["contact_force"]["losses"];
    say!(
        "σ by band       {}   losses {}, longest {:.0} ms",
        bands.join("   "),
        losses["count"],
        1e3 * losses["longest_s"].as_f64().unwrap_or(f64::NAN)
    );
    let tracking = |key: &str| result["tracking_mm"][key].as_f64().unwrap_or(f64::NAN);
    say!(
        "tracking        mean {:.3}   σ {:.3}   max {:.3} mm",
        tracking("mean"),
        tracking("std"),
        tracking("max_abs")
    );
    if !result["error_filtered_pct"].is_null() {
        say!(
            "error index     {:.2} % (20 Hz)   {:.2} % (40 Hz)   {:.2} % (raw) against the implicit reference",
            number("error_filtered_pct"),
            number("error_40hz_pct"),
            number("error_raw_pct")
        );
    }
}

fn print_text(r: &Report, result: &Value) {
    let or_nan = |v: Option<f64>| text::number(v.unwrap_or(f64::NAN));
    let rows: Vec<Vec<String>> = r
        .layout
        .channels()
        .iter()
        .zip(r.statistics.channels())
        .map(|(c, s)| {
            vec![
                c.id.into(),
                c.unit.into(),
                or_nan(s.mean()),
                or_nan(s.std()),
                or_nan(s.min()),
                or_nan(s.max()),
            ]
        })
        .collect();
    text::table(&["channel", "unit", "mean", "std", "min", "max"], &rows);
    say!(
        "\n{}: {:.3} s running, {} cycles, {} overruns, {} skipped, {} dropped; ended {}",
        r.bench.id,
        r.running_s(),
        r.cycles,
        r.overruns,
        r.skipped,
        r.drops,
        r.outcome.final_state(),
    );
    print_result(result);
    if let Some(rt) = &r.rt
        && !rt.is_real_time()
    {
        say!("the loop had no real-time rights; see the notes above");
    }
}
