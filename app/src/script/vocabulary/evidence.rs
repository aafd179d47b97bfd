//! Words about evidence: the iterative validation of a recorded run, and its report.

use super::{Vocabulary, add};
use crate::iterate::{self, IterateError, News, Settings};
use crate::report::{self, Options, ReportError};
use crate::script::bench::Bench;
use crate::script::host::{Answer, Shared, wrong};
use crate::script::outcome::{EndKind, Output};
use crate::script::values::{number, of_json};
use crate::script::watch::{Interrupt, Watch};
use rhai::{Dynamic, Map};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

pub(super) fn register(words: &mut Vocabulary<'_>, host: &Shared) {
    let shared = host.clone();
    add!(words, "iterate", move |bench: &mut Bench| {
        validate(&shared, bench, &Map::new())
    });
    let shared = host.clone();
    add!(words, "iterate", move |bench: &mut Bench, options: Map| {
        validate(&shared, bench, &options)
    });
    let shared = host.clone();
    add!(words, "report", move |bench: &mut Bench, file: &str| {
        write_report(&shared, bench, file)
    });
}

/// The recording of a run that is over.
fn recording_of(bench: &Bench, what: &str) -> Answer<PathBuf> {
    let bench = bench.0.borrow();
    bench.recordings.last().cloned().ok_or_else(|| {
        wrong(format!(
            "{what} needs a recording: record() before arm(), and run_to_end() or stop() first"
        ))
    })
}

fn settings_of(options: &Map, directory: &Path, is_exact: bool) -> Answer<Settings> {
    let mut settings = Settings {
        record: Some(directory.to_owned()),
        real_time: !is_exact,
        ..Settings::default()
    };
    for (key, value) in options {
        let value = number(value, key)?;
        match key.as_str() {
            "max" if (1.0..=50.0).contains(&value) => settings.max_rounds = value as usize,
            "max" => return Err(wrong(format!("max is {value}; expected 1 to 50 rounds"))),
            "tolerance_pct" => settings.tolerance_pct = value,
            other => {
                return Err(wrong(format!(
                    "iterate() has no '{other}'; expected max or tolerance_pct"
                )));
            }
        }
    }
    Ok(settings)
}

fn validate(host: &Shared, bench: &mut Bench, options: &Map) -> Answer<Dynamic> {
    let recording = recording_of(bench, "iterate()")?;
    let directory = recording.parent().unwrap_or(Path::new("."));
    let (watch, is_exact) = {
        let host = host.borrow();
        (host.watch.clone(), host.is_exact)
    };
    let mut settings = settings_of(options, directory, is_exact)?;
    settings.presence = watch.presence().clone();
    let found = with_progress(&watch, |tell, stop| {
        iterate::run(&recording, &settings, |_| (), tell, stop)
    });
    // A person may have stopped it between two rounds.
    watch
        .check()
        .map_err(|e| host.borrow_mut().interrupted(e))?;
    let finding = found.map_err(|e| failed(host, e))?;
    for round in &finding.rounds {
        if let Some(path) = &round.recording {
            host.borrow_mut().note_file(path.clone());
        }
    }
    let value = finding.to_json();
    let answer = of_json(&value);
    bench.0.borrow_mut().validation = Some(value);
    Ok(answer)
}

/// The validation works in another thread; what it tells is heard here.
fn with_progress<T: Send>(
    watch: &Watch,
    work: impl FnOnce(&mut (dyn FnMut(News) + Send), &std::sync::atomic::AtomicBool) -> T + Send,
) -> T {
    let stop = watch.stop_flag();
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let mut telling = move |news| {
                // Whoever listened has ended with the script.
                let _ = tell.send(news);
            };
            work(&mut telling, stop)
        });
        let mut stage = String::new();
        for news in told {
            match news {
                News::Stage(words) => {
                    stage = words;
                    watch.tell(Output::Progress(0.0, stage.clone()));
                }
                News::Part(part) => watch.tell(Output::Progress(part, stage.clone())),
                News::Round(round) => watch.note(format!(
                    "round {}: the force has changed by {:.2} %",
                    round.index, round.change_pct
                )),
                News::Note(text) => watch.note(text),
            }
        }
        match worker.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn failed(host: &Shared, e: IterateError) -> Box<rhai::EvalAltResult> {
    let words = e.to_string();
    let mut host = host.borrow_mut();
    match e {
        IterateError::Tripped { .. } => host.interrupted(Interrupt::Tripped(words)),
        IterateError::Stopped => host.interrupted(Interrupt::Stopped(words)),
        IterateError::NeverRan(_) | IterateError::Recording(_) | IterateError::Disk { .. } => {
            host.terminate(EndKind::Environment, words)
        }
        _ => wrong(words),
    }
}

fn write_report(host: &Shared, bench: &mut Bench, file: &str) -> Answer<Dynamic> {
    let recording = recording_of(bench, "report()")?;
    let sandbox = host.borrow().sandbox.clone();
    sandbox.output(file).map_err(wrong)?;
    let out = match sandbox.for_writing(file) {
        Ok(out) => out,
        Err(e) => return Err(host.borrow_mut().terminate(EndKind::Environment, e)),
    };
    let options = Options {
        validation: bench.0.borrow().validation.clone(),
        ..Options::new(&[recording], &out)
    };
    let written = report::write(&options).map_err(|e| match e {
        ReportError::Write { .. } => host.borrow_mut().terminate(EndKind::Environment, e),
        other => wrong(other),
    })?;
    let mut host = host.borrow_mut();
    host.note_file(out.clone());
    host.watch.tell(Output::File(out));
    Ok(of_json(&written))
}
