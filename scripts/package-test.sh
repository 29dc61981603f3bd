#!/usr/bin/env bash
# Installs the Debian package of a release into a new system in a folder (mmdebstrap),
# upgrades it, goes back to the version before, and purges it, with a server that
# plays on in between. Needs root on Debian or Ubuntu.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "package-test: needs root on Debian or Ubuntu" >&2
  exit 1
fi
command -v mmdebstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends mmdebstrap
work=$(mktemp -d)
root=$work/root server=
cleanup() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server" || true; fi
  if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
  rm -rf "$work"
}
trap cleanup EXIT
fail() { echo "package-test: $*" >&2; exit 1; }
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

mkfifo "$work/stdout"
arch=$(dpkg --print-architecture)
for version in 9.0.0 9.0.1; do
  platforms=linux/$arch
  [ $version = 9.0.0 ] || platforms= # one release is built whole
  PLATFORMS=$platforms VERSION=v$version scripts/release.sh "$work/$version"
  (cd "$work/$version" && sha256sum --check --quiet checksums.txt)
done

# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mmdebstrap --quiet --variant=essential --include=passwd,systemd,ca-certificates "$codename" "$root"
mkdir -p "$root/proc" && mount -t proc proc "$root/proc"

install() { # VERSION
  cp "$work/$1/arena_$1_$arch.deb" "$root/tmp/"
  in_root dpkg --install "/tmp/arena_$1_$arch.deb"
  case "$(in_root arena version)" in
  "arena v$1,"*) ;;
  *) fail "arena version is not $1" ;;
  esac
}

# Runs the command of the unit as its user, until it has printed its address.
start() {
  chroot --userspec=arena:arena "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/var/lib/arena sh -c \
    "cd /var/lib/arena && exec arena serve --config /etc/arena/arena.env --addr 127.0.0.1:0 --metrics-addr ''" \
    >"$work/stdout" 2>>"$work/serve.log" &
  server=$!
  url=
  while [ -z "$url" ] && read -r line; do
    case "$line" in
    "admin token (shown only now): "*) token=${line##* } ;;
    "arena is at "*) url=${line##* } ;;
    esac
  done <"$work/stdout"
  [ -n "$url" ] || { cat "$work/serve.log" >&2; fail "the server did not start"; }
}

stop() {
  kill -TERM "$server"
  wait "$server" || { cat "$work/serve.log" >&2; fail "the server did not end well"; }
  server=
}

owners() { in_root arena admin owner list --url "$url" --token "$token" | grep -c '"owner_id"' || true; }

echo "== install"
install 9.0.0
[ "$(in_root stat -c '%U:%G %a' /etc/arena/arena.env)" = "root:arena 640" ] || fail "mode of the settings file"
for folder in /var/lib/arena /var/backups/arena; do
  [ "$(in_root stat -c '%U:%G %a' $folder)" = "arena:arena 750" ] || fail "mode of the folder $folder"
done
in_root runuser -u arena -- arena config --config /etc/arena/arena.env --check
for path in usr/share/bash-completion/completions/arena usr/bin/arena-bench; do
  [ -s "$root/$path" ] || fail "$path is missing"
done
in_root systemd-analyze verify /usr/lib/systemd/system/arena.service
start
curl --fail --silent --show-error "$url/readyz" >/dev/null
curl --fail --silent --show-error "$url/v1/owners" --json '{"name":"Ada"}' >/dev/null
[ "$(owners)" = 1 ] || fail "the owner was not stored"
stop

echo "== upgrade"
echo "ARENA_SIGNUP=closed" >>"$root/etc/arena/arena.env"
install 9.0.1
grep -q '^ARENA_SIGNUP=closed$' "$root/etc/arena/arena.env" || fail "the upgrade changed the settings"
start
[ "$(owners)" = 1 ] || fail "the upgrade lost the owner"
[ "$(curl --silent --output /dev/null --write-out '%{http_code}' "$url/v1/owners" --json '{"name":"Bob"}')" = 403 ] || fail "the settings do not count"
stop

echo "== roll back"
install 9.0.0
start
[ "$(owners)" = 1 ] || fail "the roll-back lost the owner"
stop

echo "== remove and purge"
in_root dpkg --remove arena
[ ! -e "$root/usr/bin/arena" ] || fail "remove left the program"
[ -e "$root/etc/arena/arena.env" ] || fail "remove took the settings"
in_root dpkg --purge arena
[ ! -e "$root/etc/arena/arena.env" ] || fail "purge left the settings"
[ -e "$root/var/lib/arena/arena.db" ] || fail "purge took the data"
echo "package-test: passed"
