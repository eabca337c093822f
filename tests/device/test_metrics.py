"""A drive's OpenMetrics: Prometheus's own parser reads them, and they agree with ``stat``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from device.fake_drive import PAGE, FakeDrive
from flashgc.device.metrics import METRICS, openmetrics

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]

#: Fields of ``stat`` without a metric: other metrics give the value in more detail.
SAID_BY_OTHERS = {
    "ocp.percent_free_blocks",
    "ocp.incomplete_shutdowns",
    "ocp.unaligned_io",
    # The bytes programmed have it.
    "counters.parity_pages_written",
    "smart.host_read_commands",
    "smart.host_write_commands",
    "smart.data_units_read",
    "smart.data_units_written",
    "smart.controller_busy_time",
    "smart.power_on_hours",
}


def parsed(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def stat() -> dict[str, Any]:
    drive = FakeDrive()
    drive.write(20_000)
    return drive.stat()


def test_the_parser_of_prometheus_reads_it(stat: dict[str, Any]) -> None:
    found = parsed(openmetrics(stat))
    value = {name: of for (name, labels), of in found.items() if not labels}
    assert value["flashgc_drive_host_written_pages_total"] == 20_000
    assert (
        value["flashgc_drive_flash_written_bytes_total"]
        == (stat["ocp"]["physical_media_units_written"])
    )
    assert value["flashgc_drive_host_written_bytes_total"] == 20_000 * PAGE
    assert value["flashgc_drive_available_spare_ratio"] == pytest.approx(0.98)
    assert value["flashgc_drive_open_seconds_total"] == 3600.25
    assert value["flashgc_drive_write_amplification_ratio"] == pytest.approx(
        stat["write_amplification"]
    )
    assert value["flashgc_drive_read_only"] == 0
    latency = "flashgc_drive_latency_seconds"
    write = ("operation", "write")
    assert found[latency, (write, ("quantile", "0.99"))] == pytest.approx(75e-6)
    assert found[f"{latency}_sum", (write,)] == pytest.approx(20_000 * 30e-6)
    assert (latency, (("operation", "read"), ("quantile", "0.5"))) not in found


def test_every_number_of_a_stat_is_there(stat: dict[str, Any]) -> None:
    every_number_is_there(stat)


def test_every_number_of_a_real_drive_is_there(tmp_path: Path) -> None:
    drives = pytest.importorskip("flashgc.device.drive", reason="needs the stored drive")
    with drives.Device.create(tmp_path / "a.flash", blocks=64, pages_per_block=32) as drive:
        drive.write(0, b"x" * 10_000)
        stat = drive.stat()
    every_number_is_there(stat)
    assert parsed(openmetrics(stat))["flashgc_drive_host_written_bytes_total", ()] == 10_000


def every_number_is_there(stat: dict[str, Any]) -> None:
    known = {metric.path for metric in METRICS} | SAID_BY_OTHERS
    for section in ("smart", "ocp", "counters"):
        for key in stat[section]:
            assert f"{section}.{key}" in known
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.name.endswith(metric.unit), "a name ends with its unit"


def test_names_are_escaped_and_what_is_unknown_is_left_out(stat: dict[str, Any]) -> None:
    stat["file"] = 'a"b\\nc\nd.flash'
    stat["write_amplification"] = None
    stat["read_only"] = "worn out"
    found = parsed(openmetrics(stat))
    [labels] = [dict(labels) for name, labels in found if name == "flashgc_drive_info"]
    assert labels["file"] == stat["file"]
    assert ("flashgc_drive_write_amplification_ratio", ()) not in found
    assert ("flashgc_drive_zombie_pages", ()) not in found
    assert found["flashgc_drive_read_only", ()] == 1


def test_a_text_without_its_end_is_noticed(stat: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="EOF"):
        parsed(openmetrics(stat).removesuffix("# EOF\n"))
