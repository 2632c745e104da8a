"""`make run` with KUBECONFIG set, on a real API server: in every second part of tests/e2e (run.sh) one that accepts only TLS 1.3."""

import os
import shutil
import subprocess

from cluster import PATIENCE, ROOT, RUN


def test_make_run_on_a_cluster():
    name = f"run-e2e-{os.getpid()}"  # a folder of its own: a `make run` in the same tree keeps its
    env = {**os.environ, "KUBECONFIG": str(RUN / "admin.kubeconfig"), "ONCE": "1", "PATIENCE": str(PATIENCE), "RUN_NAME": name}
    out = subprocess.run([ROOT / "tests/run/demo.sh"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=3 * PATIENCE + 60,
                         check=False)
    assert out.returncode == 0 and "RayCluster demo is ready after" in out.stdout and out.stdout.endswith("All pods are gone.\n"), out
    shutil.rmtree(ROOT / "build" / name)
