//! All results of a study as one Parquet table: a row a sample, failed ones with their reason. The same study gives the
//! same bytes, whoever computed its tasks in whichever order.

use super::case::OUTPUTS;
use super::store::TaskResult;
use super::{Loaded, StudyError};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The table, in memory.
pub fn bytes(study: &Loaded, results: &[TaskResult]) -> Result<Vec<u8>, StudyError> {
    written(study, results).map_err(|e| StudyError::Other(format!("the table cannot be made: {e}")))
}

fn written(study: &Loaded, results: &[TaskResult]) -> Result<Vec<u8>, ParquetError> {
    let column = |name: &str, physical: Physical, logical: Option<LogicalType>| {
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    };
    let mut fields = vec![column("index", Physical::INT64, None)?];
    for name in study.study.vary.keys() {
        fields.push(column(name, Physical::DOUBLE, None)?);
    }
    for (name, _) in OUTPUTS {
        fields.push(column(name, Physical::DOUBLE, None)?);
    }
    for name in ["status", "reason"] {
        fields.push(column(
            name,
            Physical::BYTE_ARRAY,
            Some(LogicalType::String),
        )?);
    }
    let schema = Type::group_type_builder("samples")
        .with_fields(fields)
        .build()
        .map(Arc::new)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("pantobench {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata(study)))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let indices: Vec<i64> = (0..results.len() as i64).collect();
    put::<Int64Type>(&mut group, &indices)?;
    for d in 0..study.study.vary.len() {
        let values: Vec<f64> = study.values.iter().map(|row| row[d]).collect();
        put::<DoubleType>(&mut group, &values)?;
    }
    for i in 0..OUTPUTS.len() {
        let value = |r: &TaskResult| r.outcome.as_ref().map_or(f64::NAN, |outputs| outputs[i]);
        put::<DoubleType>(&mut group, &results.iter().map(value).collect::<Vec<f64>>())?;
    }
    let status = |r: &TaskResult| ByteArray::from(if r.outcome.is_ok() { "ok" } else { "failed" });
    put::<ByteArrayType>(&mut group, &results.iter().map(status).collect::<Vec<_>>())?;
    let reason =
        |r: &TaskResult| ByteArray::from(r.outcome.as_ref().err().map_or("", String::as_str));
    put::<ByteArrayType>(&mut group, &results.iter().map(reason).collect::<Vec<_>>())?;
    group.close()?;
    writer.into_inner()
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("there are more values than columns".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn metadata(study: &Loaded) -> Vec<KeyValue> {
    let units: Map<String, Value> = OUTPUTS
        .iter()
        .map(|(key, unit)| ((*key).to_owned(), json!(unit)))
        .collect();
    [
        ("title", study.study.title.clone()),
        ("design", study.study.design.name().to_owned()),
        ("seed", study.study.seed.to_string()),
        ("samples", study.values.len().to_string()),
        ("fingerprint", study.fingerprint.clone()),
        ("software_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("units", Value::Object(units).to_string()),
        ("file.study.ron", study.text.clone()),
    ]
    .map(|(key, value)| KeyValue::new(key.to_owned(), value))
    .into()
}
