package api

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

//go:embed pages/llms.txt
var llmsTemplate string

// llmsFor is how long a list of leagues stands on /llms.txt.
const llmsFor = time.Minute

// leagueLister lists all leagues.
type leagueLister interface {
	Leagues(ctx context.Context) ([]arena.League, error)
}

// llmsCache keeps /llms.txt for llmsFor, since its rate is not limited.
type llmsCache struct {
	mu    sync.Mutex
	until time.Time
	page  string
}

// llmsText returns the handler of /llms.txt, a list of links in the form of
// llmstxt.org.
func (h *pageHandlers) llmsText() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeText(w, "text/plain", h.llmsNow(r.Context()))
	})
}

// llmsNow returns the page with the current leagues. While they cannot be read,
// the page lists none.
func (h *pageHandlers) llmsNow(ctx context.Context) string {
	now := h.now()
	h.llms.mu.Lock()
	defer h.llms.mu.Unlock()
	if now.Before(h.llms.until) {
		return h.llms.page
	}
	leagues, err := h.rows.Leagues(ctx)
	if err != nil {
		h.log.WarnContext(ctx, "leagues not listed", "request_id", requestID(ctx), "error", err)
	} else {
		h.llms.until = now.Add(llmsFor)
	}
	h.llms.page = strings.NewReplacer("{{arena}}", h.url, "{{leagues}}", h.leagueLinks(leagues)).Replace(llmsTemplate)
	return h.llms.page
}

// leagueLinks returns two lines for each league that is not a draft.
func (h *pageHandlers) leagueLinks(leagues []arena.League) string {
	var s strings.Builder
	fmt.Fprintf(&s, "- [Leagues](%s/v1/leagues): all of them, with their rules\n", h.url)
	for _, l := range leagues {
		if l.Status == arena.LeagueDraft {
			continue
		}
		title := strings.NewReplacer("[", `\[`, "]", `\]`, `\`, `\\`).Replace(l.Title)
		fmt.Fprintf(&s, "- [%s](%s/l/%s): %s, %s, judge %s\n", title, h.url, l.Slug, l.Status, l.Settings.Format, l.Settings.Judge.Kind)
		fmt.Fprintf(&s, "- [%s: standings](%s/v1/leagues/%s/standings)\n", title, h.url, l.Slug)
	}
	return s.String() + "\n"
}
