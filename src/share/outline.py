"""Outlining: equal instruction sequences inside functions become one function, which is called in place of each of them.

The function has the instructions and a return. Neither the call nor the return changes flags or registers, with these exceptions:

  - On amd64 the call pushes 8 bytes: the copy's accesses to the stack get an offset of 8, and functions that may use memory below the stack
    pointer are left alone (sections_left_alone).
  - On arm64 the call sets x30. A sequence is only taken where x30 is dead: where the function has stored it, and will load it before it
    returns. A backward pass over branches and labels finds out where that is.

The sequence that saves most bytes is taken first, then the one that saves most of those that are left.
"""

import heapq
import re
from collections import defaultdict

from instructions import ADDRESS_OF_RETURN, BRANCH, FIXED, LABEL, find_rows, moved_stack, size_of, units_of, without_gaps

CALL_SIZE = {"amd64": 5, "arm64": 4}
RETURN_SIZE = {"amd64": 1, "arm64": 4}
CALL_NAME = {"amd64": "call", "arm64": "bl"}
LONGEST = 200
# arm64: what an instruction does to the return address in x30.
GOES = re.compile(r"\tb\t([\w.]+)$")
MAY_GO = re.compile(r"\t(?:b\.?\w\w|cbn?z|tbn?z)\t(?:.*, ?)?([\w.]+)$")
CALLS = re.compile(r"\tblr?\t")
LOADS = re.compile(r"\t(?:ldp\tx29, x30, \[sp|ldr\tx30, \[sp)")


def event_of(line):
    """arm64: what an instruction or directive means for x30, and the label that it may jump to; None if nothing."""
    if line[1] == ".":
        return ("use", None) if line.startswith("\t.section") else None
    if line[1] in "bcrt" and BRANCH["arm64"].match(line):
        goes, may_go = GOES.match(line), MAY_GO.match(line)
        if CALLS.match(line):
            return "set", None
        return ("jump", goes[1]) if goes else ("may", may_go[1]) if may_go else ("use", None)
    if "30" in line and ADDRESS_OF_RETURN.search(line):
        return ("set" if LOADS.match(line) else "use"), None
    return None


def events_of_return_address(lines):
    """arm64: the lines that matter for x30, from the last to the first: (line number, what, label)."""
    events, by_hand = [], False
    for number, line in enumerate(lines):
        if line[:1] == "\t" and not by_hand:
            event = event_of(line)
            if event:
                events.append((number, *event))
        elif line[:4] == "#APP" or line[:7] == "#NO_APP":
            by_hand = line[:4] == "#APP"
        elif by_hand:
            events.append((number, "use", None))
        elif LABEL.match(line):
            events.append((number, "label", line[:-1]))
    return events[::-1]


def follow(events, needed):
    """One pass over the events. `needed`: for each label whether x30 is needed there. Returns the line numbers where that changes."""
    live, changes = True, []
    for number, what, label in events:
        if what == "label":
            needed[label] = live = live or needed.get(label, False)
        elif what == "jump":
            live = needed.get(label, label not in needed)
        elif what == "may":
            live = live or needed.get(label, label not in needed)
        else:
            live = what == "use"
        changes.append((number, live))
    return changes


def without_return_address(lines):
    """arm64: for each line whether x30 is not needed after it, because the function has stored it, and loads it before it returns."""
    events = events_of_return_address(lines)
    needed = {label: False for _, what, label in events if what == "label"}
    while True:
        before = dict(needed)
        changes = follow(events, needed)
        if before == needed:
            break
    free, last, live = bytearray(len(lines)), len(lines), True
    for number, now in changes:
        if not live:
            free[number:last] = b"\1" * (last - number)
        last, live = number, now
    return free


def units_to_outline(arch, lines):
    """All units that may be moved into a function of their own, in the order of the lines. None: between units that are apart."""
    free = without_return_address(lines) if arch == "arm64" else None
    for row in find_rows(arch, lines):
        piece = []
        for number, line in row:
            fixed = BRANCH[arch].match(line) or FIXED[arch].search(line)
            if fixed or arch == "arm64" and (not free[number] or ADDRESS_OF_RETURN.search(line)):
                yield from list(units_of(arch, piece[::-1]))[::-1]
                yield None
                piece = []
            else:
                piece.append((number, line))
        yield from list(units_of(arch, piece[::-1]))[::-1]
        yield None


class Repeat:
    """A sequence of units that begins at several places."""

    def __init__(self, places, length, size):
        self.places, self.length, self.size = places, length, size

    def still(self, taken):
        """Leaves out the places of which a unit is taken, and those that overlap."""
        places, end = [], 0
        for place in self.places:
            if place >= end and not any(taken[place : place + self.length]):
                places.append(place)
                end = place + self.length
        self.places = places

    def gain(self, arch):
        count = len(self.places)
        return (count - 1) * self.size - count * CALL_SIZE[arch] - RETURN_SIZE[arch]


def find_repeats(names, sizes):
    """Sequences of at least one unit that repeat: by length, each from those that are one unit shorter. A name of 0 ends a sequence."""
    groups = defaultdict(list)
    for place, name in enumerate(names):
        if name:
            groups[name].append(place)
    groups = [(places, sizes[places[0]]) for places in groups.values() if len(places) > 1]
    for length in range(1, LONGEST):
        longer = []
        for places, size in groups:
            by_next = defaultdict(list)
            for place in places:
                by_next[names[place + length]].append(place)
            by_next.pop(0, None)
            more = [same for same in by_next.values() if len(same) > 1]
            if not more or len(more[0]) < len(places):
                yield Repeat(places, length, size)
            longer += [(same, size + sizes[same[0] + length]) for same in more]
        groups = longer


def choose(arch, names, sizes):
    """Takes the sequence that saves most, again and again."""
    taken, heap = bytearray(len(names)), []
    for repeat in find_repeats(names, sizes):
        gain = repeat.gain(arch)
        if gain > 0:
            heap.append((-gain, len(heap), repeat))
    heapq.heapify(heap)
    while heap:
        gain, order, repeat = heapq.heappop(heap)
        repeat.still(taken)
        now = repeat.gain(arch)
        if now <= 0:
            continue
        if now < -gain:
            heapq.heappush(heap, (-now, order, repeat))
            continue
        for place in repeat.places:
            taken[place : place + repeat.length] = b"\1" * repeat.length
        yield repeat


def outline(arch, lines):
    """Returns `lines` with equal sequences inside functions moved to functions of their own."""
    units = list(units_to_outline(arch, lines))
    numbers, sizes = {}, []
    names = []
    for unit in units:
        names.append(numbers.setdefault(unit.text, len(numbers) + 1) if unit else 0)
        sizes.append(sum(size_of(arch, line) for line in unit.lines) if unit else 0)
    copies = ['\t.section\t.text.outlined,"ax",@progbits'] + (["\t.align\t2"] if arch == "arm64" else [])
    for count, repeat in enumerate(choose(arch, names, sizes)):
        name = f"outlined.{count + 1}"
        copies += [f"\t.type\t{name}, %function", f"{name}:"]
        for place in range(repeat.places[0], repeat.places[0] + repeat.length):
            copies += moved_stack(arch, reversed(units[place].lines))
        copies.append("\tret")
        for place in repeat.places:
            for unit in units[place : place + repeat.length]:
                for number in unit.numbers:
                    lines[number] = None
            lines[min(units[place].numbers)] = f"\t{CALL_NAME[arch]}\t{name}"
    return without_gaps(lines + copies)
