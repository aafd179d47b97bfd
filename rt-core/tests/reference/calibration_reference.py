"""Reference data of calibrations: `python3 calibration_reference.py` writes calibration.txt."""

import numpy as np
import scipy
from scipy import stats

from rows import write

rng = np.random.default_rng(6)
rows = {}
CASES = {
    # name: loads in N, true slope in N per unit, true zero reading, scatter of the readings
    "up": (np.array([0.0, 50.0, 100.0, 200.0, 300.0]), 497.0, 0.0312, 2e-4),
    "up_and_down": (np.array([0.0, 100.0, 200.0, 300.0, 200.0, 100.0, 0.0]), 503.0, -0.0187, 3e-4),
    # Counts of a converter, far from zero, a cell that is mounted the other way round.
    "counts": (np.array([-200.0, 0.0, 150.0, 400.0, 400.0]), -0.0125, 812345.0, 9.0),
}
for name, (loads, slope, zero, scatter) in CASES.items():
    digits = 6 if abs(zero) < 1 else 1
    readings = np.round(loads / slope + zero + scatter * rng.standard_normal(loads.size), digits)
    b, a = np.polyfit(loads, readings, 1)
    # Another way to the same line, with the standard error of its slope.
    line = stats.linregress(loads, readings)
    residuals = (readings - a - b * loads) / b
    rows[f"{name}_loads"], rows[f"{name}_readings"] = loads, readings
    rows[f"{name}_polyfit"] = [1 / b, -a / b]
    rows[f"{name}_linregress"] = [1 / line.slope, -line.intercept / line.slope]
    rows[f"{name}_residuals"] = residuals
    rows[f"{name}_linearity_pct"] = [100 * np.max(np.abs(residuals)) / np.ptp(loads)]
    rows[f"{name}_standard_error"] = [np.sqrt(np.sum(residuals**2) / (loads.size - 2))]
    rows[f"{name}_slope_error_pct"] = [100 * line.stderr / abs(line.slope)]
write(__file__, "calibration.txt", rows, f"numpy {np.__version__}, scipy {scipy.__version__}")
