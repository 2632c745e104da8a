#!/usr/bin/env bash
# mobula beside KubeRay, both on the same real control plane (tests/rig), made anew for each of them: ratios of medians.
#   tests/bench/peer.sh [PHASE…]      phases: one hundred fleet (default: all)
#   RUNS=3        how often each of them has its turn: the order changes from run to run
#   MOBULAS='build/mobula'   several binaries are measured side by side; the last one's ratio to KubeRay is what the goals speak of
# KubeRay runs tuned (CONCURRENCY=16 QPS=1000 BURST=2000); its defaults write a quarter to a half slower.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/rig/lib.sh
need_go 'make bench-peer'
export NAME=${NAME:-peer} AUDIT=1 NODES=${NODES:-20} PYTHONDONTWRITEBYTECODE=1
export CONCURRENCY=${CONCURRENCY:-16} QPS=${QPS:-1000} BURST=${BURST:-2000}
mkdir -p build/bench
build_rig bench
logged kuberay-build tests/rig/kuberay.sh build
(cd tests/rig/load && CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$RIG_DIR/bin/load" .)
lock_rig
trap 'tests/rig/down.sh' EXIT

raw=build/bench/peer-$(date +%Y%m%d-%H%M%S).jsonl
for ((run = 1; run <= ${RUNS:-3}; run++)); do
    read -r -a turns <<<"${MOBULAS:-build/mobula} kuberay"
    for ((i = 0; i < ${#turns[@]}; i++)); do
        who=${turns[(i + run) % ${#turns[@]}]}
        tests/rig/down.sh 2>/dev/null
        logged bench-up tests/rig/up.sh
        python3 tests/bench/peer.py measure "$who" "$raw" "$@"
    done
done
python3 tests/bench/peer.py table "$raw" "${MOBULAS:-build/mobula}"
