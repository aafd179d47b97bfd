//! Filters and statistics against scipy and numpy (`reference/signal_reference.py`).

use crate::support::Reference;
use rt_core::signal::butterworth::low_pass;
use rt_core::signal::error_index::error_index_percent;
use rt_core::signal::filter::CausalFilter;
use rt_core::signal::statistics::ForceStatistics;

const DESIGNS: [(usize, f64); 8] = [
    (1, 20.0),
    (2, 20.0),
    (3, 37.5),
    (4, 20.0),
    (5, 0.5),
    (6, 20.0),
    (8, 100.0),
    (4, 240.0),
];

#[test]
fn butterworth_responses_are_scipys() {
    let reference = Reference::load("signal.txt");
    for (order, cutoff) in DESIGNS {
        let filter = low_pass(order, cutoff, 500.0).unwrap();
        let real = reference.row(&format!("real_{order}_{cutoff}"));
        let imag = reference.row(&format!("imag_{order}_{cutoff}"));
        for (i, frequency) in reference.row("frequencies").iter().enumerate() {
            let found = filter.response(*frequency);
            let difference = (found.re - real[i]).hypot(found.im - imag[i]);
            assert!(
                difference < tolerance(cutoff, 1e-12),
                "{order} {cutoff} at {frequency}: {difference:e}"
            );
        }
    }
}

#[test]
fn causal_and_zero_phase_filtering_are_scipys() {
    let reference = Reference::load("signal.txt");
    let record = reference.row("record");
    for (order, cutoff) in DESIGNS {
        let sos = low_pass(order, cutoff, 500.0).unwrap();
        let mut filter = CausalFilter::new(sos.clone());
        let causal: Vec<f64> = record.iter().map(|x| filter.step(*x)).collect();
        let expected = reference.row(&format!("causal_{order}_{cutoff}"));
        let difference = largest_difference(&causal, expected);
        assert!(
            difference < tolerance(cutoff, 1e-9),
            "causal {order} {cutoff}: {difference:e}"
        );
        let zero_phase = sos.zero_phase(record).unwrap();
        let expected = reference.row(&format!("zero_phase_{order}_{cutoff}"));
        let difference = largest_difference(&zero_phase, expected);
        assert!(
            difference < tolerance(cutoff, 1e-9),
            "zero phase {order} {cutoff}: {difference:e}"
        );
    }
}

/// At 0.5 Hz of 500 Hz the poles lie 0.006 from z = 1, and both sides lose digits there.
fn tolerance(cutoff: f64, usual: f64) -> f64 {
    if cutoff < 1.0 { 1e1 * usual } else { usual }
}

#[test]
fn statistics_and_error_index_are_numpys() {
    let reference = Reference::load("signal.txt");
    let record = reference.row("record");
    let s = ForceStatistics::of(record).unwrap();
    let found = [
        s.mean,
        s.standard_deviation,
        s.statistical_max,
        s.statistical_min,
        s.max,
        s.min,
        s.loss_of_contact_percent,
    ];
    assert!(largest_difference(&found, reference.row("statistics")) < 1e-11);
    let shifted: Vec<f64> = record.iter().map(|x| x - 100.0).collect();
    let loss = ForceStatistics::of(&shifted)
        .unwrap()
        .loss_of_contact_percent;
    let expected = reference.row("loss_percent_of_record_minus_100")[0];
    assert!((loss - expected).abs() < 1e-12, "{loss} {expected}");
    let index = error_index_percent(record, reference.row("zero_phase_4_20")).unwrap();
    assert!((index - reference.row("error_index")[0]).abs() < 1e-11);
}

/// Largest difference of two records of the same length.
fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |m, d| if d > m || d.is_nan() { d } else { m })
}
