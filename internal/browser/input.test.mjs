// The part of the page that is about supplied input.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, choose, desktop, launch, live, open, phone, shows, started, tab } from "./server.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const base = "/hermes/supplied-input";
const put = (server, id, text = "a text that stays off the page") => server.admin(`${base}/sources`, { source_id: id, text });

// openScope opens one over HTTP, from the input m and with the source s inherited.
async function openScope(server, session) {
  const m = await server.look(`${base}/sources/m`);
  const s = await server.look(`${base}/sources/s`);
  return server.admin(base, { contact_id: "anna", session_id: session, inputs: [{ source_id: "m", input_message_hash: m.input_message_hash }],
    sources: [{ source_id: "s", source_version: s.source_version }] });
}

const inScope = (server, scope) => server.submit({ input: "x", session_id: scope.session_id }, { "x-mockingbird-supplied-input": scope.id });

test("a handoff from its source to its end", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await live(page);
  await tab(page, "input");
  await shows(page, "#scopes-empty", "No scopes");
  for (const [id, text] of [["message-1", "I am late, sorry!"], ["note-1", "Anna takes the train."]]) {
    await page.getByLabel("Source id").fill(id);
    await page.getByLabel("Text", { exact: true }).fill(text);
    await page.getByRole("button", { name: "Record" }).click();
    await shows(page, "#sources", id);
  }
  const panel = page.locator("#panel-input");
  await page.getByText("Open a scope").click();
  const form = page.locator("#scope-open");
  await form.getByLabel("Contact").fill("anna");
  await form.getByLabel("Session").fill("task-1");
  await form.getByLabel("Inputs").selectOption("message-1");
  await form.getByLabel("Inherits").selectOption("note-1");
  await form.getByRole("button", { name: "Open" }).click();
  await shows(page, "#scopes", "anna, session task-1");
  await shows(page, "#scopes", "not checked yet");
  const [scope] = (await server.look(base)).scopes;
  assert.deepEqual([scope.inputs[0].source_id, scope.sources[0].source_version], ["message-1", 1]);

  // The host appends what it inherited to the task, and submits that inside.
  await panel.getByRole("button", { name: /^Append a source/ }).click();
  await shows(page, "#ask-title", "Append note-1");
  await page.locator("#ask-value").fill("Anna takes the train.");
  await page.locator("#ask-yes").click();
  await shows(page, "#text", "[/source");
  const block = await page.locator("#text").innerText();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await panel.getByRole("button", { name: /^Submit inside/ }).click();
  await page.getByLabel("Input", { exact: true }).fill(`summarize this\n${block}`);
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await shows(page, "#submit-reply", "202 Accepted");
  await shows(page, "#handoff-says", "not bound yet");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("button", { name: "Model request" }).click();
  await shows(page, "#handoff-state", "admitted");
  await shows(page, "#handoff-says", "is bound to it, with session task-1");
  await shows(page, "#scopes", "note-1 v1, opened");
  await page.getByLabel("Session", { exact: true }).first().fill("child-1");
  await page.getByRole("button", { name: "Child", exact: true }).click();
  await page.locator("#handoff-as option[value=child-1]").waitFor({ state: "attached" });
  await page.getByLabel("Checks").selectOption("child-1");
  await page.getByRole("button", { name: "Tool", exact: true }).click();
  await shows(page, "#notice", "The check succeeded");
  await page.getByLabel("Checks").selectOption("");
  await page.locator("#handoff-session-id").fill("task-1-b");
  await page.getByRole("button", { name: "Rotate" }).click();
  await shows(page, "#handoff-says", "session task-1-b");
  await page.getByLabel("Finishes").fill("She is late.");
  await page.getByRole("button", { name: "Complete" }).click();
  await shows(page, "#handoff-state", "result");
  await shows(page, "#turns", "session task-1-b · 2 parents");
  const { result } = await server.look(`${base}/scopes/${scope.id}/result`);
  assert.equal(result.session_id, "task-1-b");

  await page.locator("#work-contact").fill("anna");
  await page.getByRole("button", { name: "Look" }).click();
  await shows(page, "#work", "purpose input, an excerpt of 17 characters");
  await panel.getByRole("button", { name: /^Revalidate/ }).click();
  await shows(page, "#notice", "Its parents stand");
  await panel.getByRole("button", { name: "Deliver" }).click();
  await shows(page, "#sources", "the assistant's, from 2 parents");
  await page.getByRole("button", { name: "Annotate: message-1" }).click();
  await page.locator("#ask-yes").click();
  await shows(page, "#sources", "annotated");
  await page.getByRole("button", { name: "Take the mark away: message-1" }).click();
  await page.getByRole("button", { name: "Annotate: message-1" }).waitFor();
  await page.getByRole("button", { name: "Erase: message-1" }).click();
  await shows(page, "#notice", "1 record of the assistant with it");
  await panel.getByRole("button", { name: /^Revalidate/ }).click();
  await shows(page, "#notice", "source_input_erased");
  await panel.getByRole("button", { name: /^Close/ }).click();
  await shows(page, "#scopes-count", "0 open, 1 closed");
  for (const text of ["I am late", "takes the train"]) {
    assert.equal(await page.getByText(text).count(), 0, `${text} is on the page`);
  }
});

test("what blocks, and what hosts do wrong, is shown at once", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url);
  await live(page);
  await tab(page, "input");
  await put(server, "m");
  await put(server, "s");
  await page.locator("#verify-source option[value=m]").waitFor({ state: "attached" });
  await page.getByLabel("Of which source").selectOption("m");
  await page.getByLabel("How it fails").selectOption("http_503");
  await page.getByLabel("times").fill("2");
  await page.locator("#verify").getByRole("button", { name: "Fail" }).click();
  await shows(page, "#verifications", "m: fails, http 503");
  const scope = await openScope(server, "task");
  const run = await inScope(server, scope);
  await choose(page, run);
  await page.getByRole("button", { name: "Tool", exact: true }).click();
  await shows(page, "#notice", "Blocked: source_freshness_unavailable");
  await shows(page, "#handoff-state", "source_freshness_unavailable, retryable");
  await shows(page, "#verifications", "1 to go");
  await page.locator("#verify-clear").click();
  await page.waitForFunction(() => document.querySelectorAll("#verifications > li").length === 0);
  await inScope(server, scope);
  await shows(page, "#misuses", "second task in failed scope");
  await shows(page, "#input-badge", "1");
  await page.getByText("Whom it resolves").click();
  const who = page.locator("#participant");
  await who.getByLabel("Contact").fill("bert");
  await who.getByRole("button", { name: "Set" }).click();
  await shows(page, "#notice", "whom the run resolves");
  await page.getByRole("button", { name: "Model request" }).click();
  await shows(page, "#handoff-state", "source_input_scope_invalid");

  await page.getByRole("button", { name: "Use another namespace" }).click();
  await page.locator("#ask-value").fill("other");
  await page.locator("#ask-yes").click();
  await shows(page, "#scopes-empty", "No scopes");
  await page.locator("#misuse").waitFor({ state: "hidden" });
  await page.goto(`${server.url}/__admin/ui`);
  await tab(page, "input");
  await shows(page, "#misuses", "second task in failed scope");
  await server.admin("/reset", {});
  await shows(page, "#scopes-empty", "No scopes");
});

test("what makes no sense is refused in words", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url, { allowed: /status of (400|404|409)/ });
  await tab(page, "input");
  await page.getByText("Open a scope").click();
  await page.locator("#scope-open").getByRole("button", { name: "Open" }).click();
  await shows(page, "#problem", "contact_id");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.getByRole("button", { name: "New run", exact: true }).click();
  await page.getByLabel("Input", { exact: true }).fill("x");
  await page.getByText("Model, session, keys").click();
  await page.getByLabel("Handoff scope").fill("input_unknown");
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await shows(page, "#submit-reply", "400: Mockingbird");
});

const evil = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'&lt;/?#%2e\u202eevil\u0007`;

test("hostile ids do no harm, and many of everything are bounded", async (t) => {
  const server = await started(t);
  const page = await open(t, browser, server.url, { allowed: /status of 400/ });
  await live(page);
  await tab(page, "input");
  await put(server, evil);
  await shows(page, "#sources", "<img src=x");
  await page.getByRole("button", { name: /^Annotate/ }).click();
  await page.locator("#ask-yes").click();
  await shows(page, "#sources", "annotated");
  const { input_message_hash } = (await server.look(`${base}/sources`)).sources[0];
  const scope = await server.admin(base, { contact_id: evil, session_id: evil, inputs: [{ source_id: evil, input_message_hash }], sources: [{ source_id: evil, source_version: 1 }] });
  await shows(page, "#scopes", "<script>");
  const run = await inScope(server, scope);
  await choose(page, run);
  await page.getByRole("button", { name: "Model request" }).click();
  await shows(page, "#handoff-state", "admitted");
  await page.locator("#handoff-session-id").fill(evil);
  await page.getByRole("button", { name: "Rotate" }).click();
  await shows(page, "#problem", "session");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.locator("#handoff-session-id").fill(`${evil} again`);
  await page.getByRole("button", { name: "Child", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll("#handoff-as option").length === 2);
  await server.observe(run, { status: "completed", output: evil });
  await shows(page, "#turns", "<script>");
  for (let i = 0; i < 60; i++) await put(server, `source ${i}`);
  await shows(page, "#sources-count", "50 of 61");
  await shows(page, "#sources", "source 59");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, "the page is wider than the window");
});

for (const viewport of [desktop, phone]) {
  for (const colorScheme of ["light", "dark"]) {
    const what = `${viewport === phone ? "phone" : "desktop"}, ${colorScheme}`;
    test(`axe finds nothing in the part about supplied input: ${what}`, async (t) => {
      const server = await started(t);
      await put(server, "m");
      await put(server, "s");
      await server.admin(`${base}/sources/s/annotate`, { annotation: "x" });
      const scope = await openScope(server, "task");
      const run = await inScope(server, scope);
      await server.admin(`${base}/runs/${run}/model-request`, {});
      await server.observe(run, { status: "completed", output: "x" });
      await put(server, "gone");
      await server.admin(`${base}/sources/gone/erase`, {});
      await server.admin(`${base}/verifications`, { failure: "http_503" });
      const failed = await openScope(server, "task-2");
      const other = await inScope(server, failed);
      await server.admin(`${base}/runs/${other}/tool`, {});
      await inScope(server, failed);
      const page = await open(t, browser, `${server.url}/__admin/ui?run=${other}`, { viewport, colorScheme });
      await shows(page, "#handoff-state", "retryable");
      await page.getByText("Whom it resolves").click();
      await accessible(page, `${what}, the run`);
      if (viewport === phone) await page.getByRole("button", { name: "World", exact: true }).click();
      await tab(page, "input");
      await shows(page, "#misuses", "second task");
      await page.getByText("Open a scope").click();
      await page.locator("#work-contact").fill("anna");
      await page.getByRole("button", { name: "Look" }).click();
      await page.locator("#work > li").first().waitFor();
      await accessible(page, `${what}, the panel`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, "the page is wider than the window");
    });
  }
}
