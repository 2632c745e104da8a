#!/usr/bin/env bash
# Runs the tests of this folder against real Ray: a control plane of tests/rig and a real kubelet with containerd, all in a network
# namespace without a way out, and Ray from an image that tests/rig/image-ray.sh made without a registry. Needs root and Go; installs what
# else it needs. Half an hour on two cores that have nothing else to do, of which the tests are about half; what takes the rest is built
# once and kept in RIG_DIR (control plane, kubelet, the image of Ray).
#   tests/e2e/ray/run.sh [PYTEST ARGUMENT…]
#   KEEP=1 leaves the node up; NAME=e2e-ray is its name; RAY_IMAGE=0 makes no image of Ray, for tests that need a kubelet alone
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
[[ $(id -u) == 0 ]] || { echo 'make e2e-ray: a kubelet and network namespaces need root' >&2; exit 1; }
. tests/rig/lib.sh
need_go 'make e2e-ray'
tests/tools/setup e2e node
export NAME=${NAME:-e2e-ray} AUDIT=1 PYTHONDONTWRITEBYTECODE=1 E2E_AUTOSCALER=operator RAY_VERSION
export RIG_NETNS=mobula-$NAME
mkdir -p "$RIG_DIR"
for step in build build-node image-ray; do
    echo "  RIG     $step: what is not cached in $RIG_DIR is built"
    logged "$step" "tests/rig/$step.sh"
done
lock_rig
# Two containerds cannot share the images, and two kubelets not the cgroups of pods.
exec 8>"$RIG_DIR/node.lock"
flock -n 8 || { echo '  RIG     waiting: another node runs on this machine'; flock 8; }

down() {
    tests/rig/netns.sh tests/rig/node-down.sh && tests/rig/netns.sh tests/rig/down.sh
    tests/rig/netns.sh --delete
}
down 2>/dev/null
[[ -n ${KEEP:-} ]] || trap down EXIT
tests/rig/netns.sh KUBELET_NODE=n1 APISERVER_ARGS='--kubelet-preferred-address-types=InternalIP --bind-address=0.0.0.0' \
    tests/rig/up.sh 2>"$RIG_DIR/up.log" >/dev/null || { cat "$RIG_DIR/up.log" >&2; exit 1; }
[[ ${RAY_IMAGE:-1} != 0 ]] || export IMAGES=$RIG_DIR/image/pause.tar
tests/rig/netns.sh tests/rig/node-up.sh 2>"$RIG_DIR/node-up.log" || { cat "$RIG_DIR/node-up.log" >&2; exit 1; }
# The name that the examples know it by.
[[ ${RAY_IMAGE:-1} == 0 ]] ||
    ctr --address "$RIG_DIR/run/$NAME/node/containerd.sock" -n k8s.io images tag --force "localhost/ray:$RAY_VERSION" \
        "docker.io/rayproject/ray:$RAY_VERSION" >/dev/null
echo "  RIG     $NAME is up, with a node"
export E2E_COUNTS=$RIG_DIR/run/$NAME.counts PYTHONPATH=tests/e2e
rm -f "$E2E_COUNTS"
status=0
tests/rig/netns.sh python3 -m pytest -p counts -p no:cacheprovider -q -rs --durations=0 -c /dev/null --rootdir=tests/e2e \
    "${@:-tests/e2e/ray}" || status=$?
cat "$E2E_COUNTS" 2>/dev/null || echo '0 passed, 1 failed'
exit "$status"
