//! How fast the iteration converges on a rig that is known, before it runs.
//!
//! Block, line, rig and specimen are linear, so the distance from the steady state obeys the same equations
//! without rest height and uplift. From any beginning it is soon the slowest of its modes: what is left of it
//! after a span is the rate. (On a line that is alike everywhere the single step is even time-invariant, and the
//! rate is a root of its characteristic equation; a test holds one against the other.)

use super::force_filter::ForceFilter;
use super::iteration::{Iteration, Mode};
use super::rig_model::RigModel;
use super::sender::Sender;
use super::tables::Tables;

/// Spans that are looked at, the last third of which gives the rate.
const SPANS: usize = 150;
/// A distance that has grown or shrunk this much tells enough.
const FAR: f64 = 1e100;

/// What is left of a disturbance after a span: below 1 the iteration converges.
pub fn rate_per_span(
    tables: &Tables,
    mode: Mode,
    alpha: f64,
    mut rig: RigModel,
    mut sender: Sender,
    mut filter: ForceFilter,
) -> f64 {
    let steps = tables.steps();
    let none = vec![nalgebra::Complex::from(0.0); tables.count()];
    let mut iteration = Iteration::new(mode, steps, &none, &vec![1.0; tables.count()]);
    let delay = filter.delay() % steps;
    // A disturbance with a part in every mode: a short push and a noise that repeats with its seed.
    let mut seed = 1_u64;
    let noise: Vec<f64> = (0..steps)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
        .collect();
    iteration.set_block(|n| noise[n] + if n < steps / 20 { 5.0 } else { 0.0 });
    sender.reset(0.0);
    let mut sizes = Vec::with_capacity(SPANS);
    for _ in 0..SPANS {
        let mut square = 0.0;
        for n in 0..steps {
            let force = rig.force();
            square += force * force;
            let step = (n + steps - delay) % steps;
            if step == 0 {
                iteration.end_span();
            }
            iteration.take(step, filter.step(force), alpha);
            rig.advance(sender.step(iteration.rise(tables, n)));
        }
        sizes.push(square.sqrt());
        if !(1.0 / FAR..FAR).contains(&square) {
            break;
        }
    }
    let last = sizes.len() - 1;
    let from = 2 * last / 3;
    if last == from || sizes[from] == 0.0 {
        return if sizes[last] > 1.0 { FAR } else { 0.0 };
    }
    (sizes[last] / sizes[from]).powf(1.0 / (last - from) as f64)
}

/// Spans until a rate has brought a disturbance down to one part in a hundred; `None` if it never does.
pub fn spans_to_one_percent(rate: f64) -> Option<f64> {
    (rate < 1.0).then(|| 0.01_f64.ln() / rate.max(1e-9).ln())
}
