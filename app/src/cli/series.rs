//! Force series as CSV: written by one simulation, read as the reference of another.

use super::Failure;
use rt_core::model::catenary::{Filter, Reference, Series};
use std::io::{BufWriter, Write};
use std::path::Path;

const HEADING: &str = "time_s,position_m,force_raw_n,force_20hz_n,wire_height_m,uplift_m";

/// Writes every step of a run.
pub fn write(path: &Path, series: &Series) -> Result<(), Failure> {
    let filtered = Filter::default()
        .apply(&series.force, series.dt)
        .map_err(Failure::input)?;
    let rows = series.times().enumerate().map(|(i, t)| {
        let columns = [
            series.x[i],
            series.force[i],
            filtered[i],
            series.height[i],
            series.rise[i],
        ];
        let columns: Vec<String> = columns.iter().map(f64::to_string).collect();
        format!("{t},{}", columns.join(","))
    });
    let save = || -> std::io::Result<()> {
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        writeln!(file, "{HEADING}")?;
        for row in rows {
            writeln!(file, "{row}")?;
        }
        file.flush()
    };
    save().map_err(|e| Failure::Environment(format!("cannot write '{}': {e}", path.display())))
}

/// Reads what [`write()`] wrote.
pub fn read(path: &Path) -> Result<Reference, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::Input(format!(
            "cannot read the reference series '{}': {e}",
            path.display()
        ))
    })?;
    parse(&text)
        .map_err(|(line, problem)| Failure::Input(format!("{}:{line}: {problem}", path.display())))
}

fn parse(text: &str) -> Result<Reference, (usize, String)> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, l)| l.trim()) != Some(HEADING) {
        return Err((
            1,
            format!("this is not a series; expected the heading '{HEADING}'"),
        ));
    }
    let mut reference = Reference::default();
    let mut times = Vec::new();
    for (i, line) in lines {
        let fields: Option<Vec<f64>> = line.split(',').map(|f| f.trim().parse().ok()).collect();
        match fields.as_deref() {
            Some([t, x, force, _, _, _]) => {
                times.push(*t);
                reference.x.push(*x);
                reference.force.push(*force);
            }
            _ => return Err((i + 1, format!("expected six numbers, found '{line}'"))),
        }
    }
    if let [first, .., last] = times[..] {
        reference.dt = (last - first) / (times.len() - 1) as f64;
    }
    Ok(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_series_is_read_again_to_the_last_bit() {
        let n = 200;
        let series = Series {
            dt: 0.0005,
            x: (0..n).map(|i| f64::from(i) * 0.04).collect(),
            force: (0..n).map(|i| 150.0 + (f64::from(i) * 0.1).sin()).collect(),
            height: vec![0.01; n as usize],
            rise: vec![0.02; n as usize],
            ..Series::default()
        };
        let path =
            std::env::temp_dir().join(format!("pantobench-series-{}.csv", std::process::id()));
        write(&path, &series).unwrap();
        let found = read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((&found.x, &found.force), (&series.x, &series.force));
        assert!((found.dt - 0.0005).abs() < 1e-15);
    }

    #[test]
    fn a_file_of_another_kind_is_refused_with_its_line() {
        assert!(parse("a,b\n1,2\n").unwrap_err().1.contains("heading"));
        let (line, problem) = parse(&format!("{HEADING}\n1,2,3,4,5,6\n1,2,x,4,5,6\n")).unwrap_err();
        assert!(
            line == 3 && problem.contains("six numbers"),
            "{line}: {problem}"
        );
    }
}
