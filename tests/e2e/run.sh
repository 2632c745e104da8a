#!/usr/bin/env bash
# Runs the tests of this folder and of tests/net (the NAT laboratory) against a real control plane (etcd, kube-apiserver, controller
# manager, scheduler, fake nodes) on loopback, built from Go modules by tests/rig and cached. Needs Go; installs what else it needs when
# it may.
#   tests/e2e/run.sh [PYTEST ARGUMENT…]
#   KEEP=1 leaves the control plane up; NAME=e2e is its name; MOBULA=build/test/mobula tests the program with sanitizers instead;
#   APISERVER_ARGS=--feature-gates=WatchList=false makes a server that streams no lists, as all before Kubernetes 1.32
#   KUBELET=0 leaves out the installation on a real kubelet, which is root's alone
#   AGAIN=1 runs what failed once more, three tests at most: for machines that others use too
#   HALVES=1 runs all of them one after the other. Else, without arguments, half of the files run beside the others, with a control plane
#   of their own (NAME-2), whose API server accepts only TLS 1.3: tests mostly wait
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/rig/lib.sh
need_go 'make e2e'
tests/tools/setup e2e
export NAME=${NAME:-e2e} AUDIT=1 NODES=${NODES:-3} PYTHONDONTWRITEBYTECODE=1
build_rig e2e
lock_rig
tests/rig/down.sh 2>/dev/null
logged up tests/rig/up.sh
[[ -n ${KEEP:-} ]] || trap 'tests/rig/down.sh' EXIT
echo "  RIG     $NAME is up"
export E2E_COUNTS=$RIG_DIR/run/$NAME.counts E2E_FAILED=$RIG_DIR/run/$NAME.failed PYTHONPATH=tests/e2e
rm -f "$E2E_COUNTS" "$E2E_FAILED"
run() { python3 -m pytest -p counts -p no:cacheprovider -q -rs --durations=5 -c /dev/null --rootdir=tests --ignore=tests/e2e/ray "$@"; }
# halve: two lines of about as many tests, whole files each
halve() {
    run --collect-only tests/e2e tests/net | sed -nE 's/^([a-z0-9_/]+\.py)::.*/tests\/\1/p' | sort | uniq -c | sort -k 1,1nr -k 2 |
        awk '{ i = sum[0] > sum[1]; sum[i] += $1; half[i] = half[i] " " $2 } END { print half[0]; print half[1] }'
}
status=0 other=
if ((! $#)); then
    if [[ $(id -u) != 0 || ${KUBELET:-} == 0 ]]; then
        echo '  RIG     not root, or KUBELET=0: no kubelet, and so no installation on one'
    elif pgrep -x kubelet >/dev/null; then
        echo '  RIG     a kubelet runs on this machine, and two cannot share the cgroups of pods: no installation on one of ours'
    else
        node=1
    fi
    set -- tests/e2e tests/net
    if [[ ${HALVES:-2} == 2 ]]; then
        mapfile -t halves < <(halve)
        read -r -a second <<<"${halves[1]?the tests could not be listed}"
        # shellcheck disable=SC2086 # names of files
        set -- ${halves[0]}
        insist="--tls-min-version=VersionTLS13 ${APISERVER_ARGS:-}"
        HALVES=1 NAME=$NAME-2 APISERVER_ARGS=$insist tests/e2e/run.sh "${second[@]}" >"$RIG_DIR/$NAME-2.log" 2>&1 9>&- &
        other=$!
    fi
fi
run "$@" || status=$?
counts=$(cat "$E2E_COUNTS" 2>/dev/null) || counts='0 passed, 1 failed'
mapfile -t failed < <(cat "$E2E_FAILED" 2>/dev/null)
if [[ -n ${AGAIN:-} && $status == 1 && ${#failed[@]} -le 3 ]]; then
    printf '  E2E     runs again, and said above why it failed: %s\n' "${failed[@]}"
    status=0
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
if [[ -n $other ]]; then
    wait "$other" || status=1
    cat "$RIG_DIR/$NAME-2.log"
    add "$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$RIG_DIR/$NAME-2.log" | tail -n 1)"
fi
if [[ -n ${node:-} ]]; then
    there=$(env -u NODES NAME="$NAME-node" RAY_IMAGE=0 tests/e2e/ray/run.sh tests/e2e/ray/test_installed.py -k ready |
        tee -a /dev/stderr | tail -n 1) || status=1
    add "$there"
fi
echo "$counts"
exit "$status"
