"""Compound Poisson laws on a lattice, computed and not sampled.

One item of worth w that came at a uniform moment of the epoch is worth V = w·ξ·e^(−fade·s) at its
end, s uniform on [0, 1]. Few items: V's own law goes on the lattice and the exponential formula
is applied by fast Fourier transform. Many: their sum has a smooth density, and its characteristic
function is inverted directly.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dayfly.model import Array

#: Relative worths: constant, exponential, or points of equal weight.
Shape: TypeAlias = str | tuple[float, ...]

CELLS = 4096
#: Beyond so many standard deviations there is less than rounding error, also for skewed sums.
REACH = 12.0
#: An item that has faded by so much adds less than a cell.
OLD = 8.0


@dataclass(frozen=True, eq=False)
class Lattice:
    """A law on start, start + step, …"""

    start: float
    step: float
    weight: Array

    @functools.cached_property
    def _below(self) -> Array:
        return np.concatenate(([0.0], np.cumsum(np.cumsum(self.weight)))) * self.step

    @functools.cached_property
    def _rise(self) -> Array:
        return np.diff(self._below)

    @property
    def points(self) -> Array:
        """Where the weights sit."""
        return self.start + self.step * np.arange(len(self.weight), dtype=np.float64)

    def shortfall(self, t: Array) -> Array:
        """E(t − U)⁺, exact for the law on the lattice: linear between its points."""
        below, rise = self._below, self._rise
        place = (t - self.start) / self.step
        np.maximum(place, 0.0, out=place)
        cell = np.minimum(place, len(rise) - 1).astype(np.int32)  # the last cell goes on for ever
        place -= cell
        place *= rise.take(cell)
        place += below.take(cell)
        return place

    def merged(self, n: int) -> tuple[Array, Array]:
        """At most n points with the lattice's mean: neighbours merged into their mean.

        Cells are widest where the density is low, by the cube-root rule, which loses the least
        variance; the atom at zero keeps a point of its own.
        """
        weight = np.maximum(self.weight, 0.0)
        weight = weight / weight.sum()
        cut = 1 if self.start <= 0.0 else 0
        measure = np.cumsum(np.cbrt(weight[cut:]))
        inside = n - cut
        group = np.minimum((measure / measure[-1] * inside).astype(np.int64), inside - 1)
        group = np.concatenate((np.zeros(cut, dtype=np.int64), group + cut))
        mass, value = np.zeros(n), np.zeros(n)
        np.add.at(mass, group, weight)
        np.add.at(value, group, weight * self.points)
        keep = mass > 0
        # Weights below zero (rounding, the mended variance) were left out: mend the mean.
        value *= (self.weight @ self.points) / max(float(value.sum()), 1e-300)
        return value[keep] / mass[keep], mass[keep]


def compound(*, count: float, fade: float, worth: float, values: Shape, shared: bool) -> Lattice:
    """The law of the sum over a Poisson number of items."""
    if count <= 0 or worth <= 0:
        return Lattice(0.0, max(worth, 1.0), np.array([1.0]))
    if not shared:
        return _sum(count, fade, worth, values)
    return _scaled(_sum(count, fade, worth, "constant"), worth, values)


def _sum(count: float, fade: float, worth: float, values: Shape) -> Lattice:
    mean = count * worth * _moment(1, fade)
    second = _second(values) * _moment(2, fade)
    deviation = worth * float(np.sqrt(count * second))
    if deviation > 40 * worth:
        return _smooth(count, fade, worth, values, mean, deviation)
    top = mean + REACH * deviation + worth * _longest(values)
    start = max(0.0, mean - REACH * deviation)
    step = (top - start) / CELLS
    if values == "constant":
        step = worth / max(int(worth / step), 1)  # items that do not fade fit the lattice
    first = int(start / step)
    if values == "exponential":
        if fade > OLD:  # the oldest items are worth nothing; the lattice cannot tell them apart
            worth, count, fade = worth * np.expm1(-fade) / np.expm1(-OLD), count * OLD / fade, OLD
        law = np.fft.irfft(np.exp(count * _exponential_wave(worth / step, fade)), CELLS)
        return _lattice(first * step, step, np.roll(law, -(first % CELLS)))
    jump = _split(_item_shortfall(_edges(step, CELLS), fade, worth, values), step)
    wave = np.fft.rfft(jump)
    if step > worth / 32:
        # Splitting a jump between neighbours keeps its mean and adds variance: take it out again.
        # Where the lattice is fine the surplus is nothing, and the law must stay positive.
        surplus = float(jump @ np.square(np.arange(CELLS))) - second * (worth / step) ** 2
        wave *= 1 + surplus * (1 - np.cos(2 * np.pi / CELLS * np.arange(CELLS // 2 + 1)))
    law = np.fft.irfft(np.exp(count * (wave - 1.0)), CELLS)
    return _lattice(first * step, step, np.roll(law, -(first % CELLS)))


def _smooth(
    count: float, fade: float, worth: float, values: Shape, mean: float, deviation: float
) -> Lattice:
    """Many items: invert the characteristic function, which is nothing beyond 9.5/deviation."""
    cells = CELLS // 4
    start, step = mean - REACH * deviation, 2 * REACH * deviation / cells
    waves = int(9.5 * REACH / np.pi) + 1
    angle = np.arange(waves) * np.pi / (REACH * deviation)
    # ∫ (ψ(θwv) − 1 − iθwv) dv/(v·fade) over v in [e^(−fade), 1] is smooth in v: few nodes do.
    node, weight = np.polynomial.legendre.leggauss(24)
    low = float(np.exp(-fade))
    v = low + (1 - low) * (node + 1) / 2
    scale = (1 - low) / fade if fade > 1e-9 else 1.0
    z = np.multiply.outer(angle * worth, v)
    exponent = (_centred(z, values) / v) @ (weight / 2) * scale
    wave = np.zeros(cells // 2 + 1, dtype=np.complex128)
    wave[:waves] = np.conj(np.exp(count * exponent + 1j * angle * (mean - start)))
    return _lattice(start, step, np.fft.irfft(wave, cells))


def _scaled(total: Lattice, worth: float, values: Shape) -> Lattice:
    """The law of ξ·S, one ξ for all items."""
    points, weights = total.merged(24)
    mean = float(points @ weights)
    deviation = float(weights @ np.square(points - mean)) ** 0.5
    if isinstance(values, str):
        if values == "constant":
            return total
        top, cells = 40 * max(mean + 4 * deviation, worth), CELLS // 2  # smooth: fewer will do
        t: Array = _edges(top / cells, cells)[:, None]
        some = points > 0
        s, w = points[some], weights[some]
        short = np.maximum(t[:, 0], 0.0) * weights[~some].sum()
        short += np.maximum(t + s * np.expm1(-np.maximum(t, 0.0) / s), 0.0) @ w
    else:
        longest = total.points[np.searchsorted(np.cumsum(total.weight), 1 - 1e-11)]
        top, cells = max(values) * float(longest), CELLS
        t = _edges(top / cells, cells)
        short = np.zeros(cells + 2)
        for value in values:
            some_worth = max(value, 1e-12)
            short += some_worth * total.shortfall(t / some_worth)
        short /= len(values)
    step = top / cells
    return _lattice(0.0, step, _split(short, step))


def _edges(step: float, cells: int) -> Array:
    """The lattice from 0 on, and one point more at either end."""
    return step * np.arange(-1, cells + 1, dtype=np.float64)


def _split(shortfall: Array, step: float) -> Array:
    """Lattice weights of a law from its E(t − V)⁺: each value split between its neighbours."""
    return np.diff(np.diff(shortfall)) / step


def _lattice(start: float, step: float, law: Array) -> Lattice:
    law[np.abs(law) < 1e-15] = 0.0  # rounding of the transforms
    return Lattice(float(start), float(step), law / law.sum())


def _item_shortfall(t: Array, fade: float, worth: float, values: Shape) -> Array:
    """E(t − V)⁺ of one item whose worth does not scatter, or is one of equally likely values."""
    if not isinstance(values, str):
        total = np.zeros_like(t)
        for value in values:
            total += _item_shortfall(t, fade, worth * max(value, 1e-12), "constant")
        return total / len(values)
    t = np.maximum(t, 0.0)
    if fade < 1e-6:
        return np.maximum(t - worth * _moment(1, fade), 0.0)
    low = worth * float(np.exp(-fade))
    v = np.clip(t, max(low, 1e-300), worth)
    # V has the distribution function 1 + ln(v/w)/fade on [low, worth]; this is its integral.
    area: Array = v - low + (v * (np.log(v / worth) - 1) - low * (-fade - 1)) / fade
    area += np.maximum(t - worth, 0.0)
    return area


def _exponential_wave(cells: float, fade: float) -> npt.NDArray[np.complex128]:
    """ψ − 1 of one item of exponential worth, `cells` steps in the mean.

    On a line it is ln((1 − αs)/(1 − s))/fade − 1 with s = iθw; here s = w·2(z − 1)/(z + 1), which
    has the same mean and variance for a law on the lattice, z = e^(iθ).
    """
    half = np.pi / CELLS * np.arange(CELLS // 2)
    s = -2j * cells * np.tan(half)  # the transform turns the other way
    if fade < 1e-6:
        inside = s * _moment(1, fade) / (1 - s * _moment(1, fade))
    else:
        inside = np.log((1 - np.exp(-fade) * s) / (1 - s)) / fade
    return np.append(inside, -1.0)  # at the highest frequency s is infinite


def _centred(z: Array, values: Shape) -> npt.NDArray[np.complex128]:
    """ψ(z) − 1 − iz of the relative worth's characteristic function ψ."""
    if not isinstance(values, str):
        total = np.zeros(z.shape, dtype=np.complex128)
        for value in values:
            total += _centred(z * value, "constant")
        return total / len(values)
    found: npt.NDArray[np.complex128] = -(z**2) / (1 - 1j * z)
    if values == "constant":
        found = -2 * np.sin(z / 2) ** 2 + 1j * (np.sin(z) - z)
    return found


def _moment(k: int, fade: float) -> float:
    """E e^(−k·fade·s), s uniform."""
    return float(-np.expm1(-k * fade) / (k * fade)) if fade > 0 else 1.0


def _second(values: Shape) -> float:
    if isinstance(values, str):
        return 1.0 if values == "constant" else 2.0
    return float(np.mean(np.square(values)))


def _longest(values: Shape) -> float:
    """How far beyond its standard deviations a sum of few items may reach, in worths."""
    if isinstance(values, str):
        return 12.0 if values == "constant" else 45.0
    return 12.0 + 3 * max(values)
