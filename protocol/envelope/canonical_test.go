package envelope_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol/envelope"
)

// RFC 8785, sections 3.2.2, 3.2.3 and appendix B: what is signed is its
// canonical form, whatever was sent.
func TestCanonical_RFC8785(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/rfc8785.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name string `json:"name"`
		In   string `json:"in"`
		Want string `json:"want"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got, err := strictjson.Canonical([]byte(c.In))
		if err != nil || string(got) != c.Want {
			t.Errorf("%s: %s gives %s, %v; want %s", c.Name, c.In, got, err, c.Want)
		}
		other, err := jcs.Transform([]byte(c.In))
		if err != nil || string(other) != c.Want {
			t.Errorf("%s: another implementation gives %s, %v", c.Name, other, err)
		}
	}
	if len(cases) < 30 {
		t.Errorf("%d cases", len(cases))
	}
}

// Two implementations agree on the signed text of any envelope.
func TestCanonical_agrees(t *testing.T) {
	t.Parallel()
	did := identityOf("ann").DID()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.Map(rapid.Float64Range(-1e15, 1e15), func(f float64) any { return f }), rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.MapOf(rapid.String(), rapid.Float64Range(-1e6, 1e6)), func(m map[string]float64) any { return m }), rapid.Just[any](nil),
		)
		payload := rapid.MapOf(rapid.StringMatching(`[ -~é€😀]{0,6}_`), value).Draw(t, "payload")
		text, err := json.Marshal(map[string]any{
			"version": "1.0", "id": "m", "ts": "2026-02-02T15:30:00Z", "type": "STATUS", "sender": map[string]string{"id": did}, "payload": payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := jcs.Transform(text)
		if err != nil {
			t.Skip(err)
		}
		sig := base64.RawURLEncoding.EncodeToString(ed25519.Sign(privateOf("ann"), canonical))
		body := append(text[:len(text)-1:len(text)-1], `,"sig":"`+sig+`"}`...)
		if _, err := envelope.Decode(body); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	})
}
