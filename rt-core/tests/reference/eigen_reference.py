"""Lowest eigenvalues of three equal catenary spans: `python3 eigen_reference.py` writes eigen.txt.

The matrices are assembled here again, from the shape functions by Gauss quadrature; eigsh
(shift-invert at 0) is compared with the dense eigh before it is written.
"""

import numpy as np
import scipy
from scipy.linalg import eigh
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import eigsh

from rows import write

SPANS, ELEMENTS, COUNT = 3, 30, 60
h = 60.0 / ELEMENTS
nodes = SPANS * ELEMENTS + 1
n = 4 * nodes


def element(tension, bending, mass):
    k, m = np.zeros((4, 4)), np.zeros((4, 4))
    points, weights = np.polynomial.legendre.leggauss(6)
    for point, weight in zip(points, weights):
        s = (1 + point) / 2
        shape = np.array([1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3),
                          3 * s**2 - 2 * s**3, h * (s**3 - s**2)])
        slope = np.array([-6 * s + 6 * s**2, h * (1 - 4 * s + 3 * s**2),
                          6 * s - 6 * s**2, h * (3 * s**2 - 2 * s)]) / h
        curve = np.array([-6 + 12 * s, h * (-4 + 6 * s), 6 - 12 * s, h * (6 * s - 2)]) / h**2
        k += weight * h / 2 * (tension * np.outer(slope, slope) + bending * np.outer(curve, curve))
        m += weight * h / 2 * mass * np.outer(shape, shape)
    return k, m


K, M = np.zeros((n, n)), np.zeros((n, n))
for offset, wire in [(0, (20e3, 195.0, 1.35)), (2, (16e3, 131.7, 1.07))]:
    k, m = element(*wire)
    for node in range(nodes - 1):
        at = 4 * node + offset
        places = np.ix_([at, at + 1, at + 4, at + 5], [at, at + 1, at + 4, at + 5])
        K[places] += k
        M[places] += m
for support in range(SPANS + 1):
    K[4 * support * ELEMENTS, 4 * support * ELEMENTS] += 300.0
    K[4 * support * ELEMENTS + 2, 4 * support * ELEMENTS + 2] += 500e3
for end in (0, 4 * (nodes - 1)):
    K[end, end] += 1e6
for span in range(SPANS):
    for x in (5.0, 10.5, 17.0, 23.5, 30.0, 36.5, 43.0, 49.5, 55.0):
        at = 4 * (span * ELEMENTS + int(np.floor(x / h + 0.5)))
        K[np.ix_([at, at + 2], [at, at + 2])] += 100e3 * np.array([[1, -1], [-1, 1]])

sparse = eigsh(csc_matrix(K), COUNT, csc_matrix(M), sigma=0.0, return_eigenvectors=False)
sparse = np.sort(sparse)
dense = eigh(K, M, eigvals_only=True)
assert np.max(np.abs(sparse / dense[:COUNT] - 1)) < 1e-9, np.max(np.abs(sparse / dense[:COUNT] - 1))
write(__file__, "eigen.txt", {"eigsh": sparse}, f"scipy {scipy.__version__}, numpy {np.__version__}")
