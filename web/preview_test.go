package web

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Threat E3: names from untrusted owners stand in the head as text.
func TestHandler_Preview(t *testing.T) {
	t.Parallel()
	h := newHandler(builtFiles(), nil, func(_ context.Context, path string) (Preview, bool) {
		if path != "/m/m_1" {
			return Preview{}, true
		}
		return Preview{
			Title: `</title><script>alert(1)</script> "v" 'x' & \u202eevil`, Description: `" onload="alert(1)`,
			Image: "https://arena.example/v1/matches/m_1/card.png", Width: 1200, Height: 630,
		}, true
	}, nil, nil)
	page := func(path string) string {
		res := get(t, h, http.MethodGet, path, nil)
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("ETag") == "" {
			t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
		}
		return string(body)
	}
	got := page("/m/m_1")
	for _, want := range []string{
		`<title>&lt;/title&gt;&lt;script&gt;`, `<meta property="og:title" content="&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &#34;v&#34; &#39;x&#39; &amp;`,
		`<meta property="og:description" content="&#34; onload=&#34;alert(1)" />`,
		`<meta property="og:image" content="https://arena.example/v1/matches/m_1/card.png" />`, `content="summary_large_image"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "<script>") || strings.Count(got, "<title>") != 1 {
		t.Errorf("markup:\n%s", got)
	}
	if other := page("/leagues"); other != testIndex {
		t.Errorf("another page: %s", other)
	}
}
