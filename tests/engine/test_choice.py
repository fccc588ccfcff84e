"""The best, the cheapest and the front, of entries made up by hand."""

from fgnas.engine.choice import cheapest, front, front_costs, merit, standard_error


def entry(rank, mean, std, seeds=4, **costs):
    return {"rank": rank, "retrained_val": {"mean": mean, "std": std, "values": [mean] * seeds}, "costs": costs}


ENTRIES = [
    entry(1, 0.800, 0.010, cycles=90, lut=50),
    entry(2, 0.796, 0.001, cycles=60, lut=70),
    entry(3, 0.795, 0.100, cycles=40, lut=70),
    entry(4, 0.7949, 0.100, cycles=10, lut=90),
    entry(5, 0.700, 0.001, cycles=95, lut=40),
    entry(6, 0.600, 0.001, cycles=96, lut=40),
]


def test_merit_by_hand():
    assert merit(0.8, {"share": 0.5, "lut": 9}, {"share": 0.05}) == 0.8 - 0.025
    assert merit(0.8, {"share": 0.5}, {}) == 0.8


def test_the_error_is_the_bests_own_and_the_bound_itself_is_allowed():
    assert standard_error(ENTRIES[0]) == 0.005
    assert cheapest(ENTRIES, "cycles")["rank"] == 3
    assert cheapest(ENTRIES, "lut")["rank"] == 1


def test_what_was_held_out_in_turn_ranks_in_place_of_seeds():
    judged = [one | {"folds": {"mean": mean, "std": 0.02, "values": [mean] * 4}}
              for one, mean in zip(ENTRIES[:3], (0.9, 0.88, 0.9), strict=True)]  # fmt: skip
    assert standard_error(judged[0]) == 0.01
    assert cheapest(judged, "cycles")["rank"] == 3
    assert [one["rank"] for one in front(judged, ["cycles"])] == [3]
    assert [one["rank"] for one in front(judged, ["lut"])] == [1]


def test_of_equally_cheap_ones_the_better_is_taken():
    assert cheapest([*ENTRIES[:2], entry(3, 0.796, 0, cycles=60, lut=1)], "cycles")["rank"] == 2


def test_one_seed_has_no_error():
    single = [entry(1, 0.8, 0.0, seeds=1, cycles=9), entry(2, 0.79, 0.0, seeds=1, cycles=1)]
    assert cheapest(single, "cycles")["rank"] == 1


def test_the_front_holds_what_no_other_beats():
    assert [one["rank"] for one in front(ENTRIES, ["cycles"])] == [1, 2, 3, 4]
    assert [one["rank"] for one in front(ENTRIES, ["lut"])] == [1, 5]
    assert [one["rank"] for one in front(ENTRIES, ["cycles", "lut"])] == [1, 2, 3, 4, 5]
    assert [one["rank"] for one in front(ENTRIES, [])] == [1]
    assert front_costs({"fronts": [["cycles"], ["lut"], ["cycles", "lut"]]}) == ["cycles", "lut"]
