//! Runs as tables of text: written for other programs, read back as a reference.

use super::error::CatenaryError;
use super::evaluate::{Reference, filtered};
use super::simulate::Series;
use crate::signal::contact_force::ForceFilter;
use std::fmt::Write;

/// The columns, in order: time, place, unfiltered and filtered force, height of the wire above nominal,
/// rise above its rest position.
pub const COLUMNS: [&str; 6] = [
    "time_s",
    "position_m",
    "force_n",
    "force_filtered_n",
    "height_m",
    "uplift_m",
];

impl Series {
    /// The series as comma-separated text with a header line.
    pub fn to_csv(&self, filter: ForceFilter) -> Result<String, CatenaryError> {
        let smooth = filtered(filter, &self.force, self.dt)?;
        let mut out = COLUMNS.join(",");
        out.push('\n');
        for (k, t) in self.times().enumerate() {
            // Writing to a string cannot fail. `{}` writes the shortest text that reads back the same.
            let _ = writeln!(
                out,
                "{t:.6},{},{},{},{},{}",
                self.x[k], self.force[k], smooth[k], self.height[k], self.rise[k]
            );
        }
        Ok(out)
    }
}

impl Reference {
    /// Reads the columns `time_s`, `position_m` and `force_n` of a series; others are passed over.
    pub fn from_csv(text: &str) -> Result<Self, CatenaryError> {
        let bad = |problem: String| CatenaryError::Reference(problem);
        let mut lines = text.lines().enumerate();
        let header = lines.next().map_or("", |(_, l)| l);
        let column = |name: &str| {
            header
                .split(',')
                .position(|c| c.trim() == name)
                .ok_or_else(|| {
                    bad(format!(
                        "its first line has no column '{name}'; it is '{header}'"
                    ))
                })
        };
        let (time, place, force) = (column("time_s")?, column("position_m")?, column("force_n")?);
        let mut times = Vec::new();
        let mut reference = Self::default();
        for (number, line) in lines.filter(|(_, l)| !l.trim().is_empty()) {
            let value = |column: usize| {
                let text = line.split(',').nth(column).unwrap_or("").trim();
                text.parse::<f64>()
                    .ok()
                    .filter(|v| v.is_finite())
                    .ok_or_else(|| {
                        bad(format!(
                            "line {}, column {}: '{text}' is not a number",
                            number + 1,
                            column + 1
                        ))
                    })
            };
            times.push(value(time)?);
            reference.x.push(value(place)?);
            reference.force.push(value(force)?);
        }
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return Err(bad("it has no rows".into()));
        };
        if times.len() < 2 {
            return Err(bad("it has a single row".into()));
        }
        reference.dt = (last - first) / (times.len() - 1) as f64;
        // Times are written to the microsecond.
        let uneven = times
            .windows(2)
            .position(|w| (w[1] - w[0] - reference.dt).abs() > 2e-6);
        if let Some(i) = uneven {
            return Err(bad(format!(
                "its time steps are not equal at line {}",
                i + 3
            )));
        }
        Ok(reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_series_reads_back_as_it_was() {
        let n = 200;
        let series = Series {
            dt: 2e-3,
            x: (0..n).map(|i| 130.0 + 0.1 * f64::from(i)).collect(),
            force: (0..n).map(|i| 150.0 + f64::from(i).sin()).collect(),
            height: vec![0.1; n as usize],
            rise: vec![0.11; n as usize],
            ..Series::default()
        };
        let text = series.to_csv(ForceFilter::default()).unwrap();
        let read = Reference::from_csv(&text).unwrap();
        assert_eq!((read.x, read.force), (series.x, series.force));
        assert!((read.dt - 2e-3).abs() < 1e-12);
        assert_eq!(text.lines().next(), Some(COLUMNS.join(",").as_str()));
    }

    #[test]
    fn bad_text_is_refused_with_its_place() {
        let text = |s: &str| Reference::from_csv(s).unwrap_err().to_string();
        assert!(text("").contains("time_s"));
        assert!(text("time_s,force_n\n").contains("position_m"));
        let head = "time_s,position_m,force_n\n";
        assert!(text(head).contains("no rows"));
        assert!(text(&format!("{head}0,1,NaN\n")).contains("line 2, column 3: 'NaN'"));
        assert!(text(&format!("{head}0,1,2\n1,2,3\n3,4,5\n")).contains("not equal at line"));
    }
}
