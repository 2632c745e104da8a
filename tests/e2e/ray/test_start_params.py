"""Checks the expectations of `validate` and of condition Valid about rayStartParams against the real `ray start`."""

import json
from pathlib import Path

from cluster import eventually
from real import IMAGE, START_S

HERE = Path(__file__).parent
LINES = HERE.parents[1] / "data" / "ray" / "start-params.txt"


def test_what_is_refused_is_what_ray_start_refuses(space):
    """tests/unit/ray/t_params.c checks ray_read with the same lines."""
    lines = [line for line in LINES.read_text().splitlines() if line and not line.startswith("#")]
    space.kubectl("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "judge"},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{
            "name": "ray", "image": IMAGE, "imagePullPolicy": "Never", "resources": {"requests": {"cpu": "50m", "memory": "300Mi"}},
            "command": ["python", "-c", (HERE / "start_params.py").read_text(), "\n".join(lines)],
            "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}}))

    def over():
        return space.api.call("GET", space.path("pods", "judge"))["status"].get("phase") == "Succeeded"

    eventually(over, 6 * START_S, 5)
    assert space.kubectl("logs", "judge").stdout.splitlines() == lines
