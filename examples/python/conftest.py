"""One hermesfake server for the session, one namespace for each test."""
import json
import os
import re
import subprocess
import urllib.error
import urllib.request

import pytest


class Hermes:
    """The fake as one test sees it: provider routes and controls of its namespace."""

    def __init__(self, origin, namespace):
        self.base = f"{origin}/ns/{namespace}"
        self.admin = f"{origin}/__admin/ns/{namespace}"

    def request(self, method, url, body=None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, dict(reply.headers), reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read().decode()

    def submit(self, body, key=None):
        headers = {"Idempotency-Key": key} if key else {}
        status, headers, text = self.request("POST", self.base + "/v1/runs", body, headers)
        assert status == 202, text
        return json.loads(text)["run_id"], headers

    def poll(self, run_id):
        status, _, text = self.request("GET", f"{self.base}/v1/runs/{run_id}")
        return status, json.loads(text)

    def observe(self, run_id, **observation):
        status, _, text = self.request("POST", f"{self.admin}/hermes/runs/{run_id}/observe", observation)
        assert status == 200, text

    def advance(self, duration):
        self.request("POST", self.admin + "/clock", {"advance": duration})


@pytest.fixture(scope="session")
def hermes_origin():
    command = [os.environ.get("HERMESFAKE", "hermesfake"), "serve", "--port", "0", "--log-format", "off"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    origin = server.stdout.readline().split("listening on ")[1].strip()
    with urllib.request.urlopen(origin + "/health") as reply:
        assert reply.status == 200
    yield origin
    server.terminate()
    server.wait()


@pytest.fixture
def hermes(hermes_origin, request):
    namespace = re.sub(r"[^A-Za-z0-9_.-]", "-", request.node.name)[:64]
    return Hermes(hermes_origin, namespace)
