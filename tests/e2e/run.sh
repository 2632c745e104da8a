#!/usr/bin/env bash
# Runs the tests of this folder and of tests/net (the NAT laboratory) against a real control plane (etcd, kube-apiserver, controller
# manager, scheduler, fake nodes) on loopback, built from Go modules by tests/rig and cached. Needs Go; installs what else it needs when
# it may.
#   tests/e2e/run.sh [PYTEST ARGUMENT…]
#   KEEP=1 leaves the control plane up; NAME=e2e is its name; MOBULA=build/test/mobula tests the program with sanitizers instead;
#   APISERVER_ARGS=--feature-gates=WatchList=false makes a server that streams no lists, as all before Kubernetes 1.32
#   KUBELET=0 leaves out the installation on a real kubelet, which is root's alone
#   AGAIN=1 runs what failed once more, three tests at most of each part: for machines that others use too
#   PARTS=3: without arguments, so many runs share the test files, because tests mostly wait. Each has a control plane of its own (NAME,
#   NAME-2, …); every second one accepts only TLS 1.3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/rig/lib.sh
need_go 'make e2e'
tests/tools/setup e2e
export NAME=${NAME:-e2e} AUDIT=1 NODES=${NODES:-3} PYTHONDONTWRITEBYTECODE=1
build_rig e2e
lock_rig
tests/rig/down.sh 2>/dev/null
GOGC=300 logged up tests/rig/up.sh # the control plane collects its garbage less often: memory is plenty, processors are two
[[ -n ${KEEP:-} ]] || trap 'tests/rig/down.sh' EXIT
echo "  RIG     $NAME is up"
export E2E_COUNTS=$RIG_DIR/run/$NAME.counts E2E_FAILED=$RIG_DIR/run/$NAME.failed PYTHONPATH=tests/e2e
rm -f "$E2E_COUNTS" "$E2E_FAILED"
run() {
    python3 -m pytest -p counts -p parts -p no:cacheprovider -q -rs --durations=${DURATIONS:-15} -c /dev/null --rootdir=tests \
        --ignore=tests/e2e/ray "$@"
}
status=0 others=()
if ((! $#)); then
    if [[ $(id -u) != 0 || ${KUBELET:-} == 0 ]]; then
        echo '  RIG     not root, or KUBELET=0: no kubelet, and so no installation on one'
    elif pgrep -x kubelet >/dev/null; then
        echo '  RIG     a kubelet runs on this machine, and two cannot share the cgroups of pods: no installation on one of ours'
    else
        node=1
    fi
    set -- tests/e2e tests/net
    export E2E_CLAIMS=$RIG_DIR/run/$NAME.claims
    rm -rf "$E2E_CLAIMS"
    mkdir "$E2E_CLAIMS"
    for ((i = 2; i <= ${PARTS:-3}; i++)); do
        insist=()
        ((i % 2)) || insist=(E2E_TLS13=1 APISERVER_ARGS="--tls-min-version=VersionTLS13 ${APISERVER_ARGS:-}")
        env NAME="$NAME-$i" "${insist[@]}" tests/e2e/run.sh "$@" >"$RIG_DIR/$NAME-$i.log" 2>&1 9>&- &
        others[i]=$!
    done
fi
run "$@" || status=$?
counts=$(cat "$E2E_COUNTS" 2>/dev/null) || counts='0 passed, 1 failed'
mapfile -t failed < <(cat "$E2E_FAILED" 2>/dev/null)
if [[ -n ${AGAIN:-} && $status == 1 && ${#failed[@]} -le 3 ]]; then
    printf '  E2E     runs again, and said above why it failed: %s\n' "${failed[@]}"
    status=0
    unset E2E_CLAIMS
    for i in "${!failed[@]}"; do
        failed[i]=tests/${failed[i]}
    done
    run "${failed[@]}" || status=$?
    again=$(cat "$E2E_COUNTS")
    counts="$((${counts%% *} + ${again%% *})) passed, $(cut -d ' ' -f 3 <<<"$again") failed"
fi
add() { # counts of another run, as this one's last line has them
    local there=$1
    [[ $there =~ ^[0-9]+\ passed ]] || there='0 passed, 1 failed'
    counts="$((${counts%% *} + ${there%% *})) passed, $(($(cut -d ' ' -f 3 <<<"$counts") + $(cut -d ' ' -f 3 <<<"$there"))) failed"
}
if [[ -n ${node:-} ]]; then
    there=$(env -u NODES NAME="$NAME-node" RAY_IMAGE=0 tests/e2e/ray/run.sh tests/e2e/ray/test_installed.py -k ready |
        tee -a /dev/stderr | tail -n 1) || status=1
    add "$there"
fi
for i in "${!others[@]}"; do
    wait "${others[i]}" || status=1
    cat "$RIG_DIR/$NAME-$i.log"
    add "$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$RIG_DIR/$NAME-$i.log" | tail -n 1)"
done
echo "$counts"
exit "$status"
