"""Published points in figures: their places, and one entry for them in each legend."""

from __future__ import annotations

import pytest

from flashgc.plot import Panel, Series, panels
from flashgc_papers.published import LABEL, Bars, Point, bars, marked, ranged

#: Matplotlib's names of the markers of published values and bounds.
VALUE, BELOW, ABOVE = "D", "v", "^"


def two_panels():
    series = [Series("ours", [1, 2], [3, 4])]
    return panels([Panel(series=series), Panel(series=series)], x_label="x")


def named(axes) -> list[str]:
    """The texts of the legends in a panel."""
    legends = [one for one in axes.artists if hasattr(one, "get_texts")]
    return [text.get_text() for one in legends for text in one.get_texts()]


def test_a_point_stands_in_its_panel_and_is_named_once() -> None:
    figure = marked(two_panels(), {0: [], 1: [Point(1, 3.5), Point(2, 3.5)]})
    first, second = figure.axes
    assert [line.get_marker() for line in first.lines] == ["none"]
    places = [line.get_xydata()[0].tolist() for line in second.lines if line.get_marker() == VALUE]
    assert places == [[1, 3.5], [2, 3.5]]
    assert (named(first), named(second)) == ([], [LABEL])


def test_a_figure_without_published_points_has_no_word_for_them() -> None:
    figure = marked(two_panels(), {0: []})
    assert all(named(axes) == [] for axes in figure.axes)


def test_a_range_has_its_ends_and_a_bound_an_arrow() -> None:
    points = [ranged(1, -5, -4), Point(1, 2, bound="below"), Point(2, 2, bound="above")]
    (axes, _) = marked(two_panels(), {0: points}).axes
    markers = [line.get_marker() for line in axes.lines]
    assert [markers.count(one) for one in (VALUE, BELOW, ABOVE)] == [1, 1, 1]
    (ends,) = (container for container in axes.containers if container.has_yerr)
    (bar,) = ends.lines[2]
    assert bar.get_segments()[0][:, 1].tolist() == [-5, -4]


def test_a_published_bar_is_marked_at_its_place() -> None:
    nothing = float("nan")
    part = Bars(
        "ms", ["a", "b"], {"one": [(1, 0), (2, 0)], "two": [(3, 0), (4, 0)]}, {"two": [nothing, 5]}
    )
    (axes,) = bars([part], "trace").axes
    (mark,) = (line for line in axes.lines if line.get_marker() == VALUE)
    bar = axes.patches[3]  # the bar of "two" in b
    assert mark.get_xydata()[0].tolist() == pytest.approx([bar.get_center()[0], 5])
