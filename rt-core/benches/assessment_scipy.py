"""Gains and margins by scipy and numpy. Prints times in ms, best of several, then what was found.

The argument says how much of the usual number of calls is made.

Reads the loop of the Rust side from its standard input: lines of a name and numbers; for each of the
three channels the open loop a, b, c, d (a column after column). Three ways to the margins, each as
one call of numpy for all frequencies:

* channels: every channel by itself, as its loop is written down: (zI - A) x = b at all frequencies;
* shared: all channels from one solution with three right sides of the closed loop;
* roots: from eigenvalues of the closed and of the open loops, the formula of the Rust side.

All make both gains and the closed loop's eigenvalues too. The frequencies are those of the Rust side,
found beforehand and without refinement of peaks and crossings, which only the Rust side does.
"""

import sys
import time

import numpy as np
from scipy.linalg import solve_discrete_are

DT, BETA, GAMMA = 2e-3, 0.25, 0.5
SHARE = float(sys.argv[1])


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
Q, R = 5 * np.outer(track, track), np.eye(1)
Ae, f, walk, C = np.eye(11), np.zeros(11), np.zeros(11), np.zeros((2, 11))
f[6:9] = b_p / 240e3
Ae[:10, :10], Ae[:10, 10] = A, f[:10]
walk[:] = f
walk[10], C[0, 0], C[1, 3] = 1, 1, 1
W, V = 100 * np.outer(f, f) + 100 * np.outer(walk, walk), 1e-6 * np.eye(2)


def gains():
    X = solve_discrete_are(A, B, Q, R)
    K = np.linalg.solve(R + B.T @ X @ B, B.T @ X @ A)
    P = solve_discrete_are(Ae.T, C.T, W, V)
    return K, P @ C.T @ np.linalg.inv(C @ P @ C.T + V)


rows = {line.split()[0]: np.array(line.split()[1:], float) for line in sys.stdin}
loops = []
for name in ["reference", "control", "force"]:
    b, c, d = rows[name + "_b"], rows[name + "_c"], rows[name + "_d"][0]
    loops.append((rows[name + "_a"].reshape(len(b), len(b)).T, b, c, d))
n = len(loops[0][1])
closed = [a + np.outer(b, c) / (1 - d) for a, b, c, d in loops][0]
poles = np.linalg.eigvals(closed)
angles = [0.0]
while angles[-1] < np.pi:
    angles.append(angles[-1] + 0.25 * np.min(np.abs(np.exp(1j * angles[-1]) - poles)))
angles[-1] = np.pi
angles = np.array(angles)
z = np.exp(1j * angles)
inputs = np.array([b / (1 - d) for a, b, c, d in loops]).T
outputs = np.array([c / (1 - d) for a, b, c, d in loops])
direct = np.array([d / (1 - d) for a, b, c, d in loops])


def judge(S):
    """Disk, gains and delays of samples of S, one row a channel."""
    disk = 2 / np.max(np.abs(2 * S - 1), axis=1)
    found = []
    for s in S:
        real = s[:-1][np.diff(np.sign(s.imag)) != 0].real
        unit = np.diff(np.sign(s.real - 0.5)) != 0
        delays = np.angle(1 - 1 / s[:-1][unit]) % (2 * np.pi) / np.maximum(angles[:-1][unit], 1e-9)
        found.append((real / (real - 1), delays))
    return disk, found


def channels():
    gains()
    np.max(np.abs(np.linalg.eigvals(closed)))
    S = [
        1 / (1 - d - np.linalg.solve(z[:, None, None] * np.eye(n) - a, b[:, None])[:, :, 0] @ c)
        for a, b, c, d in loops
    ]
    return judge(np.array(S))


def shared():
    gains()
    np.max(np.abs(np.linalg.eigvals(closed)))
    x = np.linalg.solve(z[:, None, None] * np.eye(n) - closed, inputs)
    return judge(1 + direct[:, None] + np.einsum("kn,znk->kz", outputs, x))


def roots():
    gains()
    poles = np.linalg.eigvals(closed)
    below = np.prod(z[:, None] - poles, axis=1)
    S = [
        np.prod(z[:, None] - np.linalg.eigvals(a), axis=1) / below / (1 - d)
        for a, b, c, d in loops
    ]
    return judge(np.array(S))


def best(call, times):
    found = []
    for _ in range(max(1, round(SHARE * times))):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


print(best(gains, 200), best(channels, 30), best(shared, 50), best(roots, 100))
print(*gains()[0][0], np.max(np.abs(poles)))
for way in [channels, shared, roots]:
    print(*way()[0])
