#!/usr/bin/env bash
# make run-fleet: a control plane at work. Two model API servers stand for two clusters: the hub's, where people store their work, and the
# edge's, whose operator calls the hub and runs it. A cloud is registered, a job is submitted, and a table shows what becomes of it in both
# until Ctrl-C. With ONCE=1 it ends with 0 when the job has succeeded and its pods are gone.
set -euo pipefail
cd "$(dirname "$0")/../.."

title='make run-fleet'
work=build/run-fleet
# shellcheck source=tests/run/lib.sh
. tests/run/lib.sh

once=${ONCE:-}
project=team-a
space=$project # the operator runs a project's work in the namespace of its name
job=hello
rayjobs=/apis/ray.io/v1/namespaces/$space/rayjobs

# Somebody who is logged in there. The model API server takes a token for the name of its user, who may do everything.
export XDG_CONFIG_HOME=$PWD/$work/config

hub() {
    build/mobula "$@" 2>>$work/commands.log
}

start_hub_cluster() {
    local kind
    start_model hub-cluster $project
    for kind in clouds computeconfigs workloads; do
        printf -- '---\n' && cat airgap/crds/$kind.mobula.dev.yaml
    done | model_definitions
    start hub build/mobula control-plane --kubeconfig "$config" --namespace $project --http-addr 127.0.0.1:0 --metrics-addr=
    for ((i = 0; i < 10 * patience; i++)); do
        hub_port=$(sed -n 's/.*for=http-addr .*port=\([0-9]*\).*/\1/p' $work/hub.log)
        [ -z "$hub_port" ] || break
        still_running
        sleep 0.1
    done
    [ -n "$hub_port" ] || fail "the control plane did not start"
    printf 'ann' | hub login --server "http://127.0.0.1:$hub_port" -n $project || fail "the control plane lets nobody in"
}

# The operator there asks the heads of its clusters through the API server, behind which a model of Ray answers.
start_edge_cluster() {
    start_model edge-cluster $space --jobs-take "${JOBS_TAKE_MS:-3000}"
    build/mobula install --print --crds-only --no-admission-policy | model_definitions
    printf 'edge-operator' >$work/edge.token
    start operator build/mobula operator --kubeconfig "$config" --namespace $space --health-addr= --metrics-addr= --ray-access=proxy \
        --control-plane-url "http://127.0.0.1:$hub_port" --cloud-deployment-id "$cloud_id" --control-plane-token-file $work/edge.token
}

# ---- what is shown ----

# The columns of one object of a list, from its JSON: what grep finds of each word.
jobs_there() {
    local phase
    phase=$(http GET $rayjobs/$job 2>/dev/null | grep -o '"jobDeploymentStatus":"[^"]*"' | cut -d'"' -f4) || return 0
    printf 'edge\tRayJob %s\t%s\n' $job "${phase:-new}"
}

rows() {
    hub job list | awk 'NR > 1 { printf "hub\tWorkload %s\t%s\n", $1, $3 }'
    jobs_there
    model_pods $space ray.io/is-ray-node=yes | awk -F'\t' '{ printf "edge\tPod %s\t%s\n", $1, $3 }'
}

table() {
    { printf 'WHERE\tWHAT\tSTATE\n' && cat; } | awk -F'\t' '{ printf "  %-6s %-44s %s\n", $1, $2, $3 }'
}

has_succeeded() {
    case $(hub job status --name $job | awk 'NR > 1 { print $3 }') in
    SUCCEEDED) ;;
    FAILED | REFUSED | TERMINATED) fail "job $job has ended otherwise: $(hub job status --name $job -o yaml | grep '^  message')" ;;
    *) return 1 ;;
    esac
}

# The pods are gone, and so is the RayJob when its workload is.
is_cleared() {
    ! rows | grep -q .
}

# ---- the play ----

main() {
    begin
    start_hub_cluster
    hub cloud register --name edge --provider generic --compute-stack k8s --region hall-2 >>$work/commands.log ||
        fail "the cloud was not registered"
    cloud_id=$(grep -o 'cldrsrc_[a-z0-9]*' $work/commands.log | head -n 1)
    printf 'The control plane listens on http://127.0.0.1:%s; cloud edge is registered there as %s.\n' "$hub_port" "$cloud_id"
    start_edge_cluster
    cat >$work/small.yaml <<END
head_node: {required_resources: {CPU: 1, memory: 2Gi}}
worker_nodes: [{name: w, required_resources: {CPU: 1, memory: 2Gi}, min_nodes: 2, max_nodes: 2}]
END
    hub compute-config create --name small -f $work/small.yaml >>$work/commands.log || fail "the compute config was refused"
    hub job submit --name $job --cloud edge --compute-config small:1 --image-uri rayproject/ray:2.52.0 -- python main.py \
        >>$work/commands.log || fail "the job was refused"
    printf 'Job %s is submitted. To join in:\n\n    XDG_CONFIG_HOME=%s build/mobula job list\n\n' $job "$XDG_CONFIG_HOME"
    follow job build/mobula job logs --name $job -f
    wait_for "job $job has succeeded" has_succeeded
    wait_for "the job's log has come to its end" all_told
    grep -q 'python main.py' $work/job.log || fail "the job's log did not come back"
    printf 'Job %s has succeeded after %d s.\n' $job $SECONDS
    if [ -z "$once" ]; then
        printf 'Ctrl-C ends it.\n\n'
        for_ever
    fi
    hub job delete --name $job >>$work/commands.log
    printf 'It is deleted again.\n'
    wait_for "nothing is left of job $job" is_cleared
    printf 'Nothing is left of it.\n'
}

main
