//! probe
use rt_core::model::catenary::*;
fn show(tag: &str, line: &Line, h: f64) {
        let l = match LinearLine::build(line, h) { Ok(l) => l, Err(e) => { println!("{tag}: {e}"); return } };
        let s = 9.min(l.layout.spans() - 1)/2*2-4*(l.layout.spans()==10) as usize;
        for (_, d) in l.layout.droppers.iter().zip(&l.statics.droppers).filter(|(p, _)| p.span == s) { print!(" {:.1}N/{:.3}m ", d.force, d.length); }
        println!();
        let x0 = l.layout.supports[s].x; let x1 = l.layout.supports[s+1].x;
        let e = l.elasticity(&[x0, (x0+x1)/2.]).unwrap();
        println!("{tag} h={h} dofs {} sag {:.3} mm, el {:.4} {:.4} mm/N dip {:.2}", l.dofs(), 1e3*l.sag(s), 1e3*e[0], 1e3*e[1], 1e3*l.rest_height(x0));
}
fn main() {
    let load = |n: &str| -> Line { rt_core::file::load(std::path::Path::new(&format!("assets/lines/{n}.ron"))).unwrap() };
    show("sw", &load("stitched-sw"), 1.0);
    for k in [50e3, 500e3] { for arm in [0.0, 300.0] {
        let mut l = load("en50318-2002");
        for s in l.supports.values_mut() { s.messenger_stiffness_n_per_m = Some(k); s.steady_arm.as_mut().unwrap().stiffness_n_per_m = arm; }
        show(&format!("en k{k} arm{arm}"), &l, 0.5);
    }}
    for st in [0.0, 0.2] { for mass in [0.0, 1.0] {
        let mut l = load("simple-55m");
        for s in l.supports.values_mut() { s.contact_stagger_m *= st/0.2; s.steady_arm.as_mut().unwrap().mass_kg = mass; }
        show(&format!("55 stagger{st} arm mass{mass}"), &l, 0.5);
        for s in l.supports.values_mut() { s.contact = line::ContactSupport::Dipping; }
        show(&format!("55 stagger{st} arm mass{mass} dip"), &l, 0.5);
    }}
}
