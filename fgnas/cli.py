"""The command line: parse, run a command, and turn every error into one line."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NoReturn

from fgnas import systems
from fgnas.commands import (
    boards,
    checking,
    designs,
    mapping,
    measuring,
    pages,
    pricing,
    searching,
    show,
    writing,
)
from fgnas.errors import UserError
from fgnas.paths import RUNS
from fgnas.progress import shown

GROUPS = (searching, designs, pricing, writing, checking, boards, pages, mapping, measuring)
"""Modules of commands, in the order in which `fgnas --help` lists them."""


class Parser(argparse.ArgumentParser):
    """Reports an error in one line, as every command does."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        raise UserError(f"{message} (see `{self.prog} --help`)")


def parser(system: str = systems.DEFAULT) -> Parser:
    """The parser of all commands; the options of `search` and `sample` come from the system."""
    root = Parser(prog="fgnas", description="Search graph neural networks together with their FPGA accelerators.")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for command in (command for group in GROUPS for command in group.COMMANDS):
        sub = commands.add_parser(command.name, help=command.about, description=command.about, allow_abbrev=False)
        sub.set_defaults(run=command.run, searched=system)
        command.add_options(sub)
        sub.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0 success, 1 results differ, 2 error, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser(_system_of(given)).parse_args(given)
        with nullcontext() if options.quiet else shown(sys.stderr):
            return options.run(options)
    except UserError as error:
        print(f"fgnas: {show.as_here(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        how = str(interrupt) or f"; start again with: fgnas {shlex.join(given)}"
        print(f"fgnas: interrupted{show.as_here(how)}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: nobody would read a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A full disk or a read-only folder: any call may raise this.
        place = f"{error.filename}: " if error.filename else ""
        print(f"fgnas: {place}{error.strerror or error}", file=sys.stderr)
        return 2


def _system_of(arguments: Sequence[str]) -> str:
    """The system that a command line names or whose run it continues, found before its options can be parsed."""
    first = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    first.add_argument("--system")
    first.add_argument("--run")
    first.add_argument("--resume", action="store_true")
    try:
        found = first.parse_known_args(arguments)[0]
        if found.system is None and found.resume and arguments[0] == "search":
            from fgnas.engine.store import LATEST, RunStore

            return str(RunStore.find(RUNS, found.run or LATEST).config().get("system", systems.DEFAULT))
    except (argparse.ArgumentError, UserError):  # a value or the run is missing: the command itself reports it
        return systems.DEFAULT
    return str(found.system or systems.DEFAULT)


if __name__ == "__main__":
    sys.exit(main())
