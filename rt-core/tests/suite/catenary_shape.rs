//! What a window draws of a line: the shape in motion against the model's own unknowns, the line at rest
//! against the static report.

use crate::catenary::{SMALL, asset, line, linear, small, within};
use rt_core::model::catenary::shape::{Moment, ShapeSampler};
use rt_core::model::catenary::{
    FullWire, LineScene, LinearLine, ModalBasis, ModalOptions, ModalWire, StaticReport, WireModel,
    WireShape,
};
use rt_core::model::string_wire::StringWireConfig;
use std::collections::VecDeque;
use std::sync::Arc;

const PERIOD_S: f64 = 2e-3;
const SPEED: f64 = 80.0;

fn step(wire: &mut dyn WireModel, k: u32) -> f64 {
    let x = 20.0 + SPEED * PERIOD_S * f64::from(k);
    wire.predict(x);
    // Enough to make droppers slack.
    wire.respond(f64::from(k.min(250)) * (1.2 + 0.4 * (0.05 * f64::from(k)).sin()));
    wire.commit();
    x
}

fn moment(k: u32, contact_m: f64) -> Moment {
    Moment {
        seq: u64::from(k),
        t_nanos: 2_000_000 * u64::from(k),
        contact_m,
    }
}

/// Height of every station and stretch of every dropper, summed from the unknowns without the model's help.
type Plain = (Vec<f64>, Vec<f64>);

/// Runs over the line, and compares every shape with what `plain` makes of the displacement at its tick.
/// Returns how many shapes were seen and how many of them had slack droppers.
fn compare(
    model: &LinearLine,
    wire: &mut dyn WireModel,
    mut alone: Box<dyn WireModel>,
    plain: &dyn Fn(&[f64]) -> Plain,
) -> (usize, usize) {
    let (mut sampler, mut reader) = ShapeSampler::new(wire.meshed().unwrap(), PERIOD_S);
    let plan = Arc::clone(reader.plan());
    let station = |x: f64| model.mesh.x.iter().position(|s| *s == x).unwrap();
    let mut past: VecDeque<(u64, Plain, Vec<bool>, Vec<f64>)> = VecDeque::new();
    let mut highest = vec![0.0_f64; plan.supports.len()];
    let (mut seen, mut with_slack) = (0, 0);
    let last = ((model.layout.length() - 40.0) / SPEED / PERIOD_S) as u32;
    for k in 0..last {
        let x = step(wire, k);
        step(alone.as_mut(), k);
        let meshed = wire.meshed().unwrap();
        sampler.step(meshed, moment(k, x));
        let now = plain(meshed.displacement());
        for (h, &s) in highest.iter_mut().zip(&model.mesh.support_station) {
            *h = h.max(now.0[s]);
        }
        let slack = meshed.slack().to_vec();
        past.push_back((u64::from(k), now, slack, highest.clone()));
        let Some(shape) = reader.newest() else {
            continue;
        };
        seen += 1;
        // At most 20 cycles from look to look, so that there are at least 25 shapes a second.
        assert!((10..20).contains(&(u64::from(k) - shape.seq)));
        assert_eq!(shape.t_nanos, shape.seq * 2_000_000);
        while past.front().is_some_and(|p| p.0 < shape.seq) {
            past.pop_front();
        }
        let (seq, (heights, stretches), slack, highest_then) = &past[0];
        assert_eq!(*seq, shape.seq);
        assert_eq!(shape.slack, *slack);
        with_slack += usize::from(slack.contains(&true));
        let mut looked = 0;
        for (found, &x) in shape.rise_m.iter().zip(&plan.places_m) {
            if found.is_finite() {
                looked += 1;
                let expected = heights[station(x)];
                // Floats have 24 bits: 1.5e-8 m of 0.25 m; modes are floats too, and there are some hundred.
                within(f64::from(*found), expected, 1e-7, "rise");
            } else {
                assert!(
                    (x - shape.contact_m).abs() >= 100.0,
                    "{x} was not looked at"
                );
            }
        }
        assert!(looked > plan.places_m.len() / 4);
        for (j, found) in shape.top_rise_m.iter().enumerate() {
            let bottom = heights[station(plan.places_m[plan.droppers[j]])];
            if found.is_finite() {
                within(f64::from(*found), bottom + stretches[j], 2e-7, "upper end");
            }
        }
        check_highest(shape, highest_then, &highest);
    }
    // Looking changes nothing, to the last bit.
    let (looked_at, left_alone) = (wire.meshed().unwrap(), alone.meshed().unwrap());
    assert_eq!(looked_at.displacement(), left_alone.displacement());
    assert_eq!(looked_at.slack(), left_alone.slack());
    (seen, with_slack)
}

/// Every cycle until the shape is published counts at the supports beside the contact; at the others shapes do,
/// which find almost all.
fn check_highest(shape: &WireShape, at_its_tick: &[f64], until_now: &[f64]) {
    for ((found, then), now) in shape.highest_m.iter().zip(at_its_tick).zip(until_now) {
        let found = f64::from(*found);
        assert!(
            found <= now + 1e-7 && found >= then - 2e-3,
            "{found} {then} {now}"
        );
    }
}

#[test]
fn shapes_of_the_full_wire_are_its_unknowns() {
    let model = linear(&line("stitched-sw"), 1.5);
    let mut wire = FullWire::new(model.clone(), PERIOD_S).unwrap();
    let alone = Box::new(wire.clone());
    let plain = |u: &[f64]| {
        let value = |dof: usize| model.free.number[dof].map_or(0.0, |n| u[n]);
        let heights: Vec<f64> = model.mesh.contact.iter().map(|c| value(c.height)).collect();
        let stretch = |j: usize| {
            value(model.mesh.dropper_top[j].height) - heights[model.mesh.dropper_station[j]]
        };
        let stretches = (0..model.droppers.len()).map(stretch).collect();
        (heights, stretches)
    };
    let (seen, with_slack) = compare(&model, &mut wire, alone, &plain);
    println!("{seen} shapes, {with_slack} of them with slack droppers");
    assert!(seen > 350 && with_slack > 50);
}

#[test]
fn shapes_of_the_modal_wire_are_sums_of_its_modes() {
    let mut design = small();
    design.section[0].repeat = 9;
    let model = linear(&design, 1.0);
    let basis = Arc::new(ModalBasis::build(&model, 200, &mut |_| ()).unwrap());
    let options = ModalOptions::default();
    let mut wire = ModalWire::new(model.clone(), basis.clone(), PERIOD_S, options).unwrap();
    let alone = Box::new(wire.clone());
    let plain = |q: &[f64]| {
        let n = basis.len();
        let sum = |row: &[f64]| (0..n).map(|m| row[m] * q[m]).sum::<f64>();
        let heights = (0..model.mesh.x.len()).map(|s| sum(&basis.contact[2 * s * n..]));
        let stretches = (0..model.droppers.len()).map(|j| sum(&basis.droppers[j * n..]));
        (heights.collect(), stretches.collect())
    };
    let (seen, with_slack) = compare(&model, &mut wire, alone, &plain);
    println!("{seen} shapes, {with_slack} of them with slack droppers");
    assert!(seen > 90 && with_slack > 30);
}

#[test]
fn a_new_run_forgets_what_was_highest_and_nobody_is_sampled_for() {
    let model = linear(&small(), 1.0);
    let mut wire = FullWire::new(model, PERIOD_S).unwrap();
    let (mut sampler, mut reader) = ShapeSampler::new(wire.meshed().unwrap(), PERIOD_S);
    let mut run = |sampler: &mut ShapeSampler, cycles: u32| {
        for k in 0..cycles {
            let x = step(&mut wire, k);
            sampler.step(wire.meshed().unwrap(), moment(k, x));
        }
        wire.reset();
    };
    run(&mut sampler, 405);
    let highest = |shape: &WireShape| shape.highest_m.iter().copied().fold(0.0, f32::max);
    assert!(highest(reader.newest().unwrap()) > 0.01);
    sampler.reset();
    run(&mut sampler, 20);
    let shape = reader.newest().unwrap();
    assert_eq!(
        shape.seq, 0,
        "the shape that was being taken is not finished"
    );
    assert!(highest(shape) < 1e-3, "{}", highest(shape));
    drop(reader);
    run(&mut sampler, 100);
}

#[test]
fn a_string_knows_only_its_contact() {
    let string = StringWireConfig::default();
    let wire = string.build(250.0, PERIOD_S).unwrap();
    assert!(WireModel::meshed(&wire).is_none());
    let scene = LineScene::of_string(&string, 65.0, 3);
    assert_eq!(scene.supports_m, [0.0, 65.0, 130.0, 195.0]);
    for x in [0.0, 17.0, 100.0, 195.0] {
        within(scene.rest_height(x), string.rest_height(x), 1e-12, "height");
    }
    assert!(scene.messenger.is_empty() && scene.droppers.is_empty());
}

/// The table of `line static` is computed from the mesh by other functions.
#[test]
fn the_scene_is_the_line_of_the_static_report() {
    for name in ["stitched-sw", "en50318-2002", "simple-55m"] {
        let design = line(name);
        let text = std::fs::read_to_string(asset("lines", name)).unwrap();
        let start = std::time::Instant::now();
        let scene = LineScene::from_text(&text, "line.ron").unwrap();
        println!("{name}: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
        assert_eq!(scene, LineScene::from_line(&design).unwrap());
        let report = StaticReport::of(&linear(&design, 1.0), 2.0).unwrap();
        assert_eq!(scene.spans(), report.spans.len());
        for (x, support) in scene.supports_m.iter().zip(&report.supports) {
            within(*x, support.x_m, 0.0, "support");
            within(
                1e3 * scene.rest_height(*x),
                support.height_mm,
                1e-9,
                "height",
            );
        }
        for row in &report.heights {
            // Straight between stations 1 m apart: m g/(8 T) = 0.1 mm of sag, and the bend at a dropper of
            // tension F, rounded over √(EI/T), adds F/(2 T) √(EI/T) = 0.2 mm.
            within(
                1e3 * scene.rest_height(row.x_m),
                row.height_mm,
                0.3,
                "height",
            );
        }
        let mut droppers = scene.droppers.iter();
        for span in &report.spans {
            for (number, row) in span.droppers.iter().enumerate() {
                let found = droppers.next().unwrap();
                assert_eq!((found.span + 1, found.number), (span.index, number));
                within(found.x_m, row.x_m, 0.0, "dropper");
                within(found.bottom_m, row.height_m, 1e-12, "lower end");
                // Its length is along an inclined dropper: the height is smaller, by less than 2 %.
                let height = found.top_m - found.bottom_m;
                assert!(height <= row.length_m + 1e-12 && height > 0.98 * row.length_m);
            }
            let (from, to) = (span.x0_m, span.x0_m + span.length_m);
            assert_eq!(scene.span_at(from), Some(span.index - 1));
            assert_eq!(scene.span_at(to - 1e-6), Some(span.index - 1));
        }
        assert!(droppers.next().is_none() && scene.span_at(-1.0).is_none());
        assert_eq!(scene.stitches.is_empty(), name != "stitched-sw");
        assert!(
            scene
                .messenger
                .iter()
                .zip(&scene.contact)
                .all(|(m, c)| m.z_m > c.z_m)
        );
    }
}

#[test]
fn a_text_that_is_no_line_is_refused_with_the_place() {
    let error = LineScene::from_text("Line(", "line.ron of the recording").unwrap_err();
    assert!(
        error.to_string().contains("line.ron of the recording"),
        "{error}"
    );
    let none = SMALL.replace("encumbrance_m: 1.2", "encumbrance_m: 0.0");
    assert!(LineScene::from_text(&none, "line.ron").is_err());
}
