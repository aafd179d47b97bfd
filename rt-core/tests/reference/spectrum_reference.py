"""Reference data of spectra, bands, spans and comparisons: `python3 spectrum_reference.py` writes spectrum.txt."""

import numpy as np
import scipy
from scipy import signal

from rows import write

RATE = 500.0
rng = np.random.default_rng(2)
n = np.arange(700)
t = n / RATE
noise = rng.standard_normal(n.size)
# Rounded, so that the file stays small; every result below belongs to the rounded records.
x = np.round(117.0 + 30 * np.sin(2 * np.pi * 3.1 * t) + 8 * np.sin(2 * np.pi * 11.3 * t) + 12 * noise, 3)
y = np.round(5.0 + signal.lfilter([0.2], [1.0, -0.8], x) + 3 * rng.standard_normal(n.size), 3)
rows = {"x": x, "y": y}

# name: segment, overlap, window, detrend
CASES = {
    "default": (128, 64, "hann", "constant"),
    "odd": (75, 30, "hann", "constant"),
    "boxcar": (100, 0, "boxcar", False),
    "hamming": (64, 48, "hamming", "constant"),
}
for name, (segment, overlap, window, detrend) in CASES.items():
    options = dict(fs=RATE, window=window, nperseg=segment, noverlap=overlap, detrend=detrend)
    rows[f"frequencies_{name}"], rows[f"welch_{name}"] = signal.welch(x, **options)
    _, xy = signal.csd(x, y, **options)
    rows[f"csd_real_{name}"], rows[f"csd_imag_{name}"] = xy.real, xy.imag
    rows[f"coherence_{name}"] = signal.coherence(x, y, **options)[1]
    if name == "odd":
        _, times, density = signal.spectrogram(x, **options)
        rows["spectrogram_times"], rows["spectrogram"] = times, density.T

FREQUENCIES = np.array([0.0, 0.1, 1.0, 5.0, 10.0, 20.0, 40.0, 100.0, 249.0])
rows["frequencies_band_pass"] = FREQUENCIES
for order, low, high in [(1, 5.0, 20.0), (2, 5.0, 20.0), (3, 0.5, 40.0), (4, 5.0, 20.0)]:
    sos = signal.butter(order, [low, high], btype="bandpass", fs=RATE, output="sos")
    _, h = signal.freqz_sos(sos, worN=FREQUENCIES, fs=RATE)
    key = f"{order}_{low:g}_{high:g}"
    rows[f"band_pass_real_{key}"], rows[f"band_pass_imag_{key}"] = h.real, h.imag
    rows[f"band_pass_zero_phase_{key}"] = signal.sosfiltfilt(sos, x)


def band_filter(low, high, rate):
    if low == 0:
        return signal.butter(4, high, fs=rate, output="sos")
    return signal.butter(4, [low, high], btype="bandpass", fs=rate, output="sos")


def band_power(values, rate, low, high):
    """Mean square in a band: whole cells of the periodogram, the two at the edges in part."""
    f, p = signal.periodogram(values, fs=rate, window="boxcar", detrend=False)
    step = f[1]
    start, end = np.maximum(f - step / 2, 0), np.minimum(f + step / 2, rate / 2)
    inside = np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None)
    return np.sum(p * step * inside / (end - start))


BANDS = [(0.0, 5.0), (5.0, 20.0), (0.0, 20.0)]
rows["band_by_filter"] = [np.std(signal.sosfiltfilt(band_filter(*b, RATE), x)) for b in BANDS]
rows["band_by_spectrum"] = [np.sqrt(band_power(x - x.mean(), RATE, *b)) for b in BANDS]

smooth = signal.sosfiltfilt(band_filter(0.0, 20.0, RATE), x)
lost = x <= 75.0
ends = np.flatnonzero(np.diff(np.concatenate([[0], lost, [0]])))
durations = (ends[1::2] - ends[::2]) / RATE
rows["report_filtered"] = [smooth.mean(), smooth.std(), smooth.mean() + 3 * smooth.std(),
                           smooth.mean() - 3 * smooth.std(), smooth.max(), smooth.min()]
rows["report_losses_at_75"] = [durations.size, durations.max(), durations.sum(), 100 * lost.mean()]
rows["histogram"], rows["histogram_edges"] = np.histogram(x, bins=13, range=(70.0, 160.0))
rows["histogram_outside"] = [np.sum(x < 70.0), np.sum(x > 160.0)]

places = 80.0 * t + 0.3 * np.sin(2 * np.pi * 0.7 * t)
rows["places"] = places
SUPPORTS = [10.0, 35.0, 60.0, 99.5]
rows["supports"] = SUPPORTS
rows["spans"] = [[s.size, s.mean(), s.std(), s.max(), s.min()]
                 for s in (x[(places >= a) & (places < b)] for a, b in zip(SUPPORTS, SUPPORTS[1:]))]

# A reference with another rate and other places, which begins later and ends earlier.
at = np.arange(1100) / 1000.0 + 0.1
reference_places = 80.0 * at + 0.3 * np.sin(2 * np.pi * 0.7 * at)
reference = np.round(117.0 + 30 * np.sin(2 * np.pi * 3.1 * at) + 8 * np.sin(2 * np.pi * 11.3 * at), 3)
rows["reference_places"], rows["reference"] = reference_places, reference
inside = (places >= reference_places[0]) & (places <= reference_places[-1])
aligned = np.interp(places[inside], reference_places, reference)
difference = x[inside] - aligned
rows["aligned"] = aligned
rows["comparison"] = [inside.sum(), aligned.mean(), 100 * np.sqrt(np.mean(difference**2)) / aligned.mean()]
by_filter, by_spectrum = [], []
for band in BANDS:
    filtered = signal.sosfiltfilt(band_filter(*band, RATE), difference)
    by_filter.append(100 * np.sqrt(np.mean(filtered**2)) / aligned.mean())
    by_spectrum.append(100 * np.sqrt(band_power(difference, RATE, *band)) / aligned.mean())
rows["comparison_by_filter"], rows["comparison_by_spectrum"] = by_filter, by_spectrum

# Shift of two records against each other: the coefficient of each overlap, by numpy.
late = np.roll(smooth, 9)[20:]
early = smooth[20:]
lags = np.arange(-25, 26)
coefficients = [np.corrcoef(late[max(k, 0):late.size + min(k, 0)],
                            early[max(-k, 0):early.size - max(k, 0)])[0, 1] for k in lags]
best = int(np.argmax(coefficients))
a, b, c = np.polyfit([-1, 0, 1], coefficients[best - 1:best + 2], 2)
rows["lag"] = [lags[best] - b / (2 * a), coefficients[best]]
rows["smooth"] = smooth
write(__file__, "spectrum.txt", rows, f"scipy {scipy.__version__}, numpy {np.__version__}")
