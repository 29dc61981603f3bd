#!/usr/bin/env bash
# Builds the files of a release into the folder OUT: programs for every platform
# with completions, packages for Debian and Red Hat, the SDKs, a list of all
# components (SBOM), what the container image consists of, and checksums.
# From the same commit and tools come the same bytes.
#
#   VERSION=v1.2.3 scripts/release.sh OUT
#
# PLATFORMS limits the platforms: PLATFORMS="linux/amd64 linux/arm64". The pages and
# the SDKs must have been built (make ui sdks).
set -euo pipefail
cd "$(dirname "$0")/.."

tag=${VERSION:-}
if [ $# -ne 1 ] || ! [[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
  echo "usage: VERSION=v1.2.3 scripts/release.sh OUT" >&2
  exit 2
fi
for built in web/dist/index.html sdk/dist/.built; do
  [ -e "$built" ] || { echo "release: $built is missing: run make ui sdks" >&2; exit 1; }
done
version=${tag#v}
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C CGO_ENABLED=0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
SBOM=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

build() { # FOLDER: the programs for GOOS and GOARCH; benchmarks need a Unix system
  local programs=(./cmd/arena)
  [ "${GOOS:-}" = windows ] || programs+=(./cmd/arena-bench)
  go build -tags nomsgpack -trimpath -ldflags "-s -w -X main.version=$tag" -o "$1/" "${programs[@]}"
}

# The program of this machine writes its own completions.
build "$work/native"
shared=$work/shared
mkdir -p "$shared/completions"
cp LICENSE CHANGELOG.md "$shared/"
"$work/native/arena" completion bash >"$shared/completions/arena.bash"
"$work/native/arena" completion zsh >"$shared/completions/_arena"
"$work/native/arena" completion fish >"$shared/completions/arena.fish"

archive() { # FOLDER, whose name is that of the archive
  find "$work/$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  if [[ $1 == *_windows_* ]]; then
    (cd "$work" && "$OLDPWD/scripts/python.sh" -m zipfile -c "$out/$1.zip" "$1")
  else
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$1" | gzip -9n >"$out/$1.tar.gz"
  fi
}

for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}; do
  os=${platform%/*} arch=${platform#*/}
  tree=arena_${version}_${os}_${arch}
  echo "release: $tree"
  mkdir "$work/$tree"
  cp -R "$shared/." "$work/$tree/"
  GOOS=$os GOARCH=$arch build "$work/$tree"
  archive "$tree"
  if [ "$os" = linux ]; then
    for format in deb rpm; do
      ARCH=$arch VERSION=$version TREE=$work/$tree \
        go run "$NFPM" package --config deploy/nfpm.yaml --packager "$format" --target "$out/arena_${version}_$arch.$format"
    done
    image=$out/image/$arch
    mkdir -p "$image/data" "$image/tmp" "$image/etc/ssl/certs"
    chmod 1777 "$image/tmp"
    cp "$work/$tree/arena" "$work/$tree/arena-bench" "$image/"
    cp /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/"
  fi
done

go run "$SBOM" bin -json -noserial -notimestamp -version "$tag" -output "$out/arena_${version}_sbom.cdx.json" "$work/native/arena"
npm --prefix web sbom --sbom-format cyclonedx --package-lock-only >"$out/arena_${version}_pages_sbom.cdx.json"
cp deploy/image/Dockerfile "$out/Dockerfile"
tar -C sdk/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --exclude=.gitkeep --exclude=.built -cf - . |
  gzip -9n >"$out/arena_${version}_sdks.tar.gz"

cd "$out"
find . -maxdepth 1 -type f -name 'arena_*' -printf '%P\n' | sort | xargs sha256sum >checksums.txt
echo "release: $tag is in $out"
