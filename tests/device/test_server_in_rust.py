"""The example of ``crates/server`` serves a drive without Python as the command serves it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment
from tests.device.conftest import needs

from flashgc import Device
from flashgc.device.campaign.nvme import PAGE, connected

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def example() -> Path:
    """The compiled example, built with the features of the Rust tests to share their crates."""
    built = subprocess.run(
        ["cargo", "build", "--locked", "--workspace", "--features", "flashgc-python/mutants",
         "--profile", "checks", "--quiet", "--example", "serve"],
        cwd=ROOT, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return ROOT / "target" / "checks" / "examples" / "serve"


@contextmanager
def serving(words: list[str | Path], fronts: int) -> Iterator[list[str]]:
    """Runs a server, and returns the lines that it prints about its front ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, env=environment(), text=True, stdin=pipe, stdout=pipe, stderr=pipe
    ) as server:
        try:
            assert server.stdout is not None
            yield [server.stdout.readline().rstrip("\n") for _ in range(fronts)]
            # The command ends on a signal, the example when its standard input is closed.
            if words[0] == COMMAND[0]:
                server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
            assert server.returncode == 0
        finally:
            server.kill()


@pytest.mark.parametrize(
    "kind", ["command", pytest.param("example", marks=pytest.mark.waits_for_the_compiler)]
)
@needs("nbdcopy")
@needs("nbdinfo")
@needs("qemu-img")
@needs("qemu-io")
def test_both_servers_pass_the_same_checks(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file, image, socket = tmp_path / "drive", tmp_path / "image", tmp_path / "nbd"
    Device.create(file, capacity="64MiB", pages_per_block=32).close()
    with Device.open(file) as drive:
        size = drive.size
    image.write_bytes(os.urandom(4 << 20) + bytes(4 << 20))
    server: list[str | Path] = (
        [request.getfixturevalue("example"), file]
        if kind == "example"
        else [*COMMAND, "device", "serve", file]
    )
    fronts = ["--nbd", f"unix:{socket}", "--nvme-tcp", "127.0.0.1:0"]
    with serving([*server, *fronts], 2) as lines:
        uri = f"nbd+unix:///?socket={socket}"
        assert lines[0] == uri
        protocol, address, name = lines[1].split(" ")
        assert protocol == "nvme-tcp"

        def client(*words: str | Path) -> str:
            done = subprocess.run(words, text=True, capture_output=True, check=True)
            return done.stdout

        facts = client("nbdinfo", uri)
        for line in (f"export-size: {size}", "can_flush: true", "can_fua: true", "can_trim: true"):
            assert line in facts
        client("nbdcopy", image, uri)
        assert "Images are identical" in client(
            "qemu-img", "compare", "-f", "raw", "-F", "raw", image, uri
        )
        client("qemu-io", "-f", "raw", "-c", "discard 64k 64k", "-c", "read -P 0 64k 64k", uri)
        data = bytes(range(256)) * (PAGE // 256)
        with connected(address, name) as (admin, queue):
            namespace = admin.call(0x06, 1, (0,), given=PAGE)[1]
            assert int.from_bytes(namespace[:8], "little") == size // PAGE
            assert queue.call(0x02, 1, (0,), given=PAGE)[1] == image.read_bytes()[:PAGE]
            assert queue.call(0x02, 1, (16,), given=PAGE)[1] == bytes(PAGE)
            queue.call(0x01, 1, (16,), data)
            queue.call(0x00, 1, ())
    with Device.open(file) as drive:
        assert drive.read(0, 64 << 10) == image.read_bytes()[: 64 << 10]
        assert drive.read(64 << 10, PAGE) == data
        state = drive.stat()
        assert state["smart"]["unsafe_shutdowns"] == 0
        assert state["counters"]["trimmed_pages"] == 16
