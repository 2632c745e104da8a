"""docs/api/openapi.yaml is what the control plane does: schemathesis, a public tester, makes requests from it, good ones and bad ones, and
holds every answer against it. It comes from the Python index into an environment of its own."""

import re
import subprocess
import sys

import pytest

from cluster import ROOT
from rig import RIG
from test_hub import account, cloud, definitions, hubs, job, operator_rule, put  # noqa: F401 (definitions and hubs are fixtures)

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


def test_every_answer_is_one_that_the_schema_has(space, hubs, tester, tmp_path):
    hub = hubs()
    where = cloud(space)
    put(space, "ComputeConfig", "computeconfigs", "small-v1", {"zones": ["a"]})
    job(space, "train")
    token = account(space, "tester", operator_rule(), EVERYTHING)
    text = (ROOT / "docs/api/openapi.yaml").read_text()
    # What is drawn at random would hardly ever hit what is there.
    text = text.replace('pattern: "^cldrsrc_[a-z0-9]{24}$"', f'enum: [{where}, cldrsrc_{"z" * 24}]')
    text = text.replace("schema: {type: string, maxLength: 63}", f"schema: {{type: string, enum: [{space.name}, default]}}")
    text = text.replace("schema: {type: string, maxLength: 253}", "schema: {type: string, enum: [edge, train, small-v1, nothing]}")
    # A call that finds nothing new would be held.
    text = text.replace("required: [protocol, cloud, instance, revision]", "required: [protocol, cloud, instance, revision, wait]")
    text = re.sub(r"(\n +wait:\n +type: integer\n +)minimum: 0", r"\1enum: [0]", text)
    assert "enum: [0]" in text
    schema = tmp_path / "openapi.yaml"
    schema.write_text(text)
    command = [tester, "run", schema, "--url", f"http://127.0.0.1:{hub.port}", "--header", f"Authorization: Bearer {token}",
               "--checks", CHECKS, "--max-examples", str(EXAMPLES), "--seed", "1", "--no-color", "--phases", "examples,coverage,fuzzing",
               "--exclude-operation-id", "logs", "--exclude-operation-id", "metrics", "--exclude-operation-id", "bootstrap",
               "--exclude-operation-id", "report",
               "--request-timeout", "40", "--rate-limit", "18/s"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
    assert hub.process.poll() is None, hub.log()[-4000:]
    print(out.stdout[-4000:])
    assert out.returncode == 0, out.stdout[-12000:] + out.stderr[-2000:] + hub.log()[-2000:]
