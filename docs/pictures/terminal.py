#!/usr/bin/env python3
"""Runs a command on a pseudo terminal and writes what the terminal showed as SVG.

    terminal.py COLUMNS LINES OUT.svg TITLE COMMAND [ARGUMENT]...

Knows the colours that cutap uses. Lines after the LINES first ones are left out."""
import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios

COLOURS = {"31": "#e06c75", "32": "#98c379", "33": "#e5c07b", "36": "#56b6c2"}
WIDTH, HEIGHT = 7.7, 17


def screen(columns, command):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    text = b""
    try:
        while data := os.read(fd, 65536):
            text += data
    except OSError:
        pass
    os.waitpid(pid, 0)
    return text.decode(errors="replace").replace("\r\n", "\n").splitlines()


def spans(line):
    """The line as pieces of text with a style each."""
    style = {}
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if not code:
            if piece:
                yield dict(style), piece
            continue
        for part in code.group(1).split(";"):
            if part in ("", "0"):
                style = {}
            elif part == "1":
                style["font-weight"] = "bold"
            elif part == "2":
                style["opacity"] = "0.6"
            elif part in COLOURS:
                style["fill"] = COLOURS[part]


def svg(title, lines, columns):
    width, height = columns * WIDTH + 24, (len(lines) + 1) * HEIGHT + 24
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12.8">',
        f'<rect width="100%" height="100%" rx="6" fill="#21252b"/>',
        f'<text x="12" y="24" fill="#98c379" xml:space="preserve">$ {html.escape(title)}</text>',
    ]
    for n, line in enumerate(lines, 1):
        out.append(f'<text x="12" y="{24 + n * HEIGHT}" fill="#d7dae0" xml:space="preserve">')
        for style, text in spans(line):
            style = "".join(f' {key}="{value}"' for key, value in style.items())
            out.append(f"<tspan{style}>{html.escape(text)}</tspan>")
        out.append("</text>")
    out.append("</svg>")
    return re.sub(r">\n<(tspan|/text)", r"><\1", "\n".join(out)) + "\n"


columns, most, target, title, *command = sys.argv[1:]
shown = screen(int(columns), command)
with open(target, "w") as file:
    file.write(svg(title, shown[: int(most)], int(columns)))
