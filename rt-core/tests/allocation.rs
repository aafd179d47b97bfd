//! What runs inside a cycle does not allocate. One test only: the counter is that of the process.

use rt_core::control::kalman::{Kalman, KalmanTuning};
use rt_core::control::lqg::{Lqg, LqgGains};
use rt_core::control::lqr::{Lqr, LqrWeights};
use rt_core::control::state_space::RigModel;
use rt_core::numeric::banded::SymBanded;
use rt_core::signal::butterworth::low_pass;
use rt_core::signal::filter::CausalFilter;
use rt_core::signal::statistics::RunningStatistics;
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations and frees during a call; the fewest of some tries, because the test harness has
/// threads of its own.
fn allocations(mut call: impl FnMut()) -> usize {
    (0..5)
        .map(|_| {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            call();
            ALLOCATIONS.load(Ordering::Relaxed) - before
        })
        .min()
        .unwrap_or(usize::MAX)
}

#[test]
fn solving_filtering_and_controlling_do_not_allocate() {
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
        lqg.set_gains(gains);
        black_box(lqg.step(1e-3, [1e-3, 0.0]));
        lqg.reset(0.0);
        filter.settle(1.0);
    });
    assert_eq!(in_a_cycle, 0);
}
