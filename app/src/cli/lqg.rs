//! `pantobench lqg`: gains, stability and margins of the LQG loop before anything moves.

mod judged;

use super::{Failure, text};
use crate::home;
use drivers::rig_file::{rig_model as load_model, rig_pantograph};
use drivers::simulated::SimulatedConfig;
use rt_core::control::assessment::{
    Assessment, ChannelMargins, ForceFilter, Prepared, Surroundings, Tuning, Verdict, Wire,
};
use rt_core::control::newmark::SecondOrder;
use rt_core::control::predictive::{
    PredictiveAssessment, PredictiveDesign, PredictiveRig, PredictiveSurroundings,
    PredictiveTuning, PreparedPredictive,
};
use rt_core::control::stability_map::{delay_map, logarithmic_grid, stability_map};
use rt_core::control::state_space::RigModel;
use rt_core::model::interaction_mass::MassForm;
use rt_core::model::moving_string::MovingString;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `pantobench lqg`.
#[derive(clap::Args)]
#[command(after_help = "Example: pantobench lqg design --q 5 --ki 50000")]
pub struct Arguments {
    #[command(subcommand)]
    command: LqgCommand,
}

#[derive(clap::Subcommand)]
enum LqgCommand {
    /// Gains, eigenvalues, spectral radii and margins of one tuning.
    #[command(
        allow_negative_numbers = true,
        after_help = "Example: pantobench lqg design --q 5 --r 1 --ki 50000 --json"
    )]
    Design(Design),
    /// Stability over Q/R and k_i, and over extra delay and k_i.
    #[command(
        allow_negative_numbers = true,
        after_help = "Example: pantobench lqg map --points 25"
    )]
    Map {
        #[command(flatten)]
        design: Design,
        /// Points along each side (2 to 101).
        #[arg(long, default_value_t = 25, value_name = "N")]
        points: usize,
        /// Map the controller in charge of a session, as the window does, with margins; the options for a
        /// tuning are then those of --set.
        #[arg(long, value_name = "F")]
        session: Option<PathBuf>,
        /// With --session: a parameter other than the session's, as NAME=VALUE; may be repeated.
        #[arg(long, value_name = "NAME=VALUE", requires = "session", value_parser = judged::setting)]
        set: Vec<(String, f64)>,
    },
    /// Motor and loop of a session over frequency, with the margins at every cut channel.
    #[command(
        allow_negative_numbers = true,
        after_help = "Example: pantobench lqg bode --session sessions/dsa380-300.ron --set q=20 --freq 1,10,33.8"
    )]
    Bode(judged::Bode),
}

#[derive(clap::Args)]
struct Design {
    /// Q, weight of the tracking error.
    #[arg(long, default_value_t = Tuning::TUR_2024.q)]
    q: f64,
    /// R, weight of the action.
    #[arg(long, default_value_t = Tuning::TUR_2024.r)]
    r: f64,
    /// Q_kf, noise of the force on the pantograph.
    #[arg(long, default_value_t = Tuning::TUR_2024.q_kf)]
    qkf: f64,
    /// R_kf, noise of the measured positions.
    #[arg(long, default_value_t = Tuning::TUR_2024.r_kf)]
    rkf: f64,
    /// k_i, stiffness of the interaction mass, in N/m.
    #[arg(long, default_value_t = Tuning::TUR_2024.k_i_n_per_m)]
    ki: f64,
    /// c_i, damping of the interaction mass, in N s/m.
    #[arg(long, default_value_t = Tuning::TUR_2024.c_i_ns_per_m)]
    ci: f64,
    /// m_i, the interaction mass, in kg.
    #[arg(long, default_value_t = Tuning::TUR_2024.m_i_kg)]
    mi: f64,
    /// Standard deviation of a step of the estimated lasting force, in N; left out: no such state.
    #[arg(long, value_name = "N")]
    bias: Option<f64>,
    /// The simulated rig that is controlled; the DSA-380's if left out.
    #[arg(long, value_name = "F")]
    rig: Option<PathBuf>,
    /// Judge the loop as the bench runs it (exact rig, held references, wire and mass solved together) and not
    /// as it is published (everything by Newmark's rule, the wire under the force of the cycle before).
    #[arg(long)]
    as_run: bool,
    /// Train speed over the string that stands for the line in the whole loop, in km/h.
    #[arg(long, default_value_t = 300.0, value_name = "KMH")]
    speed: f64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        LqgCommand::Design(design) => {
            let assessment = design
                .prepare()?
                .assess(&design.tuning())
                .map_err(Failure::input)?;
            let predictive = design.predictive()?;
            if design.json {
                let mut all = to_json(&assessment);
                all["predictive"] = json!(predictive);
                say!("{all}");
            } else {
                print_text(&assessment);
                if !design.as_run {
                    say!(
                        "\nThis is the loop as published; --as-run judges it as the bench runs it."
                    );
                }
                print_predictive(&predictive);
            }
            Ok(())
        }
        LqgCommand::Map {
            design,
            points,
            session: Some(session),
            set,
        } => {
            check_points(*points)?;
            judged::map(session, set, *points, design.json)
        }
        LqgCommand::Map { design, points, .. } => {
            check_points(*points)?;
            map(design, *points)
        }
        LqgCommand::Bode(bode) => bode.run(),
    }
}

impl Design {
    fn tuning(&self) -> Tuning {
        Tuning {
            q: self.q,
            r: self.r,
            q_kf: self.qkf,
            r_kf: self.rkf,
            k_i_n_per_m: self.ki,
            c_i_ns_per_m: self.ci,
            m_i_kg: self.mi,
            bias_step_n: self.bias,
            ..Tuning::TUR_2024
        }
    }

    fn rig_path(&self) -> Result<PathBuf, Failure> {
        match &self.rig {
            Some(path) => Ok(path.clone()),
            None => home::find("assets/rigs/simulated-dsa-380.ron").map_err(Failure::Input),
        }
    }

    fn wire(&self) -> Wire {
        Wire::String(MovingString {
            speed_kmh: self.speed,
            ..MovingString::HIGH_SPEED_300
        })
    }

    /// The predictive controller with the same k_i on the same rig.
    fn predictive(&self) -> Result<PredictiveAssessment, Failure> {
        let path = self.rig_path()?;
        let rig = load_model(&path).map_err(Failure::input)?;
        let pantograph = rig_pantograph(&path).map_err(Failure::input)?;
        let known = exact_rig(&rig);
        let tuning = PredictiveTuning {
            interaction_stiffness_n_per_m: self.ki,
            ..PredictiveTuning::ROBUST
        };
        let design = PredictiveDesign::new(&known, &pantograph, &tuning).map_err(Failure::input)?;
        PreparedPredictive::new(&PredictiveSurroundings {
            wire: self.wire(),
            rig: known,
            pantograph,
            extra_delay_cycles: (rig.delays.extra_s / known.period_s).round() as usize,
        })
        .and_then(|prepared| prepared.assess(&design))
        .map_err(Failure::input)
    }

    fn prepare(&self) -> Result<Prepared, Failure> {
        let path = self.rig_path()?;
        let rig = load_model(&path).map_err(Failure::input)?;
        let surroundings = Surroundings {
            wire: self.wire(),
            pantograph: rig_pantograph(&path).map_err(Failure::input)?,
            pad_stiffness_n_per_m: rig.pad_stiffness_n_per_m,
            force_filter: rig
                .force_sensor
                .filter_hz
                .map_or(ForceFilter::None, |cutoff_hz| ForceFilter::FirstOrder {
                    cutoff_hz,
                }),
            extra_delay_steps: (rig.delays.extra_s / RigModel::TUR_2024.period_s).round() as usize,
            mass: if self.as_run {
                MassForm::IMPLICIT
            } else {
                MassForm::PRINTED
            },
            exact_rig: self.as_run.then(|| exact_rig(&rig)),
        };
        Prepared::new(&rig_model(&rig), &surroundings).map_err(Failure::input)
    }
}

/// Corner that stands for no filter at all, in Hz: its lag of 0.16 µs is nothing in a cycle.
const UNFILTERED_HZ: f64 = 1e6;

/// The rig as it runs.
fn exact_rig(rig: &SimulatedConfig) -> PredictiveRig {
    let period_s = RigModel::TUR_2024.period_s;
    PredictiveRig {
        motor_omega_rad_per_s: rig.motor.omega_rad_per_s,
        motor_damping_ratio: rig.motor.damping_ratio,
        pad_stiffness_n_per_m: rig.pad_stiffness_n_per_m,
        force_filter_hz: rig.force_sensor.filter_hz.unwrap_or(UNFILTERED_HZ),
        reference_delay_s: rig.delays.reference_s,
        force_delay_cycles: (rig.delays.force_s / period_s).round() as usize,
        period_s,
        ..PredictiveRig::TUR_2024
    }
}

/// The rig as the controller assumes it: motor and pad of the file, Table 2's head.
fn rig_model(rig: &SimulatedConfig) -> RigModel {
    let (omega, zeta) = (rig.motor.omega_rad_per_s, rig.motor.damping_ratio);
    let mass_kg = RigModel::TUR_2024.motor.mass_kg;
    RigModel {
        motor: SecondOrder {
            mass_kg,
            damping_ns_per_m: 2.0 * zeta * omega * mass_kg,
            stiffness_n_per_m: omega * omega * mass_kg,
        },
        pantograph: SecondOrder {
            stiffness_n_per_m: rig.pad_stiffness_n_per_m,
            ..RigModel::TUR_2024.pantograph
        },
        pad_stiffness_n_per_m: rig.pad_stiffness_n_per_m,
        ..RigModel::TUR_2024
    }
}

fn channels(a: &Assessment) -> Option<[(&'static str, &ChannelMargins); 3]> {
    let m = a.margins.as_ref()?;
    Some([
        ("reference", &m.reference),
        ("control", &m.control),
        ("force", &m.force),
    ])
}

fn to_json(a: &Assessment) -> Value {
    let states = a.gains.kalman.states;
    let column = |values: &[f64]| values.iter().map(|v| json!([v])).collect::<Vec<_>>();
    let rows = |n: usize, get: &dyn Fn(usize, usize) -> f64, columns: usize| {
        (0..n)
            .map(|i| (0..columns).map(|j| get(i, j)).collect::<Vec<f64>>())
            .collect::<Vec<_>>()
    };
    let margins = channels(a).map(|all| {
        let of = |m: &ChannelMargins| json!(m);
        all.iter()
            .map(|(name, m)| ((*name).to_owned(), of(m)))
            .collect::<serde_json::Map<_, _>>()
    });
    json!({
        "A": rows(a.plant.a.nrows(), &|i, j| a.plant.a[(i, j)], a.plant.a.ncols()),
        "B_z": column(a.plant.b_z.as_slice()),
        "B_u": column(a.plant.b_u.as_slice()),
        "B_f": column(a.plant.b_f.as_slice()),
        "K": [a.gains.lqr.gain.as_slice()],
        "L_filter": rows(states, &|i, j| a.gains.kalman.gain[(i, j)], 2),
        "L_predictor": rows(states, &|i, j| a.l_predictor[(i, j)], 2),
        "rho_open": a.rho_open,
        "rho_lqr": a.rho_lqr,
        "rho_estimator": a.rho_estimator,
        "rho_loop": a.rho_loop,
        "eig_open": a.eig_open.iter().map(|e| [e.re, e.im]).collect::<Vec<_>>(),
        "margins": margins,
    })
}

fn print_text(a: &Assessment) {
    let gains: Vec<String> = a.gains.lqr.gain.iter().map(|k| text::number(*k)).collect();
    say!("K = [{}]", gains.join(", "));
    say!(
        "ρ open {:.6}   regulated {:.6}   estimator {:.6}   whole loop {:.6}\n",
        a.rho_open,
        a.rho_lqr,
        a.rho_estimator,
        a.rho_loop
    );
    let Some(all) = channels(a) else {
        say!("The whole loop is unstable: it has no margins.");
        return;
    };
    print_margins(&all);
    if let Verdict::TooLittleMargin { disk, needed, .. } = a.verdict(RECOMMENDED_DISK) {
        say!("\nThe smallest disk margin is {disk:.3}; {needed} or more is recommended.");
    }
}

fn print_predictive(a: &PredictiveAssessment) {
    say!(
        "\nPredictive controller with the same k_i: ρ observer {:.6}   whole loop {:.6}\n",
        a.observer_radius,
        a.rho_loop
    );
    match &a.margins {
        Some(m) => print_margins(&[
            ("reference", &m.reference),
            ("position", &m.position),
            ("force", &m.force),
        ]),
        None => say!("The whole loop is unstable: it has no margins."),
    }
}

fn print_margins(all: &[(&'static str, &ChannelMargins)]) {
    let or_none = |v: Option<f64>| v.map_or("–".into(), |v| format!("{v:.2}"));
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|(name, m)| {
            vec![
                (*name).into(),
                format!("{:.3}", m.disk),
                or_none(m.gain_up_db),
                or_none(m.gain_down_db),
                or_none(m.delay_ms),
            ]
        })
        .collect();
    text::table(
        &[
            "margin at",
            "disk",
            "gain up dB",
            "gain down dB",
            "delay ms",
        ],
        &rows,
    );
}

/// A disk margin below this leaves little room for what the model does not know.
const RECOMMENDED_DISK: f64 = 0.02;

fn check_points(points: usize) -> Result<(), Failure> {
    if !(2..=101).contains(&points) {
        return Err(Failure::Input(format!(
            "--points {points} is refused: it must lie within 2 to 101"
        )));
    }
    Ok(())
}

fn map(design: &Design, points: usize) -> Result<(), Failure> {
    let prepared = design.prepare()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let q_over_r = logarithmic_grid(0.05, 500.0, points).map_err(Failure::input)?;
    let k_i = logarithmic_grid(10e3, 200e3, points).map_err(Failure::input)?;
    let delays: Vec<usize> = (0..=4).collect();
    let tuning = design.tuning();
    let tuned =
        stability_map(&prepared, &tuning, &q_over_r, &k_i, threads).map_err(Failure::input)?;
    let delayed = delay_map(&prepared, &tuning, &delays, &k_i, threads).map_err(Failure::input)?;
    if design.json {
        say!(
            "{}",
            json!({ "q_over_r": tuned.q_over_r, "k_i": tuned.k_i, "rho": tuned.rho,
                    "extra_delay_cycles": delayed.extra_delay_steps, "rho_delay": delayed.rho })
        );
        return Ok(());
    }
    let row = |rho: &[Option<f64>]| -> String {
        rho.iter()
            .map(|r| {
                if r.is_some_and(|r| r < 1.0) {
                    '●'
                } else {
                    '·'
                }
            })
            .collect()
    };
    say!(
        "● stable   · unstable   k_i from {:.0} to {:.0} kN/m, left to right\n",
        k_i[0] / 1e3,
        k_i[points - 1] / 1e3
    );
    for (q, rho) in tuned.q_over_r.iter().zip(&tuned.rho).rev() {
        say!("Q/R {q:>9.3}  {}", row(rho));
    }
    say!("\nextra delay at Q/R = {}:", design.q / design.r);
    for (steps, rho) in delayed.extra_delay_steps.iter().zip(&delayed.rho) {
        say!("{steps} cycles       {}", row(rho));
    }
    Ok(())
}
