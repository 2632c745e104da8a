"""A browser opens a log of the bucket by its signed URL, and nothing else: it has no credentials."""

from browser import shown
from cluster import eventually
from stores import KEYS, run_versitygw
from test_shipped_logs import NAME, Agent, names, ray_folder
from test_storage import storage


def test_a_log_by_its_signed_url(tmp_path):
    gate = run_versitygw(tmp_path)
    gate.bucket("bucket")
    try:
        root, logs = ray_folder(tmp_path)
        (logs / "job-driver-j.log").write_text("the loss is 0.25 <b>&amp; falls</b>, ü ✓\n" * 2000)
        agent = Agent(gate, root)
        (one,) = eventually(lambda: names(gate, f"team/logs/{NAME}/"), 60)
        agent.end()
        url = storage(gate, "sign", f"s3://bucket/{one}").decode().strip()
        page = shown(url, tmp_path / "profile")
        assert page.count("the loss is 0.25 &lt;b&gt;&amp;amp; falls&lt;/b&gt;, ü ✓") == 2000, page[:500]  # decompressed, and as text
        page = shown(url.replace("X-Amz-Signature=", "X-Amz-Signature=0"), tmp_path / "profile")
        assert "SignatureDoesNotMatch" in page and "the loss" not in page and KEYS["AWS_SECRET_ACCESS_KEY"] not in page, page[:500]
    finally:
        gate.stop()


def test_pages_of_an_origin(tmp_path):
    """CORS, as a browser asks for it: without a rule, and with one."""
    gate = run_versitygw(tmp_path)
    gate.bucket("bucket")
    try:
        said = storage(gate, "check", "s3://bucket/x", "--origin", "https://console.example", code=3).decode()
        assert "fail  cors" in said and "pages of https://console.example may not read" in said and "CORS rule" in said, said
    finally:
        gate.stop()
    open_to = tmp_path / "open"
    open_to.mkdir()
    gate = run_versitygw(open_to, "--cors-allow-origin", "https://console.example")
    gate.bucket("bucket")
    try:
        said = storage(gate, "check", "s3://bucket/x", "--origin", "https://console.example").decode()
        assert "pass  cors" in said and "failed: 0" in said, said
        said = storage(gate, "check", "s3://bucket/x", "--origin", "https://other.example", code=3).decode()
        assert "fail  cors" in said, said
    finally:
        gate.stop()
