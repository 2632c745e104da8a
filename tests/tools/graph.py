#!/usr/bin/env python3
"""Checks the dependencies between the product's files. File A depends on file B if A's object needs a symbol that B's defines.

    tests/tools/graph.py OBJECTS ROOM…     OBJECTS: a folder with an object for each file of src/; rooms lowest first
    tests/tools/graph.py --print OBJECTS ROOM…

Measures circles (files that depend on each other), references against the order of rooms, the largest struct and each room's share of the
lines. Prints each measure beyond its limit, and exits 1 if there is one; --print prints the circles, references and sizes as well. Symbols
are more exact than includes: a header may be included for a type alone. Each folder of src/kinds counts as a room."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# The limit today; in the comment what it counts, and the limit to reach. A change may lower a limit and never raises it.
CIRCLE = 7  # files in the largest circle; goal: 7
ACROSS = 0  # circles that go through several rooms; goal: 0
UPWARD = 0  # references against the order of rooms; goal: 0
MEMBERS = 30  # members of a struct; goal: 30
SHARE = 12  # a room's share of the lines in percent; goal: 12


def symbols(objects):
    """({symbol: file that defines it}, {file: symbols that it needs})."""
    out = subprocess.run(["nm", "-A", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    defined, needed = {}, defaultdict(set)
    for line in out.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest[17:].split(" ", 1)
        if kind == "U":
            needed[path].add(name)
        elif kind.isupper():
            defined[name] = path
    return defined, needed


def circles(edges):
    """Strongly connected parts of more than one file (Tarjan), largest first."""
    number, low, stack, on, found = {}, {}, [], set(), []

    def visit(v):
        number[v] = low[v] = len(number)
        stack.append(v)
        on.add(v)
        for w in edges[v]:
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            part = []
            while not part or part[-1] != v:
                part.append(stack.pop())
                on.discard(part[-1])
            if len(part) > 1:
                found.append(sorted(part))

    sys.setrecursionlimit(10000)
    for v in sorted(edges):
        if v not in number:
            visit(v)
    return sorted(found, key=len, reverse=True)


def structs():
    """(members, struct, file) of every struct that has a name; members of nested ones count once."""
    for path in sorted([*Path("include").rglob("*.h"), *Path("src").rglob("*.[ch]")]):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for m in re.finditer(r"^struct (\w+) \{\n(.*?)^\}", text, flags=re.DOTALL | re.MULTILINE):
            flat = re.sub(r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", m.group(2)))
            flat = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", flat))
            yield sum(1 + s.count(",") for s in flat.split(";") if s.strip()), m.group(1), str(path)


def kinds_in_order():
    """The folders of room kinds are rooms of their own: pods and services lowest, then routes, then as in the table of kinds."""
    table = Path("src/kinds/kinds.c").read_text()
    named = re.search(r"#define KINDS\(kind\)(.*?)\n#define", table, re.DOTALL).group(1)
    folders = [k for k in re.findall(r"kind\((\w+)\)", named) if Path("src/kinds", k).is_dir()]
    return [f"kinds/{k}" for k in ("child", "route", *folders, "kinds")]


def room_of(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "kinds" else parts[0]


def lines_of(rooms):
    count = {}
    for r in rooms:
        paths = [*Path("src", r).rglob("*.[ch]"), *Path("src").glob(f"{r}.[ch]")]
        count[r] = sum(len(p.read_text().splitlines()) for p in paths)
    for header in Path("include/mobula").glob("*.h"):
        if header.stem in count:
            count[header.stem] += len(header.read_text().splitlines())
    return count


def main():
    show = sys.argv[1] == "--print"
    folder, *rooms = sys.argv[1 + show:]
    at = rooms.index("kinds")
    rooms[at:at + 1] = kinds_in_order()
    objects = sorted(o for o in Path(folder, "src").rglob("*.o") if o.relative_to(folder).with_suffix(".c").is_file())
    short = {str(o): str(o.relative_to(Path(folder, "src")))[:-2] for o in objects}
    defined, needed = symbols(objects)
    edges = {s: set() for s in short.values()}
    upward = []
    for path, names in needed.items():
        for name in names & defined.keys():
            here, there = short[path], short[defined[name]]
            if here != there:
                edges[here].add(there)
            if rooms.index(room_of(here)) < rooms.index(room_of(there)):
                upward.append(f"{here} needs {name} of {there}")
    found = circles(edges)
    across = [c for c in found if len({room_of(f) for f in c}) > 1]
    large = sorted(structs(), reverse=True)
    lines = lines_of(rooms)
    share = sorted(((100 * n / sum(lines.values()), r) for r, n in lines.items()), reverse=True)
    if show:
        print("\n".join([*(f"circle of {len(c)}: {' '.join(c)}" for c in found), *upward,
                         *(f"{n} members: struct {s} ({p})" for n, s, p in large[:12]), *(f"{p:4.1f} % {r}" for p, r in share)]))
    rows = (("the largest circle, files", len(found[0]) if found else 0, CIRCLE), ("circles across rooms", len(across), ACROSS),
            ("references against the order of rooms", len(upward), UPWARD),
            (f"members of struct {large[0][1]}", large[0][0], MEMBERS),
            (f"share of room {share[0][1]}, percent", round(share[0][0]), SHARE))
    for what, is_now, limit in rows:
        if is_now > limit:
            print(f"tests/tools/graph.py: {what}: {is_now}, at most {limit} (--print shows them)")
    sys.exit(any(is_now > limit for _, is_now, limit in rows))


main()
