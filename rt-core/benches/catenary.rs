//! What overhead lines cost, each beside a yardstick of the same run.
//!
//! `cargo bench -p rt-core --bench catenary`. Goals: preparation 10 s, from disk 0.5 s; a step of the modal wire 2 % of
//! the period, of the full wire 10 %, 25 % at p99.9; an implicit run 5 times as fast as real time.

mod figures;

use figures::{Figures, Outcome, best, quantile, time, wall};
use rt_core::file::load;
use rt_core::model::catenary::cache::load_or_build;
use rt_core::model::catenary::full::effective_stiffness;
use rt_core::model::catenary::shape::{Moment, ShapeSampler};
use rt_core::model::catenary::wire::Newmark;
use rt_core::model::catenary::{
    FullWire, Line, LinearLine, ModalBasis, ModalOptions, ModalWire, Run, WireModel,
};
use rt_core::model::pantograph::Pantograph;
use rt_core::rt_env::thread_cpu_s;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

const PERIOD_S: f64 = 2e-3;

fn main() -> ExitCode {
    figures::run(|figures| {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
        let design: Line = load(&assets.join("lines/stitched-sw.ron"))?;
        let pantograph: Pantograph = load(&assets.join("pantographs/dsa-380.ron"))?;
        let line = Arc::new(LinearLine::build(&design, 1.0)?);
        let plain = PlainBanded::new(&line);
        let basis = prepare(figures, &line)?;

        let (rows, columns) = (line.droppers.len(), basis.len());
        let droppers = basis.clone();
        let x = vec![1e-3; columns];
        let mut y = vec![0.0; rows];
        let mut modal = ModalWire::new(line.clone(), basis, PERIOD_S, ModalOptions::default())?;
        let of = format!("plain products of {rows} × {columns}");
        step(figures, "modal", &mut modal, &of, || {
            for (y, row) in y.iter_mut().zip(droppers.droppers.chunks_exact(columns)) {
                *y = row.iter().zip(&x).map(|(a, b)| a * b).sum();
            }
            black_box(&mut y);
        })?;
        let mut full = FullWire::new(line.clone(), PERIOD_S)?;
        let mut b = vec![1.0; line.dofs()];
        step(figures, "full", &mut full, "plain solves", || {
            b.fill(1.0);
            plain.solve(&mut b);
        })?;
        implicit_run(figures, &line, &pantograph, &plain)
    })
}

/// Modes from nothing, and from disk.
fn prepare(figures: &mut Figures, line: &LinearLine) -> Outcome<Arc<ModalBasis>> {
    let folder = std::env::temp_dir().join(format!("pantobench-bench-{}", std::process::id()));
    let modes = figures.choose(50, 2000);
    let mut notices = Vec::new();
    let mut basis = None;
    let [cold, warm] = figures.in_turns(3, || {
        let mut prepared = || {
            let notice = &mut |words| notices.push(words);
            wall(|| basis = Some(load_or_build(&folder, line, modes, notice, &mut |_| ())))
        };
        let times = [prepared(), prepared()];
        std::fs::remove_dir_all(&folder)?;
        Ok(times)
    })?;
    if !notices.is_empty() {
        return Err(notices.join("; ").into());
    }
    figures.say(&format!("{} unknowns, {modes} modes", line.dofs()));
    figures.time("preparation", &cold)?;
    figures.time("preparation from disk", &warm)?;
    Ok(Arc::new(basis.ok_or("no modes")??))
}

/// Steps along the line beside a yardstick.
fn step(
    figures: &mut Figures,
    name: &str,
    wire: &mut dyn WireModel,
    of: &str,
    mut yardstick: impl FnMut(),
) -> Outcome {
    let count = figures.choose(300, 6000);
    let calls = figures.choose(1, 200);
    let mut slack = 0;
    let [plain, middle, high, between, look] = figures.in_turns(5, || {
        let plain: Vec<f64> = (0..calls).map(|_| time(&mut yardstick)).collect();
        let alone = stepped(wire, count, false)?;
        let watched = stepped(wire, count, true)?;
        slack = alone.slack;
        Ok([
            quantile(&plain, 0.5),
            quantile(&alone.steps, 0.5),
            quantile(&alone.steps, 0.999),
            quantile(&watched.steps, 0.5),
            quantile(&watched.looks, 0.5),
        ])
    })?;
    let unknowns = wire.unknowns();
    figures.say(&format!(
        "{name} wire, {unknowns} unknowns, up to {slack} droppers slack"
    ));
    let id = |what: &str| format!("{name}/{what}");
    figures.time(&id("yardstick"), &plain)?;
    figures.time(&id("a step"), &middle)?;
    figures.time(&id("a step, p99.9"), &high)?;
    figures.ratio(&id("step"), of, &middle, &plain)?;
    figures.ratio(&id("look at the shape"), "steps", &look, &between)
}

/// A run from end to end with small steps.
fn implicit_run(
    figures: &mut Figures,
    line: &Arc<LinearLine>,
    pantograph: &Pantograph,
    plain: &PlainBanded,
) -> Outcome {
    let mut reference = FullWire::new(line.clone(), figures.choose(4e-3, 5e-4))?;
    let run = Run::new(line, pantograph, 300.0)?;
    let calls = figures.choose(1, 200);
    let mut b = vec![1.0; line.dofs()];
    let [solve, step, second] = figures.in_turns(3, || {
        let solve = best(calls, || {
            b.fill(1.0);
            plain.solve(&mut b);
        });
        let begun = thread_cpu_s();
        let series = run.simulate(line, &mut reference, pantograph, &mut |_| ())?;
        let seconds = thread_cpu_s() - begun;
        let steps = series.x.len() as f64;
        Ok([solve, seconds / steps, seconds / (series.dt * steps)])
    })?;
    figures.time("implicit run/a simulated second", &second)?;
    figures.ratio("implicit run/step", "plain solves", &step, &solve)
}

/// Times of steps along the line and of looks at the wire's shape after each, if somebody watches, and how many
/// droppers were slack at most.
struct Stepped {
    steps: Vec<f64>,
    looks: Vec<f64>,
    slack: usize,
}

fn stepped(wire: &mut dyn WireModel, count: usize, watched: bool) -> Outcome<Stepped> {
    let meshed = wire.meshed().ok_or("the wire has no mesh")?;
    let (mut sampler, reader) = ShapeSampler::new(meshed, PERIOD_S);
    // Nothing is looked at for nobody.
    let _reader = watched.then_some(reader);
    wire.reset();
    let mut slack = 0;
    let (mut steps, mut looks) = (Vec::new(), Vec::new());
    for k in 0..count {
        let contact_m = 130.0 + 0.16 * k as f64;
        steps.push(time(|| {
            wire.predict(contact_m);
            // Enough force to make droppers slack.
            wire.respond(if k < 300 {
                k as f64
            } else {
                260.0 + 120.0 * (0.03 * k as f64).sin()
            });
            wire.commit();
        }));
        slack = slack.max(wire.slack_droppers());
        looks.push(time(|| {
            if let Some(wire) = wire.meshed() {
                let now = Moment {
                    seq: k as u64,
                    t_nanos: 0,
                    contact_m,
                };
                sampler.step(wire, now);
            }
        }));
    }
    Ok(Stepped {
        steps,
        looks,
        slack,
    })
}

/// Cholesky and substitution of a banded matrix as a textbook writes it.
struct PlainBanded {
    rows: Vec<Vec<f64>>,
    width: usize,
}

impl PlainBanded {
    fn new(line: &LinearLine) -> Self {
        let matrix = effective_stiffness(line, &Newmark::new(PERIOD_S));
        let (n, width) = (matrix.order(), matrix.half_bandwidth());
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
        for i in 0..n {
            // rows[i][w] is the diagonal, rows[i][w − d] the entry d to its left.
            let mut row = vec![0.0; width + 1];
            for j in i.saturating_sub(width)..=i {
                let mut sum = matrix.get(i, j);
                for k in i.saturating_sub(width)..j {
                    if j - k <= width {
                        let other = if j == i {
                            row[k + width - i]
                        } else {
                            rows[j][k + width - j]
                        };
                        sum -= row[k + width - i] * other;
                    }
                }
                row[j + width - i] = if i == j {
                    sum.sqrt()
                } else {
                    sum / rows[j][width]
                };
            }
            rows.push(row);
        }
        Self { rows, width }
    }

    #[allow(clippy::needless_range_loop, reason = "as a textbook writes it")]
    fn solve(&self, b: &mut [f64]) {
        let (n, w) = (self.rows.len(), self.width);
        for i in 0..n {
            let mut sum = b[i];
            for j in i.saturating_sub(w)..i {
                sum -= self.rows[i][j + w - i] * b[j];
            }
            b[i] = sum / self.rows[i][w];
        }
        for i in (0..n).rev() {
            b[i] /= self.rows[i][w];
            for j in i.saturating_sub(w)..i {
                b[j] -= self.rows[i][j + w - i] * b[i];
            }
        }
    }
}
