//! The eigensolver against closed forms, dense solutions and scipy.

use crate::support::Reference;
use crate::support::line::{Wire, add_element, two_wires};
use nalgebra::DMatrix;
use rt_core::numeric::banded::SymBanded;
use rt_core::numeric::eigen::{EigenError, Modes, lowest_modes};
use std::f64::consts::PI;

fn dense(matrix: &SymBanded) -> DMatrix<f64> {
    DMatrix::from_fn(matrix.order(), matrix.order(), |i, j| matrix.get(i, j))
}

/// ‖Kφ − ω²Mφ‖ / ‖Kφ‖ and the largest entry of ΦᵀMΦ − I.
fn check(stiffness: &SymBanded, mass: &SymBanded, modes: &Modes, residual: f64) {
    let n = modes.order();
    let phi = DMatrix::from_vec(n, modes.count(), modes.shapes.clone());
    let (mut k_phi, mut m_phi) = (phi.clone(), phi.clone());
    for i in 0..modes.count() {
        let shape = modes.shape(i).expect("a mode");
        stiffness.mul_vec(shape, k_phi.column_mut(i).as_mut_slice());
        mass.mul_vec(shape, m_phi.column_mut(i).as_mut_slice());
        let difference = (k_phi.column(i) - m_phi.column(i) * modes.omega2[i]).norm();
        let size = k_phi.column(i).norm();
        assert!(
            difference < residual * size,
            "mode {i}: {difference:e} of {size:e}"
        );
    }
    let orthonormality =
        (phi.transpose() * m_phi - DMatrix::identity(modes.count(), modes.count())).amax();
    assert!(orthonormality < 1e-9, "{orthonormality:e}");
    assert!(modes.omega2.is_sorted());
}

/// `count` simply supported tensioned beams of `elements` elements, not connected to each other.
fn separate_beams(
    count: usize,
    elements: usize,
    length: f64,
    wire: &Wire,
) -> (SymBanded, SymBanded) {
    // Unknowns of one beam: u', (u, u') inside, u'.
    let unknowns = 2 * elements;
    let mut stiffness = SymBanded::zeros(count * unknowns, 3);
    let mut mass = SymBanded::zeros(count * unknowns, 3);
    let h = length / elements as f64;
    for beam in 0..count {
        let mut k = SymBanded::zeros(2 * elements + 2, 3);
        let mut m = SymBanded::zeros(2 * elements + 2, 3);
        for e in 0..elements {
            let places = [2 * e, 2 * e + 1, 2 * e + 2, 2 * e + 3];
            add_element(wire, h, places, &mut k, &mut m);
        }
        // Without the deflections of both ends.
        let kept: Vec<usize> = (1..2 * elements).chain([2 * elements + 1]).collect();
        for (i, from_i) in kept.iter().enumerate() {
            for (j, from_j) in kept
                .iter()
                .enumerate()
                .take(i + 1)
                .skip(i.saturating_sub(3))
            {
                let at = beam * unknowns;
                stiffness
                    .add(at + i, at + j, k.get(*from_i, *from_j))
                    .expect("inside");
                mass.add(at + i, at + j, m.get(*from_i, *from_j))
                    .expect("inside");
            }
        }
    }
    (stiffness, mass)
}

/// ω_j² = (jπ/L)² (T + EI (jπ/L)²) / m, here each of them seven times exactly: more copies than a
/// block has columns.
#[test]
fn equal_beams_have_the_closed_form_frequencies_each_as_often_as_there_are_beams() {
    let wire = Wire {
        tension: 20e3,
        bending: 195.0,
        mass: 1.35,
    };
    let (beams, length) = (7, 60.0);
    let (stiffness, mass) = separate_beams(beams, 80, length, &wire);
    let modes = lowest_modes(&stiffness, &mass, beams * 16).unwrap();
    check(&stiffness, &mass, &modes, 1e-8);
    for (i, omega2) in modes.omega2.iter().enumerate() {
        let wave = ((i / beams) + 1) as f64 * PI / length;
        let exact = wave * wave * (wire.tension + wire.bending * wave * wave) / wire.mass;
        // Cubic elements converge from above with (wave · h)⁴ / 720 at most: (0.63)⁴/720 = 2e-4.
        let error = omega2 / exact - 1.0;
        let bound = (wave * length / 80.0).powi(4) / 720.0 + 1e-9;
        assert!(
            (-1e-9..bound).contains(&error),
            "mode {i}: {error:e}, bound {bound:e}"
        );
    }
}

/// Reproducible numbers within −1 … 1 (xorshift64).
fn dice(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

fn random(n: usize, w: usize, diagonal: f64, roll: &mut impl FnMut() -> f64) -> SymBanded {
    let mut matrix = SymBanded::zeros(n, w);
    for i in 0..n {
        for j in i.saturating_sub(w)..i {
            matrix.add(i, j, roll()).expect("inside");
        }
        matrix.add(i, i, diagonal + roll()).expect("inside");
    }
    matrix
}

/// All eigenvalues from the dense symmetric matrix L⁻¹ K L⁻ᵀ.
fn dense_eigenvalues(stiffness: &SymBanded, mass: &SymBanded) -> Vec<f64> {
    let l = dense(mass).cholesky().expect("definite").l();
    let half = l
        .solve_lower_triangular(&dense(stiffness))
        .expect("regular");
    let reduced = l
        .solve_lower_triangular(&half.transpose())
        .expect("regular");
    let mut values: Vec<f64> = reduced.symmetric_eigenvalues().iter().copied().collect();
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn random_pencils_have_the_eigenvalues_of_the_dense_solver() {
    let mut roll = dice(99);
    for (n, w, w_mass) in [
        (1, 0, 0),
        (5, 2, 1),
        (40, 3, 3),
        (90, 9, 2),
        (150, 0, 0),
        (240, 6, 5),
    ] {
        let stiffness = random(n, w, 2.0 * w as f64 + 1.2, &mut roll);
        let mass = random(n, w_mass, 2.0 * w_mass as f64 + 1.5, &mut roll);
        let expected = dense_eigenvalues(&stiffness, &mass);
        for count in [0, 1, n / 3, n - 1, n] {
            let modes = lowest_modes(&stiffness, &mass, count).unwrap();
            assert_eq!(modes.count(), count);
            check(&stiffness, &mass, &modes, 1e-9);
            for (found, expected) in modes.omega2.iter().zip(&expected) {
                assert!(
                    (found / expected - 1.0).abs() < 1e-11,
                    "n {n}: {found} {expected}"
                );
            }
        }
    }
}

/// Thirty equal oscillators without any coupling: one eigenvalue thirty times, and pivots that
/// vanish exactly at it.
#[test]
fn an_eigenvalue_of_high_multiplicity_is_found_as_often_as_it_is_there() {
    let mut stiffness = SymBanded::zeros(60, 0);
    let mut mass = SymBanded::zeros(60, 0);
    for i in 0..60 {
        stiffness
            .add(i, i, if i % 2 == 0 { 8.0 } else { 100.0 + i as f64 })
            .unwrap();
        mass.add(i, i, 2.0).unwrap();
    }
    let modes = lowest_modes(&stiffness, &mass, 35).unwrap();
    check(&stiffness, &mass, &modes, 1e-10);
    assert!(modes.omega2[..30].iter().all(|x| (x - 4.0).abs() < 1e-12));
    assert!((modes.omega2[30] - 50.5).abs() < 1e-11);
}

#[test]
fn three_spans_have_scipys_eigenvalues() {
    let reference = Reference::load("eigen.txt");
    let expected = reference.row("eigsh");
    let (stiffness, mass) = two_wires(3, 30);
    let modes = lowest_modes(&stiffness, &mass, expected.len()).unwrap();
    check(&stiffness, &mass, &modes, 1e-8);
    for (found, expected) in modes.omega2.iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
}

/// Twenty equal spans put eigenvalues in crowds of twenty. Counting below a value between two
/// neighbours tells for each crowd whether one is missing or double.
#[test]
fn twenty_equal_spans_are_complete_orthonormal_and_sturm_counted() {
    let (stiffness, mass) = two_wires(20, 20);
    let modes = lowest_modes(&stiffness, &mass, 400).unwrap();
    check(&stiffness, &mass, &modes, 1e-8);
    let mut counted = 0;
    for (i, pair) in modes.omega2.windows(2).enumerate() {
        if pair[1] - pair[0] > 1e-6 * pair[1] {
            let shift = 0.5 * (pair[0] + pair[1]);
            let shifted = SymBanded::linear_combination(1.0, &stiffness, -shift, &mass);
            assert_eq!(shifted.negative_eigenvalues(), Ok(i + 1), "below {shift}");
            counted += 1;
        }
    }
    assert!(counted > 300, "{counted}");
}

#[test]
fn what_cannot_be_solved_says_why() {
    let (stiffness, mass) = two_wires(1, 20);
    let order = mass.order();
    let small = SymBanded::zeros(3, 1);
    assert!(matches!(
        lowest_modes(&stiffness, &small, 1),
        Err(EigenError::Order { .. })
    ));
    let error = lowest_modes(&stiffness, &mass, order + 1).unwrap_err();
    assert!(
        error.to_string().contains(&format!("at most {order}")),
        "{error}"
    );
    let free = SymBanded::zeros(order, 8);
    assert!(matches!(
        lowest_modes(&free, &mass, 1),
        Err(EigenError::Stiffness(_))
    ));
    let error = lowest_modes(&stiffness, &free, 1).unwrap_err();
    assert!(error.to_string().contains("mass matrix"), "{error}");
}
