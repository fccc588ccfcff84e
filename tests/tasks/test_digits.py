"""The embedded digits are those that scikit-learn loads."""

import subprocess
import sys

import numpy as np
from sklearn.datasets import load_digits

from fgnas.tasks import digits as module
from fgnas.tasks.digits import digits


def test_they_are_scikit_learns():
    shades, labels = digits()
    expected = load_digits()
    assert shades.dtype == expected.data.dtype and labels.dtype == np.int64
    np.testing.assert_array_equal(shades, expected.data)
    np.testing.assert_array_equal(labels, expected.target)


def test_a_release_that_keeps_them_elsewhere(monkeypatch):
    here = digits()
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    for one, other in zip(here, digits(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_imports_scikit_learn_for_them():
    program = "import sys, fgnas.tasks.nodes as nodes; nodes.load('digits'); sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
