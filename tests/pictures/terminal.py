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
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata
from xml.sax.saxutils import escape, quoteattr

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "ask.svg"
QUESTION = "how does the retry backoff work?"
COLUMNS = 118
# A picture longer than this is cut, with a line that says so.
MOST_ROWS = 40

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN, BAR = 8.4, 19, 14, 18, 34
BACKGROUND, FOREGROUND, FAINT = "#16181d", "#d7dae0", "#7d8590"
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 36: "#79c0ff"}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

TOKEN = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|\x1b([78])|([^\x1b])", re.DOTALL)
PLAIN = (None, False, False)


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


def screen(output):
    """The rows of the screen, each a list of (character, style): as much of a terminal as the output needs."""
    rows, row, column, style, saved = [[]], 0, 0, PLAIN, (0, 0)
    for parameters, letter, save, character in TOKEN.findall(output):
        if letter == "m":
            style = restyled(style, parameters)
        elif letter == "K":
            del rows[row][column:]
        elif save == "7":
            saved = (row, column)
        elif save == "8":
            row, column = saved
        elif character == "\r":
            column = 0
        elif character == "\n":
            row += 1
            if row == len(rows):
                rows.append([])
        elif character == "\t":
            column = (column // 8 + 1) * 8
        elif character >= " ":
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if column + width > COLUMNS:
                row, column = row + 1, 0
                if row == len(rows):
                    rows.append([])
            cells = rows[row]
            cells.extend([(" ", PLAIN)] * (column + width - len(cells)))
            cells[column : column + width] = [(character, style)] + [("", style)] * (width - 1)
            column += width
    while rows and not any(character.strip() for character, _ in rows[-1]):
        rows.pop()
    return rows


def restyled(style, parameters):
    colour, bold, faint = style
    for code in (int(part or 0) for part in parameters.split(";")):
        if code == 0:
            colour, bold, faint = PLAIN
        elif code == 1:
            bold = True
        elif code == 2:
            faint = True
        elif code in COLOURS:
            colour = code
        elif code == 39:
            colour = None
    return colour, bold, faint


def svg(rows, title):
    width = round(COLUMNS * CELL_WIDTH + 2 * MARGIN)
    height = BAR + len(rows) * CELL_HEIGHT + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label={quoteattr(title)}>',
        f'<rect width="{width}" height="{height}" rx="9" fill="{BACKGROUND}"/>',
    ]
    for index, colour in enumerate(["#ff5f57", "#febc2e", "#28c840"]):
        lines.append(f'<circle cx="{20 + 18 * index}" cy="17" r="5.5" fill="{colour}"/>')
    lines.append(f'<g font-family="{FONT}" font-size="{FONT_SIZE}" fill="{FOREGROUND}" xml:space="preserve">')
    for index, cells in enumerate(rows):
        y = BAR + index * CELL_HEIGHT + FONT_SIZE
        for start, style, text in runs(cells):
            # The length is given, so that any monospace font keeps the columns.
            x, length = MARGIN + start * CELL_WIDTH, len(text) * CELL_WIDTH
            lines.append(
                f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"{attributes(style)}>{escape(text)}</text>'
            )
    return "\n".join(lines + ["</g>", "</svg>", ""])


def runs(cells):
    """Neighbours of one style as (column, style, text), without the spaces around them."""
    start = 0
    while start < len(cells):
        end = start
        while end < len(cells) and cells[end][1] == cells[start][1]:
            end += 1
        text = "".join(character for character, _ in cells[start:end])
        stripped = text.strip()
        if stripped:
            yield start + len(text) - len(text.lstrip()), cells[start][1], stripped
        start = end


def attributes(style):
    colour, bold, faint = style
    fill = COLOURS.get(colour, FAINT if faint else None)
    return (f' fill="{fill}"' if fill else "") + (' font-weight="bold"' if bold else "")


def prompt_row(command):
    cells = [("$", (32, True, False)), (" ", PLAIN)]
    return cells + [(character, (None, True, False)) for character in command]


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
    rows = [prompt_row(command)] + screen(output)
    if len(rows) > MOST_ROWS:
        hidden = len(rows) - MOST_ROWS + 1
        rows = rows[: MOST_ROWS - 1] + [[(c, (None, False, True)) for c in f"… {hidden} more lines"]]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(svg(rows, f"A terminal: {command}"), encoding="utf-8")
    print(f"{arguments.output}: {len(rows)} rows")


if __name__ == "__main__":
    main()
