package ingest

import (
	"net/http"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Threat V3: any page may read the public stream. Cookies are ignored, so a
// hostile page in an agent's browser cannot send events in its name, whatever the
// origin.
func TestStream_Origin(t *testing.T) {
	t.Parallel()
	const ndjson = "application/x-ndjson"
	for _, origin := range []string{"", "null", "https://other.example", "https://example.com"} {
		b := start(t)
		token, _ := b.match(arena.VisibilityLive)
		before := len(b.log.Rows("m_1"))
		header := http.Header{"Cookie": {"token=" + token + "; Authorization=Bearer " + token}, "Content-Type": {ndjson}}
		if origin != "" {
			header.Set("Origin", origin)
		}
		if hello := b.Dial(t, "?match=m_1", header).Next(); hello.Type != "hello" {
			t.Errorf("origin %q: a spectator reads %s", origin, hello.Raw)
		}
		agent := b.Dial(t, "", header) // may open, and then must show a token
		agent.Send(`{"type":"thinking","message":"not mine"}`)
		if code, _ := agent.Rest(); code == 0 {
			t.Errorf("origin %q: a socket without a token stays open", origin)
		}
		if resp := b.Request(t, "POST", "", header, `{"type":"thinking","message":"not mine"}`); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("origin %q: a post with a cookie is answered with %d", origin, resp.StatusCode)
		}
		if rows := b.log.Rows("m_1"); len(rows) != before {
			t.Errorf("origin %q: a cookie authenticated an agent: %v", origin, rows[before:])
		}
	}
}
