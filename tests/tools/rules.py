#!/usr/bin/env python3
"""The rules of the house that no compiler knows: who may include whom, lengths, words, what lies at the top and what lies about.

    tests/tools/rules.py [RULE…]     all, or some of: top rooms lengths words prose bugs mutants control kinds flags formats architecture

Reads the files that git tracks or would track. Prints each breach as path:line: what, and exits 1 when there was one.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import mutation

FILE_LINES, FUNCTION_LINES, COLUMNS = 600, 60, 140
CLI_LINES = 150  # of a subcommand: flags, output and exit status; the rest belongs to the rooms below

TOP = set("Makefile src vendor include tests scratch-image airgap docs .ci .clang-format .gitignore".split()) | {
    "README.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"}

# Lowest first: a room may include the headers of those before it, and its own.
ROOMS = ("base json yaml spec tls http net cloud ship serve kube grpc heads remote ray scale "
         "shape work plan control settings kinds hub edge operator command submit storage egress schema artifact release explain dns "
         "logs check fleet cli").split()
ROOM_OF_HEADER = {"limits": "base", "pairs": "spec", "pod": "ray", "compute": "shape", "patches": "shape", "text": "spec",
    "policy": "work", "health": "work", "status": "plan", "operator": "control", "children": "kinds", "raycluster": "kinds",
    "rayjob": "kinds", "rayservice": "kinds", "versioned": "kinds", "route": "kinds", "inspect": "operator"}

ROOM_OF_HEADER |= {"carried": "artifact", "service": "fleet", "preview": "control", "record": "control"}
ROOM_OF_HEADER |= {f"kind_{k}": "kinds" for k in ("child", "route", "raycluster", "rayjob", "rayservice", "versioned", "workload")}

# What decisions of kinds may not see: the core, and whatever makes calls. (heads.h they may: it says what a head has answered.)
IMPURE = set("tls http net cloud ship serve kube grpc remote".split() + ROOMS[ROOMS.index("control"):])

# Headers that only these rooms may include: each library has one owner, and so have sockets.
OWNERS = {
    "jsmn.h": {"json"},
    "yaml.h": {"yaml"},
    "bearssl.h": {"tls"},
    "mlkem768.h": {"tls"},
    "sys/socket.h": {"net", "command", "cli"},
    "sys/epoll.h": {"net"},
    "netdb.h": {"net"},
}

# Words that have no place in a file: notes to oneself, and names that belong to one machine. Written so that this file does not hold them.
WORDS = [
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b",
    r"/wor" r"k/(main|shared|\.library)",
    r"\b(deb\.deb" r"ian\.org|proxy\.gol" r"ang\.org|pyp" r"i\.org|crat" r"es\.io|npm" r"js\.(org|com)|maven\.org)\b",
]

# Comments, section lines and texts that hide their subject: these words at the beginning of a comment (of a text only with a capital), or
# these phrases anywhere. There are none in src and include. Those of tests may only become fewer: lower the number when some are gone.
RIDDLE_BEGINS = re.compile(r"(?:who|whose|what|whoever|nobody|somebody)\b", re.I)
RIDDLE_HOLDS = re.compile(r"\b(?:is\s+told|anew|that\s+there\s+is|is\s+had)\b")
RIDDLES_OF_TESTS = 442
C_TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*""", re.S)

# Conversions that musl's printf has and src/base/format.c, which the product formats with, has not. "% o" is prose, %2F part of a URL.
CONVERSION = re.compile(r"%%|%(?!2C|2F|3A|3B|3D)([-+#0]*)(?:\*|[0-9]+)?(?:\.(?:\*|[0-9]*))?(hh|h|ll|l|z|j|t|L|q)?([a-zA-Z])")

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


def includes(path):
    """(line number, name) of each include."""
    for number, line in enumerate(text(path).splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if found:
            yield number, found[1]


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
        for number, name in includes(path):
            breach = include_breach(room, path, name)
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
        most = CLI_LINES if path.parts[:2] == ("src", "cli") and path.suffix == ".c" else FILE_LINES
        if len(lines) > most:
            yield f"{path}: {len(lines)} lines, at most {most}"
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


def riddles(source):
    """(line number, words) of each comment or text of a C file that hides its subject."""
    for found in C_TOKEN.finditer(source):
        token = found[0]
        if token[0] == "'":
            continue
        comment = token[0] == "/"
        if comment:
            words = re.sub(r"\n[ \t]*\*? ?", " ", token[2:]).lstrip("-* \t")
        else:
            words = re.sub(r'"\s*"', "", token)[1:-1]
        begins = RIDDLE_BEGINS.match(words) if comment or words[:1].isupper() else None
        hidden = begins or RIDDLE_HOLDS.search(words)
        if hidden:
            yield source.count("\n", 0, found.start()) + 1, hidden[0]


def check_prose():
    """Comments and messages name their subject (none of the words above)."""
    count = 0
    for path in files():
        if path.suffix not in {".c", ".h"} or path.parts[0] not in {"src", "include", "tests"}:
            continue
        for number, words in riddles(text(path)):
            count += path.parts[0] == "tests"
            if path.parts[0] != "tests":
                yield f'{path}:{number}: hides its subject with "{words}": name it (the pod, the request, the previous leader)'
    if count != RIDDLES_OF_TESTS:
        more = "name the subject instead" if count > RIDDLES_OF_TESTS else "lower RIDDLES_OF_TESTS"
        yield f"tests: {count} comments or texts hide their subject, RIDDLES_OF_TESTS is {RIDDLES_OF_TESTS}: {more}"


def bug_tests(name):
    """Where a test that tests/defects.md names may stand, most likely first."""
    return [*mutation.test_places(name), Path("tests/data", name), Path("tests/kinds", name), Path("tests", f"{name}.py"),
            Path("tests", name), Path("tests/fuzz/corpus", name.removeprefix("fuzz/"))]


def fault_breach(name):
    """A case of the fault matrix has no name until it runs: its block has, and so have the words that the name is made of."""
    block, *words = name.split("/")
    if not Path(f"tests/fault/blocks/{block.lower()}.py").is_file():
        return f"there is no block {block}"
    said = "\n".join(text(path) for path in files() if path.parts[:2] == ("tests", "fault") and path.suffix == ".py")
    lost = [word for word in words if word != "…" and f'"{word}"' not in said and '"{}"'.format(word.replace("-", " ")) not in said]
    return f"no case of the fault matrix is called {lost[0]}" if lost else None


def bug_breach(name, title):
    if re.fullmatch(r"[A-K]/.+", name):
        return fault_breach(name)
    found = [path for path in bug_tests(name) if path.is_file()]
    if not found:
        return f"there is no test {name}"
    return f'{found[0]} has no case "{title}"' if title and title not in text(found[0]) else None


def check_bugs():
    """Each row of tests/defects.md names the test that keeps it, and that test is there."""
    page = Path("tests/defects.md")
    for number, line in enumerate(text(page).splitlines(), 1):
        if not line.startswith("|") or line.startswith(("|---", "| what it was")):
            continue
        cells = ["", "", *(cell.strip() for cell in line.strip("|").split("|"))][-4:]
        named = re.findall(r'`([^`]+)`(?: "([^"]+)")?', cells[-1])
        found_by = [(name, None) for name in re.findall(r"`([A-K]/[^`]+)`", cells[-2])]
        if not all(cells) or not named:
            yield f"{page}:{number}: wants what it was, what it would have done, what found it, and the test that keeps it"
        for breach in (bug_breach(*one) for one in named + found_by):
            if breach:
                yield f"{page}:{number}: {breach}"


def check_mutants():
    """Each seeded bug still has the one place in the sources where it was meant to be, and the test that knows it is there."""
    for path in sorted(Path("tests/mutants").iterdir()):
        test = mutation.field(path, "test")
        if test != "sim" and not mutation.test_source(test):
            yield f"{path}:1: there is no test {test}"
        try:
            mutation.edits(path)
        except mutation.Stale as why:
            yield f"{path}:1: {why}"


def core_breach(path, name):
    """Of the core, of settings and of kinds tests see <mobula/inspect.h> and what decisions are made of. Only the core's own unit tests and
    those of settings see more of it, and a kind's own tests and fuzzer see what its folder has."""
    kind = re.search(r"src/kinds/([a-z]+)/", name)
    if kind and path.suffix == ".c" and (kind[1] in path.parts or path.stem == f"f_{kind[1]}"):
        return None
    private = re.search(r"mobula/(control|record|settings|kind\w+)\.h|src/(control|operator|settings|kinds)/", name)
    if private and path.parts[:3] not in {("tests", "unit", "operator"), ("tests", "unit", "settings")}:
        return f'"{name}" is private to the controller core: tests include <mobula/inspect.h>'
    return None


def kinds_headers(path):
    """Headers of the room kinds that the file includes, itself or by one of them: of its own folder, and public ones."""
    seen, todo = set(), [path]
    while todo:
        includer = todo.pop()
        for _, name in includes(includer):
            header = Path("include", name) if name.startswith("mobula/") else includer.parent / name
            if header.is_file() and room_of(header) == "kinds" and header not in seen:
                seen.add(header)
                todo.append(header)
    return seen


def is_decision(path):
    """A kind's decision is its decide.c, and each file that includes its decide.h."""
    return path.name == "decide.c" or path.parent / "decide.h" in kinds_headers(path)


def decision_breaches(path):
    for includer in [path, *sorted(kinds_headers(path))]:
        for number, name in includes(includer):
            header = Path(name).stem
            pure = Path("include", name) in kinds_headers(path) and not header.startswith("kind")
            if name.startswith("mobula/") and ROOM_OF_HEADER.get(header, header) in IMPURE and not pure:
                yield f"{includer}:{number}: <{name}> is nothing that the decision in {path} may see"


def check_control():
    """The controller core knows no kind and no setting: it goes by their tables. Decisions of kinds know nothing of the core. And tests
    know of the core what inspect.h has."""
    for path in files():
        if path.match("src/kinds/*/*.c") and is_decision(path):
            yield from decision_breaches(path)
    for path in files():
        if path.parts[0] == "tests" and path.suffix in {".c", ".h"}:
            for number, name in includes(path):
                breach = core_breach(path, name)
                if breach:
                    yield f"{path}:{number}: {breach}"
    folders = "|".join(sorted({path.parts[2] for path in files() if path.match("src/kinds/*/*")}))
    settings = "|".join(sorted({path.stem for path in files() if path.match("src/settings/*.c")} - {"settings"}))
    named = re.compile(
        rf"mobula/kind\w+\.h|\bsetting_({settings})\b|\bkind_(?!count\b|own\b|s\b)\w+|\b({folders})_\w+|\"Ray[A-Z]\w+\"")
    for path in files():
        if path.parts[:2] != ("src", "control"):
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            found = named.search(line)
            if found:
                yield f"{path}:{number}: names a kind or a setting: {found[0]}"


def watched_resources():
    """Of the tables of kinds: what each is called that the operator watches."""
    for path in sorted(Path("src/kinds").glob("*/*.c")):
        for table in re.findall(r"^const struct kind \w+ = \{.*?\};", text(path), re.S | re.M):
            if ".resource" in table:
                yield path, re.search(r'\.plural = "([^"]+)"', table)[1]


def check_kinds():
    """The fuzzer of objects begins with one of each kind, each right of an installation is told to whoever gives it, and who reads the flag
    of an optional kind goes by the kinds' tables."""
    for flag in sorted({f for path in Path("src/kinds").glob("*/kind.c") for f in re.findall(r'\.flag = "([^"]+)"', text(path))}):
        for path in files():
            if path.suffix in {".c", ".h"} and path.parts[:2] in {("src", "cli"), ("src", "operator")} or path.name == "make-chart":
                if re.search(rf"\b{flag}\b", text(path)):
                    yield f"{path}:1: names {flag}: go by kind.optional"
    told = text(Path("airgap/README.md"))
    for path in sorted(Path("airgap/install").glob("*.yaml")):
        for number, line in enumerate(text(path).splitlines(), 1):
            for right in re.findall(r"[a-z/]+", (re.match(r"  resources: \[([^\]]+)\]", line) or ("", ""))[1]):
                if path.name.startswith(("role", "plane-", "agent-")) and not re.search(rf"\b{right}\b", told):
                    yield f"{path}:{number}: airgap/README.md does not say what the right to {right} is for"
    corpus = Path("tests/fuzz/corpus/operator_objects")
    objects = [path.read_bytes() for path in corpus.iterdir()] if corpus.is_dir() else []
    for path, plural in watched_resources() if objects else ():
        if not any(f"+{plural}{{".encode() in o for o in objects):
            yield f"{path}:1: {corpus} has no object of {plural}: add a file that begins with +{plural}{{"


def check_flags():
    """Each flag of a table has a line of help, each line of help a flag, and each flag of the page of commands a text."""
    page, rows = Path("src/cli/flags.txt"), re.compile(r'\{[\s\\]*"([A-Za-z0-9-]+)",[\s\\]*FLAG_[A-Z]+,')
    code = [path for path in files() if path.suffix in {".c", ".h"} and path.parts[0] != "tests"]
    tables = {name: path for path in code for name in rows.findall(text(path))}
    for path in Path("src/settings").glob("*.c"):
        tables |= {name: path for pair in re.findall(r"\.flags = \{(.+?)\}", text(path)) for name in re.findall(r'"([^"]+)"', pair)}
    helped = {line.partition(": ")[0]: number for number, line in enumerate(text(page).splitlines(), 1) if line[:1] not in "#[=>"}
    for name in sorted(tables.keys() - helped.keys()):
        yield f"{tables[name]}:1: flag {name} has no line in {page}"
    for name in sorted(helped.keys() - tables.keys()):
        yield f"{page}:{helped[name]}: no table has the flag {name}"
    shown = text(Path("docs/cli.md")).splitlines()
    for number, (line, after) in enumerate(zip(shown, shown[1:]), 1):
        if re.match(r" {6}--?[a-z]", line) and len(line.rstrip()) <= 38 and not re.match(r" {38}\S", after):
            yield f"docs/cli.md:{number}: a flag without help"


def check_formats():
    """Each conversion in a text of the product is one that src/base/format.c has; %hhd is jout_form's own."""
    for path in files():
        if path.suffix not in {".c", ".h"} or path.parts[0] not in {"src", "include"} or path.name == "stub.c":
            continue
        source = text(path)
        for token in C_TOKEN.finditer(source):
            for found in CONVERSION.finditer(token[0] if token[0][0] == '"' else ""):
                flags, length, letter = found.groups()
                own = found[0] == "%hhd" and "jout_form(" in source[max(0, token.start() - 40):token.start()]
                if letter and not own and (set(flags) - set("-0") or length not in {None, "l", "ll", "z"} or letter not in "csduxXo"):
                    yield f"{path}:{source[:token.start()].count(chr(10)) + 1}: format.c has no conversion {found[0]}"


def check_architecture():
    """Files and names that the pages for who changes the core speak of are there, and README shows what a test expects of the program."""
    for shown in re.findall(r"^```\n(.*?)^```$", text(Path("README.md")), re.S | re.M):
        if shown not in text(Path("tests/data/cli/explain.case")):
            yield "README.md:1: shows an output that no case of tests/data/cli/explain.case expects"
    for number, line in enumerate(text(Path("README.md")).splitlines(), 1):
        if len(line) > 120 or number > 90:
            yield f"README.md:{number}: at most 90 lines of 120 columns"
    pages = [Path("docs/architecture.md"), Path("docs/adding-a-kind.md"), Path("docs/adding-a-setting.md")]
    tracked = [path for path in files() if path not in pages]
    names = {str(path) for path in tracked} | {str(path.parent) for path in tracked}
    roots = ("", "src/", "tests/", "tests/unit/", "include/mobula/")
    code = "\n".join(text(path) for path in tracked if path.suffix in {".c", ".h", ".py"} or path.name == "Makefile")
    for page in pages:
        for number, line in enumerate(text(page).splitlines(), 1):
            for name in re.findall(r"`([^`]+)`", line):
                if re.fullmatch(r"[a-z_.-]+(/[a-z_.-]+)+/?|rules\.py", name):
                    if not any(root + name.rstrip("/") in names for root in (*roots, "tests/tools/")):
                        yield f"{page}:{number}: there is no file {name}"
                elif re.fullmatch(r"\w*_\w*", name) and not re.search(rf"\b{name}\b", code):
                    yield f"{page}:{number}: nothing is called {name}"


def main():
    rules = {"top": check_top, "rooms": check_rooms, "lengths": check_lengths, "words": check_words, "prose": check_prose,
             "bugs": check_bugs, "mutants": check_mutants, "control": check_control, "kinds": check_kinds, "flags": check_flags,
             "formats": check_formats, "architecture": check_architecture}
    names = sys.argv[1:] or list(rules)
    if set(names) - set(rules):
        sys.exit(__doc__)
    breaches = [breach for name in names for breach in rules[name]()]
    print("\n".join(breaches), end="\n" if breaches else "")
    sys.exit(bool(breaches))


if __name__ == "__main__":
    main()
