#!/usr/bin/env bash
# make run: the operator at work. Starts the model API server and the operator, applies tests/run/raycluster.yaml and shows the pods until
# Ctrl-C. With ONCE=1 it deletes the cluster as soon as it is ready, waits until the pods are gone, and exits 0.
# With KUBECONFIG set it works on that cluster, by kubectl, instead of a model, and takes the example away at the end (the CRDs stay).
set -euo pipefail
cd "$(dirname "$0")/../.."

title='make run'
work=build/${RUN_NAME:-run} # it is deleted first
# shellcheck source=tests/run/lib.sh
. tests/run/lib.sh

once=${ONCE:-}
example=tests/run/raycluster.yaml
name=demo
namespace=default
selector=ray.io/cluster=$name
cluster=model # or real

print_definitions() {
    build/mobula install --print --crds-only --kinds=all --no-admission-policy
}

# ---- the cluster: five things to ask of it, by plain HTTP from the model, by kubectl from a real one ----

rayclusters=/apis/ray.io/v1/namespaces/$namespace/rayclusters

model_crds() {
    print_definitions | model_definitions
}

model_apply() {
    http PATCH "$rayclusters/$name?fieldManager=make-run&force=true" application/apply-patch+yaml $example >"$work/answer" ||
        fail "the server refused $example: $(cat "$work/answer")"
}

model_state() {
    http GET $rayclusters/$name | grep -o '"state":"[^"]*"' | cut -d'"' -f4
}

model_delete() {
    http DELETE $rayclusters/$name >/dev/null
}

real_crds() {
    print_definitions | kubectl apply --server-side --force-conflicts -f - >"$work/answer"
}

real_apply() {
    kubectl -n $namespace apply -f $example >"$work/answer"
}

real_state() {
    kubectl -n $namespace get rayclusters.ray.io $name -o 'jsonpath={.status.state}'
}

real_delete() {
    kubectl -n $namespace delete rayclusters.ray.io $name --wait=false >"$work/answer"
}

real_pods() {
    kubectl -n "$1" get pods -l "$2" --no-headers 2>"$work/answer" | tr -s ' ' | tr ' ' '\t' | cut -f1-5
}

# ---- what is shown ----

rows() {
    "${cluster}_pods" $namespace $selector
}

table() {
    { printf 'NAME\tREADY\tSTATUS\tRESTARTS\tAGE\n' && cat; } |
        awk -F'\t' '{ printf "  %-36s %-6s %-18s %-9s %s\n", $1, $2, $3, $4, $5 }'
}

is_ready() {
    [ "$("${cluster}_state" || true)" = ready ]
}

is_empty() {
    [ -z "$(rows)" ]
}

# ---- the play ----

end() {
    [ "$cluster" != real ] || kubectl -n $namespace delete rayclusters.ray.io $name --ignore-not-found --wait=false >/dev/null || true
    stop_all
}

main() {
    begin
    trap end EXIT
    if [ -n "${KUBECONFIG:-}" ]; then
        cluster=real
        config=$KUBECONFIG
        command -v kubectl >/dev/null || fail "KUBECONFIG is set: kubectl is needed to apply the example there"
    else
        start_model model $namespace
    fi
    "${cluster}_crds" || fail "the CRDs were not taken: $(cat "$work/answer")"
    start operator build/mobula operator --kubeconfig "$config" --namespace $namespace --health-addr= --metrics-addr=
    "${cluster}_apply" || fail "$example was not taken: $(cat "$work/answer")"
    printf 'RayCluster %s is applied (%s). To join in:\n\n    kubectl --kubeconfig %s get pods -w\n\n' $name $example "$config"
    wait_for "RayCluster $name is ready" is_ready
    printf 'RayCluster %s is ready after %d s.\n' $name $SECONDS
    if [ -z "$once" ]; then
        printf 'Ctrl-C ends it.\n\n'
        for_ever
    fi
    "${cluster}_delete" || fail "the cluster could not be deleted"
    printf 'It is deleted again.\n'
    wait_for "all pods of $name are gone" is_empty
    printf 'All pods are gone.\n'
}

main
