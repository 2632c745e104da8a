#!/usr/bin/env bash
# Sends the same random sequences of requests to the model API server (tests/model/apiserver) and to a real kube-apiserver (tests/rig) and
# compares what both say: statuses, reasons, bodies, events of watches. Needs Go, as make e2e does.
#   SEQUENCES=2000 SEED=1 tests/conform/run.sh [--whole …]      KEEP=1 leaves the control plane up; NAME=conform is its name
# Ends with "N passed, N failed". A sequence that fails is printed with its seed, and with as few requests as the difference needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/rig/lib.sh
need_go 'make conform'
# No node and no scheduler: pods stay Pending on both sides. The model gives namespaces no kube-root-ca.crt, services no
# EndpointSlices, which would be their dependents, and lets pods be whose node is not there.
export NAME=${NAME:-conform} NODES=0 SCHEDULER=0 PYTHONDONTWRITEBYTECODE=1
export KCM_ARGS='--controllers=*,-root-ca-certificate-publisher-controller,-pod-garbage-collector-controller'
KCM_ARGS+=',-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller'
build_rig conform
lock_rig
KEEP=0 tests/rig/down.sh 2>/dev/null
# The garbage collector finds new kinds only every half minute: ours are there before it starts.
build/mobula install --print --crds-only --kinds=all --no-admission-policy >build/conform-crds.yaml
FIRST=$PWD/build/conform-crds.yaml ETCD_ARGS='--auto-compaction-mode=periodic --auto-compaction-retention=1s' \
    logged conform-up tests/rig/up.sh
# What was before is compacted away, and the watch caches begin anew: version 2 is expired for every kind, as it is for the model.
old='/apis/ray.io/v1/rayclusters?resourceVersion=2&resourceVersionMatch=Exact'
for ((i = 0; i < 600; i++)); do
    said=$("$K8S_BIN/kubectl" --kubeconfig "$RIG_DIR/run/$NAME/admin.kubeconfig" get --raw "$old" 2>&1) || true
    [[ $said != *Expired* ]] || break
    sleep 0.1
done
[[ $said == *Expired* ]] || { echo "  the real server does not forget: $said" >&2; exit 1; }
KEEP=1 tests/rig/down.sh 2>/dev/null
logged conform-up tests/rig/up.sh
model=
end() {
    [[ -z $model ]] || kill "$model"
    [[ -n ${KEEP:-} ]] || tests/rig/down.sh 2>/dev/null
}
trap end EXIT
rm -f build/conform-model.url
build/apiserver --seed "${SEED:-1}" --no-nodes --no-past --collect-after 1 >build/conform-model.url 9>&- &
model=$!
for ((i = 0; i < 600; i++)); do [[ -s build/conform-model.url ]] && break; sleep 0.1; done
url=$(<build/conform-model.url)
[[ -n $url ]] || { echo "  the model does not start" >&2; exit 1; }
"$K8S_BIN/kubectl" --server "$url" apply --server-side -f build/conform-crds.yaml >/dev/null
echo "  RIG     $NAME is up"
python3 tests/conform/conform.py --model "${url##*:}" --model-pid "$model" --sequences "${SEQUENCES:-2000}" --seed "${SEED:-1}" "$@"
