"""Files of results are complete or absent, even if several processes write them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from flashgc import _files


def test_a_file_is_whole_whoever_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [bytes([65 + writer]) * 200_000 for writer in range(4)]

    def write(text: bytes) -> None:
        for _ in range(50):
            _files.write(str(path), text)

    _files.write(str(path), texts[0])
    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in texts
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    _files.write(str(path), b"old")

    def full(_old: object, _new: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "replace", full)
    with pytest.raises(OSError, match="No space left") as error:
        _files.write(str(path), b"new")
    assert error.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("a" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    _files.write(str(path), b"first")
    _files.write(str(path), b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]
