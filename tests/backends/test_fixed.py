"""The C++ roundings, compared with `fgnas.fixedpoint` over every integer of a range."""

import shutil
import subprocess

import numpy as np
import pytest

from fgnas.fixedpoint import FixedPoint, divide_even, shift_right_even
from fgnas.paths import templates_directory
from fgnas.tools.csim import FLAGS
from fgnas.tools.find import find_ap_types, find_compiler

LIMIT = 700  # every integer of -LIMIT to LIMIT, in 11 bits
SHIFTS = (-3, 0, 1, 2, 5, 10, 11, 13)
DENOMINATORS = (1, 2, 3, 7, 8, 12, 169, 255)
DRIVER = """
#include <cstdio>
#include "fixed.h"
typedef ap_int<11> In;
int main() {
    for (int x = -%(limit)d; x <= %(limit)d; ++x) {
        std::printf("%%d", saturate<4>(In(x)).to_int());
        %(shifts)s
        const int denominators[] = {%(denominators)s};
        for (int d : denominators) std::printf(" %%d", divide_even<11>(In(x), ap_uint<8>(d)).to_int());
        std::printf("\\n");
    }
}
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """[integers, 1 + shifts + denominators] the C++ results for every integer."""
    folder = tmp_path_factory.mktemp("fixed")
    source, binary = folder / "driver.cpp", folder / "driver"
    shift = 'std::printf(" %%d", shift_right_even<%d>(In(x)).to_int());'
    source.write_text(DRIVER % {
        "limit": LIMIT,
        "shifts": "\n        ".join((shift % value).replace("%%", "%") for value in SHIFTS),
        "denominators": ", ".join(map(str, DENOMINATORS)),
    })  # fmt: skip
    headers = templates_directory() / "hls"
    shutil.copyfile(headers / "pragmas" / "vitis.h", folder / "pragmas.h")
    includes = ["-isystem", str(find_ap_types()), "-I", str(headers / "src"), "-I", str(folder)]
    subprocess.run([find_compiler(), *FLAGS, "-Werror", *includes, source, "-o", binary], check=True)
    printed = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    return np.array([line.split() for line in printed.splitlines()], np.int64)


@pytest.fixture(scope="module")
def integers() -> np.ndarray:
    return np.arange(-LIMIT, LIMIT + 1)


def test_saturation(table: np.ndarray, integers: np.ndarray) -> None:
    np.testing.assert_array_equal(table[:, 0], FixedPoint(4, 0).saturate(integers))


@pytest.mark.parametrize("shift", SHIFTS)
def test_shift(table: np.ndarray, integers: np.ndarray, shift: int) -> None:
    np.testing.assert_array_equal(table[:, 1 + SHIFTS.index(shift)], shift_right_even(integers, shift))


@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_division(table: np.ndarray, integers: np.ndarray, denominator: int) -> None:
    column = 1 + len(SHIFTS) + DENOMINATORS.index(denominator)
    np.testing.assert_array_equal(table[:, column], divide_even(integers, denominator))
