"""Models from Python: known values, arrays and scalars, inverse functions, bad input."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from decimal import Decimal, getcontext

import numpy
import pytest

import flashgc
from flashgc import ConfigError, model

#: S_f and write amplification: FIFO; greedy for b = 16, 32, 64, 128; Desnoyers' greedy for
#: b = 16, 64. Computed by independent programs (Lambert's W; a scan of all levels).
UNIFORM = (
    (0.03, 16.8367, (8.5773, 11.3148, 13.5058, 14.9669), (8.3316, 13.3928)),
    (0.06, 8.5070, (5.7724, 6.8523, 7.5729, 7.9969), (5.6513, 7.5465)),
    (0.07, 7.3177, (5.1535, 6.0571, 6.6155, 6.9450), (5.1113, 6.6001)),
    (0.10, 5.1787, (3.9814, 4.5082, 4.8213, 4.9922), (3.9863, 4.8159)),
    (0.14, 3.7554, (3.1139, 3.4055, 3.5663, 3.6581), (3.1017, 3.5662)),
    (0.20, 2.6927, (2.3610, 2.5136, 2.5993, 2.6449), (2.3527, 2.5982)),
)
#: f, r and the write amplification of FIFO on mixed data at S_f = 0.1, from its formula.
MIXED = ((0.2, 0.8, 5.5378), (0.1, 0.9, 6.1676), (0.05, 0.95, 7.0733), (0.01, 0.99, 9.1285))
#: Write amplification by d, and by c with d = 10, for b = 64 and S_f = 0.1, to four digits. An
#: independent program integrated the mean field's differential equations.
BY_D = {
    1: 10.0,
    2: 6.8516,
    5: 5.3426,
    10: 5.0002,
    20: 4.8845,
    50: 4.8392,
    100: 4.8278,
    2000: 4.8214,
}
BY_C = {1: 4.9264, 2: 4.9126, 5: 4.9040, 10: 4.9010, 20: 4.8996, 50: 4.8990}

HALF = 0.5e-4 * (1 + 1e-9)


def test_closed_forms_give_the_known_values() -> None:
    spare = numpy.array([row[0] for row in UNIFORM])
    assert numpy.abs(model.fifo(spare) - [row[1] for row in UNIFORM]).max() <= HALF
    by_greedy = model.greedy(spare[:, None], [16, 32, 64, 128])
    assert numpy.abs(by_greedy - [row[2] for row in UNIFORM]).max() <= HALF
    by_desnoyers = model.desnoyers(spare[:, None], [16, 64])
    assert numpy.abs(by_desnoyers - [row[3] for row in UNIFORM]).max() <= HALF
    assert model.random(spare) == pytest.approx(1 / spare, rel=1e-15)


def test_hot_and_cold_data_give_the_known_values() -> None:
    f, r, mixed = numpy.array(MIXED).T
    assert numpy.abs(model.fifo(0.1, f=f, r=r) - mixed).max() <= HALF


def test_the_mean_field_gives_the_known_values() -> None:
    by_d = model.write_amplification("meanfield", d=list(BY_D))
    assert numpy.abs(by_d - list(BY_D.values())).max() <= HALF
    by_c = model.write_amplification("meanfield", c=list(BY_C))
    assert numpy.abs(by_c - list(BY_C.values())).max() <= HALF


def decimal_fifo(spare: str) -> Decimal:
    """Solves Desnoyers' equation WA = 1 / (1 - exp(-alpha / WA)) by bisection with 60 digits."""
    getcontext().prec = 60
    share = 1 - Decimal(spare)
    # (1 - exp(-v)) / v falls from 1. It is 1 - S_f at v = alpha / WA.
    low, high = Decimal(10) ** -30, 2 / share
    for _ in range(220):
        middle = (low + high) / 2
        if (1 - (-middle).exp()) / middle > share:
            low = middle
        else:
            high = middle
    return 1 / (1 - (-low).exp())


@pytest.mark.parametrize("spare", ["0.000001", "0.0001", "0.01", "0.1", "0.5", "0.9", "0.999"])
def test_fifo_has_twelve_digits_at_least(spare: str) -> None:
    assert model.fifo(float(spare)) == pytest.approx(float(decimal_fifo(spare)), rel=1e-12)


def test_limits_of_one_model_are_other_models() -> None:
    spare = [0.03, 0.1, 0.3]
    assert model.windowed(spare, window=0) == pytest.approx(model.fifo(spare), rel=1e-9)
    assert model.windowed(spare, window=1) == pytest.approx(model.greedy(spare), rel=1e-9)
    one = model.write_amplification("meanfield", d=1, spare=spare)
    assert one == pytest.approx(model.random(spare), rel=1e-9)
    # d = 2000 is within 0.01% of greedy.
    many = model.write_amplification("meanfield", d=2000, spare=0.1)
    assert many == pytest.approx(model.greedy(0.1), rel=1e-4)
    # Classes with equal write rates are one class, and zipf with exponent 0 is uniform.
    alike = model.fifo(spare, workload="classes:pages=1/2/7,shares=1/2/7")
    assert alike == pytest.approx(model.fifo(spare), rel=1e-12)
    assert model.fifo(spare, workload="zipf:theta=0") == pytest.approx(model.fifo(spare), rel=1e-12)
    two = model.fifo(spare, workload="classes:pages=20/80,shares=80/20")
    assert two == pytest.approx(model.fifo(spare, f=0.2, r=0.8), rel=1e-12)


def test_arrays_are_the_scalars_one_by_one() -> None:
    random = numpy.random.default_rng(7)
    spare = random.uniform(0.01, 0.6, 50)
    pages = random.integers(1, 300, 50)
    for name in ("greedy", "fifo", "random", "windowed", "desnoyers", "meanfield"):
        together = model.write_amplification(name, spare=spare, pages_per_block=pages)
        each = [
            model.write_amplification(name, spare=float(s), pages_per_block=int(b))
            for s, b in zip(spare, pages, strict=True)
        ]
        alone = [
            model.evaluate(name, spare=float(s), pages_per_block=int(b)).write_amplification
            for s, b in zip(spare, pages, strict=True)
        ]
        assert list(together) == each == alone, name
        one_core = model.write_amplification(name, spare=spare, pages_per_block=pages, jobs=1)
        assert (one_core == together).all()


def test_arrays_broadcast_as_in_numpy() -> None:
    spare = numpy.array([[0.1], [0.2]])
    pages = numpy.array([16, 32, 64])
    grid = model.greedy(spare, pages)
    assert grid.shape == (2, 3)
    assert grid[1, 2] == model.greedy(0.2, 64)
    assert model.greedy(spare[:, 0][::-1])[0] == model.greedy(0.2)  # not contiguous
    assert model.fifo([]).shape == (0,)
    assert model.fifo(numpy.float32(0.5)) == model.fifo(0.5)
    assert isinstance(model.fifo(numpy.array(0.5)), float)
    assert isinstance(model.greedy("10%", "64"), float)
    over = model.write_amplification("greedy", overprovision=[0.25, 1 / 9])
    assert over == pytest.approx([model.greedy(0.2), model.greedy(0.1)], rel=1e-12)


#: A drive of 16 dies with 4 planes, whose 48 GiB of flash are 12,582,912 units of 4 KiB and hold
#: 10,027,008 units of the host.
WIDE = {"superblock": "dies=16,planes=4", "frontier": "pool:low=2"}
FLASH, LOGICAL = 12_582_912, 10_027_008


def test_superblocks_amplify_as_an_independent_program_counted() -> None:
    # The counts of a program of 60 lines in C that shares no code with ours. They hold within 1%,
    # and within 3% at 32 superblocks.
    superblocks = numpy.array([32, 64, 128, 256, 512, 1024])
    counted = numpy.array([6.91, 4.580, 3.965, 3.723, 3.614, 3.559])
    found = model.superblock(
        0.15, FLASH // 64 // superblocks, blocks=64 * superblocks, parity="1/16", **WIDE
    )
    assert (abs(found / counted - 1) <= [0.03, *[0.01] * 5]).all(), found


@pytest.mark.parametrize(
    ("parity", "spare", "data", "programs"),
    [
        ("none", 0.2031, 2.759, None),
        ("1/64", 0.1905, 2.938, 2.985),
        ("1/16", 0.1500, 3.723, 3.971),
        ("1/8", 0.0893, 6.433, 7.352),
    ],
)
def test_parity_takes_spare_space_and_programs(
    parity: str, spare: float, data: float, programs: float | None
) -> None:
    # The same counts, at one logical capacity.
    parts = 1 if parity == "none" else int(parity[2:])
    share = 1 if parity == "none" else (parts - 1) / parts
    beside = 1 - LOGICAL / (FLASH * share)
    assert beside == pytest.approx(spare, abs=5e-5)
    result = model.evaluate(
        "superblock", spare=beside, pages_per_block=768, blocks=64 * 256, parity=parity, **WIDE
    )
    drive = result.superblocks
    assert drive is not None
    assert (drive.count, drive.data_pages) == (256, 49_152 * share)
    assert drive.spare_of_flash == pytest.approx(1 - LOGICAL / FLASH)
    assert result.write_amplification == pytest.approx(data, rel=0.01)
    if programs is None:
        assert drive.write_amplification_with_parity is None
    else:
        written = drive.write_amplification_with_parity
        assert written == pytest.approx(programs, rel=0.01)
        assert written == pytest.approx(result.write_amplification * parts / (parts - 1))
    # Two superblocks are kept, half of the host's is erased, and half of what a victim frees.
    assert drive.out_of_play == pytest.approx(2.5 + 0.5 / result.write_amplification)
    in_play = (drive.count - drive.out_of_play) * drive.data_pages
    assert drive.spare_in_play == pytest.approx(1 - LOGICAL / in_play)
    assert model.ModelResult.from_dict(result.to_dict()) == result
    assert result.config.given() == {
        "pages_per_block": 768, "spare_factor": beside, "overprovision": pytest.approx(
            beside / (1 - beside)), "frontier": "pool:low=2", "blocks": 64 * 256,
        "superblock": "dies=16,planes=4", "parity": parity,
    }  # fmt: skip


def test_a_model_of_superblocks_agrees_with_the_simulator() -> None:
    # Write amplification is 4.56, which is not near a whole number.
    both = model.validate(
        "superblock", spare=0.15, pages_per_block=512, blocks=512, superblock="dies=8,planes=1",
        parity="1/8", frontier="pool:low=2", runs=2, warmup="10x", writes="10x",
    )  # fmt: skip
    simulated = both.simulation
    assert abs(both.difference) < 0.005
    assert simulated.config.superblock == "dies=8,planes=1"
    assert simulated.config.frontier == "pool:low=2"
    drive = both.model.superblocks
    assert drive is not None
    assert simulated.config.superblocks == drive.count == 64
    assert simulated.config.spare_of_flash == pytest.approx(drive.spare_of_flash, abs=1e-5)
    written = simulated.write_amplification_with_parity
    assert drive.write_amplification_with_parity == pytest.approx(written, rel=0.005)
    # Infinitely many blocks are 22% below: that is what is out of play.
    assert model.greedy(0.15, 3584) < 0.78 * simulated.write_amplification


def test_a_result_says_all_and_goes_to_json() -> None:
    result = model.evaluate("meanfield", pages_per_block=64, spare=0.1, d=10, c=1)
    document = json.loads(result.to_json())
    assert set(document) == {
        "model", "write_amplification", "residual", "valid", "victim", "memory", "config",
        "version",
    }  # fmt: skip
    assert document["model"] == "meanfield"
    assert document["version"] == flashgc.version()
    assert document["config"] == {
        "pages_per_block": 64, "spare_factor": 0.1, "overprovision": pytest.approx(1 / 9),
        "d": 10, "c": 1, "workload": "uniform", "frontier": "single",
    }  # fmt: skip
    assert result.residual <= 1e-10
    for shares in (result.valid, result.victim, result.memory):
        assert shares is not None
        assert len(shares) == 65
        assert sum(shares) == pytest.approx(1, abs=1e-9)
    # The mean number of valid pages follows from the spare factor, and WA from the copies.
    assert sum(i * share for i, share in enumerate(result.valid)) == pytest.approx(57.6)
    copies = sum(i * share for i, share in enumerate(result.victim))
    assert result.write_amplification == pytest.approx(64 / (64 - copies))
    assert model.ModelResult.from_dict(result.to_dict()) == result
    assert model.evaluate("meanfield").memory is None
    separate = model.evaluate("separation", workload="hotcold:f=0.2,r=0.8")
    assert [pool.pages for pool in separate.pools] == pytest.approx([0.2, 0.8])
    spent = sum(p.pages / (1 - p.spare_factor) for p in separate.pools)
    assert spent == pytest.approx(1 / 0.9)  # sum f_k alpha_k = alpha
    written = sum(p.writes * p.write_amplification for p in separate.pools)
    assert separate.write_amplification == pytest.approx(written)


def test_every_model_answers_and_is_described() -> None:
    for entry in model.models():
        result = model.evaluate(entry.name)
        assert result.write_amplification > 1, entry.name
        assert result.residual <= 1e-10, entry.name
        assert set(entry.takes) <= {*result.config.given(), "blocks"}
        for part in ("# Valid for", "# Source"):
            assert part in entry.doc, entry.name


def test_the_spare_space_for_a_write_amplification() -> None:
    # FIFO's explicit inverse: v = -ln(1 - 1 / WA), alpha = WA v.
    alpha = -3 * math.log1p(-1 / 3)
    spare = model.spare_for("fifo", 3)
    assert spare.spare_factor == pytest.approx(1 - 1 / alpha, rel=1e-11)
    assert spare.overprovision == pytest.approx(alpha - 1, rel=1e-11)
    for name in (
        "meanfield",
        "greedy",
        "random",
        "windowed",
        "desnoyers",
        "separation",
        "superblock",
    ):
        found = model.spare_for(name, 2.5, pages_per_block=32)
        again = model.write_amplification(name, spare=found.spare_factor, pages_per_block=32)
        assert again == pytest.approx(2.5, rel=1e-9), name
    two = model.spare_for("meanfield", 3, f=0.1, r=0.9, frontier="double", pages_per_block=16)
    again = model.write_amplification(
        "meanfield", spare=two.spare_factor, f=0.1, r=0.9, frontier="double", pages_per_block=16
    )
    assert again == pytest.approx(3, rel=1e-9)


def test_the_fewest_choices_within_a_share_of_greedy() -> None:
    limit = 1.01 * model.greedy(0.1)
    fewest = model.choices_within("1%", c=[0, 1, 5])
    assert isinstance(fewest, dict)
    for c, d in fewest.items():
        assert d is not None
        enough, too_few = model.write_amplification("meanfield", d=[d, d - 1], c=c)
        assert enough <= limit < too_few
    assert model.choices_within(0.01) == fewest[0]
    assert model.choices_within(1e-12) is None


def test_a_course_ends_in_the_fixed_point() -> None:
    for initial, first in (("random", None), ("sequential", 1 / (1 - 0.9**5))):
        course = model.transient(initial, d=5, drive_writes=15, points=30)
        assert course.drive_writes[0] == 0
        assert course.drive_writes[-1] == 15
        assert len(course.write_amplification) == 31
        assert course.write_amplification[-1] == pytest.approx(BY_D[5], abs=HALF)
        assert course.steady == pytest.approx(BY_D[5], abs=HALF)
        if first is not None:  # All 5 drawn blocks are full, or one is empty.
            assert course.write_amplification[0] == pytest.approx(first)
        assert json.loads(course.to_json())["initial"] == initial


def test_validation_puts_the_simulation_beside() -> None:
    both = model.validate(
        "fifo", f=0.1, r=0.9, pages_per_block=32, blocks=4000, runs=3, warmup="10x", writes="10x"
    )
    assert both.model.write_amplification == pytest.approx(6.1676, abs=HALF)
    assert both.agrees is True
    values = both.simulation.run_values
    mean = sum(values) / 3
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / 2 / 3)
    assert both.standard_error == pytest.approx(spread)
    assert both.standard_errors == pytest.approx((both.model.write_amplification - mean) / spread)
    document = json.loads(both.to_json())
    assert document["simulation"]["config"]["fill"] == "random"
    assert document["write_amplification"] == both.model.write_amplification
    # After half of a drive write, the simulation has not yet reached the model's figure.
    early = model.validate("fifo", spare=0.1, blocks=1000, runs=3, warmup="0", writes="0.5x")
    assert early.agrees is False
    one = model.validate("fifo", blocks=1000, runs=1, warmup="1x", writes="1x")
    assert (one.agrees, one.standard_error, one.standard_errors) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("fifo", {"workload": "zipf:theta=0.99"}),
        ("fifo", {"workload": "zipf:theta=0.6"}),
        ("fifo", {"workload": "classes:pages=1/9/90,shares=60/30/10"}),
        ("random", {"workload": "zipf:theta=0.99"}),
        ("greedy", {"spare": 0.2}),
        ("windowed", {"window": 0.05}),
        ("meanfield", {"d": 3, "c": 2}),
        ("meanfield", {"d": 10, "workload": "hotcold:f=0.3,r=0.7"}),
    ],
)
def test_models_agree_with_the_simulator(name: str, parameters: dict[str, object]) -> None:
    # The simulation has finitely many blocks. `agrees` allows 3 standard errors and 0.05%.
    both = model.validate(
        name, **parameters, pages_per_block=32, blocks=4000, runs=4, warmup="10x", writes="10x"
    )
    assert both.agrees, (both.difference, both.standard_errors)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: model.fifo([0.1, 0.2, 1.5]), ["element [2]: ", "spare: found 1.5", "hint"]),
        (lambda: model.fifo([[0.1, 0.2], [0, math.nan]]), ["element [1, 0]: spare: found 0"]),
        (lambda: model.fifo([math.nan]), ["element [0]: spare: found NaN"]),
        (lambda: model.fifo(math.nan), ["spare: found nan"]),
        (lambda: model.fifo(0), ["spare: found 0, expected more than 0", "nothing can be coll"]),
        (lambda: model.fifo(1), ["spare: found 1", "takes no writes"]),
        (lambda: model.fifo("much"), ["spare: 'much' is not a number"]),
        (lambda: model.fifo(["x"]), ["spare: found ['x'], expected numbers"]),
        (lambda: model.fifo(1j), ["spare: found 1j, expected numbers"]),
        (lambda: model.fifo(0.1, f=[0.1, 1], r=0.5), ["element [1]: ", "f=1"]),
        (
            lambda: model.fifo(0.1, f=0.1, workload="zipf"),
            ["f only applies to workload 'hotcold', found 'zipf'"],
        ),
        (lambda: model.greedy(0.1, 2.5), ["pages per block: found 2.5", "whole number"]),
        (lambda: model.greedy(0.1, [64, 0]), ["element [1]: pages per block: found 0"]),
        (lambda: model.greedy(0.1, 1e9), ["pages per block: found 1000000000"]),
        (lambda: model.evaluate("gredy"), ["unknown model 'gredy'", "'greedy'"]),
        (lambda: model.evaluate("greedy", d=3), ["no parameter 'd'"]),
        (lambda: model.evaluate("greedy", spare=[0.1, 0.2]), ["spare: found an array"]),
        (lambda: model.evaluate("meanfield", d=0), ["d: found 0, expected a whole number"]),
        (lambda: model.evaluate("meanfield", c=65), ["c: found 65", "0 to 64"]),
        (lambda: model.evaluate("meanfield", d=1, c=1), ["c=1 with d=1"]),
        (lambda: model.evaluate("meanfield", workload="zipf"), ["meanfield: found zipf", "fifo"]),
        (lambda: model.evaluate("windowed", workload="hotcold"), ["windowed", "uniform writes"]),
        (
            lambda: model.evaluate("desnoyers", workload="hotcold", frontier="double"),
            ["double frontier with hot and cold data", "single"],
        ),
        (lambda: model.evaluate("fifo", frontier="duble"), ["frontier: found 'duble'", "'double'"]),
        (lambda: model.evaluate("fifo", workload="zpif"), ["unknown workload 'zpif'", "'zipf'"]),
        (lambda: model.evaluate("fifo", workload="sequential"), ["no model", "flashgc run"]),
        (lambda: model.evaluate("fifo", workload="a.csv"), ["the trace 'a.csv'", "flashgc run"]),
        (lambda: model.evaluate("fifo", workload="uniform:trim=0.1"), ["no TRIM"]),
        (
            lambda: model.evaluate("separation", workload="classes:burst=4"),
            ["found 'classes:burst=4', expected independent writes", "flashgc run"],
        ),
        (
            lambda: model.evaluate("separation", workload="uniform:from=0.2"),
            ["expected writes to all pages", "leave out from= and to="],
        ),
        (
            lambda: model.evaluate("fifo", workload="hotcold:to=0.9"),
            ["expected writes to all pages", "leave out from= and to="],
        ),
        (lambda: model.evaluate("fifo", workload=3), ["workload: found 3, expected a text"]),
        (lambda: model.evaluate("separation", cleaner="fif"), ["cleaner: found 'fif'", "'fifo'"]),
        (
            lambda: model.write_amplification("meanfield", d=[1, 2], spare=[0.1, 0.2, 0.3]),
            ["d (2,), spare (3,)"],
        ),
        (
            lambda: model.write_amplification("fifo", spare=0.1, overprovision=0.1),
            ["overprovision", "give one"],
        ),
        (
            lambda: model.write_amplification("fifo", overprovision=[0.1, 0]),
            ["element [1]: overprovision: found 0.0"],
        ),
        (
            lambda: model.evaluate("greedy", parity="1/16"),
            ["parity: ", "infinitely many", "superbl"],
        ),
        (
            lambda: model.evaluate("fifo", frontier="pool:low=2"),
            ["frontier: found 'pool:low=2', expected single or double", "flashgc model superblock"],
        ),
        (
            lambda: model.superblock(0.07, blocks=32, frontier="pool:low=2"),
            ["spare: found 0.07, which is 2.24 of 32 superblocks", 'spare="12.5%", or more blocks'],
        ),
        (
            lambda: model.superblock([0.2, 0.1], blocks=32, frontier="pool:low=2"),
            ["element [1]: spare: found 0.1"],
        ),
        (lambda: model.superblock(0.1, frontier="pol"), ["frontier: unknown write", "'pool'"]),
        (lambda: model.superblock(0.1, superblock="die"), ["superblock: found 'die'", "planes=4"]),
        (lambda: model.superblock(0.1, superblock="dies=0"), ["superblock: dies=0, expected 1 to"]),
        (lambda: model.superblock(0.1, parity="5"), ["parity: found '5'", 'parity="1/16"']),
        (
            lambda: model.superblock(0.1, superblock="dies=16,planes=4", parity="1/5"),
            ["parity: 1/5 does not go with superblocks of 64", 'superblock="dies=5,planes=1"'],
        ),
        (
            lambda: model.superblock(0.1, superblock="dies=1,planes=4", parity="1/4"),
            ["parity: 1/4 does not go with superblocks on one die", "dies=4,planes=1"],
        ),
        (
            lambda: model.evaluate("superblock", workload="uniform"),
            ["the model has no parameter 'workload'"],
        ),
        (lambda: model.spare_for("fifo", 1), ["wanted", "found a write amplification of 1,"]),
        (lambda: model.spare_for("greedy", 65), ["expected at most 63.99"]),
        (lambda: model.spare_for("greedy", 3, spare=0.1), ["spare: spare_for solves for it"]),
        (lambda: model.choices_within(0), ["within: found 0"]),
        (lambda: model.choices_within("1%", c=[0, 65]), ["c: found 65"]),
        (lambda: model.transient("full"), ["transient: found 'full'"]),
        (lambda: model.transient(workload="hotcold"), ["uniform writes"]),
        (lambda: model.transient(drive_writes=-1), ["-1 drive writes"]),
        (lambda: model.transient(points=0), ["points: found 0"]),
        (lambda: model.validate("separation"), ["the simulator has no such policy"]),
        (lambda: model.validate("greedy", workload="hotcold", ties="random"), ["ties=random"]),
    ],
)
def test_bad_input_is_one_line(call: object, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        call()  # type: ignore[operator]
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals are for the main one"
)
def test_ctrl_c_stops_a_grid() -> None:
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.write_amplification("meanfield", c=50, d=numpy.tile([10, 20], 100_000))
    assert time.monotonic() - begin < 10
