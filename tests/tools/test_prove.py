"""The proofs find their rules proven, and a faulty module is found."""

from pathlib import Path

import pytest

from fgnas.hardware import wire
from fgnas.hardware.array import programme
from fgnas.tools.prove import PROOFS, Proof, Result, prove

SECONDS = 120
"""Far more than the small modules need."""
SMALL_QUEUE = Proof("fgnas_fifo", parameters={"Depth": 4, "Width": 1})


def replaced(old: str, new: str):
    def change(text: str) -> str:
        assert text.count(old) == 1
        return text.replace(old, new)

    return change


def broken(results: list[Result]) -> set[str]:
    return {result.name.rsplit(".", 1)[-1] for result in results if not result.right}


def test_the_queue_is_proven(tmp_path: Path) -> None:
    results = prove(SMALL_QUEUE, tmp_path, SECONDS)
    assert not broken(results)
    assert len(results) == 15
    assert all(result.proven != result.must_fail for result in results)


@pytest.mark.parametrize("old, new, rule", [
    # The spare is dropped while the front is held.
    ("!advance && (spare_valid_q || fetched_q);", "!advance && fetched_q;", "claimed"),
    # An entry is fetched although front, spare and the memory's register are taken.
    ("assign fetch   = any_q && room_q;", "assign fetch   = any_q;", "claimed"),
    # The front repeats the spare.
    ("if (advance) data_o <= spare_valid_q ? spare_q : word_q;", "if (advance) data_o <= spare_q;", "in_order"),
])  # fmt: skip
def test_a_faulty_queue_is_found(old: str, new: str, rule: str, tmp_path: Path) -> None:
    assert rule in broken(prove(SMALL_QUEUE, tmp_path, SECONDS, replaced(old, new)))


CONTROL = [proof for proof in PROOFS if proof.module == "fgnas_control"]
"""The control slave with the registers of each kind of kernel."""
of_each_kernel = pytest.mark.parametrize("proof", CONTROL, ids=lambda proof: proof.title)
of_a_kernel = pytest.mark.parametrize(
    "proof", [pytest.param(proof, marks=pytest.mark.slow if place else (), id=proof.title)
              for place, proof in enumerate(CONTROL)]
)  # fmt: skip
"""For faults: the other kernel's are slow."""


def test_the_control_slave_is_proven_for_each_kind_of_kernel() -> None:
    assert [proof.kernel[1] for proof in CONTROL] == [wire.ARGUMENT_REGISTERS, programme.ARGUMENT_REGISTERS]
    assert len({proof.title for proof in CONTROL}) == 2


@of_each_kernel
def test_the_control_slave_is_proven(proof: Proof, tmp_path: Path) -> None:
    results = prove(proof, tmp_path, SECONDS)
    assert not broken(results)
    assert all(result.proven != result.must_fail for result in results)


@of_a_kernel
@pytest.mark.parametrize("old, new, rule", [
    # The second word is written wherever the first one is.
    ("argument_number_t'(a)) begin", "argument_number_t'(a & ~1)) begin", "writes_bytes"),
    # A word's last byte is written whether its strobe is set or not.
    ("if (wstrb_i[b]) argument_q", "if (wstrb_i[b] || b == 3) argument_q", "writes_bytes"),
    # The last word, of the last address, reads as 0.
    ("== fgnas_pkg::NoArgument)", ">= fgnas_pkg::argument_number_t'(fgnas_pkg::ArgumentWords - 1))", "reads_back"),
    # The status reads as whether it is valid.
    ("fgnas_pkg::AtStatus: rdata_o <= status_i;", "fgnas_pkg::AtStatus: rdata_o <= {31'b0, status_valid_q};",
     "reads_status"),
])  # fmt: skip
def test_a_control_slave_with_wrong_arguments_is_found(
    proof: Proof, old: str, new: str, rule: str, tmp_path: Path
) -> None:
    assert broken(prove(proof, tmp_path, SECONDS, replaced(old, new))) == {rule}


@of_a_kernel
def test_a_control_slave_that_reports_a_done_twice_is_found(proof: Proof, tmp_path: Path) -> None:
    """It once returned a done that came in the cycle of the read, and kept it for the next read."""
    change = replaced("done_i, idle_i, done_q, start_q", "done_i, idle_i, done_q || done_i, start_q")
    assert broken(prove(proof, tmp_path, SECONDS, change)) == {"done_once"}


@of_a_kernel
def test_a_control_slave_that_loses_an_interrupt_is_found(proof: Proof, tmp_path: Path) -> None:
    change = replaced("(interrupt_q ^ wdata_i[1:0]) | (done_i ? enable_q : 2'b00)", "interrupt_q ^ wdata_i[1:0]")
    assert broken(prove(proof, tmp_path, SECONDS, change)) == {"interrupt_kept"}


def test_a_reader_whose_first_burst_ignores_its_place_in_the_page_is_found(tmp_path: Path) -> None:
    proof = next(proof for proof in PROOFS if proof.module == "fgnas_reader")
    change = replaced("CountBits'(PageBeats) - CountBits'(place)", "CountBits'(PageBeats)")
    assert "ar_whole" in broken(prove(proof, tmp_path, SECONDS, change))


def test_a_fault_that_only_the_kernels_size_shows_is_not_proven(tmp_path: Path) -> None:
    """A burst counter of 9 bits holds pages of 32 beats, but not the sum of several pages of 256."""
    proof = next(proof for proof in PROOFS if proof.module == "fgnas_reader" and proof.induction_only)
    change = replaced("CountBits = $clog2(BufferBeats) + 1;", "CountBits = 9;")
    assert not any(result.proven for result in prove(proof, tmp_path, 1, change))


@pytest.mark.slow
def test_a_writer_whose_data_wait_for_awready_is_found(tmp_path: Path) -> None:
    proof = next(proof for proof in PROOFS if proof.module == "fgnas_writer")
    change = replaced("assign present = awvalid_o && !presented_q;", "assign present = asked;")
    assert broken(prove(proof, tmp_path, SECONDS, change))


def test_a_row_buffer_whose_short_tile_reaches_the_next_row_is_found(tmp_path: Path) -> None:
    proof = next(proof for proof in PROOFS if proof.module == "fgnas_row_buffer")
    change = replaced("32'(lane) < (write_last_i ? LastLanes : WriteLanes)", "32'(lane) < WriteLanes")
    assert "never_overwritten" in broken(prove(proof, tmp_path, SECONDS, change))


OF_ARRAY = {proof.module: proof for proof in PROOFS if proof.of_array}


@pytest.mark.parametrize("module", [
    pytest.param(one, marks=pytest.mark.slow) if one == "array_sequencer" else one for one in OF_ARRAY
])
def test_a_module_of_the_array_is_proven(module: str, tmp_path: Path) -> None:
    results = prove(OF_ARRAY[module], tmp_path, SECONDS)
    assert not broken(results)
    assert all(result.proven != result.must_fail for result in results)


@pytest.mark.parametrize("module, old, new, rule", [
    # A row more than a queue holds is let through.
    ("array_writeback", "count_q[u] >= limit - 1'b1", "count_q[u] >= limit", "within_limit"),
    # All that wait behind the last turn give a word.
    ("array_writeback", "later[r] & (~later[r] + 1'b1)", "later[r]", "one_of_a_share"),
    # Logits leave in a beat although a part of it is not there.
    ("array_writeback", "sends    = to_logits && complete &&", "sends    = to_logits &&", "waits"),
    # A beat of logits leaves although two wait for the writer.
    ("array_writeback", " && !none_left_q && !behind_valid_q;", " && !none_left_q;", "a_place"),
    # The last descriptor is followed by another one.
    ("array_sequencer", "<= (32'(place_q) == descriptors_i) ? Done : Decode;", "<= Decode;", "left_some"),
    # A beat of the programme is fetched again and again.
    ("array_sequencer", "if (pop_o) beat_q <= beat_q + 1'b1;", "if (pop_o) beat_q <= '0;", "falls"),
    # A failed run ends without a status.
    ("array_sequencer", "if (!begin_q) status_q[wrong_q ? StatusWrongProgrammeOrEngine : StatusBadDescriptor] <= 1'b1;",
     "", "failure_said"),
    # A programme begins whose check is wrong.
    ("array_sequencer", "&& !bad && !wrong_q;", "&& !bad;", "checked"),
    # The last slot row is followed by another one.
    ("array_issue", "left_q == CountBits'(1)) active_q <= 1'b0;", "left_q == '0) active_q <= 1'b0;", "some_left"),
    # A slot row does not wait for room.
    ("array_issue", "(tile_q != '0 || room_i);", "1'b1;", "begins_with_room"),
    # The row's elements begin again and again.
    ("array_issue", "element_q <= row_last ? '0 : element_q + 1'b1;", "element_q <= '0;", "falls"),
    # The first unit adds its neighbour's sum instead of that of the unit with the same columns.
    ("array_gather", "sum_i[u+p*N]", "sum_i[u+p]", "totals"),
    # The last bits of the upper product meet the lower one's.
    ("array_multiplier_pair", "- (SumBits'(last) <<< Place);", ";", "lower"),
    # The address of a unit that reads nothing joins those of the others.
    ("array_table", "if (!absent_i[r] && address_i[r]", "if (address_i[r]", "reads"),
])  # fmt: skip
def test_a_faulty_module_of_the_array_is_found(module: str, old: str, new: str, rule: str, tmp_path: Path) -> None:
    assert rule in broken(prove(OF_ARRAY[module], tmp_path, SECONDS, replaced(old, new)))


@pytest.mark.slow
@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.title)
def test_every_module_is_proven_or_holds(proof: Proof, tmp_path: Path) -> None:
    assert not broken(prove(proof, tmp_path))
