"""Pictures show the data, and everybody can read them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import flashgc
from flashgc import ConfigError, plot
from flashgc.plot import look
from flashgc.plot.labels import spread
from flashgc.plot.series import Series
from pictures import SMALL, curves, pictures


def bars(axes: Axes) -> list[tuple[float, float, float]]:
    """x, low and high end of every vertical error bar."""
    found = []
    for container in axes.containers:
        assert isinstance(container, ErrorbarContainer)
        for collection in container.lines[2]:
            for segment in collection.get_segments():
                if len(segment):  # There is no segment if the interval is unknown.
                    found.append((segment[0][0], segment[0][1], segment[1][1]))
    return found


def test_lines_points_and_bars_are_where_the_data_say() -> None:
    line = Series("model", [1, 2, 3], [4, math.nan, 6], group="g")
    points = Series("simulation", [1, 2, 3], [4.5, 5, 6], [0.5, math.nan, 0.25], "points", "g")
    figure = plot.against([line, points], x_label="d", reference_lines={"greedy": 3.5})
    (axes,) = figure.axes
    level, drawn, *_ = axes.lines
    assert list(level.get_ydata()) == [3.5, 3.5]
    assert list(drawn.get_xdata()) == [1, 2, 3]
    assert np.array_equal(drawn.get_ydata(), [4, math.nan, 6], equal_nan=True)
    (container,) = axes.containers
    assert list(container.lines[0].get_ydata()) == [4.5, 5, 6]
    assert bars(axes) == [(1, 4, 5), (3, 5.75, 6.25)]
    assert container.lines[0].get_color() == drawn.get_color()


def test_a_line_with_an_interval_has_a_band() -> None:
    figure = plot.against([Series("a", [1, 2], [4, 5], [0.5, 0.25])], x_label="d")
    (band,) = figure.axes[0].collections
    corners = {tuple(map(float, at)) for at in band.get_paths()[0].vertices}
    assert corners == {(1, 3.5), (1, 4.5), (2, 4.75), (2, 5.25)}


def test_a_comparison_draws_every_figure_with_its_interval() -> None:
    ranking = flashgc.compare(["fifo", "greedy"], runs=3, **SMALL)
    (axes,) = plot.compare(ranking).axes
    for rank, container in zip(ranking, axes.containers, strict=True):
        result = rank.result
        assert container.lines[0].get_xdata()[0] == result.write_amplification
        assert container.lines[0].get_ydata()[0] == rank.place - 1
        (segment,) = container.lines[2][0].get_segments()
        half = result.write_amplification_ci95
        assert segment[1][0] - segment[0][0] == pytest.approx(2 * half)
    low, high = axes.get_ylim()
    assert low > high, "the best is on top"


def test_what_is_not_told_from_the_best_is_hollow() -> None:
    # 2000 or 2001 draws from 200 blocks see all blocks, so the two differ only by chance.
    ranking = flashgc.compare(["d-choices:d=2000", "d-choices:d=2001", "fifo"], runs=4, **SMALL)
    assert [rank.inside_noise for rank in ranking][1:] == [True, False]
    (axes,) = plot.compare(ranking).axes
    faces = [container.lines[0].get_markerfacecolor() for container in axes.containers]
    assert faces == [look.COLOURS[0], "white", look.COLOURS[0]]


def test_a_run_is_drawn_over_its_drive_writes() -> None:
    result = flashgc.run(runs=2, warmup="1/4", **SMALL)
    (axes,) = plot.run(result).axes
    series, mean = axes.lines
    assert list(zip(series.get_xdata(), series.get_ydata(), strict=True)) == list(result.series)
    # Of four drive writes the first is the warm-up.
    assert list(mean.get_xdata()) == pytest.approx([1, 4], abs=0.01)
    assert list(mean.get_ydata()) == [result.write_amplification] * 2


def test_differences_from_a_model_are_percentages_of_it() -> None:
    # Random selection, uniform writes: WA = 1 / S_f (Van Houdt, SIGMETRICS 2013).
    results = {s: flashgc.run(victim="random", spare=s, runs=3, **SMALL) for s in (0.1, 0.2)}
    figure = plot.model_beside_simulation("spare", {s: 1 / s for s in results}, results)
    below = figure.axes[1]
    found = below.containers[0].lines[0].get_ydata()
    for s, off, (_, low, high) in zip(results, found, bars(below), strict=True):
        wa, half = results[s].write_amplification, results[s].write_amplification_ci95
        assert off == pytest.approx(100 * (wa * s - 1))
        assert high - low == pytest.approx(2 * 100 * half * s)


def test_a_distribution_is_drawn_where_there_is_something() -> None:
    shares = np.zeros(65)
    shares[40:43] = [0.25, 0.5, 0.25]
    measured = {"greedy": (shares, np.full(65, 0.01))}
    (axes,) = plot.valid_pages({"greedy": shares}, measured=measured).axes
    assert list(axes.lines[0].get_xdata()) == [39, 40, 41, 42, 43]
    assert list(axes.lines[0].get_ydata()) == [0, 0.25, 0.5, 0.25, 0]
    assert [x for x, _, _ in bars(axes)] == [39, 40, 41, 42, 43]


def texts(figure: Figure) -> list[Text]:
    """Every text that is shown."""
    figure.draw_without_rendering()
    beyond = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in {*axis.majorTicks, *axis.minorTicks} - {*axis._update_ticks()}
        for label in (tick.label1, tick.label2)
    }
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text)
        and text not in beyond
        and text.get_visible()
        and text.get_text().strip()
    ]


@pytest.mark.parametrize("medium", ["paper", "screen"])
def test_no_text_is_cut_off_or_covered_and_no_legend_covers_data(medium: str) -> None:
    for kind, figure in pictures(medium).items():
        page = figure.bbox
        boxes = []
        for text in texts(figure):
            box = Text.get_window_extent(text)  # The extent without the leader line.
            where = f"{medium}, {kind}: {text.get_text()!r}"
            assert box.x0 >= page.x0 - 1, where
            assert box.x1 <= page.x1 + 1, where
            assert box.y0 >= page.y0 - 1, where
            assert box.y1 <= page.y1 + 1, where
            boxes.append((where, box))
        for (one, a), (other, b) in itertools.combinations(boxes, 2):
            both = Bbox.intersection(a, b)
            assert both is None or both.width < 1 or both.height < 1, f"{one} and {other}"
        for legend, axes in itertools.product(figure.legends, figure.axes):
            both = Bbox.intersection(legend.get_window_extent(), axes.bbox)
            assert both is None or both.height < 1, f"{medium}, {kind}"


def test_few_lines_are_named_at_their_ends_and_many_in_a_legend() -> None:
    few = plot.against(curves(3), x_label="c")
    (legend,) = few.legends
    assert [text.get_text() for text in legend.get_texts()] == ["model", "simulation"]
    assert {"d = 5", "d = 10", "d = 20"} <= {text.get_text() for text in texts(few)}
    many = plot.against(curves(5), x_label="c")
    said = [text.get_text() for legend in many.legends for text in legend.get_texts()]
    assert said == ["d = 5", "d = 10", "d = 20", "d = 40", "d = 80", "model", "simulation"]


def test_lines_that_end_together_get_a_legend() -> None:
    lines = [Series(name, [1, 2], [y, 3]) for name, y in (("a", 1), ("b", 2), ("c", 4))]
    figure = plot.against(lines, x_label="d")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]


def test_labels_are_spread_as_little_as_can_be() -> None:
    # Three labels at one place move to a distance of 1, and the middle one stays. The result is
    # compared with all shifts on a grid.
    assert spread([2, 2, 2], [1, 1, 1]) == pytest.approx([1, 2, 3])
    wanted, sizes = [0.0, 0.3, 2.0], [1.0, 2.0, 1.0]
    placed = spread(wanted, sizes)

    def cost(places: tuple[float, ...]) -> float:
        return sum((place - want) ** 2 for place, want in zip(places, wanted, strict=True))

    grid = np.linspace(-2, 4, 61)
    allowed = [
        (a, b, c) for a in grid for b in grid[grid >= a + 1.5] for c in grid[grid >= b + 1.5]
    ]
    assert placed[1] - placed[0] >= 1.5 - 1e-12
    assert placed[2] - placed[1] >= 1.5 - 1e-12
    assert cost(tuple(placed)) <= min(map(cost, allowed)) + 1e-12


#: Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
#: deficiency" (2009), severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def lab(colour: str, vision: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65) of an sRGB colour, as seen with this colour vision."""
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    ) @ np.clip(vision @ linear, 0, 1)
    relative = xyz / [0.95047, 1, 1.08883]
    f = np.where(relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_colours_differ_for_everybody(vision: str) -> None:
    # A difference of 2.3 is just noticeable (Mahy et al., 1994); thin lines need a multiple.
    seen = [lab(colour, VISION[vision]) for colour in look.COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 6 * 2.3


def test_the_check_of_colours_would_notice_red_and_green() -> None:
    # Matplotlib's own red and green, as seen without M cones.
    red, green = (lab(colour, VISION["deuteranopia"]) for colour in ("#d62728", "#2ca02c"))
    normal = [lab(colour, VISION["normal"]) for colour in ("#d62728", "#2ca02c")]
    assert np.linalg.norm(red - green) < 6 * 2.3 < np.linalg.norm(normal[0] - normal[1])


def test_lines_differ_without_colour() -> None:
    looks = look.looks(str(n) for n in range(len(look.DASHES))).values()
    assert len({str(one.dash) for one in looks}) == len(look.DASHES)
    assert len({one.marker for one in looks}) == len(look.DASHES)
    # Colour and dash together distinguish 40 lines.
    looks = look.looks(str(n) for n in range(40)).values()
    assert len({(one.colour, str(one.dash)) for one in looks}) == 40


def test_text_in_a_colour_can_be_read() -> None:
    # WCAG 2.2, success criterion 1.4.3: a contrast of 4.5.
    for colour in look.COLOURS:
        assert look.contrast(look.for_text(colour)) >= 4.5
    assert look.contrast("#ffffff") == pytest.approx(1)


@pytest.mark.parametrize(("medium", "columns", "width"), [("paper", 1, 3.5), ("paper", 2, 7.2)])
def test_paper_has_the_widths_and_letters_of_journals(
    medium: str, columns: int, width: float
) -> None:
    with plot.style(medium, columns=columns):  # type: ignore[arg-type]
        figure = plot.against(curves(), x_label="c")
    assert figure.get_figwidth() == width
    assert all(8 <= text.get_size() <= 9 for text in texts(figure))
    assert plot.against(curves(), x_label="c").get_figwidth() == 7.2, "a screen again"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Series("a", [], []), r"series 'a': x: found no value, expected at least one"),
        (lambda: Series("a", [1, 2], [1]), r"found 2 x and 1 y, expected the same number"),
        (lambda: Series("a", [1, 2], [math.nan] * 2), r"found no number in y"),
        (lambda: Series("a", [math.nan], [1]), r"x\[0\] is nan"),
        (lambda: Series("a", [1], [math.inf]), r"y: found inf at \[0\], expected finite"),
        (lambda: Series("a", [1, 2], [1, 2], [1, -1]), r"found -1.0 as error\[1\]"),
        (lambda: Series("a", [1, 2], [1, 2], [1]), r"found 1 errors, expected 2"),
        (lambda: Series("a", [[1]], [[1]]), r"x: found 2 dimensions, expected one"),
        (lambda: Series("a", ["x"], [1]), r"x: found \['x'\], expected numbers"),
        (lambda: Series("a", None, [1]), r"x: found 0 dimensions, expected one"),
        (lambda: Series("a", [1], [1], kind="line "), r"unknown kind 'line '.*'line'"),
        (lambda: Series("", [1], [1]), r"label of a series: found '', expected a text"),
        (lambda: Series("a\x1b", [1], [1]), r"found 'a\\x1b', expected characters that can be"),
        (lambda: Series("$x^$", [1], [1]), r"'\$x\^\$' is no formula; hint: write \\\$"),
        (lambda: plot.against([], x_label="d"), r"series: found none"),
        (lambda: plot.against([1], x_label="d"), r"series: found 1, expected a Series"),
        (lambda: plot.against(curves(), x_label=""), r"x_label: found '', expected a text"),
        (lambda: plot.against(curves(), x_label="d", x_log=True), r"x_log: found x = 0"),
        (
            lambda: plot.against(curves(), x_label="d", reference_lines={"g": math.nan}),
            r"reference line 'g': found nan",
        ),
        (lambda: plot.against(None, x_label="d"), r"series: found None, expected a Series"),
        (lambda: plot.panels(None, x_label="d"), r"panels: found none"),
        (lambda: plot.panels([3], x_label="d"), r"panel: found 3, expected a mapping"),
        (
            lambda: plot.against(curves(), x_label="d", reference_lines=[4]),
            r"reference_lines: found \[4\], expected a mapping; hint: write \{",
        ),
        (lambda: plot.valid_pages([1]), r"distributions: found \[1\], expected a mapping"),
        (lambda: plot.model_beside_simulation("s", [1], {}), r"model_values: found \[1\]"),
        (lambda: plot.save(Figure(), "a\0.svg"), r"path: found 'a\\x00.svg', expected a file's"),
        (lambda: plot.panels([], x_label="d"), r"panels: found none"),
        (
            lambda: plot.panels([{"serie": curves()}], x_label="d"),
            r"panel: unknown key 'serie'.*'series'",
        ),
        (
            lambda: plot.panels([plot.Panel(series=curves())], x_label="d", heights=[1, 2]),
            r"heights: found \[1, 2\], expected one above 0 for each of 1",
        ),
        (lambda: plot.valid_pages({}), r"distributions: found none"),
        (lambda: plot.valid_pages({"a": [3, 7]}), r"distribution 'a': found 3 at \[0\]"),
        (lambda: plot.valid_pages({"a": [0.3, 0.3]}), r"sum to 0.6, expected 1"),
        (lambda: plot.valid_pages({"a": [math.nan, 1]}), r"found nan at \[0\]"),
        (
            lambda: plot.valid_pages({"a": [1, 0], "b": [1, 0, 0]}),
            r"distribution 'b': found 3 shares, expected 2 as in 'a'",
        ),
        (
            lambda: plot.valid_pages({}, measured={"a": ([1, 0], [-1, 0])}),
            r"found -1.0 as error\[0\]",
        ),
        (lambda: plot.style("papre").__enter__(), r"unknown medium 'papre'.*'paper'"),
        (lambda: plot.style("paper", columns=3).__enter__(), r"columns: found 3, expected 1 or 2"),
        (lambda: plot.model_beside_simulation("s", {0.1: 10}, {}), r"results: found none"),
        (
            lambda: plot.to_svg(plot.against(curves(), x_label="d"), prefix="1 b"),
            r"prefix: found '1 b', expected a word",
        ),
        (
            lambda: plot.save(plot.against(curves(), x_label="d"), "a.svg.gz"),
            r"a\.svg\.gz: found '\.gz', expected \.svg, \.pdf or \.png; hint: name it a\.svg",
        ),
        (
            lambda: plot.save(plot.against(curves(), x_label="d"), "a"),
            r"a: found no ending, expected \.svg, \.pdf or \.png; hint: name it a\.svg",
        ),
        (
            lambda: plot.save(plot.against(curves(), x_label="d"), "a.png", dpi=0),
            r"dpi: found 0, expected 10 to 2400",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_nothing_is_drawn_of_what_was_not_measured() -> None:
    raw = flashgc.run(**SMALL).to_dict()
    nothing = flashgc.Result.from_dict({**raw, "write_amplification": None, "host_pages": 0})
    with pytest.raises(ConfigError, match=r"result: nothing was measured"):
        plot.run(nothing)
    with pytest.raises(ConfigError, match=r"result at 0.1: nothing was measured"):
        plot.model_beside_simulation("s", {0.1: 10}, {0.1: nothing})
    with pytest.raises(ConfigError, match=r"found a result at 0.2 without a model value"):
        plot.model_beside_simulation("s", {0.1: 10}, {0.2: nothing})
    ranks = [{"index": 0, "place": 1, "ratio": None, "difference": None,
              "difference_ci95": None, "inside_noise": True}]  # fmt: skip
    comparison = flashgc.Comparison.from_dicts(ranks, [nothing.to_dict()])
    with pytest.raises(ConfigError, match=r"comparison: nothing was measured"):
        plot.compare(comparison)
