package envelope_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
)

var at = time.Date(2026, 2, 2, 15, 30, 0, 5e6, time.UTC)

// privateOf makes a key of a name.
func privateOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func identityOf(name string) *envelope.Identity { return envelope.NewIdentity(privateOf(name), name) }

// signed signs any JSON object, as another author's program would: with another
// library's canonical form.
func signed(t testing.TB, name, object string) []byte {
	t.Helper()
	canonical, err := jcs.Transform([]byte(object))
	if err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	sig := base64.RawURLEncoding.EncodeToString(ed25519.Sign(privateOf(name), canonical))
	return []byte(strings.TrimSuffix(strings.TrimSpace(object), "}") + `,"sig":"` + sig + `"}`)
}

// example is the envelope of the text, with a key that signs.
func example(members ...string) string {
	return strings.TrimSuffix(`{
  "version": "1.0",
  "id": "msg_01jqk7z8x8r9q3z5v2w4y6u8",
  "ts": "2026-02-02T15:30:00Z",
  "type": "REQUEST",
  "sender": {"id": "`+identityOf("ann").DID()+`", "name": "MyAgent", "url": "https://myagent.example.com"},
  "recipient": {"id": "`+identityOf("bob").DID()+`"},
  "payload": {"request_id": "req_01jqk7z9", "intent": "translation.en_zh", "params": {"text": "Hello <world> & \u4f60\u597d"}, "constraints": {"max_cost_usd": 0.01}},
  "thread": {"id": "thread_01jqk7za"},
  "meta": {"ttl": 300, "hop": 0}`+strings.Join(append([]string{""}, members...), ", ")+`}`, "\n")
}

// "Envelope Format", "Signing Process".
func TestDecode(t *testing.T) {
	t.Parallel()
	body := signed(t, "ann", example(`"x-unknown": [1.5, null, "\u2028"]`))
	e, err := envelope.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if e.ID != "msg_01jqk7z8x8r9q3z5v2w4y6u8" || e.Type != envelope.TypeRequest || e.Sender.Name != "MyAgent" || e.To() != identityOf("bob").DID() ||
		e.ThreadID() != "thread_01jqk7za" || e.TTL() != 300*time.Second || !e.TS.Equal(time.Date(2026, 2, 2, 15, 30, 0, 0, time.UTC)) {
		t.Errorf("%+v", e)
	}
	if !bytes.Equal(e.Body, body) || !strings.Contains(string(e.Payload), `Hello <world> & 你好`) {
		t.Errorf("the body or the payload was changed: %s", e.Payload)
	}
	if facts, err := e.Facts(); err != nil || facts.RequestID != "req_01jqk7z9" {
		t.Errorf("%+v, %v", facts, err)
	}
	// Any order and any white space carry the same signature.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	other, err := json.MarshalIndent(members, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := envelope.Decode(other); err != nil || again.Digest != e.Digest {
		t.Errorf("%v", err)
	}
}

// Programs that write all their members write null for those that they have
// not; it is signed like any other value.
func TestDecode_null(t *testing.T) {
	t.Parallel()
	members := map[string]any{}
	if err := json.Unmarshal([]byte(example()), &members); err != nil {
		t.Fatal(err)
	}
	members["recipient"], members["thread"], members["meta"] = nil, nil, nil
	object, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	body := signed(t, "ann", string(object))
	e, err := envelope.Decode(body)
	if err != nil || e.Recipient != nil || e.Thread != nil || e.Meta != nil || e.To() != "" || e.ThreadID() != "" || e.TTL() != envelope.DefaultTTL {
		t.Errorf("%+v, %v", e, err)
	}
	without := bytes.Replace(body, []byte(`"meta":null,`), nil, 1)
	if _, err := envelope.Decode(without); len(without) == len(body) || arena.CodeOf(err) != arena.CodeUnauthorized {
		t.Errorf("a signed null was taken away: %v", err)
	}
}

func TestIdentity_Sign(t *testing.T) {
	t.Parallel()
	e, err := identityOf("ann").Sign(envelope.Draft{
		Type: envelope.TypeRequest, At: at, Recipient: identityOf("bob").DID(), Thread: "thread_1", TTL: 1500 * time.Millisecond,
		Payload: envelope.Request{RequestID: "req_1", Intent: "arena.trivia", Params: json.RawMessage(`{"a<b":"<&>\u2028", "n":1e2}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !e.TS.Equal(at) || e.TTL() != 2*time.Second || !strings.Contains(string(e.Body), `"ts":"2026-02-02T15:30:00.005Z"`) {
		t.Errorf("%s", e.Body)
	}
	// Another implementation agrees on the signed text.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Body, &members); err != nil {
		t.Fatal(err)
	}
	sig, err := base64.RawURLEncoding.DecodeString(strings.Trim(string(members["sig"]), `"`))
	if err != nil {
		t.Fatal(err)
	}
	delete(members, "sig")
	rest, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := jcs.Transform(rest)
	if err != nil || !ed25519.Verify(privateOf("ann").Public().(ed25519.PublicKey), canonical, sig) {
		t.Errorf("%s: %v", canonical, err)
	}
}

// badEnvelopes are refused even with a good signature. Threat L1.
func badEnvelopes(t testing.TB) map[string]struct {
	body []byte
	code arena.Code
} {
	t.Helper()
	type row = struct {
		body []byte
		code arena.Code
	}
	good := string(signed(t, "ann", example()))
	sig := good[strings.LastIndex(good, `"sig":"`)+7 : len(good)-2]
	other := string(signed(t, "eve", example()))
	bad, forged, big := arena.CodeMalformed, arena.CodeUnauthorized, arena.CodeTooLarge
	change := func(from, to string) []byte {
		if !strings.Contains(example(), from) {
			t.Fatalf("no %s", from)
		}
		return signed(t, "ann", strings.Replace(example(), from, to, 1))
	}
	edit := func(from, to string) []byte { return []byte(strings.Replace(good, from, to, 1)) }
	rows := map[string]row{
		"empty": {nil, bad}, "null": {[]byte(`null`), bad}, "array": {[]byte(`[]`), bad}, "text": {[]byte(`"x"`), bad}, "cut": {[]byte(good[:len(good)-1]), bad},
		"two values": {[]byte(good + good), bad}, "byte order mark": {[]byte("\xef\xbb\xbf" + good), bad}, "invalid UTF-8": {edit("MyAgent", "My\xffAgent"), bad},
		"lone surrogate": {edit("MyAgent", `\ud800`), bad}, "deep": {edit(`"hop": 0`, `"hop": `+strings.Repeat("[", 40)+strings.Repeat("]", 40)), bad},
		"no sig": {[]byte(example()), forged}, "empty sig": {edit(sig, ""), forged}, "sig of another": {[]byte(other), forged},
		"sig null": {edit(`"`+sig+`"`, "null"), forged}, "sig number": {edit(`"`+sig+`"`, "1"), bad},
		"sig padded": {edit(sig, sig+"=="), forged}, "sig with line break": {edit(sig, sig[:40]+`\n`+sig[40:]), forged},
		"sig cut": {edit(sig, sig[:85]), forged}, "sig of 65 bytes": {edit(sig, sig+"A"), forged}, "sig standard base64": {edit(sig, strings.Repeat("+", 86)), forged},
		"sig not canonical base64": {edit(sig, sig[:85]+string(otherTail(sig[85]))), forged},
		"sig twice":                {edit(`"sig":`, `"sig":"x","sig":`), bad}, "member twice": {edit(`"version": "1.0"`, `"version": "1.0", "version": "1.0"`), bad},
		"payload member twice": {edit(`"request_id": "req_01jqk7z9"`, `"request_id": "req_01jqk7z9", "request_id": "x"`), bad},
		"added member":         {edit(`"version"`, `"extra": 1, "version"`), forged}, "changed payload": {edit("Hello", "Hullo"), forged},
		"null for absent": {edit(`"version"`, `"extra": null, "version"`), forged}, "number rounded": {edit("0.01", "0.010000000000000001"), ""},
		"version 1.1": {change(`"1.0"`, `"1.1"`), bad}, "version number": {change(`"1.0"`, `1.0`), bad}, "version missing": {change(`"version": "1.0",`, ``), bad},
		"case of type": {change(`"type"`, `"TYPE"`), bad}, "type twice in two cases": {change(`"type"`, `"Type": "OFFER", "type"`), bad},
		"case in sender": {change(`"name"`, `"ID": "x", "name"`), bad}, "case in thread": {change(`{"id": "thread`, `{"ID": "x", "id": "thread`), bad},
		"unknown type": {change(`"REQUEST"`, `"HELLO"`), bad}, "type of escrow": {change(`"REQUEST"`, `"ESCROW_HOLD"`), bad},
		"no id": {change(`"msg_01jqk7z8x8r9q3z5v2w4y6u8"`, `""`), bad}, "long id": {change(`msg_01jqk7z8x8r9q3z5v2w4y6u8`, strings.Repeat("m", 129)), bad},
		"id with slash": {change(`msg_01jqk7z8x8r9q3z5v2w4y6u8`, `../x`), bad},
		"ts number":     {change(`"2026-02-02T15:30:00Z"`, `1770046200`), bad}, "ts without zone": {change(`15:30:00Z`, `15:30:00`), bad}, "ts of a day": {change(`2026-02-02T15:30:00Z`, `2026-02-02`), bad},
		"key of another": {change(identityOf("ann").DID(), identityOf("eve").DID()), forged}, "sender no did": {change(identityOf("ann").DID(), "ann"), bad},
		"recipient no did": {change(identityOf("bob").DID(), "bob"), bad}, "payload text": {change(`"payload": {`, `"payload": "x", "was": {`), bad},
		"ttl 0": {change(`"ttl": 300`, `"ttl": 0`), bad}, "ttl of two days": {change(`"ttl": 300`, `"ttl": 172800`), bad}, "ttl text": {change(`"ttl": 300`, `"ttl": "300"`), bad},
		"encrypted": {signed(t, "ann", example(`"encrypted": true`)), bad}, "encryption nonce": {signed(t, "ann", example(`"encryptionNonce": "x"`)), bad},
		"number over 2^53": {signed(t, "ann", example(`"n": 9007199254740993`)), bad}, "number out of range": {edit(`"version"`, `"n": 1e400, "version"`), bad},
		"over 32 KiB": {signed(t, "ann", example(`"fat": "`+strings.Repeat("x", 32<<10)+`"`)), big}, "over 64 KiB": {bytes.Repeat([]byte("x"), 64<<10+1), big},
	}
	return rows
}

// Numbers are read as JSON.parse reads them, and the signature covers their
// canonical form. Only integers that a double changes are refused, and numbers
// beyond its range.
func TestDecode_numbers(t *testing.T) {
	t.Parallel()
	for number, ok := range map[string]bool{
		"9007199254740991": true, "9007199254740992": true, "9007199254740994": true, "-9007199254740992": true,
		"100000000000000000000": true, "1e20": true, "1E+20": true, "100000000000000000000.0": true, "18446744073709551616": true, "18446744073709552000": true, "-18446744073709552000": true,
		"295147905179352830000": true, "295147905179352825856": true,
		"0.1000000000000000055511151231257827": true, "3.14159265358979323846264338327950288": true, "1e-400": true, "-0": true,
		"9007199254740993": false, "-9007199254740993": false, "18446744073709551615": false, "18446744073709552001": false, "295147905179352820000": false, "100000000000000000001": false,
		"1e400": false, "-1e309": false, "1" + strings.Repeat("0", 309): false,
	} {
		// Another implementation's spelling was signed.
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			f = 0
		}
		shortest, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		body := bytes.Replace(signed(t, "ann", example(`"n": `+string(shortest))), append([]byte(`"n": `), shortest...), []byte(`"n": `+number), 1)
		if _, err := envelope.Decode(body); (err == nil) != ok || !ok && arena.CodeOf(err) != arena.CodeMalformed {
			t.Errorf("%s: %v", number, err)
		}
	}
}

// otherTail returns a last character that stands for the same bits of a
// signature: only its first two count.
func otherTail(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)|1]
}

// Threat L1.
func TestDecode_refuses(t *testing.T) {
	t.Parallel()
	for name, c := range badEnvelopes(t) {
		_, err := envelope.Decode(c.body)
		if got := arena.CodeOf(err); got != c.code {
			t.Errorf("%s: code %q, want %q (%v)", name, got, c.code, err)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// Threat L1: whatever is changed in a signed envelope, it is refused, or it
// says byte for byte what was signed.
func TestDecode_mutations(t *testing.T) {
	t.Parallel()
	body := signed(t, "ann", example(`"n": 0.5`))
	honest, err := envelope.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	check := func(mutant []byte) {
		if e, err := envelope.Decode(mutant); err == nil && e.Digest != honest.Digest {
			t.Fatalf("forged: %s", mutant)
		}
	}
	for i := range body { // every bit
		for bit := range 8 {
			mutant := bytes.Clone(body)
			mutant[i] ^= 1 << bit
			check(mutant)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 { // pieces moved, doubled, cut out, crossed out
		a, b, c := r.IntN(len(body)), r.IntN(len(body)), r.IntN(len(body))
		a, b = min(a, b), max(a, b)
		switch r.IntN(3) {
		case 0:
			check(append(bytes.Clone(body[:a]), body[b:]...))
		case 1:
			check(append(append(bytes.Clone(body[:c]), body[a:b]...), body[c:]...))
		default:
			mutant := bytes.Clone(body)
			copy(mutant[a:b], body[c:])
			check(mutant)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range badEnvelopes(f) {
		f.Add(c.body)
	}
	good := signed(f, "ann", example())
	f.Add(good)
	honest, err := envelope.Decode(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := envelope.Decode(body)
		if err != nil {
			if code := arena.CodeOf(err); code == arena.CodeInternal {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		if e.Sender.ID == honest.Sender.ID && e.Digest != honest.Digest {
			t.Fatalf("forged: %s", body)
		}
		if _, err := e.Facts(); err != nil && arena.CodeOf(err) != arena.CodeMalformed {
			t.Fatalf("facts: %v", err)
		}
	})
}

// What the payload of a message says is within its bounds, or it is refused as
// malformed.
func FuzzFacts(f *testing.F) {
	for typ, payloads := range map[envelope.Type][]string{
		envelope.TypeRequest: {`{"request_id":"r","intent":"a.b","constraints":{"max_cost_usd":0,"deadline":"2026-02-02T15:30:00Z"}}`},
		envelope.TypeOffer:   {`{"request_id":"r","plan":"p","price":{"amount":0.005,"currency":"USD"},"eta_seconds":2,"valid_until":"2026-02-02T15:30:00Z"}`, `{"price":{"amount":-1e-9}}`, `{"eta_seconds":86401}`},
		envelope.TypeAccept:  {`{"request_id":"r","terms":{"price_usd":0,"eta_seconds":1,"deadline":"2026-02-02T15:30:00Z"}}`},
		envelope.TypeResult:  {`{"request_id":"r","status":"success","output":{},"artifacts":[],"metrics":{}}`, `{"status":"partial","metrics":null,"artifacts":null}`, `{"status":"failed","metrics":[]}`},
		envelope.TypeError:   {`{"code":"TIMEOUT","message":"m","details":{"request_id":"r"}}`},
	} {
		for _, payload := range payloads {
			f.Add(string(typ), []byte(payload))
		}
	}
	f.Fuzz(func(t *testing.T, typ string, payload []byte) {
		e := &envelope.Envelope{Type: envelope.Type(typ), Payload: payload}
		facts, err := e.Facts()
		if err != nil {
			if code := arena.CodeOf(err); code != arena.CodeMalformed {
				t.Fatalf("%s: %v", code, err)
			}
			return
		}
		var o envelope.Offer
		if e.Type == envelope.TypeOffer && json.Unmarshal(payload, &o) == nil &&
			(len(o.Plan) > 4096 || o.Price != nil && o.Price.Amount < 0 || o.ETASeconds != nil && (*o.ETASeconds < 0 || *o.ETASeconds > 86_400)) {
			t.Fatalf("%+v", o)
		}
		var r envelope.Result
		if e.Type == envelope.TypeResult && json.Unmarshal(payload, &r) == nil && (facts.Status == "" || len(r.Metrics) > 4096 || len(r.Artifacts) > 16384) {
			t.Fatalf("%+v", r)
		}
	})
}

func FuzzManifest(f *testing.F) {
	did := identityOf("ann").DID()
	f.Add([]byte(`{"id":"cap","name":"n","intents":[{"id":"arena.trivia"}],"auth":{"methods":["ed25519"],"public_key":"` + did[8:] + `"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := envelope.DecodeManifest(data, did)
		if err == nil && (len(m.Intents) == 0 || m.MaxConcurrent < 0 || m.MaxConcurrent > 1000) {
			t.Fatalf("%+v", m)
		}
	})
}
