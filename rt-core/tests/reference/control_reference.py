"""Reference data of the control library: `python3 control_reference.py` writes control.txt.

Gains from scipy's Riccati solver; margins of the whole loop from its dense matrices: disk margin
from python-control and from a refined frequency scan, gain margins from a scan of the spectral
radius, delay margins from the crossings of |L| = 1.
"""

import control
import numpy as np
import scipy
from scipy.linalg import solve_discrete_are
from scipy.optimize import brentq, minimize_scalar
from scipy.signal import butter, tf2ss

from rows import write

DT, BETA, GAMMA = 2e-3, 0.25, 0.5
TRACK = np.zeros(10)
TRACK[[0, 3]] = 1.0, -1.0
REST = np.array([1.0, 0, 0, 1, 0, 0, 1, 0, 0, 0])


def newmark(m, c, k):
    """x+ = A x + B p+ for m u'' + c u' + k u = p, any number of unknowns."""
    m, c, k = (np.atleast_2d(x).astype(float) for x in (m, c, k))
    eye = np.eye(len(m))
    inverse = np.linalg.inv(m / (BETA * DT**2) + GAMMA * c / (BETA * DT) + k)
    u = inverse @ (m / (BETA * DT**2) + c * GAMMA / (BETA * DT))
    v = inverse @ (m / (BETA * DT) + c * (GAMMA / BETA - 1))
    a = inverse @ (m * (1 - 2 * BETA) / (2 * BETA) - c * DT * (1 - GAMMA / (2 * BETA)))
    cvu, cvv, cva = GAMMA / (BETA * DT), 1 - GAMMA / BETA, DT * (1 - GAMMA / (2 * BETA))
    cau, cav, caa = 1 / (BETA * DT**2), -1 / (BETA * DT), 1 - 1 / (2 * BETA)
    A = np.block([[u, v, a],
                  [cvu * (u - eye), cvu * v + cvv * eye, cvu * a + cva * eye],
                  [cau * (u - eye), cau * v + cav * eye, cau * a + caa * eye]])
    return A, np.vstack([inverse, cvu * inverse, cau * inverse])


def radius(matrix):
    return np.max(np.abs(np.linalg.eigvals(matrix)))


def plant(k_i, k_h=240e3):
    a_i, b_i = newmark(0.05, 50.0, k_i)
    a_m, b_m = newmark(10.0, 1800.0, 450e3)
    a_p, b_p = newmark(5.3, 10.0, 240e3)
    b_i, b_m, b_p = b_i * k_i, b_m * 450e3, b_p * 240e3
    first = np.array([[1.0, 0, 0]])
    A = np.zeros((10, 10))
    A[:3, :3], A[:3, 3:6], A[:3, 6:9] = a_i, -k_h / k_i * b_i @ first, k_h / k_i * b_i @ first
    A[3:6, :3], A[3:6, 3:6], A[3:6, 9:] = b_m @ first, a_m, b_m
    A[6:9] = b_p @ A[3:4]
    A[6:9, 6:9] += a_p
    b_z, b_u, b_f = np.zeros((3, 10))
    b_z[:3], b_u[9], b_f[6:9] = b_i[:, 0], 1.0, b_p[:, 0] / k_h
    return A, b_z, b_u, b_f


def lqr(A, b_u, q, r):
    B = b_u[:, None]
    X = solve_discrete_are(A, B, q * np.outer(TRACK, TRACK), np.eye(1) * r)
    return (np.linalg.solve(np.eye(1) * r + B.T @ X @ B, B.T @ X @ A))[0]


def kalman(A, b_f, q, r, reading, bias):
    power = 2 if reading == "std" else 1
    Ae = np.eye(11)
    Ae[:10, :10], Ae[:10, 10] = A, b_f
    force, walk = np.append(b_f, 0.0), np.append(b_f, 1.0)
    W = q**power * np.outer(force, force)
    n = 10
    if bias is not None:
        W, n = W + bias**2 * np.outer(walk, walk), 11
    C = np.zeros((2, 11))
    C[0, 0] = C[1, 3] = 1.0
    V = r**power * np.eye(2)
    c = C[:, :n]
    P = solve_discrete_are(Ae[:n, :n].T, c.T, W[:n, :n], V)
    L = np.zeros((11, 2))
    L[:n] = P @ c.T @ np.linalg.inv(c @ P @ c.T + V)
    return Ae, C, L, radius((np.eye(n) - L[:n] @ c) @ Ae[:n, :n])


def pantograph(pad):
    """DSA-380, three masses, head on the pad."""
    m, c, k = np.diag([6.6, 5.8, 5.8]), np.zeros((3, 3)), np.zeros((3, 3))
    for i, (stiffness, damping) in enumerate([(7000, 0), (14100, 0), (80, 70)]):
        for matrix, value in ((k, stiffness), (c, damping)):
            matrix[i, i] += value
            if i < 2:
                matrix[i + 1, i + 1] += value
                matrix[i, i + 1] -= value
                matrix[i + 1, i] -= value
    k[0, 0] += pad
    a, b = newmark(m, c, k)
    return a, b[:, 0] * pad


def moving_string(speed, length, h):
    """String on an elastic layer in the frame that moves with the contact point, ends absorbing."""
    tension, mu, layer, alpha, beta = 31500.0, 1.4735, 51.15, 0.0125, 1e-4
    n = round(length / h) - 1
    up, down = np.eye(n, k=1), np.eye(n, k=-1)
    mass = mu * h * (4 * np.eye(n) + up + down) / 6
    curve = (2 * np.eye(n) - up - down) / h
    rest = tension * curve + layer * mass / mu
    damping = alpha * mass + beta * rest - mu * speed * (up - down)
    x = (np.arange(n) + 1) * h
    edge = np.maximum(0, 1 - np.minimum(x, length - x) / (0.25 * length)) ** 2
    damping += np.diag(30 * mu * h * edge)
    a, b = newmark(mass, damping, rest - mu * speed**2 * curve)
    here = np.zeros(n)
    here[n // 2] = 1
    return a, b @ here, np.concatenate([here, np.zeros(2 * n)])


class Loop:
    """One cycle of the whole loop as a function of its state; cut channels get `inject`."""

    def __init__(self, wire, with_lqg=True, q=5.0, k_i=50e3, bias=None, pad=240e3, order=1, extra=0,
                 knows_wire=True):
        A, b_z, b_u, b_f = plant(k_i)
        self.k_i, self.pad, self.wire, self.with_lqg, self.extra = k_i, pad, wire, with_lqg, extra
        self.knows_wire = knows_wire
        self.K = lqr(A, b_u, q, 1.0)
        self.force_rest = np.linalg.solve(np.eye(10) - A, b_f)
        self.Ae, self.C, self.L, _ = kalman(A, b_f, 10.0, 1e-3, "std", bias)
        self.b_z, self.b_u = np.append(b_z, 0), np.append(b_u, 0)
        self.a_i, b = newmark(0.05, 50.0, k_i)
        self.b_i = b[:, 0] * k_i
        self.a_m, b = newmark(10.0, 1800.0, 450e3)
        self.b_m = b[:, 0] * 450e3
        self.a_p, self.b_p = pantograph(pad)
        self.filter = tf2ss(*butter(order, 100.0, fs=1 / DT))
        # Without noise on it the bias is no state.
        n = 10 if bias is None else 11
        self.Ae, self.C, self.L = self.Ae[:n, :n], self.C[:, :n], self.L[:n]
        self.b_z, self.b_u = self.b_z[:n], self.b_u[:n]
        sizes = [len(wire[1]) if wire else 0, 3, 3, 9, order, 1, extra, 1, n]
        self.places = np.cumsum([0] + sizes)
        self.n = self.places[-1]

    def step(self, state, cut=None, inject=0.0):
        w, x_i, x_m, x_p, x_f, force, late, u, est = np.split(state, self.places[1:-1])
        z, w_next, z_next = 0.0, w, 0.0
        if self.wire:
            a, b, c = self.wire
            z = c @ w
            w_next = a @ w + b * self.k_i * (x_i[0] - z)
            z_next = c @ w_next
        out = {"force": force[0]}
        f = inject if cut == "force" else force[0]
        i_next = self.a_i @ x_i + self.b_i * (z_next + f / self.k_i)
        out["control"] = u[0] if self.with_lqg else 0.0
        action = inject if cut == "control" else out["control"]
        out["reference"] = x_i[0] + action
        r = inject if cut == "reference" else out["reference"]
        queue = np.append(late, r)
        m_next = self.a_m @ x_m + self.b_m * queue[0]
        p_next = self.a_p @ x_p + self.b_p * m_next[0]
        pushed = self.pad * (p_next[0] - m_next[0])
        a, b, c, d = self.filter
        lasting = est[10] if len(est) > 10 else 0.0
        u_next = -self.K @ (est[:10] - REST * z - self.force_rest * lasting)
        predicted = self.Ae @ est + self.b_z * z_next * self.knows_wire + self.b_u * u_next
        y = np.array([i_next[0], m_next[0]])
        est_next = predicted + self.L @ (y - self.C @ predicted)
        next_state = np.concatenate([w_next, i_next, m_next, p_next, a @ x_f + b[:, 0] * pushed,
                                     c @ x_f + d[0] * pushed, queue[1:], [u_next], est_next])
        return next_state, out.get(cut)

    def matrix(self):
        return np.array([self.step(x)[0] for x in np.eye(self.n)]).T

    def open(self, channel):
        rows = [self.step(x, channel) for x in np.eye(self.n)]
        b, d = self.step(np.zeros(self.n), channel, 1.0)
        return np.array([r[0] for r in rows]).T, b, np.array([r[1] for r in rows]), d


def margins(loop, channel, python_control):
    a, b, c, d = loop.open(channel)
    # Units that make accelerations as large as positions.
    scale = scipy.linalg.matrix_balance(a, permute=False, separate=True)[1][0]
    a, b, c = a * scale / scale[:, None], b / scale, c * scale
    eye = np.eye(len(b))

    def response(angle):
        return c @ np.linalg.solve(np.exp(1j * angle) * eye - a, b) + d

    def size(angle):
        l = response(angle)
        return abs((1 + l) / (1 - l))

    angles = np.geomspace(1e-3, np.pi, 1500)
    values = np.array([response(x) for x in angles])
    sizes = np.abs((1 + values) / (1 - values))
    best, where = 0.0, 0.0
    for i in np.argsort(-sizes)[:3]:
        low, high = angles[max(i - 1, 0)], angles[min(i + 1, len(angles) - 1)]
        found = minimize_scalar(lambda x: -size(x), bounds=(low, high), method="bounded",
                                options={"xatol": 1e-10})
        if -found.fun > best:
            best, where = -found.fun, found.x
    if python_control:
        system = control.ss(a, b[:, None], -c[None, :], [[-d]], DT)
        fine = np.sort(np.append(np.geomspace(1e-3, np.pi, 20000), where)) / DT
        disk = control.disk_margins(system, fine)[0]
        assert abs(disk * best / 2 - 1) < 1e-7, (disk, 2 / best)

    def rho(db):
        g = 10 ** (db / 20)
        return radius(a + np.outer(b, c) * g / (1 - g * d)) - 1

    def scan(direction):
        last = 0.0
        for db in direction * np.arange(0.25, 12.01, 0.25):
            if rho(db) > 1e-9:
                return brentq(rho, last, db, xtol=1e-9)
            last = db
        return direction * np.inf

    delays = []
    for i in np.where(np.diff(np.sign(np.abs(values) - 1)))[0]:
        x = brentq(lambda x: abs(response(x)) - 1, angles[i], angles[i + 1], xtol=1e-13)
        delays.append(np.angle(response(x)) % (2 * np.pi) / x * DT)
    return [scan(1), scan(-1), min(delays, default=np.inf), 2 / best]


rows = {}
A, b_z, b_u, b_f = plant(50e3)
rows["rho_open"] = [radius(A)]
for name, k_i, q, r in [("a", 50e3, 5, 1), ("b", 50e3, 500, 1), ("c", 35e3, 5, 1), ("d", 80e3, 0.5, 2)]:
    A, b_z, b_u, b_f = plant(k_i)
    K = lqr(A, b_u, q, r)
    rows[f"lqr_{name}"] = [k_i, q, r, radius(A - np.outer(b_u, K)), *K]
for name, k_i, q, r, reading, bias in [("a", 50e3, 10, 1e-3, "std", None), ("b", 50e3, 10, 1e-3, "var", None),
                                       ("c", 50e3, 10, 1e-3, "std", 10.0), ("d", 35e3, 100, 1e-4, "std", 1.0),
                                       ("e", 80e3, 1, 1e-3, "var", 0.3)]:
    A, b_z, b_u, b_f = plant(k_i)
    _, _, L, rho_kf = kalman(A, b_f, q, r, reading, bias)
    rows[f"kalman_{name}"] = [k_i, q, r, reading == "std", np.nan if bias is None else bias, rho_kf, *L.T.ravel()]

string = moving_string(300 / 3.6, 80.0, 1.0)
rows["rho_held_uncontrolled"] = [radius(Loop(None, with_lqg=False).matrix())]
rows["rho_held_bias"] = [radius(Loop(None, bias=10.0).matrix())]
rows["rho_string"] = [radius(Loop(string).matrix())]
rows["rho_string_uncontrolled"] = [radius(Loop(string, with_lqg=False).matrix())]
rows["rho_string_wire_unknown"] = [radius(Loop(string, knows_wire=False).matrix())]
rows["rho_string_delay_1"] = [radius(Loop(string, extra=1).matrix())]
rows["rho_string_delay_2"] = [radius(Loop(string, extra=2).matrix())]
for channel in ("reference", "control", "force"):
    # The held wire with a bias state is small enough for python-control.
    rows[f"held_{channel}"] = margins(Loop(None, bias=10.0), channel, True)
    rows[f"string_{channel}"] = margins(Loop(string), channel, False)
    print(channel, rows[f"held_{channel}"], rows[f"string_{channel}"], flush=True)
versions = f"scipy {scipy.__version__}, numpy {np.__version__}, control {control.__version__}"
write(__file__, "control.txt", rows, versions)
