#!/usr/bin/env python3
"""Runs commands, and makes of them and of what they print an animated picture of a terminal: SVG with CSS, no script.

    scripts/terminal.py FILE.svg COMMAND…

A command is a line for the shell; `sudo ` at its beginning is shown, and left out when root runs this. Who asked for less motion sees the
end at once; elsewhere it begins again after a while.
"""

import html
import os
import re
import subprocess
import sys

COLUMNS, ROWS = 104, 34
CELL_WIDTH, LINE_HEIGHT, MARGIN = 7.8, 17, 14
TYPED_S, ANSWER_S, READ_S, END_S = 0.035, 0.5, 4.0, 9.0
# The screen of a terminal, its text, and what stands out.
GROUND, TEXT, PROMPT, STRONG, FAINT = "#16181d", "#d6dae3", "#8fd694", "#ffd479", "#8b93a5"


def output(command):
    """What the command prints, without what the samples say of themselves."""
    shell = command.removeprefix("sudo ") if os.geteuid() == 0 else command
    run = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in run.stdout.splitlines() if not line.startswith("truth ")]
    return until_next(lines)


def until_next(lines):
    """Without remarks and proposals at the end, and without blank lines around."""
    ends = [at for at, line in enumerate(lines) if re.match(r"(Next$|CPU utilization meanwhile|· )", line)]
    lines = lines[: min(ends, default=len(lines))]
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def colour(line):
    if re.match(r"(Where the time went|Most waited for|Blame)$|\d+\. ", line):
        return STRONG
    return FAINT if line.startswith("   fix:") or line.startswith("        ") else TEXT


def screens(commands):
    """Each command with what it prints, cut to the rows of the terminal, and the times at which it is typed, answered and gone."""
    now = 0.5
    for at, command in enumerate(commands):
        lines = output(command)
        room = ROWS - 1
        if len(lines) > room:
            lines = lines[: room - 1] + ["[…]"]
        typed = now
        answered = typed + TYPED_S * len(command) + ANSWER_S
        gone = answered + (END_S if at == len(commands) - 1 else READ_S)
        yield command, lines, typed, answered, gone
        now = gone


def text(words, row, fill, extra=""):
    y = MARGIN + LINE_HEIGHT * (row + 1) - 4
    words = html.escape(words[:COLUMNS])
    return f'<text x="{MARGIN}" y="{y}" fill="{fill}" xml:space="preserve"{extra}>{words}</text>'


def keyframes(name, begin, end, whole, frames):
    """An animation that is seen from `begin` to `end` of the whole."""
    b, e = 100 * begin / whole, 100 * end / whole
    last = "" if end >= whole else f"{e:.3f}%{{visibility:hidden}}"
    return f"@keyframes {name}{{0%{{visibility:hidden}}{b:.3f}%{{visibility:visible}}{frames}{last}}}"


def picture(parts):
    whole = parts[-1][4]
    width, height = round(2 * MARGIN + CELL_WIDTH * COLUMNS), 2 * MARGIN + LINE_HEIGHT * ROWS
    style, body = [], []
    for number, (command, lines, typed, answered, gone) in enumerate(parts):
        last = number == len(parts) - 1
        shown = f"s{number}"
        style.append(keyframes(f"k{number}", typed, gone, whole, ""))
        style.append(keyframes(f"a{number}", answered, gone, whole, ""))
        style.append(f".{shown}{{animation:k{number} {whole:.2f}s step-end infinite}}")
        style.append(f".{shown}o{{animation:a{number} {whole:.2f}s step-end infinite}}")
        rest = "" if last else " e"
        body.append(f'<g class="{shown}{rest}">')
        body.append(text("$", 0, PROMPT))
        # A cover of the ground's colour goes away by one character after the other.
        start = MARGIN + 2 * CELL_WIDTH
        body.append(f'<text x="{start}" y="{MARGIN + LINE_HEIGHT - 4}" fill="{TEXT}" xml:space="preserve">{html.escape(command)}</text>')
        cover = f"c{number}"
        length = CELL_WIDTH * (len(command) + 1)
        b, e = 100 * typed / whole, 100 * (answered - ANSWER_S) / whole
        style.append(
            f"@keyframes {cover}{{0%,{b:.3f}%{{transform:translateX(0);animation-timing-function:steps({len(command)})}}"
            f"{e:.3f}%,100%{{transform:translateX({length:.1f}px)}}}}"
        )
        style.append(f".{cover}{{animation:{cover} {whole:.2f}s infinite}}")
        # The cover is cut at the picture's edge.
        body.append(f'<rect class="{cover} cover" x="{start}" y="{MARGIN}" width="{width}" height="{LINE_HEIGHT}" fill="{GROUND}"/>')
        body.append("</g>")
        body.append(f'<g class="{shown}o{rest}">')
        body += [text(line, row + 1, colour(line)) for row, line in enumerate(lines)]
        body.append("</g>")
    style.append("@media (prefers-reduced-motion:reduce){*{animation:none!important}.e,.cover{display:none}}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="13">'
        f"<title>{html.escape('; '.join(command for command, *_ in parts))}</title>"
        f"<style>{''.join(style)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>'
        f"{chr(10).join(body)}</svg>\n"
    )


def main():
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} FILE.svg COMMAND...")
    path, *commands = sys.argv[1:]
    with open(path, "w", encoding="utf-8") as file:
        file.write(picture(list(screens(commands))))
    print(path)


main()
