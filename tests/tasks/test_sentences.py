"""MR's layout, on sentences that are made here."""

from pathlib import Path

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.tasks.points import BUILT_IN, load_graphs
from fgnas.tasks.sentences import TEST, drawn, embedded, windows

GOOD, BAD, OTHERS = ["fine", "great", "lovely"], ["dull", "awful", "poor"], [f"word{number}" for number in range(80)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty sentences of each class, in files as they are published."""
    rng = np.random.default_rng(0)
    for name, own in (("rt-polarity.pos", GOOD), ("rt-polarity.neg", BAD)):
        lines = [" ".join([*rng.choice(OTHERS, 6), rng.choice(own)]) + " \n" for _ in range(60)]
        (tmp_path / "mr").mkdir(exist_ok=True)
        (tmp_path / "mr" / name).write_text("".join(lines) + "\n", encoding="latin-1")
    monkeypatch.setenv("FGNAS_DATA_ROOT", str(tmp_path))
    BUILT_IN["mr"].cache_clear()  # type: ignore[attr-defined]
    return tmp_path / "mr"


def test_windows_by_hand() -> None:
    """A sentence of three words and one of one."""
    pairs = set(map(tuple, windows(np.array([3, 1])).T.tolist()))
    assert pairs == {(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)}


def test_the_published_counts() -> None:
    assert np.bincount(drawn(10_662)).tolist() == [6_397, 711, TEST]
    assert np.bincount(drawn(120)).tolist() == [72, 8, 40]


def test_rare_words_have_no_features_and_the_test_split_gives_none() -> None:
    texts = [["a", "b", "c"], ["a", "b", "c", "once"], ["b", "a", "c"], ["a", "test", "test"], ["test", "a"]]
    found = embedded(texts, np.array([True, True, True, False, False]), 2)
    words = [word for text in texts for word in text]
    assert all((found[place] == 0).all() == (word in ("once", "test")) for place, word in enumerate(words))
    same = [found[place] for place, word in enumerate(words) if word == "a"]
    assert all(np.array_equal(same[0], one) for one in same)


def test_a_set_of_sentences(root: Path) -> None:
    data = load_graphs("mr")
    assert data.classes == 2 and len(data.labels) == 120 and data.sizes.tolist() == [7] * 120
    assert data.edge_index is not None and data.edge_index.shape == (2, 120 * (7 + 2 * 6 + 2 * 5))
    assert data.width_in == 64 and np.isfinite(data.features).all()


def test_what_is_wrong_is_named(root: Path) -> None:
    (root / "rt-polarity.pos").write_text(" \n")
    with pytest.raises(UserError, match="rt-polarity.pos holds no sentence"):
        load_graphs("mr")
    (root / "rt-polarity.pos").unlink()
    with pytest.raises(UserError, match="cannot read .*rt-polarity.pos .*unpack rt-polaritydata there"):
        load_graphs("mr")
