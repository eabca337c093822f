"""The answers of the server of a drive's page, and the clients that it refuses."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import re
import socket
import struct
import time
from array import array
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

import flashgc
from device.fake_drive import FakeDrive
from flashgc.device.web import FILES, HERE, LIMITS, Page

PATHS = ("/stat.json", "/series.json", "/blocks", "/metrics", "/still.svg", *FILES)


@pytest.fixture
def drive() -> FakeDrive:
    made = FakeDrive()
    made.write(20_000)
    return made


@pytest.fixture
def page(drive: FakeDrive) -> Iterator[Page]:
    with Page(drive) as served:
        yield served


def port(page: Page) -> int:
    return int(page.url.rsplit(":", 1)[1].strip("/"))


def asked(
    page: Page, path: str, method: str = "GET", **headers: str
) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", port(page), timeout=10)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, answer.headers


def test_every_path_is_answered_with_nothing_from_elsewhere(page: Page) -> None:
    for path in PATHS:
        status, body, headers = asked(page, path)
        assert (status, bool(body)) == (200, True), path
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        if path in FILES:
            assert re.findall(rb"(?:https?:)?//(?!www\.w3\.org)[\w-]+\.[\w.]+", body) == [], path


def test_every_file_of_the_page_is_served() -> None:
    assert {name for name, _ in FILES.values()} == {path.name for path in HERE.iterdir()}


def test_stat_is_unchanged_and_series_go_on_after_a_number(page: Page, drive: FakeDrive) -> None:
    drive.clock = 5.0
    assert json.loads(asked(page, "/stat.json")[1]) == drive.stat()
    page._sampler.look()
    page._sampler.look()
    series = json.loads(asked(page, "/series.json")[1])
    newest = series["samples"][-1]["number"]
    assert newest >= 2
    again = json.loads(asked(page, f"/series.json?after={newest - 1}")[1])
    assert again["run"] == series["run"]
    assert again["samples"][0]["number"] == newest
    for nonsense in ("-1", "x", "9" * 40, "%00", ""):
        assert asked(page, f"/series.json?after={nonsense}")[0] == 200


def test_blocks_are_the_columns_of_the_drive(page: Page, drive: FakeDrive) -> None:
    body = asked(page, "/blocks")[1]
    blocks = drive.blocks()
    count = len(blocks)
    assert struct.unpack("<4sIII", body[:16]) == (b"FGCB", 2, count, drive.pages)
    assert len(body) == 16 + 14 * count
    assert array("I", body[16 : 16 + 4 * count]) == blocks.erases
    assert array("I", body[16 + 4 * count : 16 + 8 * count]) == blocks.valid
    assert body[16 + 12 * count : 16 + 13 * count] == blocks.state
    assert body[16 + 13 * count :] == blocks.cls


def test_several_viewers_share_a_picture_of_the_blocks(page: Page, drive: FakeDrive) -> None:
    asked(page, "/blocks")
    before = drive.asked
    for _ in range(20):
        asked(page, "/blocks")
    assert drive.asked - before < 10


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:9", "127.8.8.8"]
)
def test_this_machine_may_ask(page: Page, host: str) -> None:
    assert asked(page, "/stat.json", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""]
)
def test_a_name_that_is_not_this_machine_is_refused(page: Page, host: str) -> None:
    status, body, _ = asked(page, "/stat.json", Host=host)
    assert status == 421
    assert b"hint:" in body


def test_a_request_without_a_host_or_with_two_is_refused(page: Page) -> None:
    for headers in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", port(page)), timeout=10) as raw:
            raw.sendall(b"GET /stat.json HTTP/1.1\r\n" + headers + b"\r\n")
            assert raw.recv(64).startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "NONSENSE"]
)
def test_only_get_is_answered(page: Page, method: str) -> None:
    status, body, headers = asked(page, "/stat.json", method)
    assert (status, headers["Allow"]) == (405, "GET")
    assert b"uuid" not in body


def test_a_request_with_a_body_is_refused_and_ends_the_connection(page: Page) -> None:
    status, _, headers = asked(page, "/stat.json", Content_Length="5")
    assert (status, headers["Connection"]) == (400, "close")


@pytest.mark.parametrize("path", ["/nothing", "/../web.py", "/page/../../web.py", "/%2e%2e/web.py"])
def test_nothing_else_is_there(page: Page, path: str) -> None:
    assert asked(page, path)[0] == 404


def test_garbage_is_answered_in_http_or_not_at_all(
    page: Page, capfd: pytest.CaptureFixture[str]
) -> None:
    for garbage in (
        b"\0" * 100 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"G" * 70_000,
    ):
        with socket.create_connection(("127.0.0.1", port(page)), timeout=10) as raw:
            answer = b""
            # The server closes early; the bytes that it did not read reset the connection.
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                raw.sendall(garbage)
                with contextlib.suppress(OSError):
                    raw.shutdown(socket.SHUT_WR)
                while piece := raw.recv(4096):
                    answer += piece
            assert b"200 OK" not in answer
    assert asked(page, "/stat.json")[0] == 200
    assert capfd.readouterr() == ("", ""), "the terminal belongs to the command"


def test_a_drive_that_is_gone_is_said_in_words(page: Page, drive: FakeDrive) -> None:
    drive.gone = "the drive is closed"
    for path in ("/stat.json", "/metrics", "/still.svg"):
        status, body, _ = asked(page, path)
        assert status == 503
        assert json.loads(body) == {"error": "the drive is closed"}
    drive.gone = None
    assert asked(page, "/stat.json")[0] == 200


def test_the_still_of_a_view_is_served(page: Page) -> None:
    for view in ("wear", "nonsense"):
        root = ElementTree.fromstring(asked(page, f"/still.svg?view={view}")[1])
        assert ("erases" in root.get("aria-label", "")) == (view == "wear")


def test_a_closed_page_answers_nobody(drive: FakeDrive) -> None:
    page = Page(drive)
    at = port(page)
    page.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", at), timeout=10)


def test_a_closed_page_ends_connections_that_are_open(drive: FakeDrive) -> None:
    page = Page(drive)
    connection = http.client.HTTPConnection("127.0.0.1", port(page), timeout=10)
    connection.request("GET", "/stat.json")
    connection.getresponse().read()
    page.close()
    connection.auto_open = 0
    with pytest.raises((http.client.HTTPException, OSError)):  # noqa: PT012 - either may fail
        connection.request("GET", "/stat.json")
        connection.getresponse()
    connection.close()


@pytest.mark.parametrize(
    "address", ["", "x", "127.0.0.1", "127.0.0.1:", "1:2:3", "h:65536", "h:-1"]
)
def test_an_address_that_is_none_is_one_line_with_a_hint(drive: FakeDrive, address: str) -> None:
    with pytest.raises(flashgc.ConfigError, match=r"found .*expected HOST:PORT; hint:"):
        Page(drive, address)


def test_an_address_that_is_taken_is_one_line_with_a_hint(page: Page, drive: FakeDrive) -> None:
    with pytest.raises(flashgc.ConfigError, match=r"Address already in use; hint:"):
        Page(drive, f"127.0.0.1:{port(page)}")


def test_who_can_reach_it_is_known(drive: FakeDrive) -> None:
    for address, is_local in (("127.0.0.1:0", True), ("0", True), ("0.0.0.0:0", False)):
        with Page(drive, address, listen_anywhere=not is_local) as page:
            assert page.is_local is is_local
            # Requests by an IP address are allowed; those by a foreign name may be DNS rebinding.
            assert asked(page, "/stat.json", Host=f"127.0.0.1:{port(page)}")[0] == 200
            assert asked(page, "/stat.json", Host="evil.example")[0] == 421


def test_other_machines_reach_it_only_where_that_was_asked_for(drive: FakeDrive) -> None:
    for address in ("0.0.0.0:0", "[::]:0"):
        with pytest.raises(flashgc.ConfigError, match=r"for other machines too.*hint: 127"):
            Page(drive, address)


def served(drive: FakeDrive, **limits: float) -> Page:
    return Page(drive, limits=dataclasses.replace(LIMITS, **limits))  # type: ignore[arg-type]


def connected(page: Page) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port(page)), timeout=10)


def ends(connection: socket.socket, seconds: float) -> bytes:
    """Returns the last bytes of a server, which must close the connection in time."""
    connection.settimeout(seconds)
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 20):
            said += part
    return said


def test_a_request_must_come_whole_in_time(drive: FakeDrive) -> None:
    with served(drive, request=0.3) as page, connected(page) as slow:
        until = time.monotonic() + 60
        with contextlib.suppress(OSError):
            while time.monotonic() < until:
                slow.sendall(b"G")
                time.sleep(0.02)
            pytest.fail("a request that trickles is read for ever")


def test_a_request_has_a_length_and_an_idle_connection_a_time(drive: FakeDrive) -> None:
    with served(drive, idle=0.3) as page:
        with connected(page) as long:
            line = b"X: " + b"y" * 10_000 + b"\r\n"
            long.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + 2 * line + b"\r\n")
            assert b" 200 " not in ends(long, 5)
        with connected(page) as whole:
            whole.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 90 + b"\r\n")
            assert ends(whole, 5).startswith(b"HTTP/1.1 200 ")


def test_idle_viewers_give_their_places_to_new_ones(drive: FakeDrive) -> None:
    with served(drive, connections=3, useless=2) as page:
        idle = [connected(page) for _ in range(3)]
        time.sleep(0.1)
        with connected(page) as other:
            assert ends(other, 5) == b"", "the others are too new"
        time.sleep(2)
        began = time.monotonic()
        assert asked(page, "/stat.json")[0] == 200
        assert time.monotonic() - began < 1.5
        assert ends(idle[0], 5) == b""
        for one in idle:
            one.close()


def test_a_viewer_that_takes_nothing_is_closed_and_answers_share_their_memory(
    drive: FakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = b"x" * (32 << 20)
    monkeypatch.setattr("flashgc.device.web.encode", lambda *_: large)
    with served(drive, patience=0.6, answers=len(large)) as page, connected(page) as deaf:
        deaf.sendall(b"GET /blocks HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(0.2)
        status, body, _ = asked(page, "/blocks")
        assert (status, b"hint: ask again" in body) == (503, True)
        time.sleep(1.0)
        assert len(ends(deaf, 5)) < len(large)
        assert asked(page, "/blocks")[:2] == (200, large)
