//! Whether a window looks at the wire's shape or not changes nothing of a run.

use integration_tests::{ExactRun, session_from};

#[test]
fn a_run_that_is_looked_at_is_the_same_to_the_last_bit() {
    for wire in ["Full, controller: Predictive", "Modal(modes: 800)"] {
        let text = format!(
            r#"Session(title: "t", bench: PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: {wire},
                speed_kmh: 250.0, approach_s: 1.0,
                specimen: "../assets/pantographs/dsa-380.ron"),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 130.0)"#
        );
        let session = session_from(&text);
        let mut watched = ExactRun::new(&session);
        let mut alone = ExactRun::new(&session);
        alone.line = None;
        let mut shapes = 0;
        for run in [&mut watched, &mut alone] {
            run.start();
        }
        for _ in 0..1500 {
            watched.cycle();
            alone.cycle();
            let reader = watched.line.as_mut().and_then(|line| line.shapes.as_mut());
            shapes += usize::from(reader.is_some_and(|r| r.newest().is_some()));
        }
        assert!(shapes > 70, "{wire}: {shapes} shapes in three seconds");
        let columns = rt_core::bench::pantograph_lqg::SPEC.channels.len();
        assert_eq!(watched.frames.len(), alone.frames.len());
        for (a, b) in watched.frames.iter().zip(&alone.frames) {
            // The loop's own timing behind these columns is never twice the same.
            for (column, (x, y)) in a.values.iter().zip(&b.values).take(columns).enumerate() {
                assert_eq!(
                    x.to_bits(),
                    y.to_bits(),
                    "{wire}: column {column} at {}",
                    a.seq
                );
            }
        }
        assert!(
            watched.column("wire_rise").iter().any(|r| *r > 0.01),
            "{wire}"
        );
    }
}
