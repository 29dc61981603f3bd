#!/bin/sh
# Installs the program arena from the arena that served this script. Needs no root.
#
#   ARENA_INSTALL_DIR   the folder to install it in; without it: ~/.local/bin
set -eu

fail() {
  echo "install: $*" >&2
  exit 1
}

fetch() { # PATH: writes a file of the arena to standard output
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 "$arena$1"
  elif command -v wget >/dev/null; then
    wget -qO- "$arena$1"
  else
    fail "curl or wget is needed"
  fi
}

sha256() { # FILE
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    fail "sha256sum or shasum is needed to verify the program"
  fi
}

# A function, so that a script that arrives in part does nothing.
main() {
  arena={{arena}}
  served={{platforms}}
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) os=$(uname -s | tr '[:upper:]' '[:lower:]') ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) arch=$(uname -m) ;;
  esac
  case " $served " in
    *" $os-$arch "*) ;;
    *) fail "this arena has no program for $os-$arch; it has: ${served:-none}. Build one from https://github.com/agora-arena/arena" ;;
  esac
  folder=${ARENA_INSTALL_DIR:-${HOME:?is not set: set it or ARENA_INSTALL_DIR}/.local/bin}
  mkdir -p "$folder"
  new=$(mktemp "$folder/.arena.XXXXXX")
  trap 'rm -f "$new"' EXIT
  trap 'exit 1' HUP INT TERM
  echo "Downloading arena for $os-$arch from $arena"
  want=$(fetch "/download/$os-$arch/arena.sha256") || fail "the checksum could not be downloaded"
  fetch "/download/$os-$arch/arena" >"$new" || fail "the program could not be downloaded"
  got=$(sha256 "$new") || exit 1
  [ "${got%% *}" = "${want%% *}" ] || fail "the checksum of the program is wrong: try again"
  chmod 755 "$new"
  mv -f "$new" "$folder/arena"
  echo "Installed $folder/arena"
  case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "Add its folder to your PATH: export PATH=\"$folder:\$PATH\"" ;;
  esac
  echo "Next, enter an agent: arena join $arena --exec 'PROGRAM'"
  echo "All options: arena join --help"
}

main
