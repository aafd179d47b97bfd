//! What benchmark programs share: options, measuring in turns, figures as text and as JSON.
//!
//! A *ratio* is to something that was measured in turns with it, or to a number that is stated; less is better. It means
//! much the same on every machine, so `./bench` compares it with the stored one. *Absolute* figures are only shown.
//! Every program ends with an error if what it measures is wrong, and takes a second with `--short`.

#![allow(dead_code, reason = "each program takes what it needs")]

use rt_core::rt_env::thread_cpu_s;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What a program and each of its measurements ends with.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const PROGRAM: &str = concat!(env!("CARGO_PKG_NAME"), "-", env!("CARGO_CRATE_NAME"));
const OPTIONS: &str =
    "  --short         each measurement once and small: only whether all of it works
  --quiet         one line in place of all figures
  --seconds N     how long programs run that record
  NAME…           does nothing unless a part of the program's name is among them";

/// The figures of one program.
pub struct Figures {
    short: bool,
    quiet: bool,
    seconds: Option<u64>,
    names: Vec<String>,
    lines: Vec<String>,
}

/// Measures, prints, and writes `target/bench/PROGRAM.json`, or `target/bench/short/PROGRAM.json`.
pub fn run(measure: impl FnOnce(&mut Figures) -> Outcome) -> ExitCode {
    exit_code((|| {
        let mut figures = Figures::asked_for(std::env::args().skip(1))?;
        let names = &figures.names;
        if !names.is_empty() && !names.iter().any(|name| PROGRAM.contains(name)) {
            return Ok(());
        }
        let begun = Instant::now();
        measure(&mut figures)?;
        figures.write(begun.elapsed().as_secs_f64())
    })())
}

/// Says what went wrong.
pub fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{PROGRAM}: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Processor time of one call in s: what else runs on the machine does not count.
pub fn time(work: impl FnOnce()) -> f64 {
    let begun = thread_cpu_s();
    work();
    thread_cpu_s() - begun
}

/// Time of one call by the clock on the wall in s: of what waits, or works in several threads.
pub fn wall(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

/// Shortest time of one call in s.
pub fn best(calls: usize, mut work: impl FnMut()) -> f64 {
    (0..calls)
        .map(|_| time(&mut work))
        .fold(f64::INFINITY, f64::min)
}

/// The value that a share of all values does not exceed: 0.5 for the median.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values
        .get((last as f64 * share).round() as usize)
        .map_or(f64::NAN, |value| *value)
}

impl Figures {
    fn asked_for(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut figures = Self {
            short: false,
            quiet: false,
            seconds: None,
            names: Vec::new(),
            lines: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // From 'cargo bench'.
                "--bench" => {}
                "--short" => figures.short = true,
                "--quiet" => figures.quiet = true,
                "--seconds" => {
                    figures.seconds = Some(arguments.next().unwrap_or_default().parse()?)
                }
                option if option.starts_with('-') => {
                    return Err(format!("{option} is none of the options\n{OPTIONS}").into());
                }
                _ => figures.names.push(argument),
            }
        }
        Ok(figures)
    }

    /// One of two: if it has to be short, and if not.
    pub fn choose<T>(&self, short: T, full: T) -> T {
        if self.short { short } else { full }
    }

    /// How long to record in s, unless somebody asks for another time.
    pub fn seconds(&self, full: u64) -> u64 {
        self.seconds.unwrap_or(self.choose(1, full))
    }

    /// Measures some things in turns, so that what disturbs one disturbs all: as often as is said, or once if it has to
    /// be short. Their spread is the noise.
    pub fn in_turns<const N: usize>(
        &self,
        turns: usize,
        mut measure: impl FnMut() -> Outcome<[f64; N]>,
    ) -> Outcome<[Vec<f64>; N]> {
        let mut measured = [const { Vec::new() }; N];
        for _ in 0..self.choose(1, turns) {
            for (all, value) in measured.iter_mut().zip(measure()?) {
                all.push(value);
            }
        }
        Ok(measured)
    }

    /// A time in s.
    pub fn time(&mut self, id: &str, seconds: &[f64]) -> Outcome {
        self.absolute(id, "s", seconds)
    }

    /// Something that depends on the machine.
    pub fn absolute(&mut self, id: &str, unit: &str, values: &[f64]) -> Outcome {
        self.add("absolute", id, unit, values)
    }

    /// How many times `of` something is, turn by turn.
    pub fn ratio(&mut self, id: &str, of: &str, ours: &[f64], reference: &[f64]) -> Outcome {
        let ratios: Vec<f64> = ours.iter().zip(reference).map(|(a, b)| a / b).collect();
        self.add("ratio", id, of, &ratios)
    }

    /// Something for people only.
    pub fn say(&self, words: &str) {
        if !self.quiet {
            println!("{words}");
        }
    }

    /// What could not be measured, and why. That is no error, but never left unsaid.
    pub fn left_out(&self, why: &str) {
        println!("{PROGRAM}: not measured: {why}");
    }

    fn add(&mut self, kind: &str, id: &str, unit: &str, values: &[f64]) -> Outcome {
        let value = quantile(values, 0.5);
        let (least, most) = (quantile(values, 0.0), quantile(values, 1.0));
        if !(least.is_finite() && most.is_finite()) {
            return Err(format!("{id} is {values:?} {unit}").into());
        }
        let turns = values.len();
        // Without a tenth of the turns on either side: the first of many warms up, and one may be disturbed.
        let spread = quantile(values, 0.9) - quantile(values, 0.1);
        let noise = match value {
            0.0 => 0.0,
            value => spread / value.abs(),
        };
        let (spread, noise) = match turns {
            1 => (String::new(), "null".to_owned()),
            _ => (
                format!("{:>6.1} % in {turns} turns", 100.0 * noise),
                format!("{noise:.4}"),
            ),
        };
        let shown = shown(value, unit);
        let line = format!("{id:<44} {shown:<34} {spread}");
        self.say(line.trim_end());
        self.lines.push(format!(
            r#"{{"id": {id:?}, "kind": {kind:?}, "unit": {unit:?}, "value": {value:.5e}, "least": {least:.5e}, "most": {most:.5e}, "turns": {turns}, "noise": {noise}}}"#
        ));
        Ok(())
    }

    fn write(self, seconds: f64) -> Outcome {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
        let folder = self.choose(folder.join("short"), folder);
        std::fs::create_dir_all(&folder)?;
        let file = folder.join(PROGRAM).with_extension("json");
        std::fs::write(
            &file,
            format!(
                "{{\"program\": {PROGRAM:?}, \"short\": {}, \"seconds\": {seconds:.3}, \"figures\": [\n  {}\n]}}\n",
                self.short,
                self.lines.join(",\n  ")
            ),
        )?;
        println!(
            "{PROGRAM}: {} figures in {seconds:.1} s, {}",
            self.lines.len(),
            file.display()
        );
        Ok(())
    }
}

/// A value with four digits and its unit, times in the fitting one.
fn shown(value: f64, unit: &str) -> String {
    let (value, unit) = match (unit, value.abs()) {
        ("s", size) if size < 1e-6 => (1e9 * value, "ns"),
        ("s", size) if size < 1e-3 => (1e6 * value, "µs"),
        ("s", size) if size < 1.0 => (1e3 * value, "ms"),
        _ => (value, unit),
    };
    let whole = value.abs().max(1e-3).log10().floor();
    let decimals = (3.0 - whole).max(0.0) as usize;
    format!("{value:>10.decimals$} {unit}")
}
