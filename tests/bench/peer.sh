#!/usr/bin/env bash
# mobula beside KubeRay, both on the same real control plane (tests/rig), made anew for each of them: ratios of medians.
#   tests/bench/peer.sh [PHASE…]      phases: one hundred fleet (default: all)
#   RUNS=3        how often each of them has its turn: the order changes from run to run
#   MOBULAS='build/mobula'   several binaries are measured side by side; the last one's ratio to KubeRay is what the goals speak of
# KubeRay runs tuned (CONCURRENCY=16 QPS=1000 BURST=2000); its defaults write a quarter to a half slower.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v go >/dev/null || {
    echo 'make bench-peer: no Go toolchain in PATH. The control plane and KubeRay are built from Go modules: install Go 1.24 or later.' >&2
    exit 1
}
. tests/rig/lib.sh
export NAME=${NAME:-peer} AUDIT=1 NODES=${NODES:-20} PYTHONDONTWRITEBYTECODE=1
export CONCURRENCY=${CONCURRENCY:-16} QPS=${QPS:-1000} BURST=${BURST:-2000}
mkdir -p "$RIG_DIR" build/bench
echo "  RIG     building what is not cached in $RIG_DIR (fifteen minutes the first time)"
tests/rig/build.sh >"$RIG_DIR/bench-build.log" 2>&1 || { tail -n 20 "$RIG_DIR/bench-build.log" >&2; exit 1; }
tests/rig/kuberay.sh build >"$RIG_DIR/kuberay-build.log" 2>&1 || { tail -n 20 "$RIG_DIR/kuberay-build.log" >&2; exit 1; }
(cd tests/rig/load && CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$RIG_DIR/bin/load" .)
exec 9>"$RIG_DIR/$NAME.lock"
flock -n 9 || { echo "  RIG     waiting: another run uses $NAME"; flock 9; }
trap 'tests/rig/down.sh' EXIT

raw=build/bench/peer-$(date +%Y%m%d-%H%M%S).jsonl
for ((run = 1; run <= ${RUNS:-3}; run++)); do
    read -r -a turns <<<"${MOBULAS:-build/mobula} kuberay"
    for ((i = 0; i < ${#turns[@]}; i++)); do
        who=${turns[(i + run) % ${#turns[@]}]}
        tests/rig/down.sh 2>/dev/null
        tests/rig/up.sh >/dev/null 2>"$RIG_DIR/bench-up.log" || { cat "$RIG_DIR/bench-up.log" >&2; exit 1; }
        python3 tests/bench/peer.py measure "$who" "$raw" "$@"
    done
done
python3 tests/bench/peer.py table "$raw" "${MOBULAS:-build/mobula}"
