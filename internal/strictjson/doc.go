// Package strictjson is the one place where JSON from outside is decoded:
// request bodies, agents' replies and events, lines of packs.
//
// Strict means: valid UTF-8 without lone surrogates, no duplicate member, no
// text after the value, at most MaxDepth levels, numbers that fit their type.
// Names match case by case. It also writes the canonical form of RFC 8785.
//
// It wraps go-json-experiment/json, the module behind encoding/json/v2, which
// needs an experiment flag in Go 1.26; when it needs none any more, only this
// package changes.
package strictjson
