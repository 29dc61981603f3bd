// Package packs holds the task packs that come with the arena, in the jsonl
// form that POST /v1/packs reads. `arena demo` uploads them as any host would.
//
// It owns the questions, all written for this project. It imports nothing;
// cmd/arena and tests may import it.
package packs

import _ "embed"

// World is general knowledge in nine topics: one question a line, four
// options each.
//
//go:embed world.jsonl
var World []byte
