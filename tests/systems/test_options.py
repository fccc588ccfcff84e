"""The options of a search for FGNAS designs."""

from fgnas.systems.fgnas import Options


def test_a_controller_chooses_reinforce() -> None:
    assert Options.resolved({"controller": "paper", "method": None})["method"] == "reinforce"
    assert Options.resolved({"controller": "paper", "method": "evolution"})["method"] == "evolution"
    assert Options.resolved({"controller": None, "method": None})["method"] is None
