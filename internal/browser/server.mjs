// The real server, and a browser that fails the test on anything that should not be.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const executable = process.env.HERMESFAKE ?? assert.fail("HERMESFAKE must be the path of the server's binary");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// serve starts a server, and returns how to reach and end it.
async function serve(...flags) {
  const child = spawn(executable, ["serve", "--log-format", "off", "--seed", "7", ...(flags.includes("--port") ? [] : ["--port", "0"]), ...flags],
    { stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  for await (const piece of child.stdout) {
    told += piece;
    if (told.includes("\n")) break;
  }
  const url = told.match(/http:\S+/)[0];
  const json = async (method, path, body, headers) => {
    const reply = await fetch(url + path, { method, headers, body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body) });
    const text = await reply.text();
    return { status: reply.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  };
  const server = {
    url,
    port: new URL(url).port,
    json,
    // admin is a control that must be accepted.
    async admin(path, body, method = "POST") {
      const reply = await json(method, `/__admin${path}`, body);
      assert.equal(Math.floor(reply.status / 100), 2, `${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
      return reply.body;
    },
    look: (path) => server.admin(path, undefined, "GET"),
    observe: (id, body) => server.admin(`/hermes/runs/${id}/observe`, body),
    emit: (id, body) => server.admin(`/hermes/runs/${id}/events`, body),
    async submit(body = { input: "x" }, headers = {}, where = "") {
      const reply = await json("POST", `${where}/v1/runs`, body, headers);
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
      return reply.body.run_id;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
  return server;
}

const ends = new WeakMap();

// atEnd has a test clean up in the reverse order, so that the page goes before its server.
function atEnd(t, act) {
  if (!ends.has(t)) {
    ends.set(t, []);
    t.after(async () => {
      for (const end of ends.get(t).reverse()) await end();
    });
  }
  ends.get(t).push(act);
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
  });
}

export const desktop = { width: 1440, height: 900 };
export const phone = { width: 390, height: 844 };

// open opens the page, and fails the test for dialogs, errors, messages on the console and breaches of the policy that come
// until it is closed; allowed are texts of the console that a test brings about.
export async function open(t, browser, url, { viewport = desktop, colorScheme = "light", allowed = /^$/, permissions = [] } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, permissions, hasTouch: viewport === phone, reducedMotion: "reduce" });
  const wrong = [];
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  page.on("console", (m) => {
    if (!allowed.test(m.text())) wrong.push(`console ${m.type()}: ${m.text()}`);
  });
  page.on("pageerror", (e) => wrong.push(`error: ${e.stack}`));
  page.on("dialog", (d) => {
    wrong.push(`dialog: ${d.message()}`);
    d.dismiss();
  });
  page.on("request", (r) => {
    if (new URL(r.url()).origin !== new URL(url).origin) wrong.push(`request to ${r.url()}`);
  });
  await page.addInitScript(() => {
    window.breaches = [];
    document.addEventListener("securitypolicyviolation", (e) => window.breaches.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}`));
  });
  const check = async () => {
    if (!page.isClosed()) for (const b of await page.evaluate(() => window.breaches)) wrong.push(`policy: ${b}`);
    assert.deepEqual(wrong, []);
  };
  atEnd(t, async () => {
    try {
      await check();
    } finally {
      await context.close();
    }
  });
  await page.goto(url.includes("/__admin") ? url : `${url}/__admin/ui`);
  return page;
}

// shows waits until an element has a text.
export async function shows(page, selector, wanted) {
  const of = page.locator(selector).first();
  await of.waitFor();
  await page.waitForFunction(([s, w]) => {
    const e = document.querySelector(s);
    return e && new RegExp(w).test(e.innerText);
  }, [selector, wanted instanceof RegExp ? wanted.source : wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")]).catch(async () => {
    assert.fail(`${selector} shows ${JSON.stringify((await of.innerText()).slice(0, 300))}, want ${wanted}`);
  });
}

// live waits until the page follows the server.
export const live = (page) => page.locator('#link[data-state="live"]').waitFor();

// accessible has axe look at what the page shows.
export async function accessible(page, what) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const said = found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join(" | ").slice(0, 600)}`);
  assert.deepEqual(said, [], what);
}

// started serves one test.
export async function started(t, ...flags) {
  const server = await serve(...flags);
  atEnd(t, () => server.stop());
  return server;
}

export const choose = (page, id) => page.locator(`#line-${id}`).click();
export const tab = (page, name) => page.locator(`#tab-${name}`).click();
