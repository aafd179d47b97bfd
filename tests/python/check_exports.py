"""Holds what Python reads of a recording against our own table of text: check_exports.py LOADER MCAP CSV PARQUET.

LOADER is the code of README.md, run as it stands there. Values have to be the same to the last bit, as doubles or
as floats, whichever was recorded.
"""
import csv
import json
import runpy
import sys

import numpy as np
import pandas
import pyarrow.parquet

loader, recording, table, parquet = sys.argv[1:]

with open(table, newline="") as file:
    heading, *rows = csv.reader(file)
text = {name: [row[i] for row in rows] for i, name in enumerate(heading)}
units = {}
columns = {}
for name in heading[4:]:
    id, _, unit = name.partition(" [")
    units[id] = unit.removesuffix("]")
    columns[id] = text[name]
assert units["force"] == "N" and len(rows) > 1000, (units, len(rows))


def same(values, texts, what):
    values = np.asarray(values)
    expected = np.array([float(t) for t in texts]).astype(values.dtype)
    assert np.array_equal(values, expected, equal_nan=True), what


# The loader of README.md.
sys.argv = [loader, recording]
found = runpy.run_path(loader)
assert list(found["data"]) == list(columns), (list(found["data"]), list(columns))
assert found["units"] == units, (found["units"], units)
assert [f.seq for f in found["frames"]] == [int(s) for s in text["seq"]]
assert [f.t_nanos for f in found["frames"]] == [int(t.replace(".", "")) for t in text["t [s]"]]
assert "parameter" in [e.kind for e in found["events"]]
single = 0
for id, texts in columns.items():
    values = np.array(found["data"][id])
    is_single = np.array_equal(values.astype(np.float32).astype(float), values, equal_nan=True)
    single += is_single
    same(values.astype(np.float32) if is_single else values, texts, id)

# Parquet, by pyarrow and by pandas.
file = pyarrow.parquet.ParquetFile(parquet)
assert file.schema_arrow.names == ["seq", "t_s", "state", "drive_on", *columns], file.schema_arrow.names
about = {k.decode(): v.decode() for k, v in file.metadata.metadata.items()}
assert json.loads(about["units"]) == units
assert list(json.loads(about["labels"])) and json.loads(about["roles"])["force"] == "measured"
assert about["title"] == "test" and about["operator"] == "late shift"
assert json.loads(about["parameters"])["scale"] == 1.0
assert "Session(" in about["file.session.ron"]
assert len(json.loads(about["events"])) == len(found["events"])
assert file.metadata.row_group(0).column(0).compression == "ZSTD"
read = file.read()
assert read.num_rows == len(rows)
assert read["seq"].to_pylist() == [int(s) for s in text["seq"]]
same(read["t_s"], text["t [s]"], "t_s")
assert read["state"].to_pylist() == text["state"]
assert read["drive_on"].to_pylist() == [d == "on" for d in text["drive"]]
for id, texts in columns.items():
    same(read[id].to_numpy(), texts, id)
kinds = {str(read[id].type) for id in columns}
assert kinds == {"double", "float"}, kinds
frame = pandas.read_parquet(parquet)
assert frame["force"].max() == max(found["data"]["force"])
print(f"{len(rows)} rows, {len(columns)} channels, {single} of them in single precision: all the same")
