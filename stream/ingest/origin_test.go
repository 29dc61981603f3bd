package ingest

import (
	"net/http"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Threat V3: any page may read what is public. No cookie is looked at, so a
// stranger's page in an agent's own browser can say nothing in its name,
// whatever the origin.
func TestStream_Origin(t *testing.T) {
	t.Parallel()
	const ndjson = "application/x-ndjson"
	for _, origin := range []string{"", "null", "https://stranger.example", "https://example.com"} {
		b := start(t)
		token, _ := b.match(arena.VisibilityLive)
		before := len(b.log.Rows("m_1"))
		header := http.Header{"Cookie": {"token=" + token + "; Authorization=Bearer " + token}, "Content-Type": {ndjson}}
		if origin != "" {
			header.Set("Origin", origin)
		}
		if hello := b.Dial(t, "?match=m_1", header).Next(); hello.Type != "hello" {
			t.Errorf("origin %q: a spectator is told %s", origin, hello.Raw)
		}
		speaker := b.Dial(t, "", header) // may open, and then must show a token
		speaker.Send(`{"type":"thinking","message":"not mine"}`)
		if code, _ := speaker.Rest(); code == 0 {
			t.Errorf("origin %q: a socket without a token stays open", origin)
		}
		if resp := b.Request(t, "POST", "", header, `{"type":"thinking","message":"not mine"}`); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("origin %q: a post with a cookie is answered with %d", origin, resp.StatusCode)
		}
		if rows := b.log.Rows("m_1"); len(rows) != before {
			t.Errorf("origin %q: a cookie spoke for an agent: %v", origin, rows[before:])
		}
	}
}
