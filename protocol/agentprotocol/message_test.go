package agentprotocol

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/internal/strictjson"
)

// The three forms of an id name the same key; everything else is refused.
func TestCheckKey(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
	for _, text := range []string{rawID(key), spkiOf(key)} {
		canonical, got, err := CheckKey(text)
		if err != nil || canonical != rawID(key) || !got.Equal(key) {
			t.Errorf("%s: %s, %v", text, canonical, err)
		}
	}
	if len(rawID(key)) != rawForm || len(spkiOf(key)) != spkiForm || len(nameOf(key)) != nameForm || !strings.HasPrefix(spkiOf(key), "MCowBQYDK2VwAyEA") {
		t.Errorf("forms %s, %s, %s", rawID(key), spkiOf(key), nameOf(key))
	}
	raw := rawID(key)
	loose := raw[:42] + string(raw[42]+1) + "=" // another spelling of the same bytes
	if b, err := base64.StdEncoding.DecodeString(loose); err != nil || string(b) != string(key) {
		t.Fatalf("%s is no other spelling", loose)
	}
	for name, text := range map[string]string{
		"empty": "", "name": nameOf(key), "31 bytes": base64.StdEncoding.EncodeToString(key[:31]), "33 bytes": base64.StdEncoding.EncodeToString(append(key[:32:32], 1)),
		"url alphabet": strings.NewReplacer("+", "-", "/", "_").Replace(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xfb\xff", 16)))),
		"loose bits":   loose, "line break": raw[:20] + "\n" + raw[20:43], "space": raw[:43] + " ", "no padding": strings.TrimRight(raw, "="),
		"hex": hex.EncodeToString(key), "X25519": strings.Replace(spkiOf(key), "MCowBQYDK2VwAyEA", "MCowBQYDK2VuAyEA", 1),
	} {
		if _, _, err := CheckKey(text); err == nil || !strings.Contains(err.Error(), "public_key") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key of small order has signatures that fit every message, and one that is
// not below the prime has a second spelling. The points of order 8 follow from
// the curve: doubled, their y is 0, so x² = -y² and 1 - d·y⁴ = 2·y².
func TestCheckKey_small_order(t *testing.T) {
	t.Parallel()
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	little := func(n *big.Int, sign byte) string {
		b := n.FillBytes(make([]byte, 32))
		for i := range 16 {
			b[i], b[31-i] = b[31-i], b[i]
		}
		b[31] |= sign << 7
		return base64.StdEncoding.EncodeToString(b)
	}
	d := new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), p))
	for _, y := range []string{order8, order8Minus} {
		b := []byte(y)
		for i := range 16 {
			b[i], b[31-i] = b[31-i], b[i]
		}
		n := new(big.Int).SetBytes(b)
		square := new(big.Int).Exp(n, big.NewInt(2), p)
		left := new(big.Int).Sub(big.NewInt(1), new(big.Int).Mul(d, new(big.Int).Mul(square, square)))
		if left.Sub(left, new(big.Int).Lsh(square, 1)).Mod(left, p).Sign() != 0 {
			t.Errorf("%x is not the y of a point of order 8", y)
		}
		for _, sign := range []byte{0, 1} {
			if _, _, err := CheckKey(little(n, sign)); err == nil {
				t.Errorf("order 8 was taken: %x", y)
			}
		}
	}
	for _, offset := range []int64{-1, 0, 1, 2, 18} { // p-1 is -1; from p on, y has a second spelling
		for _, sign := range []byte{0, 1} {
			if _, _, err := CheckKey(little(new(big.Int).Add(p, big.NewInt(offset)), sign)); err == nil {
				t.Errorf("p%+d was taken", offset)
			}
		}
	}
	for _, n := range []int64{0, 1} {
		if _, _, err := CheckKey(little(big.NewInt(n), 0)); err == nil {
			t.Errorf("%d was taken", n)
		}
	}
	for _, n := range []int64{2, 3, 4, 255} {
		if _, _, err := CheckKey(little(big.NewInt(n), 0)); err != nil {
			t.Errorf("%d was refused: %v", n, err)
		}
	}
}

// The published cases of RFC 8785: the order of members (section 3.2.3), the
// numbers (appendix B) and the strings (section 3.2.2.2).
func TestSplit_RFC8785(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`:                                                                      "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001f600\":5,\"\ufb33\":3}",
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]}`:                                                                    `{"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}`,
		`{"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"}`:                                                                                       "{\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
		`{"literals": [null, true, false]}`:                                                                                                                `{"literals":[null,true,false]}`,
		`{"n":[-0,5e-324,-5e-324,1.7976931348623157e308,9007199254740992,295147905179352830000,1e21,999999999999999700000,0.000001,9.999999999999997e22]}`: `{"n":[0,5e-324,-5e-324,1.7976931348623157e+308,9007199254740992,295147905179352830000,1e+21,999999999999999700000,0.000001,9.999999999999997e+22]}`,
	} {
		canonical, covered, signature, err := split([]byte(in))
		if err != nil || string(canonical) != want || string(covered) != want || signature != nil {
			t.Errorf("%s:\n%s\n%s, %v", in, canonical, want, err)
		}
	}
	_, covered, signature, err := split([]byte(`{"signature":"x","b":{"signature":1},"a":2}`))
	if err != nil || string(covered) != `{"a":2,"b":{"signature":1}}` || string(signature) != `"x"` {
		t.Errorf("only the top-level signature is left out: %s, %s, %v", covered, signature, err)
	}
}

// Members that a JavaScript engine puts first do not keep a signature from
// being verified, in either order; the arena never sends one.
func TestVerify_javascript_order(t *testing.T) {
	t.Parallel()
	f := &fake{t: t, key: newKey(t), arena: newKey(t).Public().(ed25519.PublicKey)}
	f.name = rawID(f.public())
	text := `{"10":{"b":1,"a":[{"2":1,"10":2,"x":3}]},"9":1,"01":2,"4294967295":3,"a":4}`
	canonical, err := strictjson.Canonical([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ordered, err := javascriptOrder(canonical)
	if want := `{"9":1,"10":{"a":[{"2":1,"10":2,"x":3}],"b":1},"01":2,"4294967295":3,"a":4}`; err != nil || string(ordered) != want {
		t.Fatalf("%s, %v; want %s", ordered, err, want)
	}
	draft := f.draft("notify", json.RawMessage(`{"event":"x","data":`+text+`}`))
	covered, err := strictjson.CanonicalOf(draft)
	if err != nil {
		t.Fatal(err)
	}
	javascript, err := javascriptOrder(covered)
	if err != nil {
		t.Fatal(err)
	}
	for name, signed := range map[string][]byte{"RFC 8785": covered, "JavaScript": javascript} {
		draft["signature"] = base64.StdEncoding.EncodeToString(ed25519.Sign(f.key, signed))
		data, _ := json.Marshal(draft)
		m, err := readMessage(data)
		if err == nil {
			err = m.verify(f.public())
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	me := identity{key: f.key, public: f.public(), now: time.Now}
	if _, _, err := me.seal(nil, TypeResponse, json.RawMessage(`{"result":{"9":1,"10":2}}`)); err == nil {
		t.Error("a message with numbers for names was made")
	}
}

// badMessages are refused before their signature is looked at.
func badMessages(f *fake) map[string]string {
	good := string(f.hello())
	swap := func(old, with string) string {
		if !strings.Contains(good, old) {
			f.t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	set := func(name string, value any) string {
		d := f.draft("hello", map[string]any{})
		if value == nil {
			delete(d, name)
		} else {
			d[name] = value
		}
		return string(f.sign(d))
	}
	return map[string]string{
		"nothing": "", "null": "null", "array": "[]", "text": `"x"`, "cut": good[:len(good)-1], "two": good + good, "byte order mark": "\xef\xbb\xbf" + good,
		"invalid UTF-8": swap(`"Fake"`, "\"\xff\""), "lone surrogate": swap(`"Fake"`, `"\ud800"`), "deep": swap(`"payload":{`, `"x":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`,"payload":{`),
		"type twice": swap(`{"from"`, `{"type":"request","from"`), "nested twice": swap(`"agentId"`, `"agentId":"x","agentId"`),
		"TYPE beside type": swap(`{"from"`, `{"TYPE":"request","from"`), "AgentId beside agentId": swap(`"agentId"`, `"AgentId":"x","agentId"`), "Broadcast": swap(`"broadcast"`, `"Broadcast":true,"broadcast"`),
		"protocol 0.2": set("protocol", "agentprotocol/0.2"), "protocol 0.1.1": set("protocol", "agentprotocol/0.1.1"), "no protocol": set("protocol", nil),
		"no id": set("id", nil), "long id": set("id", strings.Repeat("x", maxID+1)), "id with a line break": set("id", "a\nb"), "numeric id": set("id", 7),
		"no timestamp": set("timestamp", nil), "timestamp without zone": set("timestamp", "2026-02-01T15:08:00"), "numeric timestamp": set("timestamp", 1),
		"no from": set("from", nil), "from null": set("from", json.RawMessage("null")), "no agentId": set("from", map[string]any{}),
		"capabilities too many": set("from", map[string]any{"agentId": f.name, "capabilities": strings.Split(strings.Repeat("a:b ", 65), " ")}),
		"empty capability":      set("from", map[string]any{"agentId": f.name, "capabilities": []string{""}}),
		"no to":                 set("to", nil), "to is a text": set("to", f.name), "broadcast is a text": set("to", map[string]any{"broadcast": "yes"}),
		"no type": set("type", nil), "other type": set("type", "HELLO"), "no payload": set("payload", nil), "payload null": set("payload", json.RawMessage("null")), "payload array": set("payload", []int{1}),
	}
}

func TestReadMessage_refuses(t *testing.T) {
	t.Parallel()
	f := &fake{t: t, key: newKey(t), arena: newKey(t).Public().(ed25519.PublicKey)}
	f.name = rawID(f.public())
	if _, err := readMessage(f.hello()); err != nil {
		t.Fatal(err)
	}
	for name, text := range badMessages(f) {
		if _, err := readMessage([]byte(text)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := readMessage(f.message("notify", map[string]any{"event": "x", "data": strings.Repeat("x", MaxMessage)})); err == nil || !strings.Contains(err.Error(), "65536") {
		t.Errorf("too large: %v", err)
	}
}

// Texts that are not signatures, or another spelling of one.
func TestVerify_refuses(t *testing.T) {
	t.Parallel()
	f := &fake{t: t, key: newKey(t), arena: newKey(t).Public().(ed25519.PublicKey)}
	f.name = rawID(f.public())
	draft := f.draft("hello", map[string]any{})
	f.sign(draft)
	good := draft["signature"].(string)
	raw, _ := base64.StdEncoding.DecodeString(good)
	for name, signature := range map[string]any{
		"number": 7, "null": nil, "empty": "", "no padding": strings.TrimRight(good, "="), "base64url": base64.URLEncoding.EncodeToString([]byte(strings.Repeat("\xfb", 64))),
		"loose bits": good[:85] + string(good[85]+1) + "==", "line break": good[:40] + "\n" + good[40:], "space": good + " ",
		"63 bytes": base64.StdEncoding.EncodeToString(raw[:63]), "65 bytes": base64.StdEncoding.EncodeToString(append(raw[:64:64], 0)),
		"hex": hex.EncodeToString(raw), "zeros": base64.StdEncoding.EncodeToString(make([]byte, 64)),
	} {
		draft["signature"] = signature
		data, _ := json.Marshal(draft)
		m, err := readMessage(data)
		if err == nil {
			err = m.verify(f.public())
		}
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	draft["signature"] = good
	data, _ := json.Marshal(draft)
	m, err := readMessage(data)
	if err != nil || m.verify(f.public()) != nil {
		t.Errorf("the good one: %v", err)
	}
	if m.verify(newKey(t).Public().(ed25519.PublicKey)) == nil {
		t.Error("another key verified it")
	}
}

// No change of a signed message is taken, whatever is changed; what only
// reorders or spells the same text in another way is the same message.
func TestVerify_mutations(t *testing.T) {
	t.Parallel()
	f := &fake{t: t, key: newKey(t), arena: newKey(t).Public().(ed25519.PublicKey)}
	f.name = rawID(f.public())
	good := f.message("response", map[string]any{"correlationId": "c.1", "status": "success", "result": map[string]any{"answer": "42", "confidence": 0.5, "10": 1, "9": 2}})
	original, err := readMessage(good)
	if err != nil || original.verify(f.public()) != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		data := append([]byte(nil), good...)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			i := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				data[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			case 1:
				data = append(data[:i], data[i+1:]...)
			case 2:
				data = append(data[:i], append([]byte(rapid.SampledFrom([]string{`"`, `,`, `{`, `}`, ` `, `"x":1,`, `"__proto__":{},`, `\u0000`, `0`, `-`, `e1`}).Draw(t, "insert")), data[i:]...)...)
			case 3:
				j := rapid.IntRange(0, len(data)-1).Draw(t, "with")
				data[i], data[j] = data[j], data[i]
			}
		}
		m, err := readMessage(data)
		if err != nil || m.verify(f.public()) != nil {
			return
		}
		if m.Digest != original.Digest {
			t.Fatalf("a forgery was taken: %s", data)
		}
	})
}

func FuzzReadMessage(f *testing.F) {
	a := &fake{key: ed25519.NewKeyFromSeed(make([]byte, 32)), arena: ed25519.NewKeyFromSeed([]byte(strings.Repeat("a", 32))).Public().(ed25519.PublicKey)}
	a.name = rawID(a.public())
	seeds := []string{
		`{"protocol":"agentprotocol/0.1","id":"1","timestamp":"2026-02-01T15:08:00Z","from":{"agentId":"x"},"to":{"broadcast":true},"type":"hello","payload":{},"signature":"x"}`,
		`{"protocol":"agentprotocol/0.1","id":"1","timestamp":"2026-02-01T15:08:00Z","from":{"agentId":"x"},"to":{"broadcast":true},"type":"notify","payload":{"10":1,"9":[{"2":{}}]}}`,
		`{"a":1e400}`, `{"\u0000":-0}`, `[`, ``, `{}`,
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for typ, payload := range map[string]string{
		"hello": `{"version":"0.1","publicKey":"x","maxConcurrent":3}`, "request": `{"action":"a","correlationId":"c","params":{},"timeout":1}`,
		"response": `{"correlationId":"c","status":"success","result":{"answer":1}}`, "error": `{"correlationId":"c","code":"TIMEOUT","message":"m"}`, "notify": `{"event":"arena.event","data":{}}`,
	} {
		f.Add(fmt.Appendf(nil, `{"protocol":"agentprotocol/0.1","id":"1","timestamp":"2026-02-01T15:08:00Z","from":{"agentId":"x"},"to":{"broadcast":true},"type":%q,"payload":%s}`, typ, payload))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readMessage(data)
		if err != nil {
			return
		}
		if m.verify(a.public()) == nil {
			t.Fatalf("a signature out of nothing: %s", data)
		}
		again, err := readMessage(data)
		if err != nil || again.Digest != m.Digest {
			t.Fatalf("read twice: %v", err)
		}
		switch m.Type {
		case TypeHello:
			_, _ = readHello(m.Payload)
		case TypeRequest:
			_, _ = readRequest(m.Payload)
		case TypeResponse:
			if p, err := readResponse(m.Payload); err == nil {
				_, _, _, _ = readResult(p.Result, "json")
			}
		case TypeError:
			if p, err := readError(m.Payload); err == nil && verdictOf(p).Reason == "" {
				t.Fatal("an error without a reason")
			}
		case TypeNotify:
			_, _ = readNotify(m.Payload)
		}
		if _, err := parseKey(m.From.AgentID); err == nil && len(m.From.AgentID) != rawForm && len(m.From.AgentID) != spkiForm {
			t.Fatalf("a key of another form: %s", m.From.AgentID)
		}
	})
}

// The rule of capabilities: no variant covers all, a star covers the
// namespace, a name without one only itself.
func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listed, wanted string
		want           bool
	}{
		{"arena:round", "arena:round/trivia", true},
		{"arena:round", "arena:round", true},
		{"arena:round/trivia", "arena:round/trivia", true},
		{"arena:round/trivia", "arena:round/sums", false},
		{"arena:round/trivia", "arena:round", false},
		{"arena:*", "arena:round/trivia", true},
		{"other:*", "arena:round/trivia", false},
		{"arena:rounds", "arena:round/trivia", false},
		{"arena.round", "arena:round/trivia", false},
		{"arena.round", "arena.round", true},
		{"*", "arena:round", false},
		{"", "arena:round", false},
		{"ARENA:round", "arena:round", false},
		{"arena:round/*", "arena:round/trivia", true},
		{"arena:round/*", "arena:round", false},
		{"arena:round/*", "arena:round/", false},
		{"arena:round/*", "arena:round/trivia/hard", false},
		{"arena:round/*", "arena:other/trivia", false},
		{"code-review/*", "code-review/go", true},
		{"code-review/*", "code-review", false},
		{"arena:round", "arena:round/trivia/hard", true},
	} {
		if got := covers(c.listed, c.wanted); got != c.want {
			t.Errorf("%q covers %q: %t", c.listed, c.wanted, got)
		}
	}
	got := leaguesOf([]string{"arena:round/sums", "arena:round/chess", "x:y"}, []string{"trivia", "sums"})
	if strings.Join(got, " ") != "sums chess" {
		t.Errorf("leagues %v", got)
	}
	if got := leaguesOf([]string{"arena:round/*"}, []string{"trivia", "sums"}); strings.Join(got, " ") != "trivia sums" {
		t.Errorf("leagues %v", got)
	}
	if got := leaguesOf([]string{"arena.round"}, []string{"trivia", "sums"}); strings.Join(got, " ") != "trivia sums" {
		t.Errorf("leagues %v", got)
	}
}
