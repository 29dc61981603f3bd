package agentprotocol

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/strictjson"
)

var update = flag.Bool("update", false, "write the vectors that the SDKs are tested with")

const vectorsFile = "../../sdk/vectors/agentprotocol.json"

// vectors are signed messages that every SDK signs and verifies alike.
type vectors struct {
	Seed      string         `json:"seed"` // base64
	AgentID   string         `json:"agent_id"`
	Challenge [2]string      `json:"challenge"` // text, signature
	Sign      []signVector   `json:"sign"`
	Verify    []verifyVector `json:"verify"`
}

type signVector struct {
	Draft     json.RawMessage `json:"draft"`
	Text      string          `json:"text"` // what is signed
	Signature string          `json:"signature"`
}

type verifyVector struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Valid   bool   `json:"valid"`
}

func makeVectors(t *testing.T) vectors {
	t.Helper()
	seed := []byte(strings.Repeat("agora", 7)[:32])
	key := ed25519.NewKeyFromSeed(seed)
	id := rawID(key.Public().(ed25519.PublicKey))
	sign := func(text string) string {
		return base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
	}
	v := vectors{Seed: base64.StdEncoding.EncodeToString(seed), AgentID: id, Challenge: [2]string{"agora-arena key proof\nhttps://arena.example\nag_1\n" + id, ""}}
	v.Challenge[1] = sign(v.Challenge[0])
	head := `{"type":"response","protocol":"agentprotocol/0.1","id":"0b6f6a4e-3c1f-4b7a-9d58-2f6f0d1c9a11","timestamp":"2026-02-01T15:08:00.000Z",` +
		`"to":{"broadcast":false,"agentId":"` + id + `"},"from":{"name":"Freya é","capabilities":["arena:round"],"agentId":"` + id + `"},"payload":`
	for _, payload := range []string{
		`{"status":"success","correlationId":"req-123","result":{"answer":"a<b & \"c\"/\\\u2028\u0007é😀","tools_used":[],"confidence":0.5}}`,
		`{"n":[0,-1,1e21,1e-7,0.000001,123456789012345680000,4.5,true,null],"\ufb33":1,"\ud83d\ude00":2,"":3}`,
	} {
		covered, err := strictjson.Canonical([]byte(head + payload + "}"))
		if err != nil {
			t.Fatal(err)
		}
		v.Sign = append(v.Sign, signVector{json.RawMessage(head + payload + "}"), string(covered), sign(string(covered))})
	}
	whole := func(draft, signature string) string {
		return draft[:len(draft)-1] + `,"signature":"` + signature + `"}`
	}
	good := whole(string(v.Sign[0].Draft), v.Sign[0].Signature)
	add := func(name, message string, valid bool) {
		v.Verify = append(v.Verify, verifyVector{name, message, valid})
	}
	add("as signed", good, true)
	add("canonical", whole(v.Sign[0].Text, v.Sign[0].Signature), true)
	add("other payload", whole(string(v.Sign[1].Draft), v.Sign[1].Signature), true)
	add("changed answer", strings.Replace(good, "Freya", "Freyb", 1), false)
	add("member added", strings.Replace(good, `{"type"`, `{"x":1,"type"`, 1), false)
	add("member removed", strings.Replace(good, `"name":"Freya é",`, "", 1), false)
	add("signature of another message", whole(string(v.Sign[0].Draft), v.Sign[1].Signature), false)
	add("signature cut", whole(string(v.Sign[0].Draft), v.Sign[0].Signature[:84]), false)
	add("no signature", string(v.Sign[0].Draft), false)
	add("invalid text", good[:len(good)-2], false)
	return v
}

// The vectors of the SDKs are what this package signs and verifies.
func TestVectors(t *testing.T) {
	t.Parallel()
	v := makeVectors(t)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(vectorsFile, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(vectorsFile)
	if err != nil || !bytes.Equal(stored, b.Bytes()) {
		t.Errorf("%s is not what this package makes (-update writes it): %v", vectorsFile, err)
	}
	key, err := parseKey(v.AgentID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Verify {
		m, err := readMessage([]byte(c.Message))
		if err == nil {
			err = m.verify(key)
		}
		if (err == nil) != c.Valid {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
