"""The shipped tables belong to today's RTL, and a digest of code does not depend on its comments."""

import json

import pytest

from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.resources import CHARACTERISATION
from fgnas.tools.characterise import MEASURES, code_digest, source_digest


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
