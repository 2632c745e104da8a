#!/usr/bin/env bash
# mobula beside KubeRay, both on the same real control plane (tests/rig), made anew for each of them: ratios of medians.
#   tests/bench/peer.sh [PHASE…]      phases: hundred one fleet (default: these three), many (2,500 × 4), large (1 × 5,000)
#   RUNS=3        how often each of them has its turn: the order changes from run to run
#   CLUSTERS=1000 of phase fleet
#   LIMIT_ORDER=kinds   the order in which that client POSTs; or clusters: services, heads and workers side by side
#   LIMIT=1       a third one has its turns: a client that POSTs what mobula makes, and no operator; 0: none of that
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
failed=()

raw=build/bench/peer-$(date +%Y%m%d-%H%M%S).jsonl
export CLUSTERS=${CLUSTERS:-1000}
for ((run = 1; run <= ${RUNS:-3}; run++)); do
    turns=()
    [[ ${LIMIT:-1} == 0 ]] || turns+=(limit)
    read -r -a operators <<<"${MOBULAS:-build/mobula} kuberay"
    turns+=("${operators[@]}")
    for ((i = 0; i < ${#turns[@]}; i++)); do
        who=${turns[(i + run) % ${#turns[@]}]}
        tests/rig/down.sh 2>/dev/null
        logged bench-up tests/rig/up.sh
        echo "  RUN     $run of ${RUNS:-3}: $who" >&2
        # A turn that fails is told; the other turns still have their figures.
        python3 tests/bench/peer.py measure "$who" "$raw" "$@" || failed+=("$run:$who")
    done
done
python3 tests/bench/peer.py table "$raw" "${MOBULAS:-build/mobula}"
((${#failed[@]} == 0)) || { echo "failed turns (run:operator): ${failed[*]}" >&2; exit 1; }
