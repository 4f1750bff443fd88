import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { accessible, choose, desktop, launch, live, open, phone, shows, started, tab } from "./server.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const status = (server, id) => server.json("GET", `/v1/runs/${id}`).then((r) => r.body.status);

test("a run from submission to its end, with an approval", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await shows(page, "#welcome-first", "Waiting for the first run");
  await shows(page, "#snippet-text", `${server.url}/v1/runs`);
  await page.getByRole("button", { name: "New run", exact: true }).click();
  await page.getByLabel("Input", { exact: true }).fill("hello");
  await page.getByText("Model, session, keys").click();
  await page.getByLabel("Model", { exact: true }).fill("a-model");
  await page.getByLabel("Idempotency key").fill("key-1");
  await page.getByRole("button", { name: "Submit" }).click();
  await shows(page, "#submit-reply", "202 Accepted");
  await shows(page, "#run-status", "queued");
  const id = await page.locator("#run-id").innerText();
  assert.equal(await status(server, id), "queued");
  await shows(page, "#run-facts", "a-model");
  await page.getByRole("button", { name: "Submit" }).click();
  await shows(page, "#submit-reply", "202 Accepted, replayed");

  await page.getByRole("button", { name: "Start", exact: true }).click();
  await shows(page, "#run-status", "running");
  await page.getByLabel("Says").fill("Hel");
  await page.getByRole("button", { name: "Delta" }).click();
  await shows(page, "#events", "Hel");
  await page.getByLabel("Says").fill("lo");
  await page.getByLabel("Says").press("Enter");
  await page.getByLabel("Says").fill("thinking");
  await page.getByRole("button", { name: "Reasoning" }).click();
  await page.getByLabel("Preview of the tool's use").fill("go test ./...");
  await page.getByRole("button", { name: "Started" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await shows(page, "#events", "tool.completed");
  await page.getByRole("button", { name: "As JSON" }).click();
  await shows(page, "#events", '"delta": "lo"');
  await page.getByRole("button", { name: "As JSON" }).click();

  await page.getByLabel("Asks for").fill("rm -rf build");
  await page.getByLabel("Request id").fill("r1");
  await page.getByRole("button", { name: "Ask approval" }).click();
  await shows(page, "#approvals", "rm -rf build");
  assert.equal(await status(server, id), "waiting_for_approval");
  await page.getByRole("button", { name: "This session" }).click();
  await shows(page, "#run-status", "running");
  await page.locator("#approvals").waitFor({ state: "hidden" });
  assert.deepEqual((await server.look(`/hermes/runs/${id}`)).decisions.map((d) => [d.choice, d.request_id]), [["session", "r1"]]);

  await page.getByLabel("Steers").fill("left");
  await page.getByRole("button", { name: "Steer", exact: true }).click();
  await shows(page, "#run-facts", "1 time");
  await page.getByLabel("Finishes").fill("Hello");
  await page.getByRole("button", { name: "Complete" }).click();
  await shows(page, "#run-status", "completed");
  await shows(page, "#desk-settled", "settled");
  const run = (await server.json("GET", `/v1/runs/${id}`)).body;
  assert.deepEqual([run.status, run.output], ["completed", "Hello"]);
  await shows(page, "#requests", "RunSteer");

  for (const [press, end] of [["Fail", "failed"], ["Cancel", "cancelled"], ["Interrupt", "interrupted"]]) {
    const other = await server.submit();
    await choose(page, other);
    await shows(page, "#run-status", "queued");
    await page.getByRole("button", { name: press, exact: true }).click();
    await shows(page, "#run-status", end);
    assert.equal(await status(server, other), end);
  }
});

test("what clients do is shown at once, and nothing is taken from them", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await live(page);
  const id = await server.submit();
  await choose(page, id);
  const stream = await fetch(`${server.url}/v1/runs/${id}/events`);
  await shows(page, "#events-queue", "1 client listens");
  await server.observe(id, { status: "running" });
  await shows(page, "#run-status", "running");
  for (const delta of ["a", "b", "c"]) await server.emit(id, { event: "message.delta", delta });
  await page.waitForFunction(() => document.querySelectorAll("#events > li").length === 3);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await shows(page, "#run-status", "stopping");
  await page.getByRole("button", { name: "Complete" }).click();
  await shows(page, "#run-status", "completed");
  const events = await stream.text();
  assert.deepEqual([...events.matchAll(/"event": "([^"]+)"/g)].map((m) => m[1]), ["message.delta", "message.delta", "message.delta", "run.completed"]);
});

test("faults", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await tab(page, "faults");
  await shows(page, "#faults-empty", "No faults");
  await page.getByRole("button", { name: /^Throttled/ }).click();
  await shows(page, "#faults", "1 to go");
  await shows(page, "#faults-badge", "1");
  assert.equal((await server.json("POST", "/v1/runs", { input: "x" })).status, 429);
  await shows(page, "#faults", "used up · 1 hit");
  await page.locator("#faults-badge").waitFor({ state: "hidden" });
  await page.getByText("A rule of your own").click();
  await page.getByLabel("Rule, as JSON").fill('{"operationId": "RunGet", "status": 418, "id": "mine"}');
  await page.getByRole("button", { name: "Add rule" }).click();
  await shows(page, "#faults", "RunGet: answers 418");
  await page.getByLabel("Remove fault mine").click();
  await page.waitForFunction(() => document.querySelectorAll("#faults > li").length === 1);
  await page.getByRole("button", { name: "Clear all" }).click();
  await shows(page, "#faults-empty", "No faults");
  assert.deepEqual((await server.look("/faults")).faults, []);

  await page.getByRole("button", { name: /^Submit drop/ }).click();
  await page.getByRole("button", { name: "New run", exact: true }).click();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await shows(page, "#submit-reply", "The connection was reset");
});

test("a rule that makes no sense is refused in words", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url, { allowed: /status of 400/ });
  await tab(page, "faults");
  await page.getByText("A rule of your own").click();
  await page.getByLabel("Rule, as JSON").fill("{}");
  await page.getByRole("button", { name: "Add rule" }).click();
  await shows(page, "#problem", /rule/);
  await accessible(page, "with a problem shown");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.locator("#problem").waitFor({ state: "hidden" });
});

test("the clock", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await tab(page, "clock");
  await shows(page, "#now-state", "live");
  await page.getByRole("button", { name: "Freeze" }).click();
  await shows(page, "#now-state", "frozen");
  const at = (await server.look("/ns/default/clock")).now;
  for (const [press, ms] of [["1 s", 1000], ["1 h", 3_600_000], ["24 h", 86_400_000]]) {
    await page.getByRole("button", { name: press, exact: true }).click();
    await shows(page, "#notice", `${press} later`);
    assert.ok(ms > 0);
  }
  const moved = await server.look("/ns/default/clock");
  assert.equal(moved.now - at, 1000 + 3_600_000 + 86_400_000);
  assert.equal(moved.frozen, true);
  await page.getByLabel("Set, in UTC").fill("2030-01-02T03:04:05");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await shows(page, "#clock-time", "03:04:05.000");
  await shows(page, "#clock-date", "2030-01-02 UTC");
  await page.getByRole("button", { name: "Let it run" }).click();
  await shows(page, "#clock-offset", "ahead of");
  await page.getByRole("button", { name: "Back to the system's time" }).click();
  await shows(page, "#now-state", "live");
});

test("back to a checkpoint, forks and branches", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await tab(page, "timeline");
  await shows(page, "#timeline-empty", "No checkpoints yet");
  const first = await server.submit();
  await page.getByRole("button", { name: "Checkpoint now" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#timeline > li").length === 2);
  const second = await server.submit();
  await server.observe(first, { status: "completed" });
  await page.waitForFunction(() => document.querySelectorAll("#timeline > li").length === 4);
  await choose(page, first);
  await shows(page, "#run-status", "completed");
  await page.getByRole("button", { name: /^Go back to Checkpoint/ }).click();
  await shows(page, "#run-status", "queued");
  await page.locator(`#line-${second}`).waitFor({ state: "detached" });
  assert.equal(await status(server, first), "queued");

  await page.getByRole("button", { name: /^Fork at Checkpoint/ }).click();
  await page.locator("#ask-value").fill("other way");
  await page.locator("#ask-yes").click();
  await shows(page, "#problem", "A name has 1 to 64 letters");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.getByRole("button", { name: /^Fork at Checkpoint/ }).click();
  await page.locator("#ask-value").fill("other-way");
  await page.locator("#ask-yes").click();
  await shows(page, ".branch.current", "other-way");
  await server.submit();
  await page.waitForFunction(() => document.querySelectorAll("#timeline > li").length === 5);
  await page.getByRole("button", { name: "Switch to branch main" }).click();
  await shows(page, ".branch.current", "main");
  await page.getByRole("button", { name: "Delete branch other-way" }).click();
  await page.locator("#ask-yes").click();
  await page.locator("#branches").waitFor({ state: "hidden" });
  assert.deepEqual((await server.look("/branches")).branches.map((b) => b.name), ["main"]);

  // From the journal, too.
  await tab(page, "requests");
  await page.getByRole("button", { name: /^Go back to after RunCreate/ }).last().click();
  await shows(page, "#notice", "Back at no. 1");
});

test("namespaces", async (t) => {
  const server = await started(t);
  const here = await server.submit();
  const page = await open(t, browser, server.url);
  await page.locator(`#line-${here}`).waitFor();
  await page.getByRole("button", { name: "Use another namespace" }).click();
  await page.locator("#ask-value").fill("not a name");
  await page.locator("#ask-yes").click();
  await shows(page, "#problem", "A name has 1 to 64 letters");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.getByRole("button", { name: "Use another namespace" }).click();
  await page.locator("#ask-value").fill("team.one");
  await page.locator("#ask-yes").click();
  await shows(page, "#runs-empty", "No runs yet");
  await shows(page, "#base-url", "/ns/team.one");
  const there = await server.submit({ input: "x" }, {}, "/ns/team.one");
  await page.locator(`#line-${there}`).waitFor();
  assert.equal(await page.locator(`#line-${here}`).count(), 0);
  await page.getByLabel("Namespace", { exact: true }).selectOption("default");
  await page.locator(`#line-${here}`).waitFor();
  await server.submit({ input: "x" }, { "x-mockingbird-namespace": "made-by-a-client" });
  await page.locator('#namespace option[value="made-by-a-client"]').waitFor({ state: "attached" });
  await page.getByLabel("Namespace", { exact: true }).selectOption("team.one");
  await choose(page, there);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await shows(page, "#run-status", "running");
  await page.reload();
  await shows(page, "#run-id", there);
  await page.goto(`${server.url}/__admin/ns/team.one/ui`);
  await page.locator(`#line-${there}`).waitFor();
});

test("the gateway", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await tab(page, "gateway");
  await page.getByRole("button", { name: "Drain" }).click();
  await shows(page, "#gateway-facts", "draining");
  await page.getByRole("button", { name: "New run", exact: true }).click();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await shows(page, "#submit-reply", "503: Gateway is draining");
  await page.getByRole("button", { name: "Draining" }).click();
  await shows(page, "#gateway-facts", "takes submissions");
  await page.getByLabel("Runs at once").fill("1");
  await page.locator("#capacity").getByRole("button", { name: "Set" }).click();
  await shows(page, "#gateway-facts", "0 of 1");
  const id = await server.submit({ input: "x" }, { "idempotency-key": "k" });
  assert.equal((await server.json("POST", "/v1/runs", { input: "x" })).status, 429);
  await choose(page, id);
  await page.getByRole("button", { name: "Restart, owner gone" }).click();
  await shows(page, "#notice", "1 run kept a row");
  await shows(page, "#run-facts", "only the row is left");
  await page.getByRole("button", { name: "Sweep now" }).click();
  await shows(page, "#notice", "Swept");
  await page.getByLabel("Profile").fill("other");
  await page.getByRole("button", { name: "Select" }).click();
  await shows(page, "#gateway-facts", "profile other");
  await shows(page, "#run-missing", "not known any more");
  await page.getByRole("button", { name: /Reset the namespace/ }).click();
  await page.locator("#ask-no").click();
  await page.getByRole("button", { name: /Reset the namespace/ }).click();
  await page.locator("#ask-yes").click();
  await shows(page, "#runs-empty", "No runs yet");
});

test("many runs: the latest are shown, older ones on demand", async (t) => {
  const server = await started(t, "--max-concurrent-runs", "0");
  for (let i = 0; i < 450; i += 50) await Promise.all(Array.from({ length: 50 }, () => server.submit()));
  const page = await open(t, browser, server.url);
  await shows(page, "#runs-count", /200 of 450/);
  for (const [shown, rest] of [[400, true], [450, false]]) {
    await page.getByRole("button", { name: "Show older" }).click();
    await page.waitForFunction((n) => document.querySelectorAll("#runs > li").length === n, shown);
    assert.equal(await page.getByRole("button", { name: "Show older" }).isVisible(), rest);
  }
  await server.submit();
  await shows(page, "#runs-count", /^451$/);
  await page.locator("#runs").focus();
  await page.keyboard.press("End");
  await shows(page, "#run-status", "queued");
  await page.keyboard.press("Home");
  await page.waitForFunction(() => document.querySelector("#runs > li").getAttribute("aria-selected") === "true");
});

const markup = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'&lt;</textarea></li>`;
const turning = "\u202eevil\u2066\u0000\u0007\u200b";

test("hostile texts do no harm", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url, { permissions: ["clipboard-read", "clipboard-write"] });
  const evil = markup + turning;
  const megabyte = evil.repeat(Math.ceil((1 << 20) / evil.length));
  const id = await server.submit({ input: evil, model: megabyte, session_id: { [evil]: [evil, 1e400, megabyte] } });
  await choose(page, id);
  await shows(page, "#run-facts", "<img src=x");
  await shows(page, "#run-facts", "\\u202eevil");
  await server.observe(id, { status: "running", last_event: evil });
  for (const event of [{ event: "message.delta", delta: megabyte }, { event: "tool.started", tool: evil, preview: megabyte },
    { event: "reasoning.available", text: evil }, { event: "subagent.start", goal: megabyte, [evil]: evil },
    { event: "tool.completed", tool: evil, duration: 1 }]) await server.emit(id, event);
  await server.json("POST", `/__admin/hermes/runs/${id}/events`, `{"event": "subagent.complete", "cost_usd": NaN, "summary": "\\ud800"}`);
  await page.waitForFunction(() => document.querySelectorAll("#events > li").length === 6);
  await server.observe(id, { status: "waiting_for_approval", approval: { command: megabyte, description: evil, request_id: evil, [evil]: evil } });
  await shows(page, "#approvals", "<script>alert(2)</script>");
  for (const rule of [{ id: "hostile", pathPrefix: `/v2/${markup}`, status: 200, body: megabyte, headers: { "x-evil": "<b>" } }, { pathPrefix: `/${evil}`, drop: true, namespace: "*" }]) {
    await server.admin("/faults", rule);
  }
  await tab(page, "faults");
  await shows(page, "#faults", "<script>alert(2)</script>");
  await page.getByRole("button", { name: "Remove fault" }).last().click();
  await page.waitForFunction(() => document.querySelectorAll("#faults > li").length === 1);
  await server.json("GET", `/v1/${encodeURIComponent(evil)}?q=${encodeURIComponent(evil)}`);
  await server.json("GET", "/v1/%3Cscript%3E" + "x".repeat(3000));
  await tab(page, "requests");
  await shows(page, "#requests", "No such route");
  await server.json("POST", `/v1/runs/${id}/approval`, { choice: "once", request_id: evil });
  await page.locator("#approvals").waitFor({ state: "hidden" });
  await server.observe(id, { status: "completed", output: megabyte, pending_steer: evil });
  await shows(page, "#run-status", "completed");

  // All of it was cut.
  const size = await page.evaluate(() => document.body.innerText.length + document.body.innerHTML.length);
  assert.ok(size < 500_000, `the page holds ${size} characters`);
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, main script, iframe, b[onclick]").length), 0);

  // And can be had whole.
  await page.locator("#run-facts dd").filter({ hasText: "Show all" }).nth(2).getByRole("button").click();
  await shows(page, "#text-title", "Output");
  await shows(page, "#text-size", /1\.\d MB/);
  await page.getByRole("button", { name: "Show the next part" }).click();
  await page.getByRole("button", { name: "Copy all" }).click();
  await shows(page, "#notice", "Copied");
  assert.equal((await page.evaluate(() => navigator.clipboard.readText())).replaceAll("\0", "").length, megabyte.replaceAll("\0", "").length);
  await page.getByRole("button", { name: "Close", exact: true }).click();

  // By its address, and through the page's own fields.
  for (const query of [`run=${encodeURIComponent(evil)}`, `run=${"x".repeat(5000)}`]) {
    await page.goto(`${server.url}/__admin/ui?${query}`);
    await shows(page, "#run-missing", "not known any more");
  }
  await page.goto(`${server.url}/__admin/ui`);
  await page.getByRole("button", { name: "New run", exact: true }).click();
  await page.getByLabel("Input", { exact: true }).fill(evil.repeat(100));
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await shows(page, "#submit-reply", "202");
  await page.getByLabel("Says").fill(evil);
  await page.getByRole("button", { name: "Delta" }).click();
  await shows(page, "#events", "<script>alert(2)</script>");
  await accessible(page, "with hostile texts");
});

test("a namespace that is none is told in words", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, `${server.url}/__admin/ui?namespace=${encodeURIComponent(markup)}`, { allowed: /status of 400/ });
  await page.locator('#link[data-state="lost"]').waitFor();
  await shows(page, "#problem", "must match");
});

test("the admin key is asked for, and kept for the tab", async (t) => {
  const server = await started(t, "--admin-key", "sesame");
  const page = await open(t, browser, server.url, { allowed: /status of 401/ });
  await shows(page, "#key-dialog", "needs its admin key");
  await accessible(page, "the key's dialog");
  await page.getByLabel("Key", { exact: true }).fill("wrong");
  await page.keyboard.press("Enter");
  await shows(page, "#key-dialog", "That is not the key");
  await page.getByLabel("Key", { exact: true }).fill("sesame");
  await page.getByRole("button", { name: "Use it" }).click();
  await live(page);
  await page.reload();
  await live(page);
  await tab(page, "clock");
  await page.getByRole("button", { name: "Freeze" }).click();
  await shows(page, "#now-state", "frozen");
  assert.ok(!page.url().includes("sesame"));
  await page.evaluate(() => sessionStorage.clear());
  await page.reload();
  await page.getByLabel("Key", { exact: true }).fill("half of a k");
  await page.keyboard.press("Escape");
  await shows(page, "#problem", "Without the admin key");
});

test("a server that comes back is followed again", async (t) => {
  const server = await started(t);
  const id = await server.submit();
  const page = await open(t, browser, server.url, { allowed: /^Failed to load resource: net::ERR_/ });
  await page.locator(`#line-${id}`).waitFor();
  await server.stop();
  await shows(page, "#link", "Reconnecting");
  await tab(page, "clock");
  await page.getByRole("button", { name: "Freeze" }).click();
  await shows(page, "#problem", "The server does not answer");
  const again = await started(t, "--port", server.port);
  await live(page);
  await shows(page, "#runs-empty", "No runs yet");
  const other = await again.submit();
  await page.locator(`#line-${other}`).waitFor();
});

test("the main flow by keyboard alone", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await live(page);
  const press = async (...keys) => {
    for (const k of keys) await page.keyboard.press(k);
  };
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  await press("Tab");
  assert.equal(await focused(), "Skip to the run");
  await press("n");
  assert.equal(await focused(), "submit-input");
  await page.keyboard.type("hello");
  await press("Control+Enter");
  await shows(page, "#run-status", "queued");
  await press("Escape");
  assert.equal(await focused(), "new-run");
  await press("s");
  await shows(page, "#run-status", "running");
  await press("d");
  assert.equal(await focused(), "say-text");
  await page.keyboard.type("a ? 1 n");
  await press("Enter");
  await shows(page, "#events", "a ? 1 n");
  // From field to field in the order that is seen.
  const order = [];
  for (let i = 0; i < 16; i++) {
    order.push(await focused());
    await press("Tab");
  }
  assert.deepEqual(order, ["say-text", "Delta", "Reasoning", "tool-name", "tool-preview", "Started", "Done", "Failed", "ask-command", "ask-id",
    "Ask approval", "finish-text", "Complete", "Fail", "steer-text", "Steer"]);
  for (let i = 0; i < 8; i++) await press("Shift+Tab");
  assert.equal(await focused(), "ask-command");
  await page.keyboard.type("rm -rf build");
  await press("Enter");
  await shows(page, "#approvals", "rm -rf build");
  await page.locator("#new-run").focus();
  await press("a");
  assert.equal(await focused(), "Once");
  await press("Tab", "Tab", "Tab");
  assert.equal(await focused(), "Deny");
  await press("Enter");
  await page.locator("#approvals").waitFor({ state: "hidden" });
  await page.waitForFunction(() => document.activeElement.id === "run");
  await press("2");
  assert.equal(await focused(), "tab-faults");
  await page.locator("#presets button").first().waitFor();
  await press("ArrowRight");
  assert.equal(await focused(), "tab-clock");
  await press("f");
  await shows(page, "#now-state", "frozen");
  await press("4", "c");
  await shows(page, "#notice", "Checkpoint");
  await press("e");
  assert.equal(await focused(), "finish-text");
  await page.keyboard.type("done");
  await press("Enter");
  await shows(page, "#run-status", "completed");
  await page.locator("#new-run").focus();
  const second = await server.submit();
  await page.locator(`#line-${second}`).waitFor();
  await press("k");
  await shows(page, "#run-id", second);
  await press("j");
  await shows(page, "#run-status", "completed");
  await press("?");
  await shows(page, "#help-dialog", "Shortcuts");
  await page.getByLabel("Shortcuts are on").focus();
  await press("Space", "Escape", "2");
  assert.equal(await page.locator("#tab-faults").getAttribute("aria-selected"), "false");
  // What has the focus is seen to have it.
  await page.locator("#new-run").focus();
  await press("Tab");
  for (let i = 0; i < 40; i++) {
    const seen = await page.evaluate(() => {
      const e = document.activeElement;
      const at = document.getElementById(e.getAttribute("aria-activedescendant")) ?? e;
      return e === document.body ? null : [e.id || e.textContent, getComputedStyle(at).outlineStyle];
    });
    if (seen === null) break;
    assert.notEqual(seen[1], "none", `the focus on ${seen[0]} is not seen`);
    await press("Tab");
  }
});

// busy has something of everything.
async function busy(server) {
  await server.admin("/ns/default/clock", { set: "2026-09-01T10:24:00Z", freeze: true });
  const later = (ms) => server.admin("/ns/default/clock", { advance: ms });
  const ids = [];
  for (let i = 0; i < 7; i++) {
    ids.push(await server.submit({ input: "x", model: "hermes-agent" }, i % 2 ? { "idempotency-key": `k${i}` } : {}));
    await later(i < 6 ? 21_300 : 410);
  }
  await server.observe(ids[0], { status: "completed", output: "Both packages build, and 214 tests pass." });
  await server.observe(ids[1], { status: "failed", error: "the model did not answer" });
  await server.observe(ids[2], { status: "running" });
  await server.observe(ids[3], { status: "cancelled" });
  await server.json("GET", `/v1/runs/${ids[2]}`);
  await server.json("GET", "/v1/runs/run_unknown");
  const main = ids[6];
  await server.observe(main, { status: "running" });
  for (const [ms, event] of [[180, { event: "reasoning.available", text: "The build directory is stale; it must go before the tests run." }],
    [640, { event: "tool.started", tool: "terminal", preview: "go test ./..." }], [1250, { event: "tool.completed", tool: "terminal", duration: 1.25, error: true }],
    [300, { event: "message.delta", delta: "The tests fail on a stale build. " }], [60, { event: "message.delta", delta: "I will clear it and run them again." }]]) {
    await later(ms);
    await server.emit(main, event);
  }
  await later(210);
  await server.observe(main, { status: "waiting_for_approval", approval: { command: "rm -rf build && go test ./...", description: "Deletes a directory", request_id: "req-7" } });
  await server.admin("/faults", { preset: "hermes_poll_timeout" });
  await later(4200);
  return main;
}

for (const viewport of [desktop, phone]) {
  for (const colorScheme of ["light", "dark"]) {
    const what = `${viewport === phone ? "phone" : "desktop"}, ${colorScheme}`;
    test(`axe finds nothing: ${what}`, async (t) => {
      const server = await started(t);
      const page = await open(t, browser, server.url, { viewport, colorScheme });
      await shows(page, viewport === phone ? "#runs-empty" : "#welcome-first", /run/i);
      await accessible(page, `${what}, empty`);
      const id = await busy(server);
      await server.admin("/branches", { name: "other" });
      await server.submit();
      await page.goto(`${server.url}/__admin/ui?run=${id}`);
      await shows(page, "#approvals", "rm -rf build");
      await accessible(page, `${what}, a run`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, "the page is wider than the window");
      if (viewport === phone) {
        await page.getByRole("button", { name: "Runs", exact: true }).click();
        await accessible(page, `${what}, runs`);
        await page.getByRole("button", { name: "World", exact: true }).click();
      }
      for (const name of ["requests", "faults", "clock", "timeline", "gateway", "input"]) {
        await tab(page, name);
        if (name === "faults") await page.locator("#presets button").first().waitFor();
        await accessible(page, `${what}, ${name}`);
      }
      await page.getByRole("button", { name: "Help and shortcuts" }).click();
      await accessible(page, `${what}, help`);
    });
  }
}

test("the colours can be chosen, and stay", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url, { colorScheme: "dark" });
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await paper();
  await page.getByRole("button", { name: /^Colours/ }).click();
  const light = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  assert.equal(await paper(), light);
});

test("the picture for the docs", async (t) => {
  const server = await started(t);
  const id = await busy(server);
  const page = await open(t, browser, `${server.url}/__admin/ui?run=${id}`);
  await shows(page, "#approvals", "rm -rf build");
  await page.waitForFunction(() => document.querySelectorAll("#events > li").length === 6);
  const path = process.env.PICTURE || join(tmpdir(), `hermesfake-page-${process.pid}.png`);
  await page.screenshot({ path });
  const { size } = statSync(path);
  assert.ok(size > 20_000 && size < 300_000, `the picture has ${size} bytes`);
});
