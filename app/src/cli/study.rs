//! `pantobench study`: sweeps and Monte Carlo studies, on this machine or spread over others.

use super::Failure;
use super::progress::Progress;
use super::run::stop_flag;
use crate::study::{Loaded, StudyError, Summary};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments of `pantobench study`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: pantobench study run sessions/installation.study.ron --out study --jobs 2\n\
                        Example: pantobench study plan F --out D && seq 0 199 | xargs -P 4 -I{} pantobench study task F \
                        --index {} --out D && pantobench study gather F --out D"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Do all tasks that are not done yet, then gather; Ctrl-C stops it, the same command goes on.
    Run(Run),
    /// Write what each task computes, and say how many there are.
    Plan(Of),
    /// Do one task, unless it is done already.
    Task(Task),
    /// Make table and picture of the tasks that are done.
    Gather(Of),
}

/// Which study, and where its results are.
#[derive(clap::Args)]
struct Of {
    /// The study file.
    #[arg(value_name = "STUDY.ron")]
    file: PathBuf,
    /// Where results go; a directory beside the study file, with the ending .study, if left out.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Run {
    #[command(flatten)]
    of: Of,
    /// Tasks at the same time; as many as there are cores if left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

#[derive(clap::Args)]
struct Task {
    #[command(flatten)]
    of: Of,
    /// Its number, from 0.
    #[arg(long, value_name = "I")]
    index: usize,
}

fn failure(e: StudyError) -> Failure {
    match e {
        StudyError::Disk { .. } => Failure::Environment(e.to_string()),
        StudyError::Stopped | StudyError::NotDone { .. } => Failure::Result(e.to_string()),
        _ => Failure::Input(e.to_string()),
    }
}

fn load(of: &Of) -> Result<Loaded, Failure> {
    Loaded::load(&of.file, of.out.as_deref()).map_err(failure)
}

/// Does what the arguments say.
pub fn run(a: &Arguments) -> Result<(), Failure> {
    match &a.what {
        What::Run(run) => run_all(run),
        What::Plan(of) => {
            let study = load(of)?;
            let samples = study.plan().map_err(failure)?;
            if of.json {
                say!(
                    "{}",
                    json!({ "samples": samples, "out": study.directory() })
                );
            } else {
                say!(
                    "{samples} tasks, 0 to {}; results go to {}",
                    samples - 1,
                    study.directory().display()
                );
            }
            Ok(())
        }
        What::Task(task) => {
            let study = load(&task.of)?;
            let is_done = study.task(task.index).map_err(failure)?;
            if task.of.json {
                say!(
                    "{}",
                    json!({ "index": task.index, "failed": !is_done, "out": study.directory() })
                );
            } else {
                let words = if is_done {
                    "done"
                } else {
                    "failed; the reason stands in its file"
                };
                say!("task {}: {words}", task.index);
            }
            Ok(())
        }
        What::Gather(of) => {
            let study = load(of)?;
            let summary = study.gather().map_err(failure)?;
            tell(of, study.directory(), &summary, None);
            Ok(())
        }
    }
}

fn run_all(run: &Run) -> Result<(), Failure> {
    let study = load(&run.of)?;
    let stop = stop_flag()?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = run.jobs.map_or_else(cores, usize::from);
    let begin = std::time::Instant::now();
    let mut bar = Progress::new("samples");
    let done = study.run(
        jobs,
        &mut |done, of| bar.set(done as f64 / of.max(1) as f64),
        &stop,
    );
    drop(bar);
    let summary = done.map_err(failure)?;
    tell(
        &run.of,
        study.directory(),
        &summary,
        Some((jobs, begin.elapsed().as_secs_f64())),
    );
    Ok(())
}

fn tell(of: &Of, directory: &Path, summary: &Summary, effort: Option<(usize, f64)>) {
    if of.json {
        let mut object = json!({
            "samples": summary.samples, "done": summary.done, "failed": summary.failed, "out": directory,
            "table": summary.table, "picture": summary.picture,
        });
        if let Some((jobs, wall_s)) = effort {
            object["computed"] = json!(summary.computed);
            object["jobs"] = json!(jobs);
            object["wall_s"] = json!(wall_s);
            object["cpu_s"] = json!(summary.cpu_s);
        }
        say!("{object}");
        return;
    }
    say!(
        "{} samples: {} done, {} failed",
        summary.samples,
        summary.done,
        summary.failed
    );
    if let Some((jobs, wall_s)) = effort {
        say!(
            "{} computed now by {jobs} threads in {wall_s:.1} s ({:.1} s of the processors)",
            summary.computed,
            summary.cpu_s
        );
    }
    say!(
        "table    {}\npicture  {}",
        summary.table.display(),
        summary.picture.display()
    );
}
