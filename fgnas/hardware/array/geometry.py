"""Geometry: the words that layers fill of every memory of a unit, of one plan or of n networks that are priced at once.

Every number is an integer, or an array [n] of them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgnas.hardware.array.engine import even_place
from fgnas.hardware.numbers import ceil_div


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerWords:
    """The words of a layer in each memory, and the fields that determine them; none depends on the graph.

    Attributes:
        first, last: whether it is the first or the last of the layers.
        width: features of a row that is combined.
        elements: those of them that a unit multiplies; 0 in the first layer, which reads a stream.
        tiles: words of a row of H that a unit holds; `write_tiles`: words of it that a unit makes; both of a pass.
        passes: parts of the first layer's columns that are combined and aggregated one after the other; 1 in further
            layers, which would overwrite the rows that they still read. The table holds the words of W and H of one
            pass.
        slices: parts of the first layer's rows of W, those of as many columns of X, that are loaded and multiplied one
            after the other, the next from the partial sums of the one before; 1 in further layers. The table holds the
            words of W of one slice.
        blocks: parts of the rows of H that are made and aggregated one after the other, the next from the partial sums
            of the one before. The table holds the rows of one block.
        products: whose rows of H an aggregation reads: those of heads that are averaged, or of the terms of a sum.
            Each is combined by itself, its rows of H behind those of the one before it.
        averaged: heads that the last layer averages; 1 in others. A row of the aggregation has an entry of every head
            for each edge.
        attends: whether messages are weighted by scores; `dot`: whether every edge has a score of its own; `pair`:
            whether that is made of functions of two nodes' features, which meet factors in the table.
        maximum: whether rows are reduced by their maximum.
    """

    first: bool
    last: bool
    width: Any
    elements: Any
    tiles: Any
    write_tiles: Any
    passes: Any
    slices: Any
    blocks: Any
    products: Any
    averaged: Any
    attends: Any
    dot: Any
    pair: Any
    maximum: Any

    @property
    def scored_nodes(self) -> Any:
        """Whether nodes have scores, which an edge's is made of."""
        return self.attends * (1 - self.dot)

    @property
    def pitch(self) -> Any:
        """Words of a row of H in a unit that reads it; where nodes have scores, the first of them holds these."""
        return self.tiles + self.scored_nodes

    @property
    def row_tiles(self) -> Any:
        """Words of a whole row of Z, and of the biases, in a unit."""
        return self.tiles * self.passes

    @property
    def vector_words(self) -> Any:
        """Words of the attention's vectors in a unit, of one pass: for every tile the source's and the target's, or the
        one that multiplies the products of features."""
        return (2 * self.scored_nodes + self.dot + self.pair) * self.tiles

    @property
    def slice_inputs(self) -> Any:
        """Columns of X that a slice multiplies; the last one may have fewer."""
        return ceil_div(self.width, self.slices)

    @property
    def head_weight_words(self) -> Any:
        """Words of W in a unit that one combination reads."""
        return (self.slice_inputs if self.first else self.elements) * self.write_tiles

    @property
    def factor_words(self) -> Any:
        """Words of the factors of a pass's functions of two nodes' features; 0 without."""
        return self.pair * self.tiles

    @property
    def weight_words(self) -> Any:
        """Words of W in a unit, of one pass and one slice, and of the factors of its scores behind them."""
        return self.products * self.head_weight_words + self.factor_words

    @property
    def least_words(self) -> Any:
        """Words of a row of H that is no larger than any, for a maximum in blocks; 0 without."""
        return (self.blocks > 1) * self.maximum * self.tiles


@dataclass(frozen=True, eq=False)
class PlacedLayer:
    """A layer whose rows are dealt.

    Attributes:
        words: the sizes that do not depend on the graph.
        groups, rows: m of the aggregation, and rows of its fullest group.
        combined_groups, combined_rows: those of the combination, which makes H.
        slot_rows: of an aggregation whose entries have scores of their own; 0 without.
    """

    words: LayerWords
    groups: Any
    rows: Any
    combined_groups: Any
    combined_rows: Any
    slot_rows: Any = 0

    @property
    def block_rows(self) -> Any:
        """Rows of H that a group makes of a block."""
        return ceil_div(self.combined_rows, self.words.blocks)

    @property
    def block_count(self) -> Any:
        """Blocks that have rows."""
        return ceil_div(self.combined_rows, self.block_rows)

    @property
    def score_rows(self) -> Any:
        """Rows of H of which each group of an aggregation makes the scores."""
        return ceil_div(self.combined_groups * self.combined_rows, self.groups)

    @property
    def held_rows(self) -> Any:
        """Rows of H, of one of several products, that a table holds: as many for every group that makes them,
        and for every group that makes scores of nodes."""
        made = self.combined_groups * self.block_rows
        return np.where(self.words.scored_nodes, self.score_rows * self.groups, made)

    @property
    def result_words(self) -> Any:
        """Words of H."""
        return self.words.products * self.held_rows * self.words.pitch

    @property
    def own_words(self) -> Any:
        """Words of Z; the last layer's leaves."""
        return 0 if self.words.last else self.rows * self.words.row_tiles

    @property
    def query_words(self) -> Any:
        """Words of the queries of edges: of the rows, or, of functions of two nodes' features, of the slot rows."""
        return np.where(self.words.pair, self.slot_rows, self.rows) * self.words.tiles * self.words.dot

    @property
    def scored_words(self) -> Any:
        """Words of the scores of edges, and of the largest of every row."""
        return (self.rows + self.slot_rows) * self.words.dot

    @property
    def partial_words(self) -> Any:
        """Words of partial sums: of the rows of a combination in slices, and of an aggregation of blocks."""
        one = self.words
        sliced = (one.slices > 1) * self.combined_rows * one.write_tiles
        return np.maximum(sliced, (one.blocks > 1) * self.rows * one.tiles)


@dataclass(frozen=True, eq=False)
class Memories:
    """Words of a unit that the layers of a network take on a graph.

    Attributes:
        weights: words that are loaded into the table first, see `loaded_words`; `least`: those of them of the least
            row; `results`: H.
        own: Z; after it come `maxima`, the largest scores of rows; `vectors`, those of all attentions; `queries`; and
            `scores`, those of edges and the largest of them.
        partial: sums of slices and blocks.
        biases: of all layers.
        longest: of the longest row that a unit holds or makes; `row`: of a layer in all its passes.
    """

    weights: Any
    least: Any
    results: Any
    own: Any
    maxima: Any
    vectors: Any
    queries: Any
    scores: Any
    partial: Any
    biases: Any
    longest: Any
    row: Any

    @property
    def own_words(self) -> Any:
        """Words of a unit's own rows: Z and everything that is stored after it."""
        return self.own + self.maxima + self.vectors + self.queries + self.scores


def memories(layers: Sequence[PlacedLayer]) -> Memories:
    """The memories that all layers need: the words of the largest layer where each overwrites the one before it, else
    the sum over the layers."""
    words = [layer.words for layer in layers]
    least = _most(one.least_words for one in words)
    return Memories(
        weights=loaded_words(words), least=least,
        results=_most(layer.result_words for layer in layers),
        own=_most(layer.own_words for layer in layers),
        maxima=_most(layer.words.scored_nodes * layer.rows for layer in layers),
        vectors=sum(one.vector_words * one.passes for one in words),
        queries=_most(layer.query_words for layer in layers),
        scores=_most(layer.scored_words for layer in layers),
        partial=_most(layer.partial_words for layer in layers),
        biases=sum(one.row_tiles for one in words),
        longest=_most(np.maximum(one.tiles, one.write_tiles) for one in words),
        row=_most(one.row_tiles for one in words),
    )  # fmt: skip


def loaded_words(words: Sequence[LayerWords]) -> Any:
    """Words of a unit's table in front of H, which begins in the first bank: the weights of all layers, and the least
    row."""
    return even_place(sum(one.weight_words for one in words) + _most(one.least_words for one in words))


def _most(values: Iterable[Any]) -> Any:
    return functools.reduce(np.maximum, values)
