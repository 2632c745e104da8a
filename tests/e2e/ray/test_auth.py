"""Token authentication with real Ray: whoever comes without the token is turned away, and the operator is not."""

import base64
import http.client

from cluster import V1, condition, eventually
from real import START_S, head, scaled, workers

PROGRAM = "import ray; ray.init(); print(ray.get(ray.remote(num_cpus=1)(lambda: 6 * 7).remote()))"


def without_token(space, cluster):
    """The status that the dashboard answers somebody without a token with."""
    link = http.client.HTTPConnection(head(space, cluster)["status"]["podIP"], 8265, timeout=60)
    link.request("GET", "/api/version")
    return link.getresponse().status


def test_a_job_brings_workers_to_a_cluster_with_a_token(space, operators):
    """Its task needs a worker: the autoscaler's questions, the worker's way to the head and the submission all need the token."""
    space.grant("--ray-auth")
    operator = operators()
    spec = scaled("c", idle_s=20)["spec"] | {"authOptions": {"mode": "token"}}
    space.start({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"},
                 "spec": {"entrypoint": f'python -c "{PROGRAM}"', "rayClusterSpec": spec}})
    end = space.becomes("j", "Complete", 2 * START_S)
    cluster = end["rayClusterName"]
    assert end["jobStatus"] == "SUCCEEDED" and end["failed"] == 0, end
    token = base64.b64decode(space.api.get(space.path("secrets", cluster))["data"]["auth_token"]).decode()
    assert without_token(space, cluster) == 401
    eventually(lambda: not workers(space, cluster), START_S, 0.5)
    assert condition(space.api.get(space.path("rayclusters", cluster, V1)), "Autoscaling")["status"] == "True"
    assert token not in operator.log() and "TokenRefused" not in operator.log()
