//! Reports of recordings: one document, written as HTML or as PDF.
//!
//! `compose` reads recordings (`evidence`) and makes a `Document` of them (`sections`); `html` and `pdf` draw the
//! same one. [`write()`] does all of it and gives what a program wants to know.

mod budget;
pub mod document;
mod evidence;
mod figures;
mod html;
mod outcome;
mod pdf;
mod sections;
mod standard;
pub mod symbols;
mod uncertainty;

use crate::analysis::force_limits::ForceLimits;
use document::Document;
use evidence::Evidence;
use rt_core::record::error::RecordError;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a report is made with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether runs along a line are compared with the implicit reference, which takes its time.
    pub against_implicit: bool,
    /// When it is made, in nanoseconds since 1970.
    pub made_unix_nanos: u64,
    /// What `pantobench iterate --json` said, if an iterative validation is part of the report.
    pub validation: Option<Value>,
    /// Where it goes, for the command that makes it again.
    pub out: PathBuf,
    /// The recordings as they were named, for the same command.
    pub recordings: Vec<PathBuf>,
}

impl Options {
    /// A report that is made now.
    pub fn new(recordings: &[PathBuf], out: &Path) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            against_implicit: false,
            validation: None,
            // Fits: 2⁶⁴ ns are 585 years.
            made_unix_nanos: since_1970.unwrap_or_default().as_nanos() as u64,
            out: out.to_owned(),
            recordings: recordings.to_vec(),
        }
    }

    /// The command that makes the same report.
    fn command(&self) -> String {
        let quoted = |path: &PathBuf| {
            let path = path.display().to_string();
            let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@".contains(c);
            if !path.is_empty() && path.chars().all(is_plain) {
                path
            } else {
                format!("'{}'", path.replace('\'', "'\\''"))
            }
        };
        let mut words = vec!["pantobench report".to_owned()];
        words.extend(self.recordings.iter().map(quoted));
        words.push(format!("--out {}", quoted(&self.out)));
        if self.against_implicit {
            words.push("--against implicit".into());
        }
        words.join(" ")
    }
}

/// Formats that a report is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One file with everything inside.
    Html,
    /// Pages.
    Pdf,
}

impl Format {
    /// By the ending of a name.
    pub fn of(path: &Path) -> Result<Self, ReportError> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        match ending.to_lowercase().as_str() {
            "html" | "htm" => Ok(Self::Html),
            "pdf" => Ok(Self::Pdf),
            _ => Err(ReportError::Format {
                path: path.to_owned(),
            }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Pdf => "pdf",
        }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Nothing to report about.
    #[error("no recording was given; expected at least one")]
    Nothing,
    /// A name whose ending says no format.
    #[error("'{}' ends neither in .html nor in .pdf, so the format is not known; name the report accordingly", path.display())]
    Format {
        /// The name.
        path: PathBuf,
    },
    /// A recording cannot be opened.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The limits of the standard cannot be read.
    #[error("{0}")]
    Limits(String),
    /// The pages cannot be made.
    #[error("the pages cannot be made: {0}")]
    Pages(String),
    /// The disk refuses.
    #[error("'{}' cannot be written: {source}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Reads recordings and makes a document of them.
fn compose(options: &Options) -> Result<(Document, Value), ReportError> {
    if options.recordings.is_empty() {
        return Err(ReportError::Nothing);
    }
    let limits = ForceLimits::ac_25_kv().map_err(ReportError::Limits)?;
    let mut all = Vec::new();
    for path in &options.recordings {
        all.push(Evidence::of(path, options.against_implicit)?);
    }
    let document = sections::document(&all, &limits, options);
    Ok((document, outcome::of(&all, &limits)))
}

/// Writes a report of recordings to a file, whose ending says the format. Gives what it says in figures: `out`, `format`,
/// `pages` (of a PDF), `made`, and for each of `recordings` what was found.
pub fn write(options: &Options) -> Result<Value, ReportError> {
    // A name that says no format is refused before anything is read.
    let format = Format::of(&options.out)?;
    let (document, recordings) = compose(options)?;
    let (bytes, pages) = match format {
        Format::Html => (html::write(&document).into_bytes(), None),
        Format::Pdf => {
            let (bytes, pages) =
                pdf::write(&document, options.made_unix_nanos).map_err(ReportError::Pages)?;
            (bytes, Some(pages))
        }
    };
    crate::export::write_whole(&options.out, &bytes).map_err(|source| ReportError::Write {
        path: options.out.clone(),
        source,
    })?;
    Ok(json!({
        "out": options.out,
        "format": format.name(),
        "pages": pages,
        "bytes": bytes.len(),
        "recordings": recordings,
    }))
}
