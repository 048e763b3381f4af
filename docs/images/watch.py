#!/usr/bin/env python3
"""Makes watch.svg, the picture of `evalrs watch` in the README, from a session with the real binary.

    cargo build
    python3 docs/images/watch.py             # writes docs/images/watch.svg
    python3 docs/images/watch.py --check     # exits with 1 where the picture shows something else than the binary draws

The session: a copy of examples/rubric, judged by its own script, in a pseudo-terminal of COLUMNS by ROWS cells. Each reply gets a
label by a key, then one sentence is added to the rubric. Needs Python 3.9 or later on Linux or macOS, and nothing else. EVALRS names
another binary.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
BINARY = Path(os.environ.get("EVALRS") or TARGET / "debug" / "evalrs").resolve()
PICTURE = Path(__file__).with_name("watch.svg")

COLUMNS, ROWS = 100, 26
PATIENCE = 60
# Whether a person passes each reply of examples/rubric, in the order of its rows.
LABELS = "ynynyn"
SENTENCE = "A plain, correct reply is friendly enough.\n"

# The cells of the picture, and colours that keep their contrast on its dark window.
CELL_WIDTH, CELL_HEIGHT, FONT_SIZE = 8.4, 18, 14
WINDOW, TEXT = "#0d1117", "#e6edf3"
PALETTE = ["#6e7681", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3"]
BRIGHT = ["#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff"]
FLAGS = {1: "is_bold", 2: "is_dim", 4: "is_underlined", 7: "is_reversed", 9: "is_struck"}
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Style:
    """How a cell is drawn."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.front = self.back = None
        self.is_bold = self.is_dim = self.is_reversed = self.is_underlined = self.is_struck = False

    def apply(self, codes):
        """Takes the numbers of `CSI … m`."""
        codes = iter(codes)
        for code in codes:
            if code == 0:
                self.reset()
            elif code == 22:
                self.is_bold = self.is_dim = False
            elif code % 20 in FLAGS and code < 30:
                setattr(self, FLAGS[code % 20], code < 20)
            elif code in (38, 48):
                setattr(self, "front" if code == 38 else "back", colour(codes))
            elif code in (39, 49):
                setattr(self, "front" if code == 39 else "back", None)
            elif 30 <= code % 60 <= 37 or 40 <= code % 60 <= 47:
                table = BRIGHT if code >= 90 else PALETTE
                setattr(self, "front" if code % 60 < 40 else "back", table[code % 10])

    def drawn(self):
        """Text colour, background, bold, dim, decoration."""
        front, back = self.front or TEXT, self.back
        if self.is_reversed:
            front, back = back or WINDOW, front
        decoration = "underline" if self.is_underlined else "line-through" if self.is_struck else ""
        return front, back, self.is_bold, self.is_dim, decoration


def colour(codes):
    """A colour out of the palette of 256, or of red, green and blue."""
    if next(codes, 0) == 2:
        return "#" + "".join(f"{next(codes, 0):02x}" for _ in range(3))
    number = next(codes, 0)
    if number < 16:
        return (PALETTE + BRIGHT)[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#" + "".join(f"{steps[number // by % 6]:02x}" for by in (36, 6, 1))


class Screen:
    """What a terminal shows: as much of its language as evalrs speaks."""

    SEQUENCE = re.compile(r"\x1b\[([?>=]?)([\d;:]*)([@-~])|\x1b[()][0-9A-B]|\x1b[=>78M]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")

    def __init__(self):
        self.cells = [[(" ", Style().drawn())] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0
        self.style = Style()
        self.rest = ""
        self.is_drawing = False

    def write(self, text):
        """Draws, and gives what the terminal answers to the program."""
        text, self.rest, answers, at = self.rest + text, "", "", 0
        while at < len(text):
            found = self.SEQUENCE.match(text, at)
            if found:
                answers += self.control(found)
                at = found.end()
            elif text[at] == "\x1b" and len(text) - at < 32:
                self.rest = text[at:]
                break
            else:
                self.put(text[at])
                at += 1
        return answers

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row = min(self.row + 1, ROWS - 1)
        elif char == "\b":
            self.column = max(self.column - 1, 0)
        elif char >= " " and self.column < COLUMNS:
            self.cells[self.row][self.column] = (char, self.style.drawn())
            self.column += 2 if unicodedata.east_asian_width(char) in "WF" else 1

    def control(self, found):
        mark, words, command = found.group(1), found.group(2), found.group(3)
        if command is None:
            return ""
        codes = [int(word or 0) for word in re.split("[;:]", words)]
        if mark:
            if codes == [2026]:
                self.is_drawing = command == "h"
            return ""
        first = codes[0]
        if command == "m":
            self.style.apply(codes)
        elif command in "Hf":
            self.row, self.column = max(first, 1) - 1, (codes[1] if len(codes) > 1 and codes[1] else 1) - 1
        elif command in "ABCD":
            step = max(first, 1)
            self.row += {"A": -step, "B": step}.get(command, 0)
            self.column += {"C": step, "D": -step}.get(command, 0)
        elif command == "G":
            self.column = max(first, 1) - 1
        elif command == "J":
            self.erase(0 if first == 2 else self.row * COLUMNS + self.column, ROWS * COLUMNS)
        elif command == "K":
            start = self.row * COLUMNS
            self.erase(start + (0 if first == 2 else self.column), start + COLUMNS)
        elif command == "n" and first == 6:
            return f"\x1b[{self.row + 1};{self.column + 1}R"
        return ""

    def erase(self, start, end):
        for place in range(start, end):
            self.cells[place // COLUMNS][place % COLUMNS] = (" ", self.style.drawn())

    def text(self):
        return "\n".join("".join(char for char, _ in row).rstrip() for row in self.cells)


class Session:
    """A program in a pseudo-terminal."""

    def __init__(self, command, folder):
        self.screen = Screen()
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            environment = {"HOME": folder, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "EVALRS_WHO": "you"}
            os.execve(command[0], command, environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def wait_for(self, *texts):
        """Reads until all these stand on the screen and nothing more is drawn."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.3)[0]:
                shown = os.read(self.terminal, 65536).decode("utf-8", "replace")
                answers = self.screen.write(shown)
                if answers:
                    os.write(self.terminal, answers.encode())
            elif not self.screen.is_drawing and all(text in self.screen.text() for text in texts):
                return
        sys.exit(f"waited in vain for {texts}:\n{self.screen.text()}")

    def press(self, key):
        os.write(self.terminal, key.encode())

    def end(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def recorded(folder):
    """The screen after the session that the head of this file describes."""
    shutil.copytree(ROOT / "examples/rubric", folder, ignore=shutil.ignore_patterns(".evalrs", "v1", "*.history.jsonl"))
    port = str(free_port())
    for name in ("suite.yaml", "judge.py"):
        path = Path(folder, name)
        path.write_text(path.read_text(encoding="utf-8").replace("8099", port), encoding="utf-8")
    judge = subprocess.Popen([sys.executable, str(Path(folder, "judge.py"))], stdout=subprocess.PIPE)
    session = None
    try:
        judge.stdout.readline()
        session = Session([str(BINARY), "watch", "suite.yaml"], folder)
        session.wait_for("idle")
        session.press("a")
        for row, key in enumerate(LABELS, 1):
            session.wait_for(f"{row} of {len(LABELS)}")
            session.press(key)
        session.wait_for("agrees 83.3%")
        rubric = Path(folder, "rubric.txt")
        rubric.write_text(rubric.read_text(encoding="utf-8") + SENTENCE, encoding="utf-8")
        session.wait_for("save 1", "agrees more", "idle")
        session.press("a")
        session.wait_for("6 of 6")
        session.press("k")
        session.wait_for("5 of 6")
    finally:
        if session:
            session.end()
        judge.terminate()
        judge.wait()
    return session.screen


def runs(row):
    """The cells of a row as runs of one style: first column, text, style. A run of lines is apart."""
    found = []
    for column, (char, style) in enumerate(row):
        before = found[-1] if found else (0, "", None)
        if before[2] == style and (char == "─") == before[1].endswith("─"):
            found[-1] = (before[0], before[1] + char, style)
        else:
            found.append((column, char, style))
    return found


def pieces(column, text):
    """A run without its blanks: words that stand together, each with its column."""
    return [(column + word.start(), word.group()) for word in re.finditer(r"\S+(?: \S+)*", text)]


def drawing(screen):
    """The screen as SVG: a dark window of its own, so that it can be read on any page."""
    width, height = COLUMNS * CELL_WIDTH + 32, ROWS * CELL_HEIGHT + 56
    shown = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img">',
        "<title>evalrs watch: one sentence was added to a rubric, and the judge agrees with a person in all six replies</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="10" fill="{WINDOW}" stroke="#3d444d"/>',
    ]
    shown += [f'<circle cx="{x}" cy="20" r="6" fill="#3d444d"/>' for x in (22, 42, 62)]
    title = "evalrs watch examples/rubric/suite.yaml"
    font = f'font-family="{FONTS}" font-size="{FONT_SIZE}" xml:space="preserve"'
    shown.append(f'<g {font}><text x="{width / 2:g}" y="25" text-anchor="middle" fill="{BRIGHT[0]}">{title}</text>')
    for at, row in enumerate(screen.cells):
        top = 40 + at * CELL_HEIGHT
        for column, text, (front, back, is_bold, is_dim, decoration) in runs(row):
            x, span = 16 + column * CELL_WIDTH, len(text) * CELL_WIDTH
            look = f'fill="{front}"' + (' font-weight="bold"' if is_bold else "") + (' opacity="0.7"' if is_dim else "")
            if back:
                shown.append(f'<rect x="{x:g}" y="{top}" width="{span:g}" height="{CELL_HEIGHT}" fill="{back}"/>')
            if "─" in text:
                shown.append(f'<rect x="{x:g}" y="{top + CELL_HEIGHT / 2:g}" width="{span:g}" height="1" {look}/>')
                continue
            if decoration:
                look += f' text-decoration="{decoration}"'
            for first, words in pieces(column, text):
                place = f'x="{16 + first * CELL_WIDTH:g}" y="{top + 13}" textLength="{len(words) * CELL_WIDTH:g}" lengthAdjust="spacingAndGlyphs"'
                shown.append(f"<text {place} {look}>{escape(words)}</text>")
    return "\n".join([*shown, "</g>", "</svg>", ""])


def main():
    with tempfile.TemporaryDirectory() as place:
        made = drawing(recorded(os.path.join(place, "rubric")))
    if sys.argv[1:] == ["--check"]:
        if PICTURE.read_text(encoding="utf-8") != made:
            sys.exit(f"{PICTURE} is not what the binary draws: python3 {Path(__file__).relative_to(ROOT)}")
        return
    PICTURE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
