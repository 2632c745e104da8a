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


def refused(step, answer):
    return answer.get("status") in (400, 500) and isinstance(answer["body"], dict)


LISTED = [
    Difference("columns", "what a column means is prose of the real server",
               r"body\.columnDefinitions\[\d+\]\.description"),
    Difference("decoders", "what Go's decoders say about text that is no JSON, or JSON of the wrong type; status and reason agree",
               r"body\.message", real=r".*(json parse error|error decoding|invalid character|cannot unmarshal|unmarshalerDecoder|"
               r"illegal base64|unexpected end|Object 'Kind' is missing).*", when=refused),
    Difference("typed", "structured-merge-diff says in Go's words what it cannot take, and of several fields names the first of a Go map",
               r"body\.message", model=r"failed to create typed patch object .*(expected another type|not declared in schema)",
               real=r"failed to create typed patch object .*(expected|not declared in schema).*", when=refused),
    Difference("immutable", "the value in a refusal is printed as Go's internal type has it",
               r"body\.(message|details\.causes\[\d+\])", model=r".*field is immutable.*", real=r".*field is immutable.*"),
    Difference("selectors", "what the parsers say about a selector that is none; status and reason agree",
               r"body\.message", real=r".*(unable to parse requirement|found '|invalid selector|name part must|prefix part).*",
               when=refused),
    Difference("patched", "what a patch has made and cannot be read is shown whole, as Go prints it; the field and reason agree",
               r"body\.(message|details\.causes\[\d+\])", model=r".*patch: Invalid value.*|.*'patch', 'FieldValueInvalid'.*",
               real=r".*patch: Invalid value.*|.*'patch', 'FieldValueInvalid'.*"),
    Difference("pod-warnings", "a pod that is odd but legal is not warned of", r"headers\.Warning", model="<nothing>",
               real=r".*duplicate port definition.*"),
    Difference("pod-diff", "the real server shows in Go's syntax what an update of a pod would have changed",
               r"body\.(message|details\.causes\[\d+\])", model=r".*pod updates may not change fields.*",
               real=r".*pod updates may not change fields.*"),
]
