//! What the window's panels show of a session's tuning, on the command line: maps of stability, and motor and
//! loop over frequency.

use super::super::{Failure, text};
use crate::runtime;
use crate::session::LoadedSession;
use crate::{home, units};
use rt_core::bench::map::{MapPlane, MapPoint};
use rt_core::bench::{BenchConfig, Designer, Responses};
use rt_core::control::stability_map::logarithmic_grid;
use rt_core::param::ParamSet;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The session that is judged when none is named.
const SESSION: &str = "sessions/dsa380-300.ron";

/// Arguments of `pantobench lqg bode`.
#[derive(clap::Args)]
pub struct Bode {
    /// The session whose controller, line, specimen and rig are judged; dsa380-300 if left out.
    #[arg(long, value_name = "F")]
    session: Option<PathBuf>,
    /// A parameter other than the session's, as NAME=VALUE; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, f64)>,
    /// Frequencies in Hz, separated by commas; 61 from 0.5 Hz to half the sample rate if left out.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    freq: Vec<f64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// NAME=VALUE.
pub fn setting(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("'{text}' is not of the form NAME=VALUE, for example q=20");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let value: f64 = value.trim().parse().map_err(|_| wrong())?;
    Ok((name.trim().to_owned(), value))
}

/// Who judges a session, its parameters, and the period in s.
fn judge(
    session: &Path,
    set: &[(String, f64)],
) -> Result<(Box<dyn Designer>, ParamSet, f64), Failure> {
    let mut loaded = LoadedSession::load(session).map_err(Failure::input)?;
    // Nothing is moved by gains that are only looked at, and unstable ones are the most worth looking at.
    if let BenchConfig::PantographLqg(bench) = &mut loaded.session.bench {
        bench.start_unstable = true;
    }
    let prepared = runtime::prepare_exact(&loaded).map_err(Failure::input)?;
    let Some(designer) = prepared.designer else {
        return Err(Failure::Input(format!(
            "{}: bench '{}' has no gains to judge; expected a session of bench 'pantograph-lqg'",
            session.display(),
            prepared.bench.id
        )));
    };
    let mut params = prepared.params;
    for (name, value) in set {
        params.preset(name, *value).map_err(Failure::input)?;
    }
    Ok((designer, params, 1e-9 * prepared.period_nanos as f64))
}

impl Bode {
    /// Does what the arguments say.
    pub fn run(&self) -> Result<(), Failure> {
        let session = match &self.session {
            Some(path) => path.clone(),
            None => home::find(SESSION).map_err(Failure::Input)?,
        };
        let (designer, params, period_s) = judge(&session, &self.set)?;
        let highest = 0.5 / period_s;
        let frequencies = if self.freq.is_empty() {
            logarithmic_grid(0.5, highest, 61).map_err(Failure::input)?
        } else {
            self.freq.clone()
        };
        if let Some(bad) = frequencies.iter().find(|f| !(**f > 0.0 && **f <= highest)) {
            return Err(Failure::Input(format!(
                "--freq {bad} is refused: it must be above 0 and at most {highest} Hz, half the sample rate"
            )));
        }
        let found = designer
            .responses(&params, &frequencies)
            .map_err(Failure::Input)?;
        if self.json {
            say!("{}", to_json(&found));
        } else {
            print_text(&found);
        }
        Ok(())
    }
}

fn to_json(found: &Responses) -> Value {
    let motor = &found.motor_model;
    let parts = |re: f64, im: f64| json!([re, im]);
    let cuts = found.cuts.iter().map(|cut| {
        json!({
            "channel": cut.name,
            "ratio": cut.ratio.iter().map(|l| parts(l.re, l.im)).collect::<Vec<_>>(),
            "margins": cut.margins,
        })
    });
    json!({
        "freq_hz": found.frequencies_hz,
        "motor_model": { "natural_hz": motor.natural_hz, "damping_ratio": motor.damping_ratio, "delay_s": motor.delay_s },
        "motor": found.motor.iter().map(|h| parts(h.re, h.im)).collect::<Vec<_>>(),
        "rho_loop": found.rho_loop,
        "needed_disk": found.needed_disk,
        "cuts": cuts.collect::<Vec<_>>(),
    })
}

fn print_text(found: &Responses) {
    let motor = &found.motor_model;
    say!(
        "motor: {:.2} Hz, damping ratio {:.3}, delay {:.2} ms   loop: ρ {:.6}\n",
        motor.natural_hz,
        motor.damping_ratio,
        1e3 * motor.delay_s,
        found.rho_loop
    );
    let or_none = |v: Option<f64>| v.map_or("–".into(), |v| format!("{v:.2}"));
    let margins = found.cuts.iter().map(|cut| match &cut.margins {
        Some(m) => vec![
            cut.name.to_owned(),
            format!("{:.3}", m.disk),
            format!("{:.2}", m.disk_hz),
            or_none(m.gain_up_db),
            or_none(m.gain_down_db),
            or_none(m.phase_deg),
            or_none(m.delay_ms),
        ],
        None => vec![cut.name.to_owned(), "unstable".into()],
    });
    let titles = [
        "cut at",
        "disk",
        "at Hz",
        "gain up dB",
        "gain down dB",
        "phase °",
        "delay ms",
    ];
    text::table(&titles, &margins.collect::<Vec<_>>());
    say!(
        "\nSize in dB and phase in degrees of the motor and of −L at each cut; −1 destabilises.\n"
    );
    let mut titles = vec!["Hz".to_owned(), "motor dB".into(), "motor °".into()];
    for cut in &found.cuts {
        titles.extend([format!("{} dB", cut.name), "°".into()]);
    }
    let rows = found.frequencies_hz.iter().enumerate().map(|(i, f)| {
        let all = std::iter::once(&found.motor).chain(found.cuts.iter().map(|cut| &cut.ratio));
        let numbers = all.filter_map(|response| response.get(i)).flat_map(|h| {
            let db = 20.0 * h.norm().log10();
            [format!("{db:.2}"), format!("{:.1}", h.arg().to_degrees())]
        });
        std::iter::once(units::significant(*f, 4))
            .chain(numbers)
            .collect()
    });
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    text::table(&titles, &rows.collect::<Vec<Vec<String>>>());
}

/// Every plane of the controller in charge, as the window draws it.
pub fn map(
    session: &Path,
    set: &[(String, f64)],
    points: usize,
    as_json: bool,
) -> Result<(), Failure> {
    let (designer, params, _) = judge(session, set)?;
    let needed = designer
        .judge(&params, 0.0)
        .map_err(Failure::Input)?
        .needed_disk;
    let mut planes = Vec::new();
    for plane in designer.planes(&params) {
        let mapped = Mapped::new(&*designer, plane, &params, points);
        if as_json {
            planes.push(mapped.to_json());
        } else {
            mapped.print(needed);
        }
    }
    if as_json {
        say!("{}", json!({ "needed_disk": needed, "planes": planes }));
    }
    Ok(())
}

struct Mapped<'a> {
    plane: &'a MapPlane,
    x: Vec<f64>,
    y: Vec<f64>,
    rows: Vec<Vec<Option<MapPoint>>>,
}

impl<'a> Mapped<'a> {
    fn new(designer: &dyn Designer, plane: &'a MapPlane, params: &ParamSet, points: usize) -> Self {
        let x = plane.x.values(plane.x.low, plane.x.high, points);
        let y = plane.y.values(plane.y.low, plane.y.high, points);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut rows: Vec<Vec<Option<MapPoint>>> = y.iter().map(|_| Vec::new()).collect();
        let share = y.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            for (y, rows) in y.chunks(share).zip(rows.chunks_mut(share)) {
                let x = &x;
                scope.spawn(move || {
                    for (y, row) in y.iter().zip(rows) {
                        let judged = x.iter().map(|x| plane.judge(designer, params, *x, *y));
                        *row = judged.collect();
                    }
                });
            }
        });
        Self { plane, x, y, rows }
    }

    fn to_json(&self) -> Value {
        let numbers = |number: &dyn Fn(&MapPoint) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
            let row = |row: &Vec<Option<MapPoint>>| -> Vec<Option<f64>> {
                row.iter().map(|point| number(point.as_ref()?)).collect()
            };
            self.rows.iter().map(row).collect()
        };
        json!({
            "id": self.plane.id, "title": self.plane.title,
            "x_label": self.plane.x.label, "x_unit": self.plane.x.unit, "x": self.x,
            "y_label": self.plane.y.label, "y_unit": self.plane.y.unit, "y": self.y,
            "rho": numbers(&|p| Some(p.rho)), "least_disk": numbers(&|p| p.least_disk),
        })
    }

    fn print(&self, needed: f64) {
        let end = |values: &[f64], i: usize| units::significant(values[i], 3);
        say!(
            "{}: {} {} to {} {}, left to right",
            self.plane.title,
            self.plane.x.label,
            end(&self.x, 0),
            end(&self.x, self.x.len() - 1),
            self.plane.x.unit
        );
        say!("● disk margin of {needed} or more   ○ stable with less   · unstable\n");
        for (y, row) in self.y.iter().zip(&self.rows).rev() {
            let signs: String = row
                .iter()
                .map(|point| match point.and_then(|p| p.least_disk) {
                    Some(disk) if disk >= needed => '●',
                    Some(_) => '○',
                    None => '·',
                })
                .collect();
            say!("{:>9}  {signs}", units::significant(*y, 3));
        }
        say!("{} {}\n", self.plane.y.label, self.plane.y.unit);
    }
}

#[cfg(test)]
mod tests {
    use super::setting;

    #[test]
    fn settings_have_a_name_and_a_number() {
        assert_eq!(setting("q = 20"), Ok(("q".into(), 20.0)));
        for bad in ["q", "q=", "q=many"] {
            assert!(setting(bad).unwrap_err().contains("NAME=VALUE"), "{bad}");
        }
    }
}
