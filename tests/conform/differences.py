"""Every known difference between the model API server and the real one, and why it may be. What is not listed here fails the run, and an
entry that a full run never needs is reported, so that the list does not outlive its reasons."""

import re


class Difference:
    """model and real are patterns of the two values, path of the place in the answer; when(step, real answer) narrows it further."""

    def __init__(self, name, why, path, model=".*", real=".*", when=None):
        self.name, self.why, self.when, self.used = name, why, when, 0
        self.path, self.model, self.real = (re.compile(p, re.DOTALL) for p in (path, model, real))

    def explains(self, step, answer, difference):
        path, model, real = difference
        fits = self.path.fullmatch(path) and self.model.fullmatch(str(model)) and self.real.fullmatch(str(real))
        if not fits or (self.when and not self.when(step, answer)):
            return False
        self.used += 1
        return True


def explained(step, answer, difference):
    return any(d.explains(step, answer, difference) for d in LISTED)


LISTED = [
]
