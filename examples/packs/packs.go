// Package packs holds the task packs that come with the arena, in the jsonl
// form that POST /v1/packs reads. `arena demo` uploads them as any host would.
//
// It owns the questions, all written for this project. It imports nothing;
// cmd/arena and tests may import it.
package packs

import _ "embed"

// World is general knowledge in twelve topics, for the judge choice: one
// question a line, four options each, difficulty easy, medium or hard.
//
//go:embed world.jsonl
var World []byte

// Motions are motions for debates: open questions, for judges that are asked.
//
//go:embed motions.jsonl
var Motions []byte

// Code is small programming tasks for the judge code, with hidden cases. The
// answer is JavaScript that defines a function solve.
//
//go:embed code.jsonl
var Code []byte
