"""A seeded bug: a file of tests/mutants that says which text of which function is replaced by which.

    What the bug would do to a user, in one or more lines.
    class: stale view
    test: operator/t_records
    sim: yes

    in decide_one, replace
        if (!ready(c) || c->in_flight)
    by
        if (!ready(c))

There may be several replacements. White space does not count, so a function may move to another file or room, and its lines may be
broken elsewhere. Exactly one function of that name under src/ must hold the text, and hold it once.
"""

import re
from pathlib import Path

HEAD = re.compile(r"^[A-Za-z_].*?(\w+)\(.*[^;]$")
REPLACEMENT = re.compile(r"^in (\w+), replace\n(.*?)^by\n(.*?)(?=^in \w+, replace$|\Z)", re.M | re.S)


class Stale(Exception):
    """Why a mutant has no place in the tree any more."""


def field(path, name):
    found = re.search(rf"^{name}: *(.*)$", path.read_text(), re.M)
    return found[1] if found else None


def test_places(name):
    """Where the source of the test FOLDER/t_NAME may stand."""
    return [Path(root, f"{name}.c") for root in ("tests/unit", "tests/kinds", "tests")]


def test_source(name):
    return next((path for path in test_places(name) if path.is_file()), None)


def functions(text):
    """(name, start, end) of each function definition; its braces stand in the first column, as .clang-format puts them."""
    name = start = None
    offset = 0
    for line in text.splitlines(keepends=True):
        head = HEAD.match(line.rstrip("\n"))
        if head:
            name, start = head[1], offset
        offset += len(line)
        if line == "}\n" and name:
            yield name, start, offset
            name = None


def places(tree, name, old):
    """(file, start, end) of each place where a function of this name holds the text `old`."""
    text = re.compile(r"\s*".join(map(re.escape, re.sub(r"\s+", "", old))))
    for path in sorted(Path(tree, "src").rglob("*.c")):
        source = path.read_text()
        for function, start, end in functions(source) if f"{name}(" in source else []:
            if function == name:
                yield from ((path, found.start(), found.end()) for found in text.finditer(source, start, end))


def edits(path, tree="."):
    """What the mutant changes: a list of (file, start, end, new text). Raises Stale."""
    found = REPLACEMENT.findall(path.read_text())
    if not found:
        raise Stale("holds no replacement")
    result = []
    for name, old, new in found:
        where = list(places(tree, name, old))
        if len(where) != 1:
            raise Stale(f"{len(where)} functions named {name} hold the text to replace, or one holds it more than once: "
                        f"{' '.join(old.split())[:100]}")
        result.append((*where[0], new.strip()))
    return result


def apply(path, tree):
    """Makes the bug in the tree. Returns the changed files, relative to it."""
    todo = edits(path, tree)
    for file, start, end, new in sorted(todo, key=lambda edit: edit[1], reverse=True):
        source = file.read_text()
        file.write_text(source[:start] + new + source[end:])
    return sorted({file.relative_to(tree) for file, *_ in todo})
