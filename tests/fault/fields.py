"""The fields of both kinds that the operator carries out: to which values they are set, and what of each must then be seen in the objects.

A value is what stands in the spec; "@" in it is the cluster's name. `no(value)` must be refused, by the API server or by the operator."""

import copy
import json
from dataclasses import dataclass
from typing import Callable

from seen import base_spec

ABSENT = "(absent)"  # the field is not there
BASE = "(base)"  # the spec as it was at first
CHANGES = ("min", "max", "empty", "invalid", "drop", "twice", "revert")


@dataclass(frozen=True)
class No:
    value: object
    word: str = ""  # in the message; not given: the last key of the path


def no(value, word=""):
    return No(value, word)


def named(value, name):
    return json.loads(json.dumps(value).replace("@", name))


@dataclass(frozen=True)
class Field:
    id: str
    kind: str
    path: str  # keys and indices with a slash between them
    low: object
    high: object
    empty: object
    bad: object
    other: object
    see: Callable  # (Seen, value or ABSENT): asserts that the objects say so
    drop: object = ABSENT  # no(ABSENT): must stand there
    keeps: bool = False  # pods stay the same when it changes
    base: Callable = lambda spec: None  # what else its clusters need
    also: Callable = lambda spec, value: None  # what else goes with a value
    write: Callable = None  # instead of path

    def spec(self, value, name):
        """The whole spec with this value in it."""
        spec = base_spec(self.kind)
        self.base(spec)
        if value != BASE:
            value = named(value, name)
            self.also(spec, value)
            (self.write or self._write)(spec, value)
        return spec

    def _write(self, spec, value):
        *way, last = [int(k) if k.isdigit() else k for k in self.path.split("/")]
        at = spec
        for key in way:
            at = at[key] if isinstance(key, int) else at.setdefault(key, {})
        if value == ABSENT:
            at.pop(last, None)
        else:
            at[last] = copy.deepcopy(value)

    @property
    def word(self):
        return next(k for k in reversed(self.path.split("/")) if not k.isdigit())

    def steps(self, change):
        """The values that are written one after the other, without waiting in between; the last one is what must come of it."""
        bad = self.bad if isinstance(self.bad, No) else No(self.bad)
        return {"min": [self.low], "max": [self.high], "empty": [self.empty], "invalid": [bad], "drop": [self.drop],
                "twice": [self.other, self.low], "revert": [self.other, BASE]}[change]
