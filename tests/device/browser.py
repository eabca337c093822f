"""Controls Chromium by the WebDriver protocol (JSON over HTTP) with the standard library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs Chromium and its driver; hint: apt-get install chromium chromium-driver",
)

#: Chromium can reach only this machine, and sends no requests of its own.
ARGUMENTS = (
    "--headless", "--disable-gpu", "--no-sandbox", "--no-first-run", "--disable-extensions",
    "--disable-sync", "--disable-background-networking", "--disable-component-update",
    "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


class Browser:
    """One window of Chromium."""

    def __init__(self, base: str, folder: Path) -> None:
        self._base = base
        made = self._call(
            "POST", "",
            capabilities={"alwaysMatch": {
                "browserName": "chrome",
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "goog:chromeOptions": {
                    "binary": CHROMIUM, "args": [*ARGUMENTS, f"--user-data-dir={folder}"],
                },
            }},
        )  # fmt: skip
        self._base += "/" + made["sessionId"]

    def _call(self, method: str, path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            self._base + path,
            json.dumps(body).encode() if method == "POST" else None,
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        """Opens a page and drops the complaints about the page before."""
        self._call("POST", "/url", url="about:blank")
        self._logs()
        self._call("POST", "/url", url=url)

    def run(self, script: str) -> Any:
        """Runs a function with this body in the page, and returns its result."""
        return self._call("POST", "/execute/sync", script=script, args=[])

    def text(self, id_: str) -> str:
        shown: str = self.run(f"return document.getElementById({json.dumps(id_)}).innerText")
        return shown

    def until(self, script: str, seconds: float = 60) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({script})"):
            assert time.monotonic() < end, f"not within {seconds} s: {script}"
            time.sleep(0.05)

    def emulate(self, command: str, **parameters: Any) -> None:
        self._call("POST", "/goog/cdp/execute", cmd=command, params=parameters)

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """Sets the size of the page, in CSS pixels, and its light or dark scheme."""
        self.emulate(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = "dark" if dark else "light"
        self.emulate(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def point(self, x: int, y: int) -> None:
        """Moves the mouse."""
        self.emulate("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self) -> bytes:
        return base64.b64decode(self._call("GET", "/screenshot"))

    def complaints(self) -> list[str]:
        """Console messages, and requests to other origins than the page's."""
        found, events = self._logs()
        origin = self.run("return location.origin")
        for event in events:
            if event["method"] == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if not url.startswith((origin + "/", "data:")):
                    found.append(f"request: {url}")
        return found

    def _logs(self) -> tuple[list[str], list[dict[str, Any]]]:
        """Console messages and browser events since the last call."""
        console, events = (
            self._call("POST", "/se/log", type=kind) for kind in ("browser", "performance")
        )
        return (
            [entry["message"] for entry in console],
            [json.loads(entry["message"])["message"] for entry in events],
        )

    def close(self) -> None:
        self._call("DELETE", "")


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser that closes at the end of the ``with`` block."""
    assert DRIVER is not None
    driver = subprocess.Popen(
        [DRIVER, "--port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HOME": str(folder)},
    )
    assert driver.stdout is not None
    try:
        port = next(
            line.rsplit(" ", 1)[-1].strip(".\n")
            for line in driver.stdout
            if "started successfully on port" in line
        )
        window = Browser(f"http://127.0.0.1:{port}/session", folder / "profile")
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait()
        driver.stdout.close()
