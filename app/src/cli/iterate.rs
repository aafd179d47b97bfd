//! `pantobench iterate`: iterative validation of a session or a recording.

use super::Failure;
use super::progress::Progress;
use super::run::stop_flag;
use crate::iterate::{self, Errors, Finding, IterateError, Method, News, RoundResult, Settings};
use crate::permit::Presence;
use crate::recording::Remarks;
use rt_core::rig::PlayedBand;
use std::path::PathBuf;

/// Arguments of `pantobench iterate`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: pantobench iterate sessions/dsa380-300-predictive.ron --record recordings\n\
                        Example: pantobench iterate recordings/RUN.mcap --max 6 --tol 0.5 --json\n\n\
                        Ctrl-C stops in a controlled way; what was recorded is kept. Exit codes: 0 converged, 1 not \
                        converged, diverged, tripped or stopped, 2 bad input, 3 the rig never became ready."
)]
pub struct Arguments {
    /// A session file, which is run and recorded first, or a recording.
    #[arg(value_name = "SESSION.ron|RUN.mcap")]
    session: PathBuf,
    /// Most rounds.
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_rounds)]
    max: usize,
    /// The change of the 20 Hz force below which it counts as converged, in % of its mean.
    #[arg(long, value_name = "%", default_value_t = Settings::default().tolerance_pct)]
    tol: f64,
    /// Apply the measured force alone to the line, as published, instead of expecting how it changes with the heights.
    #[arg(long)]
    published: bool,
    /// Play frequencies up to this, in Hz; what lies above comes from the specimen's model.
    #[arg(long, value_name = "HZ", default_value_t = Settings::default().band.pass_hz)]
    band: f64,
    /// Run in real time on a simulated rig too.
    #[arg(long)]
    real_time: bool,
    /// Where recordings go; beside the given one, or ~/Pantobench/recordings, if left out.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Who runs the test, for the recordings.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// What is tested, for the recordings; the name of the pantograph's file if left out.
    #[arg(long, value_name = "TEXT")]
    specimen: Option<String>,
    /// Anything worth knowing, for the recordings.
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Validates and prints.
pub fn run(a: &Arguments) -> Result<(), Failure> {
    let settings = Settings {
        max_rounds: a.max,
        tolerance_pct: a.tol,
        method: if a.published {
            Method::Published
        } else {
            Method::Expecting
        },
        band: PlayedBand::up_to(a.band),
        record: a.record.clone(),
        real_time: a.real_time,
        presence: Presence::Terminal,
        remarks: Remarks {
            operator: a.operator.clone(),
            specimen: a.specimen.clone(),
            notes: a.notes.clone(),
            ..Remarks::default()
        },
    };
    let stop = stop_flag()?;
    let mut bar = None;
    let mut tell = |news: News| match news {
        News::Stage(what) => {
            bar = None;
            tell!("{what}");
            bar = Some(Progress::new("   "));
        }
        News::Part(part) => {
            if let Some(bar) = &mut bar {
                bar.set(part);
            }
        }
        News::Round(round) => {
            bar = None;
            tell!("{}", round_in_words(&round));
        }
        News::Note(note) => {
            bar = None;
            tell!("note: {note}");
        }
    };
    let found = iterate::run(&a.session, &settings, |_| (), &mut tell, &stop);
    drop(bar);
    let found = found.map_err(failure)?;
    if a.json {
        say!("{}", found.to_json());
    } else {
        print(&found);
    }
    if found.has_converged() {
        Ok(())
    } else {
        Err(Failure::Result(found.verdict.words()))
    }
}

fn failure(e: IterateError) -> Failure {
    match &e {
        IterateError::Tripped { .. } | IterateError::Stopped | IterateError::Line(_) => {
            Failure::Result(e.to_string())
        }
        IterateError::NeverRan(_) | IterateError::Disk { .. } | IterateError::Recording(_) => {
            Failure::Environment(e.to_string())
        }
        _ => Failure::Input(e.to_string()),
    }
}

fn round_in_words(r: &RoundResult) -> String {
    let recording = r.recording.as_ref();
    let recording = recording.map_or(String::new(), |path| format!("   {}", path.display()));
    format!(
        "round {}: the force changed by {:.2} %   mean {:.2} N   σ {:.2} N{recording}",
        r.index, r.change_pct, r.mean_n, r.std_n
    )
}

fn print(found: &Finding) {
    say!(
        "{}: {} ({} rounds, tolerance {} %)",
        found.title,
        found.verdict.words(),
        found.rounds.len(),
        found.tolerance_pct
    );
    say!("\nround   change   step   mean       σ          motor");
    for r in &found.rounds {
        say!(
            "{:5}   {:5.2} %  {:4.2}   {:6.2} N   {:5.2} N    {:.3} mm",
            r.index,
            r.change_pct,
            r.relaxation,
            r.mean_n,
            r.std_n,
            1e3 * r.motor_error_m
        );
    }
    let rows: [(&str, &Option<Errors>); 4] = [
        ("run against the reference", &found.error_hil),
        (
            "reference against the coupled solution",
            &found.error_vs_implicit,
        ),
        (
            "run against the coupled solution with k_i",
            &found.error_hil_vs_implicit,
        ),
        (
            "coupled solution with k_i against without",
            &found.spring_share,
        ),
    ];
    let Some(first) = rows.iter().find_map(|(_, e)| e.as_ref()) else {
        return;
    };
    let heads = first
        .bands
        .iter()
        .map(|(band, ..)| format!("{}–{} Hz", band.low_hz, band.high_hz));
    let heads: Vec<String> = heads.map(|h| format!("{h:>17}")).collect();
    say!(
        "\nerror in % of the mean, in time / in frequency\n{:43}{}",
        "",
        heads.concat()
    );
    for (what, errors) in rows {
        if let Some(errors) = errors {
            let cell = |(_, time, frequency): &(_, f64, f64)| {
                format!("{:>17}", format!("{time:.2} / {frequency:.2}"))
            };
            let cells: Vec<String> = errors.bands.iter().map(cell).collect();
            say!("{what:43}{}", cells.concat());
        }
    }
}
