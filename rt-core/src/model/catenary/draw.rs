//! A drawing of a line at rest as SVG: side view above, plan view with the stagger below.

use super::linear::LinearLine;
use super::mesh::Node;
use crate::svg::{Axis, decimals, escaped, rule};
use std::fmt::Write;

const WIDTH: f64 = 1600.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const SIDE_TOP: f64 = 50.0;
const SIDE_HEIGHT: f64 = 300.0;
const PLAN_TOP: f64 = 430.0;
const PLAN_HEIGHT: f64 = 140.0;

/// The drawing of a line's spans `first` to `last` (from 1; cut to those that exist).
pub fn svg(line: &LinearLine, name: &str, first: usize, last: usize) -> String {
    let supports = &line.layout.supports;
    let end = last.clamp(1, line.layout.spans());
    let begin = first.clamp(1, end);
    let (from, to) = (supports[begin - 1].x, supports[end].x);
    let x = Axis {
        low: from,
        high: to,
        from: LEFT,
        to: WIDTH - RIGHT,
    };
    let range = |values: &[f64], least: f64| {
        let inside = || {
            line.mesh
                .contact
                .iter()
                .chain(&line.mesh.messenger)
                .map(|n| values[n.height])
        };
        let (low, high) = (inside().fold(0.0, f64::min), inside().fold(0.0, f64::max));
        let pad = 0.08 * (high - low).max(least);
        (low - pad, high + pad)
    };
    let (low, high) = range(&line.statics.z, 0.5);
    let z = Axis {
        low,
        high,
        from: SIDE_TOP + SIDE_HEIGHT,
        to: SIDE_TOP,
    };
    let (low, high) = range(&line.statics.y, 0.5);
    let most = low.abs().max(high.abs());
    let y = Axis {
        low: -most,
        high: most,
        from: PLAN_TOP + PLAN_HEIGHT,
        to: PLAN_TOP,
    };

    let mut out = String::new();
    head(&mut out, name, begin, end);
    frame(&mut out, &x, &z, "height above nominal contact wire in m");
    frame(&mut out, &x, &y, "sideways in m");
    for (view, axis) in [(&line.statics.z, &z), (&line.statics.y, &y)] {
        for s in &supports[begin - 1..=end] {
            rule(
                &mut out,
                "support",
                x.at(s.x),
                axis.from,
                x.at(s.x),
                axis.to,
            );
        }
        for (i, d) in line.layout.droppers.iter().enumerate() {
            if d.x > from && d.x < to {
                let bottom = line.mesh.contact[line.mesh.dropper_station[i]].height;
                let top = line.mesh.dropper_top[i].height;
                let px = x.at(d.x);
                rule(
                    &mut out,
                    "dropper",
                    px,
                    axis.at(view[bottom]),
                    px,
                    axis.at(view[top]),
                );
            }
        }
        let stations: Vec<usize> = (0..line.mesh.x.len())
            .filter(|&i| line.mesh.x[i] >= from && line.mesh.x[i] <= to)
            .collect();
        let mut wire = |class: &str, nodes: &mut dyn Iterator<Item = (usize, Node)>| {
            let points: Vec<String> = nodes
                .map(|(s, n)| format!("{:.1},{:.2}", x.at(line.mesh.x[s]), axis.at(view[n.height])))
                .collect();
            let _ = writeln!(
                out,
                r#"<polyline class="{class}" points="{}"/>"#,
                points.join(" ")
            );
        };
        for s in &line.mesh.stitches {
            let inside = |i: &usize| stations.contains(i);
            let nodes = s.nodes.iter().enumerate().map(|(i, n)| (s.first + i, *n));
            wire("stitch", &mut nodes.filter(|(i, _)| inside(i)));
        }
        wire(
            "messenger",
            &mut stations.iter().map(|&i| (i, line.mesh.messenger[i])),
        );
        wire(
            "contact",
            &mut stations.iter().map(|&i| (i, line.mesh.contact[i])),
        );
    }
    legend(&mut out);
    out.push_str("</svg>\n");
    out
}

// Writing to a string cannot fail, so the results of `writeln!` are dropped in this file.

fn head(out: &mut String, name: &str, first: usize, last: usize) {
    let title = escaped(name);
    let height = PLAN_TOP + PLAN_HEIGHT + 90.0;
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">
<style>
.paper {{ fill: #fff }} .frame {{ fill: none; stroke: #888 }} .grid {{ stroke: #ddd }}
.contact, .messenger, .stitch {{ fill: none; stroke-width: 2 }}
.contact {{ stroke: #c0392b }} .messenger {{ stroke: #1f5fa8 }} .stitch {{ stroke: #7d3c98 }}
.dropper {{ stroke: #2e8b57; stroke-width: 1.2 }} .support {{ stroke: #555; stroke-dasharray: 4 3 }}
</style>
<rect class="paper" width="{WIDTH}" height="{height}"/>
<text x="{LEFT}" y="28" font-size="18">{title}, spans {first} to {last}</text>"##
    );
}

fn frame(out: &mut String, x: &Axis, v: &Axis, label: &str) {
    let ticks = v.ticks(8.0);
    let places = decimals(v.tick_step(8.0));
    for t in &ticks {
        rule(out, "grid", x.from, v.at(*t), x.to, v.at(*t));
        let _ = writeln!(
            out,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{t:.places$}</text>"#,
            x.from - 6.0,
            v.at(*t) + 4.0
        );
    }
    for t in x.ticks(16.0) {
        rule(out, "grid", x.at(t), v.from, x.at(t), v.to);
        let _ = writeln!(
            out,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{t:.0}</text>"#,
            x.at(t),
            v.from + 18.0
        );
    }
    let middle = (v.from + v.to) / 2.0;
    let _ = writeln!(
        out,
        r#"<rect class="frame" x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}"/>
<text x="18" y="{middle:.1}" text-anchor="middle" transform="rotate(-90 18 {middle:.1})">{label}</text>
<text x="{:.1}" y="{:.1}" text-anchor="middle">distance in m</text>"#,
        x.from,
        v.to,
        x.to - x.from,
        v.from - v.to,
        (x.from + x.to) / 2.0,
        v.from + 38.0
    );
}

fn legend(out: &mut String) {
    let names = [
        ("contact", "contact wire"),
        ("messenger", "messenger wire"),
        ("stitch", "stitch wire"),
        ("dropper", "dropper"),
        ("support", "support"),
    ];
    for (i, (class, name)) in names.iter().enumerate() {
        let x = LEFT + 170.0 * i as f64;
        let y = PLAN_TOP + PLAN_HEIGHT + 70.0;
        rule(out, class, x, y, x + 30.0, y);
        let _ = writeln!(
            out,
            r#"<text x="{:.1}" y="{:.1}">{name}</text>"#,
            x + 38.0,
            y + 4.0
        );
    }
}
