#!/usr/bin/env bash
# make run: the operator at work. Starts the model API server and the operator, applies tests/run/raycluster.yaml and shows the pods until
# Ctrl-C. With ONCE=1 it deletes the cluster as soon as it is ready, waits until the pods are gone, and exits 0.
# With KUBECONFIG set it works on that cluster, by kubectl, instead of a model, and takes the example away at the end (the CRDs stay).
# Of the machine it wants only what every Debian has: HTTP goes through bash's /dev/tcp.
set -euo pipefail
cd "$(dirname "$0")/../.."

print_definitions() {
    build/mobula install --print --crds-only --kinds=all --no-admission-policy
}

once=${ONCE:-}
patience=60 # seconds for each thing that is waited for
example=tests/run/raycluster.yaml
name=demo
namespace=default
selector=ray.io/cluster=$name
work=build/run
pids=()
lines_drawn=0
cluster=model # or real

fail() {
    printf 'make run: %s\n' "$*" >&2
    [ ! -s $work/operator.log ] || { printf 'The last lines of %s:\n' $work/operator.log && tail -n 5 $work/operator.log; } >&2
    exit 1
}

# ---- the cluster: five things to ask of it, by plain HTTP from the model, by kubectl from a real one ----

# http METHOD PATH [TYPE FILE]: prints the body; fails when the status is not 2xx.
http() {
    local type=${3:-application/json} file=${4:-/dev/null} status answer fd
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" || return 1
    {
        printf '%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nUser-Agent: make-run\r\n' "$1" "$2"
        printf 'Accept: %s\r\nContent-Type: %s\r\nContent-Length: %s\r\n\r\n' "${accept:-application/json}" "$type" "$(wc -c <"$file")"
        cat "$file"
    } >&"$fd"
    answer=$(tr -d '\r' <&"$fd")
    exec {fd}>&-
    status=${answer#* }
    status=${status%% *}
    printf '%s\n' "${answer#*$'\n\n'}"
    [[ $status == 2* ]]
}

rayclusters=/apis/ray.io/v1/namespaces/$namespace/rayclusters

model_crds() {
    local file path=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
    # One file for each document of the stream.
    print_definitions | awk -v dir=$work '/^---/ { n++; next } { print > (dir "/crd-" n + 0 ".yaml") }'
    for file in "$work"/crd-*.yaml; do
        http POST $path application/yaml "$file" >$work/answer || fail "the server refused $file: $(cat $work/answer)"
    done
}

model_apply() {
    http PATCH "$rayclusters/$name?fieldManager=make-run&force=true" application/apply-patch+yaml $example >$work/answer ||
        fail "the server refused $example: $(cat $work/answer)"
}

model_state() {
    http GET $rayclusters/$name | grep -o '"state":"[^"]*"' | cut -d'"' -f4
}

model_delete() {
    http DELETE $rayclusters/$name >/dev/null
}

# A line for each pod: name, ready, status, restarts, age.
model_pods() {
    local query="includeObject=None&labelSelector=${selector/=/%3D}"
    accept='application/json;as=Table;v=v1;g=meta.k8s.io' http GET "/api/v1/namespaces/$namespace/pods?$query" |
        { grep -o '"cells":\[[^]]*\]' || true; } | sed 's/^"cells":\[//; s/\]$//; s/"//g' | cut -d, -f1-5 | tr , '\t'
}

real_crds() {
    print_definitions | kubectl apply --server-side --force-conflicts -f - >$work/answer
}

real_apply() {
    kubectl -n $namespace apply -f $example >$work/answer
}

real_state() {
    kubectl -n $namespace get rayclusters.ray.io $name -o 'jsonpath={.status.state}'
}

real_delete() {
    kubectl -n $namespace delete rayclusters.ray.io $name --wait=false >$work/answer
}

real_pods() {
    kubectl -n $namespace get pods -l $selector --no-headers 2>$work/answer | tr -s ' ' | tr ' ' '\t' | cut -f1-5
}

# ---- processes ----

stop_all() {
    local pid
    trap - EXIT HUP INT TERM
    [ "$cluster" != real ] || kubectl -n $namespace delete rayclusters.ray.io $name --ignore-not-found --wait=false >/dev/null || true
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    wait "${pids[@]}" 2>/dev/null || true
}

still_running() {
    local pid
    for pid in "${pids[@]}"; do
        kill -0 "$pid" 2>/dev/null || fail "a process that was started has ended"
    done
}

start_model() {
    local url='' i
    : >$work/apiserver.url
    build/apiserver --pod-events --ready-after "${READY_AFTER_MS:-1500}" >$work/apiserver.url 2>$work/apiserver.log &
    pids+=($!)
    for ((i = 0; i < 10 * patience; i++)); do
        ! read -r url <$work/apiserver.url || break
        kill -0 "${pids[0]}" 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$url" ] || fail "the model API server did not start: $(cat $work/apiserver.log)"
    port=${url##*:}
    config=$PWD/$work/kubeconfig
    cat >"$config" <<END
apiVersion: v1
kind: Config
current-context: model
clusters: [{name: model, cluster: {server: "$url"}}]
users: [{name: model, user: {}}]
contexts: [{name: model, context: {cluster: model, user: model, namespace: $namespace}}]
END
    printf 'A model API server listens on %s.\n' "$url"
}

start_operator() {
    build/mobula operator --kubeconfig "$config" --namespace $namespace --health-addr= --metrics-addr= >$work/operator.log 2>&1 &
    pids+=($!)
}

# ---- what is shown ----

table() {
    printf 'NAME\tREADY\tSTATUS\tRESTARTS\tAGE\n'
    printf '%s\n' "$1"
}

# On a terminal the table is drawn over itself; elsewhere only what changed is printed, a line each.
show() {
    local pods=$1 line text
    if [ -t 1 ]; then
        [ "$lines_drawn" -eq 0 ] || printf '\033[%dA\033[J' "$lines_drawn"
        text=$(table "$pods" | awk -F'\t' '{ printf "  %-36s %-6s %-18s %-9s %s\n", $1, $2, $3, $4, $5 }')
        printf '%s\n' "$text"
        lines_drawn=$(wc -l <<<"$text")
        return
    fi
    while IFS=$'\t' read -r line; do
        [ -z "$line" ] || grep -qxF "$line" $work/shown || printf '  %s\n' "$line"
    done < <(cut -f1-3 <<<"$pods")
    cut -f1-3 <<<"$pods" >$work/shown
}

# wait_for WHAT COMMAND…: shows the pods until the command holds.
wait_for() {
    local what=$1 end=$((SECONDS + patience))
    shift
    lines_drawn=0
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "$what: not within $patience s"
        still_running
        show "$("${cluster}_pods")"
        sleep 0.2
    done
    show "$("${cluster}_pods")"
}

is_ready() {
    [ "$("${cluster}_state" || true)" = ready ]
}

is_empty() {
    [ -z "$("${cluster}_pods")" ]
}

for_ever() {
    lines_drawn=0
    while still_running; do
        show "$("${cluster}_pods")"
        sleep 0.5
    done
}

# ---- the play ----

main() {
    rm -rf $work
    mkdir -p $work
    : >$work/shown
    trap stop_all EXIT
    trap 'printf "\n"; exit 0' HUP INT TERM
    if [ -n "${KUBECONFIG:-}" ]; then
        cluster=real
        config=$KUBECONFIG
        command -v kubectl >/dev/null || fail "KUBECONFIG is set: kubectl is needed to apply the example there"
    else
        start_model
    fi
    "${cluster}_crds" || fail "the CRDs were not taken: $(cat $work/answer)"
    start_operator
    "${cluster}_apply" || fail "$example was not taken: $(cat $work/answer)"
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
