"""What the README shows of real Ray: its five commands, run as they are printed there."""

import os
import re
import subprocess

import pytest

from cluster import RUN, eventually
from real import START_S, explained
from rig import KUBECTL, ROOT


def printed():
    text = (ROOT / "README.md").read_text()
    block = re.search(r"^A cluster that scales by (?:.+\n)+\n((?: {4}.+\n)+)", text, re.M).group(1)
    return [line.partition("#")[0].strip() for line in block.splitlines()]


def shell(command):
    env = os.environ | {"KUBECONFIG": str(RUN / "admin.kubeconfig"), "PATH": f"{KUBECTL.parent}:{os.environ['PATH']}"}
    out = subprocess.run(command, shell=True, cwd=ROOT, env=env, capture_output=True, text=True, timeout=3 * START_S, check=False)
    assert out.returncode == 0, f"{command}: {out.stdout}{out.stderr}"
    return out.stdout


@pytest.mark.parametrize("space", ["ray"], indirect=True)  # the namespace that they name
def test_the_five_commands(space, operator):
    commands = printed()
    assert len(commands) == 5 and all("-n ray" in c for c in commands), commands
    said = [shell(c) for c in commands]
    assert "raycluster.ray.io/autoscaling created" in said[0]
    assert "RayCluster ray/autoscaling (ray.io/v1)" in said[1] and "Autoscaling" in said[1]
    assert "rayjob.ray.io/example created" in said[2] and "'CPU': " in said[3] and "condition met" in said[4]
    assert space.becomes("example", "Complete")["jobStatus"] == "SUCCEEDED"
    space.ready("autoscaling", 1, seconds=START_S)
    eventually(lambda: "by the operator, which decided last (DemandMet)" in explained(space, "autoscaling"), 60, 0.5)
