"""A client's tests in Python. Run them with: HERMESFAKE=/path/to/hermesfake python3 -m pytest"""


def test_completed_run_shows_its_output(hermes):
    run_id, _ = hermes.submit({"input": "hello"})
    hermes.observe(run_id, status="completed", output="Hello!")
    status, run = hermes.poll(run_id)
    assert (status, run["status"], run["output"]) == (200, "completed", "Hello!")


def test_retry_with_the_same_key_replays(hermes):
    first, _ = hermes.submit({"input": "hello"}, key="order-7")
    second, headers = hermes.submit({"input": "hello"}, key="order-7")
    assert first == second
    assert headers["Idempotency-Replayed"] == "true"


def test_unfinished_run_is_interrupted_by_a_restart(hermes):
    run_id, _ = hermes.submit({"input": "hello"}, key="order-7")
    hermes.request("POST", hermes.admin + "/hermes/restart", {"owner": "stale"})
    status, run = hermes.poll(run_id)
    assert (status, run["status"]) == (200, "interrupted")


def test_a_day_passes_at_once(hermes):
    run_id, _ = hermes.submit({"input": "hello"})
    hermes.observe(run_id, status="completed")
    hermes.advance("1d")
    status, _ = hermes.poll(run_id)
    assert status == 404
