#!/usr/bin/env python3
"""Draws docs/images/ask.svg: a real run of `reverie ask` in this repository, as a terminal shows it.

    cargo build --package cli && python3 tests/pictures/terminal.py

Runs the built binary in a pseudo-terminal with an empty home, so that the offline model answers, and turns what
comes to the screen, colours included, into an SVG. Needs nothing but Python's standard library.
"""

import argparse
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios

from drawing import PLAIN, PALETTE, Style, screen, svg

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "ask.svg"
QUESTION = "how does the retry backoff work?"
COLUMNS = 118
# A picture longer than this is cut, with a line that says so.
MOST_ROWS = 40


def run(command):
    """What the command writes to a terminal, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave
        )
        os.close(slave)
        output = bytearray()
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # Linux says so when the last writer is gone.
                piece = b""
            if not piece:
                break
            output += piece
        return output.decode(), process.wait()


def prompt_row(command):
    cells = [("$", Style(fore=PALETTE[2], bold=True)), (" ", PLAIN)]
    return cells + [(character, Style(bold=True)) for character in command]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--output", type=pathlib.Path, default=PICTURE)
    arguments = parser.parse_args()
    question = arguments.question
    built = [ROOT / "target" / profile / "reverie" for profile in ("debug", "release")]
    built = sorted((path for path in built if path.is_file()), key=lambda path: path.stat().st_mtime)
    if not built:
        sys.exit("build the program first: cargo build --package cli")
    output, code = run([str(built[-1]), "ask", question])
    if code != 0:
        sys.exit(f"reverie ended with {code}:\n{output}")
    command = f'reverie ask "{question}"'
    rows = [prompt_row(command)] + screen(output, COLUMNS)
    if len(rows) > MOST_ROWS:
        hidden = len(rows) - MOST_ROWS + 1
        rows = rows[: MOST_ROWS - 1] + [[(c, Style(faint=True)) for c in f"… {hidden} more lines"]]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(svg(rows, f"A terminal: {command}", COLUMNS), encoding="utf-8")
    print(f"{arguments.output}: {len(rows)} rows")


if __name__ == "__main__":
    main()
