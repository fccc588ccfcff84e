"""Compiled loops over edges and stored features, each over some columns of a matrix whose rows are nodes.

They are compiled because gather and scatter through autograd take several times as long. A column's result depends on
that column alone, bit for bit: sums run in the order of the edges, whatever other columns the matrix has. Arrays over
edges are [edges, heads], in rows by target. Head h has the columns starts[h] to starts[h + 1].
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from fgnas.activations import LARGEST_RELU6, LEAKY_SLOPE, NAMES

NEGATIVE_SLOPE = 0.2
"""Slope of the LeakyReLU on scores, as in PyG's GATConv."""

compiled: Any = numba.njit(cache=True)
compiled_for_threads: Any = numba.njit(cache=True, nogil=True)
compiled_with_any_order_of_sums: Any = numba.njit(cache=True, fastmath={"reassoc"})
"""Dot products may use vector instructions; the order of their sums depends on their length and the processor alone."""


@compiled_for_threads
def multiply(indptr: Any, indices: Any, values: Any, dense: Any, out: Any, first: int, end: int) -> None:
    """The columns first to end of out = matrix @ dense, for a matrix in CSR form."""
    total = np.empty(end - first, out.dtype)
    for i in range(len(indptr) - 1):
        total[:] = 0
        for place in range(indptr[i], indptr[i + 1]):
            value, row = values[place], dense[indices[place], first:end]
            for f in range(total.size):
                total[f] += value * row[f]
        out[i, first:end] = total


@compiled_for_threads
def multiply_transposed(indptr: Any, indices: Any, values: Any, dense: Any, out: Any, first: int, end: int) -> None:
    """The columns first to end of out = matrix.T @ dense, for a matrix in CSR form; sums run in the order of its rows.

    It reads the matrix row by row, which takes less time than its transpose does, and no memory for that.
    """
    out[:, first:end] = 0
    for i in range(len(indptr) - 1):
        row = dense[i, first:end]
        for place in range(indptr[i], indptr[i + 1]):
            value, total = values[place], out[indices[place], first:end]
            for f in range(row.size):
                total[f] += value * row[f]


@compiled
def share_of(values: Any, dropout: Any, factor: Any, out: Any) -> None:
    """out = `factor` times the value where `out` was `dropout` or more, else 0."""
    zero = out.dtype.type(0)
    for place in range(values.size):
        out[place] = factor * values[place] if out[place] >= dropout else zero


@compiled
def maximum(
    indptr: Any, sources: Any, coefficients: Any, h: Any, out: Any, winner: Any, first_column: int, end_column: int
) -> None:
    """out[i] = max over the edges e = (j, i) of coefficients[e] * h[j]; `winner` is the first edge that has it."""
    width = end_column - first_column
    largest, won = np.empty(width, out.dtype), np.empty(width, winner.dtype)
    for i in range(len(indptr) - 1):
        largest[:] = -np.inf
        for edge in range(indptr[i], indptr[i + 1]):
            row, coefficient = h[sources[edge], first_column:end_column], coefficients[edge]
            for f in range(width):
                message = coefficient * row[f]
                won[f] = edge if message > largest[f] else won[f]
                largest[f] = message if message > largest[f] else largest[f]
        out[i, first_column:end_column] = largest
        winner[i, first_column:end_column] = won


@compiled
def maximum_backward(
    sources: Any, coefficients: Any, winner: Any, gradient: Any, of_h: Any, first: int, end: int
) -> None:
    """Add the gradient of each maximum to the h that won it."""
    for i in range(winner.shape[0]):
        for f in range(first, end):
            edge = winner[i, f]
            of_h[sources[edge], f] += coefficients[edge] * gradient[i, f]


@compiled
def scores(indptr: Any, sources: Any, places: Any, s: Any, r: Any, out: Any, rising: Any) -> None:
    """LeakyReLU(s + r) minus its maximum over the row; `rising` is where s + r is not negative."""
    slope = out.dtype.type(NEGATIVE_SLOPE)
    for i in range(len(indptr) - 1):
        target, first, end = places[i], indptr[i], indptr[i + 1]
        for head in range(s.shape[1]):
            largest = out.dtype.type(-np.inf)
            for edge in range(first, end):
                z = s[target, head] + r[sources[edge], head]
                rising[edge, head] = z >= 0
                score = z if z >= 0 else slope * z
                out[edge, head] = score
                largest = max(largest, score)
            for edge in range(first, end):
                out[edge, head] -= largest


@compiled
def normalise(indptr: Any, alpha: Any) -> None:
    """Divide by the sum over each row."""
    for i in range(len(indptr) - 1):
        for head in range(alpha.shape[1]):
            total = alpha.dtype.type(0)
            for edge in range(indptr[i], indptr[i + 1]):
                total += alpha[edge, head]
            for edge in range(indptr[i], indptr[i + 1]):
                alpha[edge, head] /= total


@compiled
def softmax_backward(
    indptr: Any, sources: Any, places: Any, alpha: Any, rising: Any, gradient: Any, of_s: Any, of_r: Any
) -> None:
    """Add the gradient of the softmax over each row of LeakyReLU(s + r) to those of s and r."""
    slope, one = alpha.dtype.type(NEGATIVE_SLOPE), alpha.dtype.type(1)
    for i in range(len(indptr) - 1):
        target = places[i]
        for head in range(alpha.shape[1]):
            mean = alpha.dtype.type(0)
            for edge in range(indptr[i], indptr[i + 1]):
                mean += alpha[edge, head] * gradient[edge, head]
            for edge in range(indptr[i], indptr[i + 1]):
                of_score = alpha[edge, head] * (gradient[edge, head] - mean)
                of_z = of_score * (one if rising[edge, head] else slope)
                of_s[target, head] += of_z
                of_r[sources[edge], head] += of_z


@compiled
def weighted_sum(indptr: Any, sources: Any, alpha: Any, h: Any, starts: Any, out: Any) -> None:
    """Add to out[i] the sum over the edges e = (j, i) of alpha[e] h[j], head by head."""
    for i in range(len(indptr) - 1):
        for edge in range(indptr[i], indptr[i + 1]):
            source = sources[edge]
            for head in range(alpha.shape[1]):
                weight = alpha[edge, head]
                for f in range(starts[head], starts[head + 1]):
                    out[i, f] += weight * h[source, f]


@compiled_with_any_order_of_sums
def weighted_sum_backward(
    indptr: Any, sources: Any, alpha: Any, h: Any, starts: Any, gradient: Any, of_alpha: Any, of_h: Any
) -> None:
    """Write the gradient of alpha, and add that of h."""
    for i in range(len(indptr) - 1):
        for edge in range(indptr[i], indptr[i + 1]):
            source = sources[edge]
            for head in range(alpha.shape[1]):
                weight, product = alpha[edge, head], alpha.dtype.type(0)
                for f in range(starts[head], starts[head + 1]):
                    of_h[source, f] += weight * gradient[i, f]
                    product += gradient[i, f] * h[source, f]
                of_alpha[edge, head] = product


@compiled
def weighted_maximum(indptr: Any, sources: Any, alpha: Any, h: Any, starts: Any, out: Any, winner: Any) -> None:
    """out[i] = max over the edges e = (j, i) of alpha[e] h[j], head by head; `winner` is the first edge that has it."""
    for i in range(len(indptr) - 1):
        out[i, starts[0] : starts[-1]] = -np.inf
        for edge in range(indptr[i], indptr[i + 1]):
            source = sources[edge]
            for head in range(alpha.shape[1]):
                first, end, weight = starts[head], starts[head + 1], alpha[edge, head]
                row, largest, won = h[source, first:end], out[i, first:end], winner[i, first:end]
                for f in range(row.size):
                    message = weight * row[f]
                    won[f] = edge if message > largest[f] else won[f]
                    largest[f] = message if message > largest[f] else largest[f]


@compiled
def weighted_maximum_backward(
    sources: Any, alpha: Any, h: Any, starts: Any, winner: Any, gradient: Any, of_alpha: Any, of_h: Any
) -> None:
    """Add the gradient of each maximum to the alpha and the h that won it."""
    for i in range(winner.shape[0]):
        for head in range(alpha.shape[1]):
            for f in range(starts[head], starts[head + 1]):
                edge = winner[i, f]
                of_h[sources[edge], f] += alpha[edge, head] * gradient[i, f]
                of_alpha[edge, head] += gradient[i, f] * h[sources[edge], f]


@compiled_with_any_order_of_sums
def head_products(h: Any, vector: Any, starts: Any, out: Any) -> None:
    """out[i, head] = the product of h[i] and `vector` [columns] over the head's columns."""
    for i in range(h.shape[0]):
        for head in range(out.shape[1]):
            product = out.dtype.type(0)
            for f in range(starts[head], starts[head + 1]):
                product += h[i, f] * vector[f]
            out[i, head] = product


@compiled
def head_products_backward(h: Any, vector: Any, starts: Any, gradient: Any, of_vector: Any, of_h: Any) -> None:
    """Add the gradients of the products, [nodes, heads], to those of `vector` and h."""
    for i in range(h.shape[0]):
        for head in range(gradient.shape[1]):
            value = gradient[i, head]
            for f in range(starts[head], starts[head + 1]):
                of_vector[f] += value * h[i, f]
                of_h[i, f] += value * vector[f]


ACTIVATION_CODES = {name: code for code, name in enumerate(NAMES)}
RELU, TANH, SIGMOID, ELU, SOFTPLUS, LEAKY_RELU, RELU6, LINEAR = ACTIVATION_CODES.values()


@compiled
def activate(y: Any, decay: Any, codes: Any, z: Any) -> None:
    """z = act(y), with decay = exp(-|y|), or exp(-2 |y|) in the columns of tanh.

    `codes` [columns] are those of ACTIVATION_CODES.
    """
    one, zero = y.dtype.type(1), y.dtype.type(0)
    leak, most = y.dtype.type(LEAKY_SLOPE), y.dtype.type(LARGEST_RELU6)
    for i in range(y.shape[0]):
        for f in range(y.shape[1]):
            value, e, code = y[i, f], decay[i, f], codes[f]
            if code == RELU:
                result = max(value, zero)
            elif code == ELU:
                result = value if value >= zero else e - one
            elif code == TANH:
                result = (one - e) / (one + e)
                result = result if value >= zero else -result
            elif code == SOFTPLUS:
                result = max(value, zero) + np.log1p(e)
            elif code == LEAKY_RELU:
                result = value if value > zero else leak * value
            elif code == RELU6:
                result = min(max(value, zero), most)
            elif code == LINEAR:
                result = value
            else:
                result = (one if value >= zero else e) / (one + e)
            z[i, f] = result


@compiled
def activate_backward(z: Any, codes: Any, keep: Any, gradient: Any, of_y: Any) -> None:
    """The gradient of y, from that of z * keep; `softplus_backward` has that of softplus.

    An exponential in this loop would make it seven times as long for all of them.
    """
    one, zero = z.dtype.type(1), z.dtype.type(0)
    leak, most = z.dtype.type(LEAKY_SLOPE), z.dtype.type(LARGEST_RELU6)
    for i in range(z.shape[0]):
        for f in range(z.shape[1]):
            value, code = z[i, f], codes[f]
            if code == RELU:
                slope = one if value > zero else zero
            elif code == ELU:
                slope = one if value > zero else value + one
            elif code == TANH:
                slope = one - value * value
            elif code == LEAKY_RELU:
                slope = one if value > zero else leak
            elif code == RELU6:
                slope = one if zero < value < most else zero
            elif code == LINEAR:
                slope = one
            else:
                slope = value * (one - value)
            of_y[i, f] = gradient[i, f] * keep[i, f] * slope


@compiled
def softplus_backward(z: Any, columns: Any, keep: Any, gradient: Any, of_y: Any) -> None:
    """As `activate_backward`, in the columns of softplus alone, [columns of softplus] of them; `keep` has all."""
    for i in range(z.shape[0]):
        for f in columns:
            of_y[i, f] = gradient[i, f] * keep[i, f] * -np.expm1(-z[i, f])


@compiled
def adam(
    parameters: Any, gradient: Any, mean: Any, square: Any, rate: float, decay: float, step: int, betas: Any
) -> None:
    """One step of Adam with weight decay in the gradient, as in torch; epsilon 1e-8."""
    kind = parameters.dtype.type
    b1, b2, one = kind(betas[0]), kind(betas[1]), kind(1)
    scale = kind(rate / (1 - betas[0] ** step))
    root = kind(1 / np.sqrt(1 - betas[1] ** step))
    weight, epsilon = kind(decay), kind(1e-8)
    for i in range(parameters.size):
        g = gradient[i] + weight * parameters[i]
        mean[i] = b1 * mean[i] + (one - b1) * g
        square[i] = b2 * square[i] + (one - b2) * g * g
        parameters[i] -= scale * mean[i] / (np.sqrt(square[i]) * root + epsilon)


@compiled
def column_sums(matrix: Any, out: Any) -> None:
    """out[f] = the sum of column f, from its first row on."""
    out[:] = 0
    for i in range(matrix.shape[0]):
        for f in range(matrix.shape[1]):
            out[f] += matrix[i, f]
