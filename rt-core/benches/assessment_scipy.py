"""Times in ms, best of several: both gains by scipy; both gains and margins of 32 states by numpy.

The margins are sampled at as many frequencies as ours, without refinement, all in one numpy call a
channel; the loop matrix stands in for the real one, which has the same size.
"""

import time

import numpy as np
from scipy.linalg import solve_discrete_are

DT, BETA, GAMMA = 2e-3, 0.25, 0.5


def block(m, c, k):
    itc = m / (BETA * DT**2) + GAMMA * c / (BETA * DT) + k
    u = np.array([m / (BETA * DT**2) + c * GAMMA / (BETA * DT), m / (BETA * DT) + c, m]) / itc
    v = u * GAMMA / (BETA * DT) + np.array([-GAMMA / (BETA * DT), -1.0, 0.0])
    a = u / (BETA * DT**2) + np.array([-1 / (BETA * DT**2), -1 / (BETA * DT), -1.0])
    return np.array([u, v, a]), np.array([1, GAMMA / (BETA * DT), 1 / (BETA * DT**2)]) * k / itc


(a_i, b_i), (a_m, b_m), (a_p, b_p) = block(0.05, 50, 50e3), block(10, 1800, 450e3), block(5.3, 10, 240e3)
A = np.zeros((10, 10))
A[:3, :3], A[:3, 3], A[:3, 6] = a_i, -4.8 * b_i, 4.8 * b_i
A[3:6, 3:6], A[3:6, 0], A[3:6, 9] = a_m, b_m, b_m
A[6:9] = np.outer(b_p, A[3])
A[6:9, 6:9] += a_p
B, track = np.zeros((10, 1)), np.zeros(10)
B[9], track[0], track[3] = 1, 1, -1
Ae, f, walk, C = np.eye(11), np.zeros(11), np.zeros(11), np.zeros((2, 11))
f[6:9] = b_p / 240e3
Ae[:10, :10], Ae[:10, 10] = A, f[:10]
walk[:] = f
walk[10], C[0, 0], C[1, 3] = 1, 1, 1
W = 100 * np.outer(f, f) + 100 * np.outer(walk, walk)


def gains():
    X = solve_discrete_are(A, B, 5 * np.outer(track, track), np.eye(1))
    K = np.linalg.solve(1 + B.T @ X @ B, B.T @ X @ A)
    P = solve_discrete_are(Ae.T, C.T, W, 1e-6 * np.eye(2))
    return K, P @ C.T @ np.linalg.inv(C @ P @ C.T + 1e-6 * np.eye(2))


K, L = gains()
assert abs(K[0, 0] / 1.764479 - 1) < 1e-6, K
z = np.exp(1j * np.geomspace(6e-4, np.pi, 800))
loop = np.zeros((32, 32))
loop[:10, :10] = A - B @ K
b, c = np.ones(32), np.ones(32)


def everything():
    gains()
    np.max(np.abs(np.linalg.eigvals(loop)))
    for _ in range(3):
        np.linalg.eigvals(loop)
        l = np.linalg.solve(z[:, None, None] * np.eye(32) - loop, b[:, None])[:, :, 0] @ c
        np.max(np.abs((1 + l) / (1 - l)))


def best(call, times):
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


print(best(gains, 50), best(everything, 10))
