#!/usr/bin/env python3
"""Draws docs/images/nvim-*.svg from what a real Neovim showed in a real terminal.

    cargo xtask screenshots nvim

`tests/nvim/pictures.lua` writes the screens, with their escape codes; this turns each into an SVG.
"""

import argparse
import pathlib

from drawing import screen, svg

TITLE = "Reverie in Neovim: {}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("screens", type=pathlib.Path, help="a folder of NAME.ansi")
    parser.add_argument("pictures", type=pathlib.Path, help="the folder for NAME.svg")
    arguments = parser.parse_args()
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    for path in sorted(arguments.screens.glob("*.ansi")):
        # More columns than any terminal has: rows of a captured screen do not wrap.
        rows = screen(path.read_text(encoding="utf-8").replace("\n", "\r\n"), 1000)
        columns = max(len(row) for row in rows)
        words = path.stem.removeprefix("nvim-").replace("-", " ")
        picture = arguments.pictures / f"{path.stem}.svg"
        picture.write_text(svg(rows, TITLE.format(words), columns), encoding="utf-8")
        print(picture)


if __name__ == "__main__":
    main()
