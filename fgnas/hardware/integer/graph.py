"""A graph in the integers of a network: features, neighbourhoods and coefficients."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.tasks.nodes import GraphData

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IntegerGraph:
    """A graph of N rows as integers.

    Attributes:
        features: [N, width_in] CSR of int64 codes; the float matrix's structure, quantised zeros included.
        indptr, sources: neighbourhoods by target, as in GraphData. The sources of a readout are the rows of the value
            that it reads.
        gcn: [edges] integer coefficients RNE(256 / sqrt(|S(i)| |S(j)|)); of a readout 1.
    """

    features: sp.csr_matrix
    indptr: Ints
    sources: Ints
    gcn: Codes

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.indptr) - 1

    @property
    def width_in(self) -> int:
        """Features of a row."""
        return int(self.features.shape[1])

    @functools.cached_property
    def non_zeros(self) -> Ints:
        """[rows of X] stored features of each row."""
        return np.diff(self.features.indptr).astype(np.int64)

    @functools.cached_property
    def degrees(self) -> Ints:
        """[N] |S(i)|."""
        return np.diff(self.indptr)

    @functools.cached_property
    def targets(self) -> Ints:
        """[edges] the row that each edge belongs to."""
        return np.repeat(np.arange(self.nodes), self.degrees)

    def sums(self, weights: Codes, h: Codes) -> Codes:
        """[N, columns] the sums of the neighbours' rows of h [rows, columns], each times the weight [edges] of its
        edge; 0 of a row without one."""
        adjacency = sp.csr_matrix((weights, self.sources, self.indptr), shape=(self.nodes, len(h)))
        return np.asarray(adjacency @ h)

    def maxima(self, messages: Codes) -> Codes:
        """[N, columns] the largest message of each row, every one of which has one."""
        if not self.nodes:
            return np.zeros((0, *messages.shape[1:]), np.int64)
        return np.maximum.reduceat(messages, self.indptr[:-1], axis=0)

    def minima(self, messages: Codes) -> Codes:
        """[N, columns] the smallest message of each row, every one of which has one."""
        return -self.maxima(-messages)


AnyGraph = GraphData | IntegerGraph
"""A graph with its features in numbers, or as integers already."""


def rows_alone(graph: IntegerGraph) -> IntegerGraph:
    """The graph in which every row receives from itself alone, with the coefficient 1."""
    own = np.arange(graph.nodes)
    return IntegerGraph(graph.features, np.arange(graph.nodes + 1), own, np.ones_like(own))


def gcn_coefficients(data: GraphData) -> Codes:
    """[edges] RNE(256 / sqrt(|S(i)| |S(j)|)) in float64, in the order of `data.sources`."""
    degrees = data.degrees.astype(np.float64)
    product = degrees[data.targets] * degrees[data.sources]
    return np.rint(2.0**wire.COEFFICIENT_FRACTION_BITS / np.sqrt(product)).astype(np.int64)


def integer_graph(data: GraphData, number: FixedPoint) -> IntegerGraph:
    """The graph with its features as codes of a format."""
    features = data.features
    # Built from parts, so that a value that quantises to zero keeps its place.
    matrix = sp.csr_matrix(
        (number.quantise(features.data), features.indices, features.indptr), shape=features.shape
    )
    return IntegerGraph(matrix, data.indptr, data.sources, gcn_coefficients(data))


def unweighted(data: GraphData) -> IntegerGraph:
    """A graph without features, whose coefficients are 1: that of a readout."""
    features = sp.csr_matrix(data.features.shape, dtype=np.int64)
    return IntegerGraph(features, data.indptr, data.sources, np.ones(len(data.sources), np.int64))
