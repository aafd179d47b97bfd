//! Words about what a script shows: tables, plots, checks, progress, settings.

use super::{Vocabulary, add};
use crate::script::host::{Answer, Shared, wrong};
use crate::script::outcome::{Check, EndKind, Output};
use crate::script::plot::{PlotData, PlotSeries, Style};
use crate::script::signal::Signal;
use crate::script::table::{Cell, TableData};
use crate::script::values::{cell, number, numbers, of_cell, of_setting, words as texts};
use rhai::{Array, Dynamic, ImmutableString};
use rt_core::calibration::date::Date;
use std::cell::RefCell;
use std::rc::Rc;

/// A table that handles share.
#[derive(Clone)]
struct Table(Rc<RefCell<TableData>>);

/// A plot that handles share.
#[derive(Clone)]
struct Plot(Rc<RefCell<PlotData>>);

/// Rows that a table may have, and points that a plot may have.
const MOST_ROWS: usize = 100_000;
const MOST_POINTS: usize = 2_000_000;

pub(super) fn register(words: &mut Vocabulary<'_>, host: &Shared) {
    add_tables(words, host);
    add_plots(words, host);
    add_checks(words, host);
    add_surroundings(words, host);
}

fn add_tables(words: &mut Vocabulary<'_>, host: &Shared) {
    words.engine.register_type_with_name::<Table>("Table");
    add!(words, "table", |name: &str,
                          columns: Array|
     -> Answer<Table> {
        let columns = texts(&columns, "the list of columns")?;
        if columns.is_empty() {
            return Err(wrong("a table needs at least one column"));
        }
        Ok(table(TableData {
            name: name.to_owned(),
            columns,
            rows: Vec::new(),
        }))
    });
    let shared = host.clone();
    add!(words, "open_table", move |file: &str, columns: Array| {
        open_table(&shared, file, &texts(&columns, "the list of columns")?)
    });
    add!(words, "row", |table: &mut Table,
                        entries: Array|
     -> Answer<()> {
        let row: Vec<Cell> = entries.iter().map(cell).collect::<Answer<_>>()?;
        let mut table = table.0.borrow_mut();
        if table.rows.len() >= MOST_ROWS {
            return Err(wrong(format!("a table has at most {MOST_ROWS} rows")));
        }
        table.add(row).map_err(wrong)
    });
    add!(words, "column", |table: &mut Table,
                           name: &str|
     -> Answer<Array> {
        let column = table.0.borrow().column(name).map_err(wrong)?;
        Ok(column.into_iter().map(of_cell).collect())
    });
    add!(words, "rows", |table: &mut Table| -> rhai::INT {
        table.0.borrow().rows.len() as rhai::INT
    });
    let shared = host.clone();
    add!(words, "show", move |table: &mut Table| {
        let mut host = shared.borrow_mut();
        let shown = table.0.borrow().clone();
        host.watch.tell(Output::Table(shown.clone()));
        host.outcome.tables.push(shown);
    });
    let shared = host.clone();
    add!(words, "save", move |table: &mut Table,
                              file: &str|
          -> Answer<()> {
        let csv = table.0.borrow().to_csv();
        let mut host = shared.borrow_mut();
        let path = host.write(&ending(file, "csv"), csv.as_bytes())?;
        host.watch.tell(Output::File(path));
        Ok(())
    });
}

fn table(data: TableData) -> Table {
    Table(Rc::new(RefCell::new(data)))
}

/// Every file says what it is.
fn ending(file: &str, ending: &str) -> String {
    let has = std::path::Path::new(file)
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(ending));
    if has {
        file.to_owned()
    } else {
        format!("{file}.{ending}")
    }
}

/// What an earlier script left, or a new table.
fn open_table(host: &Shared, file: &str, columns: &[String]) -> Answer<Table> {
    let file = ending(file, "csv");
    let path = host.borrow().sandbox.output(&file).map_err(wrong)?;
    let name = file.trim_end_matches(".csv");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(table(TableData {
                name: name.to_owned(),
                columns: columns.to_vec(),
                rows: Vec::new(),
            }));
        }
        Err(e) => {
            let problem = format!("'{}' cannot be read: {e}", path.display());
            return Err(host.borrow_mut().terminate(EndKind::Environment, problem));
        }
    };
    let found = TableData::from_csv(name, &text)
        .map_err(|e| wrong(format!("'{}' is damaged: {e}", path.display())))?;
    if found.columns != columns {
        return Err(wrong(format!(
            "'{}' has the columns {}; expected {}. Move it away to begin a new one",
            path.display(),
            found.columns.join(", "),
            columns.join(", ")
        )));
    }
    Ok(table(found))
}

fn add_plots(words: &mut Vocabulary<'_>, host: &Shared) {
    words.engine.register_type_with_name::<Plot>("Plot");
    add!(words, "plot", |title: &str, x: &str, y: &str| {
        Plot(Rc::new(RefCell::new(PlotData {
            title: title.to_owned(),
            x_title: x.to_owned(),
            y_title: y.to_owned(),
            ..PlotData::default()
        })))
    });
    add!(words, "line", |plot: &mut Plot,
                         name: &str,
                         x: Array,
                         y: Array| {
        series(plot, name, pairs(&x, &y)?, Style::Line)
    });
    add!(words, "dots", |plot: &mut Plot,
                         name: &str,
                         x: Array,
                         y: Array| {
        series(plot, name, pairs(&x, &y)?, Style::Dots)
    });
    add!(words, "line", |plot: &mut Plot,
                         name: &str,
                         signal: Signal| {
        series(plot, name, signal.over_time(), Style::Line)
    });
    add!(
        words,
        "line_along",
        |plot: &mut Plot, name: &str, signal: Signal| {
            let points = signal
                .over_place()
                .ok_or_else(|| wrong(format!("'{}' has no places along a line", signal.id)))?;
            series(plot, name, points, Style::Line)
        },
    );
    add!(words, "level", |plot: &mut Plot, y: Dynamic, text: &str| {
        let y = number(&y, "the level")?;
        plot.0.borrow_mut().levels.push((y, text.to_owned()));
        Ok::<(), Box<rhai::EvalAltResult>>(())
    });
    add!(words, "logarithmic", |plot: &mut Plot| {
        plot.0.borrow_mut().log_y = true;
    });
    add!(words, "from_zero", |plot: &mut Plot| {
        plot.0.borrow_mut().from_zero = true;
    });
    let shared = host.clone();
    add!(words, "save", move |plot: &mut Plot,
                              file: &str|
          -> Answer<()> {
        let data = plot.0.borrow().clone();
        let mut host = shared.borrow_mut();
        let path = host.write(&ending(file, "svg"), data.svg().as_bytes())?;
        host.watch.tell(Output::Plot(data, path));
        Ok(())
    });
}

fn pairs(x: &Array, y: &Array) -> Answer<Vec<[f64; 2]>> {
    let (x, y) = (numbers(x, "the list of x")?, numbers(y, "the list of y")?);
    if x.len() != y.len() {
        return Err(wrong(format!(
            "{} values of x do not fit {} values of y",
            x.len(),
            y.len()
        )));
    }
    Ok(x.into_iter().zip(y).map(|(x, y)| [x, y]).collect())
}

fn series(plot: &mut Plot, name: &str, points: Vec<[f64; 2]>, style: Style) -> Answer<()> {
    let mut plot = plot.0.borrow_mut();
    let before: usize = plot.series.iter().map(|s| s.points.len()).sum();
    if before + points.len() > MOST_POINTS {
        return Err(wrong(format!("a plot has at most {MOST_POINTS} points")));
    }
    plot.series.push(PlotSeries {
        name: name.to_owned(),
        points,
        style,
    });
    Ok(())
}

fn add_checks(words: &mut Vocabulary<'_>, host: &Shared) {
    let shared = host.clone();
    add!(words, "check", move |name: &str, holds: bool| {
        shared.borrow_mut().check(Check::flag(name, holds))
    });
    let shared = host.clone();
    add!(words, "check", move |name: &str,
                               value: Dynamic,
                               low: Dynamic,
                               high: Dynamic|
          -> Answer<bool> {
        let value = if value.is_unit() {
            f64::NAN
        } else {
            number(&value, "the value")?
        };
        let (low, high) = (
            number(&low, "the lower bound")?,
            number(&high, "the upper bound")?,
        );
        if low.is_nan() || high.is_nan() || low > high {
            return Err(wrong(format!(
                "the bounds {low} to {high} of '{name}' are refused: expected the lower one first"
            )));
        }
        let check = Check::within(name, value, low, high);
        Ok(shared.borrow_mut().check(check))
    },);
    let shared = host.clone();
    add!(words, "assert", move |holds: bool,
                                text: &str|
          -> Answer<()> {
        if holds {
            return Ok(());
        }
        let mut host = shared.borrow_mut();
        Err(host.terminate(EndKind::Failed, format!("the script demands: {text}")))
    });
}

fn add_surroundings(words: &mut Vocabulary<'_>, host: &Shared) {
    let shared = host.clone();
    add!(words, "progress", move |done: Dynamic,
                                  total: Dynamic,
                                  text: &str|
          -> Answer<()> {
        let (done, total) = (
            number(&done, "what is done")?,
            number(&total, "what there is to do")?,
        );
        let part = if total > 0.0 {
            (done / total).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let watch = &shared.borrow().watch;
        watch.tell(Output::Progress(part, text.to_owned()));
        Ok(())
    },);
    let shared = host.clone();
    add!(words, "setting", move |name: ImmutableString,
                                 default: Dynamic|
          -> Answer<Dynamic> {
        let mut host = shared.borrow_mut();
        host.asked.insert(name.to_string());
        match host.settings.get(name.as_str()) {
            Some(text) => of_setting(&name, text, &default),
            None => Ok(default),
        }
    },);
    // 250 km/h rather than 250.0 km/h.
    words
        .engine
        .register_fn("to_string", |value: f64| value.to_string());
    words
        .engine
        .register_fn("print", |value: f64| value.to_string());
    let shared = host.clone();
    add!(words, "is_exact", move || shared.borrow().is_exact);
    add!(words, "today", || Date::today().to_string());
}
