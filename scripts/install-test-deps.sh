#!/usr/bin/env bash
# Sees to it that the programs which the tests run beside Go and Node are
# there: a C compiler (race detector), Chromium (browser test), the PostgreSQL
# server (store), the Redis server (bus between nodes), Pebble (certificates),
# aiosmtpd (mail), Python and Rust with what their SDKs stand on. As root on Debian or Ubuntu it installs what is
# missing; elsewhere it lists it and ends with 1.
set -euo pipefail

has() {
  local name
  for name in "$@"; do
    if command -v "$name" >/dev/null; then return 0; fi
  done
  return 1
}

# Debian has the headless shell alone, which needs a third less time than Chromium.
has_chromium() {
  [ -x "${CHROMIUM:-}" ] || has chromium-headless-shell ||
    ! apt-cache show chromium-headless-shell >/dev/null 2>&1 && has chromium chromium-browser google-chrome google-chrome-stable ||
    [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ]
}

# Debian keeps the server's programs out of PATH.
has_postgres() {
  has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

packages=()
names=()
need() {
  read -ra words <<<"$1"
  packages+=("${words[@]}")
  names+=("$2")
}
has gcc clang cc || need gcc "a C compiler (gcc or clang), for the race detector"
has_chromium || need chromium-headless-shell "Chromium or Chrome, for the browser test (or set CHROMIUM to its path)"
has_postgres || need postgresql "the PostgreSQL server, 14 or newer, for the tests of the store"
has pebble || need pebble "Pebble, an ACME server, for the tests of TLS"
has redis-server || need redis-server "the Redis server, 7 or newer, for the tests of the bus between nodes"
python="$(dirname "$0")/python.sh"
"$python" -c 'import jwt, cryptography' 2>/dev/null || need "python3-jwt python3-cryptography" "Python 3.9 or newer with PyJWT and cryptography, for the Python SDK"
"$python" -c 'import websockets' 2>/dev/null || need python3-websockets "websockets for Python"
has_smtp() {
  python3 -c 'import aiosmtpd' 2>/dev/null || /usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null
}
has_smtp || need python3-aiosmtpd "aiosmtpd for Python, an SMTP server, for the tests of mail"
"$python" -c 'import ensurepip, setuptools, wheel' 2>/dev/null || need "python3-setuptools python3-venv python3-wheel" "ensurepip, setuptools and wheel for Python, to install the packages of the SDK"
"$python" -c 'import mypy' 2>/dev/null || need mypy "mypy"
has cargo || need cargo "Rust 1.63 or newer, for the Rust SDK"
# Elsewhere cargo brings the crates itself.
if has apt-get; then
  for crate in httparse ring serde-json ureq; do
    compgen -G "/usr/share/cargo/registry/${crate//-/[-_]}-[0-9]*" >/dev/null || need "librust-$crate-dev" "the crate $crate"
  done
fi
if [ ${#packages[@]} -eq 0 ]; then exit 0; fi
if [[ " ${packages[*]} " == *" gcc "* ]]; then packages+=(libc6-dev); fi

if [ "$(id -u)" -ne 0 ] || ! has apt-get; then
  {
    echo "The tests need what is missing here:"
    printf '  - %s\n' "${names[@]}"
    if has apt-get; then
      echo "Install it with: sudo apt-get install ${packages[*]}"
    fi
  } >&2
  exit 1
fi

# The tests make their own clusters in their own directories: the package
# shall not set one up and start it.
if [[ " ${packages[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
  mkdir -p /etc/postgresql-common
  echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
fi

# Redis has no such switch. Debian asks this program before it starts a
# service; 101 says no. It goes away again, and the service stays off.
policy=/usr/sbin/policy-rc.d
if [[ " ${packages[*]} " == *" redis-server "* ]] && [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
install_packages() {
  apt-get install --yes --no-install-recommends -o Dpkg::Options::=--force-confold "${packages[@]}"
}
echo "installing for the tests: ${packages[*]}"
if ! install_packages; then
  apt-get update
  install_packages
fi
if [[ " ${packages[*]} " == *" redis-server "* ]] && has update-rc.d; then
  update-rc.d redis-server disable
fi
