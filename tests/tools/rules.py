#!/usr/bin/env python3
"""The rules of the house that no compiler knows: who may include whom, lengths, words, what lies at the top and what lies about.

    tests/tools/rules.py RULE        one of: top rooms lengths words

Reads the files that git tracks or would track. Prints each breach as path:line: what, and exits 1 when there was one.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

FILE_LINES, FUNCTION_LINES, COLUMNS = 600, 60, 140

TOP = set("Makefile src vendor include tests scratch-image airgap docs README.md LICENSE .ci .clang-format .gitignore".split())

# Lowest first: a room may include the headers of those before it, and its own.
ROOMS = "base json yaml tls http net kube ray reconcile remote operator cli".split()
ROOM_OF_HEADER = {"limits": "base", "ray_heads": "ray"}

# Headers that only these rooms may include: each library has one owner, and so have sockets.
OWNERS = {
    "jsmn.h": {"json"},
    "yaml.h": {"yaml"},
    "bearssl.h": {"tls"},
    "sys/socket.h": {"net", "cli"},
    "sys/epoll.h": {"net"},
    "netdb.h": {"net"},
}

# Words that have no place in a file: notes to oneself, and names that belong to one machine. Written so that this file does not hold them.
WORDS = [
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b",
    r"/wor" r"k/(main|shared|\.library)",
    r"\b(deb\.deb" r"ian\.org|proxy\.gol" r"ang\.org|pyp" r"i\.org|crat" r"es\.io|npm" r"js\.(org|com)|maven\.org)\b",
]

# What editors, patch and git leave behind.
LEFTOVER = re.compile(r"\.(orig|rej|bak|sw[op])$|~$|^#.*#$")

CODE = {".c", ".h", ".py", ".sh", ".mk"}


def files():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True)
    return sorted(path for path in map(Path, out.stdout.decode().split("\0")) if path.is_file() and not path.is_symlink())


def text(path):
    return path.read_text(errors="replace")


def is_script(path):
    with path.open("rb") as f:
        return f.read(2) == b"#!"


def is_code(path):
    return path.suffix in CODE or path.name == "Makefile" or is_script(path)


def check_top():
    for name in sorted({path.parts[0] for path in files()}):
        if name not in TOP:
            yield f"{name}: does not belong at the top level"
    for path in files():
        if LEFTOVER.search(path.name):
            yield f"{path}: is what an editor or patch left behind"


def room_of(path):
    """The room a source or public header belongs to, None for anything else."""
    if path.parts[0] == "src":
        return path.parts[1]
    if path.parts[:2] == ("include", "mobula"):
        return ROOM_OF_HEADER.get(path.stem, path.stem)
    return None


def include_breach(room, path, name):
    if name in OWNERS and room not in OWNERS[name]:
        return f"<{name}> is only for {', '.join(sorted(OWNERS[name]))}"
    if name.startswith("mobula/"):
        other = Path(name).stem
        other = ROOM_OF_HEADER.get(other, other)
        if other not in ROOMS:
            return f"<{name}>: there is no such room"
        if ROOMS.index(other) > ROOMS.index(room):
            return f"{room} may not know {other}, which stands above it"
    elif "/" in name and (path.parent / name).is_file():
        return f'"{name}": private headers are for their own folder'
    return None


def check_rooms():
    for path in files():
        room = room_of(path)
        if room is None or path.suffix not in {".c", ".h"}:
            continue
        if room not in ROOMS:
            yield f"{path}: there is no room {room}"
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            breach = found and include_breach(room, path, found[1])
            if breach:
                yield f"{path}:{number}: {breach}"


def functions_by_braces(lines, opens):
    """Functions that end with a brace in the first column: (first line, last line), from 1."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "}" and start:
            yield start, number
            start = None
        elif not start and opens(line):
            start = number


def functions(path):
    lines = text(path).splitlines()
    if path.suffix in {".c", ".h"}:
        # the brace stands alone under a signature, whose lines before it count as well
        for brace, end in functions_by_braces(lines, lambda line: line == "{"):
            start = brace
            while start > 1 and lines[start - 2] and not re.search(r"[;}/]$", lines[start - 2]) and lines[start - 2][0] != "#":
                start -= 1
            yield start, end
    elif path.suffix == ".py" or (is_script(path) and "python" in lines[0]):
        for node in ast.walk(ast.parse(text(path))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.end_lineno
    else:
        yield from functions_by_braces(lines, lambda line: re.match(r"[a-z_]+ ?\(\) ?\{", line) and not line.endswith("}"))


def check_lengths():
    for path in files():
        if not is_code(path):
            continue
        lines = text(path).splitlines()
        if len(lines) > FILE_LINES:
            yield f"{path}: {len(lines)} lines, at most {FILE_LINES}"
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                yield f"{path}:{number}: {len(line)} columns, at most {COLUMNS}"
        for start, end in functions(path):
            if end - start + 1 > FUNCTION_LINES:
                yield f"{path}:{start}: a function of {end - start + 1} lines, at most {FUNCTION_LINES}"


def check_words():
    for path in files():
        if path.parts[:2] == ("tests", "data"):
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            for word in WORDS:
                found = re.search(word, line)
                if found:
                    yield f"{path}:{number}: says {found[0]}"


def main():
    rules = {"top": check_top, "rooms": check_rooms, "lengths": check_lengths, "words": check_words}
    if len(sys.argv) != 2 or sys.argv[1] not in rules:
        sys.exit(__doc__)
    breaches = list(rules[sys.argv[1]]())
    print("\n".join(breaches), end="\n" if breaches else "")
    sys.exit(bool(breaches))


if __name__ == "__main__":
    main()
