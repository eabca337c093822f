"""Rounded counts: the range of a difference and of a ratio holds the true one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgc.logs.counts import Bytes, Count, Range, ratio

UNITS = (1, 512, 512_000, 10**9, 32 << 20)


def counted(true: int, unit: int, *, up: bool) -> Count:
    """The count of a drive that rounds up, or cuts off."""
    return Count(-(-true // unit) if up else true // unit, unit, "key", "place")


def test_a_difference_by_hand() -> None:
    # A drive that rounds up has 100 units after 50,688,001 to 51,200,000 bytes, and 200 units after
    # 101,888,001 to 102,400,000: 50,688,001 to 51,711,999 bytes between them.
    before, after = Count(100, 512_000, "", ""), Count(200, 512_000, "", "")
    assert after.since(before) == Bytes(51_200_000, 50_688_001, 51_711_999)
    # Bytes are exact.
    assert Count(7, 1, "", "").since(Count(3, 1, "", "")) == Bytes(4, 4, 4)


def test_a_ratio_by_hand() -> None:
    # 142 units over 100 units, each wrong by less than one: 141.000.../100.999... to 142.999.../99.
    host, media = (Count(count, 1000, "", "").since(Count(0, 1000, "", "")) for count in (100, 142))
    found = ratio(media, host)
    assert found is not None
    assert found.value == 1.42
    assert found.low == pytest.approx(141_001 / 100_999, rel=1e-15)
    assert found.high == pytest.approx(142_999 / 99_001, rel=1e-15)


def test_a_ratio_over_nothing_has_no_upper_end_or_none_at_all() -> None:
    few = Count(1, 1000, "", "").since(Count(0, 1000, "", ""))
    assert few.low == 1
    none = Count(0, 1000, "", "").since(Count(0, 1000, "", ""))
    assert ratio(few, none) is None
    blurred = Count(1, 1000, "", "", blur=1).since(Count(0, 1000, "", ""))
    assert ratio(few, blurred) == Range(1.0, 1 / 2999, None)


amounts = st.integers(0, 10**16) | st.integers(0, 10**9)


@given(
    st.sampled_from(UNITS), st.sampled_from(UNITS), st.booleans(), st.booleans(),
    amounts, amounts, amounts, amounts,
)  # fmt: skip
def test_a_range_holds_the_truth(
    host_unit: int,
    media_unit: int,
    host_up: bool,
    media_up: bool,
    host: int,
    media: int,
    more_host: int,
    more_media: int,
) -> None:
    hosts = [counted(true, host_unit, up=host_up) for true in (host, host + more_host)]
    medias = [counted(true, media_unit, up=media_up) for true in (media, media + more_media)]
    for counts, first, more in ((hosts, host, more_host), (medias, media, more_media)):
        total, since = counts[1].total(), counts[1].since(counts[0])
        assert total.low <= first + more <= total.high
        assert since.low <= more <= since.high
        assert since.high - since.low <= 2 * (counts[0].unit - 1)
    for above, below, true in (
        (medias[1].since(medias[0]), hosts[1].since(hosts[0]), (more_media, more_host)),
        (medias[1].total(), hosts[1].total(), (media + more_media, host + more_host)),
    ):
        found = ratio(above, below)
        if found is not None and true[1]:
            exact = Fraction(*true)
            assert Fraction(found.low) <= exact
            assert found.high is None or exact <= Fraction(found.high)


@given(amounts, st.integers(3, 8))
def test_digits_that_were_not_printed_widen_the_range(number: int, digits: int) -> None:
    from decimal import Decimal

    from flashgc.logs.text import whole

    printed = whole(Decimal(f"{number:.{digits}e}"))
    if printed is not None:  # Of a small number, this spelling has digits behind the point.
        assert abs(printed[0] - number) <= printed[1]
