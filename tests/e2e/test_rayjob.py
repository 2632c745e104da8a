"""RayJobs against the real API server. There is no Ray: heads have the address of a dashboard in this process."""

import json
import signal

from cluster import condition, eventually, kubectl, rayjob
from dashboards import running, serve, start, stop_guest


def marked(job):
    """The job, once it carries the mark of its end, by which a restored job is not run again: the last that is written of it."""
    return job if "mobula.dev/ended" in job["metadata"].get("annotations", {}) else None


def test_a_job_runs_to_its_end(space, operator, board):
    start(space, board, shutdownAfterJobFinishes=True, metadata={"team": "a"}, entrypointNumCpus=1)
    status = running(space)
    assert [s["submission_id"] for s in board.submissions] == [status["jobId"]]
    assert board.submissions[0]["entrypoint"] == "python program.py" and board.submissions[0]["entrypoint_num_cpus"] == 1
    assert board.submissions[0]["metadata"] == {"team": "a"}
    board.end("SUCCEEDED")
    kubectl("-n", space.name, "wait", "--for=condition=Complete", "--timeout=120s", "rayjob/j")
    end = eventually(lambda: marked(space.job("j")))
    eventually(lambda: not space.pods())
    space.rest(operator)
    assert condition(end, "Valid")["status"] == "True"
    assert space.job("j")["metadata"]["resourceVersion"] == end["metadata"]["resourceVersion"], "written after its end"
    assert len(board.submissions) == 1


def test_it_is_submitted_once_though_the_operator_is_killed(space, operators, board):
    first = operators()
    start(space, board)
    running(space)
    first.stop(signal.SIGKILL)
    operators()
    board.end("SUCCEEDED")
    space.becomes("j", "Complete")
    assert len(board.submissions) == 1


def test_a_failed_job_is_tried_again_and_its_log_is_told(space, operator, board):
    start(space, board, backoffLimit=1)
    first = running(space)
    board.end("FAILED")
    serve(space, board, other_than=first["rayClusterName"])
    eventually(lambda: len(board.submissions) == 2)
    board.end("FAILED")
    end = space.becomes("j", "Failed")
    assert end["reason"] == "AppFailed" and end["failed"] == 2 and "last words" in end["message"], end
    assert len({s["submission_id"] for s in board.submissions}) == 2


def test_a_restarted_head_has_lost_its_job(space, operator, board):
    start(space, board)
    running(space)
    board.session = "session_2"
    board.jobs.clear()
    assert space.becomes("j", "Failed")["reason"] == "HeadLost"
    assert len(board.submissions) == 1


def test_a_job_on_a_selected_cluster_is_stopped_before_it_goes(space, operator, board):
    start(space, board, "holder")
    running(space, "holder")
    cluster, guest = stop_guest(space, board)
    assert guest["metadata"]["finalizers"] == ["ray.io/rayjob-finalizer"]
    assert space.cluster(cluster)


def test_what_the_definition_refuses(space, operator):
    """Mistakes between fields are seen by the API server, others by the operator."""
    out = kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps(rayjob("j", submissionMode="Nonsense")), check=False)
    assert out.returncode != 0 and "submissionMode" in out.stderr
    space.start(rayjob("k", runtimeEnvYAML="a: [1"))
    assert "spec.runtimeEnvYAML" in space.becomes("k", "ValidationFailed")["message"]
