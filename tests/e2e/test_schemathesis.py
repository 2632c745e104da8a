"""docs/api/openapi.yaml is what the control plane does: schemathesis, a public tester, makes requests from it, good ones and bad ones, and
holds every answer against it. It comes from the Python index into an environment of its own."""

import re
import subprocess
import sys
import threading

import pytest

from cluster import ROOT
from rig import RIG
from test_hub import account, cloud, definitions, hubs, job, operator_rule, put, status  # noqa: F401 (definitions and hubs are fixtures)

VERSION = "4.32.5"
EXAMPLES = 12  # requests for each operation and each way of making them
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance"
EVERYTHING = {"apiGroups": ["mobula.dev"], "resources": ["clouds", "computeconfigs", "workloads"],
              "verbs": ["get", "list", "create", "update", "delete"]}


@pytest.fixture(scope="module")
def tester():
    folder = RIG / f"schemathesis-{VERSION}"
    program = folder / "bin" / "schemathesis"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"schemathesis=={VERSION}"], check=True)
    return program


class Rig:
    """A control plane with a cloud, two workloads and a compute config, and the schema with what is there for what is drawn at random."""

    def __init__(self, space, hub, tester, folder):
        self.space, self.hub, self.tester, self.folder = space, hub, tester, folder
        self.where = cloud(space)
        put(space, "ComputeConfig", "computeconfigs", "small-v1", {"zones": ["a"]})
        self.uid = job(space, "train")["metadata"]["uid"]
        self.token = account(space, "tester", operator_rule(), EVERYTHING)
        text = (ROOT / "docs/api/openapi.yaml").read_text()
        text = text.replace('pattern: "^cldrsrc_[a-z0-9]{24}$"', f'enum: [{self.where}, cldrsrc_{"z" * 24}]')
        text = text.replace("schema: {type: string, maxLength: 63}", f"schema: {{type: string, enum: [{space.name}, default]}}")
        text = text.replace("schema: {type: string, maxLength: 253}", "schema: {type: string, enum: [edge, train, small-v1, nothing]}")
        # A call that finds nothing new would be held.
        text = text.replace("required: [protocol, cloud, instance, revision]", "required: [protocol, cloud, instance, revision, wait]")
        text = re.sub(r"(\n +wait:\n +type: integer\n +)minimum: 0", r"\1enum: [0]", text)
        assert "enum: [0]" in text
        self.schema = folder / "openapi.yaml"
        self.schema.write_text(text)

    def run(self, token, *which, phases="examples,coverage,fuzzing", examples=EXAMPLES, rate="18/s"):
        command = [self.tester, "run", self.schema, "--url", f"http://127.0.0.1:{self.hub.port}",
                   "--header", f"Authorization: Bearer {token}", "--checks", CHECKS,
                   "--max-examples", str(examples), "--seed", "1", "--no-color", "--phases", phases, *which,
                   "--request-timeout", "40", "--rate-limit", rate]
        out = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=self.folder)
        assert self.hub.process.poll() is None, self.hub.log()[-4000:]
        print(out.stdout[-4000:])
        assert out.returncode == 0, out.stdout[-12000:] + out.stderr[-2000:] + self.hub.log()[-2000:]


@pytest.fixture
def rig(space, hubs, tester, tmp_path):  # noqa: F811
    return Rig(space, hubs(), tester, tmp_path)


def without(*operations):
    return [word for one in operations for word in ("--exclude-operation-id", one)]


def test_every_answer_is_one_that_the_schema_has(rig):
    rig.run(rig.token, *without("logs", "metrics", "bootstrap", "report"))


class Answering(threading.Thread):
    """The operator of the cloud: its cluster accepts one token, of a pod of the workload, and the workload has printed two lines."""

    def __init__(self, rig, pod_token):
        super().__init__(daemon=True)
        self.rig, self.pod_token, self.over = rig, pod_token, threading.Event()
        self.asked = {"tokenReview": 0, "logTail": 0}
        self.start()

    def run(self):
        answers, revision = [], ""
        while not self.over.is_set():
            code, news = self.rig.hub.sync(self.rig.token, self.rig.where, revision=revision, answers=answers, wait=1)
            assert code == 200, news
            revision, answers = news["revision"], [self.answer(q) for q in news.get("questions", [])]

    def answer(self, question):
        self.asked[question["kind"]] += 1
        said = {"id": question["id"], "kind": question["kind"]}
        if question["kind"] == "logTail":
            return said | {"text": "one\ntwo\n"}
        if question["token"] != self.pod_token:
            return said | {"ok": False, "error": "the API server does not accept it"}
        return said | {"ok": True, "podUid": "11111111-2222-4333-8444-555555555555", "podName": "train-head", "namespace": "ray",
                       "workloadUid": self.rig.uid}


def test_calls_of_pods_and_questions_to_an_operator(rig):
    """The credentials are good, so the answers are more than refusals."""
    operator = Answering(rig, "a-token-of-the-pod")
    try:
        rig.run(rig.token, "--include-operation-id", "logs")
        rig.run("a-token-of-the-pod", "--include-operation-id", "bootstrap")
        assert operator.asked["logTail"] > 0 and operator.asked["tokenReview"] > 0
        code, given = rig.hub.ask("POST", "/v1/bootstrap", "a-token-of-the-pod", {"cloud": rig.where})
        assert code == 200 and given["workloadUid"] == rig.uid, given
        report = ("--include-operation-id", "report")
        rig.run(given["credential"], *report, phases="coverage")  # more often than once in 5 s: most are too many
        rig.run(given["credential"], *report, phases="examples,fuzzing", examples=6, rate="11/m")
        assert status(rig.space, "train")["ray"]["reportTime"]
    finally:
        operator.over.set()
        operator.join()
