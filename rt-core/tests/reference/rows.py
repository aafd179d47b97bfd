"""Writes named rows of numbers, every digit kept."""

import pathlib
import numpy as np


def write(script, name, rows, versions):
    path = pathlib.Path(script).parent / name
    with open(path, "w") as file:
        file.write(f"# written by {pathlib.Path(script).name} with {versions}\n")
        for key, values in rows.items():
            numbers = " ".join(repr(float(v)) for v in np.ravel(values))
            file.write(f"{key} {numbers}\n")
    print(path, path.stat().st_size, "bytes")
