//! What runs inside a cycle does not allocate.

use rt_core::control::kalman::{Kalman, KalmanTuning};
use rt_core::control::lqg::{Lqg, LqgGains};
use rt_core::control::lqr::{Lqr, LqrWeights};
use rt_core::control::state_space::RigModel;
use rt_core::no_alloc::guarded;
use rt_core::numeric::banded::SymBanded;
use rt_core::signal::butterworth::low_pass;
use rt_core::signal::contact_force::ForceFilter;
use rt_core::signal::filter::CausalFilter;
use rt_core::signal::histogram::Histogram;
use rt_core::signal::live_force::LiveForce;
use rt_core::signal::spectrum::SpectrumSettings;
use rt_core::signal::spectrum::cross::LiveCrossSpectrum;
use rt_core::signal::spectrum::density::LiveDensity;
use rt_core::signal::statistics::RunningStatistics;
use std::hint::black_box;

/// Allocations and frees during a call.
fn allocations(call: impl FnOnce()) -> u32 {
    guarded(call).1
}

#[test]
fn solving_filtering_controlling_and_live_analysis_do_not_allocate() {
    assert_eq!(
        allocations(|| drop(black_box(vec![1.0]))),
        2,
        "the counter counts"
    );
    for w in [3, 8, 16, 40] {
        let n = 101;
        let mut matrix = SymBanded::zeros(n, w);
        for i in 0..n {
            matrix.add(i, i, 4.0).unwrap();
            matrix.add(i, i.saturating_sub(1), 1.0).unwrap();
        }
        let cholesky = matrix.cholesky().unwrap();
        let ldlt = matrix.ldlt().unwrap();
        let mut x = vec![1.0; n];
        let mut y = vec![0.0; n];
        let mut columns = vec![1.0; 5 * n];
        assert_eq!(allocations(|| matrix.mul_vec(&x, &mut y)), 0);
        assert_eq!(allocations(|| cholesky.solve_in_place(&mut x)), 0);
        assert_eq!(allocations(|| ldlt.solve_in_place(&mut x)), 0);
        assert_eq!(
            allocations(|| cholesky.solve_columns_in_place(&mut columns)),
            0
        );
        assert_eq!(allocations(|| ldlt.solve_columns_in_place(&mut columns)), 0);
    }
    let mut filter = CausalFilter::new(low_pass(5, 20.0, 500.0).unwrap());
    let mut statistics = RunningStatistics::default();
    let plant = RigModel::TUR_2024.plant().unwrap();
    let gains = LqgGains {
        lqr: Lqr::design(&plant, &LqrWeights::TUR_2024).unwrap(),
        kalman: Kalman::design(&plant, &KalmanTuning::TUR_2024).unwrap(),
    };
    let mut lqg = Lqg::new(gains, 5e-3, 2e-3);
    let in_a_cycle = allocations(|| {
        statistics.push(filter.step(100.0));
        black_box(statistics.statistics());
        lqg.blend_gains(gains);
        black_box(lqg.step(1e-3, [1e-3, 0.0]));
        lqg.reset(0.0);
        filter.settle(1.0);
    });
    assert_eq!(in_a_cycle, 0);
    let mut force = LiveForce::new(ForceFilter::default(), 500.0, 37, 0.0).unwrap();
    let mut histogram = Histogram::new(0.0, 300.0, 30).unwrap();
    // Lengths with and without large prime factors take different ways through the transform.
    for segment in [64, 75, 94] {
        let settings = SpectrumSettings::new(500.0, segment);
        let mut density = LiveDensity::new(&settings).unwrap();
        let mut cross = LiveCrossSpectrum::new(&settings).unwrap();
        let mut segments = 0;
        let in_a_stream = allocations(|| {
            for i in 0..3 * segment {
                let sample = if i == 7 { f64::NAN } else { (i % 13) as f64 };
                histogram.push(force.push(sample));
                black_box((force.since_reset(), force.window(), force.losses()));
                segments += usize::from(density.push(sample).is_ok_and(|new| new));
                segments += usize::from(cross.push(sample, -sample).is_ok_and(|new| new));
            }
            force.reset();
            density.reset();
            cross.reset();
        });
        assert_eq!(in_a_stream, 0);
        assert!(
            segments > 0,
            "segments were transformed while it was counted"
        );
    }
}
