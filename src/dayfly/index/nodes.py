"""Nodes of the table behind the stochastic index: solved on demand, blended between.

In units of u* = Λξ̄/μ a source is two numbers: its fading per epoch, L = μT, and the items alive at
it, ρ = Λ/μ. The index minus the state is smooth in (ln(L + .03), ln ρ) once states are compared
that mean the same: below u* by the epochs it takes to get there, because the index bends at these;
with few items in units of one item, because it bends at these as well.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.index.law import EpochLaw, WorthLaw
from dayfly.index.stochastic import Thresholds, span, thresholds
from dayfly.model import Array, Rows

#: Fading per epoch above which the past is gone: the index is the state, to 1e-4 u*.
FADED = 9.2
#: Items alive: below FEW the index in units of one item no longer changes its form, above MANY the
#: noise only acts in a layer around u* that scales, above ENDLESS not even there.
FEW, MANY, ENDLESS = 0.005, 2e5, 1e8
#: Below so much fading per epoch the index hardly depends on it.
SLOW = 0.03
#: Bends in units of one item matter below so many items per epoch and items alive.
BENDS = (5.0, 25.0)

#: Node numbers along one direction.
Places = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Mesh:
    """Where nodes lie: fading SLOW·(e^((i+½)·fade_step) − 1), items alive e^(j·alive_step)."""

    fade_step: float
    alive_step: float

    def fading(self, i: Places | int) -> Array:
        """Fading per epoch of node row i."""
        return np.asarray(SLOW * np.expm1((np.asarray(i) + 0.5) * self.fade_step))

    def alive(self, j: Places | int) -> Array:
        """Items alive of node column j."""
        return np.asarray(np.exp(np.asarray(j) * self.alive_step))

    def row(self, fading: Array) -> Array:
        """Where a fading lies among the rows; never more than half a step before the first."""
        return np.log1p(fading / SLOW) / self.fade_step - 0.5

    @property
    def first(self) -> int:
        """The lowest column that a stencil can touch."""
        return int(np.floor(np.log(FEW) / self.alive_step)) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns that stencils can touch."""
        rows = int(np.log1p(FADED / SLOW) / self.fade_step) + 4
        return rows, int(np.log(MANY) / self.alive_step) + 4 - self.first


#: As fine as an error of 1e-3 u* asks for: among few items, among many, and where every item's
#: worth scatters over all values, so that nothing bends.
FINE, COARSE, SMOOTH = Mesh(0.1, 0.2), Mesh(0.25, 0.35), Mesh(0.25, 0.45)


@dataclass(eq=False)
class Table:
    """All nodes of one law, solved on demand."""

    law: WorthLaw
    #: Node number by mesh, row and column − Mesh.first; −1 where not solved yet.
    number: dict[Mesh, Rows] = field(default_factory=dict)
    #: What the nodes keep of their solutions, end to end.
    value: Array = field(default_factory=lambda: np.empty(0))
    #: Per node: where its values start and how many they are, 2·spread, lowest q, states per
    #: unit of q, highest state.
    place: Array = field(default_factory=lambda: np.empty((6, 0)))
    #: One at a time adds nodes; reading needs no lock, because a number is given out last.
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def mesh(self) -> Mesh:
        """The mesh for sources whose index does not bend at single items."""
        return SMOOTH if self.law.shape == "exponential" else COARSE

    def kept(self, solved: Thresholds) -> Array:
        """What a node keeps of its solution, one number per state."""
        return solved.index - solved.state

    def index(self, fading: Array, alive: Array, state: Array) -> Array:
        """γ in units of u*/C; the state is in units of u*."""
        x = np.maximum(state, 0.0)
        found = np.empty(len(x))
        bent = (fading * alive < BENDS[0]) & (alive < BENDS[1]) & (self.law.shape != "exponential")
        layer = (alive > MANY) & (not self.law.shared)
        for mesh, rows in ((FINE, bent), (self.mesh, ~bent & ~layer)):
            if rows.any():
                found[rows] = x[rows] + self.blend(mesh, fading[rows], alive[rows], x[rows])
        if layer.any():
            found[layer] = self._layer(self.mesh, fading[layer], alive[layer], x[layer])
        return np.where(state > 0, np.maximum(found, 0.0), 0.0)

    def blend(self, mesh: Mesh, fading: Array, alive: Array, state: Array) -> Array:
        """γ − x of these sources, from the four by four nodes around each."""
        near = np.clip(alive, FEW, MANY)
        row, across = _stencil(mesh.row(fading), 0)
        col, along = _stencil(np.log(near) / mesh.alive_step, mesh.first)
        self._solve(mesh, row, col)
        # With fewer items than FEW, what counts is the state in items' worths.
        x = state * (np.minimum(alive, near) / near)
        bend = _bend(fading, near)
        total = np.zeros(len(state))
        for a in range(4):
            aligned = _aligned(x, (mesh.fading(row + a) / fading) ** bend)
            for b in range(4):
                stretch = (1 + 10 / mesh.alive(col + b)) / (1 + 10 / near)
                node = self.number[mesh][row + a, col + b - mesh.first]
                total += across[a] * along[b] / stretch * self.at(node, aligned * stretch)
        return total

    def _layer(self, mesh: Mesh, fading: Array, alive: Array, state: Array) -> Array:
        """Many items: (γ − deterministic γ)/σ at (x − u*)/σ is linear in ln ρ, where σ² ∝ 1/ρ."""
        row, across = _stencil(mesh.row(fading), 0)
        last = int(np.log(MANY) / mesh.alive_step)
        self._solve(mesh, row, np.full(len(row), last - 3))
        levels = []
        for col in (last - 3, last):
            narrow = np.sqrt(float(mesh.alive(col)) / alive)  # σ in units of the node's σ
            x = np.maximum(1 + (state - 1) / narrow, 0.0)
            excess = np.zeros(len(state))
            for a in range(4):
                there = mesh.fading(row + a)
                aligned = _aligned(x, (there / fading) ** _bend(fading, alive))
                gain = self.at(self.number[mesh][row + a, col - mesh.first], aligned)
                excess += across[a] * (aligned + gain - _noiseless(aligned, there))
            levels.append(excess * narrow)
        ahead = (np.log(alive) / mesh.alive_step - (last - 3)) / 3
        return _noiseless(state, fading) + levels[0] + ahead * (levels[1] - levels[0])

    def at(self, node: Rows, state: Array) -> Array:
        """γ − x at a node: linear in q between its states, dying out above them."""
        start, length, spread, low, density, top = self.place[:, node]
        q = state - 1.0
        q = np.copysign(np.log1p(np.abs(q) / spread), q)
        q -= low
        q *= density
        cell = np.clip(q, 0.0, length - 2).astype(np.int64)
        q -= cell
        cell += start.astype(np.int64)
        left, right = self.value[cell], self.value[cell + 1]
        found: Array = left + np.clip(q, 0.0, 1.0) * (right - left)
        found *= np.square(top / np.maximum(state, top))
        return found

    def _solve(self, mesh: Mesh, row: Rows, col: Rows) -> None:
        """Solve the nodes that these stencils touch and nobody has needed before."""
        with self.lock:
            self._solve_alone(mesh, row, col)

    def _solve_alone(self, mesh: Mesh, row: Rows, col: Rows) -> None:
        number = self.number.setdefault(mesh, np.full(mesh.shape, -1, dtype=np.int64))
        touched = np.zeros(mesh.shape, dtype=np.bool_)
        touched[row, col - mesh.first] = True
        for _ in range(3):  # a stencil reaches three further, both ways
            touched[1:] |= touched[:-1]
        for _ in range(3):
            touched[:, 1:] |= touched[:, :-1]
        rows, cols = np.nonzero(touched & (number < 0))
        if len(rows):
            number[rows, cols] = self.add(mesh.fading(rows), mesh.alive(cols + mesh.first))

    def add(self, fading: Array, alive: Array, least: int = 0) -> Rows:
        """Solve nodes with these parameters, on at least so many states; their numbers."""
        values, places = [self.value], [self.place]
        size, first = len(self.value), self.place.shape[1]
        for one in zip(fading.tolist(), alive.tolist(), strict=True):
            value, place = self._node(*one, least)
            values.append(value)
            places.append(np.array([[size, len(value), *place]]).T)
            size += len(value)
        self.value, self.place = np.concatenate(values), np.concatenate(places, axis=1)
        return np.arange(first, self.place.shape[1])

    def _node(self, fading: float, alive: float, least: int) -> tuple[Array, tuple[float, ...]]:
        law = EpochLaw(
            arrival=alive * fading, decay=fading, epoch=1.0, worth=1.0 / alive, law=self.law
        )
        # Slow fading takes many small steps, and a wide grid adds its own noise to each; many items
        # leave the bends sharp.
        least = max(least, 128 if alive < 100 else 176 if alive < 1000 else 240)
        n = int(np.clip(64 / np.sqrt(fading), least, 560))
        solved = thresholds(law, n)
        _, spread, low, high = span(law)
        return self.kept(solved), (2 * spread, low, (n - 1) / (high - low), solved.state[-1])


def _stencil(place: Array, lowest: int) -> tuple[Rows, Array]:
    """First of four neighbouring nodes, and their weights for a cubic through them."""
    first = np.maximum(np.floor(place).astype(np.int64) - 1, lowest)
    return first, _cubic(place - first)


def _cubic(t: Array) -> Array:
    """Lagrange weights of the nodes 0, 1, 2, 3 at t."""
    a, b, c, d = t, t - 1, t - 2, t - 3
    return np.stack((-b * c * d / 6, a * c * d / 2, -a * b * d / 2, a * b * c / 6))


def _aligned(state: Array, power: Array) -> Array:
    """The state that as many epochs lead to where fading is faster by a power; same above u*."""
    return np.where(state < 1.0, 1.0 - np.maximum(1.0 - state, 0.0) ** power, state)


def _bend(fading: Array, alive: Array) -> Array:
    """How much to align by epochs: nothing where noise or small steps hide the bends."""
    return np.minimum(fading / 0.3, 1.0) * alive / (alive + 10.0)


def _noiseless(state: Array, fading: Array) -> Array:
    """[J, Theorem 1] in units of u*."""
    x = np.clip(state, 0.0, 1.0 - 1e-15)
    eta = np.ceil(-np.log1p(-x) / fading)
    found = eta * np.expm1(-fading) * (1.0 - x) - np.expm1(-eta * fading)
    return np.where(state >= 1.0, state, found)
