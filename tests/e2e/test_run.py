"""`make run` with KUBECONFIG set, on a real API server: in every second part of tests/e2e (run.sh) one that accepts only TLS 1.3."""

import os
import subprocess

from cluster import ROOT, RUN


def test_make_run_on_a_cluster():
    env = {**os.environ, "KUBECONFIG": str(RUN / "admin.kubeconfig"), "ONCE": "1"}
    out = subprocess.run([ROOT / "tests/run/demo.sh"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert out.returncode == 0 and "RayCluster demo is ready after" in out.stdout and out.stdout.endswith("All pods are gone.\n"), out
