"""MR: film reviews of one sentence each as graphs of words, for whoever has the files (Pang and Lee, 2005).

A word is a point; words at most `WINDOW` - 1 places apart are joined both ways. A word's features are learned from the
sentences alone: the leading singular vectors of the positive pointwise mutual information of words in a window (Levy
and Goldberg, 2014). Published results use GloVe, which is not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError

Ints = NDArray[np.int64]

FILES = {"rt-polarity.neg": 0, "rt-polarity.pos": 1}
"""The files of the published set, a sentence a line, and their classes."""
WINDOW = 3
FEATURES = 64
TEST, VALIDATED = 3_554, 0.1
"""Sentences to test, of 10,662, and the share of the others that validates."""
RARE = 2
"""A word of fewer training sentences has no features of its own."""
SEED = 0


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as graphs.

    Attributes:
        features: [n, F] of all words, sentence after sentence.
        sizes, labels: [B] words and class of each.
        edges: [2, E] sources above targets, by place in `features`.
        splits: [B] 0 to train, 1 to validate, 2 to test.
    """

    features: NDArray[np.float32]
    sizes: Ints
    labels: Ints
    edges: Ints
    splits: Ints


def read(folder: Path, features: int = FEATURES) -> Sentences:
    """The sentences of both files. Raises UserError where one is missing or empty."""
    texts, labels = list[list[str]](), list[int]()
    for name, label in FILES.items():
        found = _lines(folder / name)
        texts += found
        labels += [label] * len(found)
    splits = drawn(len(texts))
    sizes = np.array([len(words) for words in texts])
    vectors = embedded(texts, splits == 0, features)
    return Sentences(vectors, sizes, np.array(labels), windows(sizes), splits)


def _lines(path: Path) -> list[list[str]]:
    """The words of every sentence that has any."""
    try:
        lines = path.read_text(encoding="latin-1").lower().splitlines()
    except OSError as error:
        fix = f"unpack rt-polaritydata there, with {' and '.join(FILES)}"
        raise UserError(f"mr: cannot read {path} ({error.strerror}): {fix}") from None
    if not (found := [words for line in lines if (words := line.split())]):
        raise UserError(f"mr: {path} holds no sentence")
    return found


def drawn(count: int) -> Ints:
    """[count] a split: as many to test as published, or a third of fewer; a tenth of the others validates."""
    tested = TEST if count >= 2 * TEST else count // 3
    found = np.zeros(count, np.int64)
    order = np.random.default_rng(SEED).permutation(count)
    found[order[:tested]] = 2
    found[order[tested : tested + round(VALIDATED * (count - tested))]] = 1
    return found


def windows(sizes: Ints) -> Ints:
    """[2, E] both directions between words less than `WINDOW` places apart, and of every word to itself."""
    starts = np.cumsum(sizes) - sizes
    ends = np.repeat(starts + sizes, sizes)
    place = np.arange(int(sizes.sum()))
    pairs = [np.stack([place, place])]
    for apart in range(1, WINDOW):
        first = place[place + apart < ends]
        pairs += [np.stack([first, first + apart]), np.stack([first + apart, first])]
    return np.concatenate(pairs, axis=1)


def embedded(texts: Sequence[Sequence[str]], trains: NDArray[np.bool_], features: int) -> NDArray[np.float32]:
    """[n, features] of all words, learned from the sentences that train; a rare word has zeros."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import TruncatedSVD

    seen: dict[str, int] = {}
    for words, mine in zip(texts, trains, strict=True):
        for word in set(words) if mine else ():
            seen[word] = seen.get(word, 0) + 1
    names = {word: place for place, word in enumerate(sorted(word for word, count in seen.items() if count >= RARE))}
    if len(names) <= features:
        raise UserError(f"mr: the sentences that train share only {len(names)} words: {features + 1} are needed")
    places = [np.array([names.get(word, -1) for word in words]) for words in texts]
    pairs = np.concatenate([
        np.stack([one[:-apart], one[apart:]]) for one, mine in zip(places, trains, strict=True) if mine
        for apart in range(1, WINDOW)
    ], axis=1)  # fmt: skip
    pairs = pairs[:, (pairs >= 0).all(axis=0)]
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    size = len(names)
    counts = csr_matrix((np.ones(both.shape[1]), (both[0], both[1])), shape=(size, size))
    vectors = TruncatedSVD(features, random_state=SEED).fit_transform(_information(counts))
    vectors = np.concatenate([vectors / (np.abs(vectors).max() or 1), np.zeros((1, features))])
    return vectors[np.concatenate(places)].astype(np.float32)


def _information(counts: Any) -> Any:
    """Positive pointwise mutual information of counts, sparse."""
    found = counts.tocoo()
    of_row, of_column = np.asarray(counts.sum(axis=1)).ravel(), np.asarray(counts.sum(axis=0)).ravel()
    value = np.log(found.data * counts.sum() / (of_row[found.row] * of_column[found.col]))
    found.data = np.maximum(value, 0)
    return found.tocsr()
