"""The search space of tuning, which is built from the registered policies."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from flashgc import _core, registry
from flashgc.registry import Entry, Param
from flashgc.studies.tuning import space as spaces
from flashgc.studies.tuning.space import Candidate, Range, Size, space

SIZE = Size(1000, 64_000)
NOTHING: dict[str, list[str]] = {"victim": [], "placement": [], "frontier": [], "scheme": []}


def drawn(given: dict[str, list[str]], count: int) -> list[Candidate]:
    whole = space({**NOTHING, **given}, SIZE, given.get("frontier", ["pool"])[0])
    return list(itertools.islice(whole.draws(1), count))


def test_every_policy_and_every_preset_starts_with_its_defaults() -> None:
    starts = space(NOTHING, SIZE, "pool").starts()
    plain = {one.victim.split(":")[0] for one in starts if one.origin == "default"}
    assert plain == {policy.name for policy in registry.policies()}
    pairs = {(one.victim, one.placement) for one in starts}
    for preset in registry.schemes():
        victim = _core.written_out("victim", preset.victim)
        assert (victim, _core.written_out("placement", preset.placement)) in pairs
    assert {one.frontier for one in starts} == {"pool:low=2"}


def test_every_policy_placement_and_frontier_is_drawn_and_every_draw_can_be_typed() -> None:
    some = drawn({}, 600)
    assert len(set(some)) == 600
    for key, entries in (
        ("victim", registry.policies()),
        (
            "placement",
            [one for one in registry.placements() if not (one.needs_future or one.needs_streams)],
        ),
        ("frontier", registry.frontiers()),
    ):
        texts = {getattr(one, key) for one in some}
        assert {text.split(":")[0] for text in texts} == {entry.name for entry in entries}
        for text in texts:
            # The text is in the canonical form of results, so one policy has one name.
            assert _core.written_out(key, text) == text


def test_every_word_and_the_whole_range_of_numbers_is_drawn() -> None:
    fifties = drawn({"victim": ["cost-benefit"], "placement": ["none"], "frontier": ["double"]}, 99)
    # 3 forms, 3 ages and 2 weights, without the default, which was tried first.
    assert len(fifties) == 3 * 3 * 2 - 1
    windows = drawn({"victim": ["windowed"], "placement": ["none"], "frontier": ["double"]}, 300)
    sizes = [int(one.victim.partition("w=")[2]) for one in windows]
    # Window sizes are drawn on a logarithmic scale, up to the blocks of the drive.
    assert min(sizes) < 10
    assert 500 < max(sizes) <= SIZE.blocks
    assert sum(size <= math.sqrt(SIZE.blocks) for size in sizes) > 20


def test_a_whole_range_is_drawn_evenly_on_a_logarithmic_scale() -> None:
    source = random.Random(1)
    values = [int(Range(1, 1023, True).draw(source)) for _ in range(4000)]
    # 1 to 1023 has ten octaves. Each gets a tenth of the draws: 400, with a deviation of 19.
    octaves = [sum(2**n <= value < 2 ** (n + 1) for value in values) for n in range(10)]
    assert all(320 < count < 480 for count in octaves), octaves
    assert {int(Range(0, 2, True).draw(source)) for _ in range(99)} == {0, 1, 2}
    reals = [float(Range(0, 1, False).draw(source)) for _ in range(400)]
    assert 0 <= min(reals) < 0.05
    assert 0.95 < max(reals) <= 1


def test_a_new_policy_is_searched_by_its_declaration_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    params = (
        Param("depth", "1 to 100000", "4", "blocks that are looked at"),
        Param("form", "a, b, c", "b", "formula"),
        Param("share", "0 to 1", "0.25", "weight"),
    )
    fresh = Entry("brand-new", "", "", params)
    monkeypatch.setattr(registry, "policies", lambda: (fresh,))

    def check(_key: str, text: str) -> None:
        if "depth=" in text and "." in text.partition("depth=")[2].split(",")[0]:
            raise _core.ConfigError("not a whole number")

    monkeypatch.setattr(spaces._core, "check", check)
    monkeypatch.setattr(spaces._core, "written_out", lambda _option, text: text)
    given = {
        "placement": ["none"],
        "frontier": ["double"],
        "scheme": [],
        "victim": ["brand-new"],
    }
    whole = space(given, SIZE, "double")
    (start,) = whole.starts()
    assert start.victim == "brand-new:depth=4,form=b,share=0.25"
    some = [one.victim for one in itertools.islice(whole.draws(1), 300)]
    depths = {int(text.split("depth=")[1].split(",")[0]) for text in some}
    assert max(depths) <= SIZE.blocks
    assert len(depths) > 50
    assert {text.split("form=")[1][0] for text in some} == {"a", "b", "c"}
    shares = [float(text.split("share=")[1]) for text in some]
    assert len(set(shares)) > 50
    assert all(0 <= share <= 1 for share in shares)


def test_a_spec_with_parameters_is_taken_as_it_is() -> None:
    given = {"victim": ["d-choices:c=3", "fifo"], "placement": ["none"], "frontier": ["double"]}
    whole = space({**NOTHING, **given}, SIZE, "double")
    assert [one.victim for one in whole.starts()] == ["d-choices:d=10,c=3", "fifo"]
    assert list(whole.draws(1)) == []


def test_presets_alone_are_combined_with_frontiers() -> None:
    some = drawn({"scheme": ["gc-gd"], "frontier": ["pool", "single"]}, 20)
    assert {one.victim for one in some} == {"greedy:ties=latest"}
    assert {one.frontier.split(":")[0] for one in some if one.frontier} == {"pool", "single"}


def test_more_draws_begin_as_fewer_do() -> None:
    assert drawn({}, 50) == drawn({}, 200)[:50]
    whole = space(NOTHING, SIZE, None)
    assert {one.frontier for one in itertools.islice(whole.draws(2), 20)} == {None}
