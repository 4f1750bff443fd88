#!/usr/bin/env bash
# A client's test with nothing but curl. Run it with: HERMESFAKE=/path/to/hermesfake bash test.sh
set -euo pipefail

exec 3< <(exec "${HERMESFAKE:-hermesfake}" serve --port 0 --log-format off)
server=$!
trap 'kill "$server"' EXIT
read -r line <&3
origin=${line##*listening on }
curl -fsS --retry 5 --retry-connrefused "$origin/health" >/dev/null

base=$origin/ns/curl admin=$origin/__admin/ns/curl
expect() { # expect TEXT IN
  case $2 in *"$1"*) ;; *) printf 'expected %s in %s\n' "$1" "$2" >&2; exit 1 ;; esac
}

reply=$(curl -fsS -H 'Idempotency-Key: order-7' -d '{"input": "hello"}' "$base/v1/runs")
expect '"replayed": false' "$reply"
id=$(printf %s "$reply" | sed 's/.*"run_id": "\([^"]*\)".*/\1/')

reply=$(curl -fsS -H 'Idempotency-Key: order-7' -d '{"input": "hello"}' "$base/v1/runs")
expect "$id" "$reply"
expect '"replayed": true' "$reply"

curl -fsS -d '{"event": "message.delta", "delta": "Hel"}' "$admin/hermes/runs/$id/events" >/dev/null
curl -fsS -d '{"status": "completed", "output": "Hello!"}' "$admin/hermes/runs/$id/observe" >/dev/null
expect '"output": "Hello!"' "$(curl -fsS "$base/v1/runs/$id")"
expect ': stream closed' "$(curl -fsS "$base/v1/runs/$id/events")"

echo "curl: all as expected"
