#!/usr/bin/env bash
# Checks the prose of the Markdown files, both dictionaries, the API description
# and the help of the commands with Vale, and first that every rule still finds
# what it was written for. VALE is the command.
set -euo pipefail
cd "$(dirname "$0")/.."
read -ra vale <<< "${VALE:-vale}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

lint() { # lint FILE…: findings as file:line:column:rule:message
  "${vale[@]}" --config .vale.ini --no-global --output line "$@"
}

# Each line of a planted file breaks a rule, and each rule is broken somewhere.
lint .vale/planted/*.markdown > "$work/planted" 2> "$work/errors" || true
for file in .vale/planted/*.markdown; do
  number=0
  while IFS= read -r line; do
    number=$((number + 1))
    if [[ -n $line ]] && ! grep -q "^$file:$number:" "$work/planted"; then
      { echo "$file:$number: no rule refuses: $line"; cat "$work/errors"; } >&2
      exit 1
    fi
  done < "$file"
done
for rule in .vale/styles/*/*.yml; do
  name=$(basename "$(dirname "$rule")").$(basename "$rule" .yml)
  if ! grep -q ":$name:" "$work/planted"; then
    { echo "$name refuses nothing in .vale/planted"; cat "$work/errors"; } >&2
    exit 1
  fi
done

# The texts of a dictionary, with an empty line after each so that none runs into
# the next, and the unreleased part of the changelog.
for file in web/src/lib/i18n/*.ts; do
  case $file in
    *.test.ts) continue ;;
    *en.ts) language=en ;;
    *es.ts) language=es ;;
    *) continue ;;
  esac
  mkdir -p "$work/$(dirname "$file")"
  sed -E "s/^ *('[^']*': *)?['\`](.*)['\`],?\$/\2/; t said; s/^ *('[^']*': *)?\"(.*)\",?\$/\2/; t said; s/.*//; :said; s/\\\\(.)/\1/g" "$file" |
    sed 'G' > "$work/${file%.ts}.$language.markdown"
done
# The texts of the API description and the help of the commands, from their goldens.
mkdir -p "$work/api/testdata" "$work/cmd/arena/testdata"
sed -E 's/^ *"(description|summary)": "(.*)",?$/\2/; t said; s/.*//; :said; s/\\(.)/\1/g; G' api/testdata/openapi.json > "$work/api/testdata/openapi.json.markdown"
sed 's/^ *//' cmd/arena/testdata/help.txt > "$work/cmd/arena/testdata/help.txt"
awk '/^## / { released = !/Unreleased/ } { print released ? "" : $0 }' CHANGELOG.md > "$work/CHANGELOG.md"

mapfile -t pages < <(git ls-files --cached --others --exclude-standard '*.md' ':!CHANGELOG.md')
status=0
lint "${pages[@]}" || status=1
(cd "$work" && "${vale[@]}" --config "$OLDPWD/.vale.ini" --no-global --output line \
  CHANGELOG.md web/src/lib/i18n/*.markdown api/testdata/openapi.json.markdown cmd/arena/testdata/help.txt) |
  awk -F: -v OFS=: '$1 ~ /[.]markdown$/ { if (!sub(/[.]e[ns][.]markdown$/, ".ts", $1)) sub(/[.]markdown$/, "", $1); $2 = ($2 + 1) / 2 } { print }' || status=1
exit "$status"
