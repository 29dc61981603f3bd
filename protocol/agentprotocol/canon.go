package agentprotocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/agora-arena/arena/internal/strictjson"
)

// member is one member of an object in canonical form.
type member struct {
	name  string
	value []byte
}

// members returns the members of an object in canonical form, in order.
func members(canonical []byte) ([]member, error) {
	var r strictjson.Reader
	var all []member
	err := r.Members(canonical, func(name string, value []byte) error {
		all = append(all, member{name, value})
		return nil
	})
	return all, err
}

// object writes members as one compact object.
func object(all []member) ([]byte, error) {
	b := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := strictjson.CanonicalOf(m.name)
		if err != nil {
			return nil, fmt.Errorf("member name: %w", err)
		}
		b = append(append(append(b, name...), ':'), m.value...)
	}
	return append(b, '}'), nil
}

// split returns the canonical form of a message (RFC 8785: "JSON.stringify with
// sorted keys"), the text that its signature covers, and the value of the
// member signature; nil when there is none.
func split(data []byte) (canonical, covered, signature []byte, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, nil, errors.New("there is no message")
	}
	var shape map[string]json.RawMessage
	if err := strictjson.UnmarshalOpen(data, &shape); err != nil {
		return nil, nil, nil, err
	}
	if canonical, err = strictjson.Canonical(data); err != nil {
		return nil, nil, nil, err
	}
	all, err := members(canonical)
	if err != nil {
		return nil, nil, nil, err
	}
	if i := slices.IndexFunc(all, func(m member) bool { return m.name == "signature" }); i >= 0 {
		signature = all[i].value
		all = slices.Delete(all, i, i+1)
	}
	covered, err = object(all)
	return canonical, covered, signature, err
}

// javascriptOrder returns the canonical text with the members of each object in
// the order of a JavaScript engine, which puts array indices ("9", "10") first
// and by their number. It is another text only when there are such members.
func javascriptOrder(canonical []byte) ([]byte, error) {
	switch canonical[0] {
	case '{':
		all, err := members(canonical)
		if err != nil {
			return nil, err
		}
		for i, m := range all {
			if all[i].value, err = javascriptOrder(m.value); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(all, func(a, b member) int {
			m, isIndex := arrayIndex(a.name)
			n, isToo := arrayIndex(b.name)
			switch {
			case isIndex && isToo:
				return int(m - n)
			case isIndex:
				return -1
			case isToo:
				return 1
			}
			return 0
		})
		return object(all)
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(canonical, &items); err != nil {
			return nil, fmt.Errorf("array: %w", err)
		}
		for i, item := range items {
			ordered, err := javascriptOrder(item)
			if err != nil {
				return nil, err
			}
			items[i] = ordered
		}
		return append(append([]byte{'['}, joined(items)...), ']'), nil
	}
	return canonical, nil
}

func joined(items []json.RawMessage) []byte {
	var b []byte
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return b
}

// arrayIndex reads a name that JavaScript takes for an index of an array: the
// decimal text of a number below 2^32-1.
func arrayIndex(name string) (int64, bool) {
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil || n == 1<<32-1 || strconv.FormatUint(n, 10) != name {
		return 0, false
	}
	return int64(n), true
}
