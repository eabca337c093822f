"""Commands are declared by their help pages."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from flashgc.command.declaring import command
from flashgc.command.entrance import cli


def commands(group: click.Group, path: str = "flashgc") -> Iterator[tuple[str, click.Command]]:
    """Every command below a group, with the words that are typed for it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield f"{path} {name}", found
        if isinstance(found, click.Group):
            yield from commands(found, f"{path} {name}")


@command(context={"allow_interspersed_args": False}, constants={"MOST": 9}, word=("one", "two"))
@click.argument("file", type=click.Path(path_type=Path))
def measure(
    file: Path,
    word: str,
    count: int | None,
    names: tuple[str, ...],
    folder: Path | None,
    fast: bool,
    keep: bool,
    as_json: bool,
) -> None:
    """Measure FILE.

    Options:
      --word, -w WORD
          Word to say, on
          two lines. [default: one]
      --count N
          Number, at most {MOST}.
      --name NAME[,NAME] as names
          Name. Repeat for several.
      --folder DIR
          Folder.
      --fast
          Do it at once.
      --keep/--no-keep
          Keep it. [default: --keep]
      --json

    Example:
      flashgc measure file

    Text below.
    """
    shown = (file, word, count, names, folder, fast, keep, as_json)
    click.echo(repr(shown))


def told(*arguments: str) -> object:
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr(click, "echo", said.append)
        measure.main([*arguments], standalone_mode=False)
    return eval(said[0], {"PosixPath": Path})


def test_a_page_declares_its_options_with_their_kinds_and_defaults() -> None:
    assert told("f") == (Path("f"), "one", None, (), None, False, True, False)
    words = ["-w", "two", "--count=3", "--name=a", "--name=b", "--folder=d", "--fast", "--no-keep"]
    assert told(*words, "--json", "f") == (
        Path("f"),
        "two",
        3,
        ("a", "b"),
        Path("d"),
        True,
        False,
        True,
    )


def test_the_help_of_a_page_is_its_text() -> None:
    page = measure.get_help(click.Context(measure, info_name="measure"))
    assert "  -w, --word WORD     Word to say, on two lines. [default: one]\n" in page
    assert "Number, at most 9." in page
    assert page.rstrip().endswith("Text below.")
    assert "Example:\n" in page
    assert "Options:\n" in page.split("Measure FILE.")[1]


def test_words_complete() -> None:
    word = next(one for one in measure.params if one.name == "word")
    found = word.shell_complete(click.Context(measure), "t")
    assert [item.value for item in found] == ["two"]


def test_a_page_that_names_an_unknown_option_without_a_text_is_refused() -> None:
    def wrong(nowhere: str) -> None:
        """Nothing.

        Options:
          --nowhere
        """

    with pytest.raises(KeyError, match="nowhere"):
        command()(wrong)


EVERY = dict(commands(cli))


@pytest.mark.parametrize("path", EVERY)
def test_each_option_of_a_command_has_a_parameter_of_its_function(path: str) -> None:
    found = EVERY[path]
    assert found.callback is not None
    parameters = inspect.signature(found.callback).parameters
    has_others = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    names = {one.name for one in found.params if one.expose_value}
    named = {name for name, one in parameters.items() if one.kind is not one.VAR_KEYWORD}
    named -= {"context"}
    assert named <= names, path
    assert has_others or names <= named, path
