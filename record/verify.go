package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agora-arena/arena/internal/strictjson"
)

// FaultError is the first thing that is wrong with a record.
type FaultError struct {
	Pointer string // JSON pointer into the file (RFC 6901); "" is the whole file
	Reason  string
}

func (f *FaultError) Error() string {
	if f.Pointer == "" {
		return "the file: " + f.Reason
	}
	return f.Pointer + ": " + f.Reason
}

func fault(pointer, format string, args ...any) error {
	return &FaultError{Pointer: pointer, Reason: fmt.Sprintf(format, args...)}
}

// Verify checks a signed record: its form, the chain of its log, receipts,
// points and ratings against each other and against the log, then what replays
// look at, and at last the signature, with check. The error is a *FaultError that
// names the first place, unless a replay returns another one. What the parts cannot
// show, such as a changed name, the signature does. The points of a game need a
// replay: see package league/game.
func Verify(data []byte, check func(payload []byte, s Signature) error, replays ...func(Record) error) (Record, error) {
	data = bytes.TrimSuffix(data, []byte("\n"))
	if err := canonical(data); err != nil {
		return Record{}, err
	}
	var signed Signed
	if err := decode("", data, &signed); err != nil {
		return Record{}, err
	}
	// A record of another format may have other members: that is no fault of theirs.
	var named struct{ Format string }
	if err := json.Unmarshal(signed.Record, &named); err == nil && named.Format != Format {
		return Record{}, fault("/record/format", "is %q; this version reads %q", named.Format, Format)
	}
	var r Record
	if err := decode("/record", signed.Record, &r); err != nil {
		return Record{}, err
	}
	// The decoder takes a name in any case, and no signature covers those around
	// the record.
	if again, err := strictjson.CanonicalOf(signed); err != nil || !bytes.Equal(again, data) {
		return r, fault("", "the members are not spelled as in a signed record")
	}
	payload, erased, err := openTexts(signed.Record)
	if err != nil {
		return r, err
	}
	r.Erased = erased
	c := &checker{r: &r}
	for _, step := range []func() error{c.chain, c.readLog, c.seed, c.reveals, c.rounds, c.seats, c.ratings} {
		if err := step(); err != nil {
			return r, err
		}
	}
	for _, replay := range replays {
		if err := replay(r); err != nil {
			return r, err
		}
	}
	if err := check(payload, signed.Signature); err != nil {
		return r, fault("/signature", "%v", err)
	}
	return r, nil
}

// openTexts checks every text of a record against its commitment. It returns the record without texts and salts, and how many texts were erased, by
// agent.
func openTexts(document json.RawMessage) (payload json.RawMessage, erased map[string]int, err error) {
	erased = map[string]int{}
	payload, err = mapped(document, func(pointer, owner string, t map[string]any) (any, error) {
		value, ok := t["text"]
		if !ok {
			erased[owner]++
			return t, nil
		}
		text, _ := t["salt"].(string)
		salt, err := decodeSalt(text)
		if err != nil {
			return nil, fault("/record"+pointer+"/salt", "%v", err)
		}
		raw, err := strictjson.CanonicalOf(value)
		if err != nil {
			return nil, fault("/record"+pointer+"/text", "%v", err)
		}
		if commitment := commitmentOf(salt, raw); t["commitment"] != commitment {
			return nil, fault("/record"+pointer+"/commitment", "does not match the salt and the text, which give %s", commitment)
		}
		return committed(t), nil
	})
	if err != nil {
		if _, ok := errors.AsType[*FaultError](err); !ok {
			err = fault("/record", "%v", err)
		}
		return nil, nil, err
	}
	return payload, erased, nil
}

// canonical refuses every spelling of a document but one, so that no byte of
// the file is without meaning.
func canonical(data []byte) error {
	want, err := strictjson.Canonical(data)
	if err != nil {
		return fault(pointerAt(data, len(data)), "this is not JSON: %v", err)
	}
	for i := range data {
		if i >= len(want) || data[i] != want[i] {
			return fault(pointerAt(data, i), "not in canonical form (RFC 8785) from byte %d on", i)
		}
	}
	return nil
}

// decode reads a part whose form has been checked: no member stands twice.
// Events may nest deeper than strictjson accepts from untrusted clients, and unlike there
// nothing is read from what is not signed.
func decode(pointer string, data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fault(pointer, "is not the content of a record: %v", err)
	}
	return nil
}

// checker holds the parts of a record against each other.
type checker struct {
	r        *Record
	events   []event
	outcomes map[turn]event
	closed   map[int]event // round_closed, by round
	started  map[int]event // round_started, the last one by round
	revealed map[turn]Text // what seat_outcome hid
}

// chain checks the hash chain of the log. If the chain continues correctly after a
// wrong link, the link itself was changed, and not the event.
func (c *checker) chain() error {
	r := c.r
	if len(r.Log) != len(r.Chain) {
		return fault("/record/chain", "%d links for %d events", len(r.Chain), len(r.Log))
	}
	lines := make([]json.RawMessage, len(r.Log))
	for i, e := range r.Log {
		var err error
		if lines[i], err = folded(e); err != nil {
			return fault(fmt.Sprintf("/record/log/%d", i), "%v", err)
		}
	}
	h := sha256.Sum256([]byte(r.Match.MatchID))
	for i, e := range lines {
		h = next(h, e)
		if hex.EncodeToString(h[:]) == r.Chain[i] {
			continue
		}
		if i+1 < len(lines) {
			if after := next(h, lines[i+1]); hex.EncodeToString(after[:]) == r.Chain[i+1] {
				return fault(fmt.Sprintf("/record/chain/%d", i), "is not the hash of the log up to event %d", i+1)
			}
		}
		if i == 0 {
			return fault("/record/log/0", "event 1 or the match id does not match the chain")
		}
		return fault(fmt.Sprintf("/record/log/%d", i), "event %d does not match the chain", i+1)
	}
	return nil
}

// pointerAt returns the pointer of the value that holds the byte at offset, as
// far as data can be read.
func pointerAt(data []byte, offset int) string {
	type level struct {
		name  string
		index int
		array bool
		value bool // of an object: the next token is a value
	}
	var stack []level
	d := json.NewDecoder(bytes.NewReader(data))
	pointer := func() string {
		var b bytes.Buffer
		for _, l := range stack {
			switch {
			case l.array:
				fmt.Fprintf(&b, "/%d", l.index)
			case l.value:
				b.WriteString("/" + escape(l.name))
			}
		}
		return b.String()
	}
	for {
		at := pointer()
		token, err := d.Token()
		if err != nil {
			if n := len(stack); n > 0 {
				stack[n-1].value = false // the name itself may be what is broken
			}
			return pointer()
		}
		if int(d.InputOffset()) > offset {
			return at
		}
		var top *level
		if n := len(stack); n > 0 {
			top = &stack[n-1]
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				stack = append(stack, level{array: t == '['})
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				return ""
			}
			top = &stack[len(stack)-1]
		case string:
			if top != nil && !top.array && !top.value {
				top.name, top.value = t, true
				continue
			}
		}
		switch { // a value is over
		case top == nil:
			return ""
		case top.array:
			top.index++
		default:
			top.value = false
		}
	}
}

// escape escapes a part of a JSON pointer (RFC 6901).
func escape(name string) string {
	name = string(bytes.ReplaceAll([]byte(name), []byte("~"), []byte("~0")))
	return string(bytes.ReplaceAll([]byte(name), []byte("/"), []byte("~1")))
}
