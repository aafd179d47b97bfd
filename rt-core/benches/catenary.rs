//! What overhead lines cost, each beside a yardstick of the same run. Steps are timed by the thread's
//! processor time, so that a busy machine does not count as a slow model.
//!
//! `cargo bench -p rt-core --bench catenary`.

use rt_core::file::load;
use rt_core::model::catenary::cache::load_or_build;
use rt_core::model::catenary::full::effective_stiffness;
use rt_core::model::catenary::shape::{Moment, ShapeSampler};
use rt_core::model::catenary::wire::Newmark;
use rt_core::model::catenary::{
    FullWire, Line, LinearLine, ModalOptions, ModalWire, Run, WireModel,
};
use rt_core::model::pantograph::Pantograph;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const PERIOD_S: f64 = 2e-3;
const MODES: usize = 2000;

fn main() -> Result<(), Box<dyn Error>> {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
    let design: Line = load(&assets.join("lines/stitched-sw.ron"))?;
    let pantograph: Pantograph = load(&assets.join("pantographs/dsa-380.ron"))?;
    let folder = std::env::temp_dir().join(format!("pantobench-bench-{}", std::process::id()));

    let start = Instant::now();
    let line = Arc::new(LinearLine::build(&design, 1.0)?);
    let basis = Arc::new(load_or_build(
        &folder,
        &line,
        MODES,
        &mut |n| eprintln!("{n}"),
        &mut |_| (),
    )?);
    let cold = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let line_again = Arc::new(LinearLine::build(&design, 1.0)?);
    black_box(load_or_build(
        &folder,
        &line_again,
        MODES,
        &mut |n| eprintln!("{n}"),
        &mut |_| (),
    )?);
    let warm = start.elapsed().as_secs_f64();
    std::fs::remove_dir_all(&folder)?;
    println!(
        "preparation, {} unknowns, {MODES} modes: {cold:.2} s, again from disk {warm:.2} s (bars 10 and 0.5 s)",
        line.dofs()
    );

    let plain = PlainBanded::new(&line);
    let mut b = vec![1.0; line.dofs()];
    let plain_solve = median(&mut times(200, |_| {
        b.fill(1.0);
        plain.solve(&mut b);
    }));
    let (rows, columns) = (line.droppers.len(), basis.len());
    let x = vec![1e-3; columns];
    let mut y = vec![0.0; rows];
    let dense = median(&mut times(200, |_| {
        for (y, row) in y.iter_mut().zip(basis.droppers.chunks_exact(columns)) {
            *y = row.iter().zip(&x).map(|(a, b)| a * b).sum();
        }
        black_box(&mut y);
    }));
    println!(
        "yardsticks: plain banded solve {:.1} µs, plain product {rows} × {columns} {:.1} µs",
        1e6 * plain_solve,
        1e6 * dense
    );

    let mut full = FullWire::new(line.clone(), PERIOD_S)?;
    let mut modal = ModalWire::new(line.clone(), basis, PERIOD_S, ModalOptions::default())?;
    for (name, wire, yardstick, of, bars) in [
        (
            "modal",
            &mut modal as &mut dyn WireModel,
            dense,
            "plain products",
            "2 % at the median",
        ),
        (
            "full",
            &mut full,
            plain_solve,
            "plain solves",
            "10 % at the median, 25 % at p99.9",
        ),
    ] {
        let (mut times, _, slack) = stepped(wire, false)?;
        let (mut watched, mut looks, _) = stepped(wire, true)?;
        let middle = median(&mut times);
        let high = times[times.len() * 999 / 1000];
        println!(
            "{name} step, {} unknowns, up to {slack} slack: median {:.1} µs = {:.2} % of the period = {:.2} {of}; \
             p99.9 {:.1} µs = {:.1} % (bars: {bars})",
            wire.unknowns(),
            1e6 * middle,
            100.0 * middle / PERIOD_S,
            middle / yardstick,
            1e6 * high,
            100.0 * high / PERIOD_S
        );
        let look = median(&mut looks);
        println!(
            "{name}, looking at its shape for a window: median {:.1} µs = {:.2} of a step between looks \
             ({:.1} µs), p99.9 {:.1} µs",
            1e6 * look,
            look / median(&mut watched),
            1e6 * median(&mut watched),
            1e6 * looks[looks.len() * 999 / 1000]
        );
    }

    let start = busy_s();
    let mut reference = FullWire::new(line.clone(), 5e-4)?;
    let run = Run::new(&line, &pantograph, 300.0)?;
    let series = run.simulate(&line, &mut reference, &pantograph, &mut |_| ())?;
    let (wall, simulated) = (busy_s() - start, series.dt * series.x.len() as f64);
    println!(
        "implicit run of {simulated:.1} s at 0.5 ms: {wall:.2} s = {:.1} × real time (bar 5) = {:.2} plain solves a step",
        simulated / wall,
        wall / series.x.len() as f64 / plain_solve
    );
    Ok(())
}

/// Times of steps along the line and of looks at the wire's shape after each, if somebody watches, and how many
/// droppers were slack at most.
fn stepped(
    wire: &mut dyn WireModel,
    watched: bool,
) -> Result<(Vec<f64>, Vec<f64>, usize), &'static str> {
    let meshed = wire.meshed().ok_or("the wire has no mesh")?;
    let (mut sampler, reader) = ShapeSampler::new(meshed, PERIOD_S);
    // Nothing is looked at for nobody.
    let _reader = watched.then_some(reader);
    wire.reset();
    let mut slack = 0;
    let (mut steps, mut looks) = (Vec::new(), Vec::new());
    for k in 0..6000 {
        let contact_m = 130.0 + 0.16 * k as f64;
        let start = busy_s();
        wire.predict(contact_m);
        // Enough force to make droppers slack.
        wire.respond(if k < 300 {
            k as f64
        } else {
            260.0 + 120.0 * (0.03 * k as f64).sin()
        });
        wire.commit();
        slack = slack.max(wire.slack_droppers());
        let stepped = busy_s();
        if let Some(wire) = wire.meshed() {
            let now = Moment {
                seq: k,
                t_nanos: 0,
                contact_m,
            };
            sampler.step(wire, now);
        }
        looks.push(busy_s() - stepped);
        steps.push(stepped - start);
    }
    Ok((steps, looks, slack))
}

fn times(count: usize, mut work: impl FnMut(usize)) -> Vec<f64> {
    (0..count)
        .map(|k| {
            let start = busy_s();
            work(k);
            busy_s() - start
        })
        .collect()
}

/// Processor time of this thread: what else runs on the machine does not count.
fn busy_s() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// Sorts, and gives the middle one.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
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
