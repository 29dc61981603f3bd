#!/usr/bin/env bash
# An arena of several nodes on this machine, without containers: PostgreSQL and
# Redis from the system's packages, each in a temporary folder with nothing of
# the system's own instances, and nginx in front when it is installed. Ctrl-C
# ends everything and removes the folder.
#
#   NODES=3 ADDR=127.0.0.1:8080 scripts/cluster.sh
set -euo pipefail
cd "$(dirname "$0")/.."

nodes=${NODES:-3}
addr=${ADDR:-127.0.0.1:8080}
arena=${ARENA:-bin/arena}
admin=${ARENA_ADMIN_TOKEN:-cluster-admin-token}

die() {
  echo "cluster: $*" >&2
  exit 1
}

program() { # from PATH, else where Debian puts the server's programs
  command -v "$1" || compgen -G "/usr/lib/postgresql/*/bin/$1" | sort -V | tail -n 1 || true
}
initdb=$(program initdb)
pg_ctl=$(program pg_ctl)
if [ -z "$initdb" ] || [ -z "$pg_ctl" ]; then die "no PostgreSQL server: apt-get install postgresql"; fi
command -v redis-server >/dev/null || die "no Redis server: apt-get install redis-server"
[ -x "$arena" ] || die "$arena is missing: make build"

dir=$(mktemp -d "${TMPDIR:-/tmp}/arena-cluster-XXXXXX")
chmod 711 "$dir"
pids=() # of what this script started, in order
as_postgres() { "$@"; }
mkdir "$dir/postgres"
if [ "$(id -u)" -eq 0 ]; then # the server refuses to run as root
  id postgres >/dev/null 2>&1 || die "no user postgres to run the server as"
  chown postgres "$dir/postgres"
  as_postgres() { (cd / && setpriv --reuid postgres --regid "$(id -g postgres)" --clear-groups "$@"); }
fi

# shellcheck disable=SC2317 # the traps call it
finish() {
  trap - EXIT
  echo "ending …"
  # Nodes first: they hand their matches over and settle what is over.
  local i
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill -TERM "${pids[i]}" 2>/dev/null || true
    wait "${pids[i]}" 2>/dev/null || true
  done
  if [ -e "$dir/postgres/data/postmaster.pid" ]; then
    as_postgres "$pg_ctl" stop -w -m fast -D "$dir/postgres/data" >/dev/null || true
  fi
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_port() {
  local port
  for _ in {1..100}; do
    port=$((20000 + RANDOM % 20000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
  die "no free port"
}

# In a session of its own, so that Ctrl-C reaches this script alone.
start() { # NAME COMMAND...
  local name=$1
  shift
  setsid "$@" >"$dir/$name.log" 2>&1 &
  pids+=($!)
}

wait_for() { # WHAT COMMAND...
  local what=$1
  shift
  for _ in {1..300}; do
    if "$@" >/dev/null 2>&1; then return; fi
    local pid
    for pid in "${pids[@]}"; do
      kill -0 "$pid" 2>/dev/null || { tail -n 5 "$dir"/*.log >&2; die "$what does not start"; }
    done
    sleep 0.1
  done
  tail -n 5 "$dir"/*.log >&2
  die "$what does not answer"
}

as_postgres "$initdb" -D "$dir/postgres/data" -U arena --auth=trust --encoding=UTF8 --locale=C.UTF-8 >/dev/null
as_postgres "$pg_ctl" start -w -D "$dir/postgres/data" -l "$dir/postgres/log" \
  -o "-c listen_addresses='' -c unix_socket_directories='$dir/postgres'" >/dev/null ||
  { cat "$dir/postgres/log" >&2; die "PostgreSQL does not start"; }
database="postgres:///postgres?host=$dir/postgres&user=arena&sslmode=disable"

redis_port=$(free_port)
start redis redis-server --bind 127.0.0.1 --port "$redis_port" --save '' --appendonly no --dir "$dir"
wait_for Redis redis-cli -p "$redis_port" ping

ports=()
for ((i = 1; i <= nodes; i++)); do ports+=("$(free_port)"); done
front=$(command -v nginx || true)
if [ -n "$front" ]; then url="http://$addr"; else url="http://127.0.0.1:${ports[0]}"; fi

for ((i = 1; i <= nodes; i++)); do
  start "node$i" env \
    ARENA_ADDR="127.0.0.1:${ports[i - 1]}" ARENA_METRICS_ADDR=127.0.0.1:0 ARENA_PUBLIC_URL="$url" \
    ARENA_DATABASE_URL="$database" ARENA_REDIS_URL="redis://127.0.0.1:$redis_port" ARENA_ADMIN_TOKEN="$admin" \
    ARENA_TRUSTED_PROXIES=127.0.0.1/32 ARENA_ALLOW_CIDRS=127.0.0.0/8 \
    "$arena" serve --ready-file "$dir/node$i.json"
  wait_for "node $i" test -s "$dir/node$i.json"
done

if [ -n "$front" ]; then
  {
    echo "daemon off; pid $dir/nginx.pid; error_log stderr warn; worker_processes 1;"
    echo "events { worker_connections 10000; }"
    echo "http {"
    echo "  access_log off; client_max_body_size 128m;"
    for path in client_body proxy fastcgi uwsgi scgi; do echo "  ${path}_temp_path $dir/$path;"; done
    # shellcheck disable=SC2016 # nginx's own variables
    echo '  map $http_upgrade $connection_upgrade { default upgrade; "" ""; }'
    echo "  upstream arena {"
    echo "    least_conn; keepalive 64;"
    for port in "${ports[@]}"; do echo "    server 127.0.0.1:$port max_fails=1 fail_timeout=1s;"; done
    echo "  }"
    echo "  server {"
    echo "    listen $addr;"
    echo "    location / {"
    echo "      proxy_pass http://arena; proxy_http_version 1.1; proxy_buffering off;"
    echo "      proxy_connect_timeout 1s; proxy_read_timeout 1h; proxy_send_timeout 1h;"
    # shellcheck disable=SC2016
    echo '      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;'
    # shellcheck disable=SC2016
    echo '      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;'
    echo "    }"
    echo "  }"
    echo "}"
  } >"$dir/nginx.conf"
  start nginx nginx -p "$dir" -c "$dir/nginx.conf"
  wait_for "nginx at $addr" curl -fsS "$url/healthz"
fi

echo "arena:       $url"
[ -n "$front" ] || echo "             (nginx is not installed: each node answers by itself)"
for ((i = 1; i <= nodes; i++)); do echo "node $i:      http://127.0.0.1:${ports[i - 1]}   pid ${pids[i]}   log $dir/node$i.log"; done
echo "admin token: $admin"
echo "PostgreSQL:  $database"
echo "Redis:       redis://127.0.0.1:$redis_port"
echo "Agents on 127.0.0.1 may register. Ctrl-C ends everything."
wait -n "${pids[@]}" || true
tail -n 5 "$dir"/*.log >&2
die "a process ended by itself"
