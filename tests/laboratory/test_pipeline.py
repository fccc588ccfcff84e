"""The shipped tables belong to today's RTL, and a digest of code does not depend on its comments."""

import json

import numpy as np
import pytest

from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.resources import CHARACTERISATION
from fgnas.laboratory.bench import code_digest
from fgnas.laboratory.fitting import fit_terms
from fgnas.laboratory.pipeline import MEASURES, source_digest


@pytest.mark.parametrize("family", FAMILIES)
def test_every_table_was_measured_on_the_rtl_of_today(family: str) -> None:
    table = json.loads((CHARACTERISATION / f"{family}.json").read_text())
    assert set(table["sources"]) == {*table["modules"], *MEASURES}
    stale = [module for module, digest in table["sources"].items() if digest != source_digest(module)]
    assert not stale, f"{family}: measured on other RTL, run `make characterise`: {', '.join(stale)}"


def test_comments_and_white_space_do_not_change_a_digest() -> None:
    plain = "module a; assign b = c + 1'b1; endmodule"
    written = """
    // A module.
    module a;  /* verilator lint_off
                  UNUSEDSIGNAL */
      assign b=c+1'b1;  // behind the code
    endmodule
    """
    assert code_digest([plain]) == code_digest([written])


def test_what_only_a_simulation_sees_does_not_change_a_digest() -> None:
    plain = "module a; assign b = c; endmodule"
    other = "module a;\n`ifndef SYNTHESIS\nassign b = ~c;\n`else\nassign b = c;\n`endif\nendmodule"
    more = "module a; assign b = c;\n`ifndef SYNTHESIS\nassign d = c;\n`endif\nendmodule"
    assert code_digest([plain]) == code_digest([other]) == code_digest([more])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("assign b = c + 1;", "assign b = c + 2;"),
        ("assign b = c;", "assign bc = c;"),
        ("(* keep *) logic b;", "logic b;"),
        ("logic ab;", "logic a b;"),
    ],
)
def test_code_changes_a_digest(one: str, other: str) -> None:
    assert code_digest([one]) != code_digest([other])


def test_a_family_differs_from_another_in_the_terms_that_are_named() -> None:
    """By hand: sizes 10 + 3 a + 2 b in one family; in the other 10 + 4 a + 2 b, of which two points cannot tell a
    constant from b."""
    terms = {"1": np.array([1, 1]), "a": np.array([1, 2]), "b": np.array([1, 1])}
    like = {"lut": {"1": 10.0, "a": 3.0, "b": 2.0}, "ff": {"1": 1.0, "a": 1.0, "b": 1.0}}
    rows = [{"lut": 16.0, "ff": 3.0}, {"lut": 20.0, "ff": 4.0}]
    found = fit_terms(terms, rows, like, ("b",), differing=("a",))
    assert found["lut"] == pytest.approx({"1": 10, "a": 4, "b": 2}, abs=0.01) and found["lut_error"] < 1e-3
    assert found["ff"] == pytest.approx(like["ff"], abs=0.01)
    assert fit_terms(terms, rows)["lut"]["a"] == pytest.approx(4, abs=0.1)
