"""What the C++ tells Vitis HLS: loops, streams, memories and ports carry what they need; each kind is explained."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.project import write_project
from fgnas.hardware import wire

PRAGMA = re.compile(r"#pragma HLS (\w+)(.*)")
LOOP = re.compile(r"\b(?:for|while) \(")
PORTS = ("parameters", "features", "edges", "logits")


@dataclass(frozen=True)
class Function:
    """A function's place, the part of its text before its body, and its body."""

    file: str
    head: str
    body: str

    @property
    def name(self) -> str:
        return re.findall(r"(\w+)\(", self.head)[-1 if "operator" in self.head else 0]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The sources of a design with every stage: two layers of gat and one without, for synthesis and so untraced."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 9, 8, 5, 12)
    gat = {"attention": "gat", "t_attn": 2, "d": 4, "k": 2}
    design = random_design(rng, 3, (gat, {"attention": "gcn", "t_attn": None}, gat | {"d": None}))
    folder = tmp_path_factory.mktemp("pragmas") / "project"
    write_project(random_accelerator(rng, design, data), data, folder)
    return {path.name: path.read_text() for path in sorted((folder / "src").iterdir()) if path.name != "trace.h"}


def block(text: str, start: int) -> str:
    """What stands between the first brace from `start` on and its partner; without a brace, one statement."""
    brace, semicolon = text.find("{", start), text.find(";", start)
    if semicolon != -1 and (brace == -1 or semicolon < brace):
        return text[start:semicolon]
    depth = 0
    for place in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[brace + 1 : place]
    raise AssertionError("a brace without a partner")


def functions(sources: dict[str, str]) -> Iterator[Function]:
    for file, text in sources.items():
        for match in re.finditer(r"^ *(?!constexpr|struct|#)[\w:<>,*& ]+?\b\w+\([^;{}]*\) \{$", text, re.MULTILINE):
            if not re.match(r" *(for|while|if|else|switch)\b|.*\belse\b", match[0]):
                yield Function(file, match[0], block(text, match.start()))


def loops(body: str) -> Iterator[tuple[str, str, list[str]]]:
    """(head, body, own pragmas) of every loop; a loop's own are those that stand before its first statement."""
    for match in LOOP.finditer(body):
        depth, end = 0, match.end() - 1
        for end in range(match.end() - 1, len(body)):
            depth += {"(": 1, ")": -1}.get(body[end], 0)
            if depth == 0:
                break
        inner = block(body, end + 1)
        own = []
        for line in inner.strip().splitlines():
            if line.startswith("#pragma HLS"):
                own.append(line.removeprefix("#pragma HLS "))
            elif not line.strip().startswith("//"):
                break
        yield body[match.start() : end + 1], inner, own


def is_bounded(head: str) -> bool:
    """Whether a loop's trip count is a constant of the design: what it counts to is in capitals, or a number."""
    bound = re.match(r"for \(.*;\s*\w+ (?:<|>=) ([^;]+);", head)
    return bound is not None and not re.search(r"\b[a-z_]+\b", re.sub(r"\bL::|\bN::", "", bound[1]))


def test_the_reader_finds_what_there_is(sources: dict[str, str]) -> None:
    found = {function.name for function in functions(sources)}
    stages = """
        linear_sparse linear_dense aggregate aggregate_gat repack split_heads duplicate score row_maximum normalise
        activate head_mean store write_logits read_beats check_features check_edges load_bias first_phase hidden_phase
        output_phase fgnas_top
    """
    assert set(stages.split()) <= found
    heads = [head for function in functions(sources) for head, _, _ in loops(function.body)]
    assert len(heads) == sum(len(LOOP.findall(text)) for text in map(without_comments, sources.values()))
    assert is_bounded("for (int lane = 0; lane < L::T_IN * 2; ++lane)") and not is_bounded("while (node < nodes)")
    assert not is_bounded("for (unsigned tile = 0; tile < count; ++tile)")


def without_comments(text: str) -> str:
    return re.sub(r"//.*", "", text)


def test_every_loop_is_a_pipeline_or_unrolled(sources: dict[str, str]) -> None:
    for function in functions(sources):
        pipelined = 0
        for head, inner, own in loops(function.body):
            where = f"{function.file}: {function.name}: {head}"
            assert own and own[0] in ("PIPELINE II=1", "UNROLL"), where
            pipelined += own[0] != "UNROLL"
            if own[0] == "UNROLL":
                assert is_bounded(head), f"{where} has no constant number of lanes"
                continue
            assert is_bounded(head) or any(re.fullmatch(r"LOOP_TRIPCOUNT max=[\w:]+", line) for line in own), where
            for below, _, _ in loops(inner):
                assert is_bounded(below), f"{where} is no flat pipeline: {below}"
        assert pipelined <= 1, f"{function.name}: stages are one flat loop, so that rows follow without a gap"


def test_stages_overlap(sources: dict[str, str]) -> None:
    """A function that declares streams is a dataflow region, of calls alone, and every stream has a depth."""
    regions = 0
    for function in functions(sources):
        streams = re.findall(r"(\w+)\(\"", " ".join(re.findall(r"hls::stream<.*> (\w.*);", function.body)))
        pragmas = [match[1] for match in PRAGMA.finditer(function.body)]
        depths = re.findall(r"#pragma HLS STREAM variable=(\w+) depth=[\w:]+", function.body)
        assert depths == streams, f"{function.name}: a stream without a depth, or out of order"
        assert bool(streams) == ("DATAFLOW" in pragmas), function.name
        if streams:
            regions += 1
            assert not list(loops(function.body)), f"{function.name}: loops beside the stages"
            calls = re.sub(r"#pragma.*|//.*|\"[^\"]*\"|hls::stream<.*>.*;", "", function.body)
            arguments = re.findall(r"\(([^()]*)\);", calls)
            assert arguments and all("*" not in text and "+" not in text for text in arguments), function.name
    # Three phases, the check of a single layer, Keep with and without gat, Gather with it.
    assert regions == 7


def test_every_small_function_is_part_of_its_stage(sources: dict[str, str]) -> None:
    """What is called once a cycle is inlined: otherwise its own control would cost cycles."""
    stages = {"run", "fgnas_top", "first_phase", "check_phase", "hidden_phase", "output_phase"}
    for function in functions(sources):
        if function.name in stages or function.head.lstrip().startswith("constexpr"):
            continue
        pipelined = any(own[0] == "PIPELINE II=1" for _, _, own in loops(function.body))
        inlined = "#pragma HLS INLINE" in function.body
        calls_stages = function.name.startswith("load_")
        assert pipelined or inlined or calls_stages, f"{function.file}: {function.name}"


def test_memories_and_ports(sources: dict[str, str]) -> None:
    top = sources["fgnas_top.cpp"]
    used = [name for name in re.findall(r"static \w+<Layer\d> (\w+)\[", top) if f"variable={name} " in top]
    assert {"weight_0", "bias_2", "h_1", "attention_0", "target_scores_2", "source_scores_2"} <= set(used)
    for name in used:
        assert f"#pragma HLS AGGREGATE variable={name} compact=bit\n" in top
        assert re.search(rf"#pragma HLS BIND_STORAGE variable={name} type=ram_\w+ impl=(bram|lutram)\n", top), name
    for name in PORTS:
        bundle = "gmem_write" if name == "logits" else "gmem_read"
        port = re.search(rf"INTERFACE m_axi port={name} bundle={bundle} offset=slave depth=(\d+) (.*)\n", top)
        assert port is not None and int(port[1]) > 0
        assert "burst_length=256" in port[2], "4 KiB, the most that a burst of 16-byte beats may have"
    for name in (*(register.name for register in wire.ARGUMENT_REGISTERS), "return"):
        assert f"#pragma HLS INTERFACE s_axilite port={name} bundle=control\n" in top


def test_local_arrays_are_registers_or_named_memories(sources: dict[str, str]) -> None:
    """An array of a stage that is left alone would become a memory with two ports."""
    for function in functions(sources):
        if function.name == "fgnas_top":
            continue  # its memories have a test of their own, and those of layers without gat are not built
        for name in re.findall(r"^    +[\w:<> ]+ (\w+)\[[^]=]+\](?:, \w+ = \{\})?(?: = \{.*\})?;", function.body, re.M):
            partitioned = f"ARRAY_PARTITION variable={name} type=complete" in function.body
            bound = f"BIND_STORAGE variable={name} " in function.body
            assert partitioned != bound, f"{function.file}: {function.name}: {name}"


def test_memories_that_are_read_and_written_state_the_distance(sources: dict[str, str]) -> None:
    """Two-port LUTRAM that a pipeline writes back to is a recurrence: the tool is told how long it is."""
    for function in functions(sources):
        bound = set(re.findall(r"BIND_STORAGE variable=(\w+) type=ram_s2p", function.body))
        if function.name != "fgnas_top":
            told = set(re.findall(r"DEPENDENCE variable=(\w+) type=inter direction=RAW distance=2", function.body))
            assert bound == told, f"{function.file}: {function.name}"


def test_every_kind_is_explained(sources: dict[str, str]) -> None:
    """docs/accelerator.md has a row for each pragma that is used, and no other."""
    used = {match[1] for text in sources.values() for match in PRAGMA.finditer(text)}
    docs = (Path(__file__).parents[2] / "docs" / "accelerator.md").read_text()
    section = docs[docs.index("## Pragmas for Vitis") :]
    explained = {
        name
        for row in re.findall(r"^\| (`[A-Z].*?) \|", section, re.MULTILINE)
        for name in re.findall("`([A-Z_]+)`", row)
    }
    assert explained == used
