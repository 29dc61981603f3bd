#!/usr/bin/env bash
# with-demo.sh COMMAND [ARGUMENT…] starts an arena with its demo agents, runs
# the command with ARENA_URL and ARENA_ADMIN_TOKEN set, and stops the arena.
# Its exit code is that of the command. ADDR is the address to listen on, a
# free port by default; KEEP_LOG=FILE keeps the arena's log.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
log=${KEEP_LOG:-$work/arena.log}
pid=

# Only the process started here is ended, and it is waited for.
stop() {
  local code=$?
  trap - EXIT INT TERM
  if [ -n "$pid" ]; then
    kill -TERM "$pid" 2>/dev/null || true
    for _ in $(seq 200); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    if kill -KILL "$pid" 2>/dev/null; then
      echo "with-demo: the arena did not stop within 20 s of SIGTERM and was killed" >&2
      code=1
    fi
    wait "$pid" 2>/dev/null || true
  fi
  if [ "$code" -ne 0 ] && [ -s "$log" ]; then
    echo "with-demo: the end of the arena's log:" >&2
    tail -n 40 "$log" >&2
  fi
  rm -rf "$work"
  exit "$code"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[ -x bin/arena ] || make build
# Settings of the person who runs this shall not reach the demo.
settings=$(compgen -e ARENA_ || true)
# shellcheck disable=SC2086 # names of variables have no spaces
unset -v $settings
ARENA_SHUTDOWN_GRACE=5s bin/arena demo --addr "${ADDR:-127.0.0.1:0}" --data "$work/data" \
  --ready-file "$work/ready.json" >"$log" 2>&1 &
pid=$!

for _ in $(seq 600); do
  if [ -s "$work/ready.json" ]; then break; fi
  if ! kill -0 "$pid" 2>/dev/null; then
    echo "with-demo: the arena ended before it was ready" >&2
    exit 1
  fi
  sleep 0.1
done
if [ ! -s "$work/ready.json" ]; then
  echo "with-demo: the arena was not ready within 60 s" >&2
  exit 1
fi

ready() {
  node -e 'process.stdout.write(JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))[process.argv[2]])' "$work/ready.json" "$1"
}
ARENA_URL=$(ready url)
ARENA_ADMIN_TOKEN=$(ready admin_token)
export ARENA_URL ARENA_ADMIN_TOKEN
"$@"
