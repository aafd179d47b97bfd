//! A new calibration from noted points, or from readings of the rig under known loads.

use super::{cells_of, own_directory, show, tell_problems, to_json};
use crate::cli::Failure;
use crate::home;
use crate::rig_reading::{self, Wanted};
use rt_core::calibration::accept::{Accepted, Demands, Refused, judge};
use rt_core::calibration::date::{Date, Moment};
use rt_core::calibration::id::CalibrationId;
use rt_core::calibration::store::{self, Library, SaveError};
use rt_core::calibration::{Calibration, FORMAT_VERSION, Kind, Point};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Clone, Copy, clap::ValueEnum)]
enum KindName {
    /// One point without load; the slope is kept.
    Zero,
    /// One point at a known load; the zero is kept.
    Span,
    /// Two known loads.
    TwoPoint,
    /// Three known loads or more.
    MultiPoint,
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Zero => Kind::Zero,
            KindName::Span => Kind::Span,
            KindName::TwoPoint => Kind::TwoPoint,
            KindName::MultiPoint => Kind::MultiPoint,
        }
    }
}

#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example: pantobench calibrate new --cell LC-4711 --kind two-point --point 0:0.0312 --point 196.13:0.4261 \
                  --operator \"late shift\" --reference \"weights M1, no. 12\"\n\
                  Example: pantobench calibrate new --cell SIM-A --kind multi-point --rig assets/rigs/simulated-load-cells.ron \
                  --measure 2 --at 0 --at 150 --at 300 --at 150 --at 0 --operator me --reference simulated"
)]
pub struct NewArguments {
    /// Identifier of the load cell.
    #[arg(long, value_name = "ID")]
    cell: String,
    /// How it is taken.
    #[arg(long, value_enum, value_name = "KIND")]
    kind: KindName,
    /// A load in N and the reading under it, in the order in which they were taken; may be repeated.
    #[arg(
        long,
        value_name = "LOAD:READING",
        required_unless_present = "measure",
        conflicts_with = "measure"
    )]
    point: Vec<String>,
    /// Read the rig for so long at each load, in s.
    #[arg(long, value_name = "S", requires = "rig", requires = "at")]
    measure: Option<f64>,
    /// A known load for --measure, in N; simulated rigs hang it themselves. May be repeated.
    #[arg(long, value_name = "LOAD", requires = "measure")]
    at: Vec<f64>,
    /// The rig file: its load cells, their units and calibrations.
    #[arg(long, value_name = "RIG.ron")]
    rig: Option<PathBuf>,
    /// Unit of the readings, if no rig is named.
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "mV/V",
        conflicts_with = "rig"
    )]
    unit: String,
    /// Who takes it.
    #[arg(long, value_name = "NAME")]
    operator: String,
    /// Identifier of the weights or of the reference cell.
    #[arg(long, value_name = "TEXT")]
    reference: String,
    /// For how many days it is valid.
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(i64).range(1..=36_500))]
    valid_days: i64,
    /// Its name; made of cell and day if left out.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Anything worth knowing.
    #[arg(long, value_name = "TEXT", default_value = "")]
    notes: String,
    /// The calibration before, which zero and span keep a part of; the one in use if left out.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// The cell is mounted the other way round: its reading falls as the load grows.
    #[arg(long)]
    falls_with_load: bool,
    /// Directory that it is kept in, in place of the one in the configuration directory.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Show what would come out, but keep nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn parse_point(text: &str) -> Result<Point, Failure> {
    let both = text.split_once(':').and_then(|(load, reading)| {
        Some((load.trim().parse().ok()?, reading.trim().parse().ok()?))
    });
    let (load, reading): (f64, f64) = both
        .filter(|(a, b): &(f64, f64)| a.is_finite() && b.is_finite())
        .ok_or_else(|| {
            Failure::Input(format!(
                "--point {text} is refused: expected LOAD:READING, for example 196.13:0.4261"
            ))
        })?;
    Ok(Point::noted(load, reading))
}

/// Takes, judges and keeps a calibration.
pub fn new(a: &NewArguments) -> Result<(), Failure> {
    let own = own_directory(a.directory.as_deref());
    let (library, unit, named) = match &a.rig {
        Some(rig) => {
            let found = cells_of(rig, &own)?;
            let cell = found.cells.iter().find(|c| c.id == a.cell).ok_or_else(|| {
                let known: Vec<&str> = found.cells.iter().map(|c| c.id.as_str()).collect();
                Failure::Input(format!(
                    "--cell {} is refused: the rig has {}",
                    a.cell,
                    known.join(", ")
                ))
            })?;
            (found.library, cell.raw.unit.to_owned(), cell.named.clone())
        }
        None => {
            let shipped = home::shipped_calibrations();
            let places: Vec<PathBuf> = shipped.into_iter().chain([own.clone()]).collect();
            (Library::read(&places), a.unit.clone(), None)
        }
    };
    tell_problems(&library);
    let wanted = a.before.as_deref().or(named.as_deref());
    let before = library
        .active(&a.cell, wanted, Date::today())
        .map_err(Failure::input)?;
    let points = take_points(a, &own)?;
    let kind = Kind::from(a.kind);
    let usual = Demands::after(before);
    let demands = Demands {
        falls_with_load: a.falls_with_load || usual.falls_with_load,
        ..usual
    };
    let accepted = judge(kind, &points, before, &demands).map_err(|e| {
        let option = match e {
            Refused::Sign { .. } => " with --falls-with-load",
            _ => "",
        };
        Failure::Result(format!("the calibration is refused: {e}{option}"))
    })?;
    let made = Moment::now();
    let id = match &a.id {
        Some(text) => CalibrationId::new(text).map_err(Failure::input)?,
        None => library.suggest_id(&a.cell, made).map_err(Failure::input)?,
    };
    let calibration = Calibration {
        version: FORMAT_VERSION,
        id,
        cell: a.cell.clone(),
        unit,
        kind,
        made,
        valid_until: Date::today().plus_days(a.valid_days),
        operator: a.operator.clone(),
        reference: a.reference.clone(),
        notes: a.notes.clone(),
        before: before.map(|b| b.id),
        points,
        low_n: accepted.low_n,
        high_n: accepted.high_n,
        line: accepted.fit.line,
    };
    let path = if a.dry_run {
        None
    } else {
        Some(store::save(&own, &calibration).map_err(save_failure)?)
    };
    report(a, &calibration, &accepted, path.as_deref());
    if let Some(other) = named.filter(|_| path.is_some()) {
        tell!(
            "note: the rig file names calibration {other}; it goes on using that one until the file names {id}"
        );
    }
    Ok(())
}

fn take_points(a: &NewArguments, own: &std::path::Path) -> Result<Vec<Point>, Failure> {
    let (Some(seconds), Some(rig)) = (a.measure, &a.rig) else {
        return a.point.iter().map(|text| parse_point(text)).collect();
    };
    if !(0.1..=3600.0).contains(&seconds) {
        return Err(Failure::Input(format!(
            "--measure {seconds} is refused: expected 0.1 to 3600 s"
        )));
    }
    let wanted = Wanted {
        rig,
        cell: &a.cell,
        loads: &a.at,
        seconds,
        own_calibrations: own,
    };
    rig_reading::measure(&wanted).map_err(Failure::Environment)
}

fn save_failure(e: SaveError) -> Failure {
    match e {
        SaveError::Taken { .. } | SaveError::BadId(_) => Failure::input(e),
        _ => Failure::Environment(e.to_string()),
    }
}

fn report(a: &NewArguments, c: &Calibration, accepted: &Accepted, path: Option<&std::path::Path>) {
    let doubts: Vec<String> = accepted.doubts.iter().map(ToString::to_string).collect();
    for doubt in &doubts {
        tell!("note: {doubt}");
    }
    if a.json {
        let mut value = to_json(c, path);
        if let Value::Object(map) = &mut value {
            map.insert("doubts".into(), json!(doubts));
        }
        say!("{value}");
        return;
    }
    show::print(c);
    match path {
        Some(path) => say!("\nkept as {}", path.display()),
        None => say!("\nnot kept (--dry-run)"),
    }
}
