// A client test in Node: one server for the file, one namespace for each test.
// Run it with: HERMESFAKE=/path/to/hermesfake node --test
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { after, before, beforeEach, test } from 'node:test'

let server, origin, base, admin

before(async () => {
  server = spawn(process.env.HERMESFAKE ?? 'hermesfake', ['serve', '--port', '0', '--log-format', 'off'],
    { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: server.stdout })) {
    origin = line.match(/listening on (\S+)/)[1]
    break
  }
  const health = await fetch(origin + '/health')
  assert.equal(health.status, 200)
})

after(() => server.kill('SIGTERM'))

beforeEach((t) => {
  const namespace = t.name.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 64)
  base = `${origin}/ns/${namespace}`
  admin = `${origin}/__admin/ns/${namespace}`
})

const post = (url, body, headers = {}) =>
  fetch(url, { method: 'POST', body: JSON.stringify(body), headers })

test('a completed run shows its output', async () => {
  const { run_id: id } = await (await post(`${base}/v1/runs`, { input: 'hello' })).json()
  await post(`${admin}/hermes/runs/${id}/observe`, { status: 'completed', output: 'Hello!' })
  const run = await (await fetch(`${base}/v1/runs/${id}`)).json()
  assert.equal(run.status, 'completed')
  assert.equal(run.output, 'Hello!')
})

test('a retry with the same key replays the run', async () => {
  const submit = () => post(`${base}/v1/runs`, { input: 'hello' }, { 'Idempotency-Key': 'order-7' })
  const first = await submit()
  const second = await submit()
  assert.equal(second.headers.get('Idempotency-Replayed'), 'true')
  assert.equal((await first.json()).run_id, (await second.json()).run_id)
})

test('an event stream ends with the run', async () => {
  const { run_id: id } = await (await post(`${base}/v1/runs`, { input: 'hello' })).json()
  const stream = await fetch(`${base}/v1/runs/${id}/events`)
  await post(`${admin}/hermes/runs/${id}/events`, { event: 'message.delta', delta: 'Hel' })
  await post(`${admin}/hermes/runs/${id}/observe`, { status: 'completed', output: 'Hello!' })
  const text = await stream.text()
  assert.match(text, /"delta": "Hel"/)
  assert.match(text, /: stream closed\n\n$/)
})

test('a day passes at once', async () => {
  const { run_id: id } = await (await post(`${base}/v1/runs`, { input: 'hello' })).json()
  await post(`${admin}/hermes/runs/${id}/observe`, { status: 'completed' })
  await post(`${admin}/clock`, { advance: '1d' })
  assert.equal((await fetch(`${base}/v1/runs/${id}`)).status, 404)
})
