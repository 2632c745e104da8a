# shellcheck shell=bash
# What `make run` and `make run-fleet` share: processes on loopback, a model API server's HTTP, and tables that are drawn over themselves.
# Of the machine it wants only what every Debian has: HTTP goes through bash's /dev/tcp. Whoever includes it sets $work, a folder of its own
# under build/, and $title, how it was called.

: "${title:?}" "${work:?}"
patience=${PATIENCE:-60} # seconds for each thing that is waited for
pids=()                  # what has to run until the end
followers=()             # what may end before
lines_drawn=0
drawn=

fail() {
    local log
    printf '%s: %s\n' "$title" "$*" >&2
    for log in "$work"/*.log; do
        [ ! -s "$log" ] || { printf 'The last lines of %s:\n' "$log" && tail -n 5 "$log"; } >&2
    done
    exit 1
}

# http METHOD PATH [TYPE FILE]: asks the server on $port and prints the body; fails when the status is not 2xx.
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

# The definitions of a stream of YAML, one POST each.
model_definitions() {
    local file path=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
    rm -f "$work"/crd-*.yaml
    awk -v dir="$work" '/^---/ { n++; next } { print > (dir "/crd-" n + 0 ".yaml") }'
    for file in "$work"/crd-*.yaml; do
        http POST $path application/yaml "$file" >"$work/answer" || fail "the server refused $file: $(cat "$work/answer")"
    done
}

# model_pods NS SELECTOR: a line for each pod: name, ready, status, restarts, age.
model_pods() {
    local query="includeObject=None&labelSelector=${2/=/%3D}"
    accept='application/json;as=Table;v=v1;g=meta.k8s.io' http GET "/api/v1/namespaces/$1/pods?$query" |
        { grep -o '"cells":\[[^]]*\]' || true; } | sed 's/^"cells":\[//; s/\]$//; s/"//g' | cut -d, -f1-5 | tr , '\t'
}

# start_model NAME NS [OPTION…]: sets $port and $config, a kubeconfig whose context is about NS.
start_model() {
    local name=$1 namespace=$2 url='' i
    shift 2
    : >"$work/$name.url"
    build/apiserver --pod-events --ready-after "${READY_AFTER_MS:-1500}" "$@" >"$work/$name.url" 2>"$work/$name.log" &
    pids+=($!)
    for ((i = 0; i < 10 * patience; i++)); do
        ! read -r url <"$work/$name.url" || break
        kill -0 "${pids[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$url" ] || fail "the model API server did not start: $(cat "$work/$name.log")"
    port=${url##*:}
    config=$PWD/$work/$name.kubeconfig
    cat >"$config" <<END
apiVersion: v1
kind: Config
current-context: model
clusters: [{name: model, cluster: {server: "$url"}}]
users: [{name: model, user: {}}]
contexts: [{name: model, context: {cluster: model, user: model, namespace: $namespace}}]
END
    printf '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"}}' "$namespace" >"$work/namespace.json"
    [ "$namespace" = default ] || http POST /api/v1/namespaces application/json "$work/namespace.json" >"$work/answer" ||
        fail "namespace $namespace was not made: $(cat "$work/answer")"
    printf 'A model API server listens on %s.\n' "$url"
}

# start NAME COMMAND…: its output goes to a log.
start() {
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    pids+=($!)
}

# follow NAME COMMAND…: the same of what ends by itself.
follow() {
    start "$@"
    followers+=("${pids[-1]}")
    unset 'pids[-1]'
}

all_told() {
    local pid
    for pid in "${followers[@]}"; do
        ! kill -0 "$pid" 2>/dev/null || return 1
    done
}

stop_all() {
    local pid
    trap - EXIT HUP INT TERM
    for pid in "${pids[@]}" "${followers[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    wait "${pids[@]}" "${followers[@]}" 2>/dev/null || true
}

still_running() {
    local pid
    for pid in "${pids[@]}"; do
        kill -0 "$pid" 2>/dev/null || fail "a process that was started has ended"
    done
}

# show ROWS: lines of columns with tabs between. On a terminal the caller's table is drawn over itself when it has changed, each line cut
# where the terminal ends; elsewhere only lines whose first three columns have changed are printed.
show() {
    local rows=$1 line text size
    if [ -t 1 ]; then
        size=$(stty size 2>/dev/null </dev/tty) || size=
        text=$(grep . <<<"$rows" | table | cut -c "1-${size##* }")
        [ "$lines_drawn" -eq 0 ] || [ "$text" != "$drawn" ] || return 0
        [ "$lines_drawn" -eq 0 ] || printf '\033[%dA\033[J' "$lines_drawn"
        printf '%s\n' "$text"
        lines_drawn=$(wc -l <<<"$text")
        drawn=$text
        return
    fi
    while IFS=$'\t' read -r line; do
        [ -z "$line" ] || grep -qxF "$line" "$work/shown" || printf '  %s\n' "$line"
    done < <(cut -f1-3 <<<"$rows")
    cut -f1-3 <<<"$rows" >"$work/shown"
}

# wait_for WHAT COMMAND…: shows what there is until the command holds.
wait_for() {
    local what=$1 end=$((SECONDS + patience))
    shift
    lines_drawn=0
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "$what: not within $patience s"
        still_running
        show "$(rows)"
        sleep 0.2
    done
    show "$(rows)"
}

for_ever() {
    lines_drawn=0
    while still_running; do
        show "$(rows)"
        sleep 0.5
    done
}

begin() {
    rm -rf "$work"
    mkdir -p "$work"
    : >"$work/shown"
    trap stop_all EXIT
    trap 'printf "\n"; exit 0' HUP INT TERM
}
