#!/usr/bin/env bash
# Runs the tests of this folder against a real control plane (etcd, kube-apiserver, controller manager, scheduler, fake nodes) on loopback,
# built from Go modules by tests/rig and cached. Needs Go; installs what else it needs when it may.
#   tests/e2e/run.sh [PYTEST ARGUMENT…]
#   KEEP=1 leaves the control plane up; NAME=e2e is its name; MOBULA=build/test/mobula tests the program with sanitizers instead;
#   APISERVER_ARGS=--feature-gates=WatchList=false makes a server that streams no lists, as all before Kubernetes 1.32
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v go >/dev/null || {
    echo 'make e2e: no Go toolchain in PATH. The control plane is built from Go modules: install Go 1.24 or later and start again.' >&2
    exit 1
}
tests/tools/setup e2e
. tests/rig/lib.sh
export NAME=${NAME:-e2e} AUDIT=1 NODES=${NODES:-3} PYTHONDONTWRITEBYTECODE=1
echo "  RIG     building what is not cached in $RIG_DIR (ten minutes the first time)"
mkdir -p "$RIG_DIR"
tests/rig/build.sh >"$RIG_DIR/e2e-build.log" 2>&1 || { tail -n 20 "$RIG_DIR/e2e-build.log" >&2; exit 1; }
exec 9>"$RIG_DIR/$NAME.lock"
flock -n 9 || { echo "  RIG     waiting: another run uses $NAME"; flock 9; }
tests/rig/down.sh 2>/dev/null
tests/rig/up.sh 2>"$RIG_DIR/up.log" >/dev/null || { cat "$RIG_DIR/up.log" >&2; exit 1; }
[[ -n ${KEEP:-} ]] || trap 'tests/rig/down.sh' EXIT
echo "  RIG     $NAME is up"
export E2E_COUNTS=$RIG_DIR/run/$NAME.counts
rm -f "$E2E_COUNTS"
status=0
python3 -m pytest -p no:cacheprovider -q --durations=5 -c /dev/null --rootdir=tests/e2e --ignore=tests/e2e/ray \
    "${@:-tests/e2e}" || status=$?
cat "$E2E_COUNTS" 2>/dev/null || echo '0 passed, 1 failed'
exit "$status"
