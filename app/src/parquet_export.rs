//! Recordings as Parquet: a column a channel, with units and everything about the session beside them.
//!
//! | column | type | holds |
//! |---|---|---|
//! | `seq` | int64 | tick |
//! | `t_s` | double | time since the loop started, in s |
//! | `state` | string, dictionary | state of the bench |
//! | `drive_on` | boolean | whether the actuators are powered |
//! | one a channel, by its identifier | double or float, as recorded | values in SI units; NaN where there is none |
//!
//! Key-value metadata of the file: `units`, `labels`, `roles`, `parameters`, `result`, `events`,
//! `model_hashes`, `real_time` and `further` as JSON, the configuration files as `file.NAME`, the rest of the
//! header by its names.

use crate::event_record;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use rt_core::guard::Drive;
use rt_core::record::error::RecordError;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::schema::{Precision, RecordedChannel};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns that are there besides the channels'.
const OWN_COLUMNS: [&str; 4] = ["seq", "t_s", "state", "drive_on"];
/// Values of a row group are kept in memory until it is written: about this many bytes.
const GROUP_BYTES: usize = 32 << 20;
/// More rows in a group help no reader.
const MOST_GROUP_ROWS: usize = 1 << 18;

/// Rows that are not written yet, column by column.
struct Group {
    seq: Vec<i64>,
    t_s: Vec<f64>,
    state: Vec<ByteArray>,
    drive_on: Vec<bool>,
    channels: Vec<Values>,
}

/// The values of a channel, as exact as they were recorded.
enum Values {
    Exact(Vec<f64>),
    Single(Vec<f32>),
}

/// Writes frames of a stretch; an empty list of channels stands for all. The file must not exist; it is
/// written under another name, `OUT.part`, and renamed when it is whole. Returns the number of rows.
pub fn write(
    session: &Session,
    channels: &[&str],
    range: TimeRange,
    out: &Path,
) -> Result<u64, RecordError> {
    let all = &session.header().channels;
    let columns: Vec<usize> = if channels.is_empty() {
        (0..all.len()).collect()
    } else {
        let find = |id: &&str| session.column_index(id);
        channels.iter().map(find).collect::<Result<_, _>>()?
    };
    if out.exists() {
        return Err(refused(out)(io::ErrorKind::AlreadyExists.into()));
    }
    let part = part_of(out);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&part)
        .map_err(refused(&part))?;
    let written = write_to(session, &columns, range, file, &part)
        .and_then(|rows| publish(&part, out).map(|()| rows));
    if written.is_err() {
        // Half a table is of no use; what went wrong matters more than whether it could be removed.
        let _ = fs::remove_file(&part);
    }
    written
}

fn part_of(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Gives a whole file its name, never over another one.
fn publish(part: &Path, out: &Path) -> Result<(), RecordError> {
    match fs::hard_link(part, out) {
        Ok(()) => fs::remove_file(part).map_err(refused(part)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(refused(out)(e)),
        // File systems of memory sticks know no second names.
        Err(_) => fs::rename(part, out).map_err(refused(out)),
    }
}

fn refused(path: &Path) -> impl Fn(io::Error) -> RecordError {
    let path = path.to_owned();
    move |source| RecordError::Io {
        doing: "write the table",
        path: path.clone(),
        source,
    }
}

fn write_to(
    session: &Session,
    columns: &[usize],
    range: TimeRange,
    file: File,
    part: &Path,
) -> Result<u64, RecordError> {
    let error = |e: ParquetError| {
        refused(part)(match e {
            ParquetError::External(e) => match e.downcast::<io::Error>() {
                Ok(e) => *e,
                Err(e) => io::Error::other(e.to_string()),
            },
            other => io::Error::other(other.to_string()),
        })
    };
    let header = session.header();
    let chosen: Vec<&RecordedChannel> = columns.iter().map(|c| &header.channels[*c]).collect();
    let names = column_names(&chosen);
    let schema = schema(&chosen, &names).map_err(error)?;
    let properties = Arc::new(properties(session, range, &chosen, &names)?);
    let mut writer =
        SerializedFileWriter::new(BufWriter::new(file), schema, properties).map_err(error)?;
    let most_rows = (GROUP_BYTES / (8 * (chosen.len() + OWN_COLUMNS.len()))).min(MOST_GROUP_ROWS);
    let mut group = Group::new(&chosen);
    let mut rows = 0;
    for recorded in session.frames(range) {
        let frame = recorded?.frame;
        group.seq.push(frame.seq as i64);
        // As a table of text has it: a product with 1e-9 would be off by a bit now and then.
        group.t_s.push(frame.t_nanos as f64 / 1e9);
        group.state.push(frame.state.name().into());
        group.drive_on.push(frame.drive == Drive::On);
        for (values, column) in group.channels.iter_mut().zip(columns) {
            match values {
                Values::Exact(values) => values.push(frame.values[*column]),
                Values::Single(values) => values.push(frame.values[*column] as f32),
            }
        }
        rows += 1;
        if group.seq.len() >= most_rows {
            group.write(&mut writer).map_err(error)?;
            group = Group::new(&chosen);
        }
    }
    if !group.seq.is_empty() {
        group.write(&mut writer).map_err(error)?;
    }
    let file = writer.into_inner().map_err(error)?;
    let file = file
        .into_inner()
        .map_err(|e| refused(part)(e.into_error()))?;
    file.sync_all().map_err(refused(part))?;
    Ok(rows)
}

impl Group {
    fn new(channels: &[&RecordedChannel]) -> Self {
        let values = |channel: &&RecordedChannel| match channel.precision {
            Precision::Exact => Values::Exact(Vec::new()),
            Precision::Single => Values::Single(Vec::new()),
        };
        Self {
            seq: Vec::new(),
            t_s: Vec::new(),
            state: Vec::new(),
            drive_on: Vec::new(),
            channels: channels.iter().map(values).collect(),
        }
    }

    fn write<W: Write + Send>(
        &self,
        writer: &mut SerializedFileWriter<W>,
    ) -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        put::<Int64Type, _>(&mut group, &self.seq)?;
        put::<DoubleType, _>(&mut group, &self.t_s)?;
        put::<ByteArrayType, _>(&mut group, &self.state)?;
        put::<BoolType, _>(&mut group, &self.drive_on)?;
        for values in &self.channels {
            match values {
                Values::Exact(values) => put::<DoubleType, _>(&mut group, values)?,
                Values::Single(values) => put::<FloatType, _>(&mut group, values)?,
            }
        }
        group.close()?;
        Ok(())
    }
}

/// Writes the next column of a row group.
fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("there are more values than columns".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// Identifiers as names; one that is called like a column of ours gets an underscore.
fn column_names(channels: &[&RecordedChannel]) -> Vec<String> {
    let mut taken: Vec<String> = OWN_COLUMNS.map(str::to_owned).into();
    for channel in channels {
        let mut name = channel.id.clone();
        while taken.contains(&name) {
            name.push('_');
        }
        taken.push(name);
    }
    taken.split_off(OWN_COLUMNS.len())
}

fn schema(channels: &[&RecordedChannel], names: &[String]) -> Result<TypePtr, ParquetError> {
    let column = |name: &str, physical: Physical, logical: Option<LogicalType>| {
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    };
    let [seq, t_s, state, drive_on] = OWN_COLUMNS;
    let mut fields = vec![
        column(seq, Physical::INT64, None)?,
        column(t_s, Physical::DOUBLE, None)?,
        column(state, Physical::BYTE_ARRAY, Some(LogicalType::String))?,
        column(drive_on, Physical::BOOLEAN, None)?,
    ];
    for (channel, name) in channels.iter().zip(names) {
        let physical = match channel.precision {
            Precision::Exact => Physical::DOUBLE,
            Precision::Single => Physical::FLOAT,
        };
        fields.push(column(name, physical, None)?);
    }
    let root = Type::group_type_builder("frames").with_fields(fields);
    root.build().map(Arc::new)
}

fn properties(
    session: &Session,
    range: TimeRange,
    channels: &[&RecordedChannel],
    names: &[String],
) -> Result<WriterProperties, RecordError> {
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        // A dictionary of measured values is larger than the values; few columns are worth one.
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(ColumnPath::from(OWN_COLUMNS[2]), true)
        .set_created_by(format!("pantobench {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata(session, range, channels, names)?))
        .build())
}

/// Everything that a recording says about itself.
fn metadata(
    session: &Session,
    range: TimeRange,
    channels: &[&RecordedChannel],
    names: &[String],
) -> Result<Vec<KeyValue>, RecordError> {
    let header = session.header();
    let by_name = |text: fn(&RecordedChannel) -> &str| -> String {
        let pairs = names.iter().zip(channels);
        let pairs = pairs.map(|(name, channel)| (name.clone(), json!(text(channel))));
        Value::Object(pairs.collect()).to_string()
    };
    let end = session.end().cloned().unwrap_or_default();
    let events: Vec<Value> = session
        .events(range)?
        .iter()
        .map(event_record::to_json)
        .collect();
    let speed = header.speed_kmh.map_or_else(String::new, |v| v.to_string());
    let mut pairs: Vec<(String, String)> = [
        ("format_version", session.version().to_string()),
        ("software_version", header.software_version.clone()),
        ("bench", header.bench.clone()),
        ("title", header.title.clone()),
        ("specimen", header.specimen.clone()),
        ("line", header.line.clone()),
        ("speed_kmh", speed),
        ("operator", header.operator.clone()),
        ("notes", header.notes.clone()),
        ("period_nanos", header.period_nanos.to_string()),
        ("t0_unix_nanos", header.t0_unix_nanos.to_string()),
        ("units", by_name(|c| &c.unit)),
        ("labels", by_name(|c| &c.label)),
        ("roles", by_name(|c| c.role.name())),
        ("parameters", json!(header.parameters).to_string()),
        ("model_hashes", json!(header.model_hashes).to_string()),
        ("real_time", json!(header.real_time).to_string()),
        ("further", json!(header.further).to_string()),
        ("reason", end.reason),
        ("result", json!(end.result).to_string()),
        ("drops", session.info().drops.to_string()),
        ("events", Value::Array(events).to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    let files = header.files.iter();
    pairs.extend(files.map(|(name, text)| (format!("file.{name}"), text.clone())));
    Ok(pairs
        .into_iter()
        .map(|(key, value)| KeyValue::new(key, value))
        .collect())
}
