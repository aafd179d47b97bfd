"""Reference data of filters and statistics: `python3 signal_reference.py` writes signal.txt."""

import numpy as np
import scipy
from scipy import signal

from rows import write

RATE = 500.0
DESIGNS = [(1, 20.0), (2, 20.0), (3, 37.5), (4, 20.0), (5, 0.5), (6, 20.0), (8, 100.0), (4, 240.0)]
FREQUENCIES = np.array([0.0, 0.1, 1.0, 5.0, 19.0, 20.0, 21.0, 40.0, 100.0, 200.0, 249.0])

rows = {"frequencies": FREQUENCIES}
rng = np.random.default_rng(1)
t = np.arange(160) / RATE
record = 117.0 + 30 * np.sin(2 * np.pi * 3.1 * t) + 12 * rng.standard_normal(t.size)
rows["record"] = record
for order, cutoff in DESIGNS:
    sos = signal.butter(order, cutoff, fs=RATE, output="sos")
    _, h = signal.freqz_sos(sos, worN=FREQUENCIES, fs=RATE)
    key = f"{order}_{cutoff:g}"
    rows[f"real_{key}"] = h.real
    rows[f"imag_{key}"] = h.imag
    rows[f"causal_{key}"] = signal.sosfilt(sos, record)
    rows[f"zero_phase_{key}"] = signal.sosfiltfilt(sos, record)

reference = rows["zero_phase_4_20"]
mean, std = record.mean(), record.std()
shifted = record - 100.0
rows["statistics"] = [mean, std, mean + 3 * std, mean - 3 * std, record.max(), record.min(), 0.0]
rows["loss_percent_of_record_minus_100"] = [100.0 * np.mean(shifted <= 0)]
rows["error_index"] = [100 * np.sqrt(np.mean((record - reference) ** 2)) / reference.mean()]
write(__file__, "signal.txt", rows, f"scipy {scipy.__version__}, numpy {np.__version__}")
