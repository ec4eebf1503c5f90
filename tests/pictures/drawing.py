"""A terminal's output as a picture: escape codes to rows of cells, rows of cells to SVG."""

import collections
import re
import unicodedata
from typing import NamedTuple, Optional
from xml.sax.saxutils import escape, quoteattr

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN, BAR = 8.4, 19, 14, 18, 34
BACKGROUND, FOREGROUND, FAINT = "#16181d", "#d7dae0", "#7d8590"
# The eight of old terminals and their bright ones, as our pictures have them.
PALETTE = ["#484f58", "#ff7b72", "#7ee787", "#e3b341", "#58a6ff", "#bc8cff", "#79c0ff", "#b1bac4"]
BRIGHT = ["#6e7681", "#ffa198", "#a5f3b0", "#f2cc60", "#79c0ff", "#d2a8ff", "#a5d6ff", "#f0f6fc"]
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

TOKEN = re.compile(r"\x1b\[([0-9;:]*)([A-Za-z])|\x1b([78])|\x1b\][^\x1b\x07]*(?:\x07|\x1b\\)|([^\x1b])", re.DOTALL)


# Which ends of the cell a line of a frame goes to: up, down, left, right.
BOX = {
    "│": "ud", "┃": "ud", "─": "lr", "━": "lr", "┌": "dr", "╭": "dr", "┐": "dl", "╮": "dl", "└": "ur", "╰": "ur",
    "┘": "ul", "╯": "ul", "├": "udr", "┤": "udl", "┬": "dlr", "┴": "ulr", "┼": "udlr",
}  # fmt: skip


class Style(NamedTuple):
    fore: Optional[str] = None
    back: Optional[str] = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False


PLAIN = Style()
FLAGS = {1: "bold", 2: "faint", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
FLAGS_OFF = {22: ("bold", "faint"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


def screen(output, columns):
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
            width = width_of(character)
            if width == 0:
                if column > 0:
                    before, look = rows[row][column - 1]
                    rows[row][column - 1] = (before + character, look)
                continue
            if column + width > columns:
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


def width_of(character):
    if unicodedata.combining(character) or character in "\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def restyled(style, parameters):
    codes = [part for part in parameters.split(";")]
    while codes:
        # Colons keep what belongs to one code together: the kind of an underline, or its colour.
        code, *rest = [int(number or 0) for number in codes.pop(0).split(":")]
        if code == 0:
            style = PLAIN
        elif code in (38, 48, 58):
            colour = extended(rest[1:] if rest[:1] == [2] and len(rest) > 4 else rest) if rest else extended_from(codes)
            if code != 58:
                style = style._replace(**{"fore" if code == 38 else "back": colour})
        elif code in FLAGS:
            style = style._replace(**{FLAGS[code]: rest != [0]})
        elif code in FLAGS_OFF:
            style = style._replace(**{name: False for name in FLAGS_OFF[code]})
        elif code == 39:
            style = style._replace(fore=None)
        elif code == 49:
            style = style._replace(back=None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = style._replace(fore=PALETTE[code - 30] if code < 90 else BRIGHT[code - 90])
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style = style._replace(back=PALETTE[code - 40] if code < 100 else BRIGHT[code - 100])
    return style


def extended_from(codes):
    """The colour of 38 and 48 where it stands in the codes that follow, which are taken."""
    kind = int(codes.pop(0))
    taken = [int(codes.pop(0)) for _ in range(3 if kind == 2 else 1)]
    return extended([kind] + taken)


def extended(numbers):
    kind, *values = numbers
    if kind in (2, 0) or len(values) >= 3:
        return "#%02x%02x%02x" % tuple(values[-3:])
    index = values[0]
    if index < 16:
        return (PALETTE + BRIGHT)[index]
    if index >= 232:
        return "#%02x%02x%02x" % ((8 + 10 * (index - 232),) * 3)
    levels = (0, 95, 135, 175, 215, 255)
    index -= 16
    return "#%02x%02x%02x" % (levels[index // 36], levels[index // 6 % 6], levels[index % 6])


def svg(rows, title, columns):
    width = round(columns * CELL_WIDTH + 2 * MARGIN)
    height = BAR + len(rows) * CELL_HEIGHT + MARGIN
    ground = usual_background(rows, columns)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label={quoteattr(title)}>',
        f'<rect width="{width}" height="{height}" rx="9" fill="{ground}"/>',
    ]
    for index, colour in enumerate(["#ff5f57", "#febc2e", "#28c840"]):
        lines.append(f'<circle cx="{20 + 18 * index}" cy="17" r="5.5" fill="{colour}"/>')
    for index, cells in enumerate(rows):
        y = BAR + index * CELL_HEIGHT
        for start, style, count, _ in runs(cells):
            back = colours(style, ground)[1]
            if back != ground:
                x, length = MARGIN + start * CELL_WIDTH, count * CELL_WIDTH
                lines.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{CELL_HEIGHT}" fill="{back}"/>')
    lines.append(f'<g font-family="{FONT}" font-size="{FONT_SIZE}" fill="{FOREGROUND}" stroke-linecap="square" xml:space="preserve">')
    for index, cells in enumerate(rows):
        y = BAR + index * CELL_HEIGHT + FONT_SIZE
        lines.extend(frames(cells, BAR + index * CELL_HEIGHT, ground))
        for start, style, count, text in words(cells):
            # The length is given, so that any monospace font keeps the columns.
            x, length, look = MARGIN + start * CELL_WIDTH, count * CELL_WIDTH, attributes(style, ground)
            lines.append(f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"{look}>{escape(text)}</text>')
    return "\n".join(lines + ["</g>", "</svg>", ""])


def usual_background(rows, columns):
    """What most cells stand on: programs that draw the whole screen bring their own."""
    counted = collections.Counter(style.back or BACKGROUND for cells in rows for _, style in cells if not style.reverse)
    colour, cells = counted.most_common(1)[0] if counted else (BACKGROUND, 0)
    return colour if cells * 2 > len(rows) * columns else BACKGROUND


def runs(cells):
    """Neighbours of one style as (column, style, number of cells, text)."""
    start = 0
    while start < len(cells):
        end = start
        while end < len(cells) and cells[end][1] == cells[start][1]:
            end += 1
        yield start, cells[start][1], end - start, "".join(character for character, _ in cells[start:end])
        start = end


def words(cells):
    """What of the runs is not empty, apart where two spaces or more are: not every viewer keeps those."""
    for start, style, count, _ in runs(cells):
        inside = [" " if character in BOX else character for character, _ in cells[start : start + count]]
        at = 0
        while at < count:
            end = at
            while end < count and (inside[end] != " " or (end > at and inside[end : end + 2] not in ([" ", " "], [" "]))):
                end += 1
            if end > at:
                yield start + at, style, end - at, "".join(inside[at:end])
            at = end + 1


def frames(cells, y, ground):
    """The lines of frames, drawn: rows of a picture are further apart than a font's lines are long."""
    for column, (character, style) in enumerate(cells):
        ends = BOX.get(character, "")
        x, middle = MARGIN + (column + 0.5) * CELL_WIDTH, y + CELL_HEIGHT / 2
        steps = {"u": f"V{y}", "d": f"V{y + CELL_HEIGHT}", "l": f"h{-CELL_WIDTH / 2}", "r": f"h{CELL_WIDTH / 2}"}
        path = "".join(f"M{x:.1f} {middle:.1f}{steps[end]}" for end in ends)
        if path:
            yield f'<path d="{path}" stroke="{colours(style, ground)[0]}"/>'


def colours(style, ground):
    fore, back = style.fore or (FAINT if style.faint else FOREGROUND), style.back or ground
    return (back, fore) if style.reverse else (fore, back)


def attributes(style, ground):
    fore, _ = colours(style, ground)
    decoration = " ".join(["underline"] * style.underline + ["line-through"] * style.strike)
    return (
        (f' fill="{fore}"' if fore != FOREGROUND else "")
        + (' font-weight="bold"' if style.bold else "")
        + (' font-style="italic"' if style.italic else "")
        + (f' text-decoration="{decoration}"' if decoration else "")
    )
