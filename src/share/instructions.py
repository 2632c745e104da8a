"""Instructions of gcc's assembler text: their sizes, and the sequences of them that may be moved."""

import re

CALL = {"amd64": re.compile(r"\tcall\t(\w[\w.]*(?:@PLT)?)$"), "arm64": re.compile(r"\tbl\t(\w[\w.]*)$")}
BRANCH = {
    "amd64": re.compile(r"\t(j|call|ret|ud2|loop)"),
    "arm64": re.compile(r"\t(bl?r?|b\.?(eq|ne|[hlc]s|[cl][co]|mi|pl|v[cs]|hi|[gl][et]|al)|ret|cbn?z|tbn?z|brk)\b"),
}
# Instructions that must stay in place: they are relative to their own address, are targets of indirect jumps, or use thread-local storage.
FIXED = {
    "amd64": re.compile(r"[@.][-+]|@TLS|\b\d[bf]\b|\tendbr"),
    "arm64": re.compile(r"\.[-+]|:tls|\b\d[bf]\b|\t(bti|paci[ab])|\thint\t#?(25|27|34|36|38)\b"),
}
ADDRESS_OF_RETURN = re.compile(r"\b[xw]30\b")
BELOW_STACK = re.compile(r"-\d+\(%rsp")
STACK = re.compile(r"(-?\d*)\((%rsp[,)])")
LABEL = re.compile(r"([\w.]+):$")
DEBUG_LABEL = re.compile(r"\.L(VL|BB|BE|BI|FB|FE|text|cold|FSB)\w*:")


def size_of(arch, line):
    """Bytes of an instruction: exact on arm64, about right on amd64."""
    if arch == "arm64":
        return 4
    name, _, operands = line.strip().partition("\t")
    if name in ("pushq", "popq"):
        if operands[0] == "$":
            return 2 if -128 <= int(operands[1:]) < 128 else 5
        return 2 if operands[:3] in ("%r8", "%r9", "%r1") else 1
    if name.startswith("rep"):
        return 2
    if name in ("call", "jmp"):
        return 3 if "*" in operands else 5
    if name[0] == "j" or name == "ret":
        return 2 if name[0] == "j" else 1
    size = 2 + bool(re.search(r"%r[\da-ds]", operands) or name.endswith("q"))
    memory = re.search(r"(-?\d*)\(([^)]*)\)", operands)
    if "(%rip" in operands:
        size += 4
    elif memory:
        offset = int(memory[1] or 0)
        size += (offset != 0) + 3 * (not -128 <= offset < 128) + ("%rsp" in memory[2] or "," in memory[2])
    constant = re.search(r"\$([-\w.]+)", operands)
    if constant:
        small = re.fullmatch(r"-?\d+", constant[1]) and -128 <= int(constant[1]) < 128
        size += 1 if small else 4
    return size


class Unit:
    """Instructions that stay together: a single one, or on amd64 those from a push of a constant to its pop. Lines count from the end."""

    def __init__(self, numbers, lines):
        self.numbers, self.lines, self.text = numbers, lines, "\n".join(lines)


def units_of(arch, instructions):
    """Units of instructions that are given from the last to the first. None: one that must stay where it is.

    On amd64 those are the instructions that change the stack pointer or take its value, because a copy is called: 8 bytes lie on the stack.
    """
    pending = []
    for number, line in instructions:
        if arch == "arm64":
            yield Unit([number], [line])
            continue
        pushes, pops = line.startswith(("\tpush", "\tenter")), line.startswith(("\tpop", "\tleave"))
        at_stack = "%rsp" in line or "%esp" in line
        moves = "%esp" in line or at_stack and len(STACK.findall(line)) != line.count("%rsp")
        if moves or (pops or at_stack or pushes and not re.match(r"\tpushq\t\$", line) if pending else pushes):
            yield None
            pending = [(number, line)] if pops and not moves else []
        elif pending or pops:
            pending.append((number, line))
            if pushes:
                yield Unit([n for n, _ in pending], [text for _, text in pending])
                pending = []
        else:
            yield Unit([number], [line])
    if pending:
        yield None


def further(match):
    return f"{int(match[1] or 0) + 8}({match[2]}"


def moved_stack(arch, lines):
    """Instructions of a copy. On amd64 the call of the copy has pushed 8 bytes."""
    return [STACK.sub(further, line) if arch == "amd64" else line for line in lines]


def sections_left_alone(lines):
    """Sections of functions that are compiled for speed, which gcc has aligned, or that may use memory below the stack pointer (red zone).

    A function of amd64 may do that if it calls none. It has addresses with negative offsets of %rsp then, or %rsp or an address made of it
    in another register.
    """
    left, calls, copied, section = set(), set(), set(), ""
    for line in lines:
        if line.startswith("\t.section"):
            section = line
        elif line.startswith("\t.p2align 4") or "(%rsp" in line and BELOW_STACK.search(line):
            left.add(section)
        elif line.startswith("\tcall"):
            calls.add(section)
        elif "\t%rsp, %r" in line or line.startswith("\tlea") and "(%rsp" in line:
            copied.add(section)
    return left | copied - calls


def compiled_for_size(lines):
    """Each line with its number, and its section if that has a function in which instructions may be moved."""
    section, left = "", sections_left_alone(lines)
    for number, line in enumerate(lines):
        if line.startswith("\t.section"):
            small = line.startswith("\t.section\t.text") and not line.startswith("\t.section\t.text.unlikely") and line not in left
            section = line if small else None
        elif line in ("\t.text", "\t.data", "\t.bss"):
            section = None
        yield number, line, section


def find_rows(arch, lines):
    """Sequences of instructions without labels between them, of functions compiled for size: lists of (line number, instruction)."""
    row, by_hand = [], False
    for number, line, small in compiled_for_size(lines):
        if line[:4] == "#APP" or line[:7] == "#NO_APP":
            by_hand = line[:4] == "#APP"
        elif line.startswith(("\t.loc ", "\t.cfi_")) or DEBUG_LABEL.match(line):
            continue
        elif re.match("\t[^.]", line) and small and not by_hand:
            row.append((number, line))
            continue
        yield row
        row = []
    yield row


def without_gaps(lines):
    """The lines that are left, one for each that an entry holds."""
    return [line for entry in lines if entry is not None for line in entry.split("\n")]


