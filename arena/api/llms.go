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
var llmsText string

// llmsFor is how long a list of leagues stands on /llms.txt.
const llmsFor = time.Minute

// llmsCache keeps /llms.txt for a moment: anybody may ask for it, at any rate.
type llmsCache struct {
	mu    sync.Mutex
	until time.Time
	page  string
}

// llmsPage says where everything is, in the form of llmstxt.org.
func (a *API) llmsPage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeText(w, "text/plain", a.llmsNow(r.Context()))
	})
}

// llmsNow gives the page with the leagues of now. While they cannot be read,
// it names none.
func (a *API) llmsNow(ctx context.Context) string {
	now := a.Now()
	a.llms.mu.Lock()
	defer a.llms.mu.Unlock()
	if now.Before(a.llms.until) {
		return a.llms.page
	}
	leagues, err := a.Store.Leagues(ctx)
	if err != nil {
		a.Logger.WarnContext(ctx, "leagues not listed", "request_id", requestID(ctx), "error", err)
	} else {
		a.llms.until = now.Add(llmsFor)
	}
	a.llms.page = strings.NewReplacer("{{arena}}", a.PublicURL, "{{leagues}}", a.leagueLinks(leagues)).Replace(llmsText)
	return a.llms.page
}

// leagueLinks gives two lines for each league that is not a draft.
func (a *API) leagueLinks(leagues []arena.League) string {
	var s strings.Builder
	fmt.Fprintf(&s, "- [Leagues](%s/v1/leagues): all of them, with their rules\n", a.PublicURL)
	for _, l := range leagues {
		if l.Status == arena.LeagueDraft {
			continue
		}
		title := strings.NewReplacer("[", `\[`, "]", `\]`, `\`, `\\`).Replace(l.Title)
		fmt.Fprintf(&s, "- [%s](%s/l/%s): %s, %s, judge %s\n", title, a.PublicURL, l.Slug, l.Status, l.Settings.Format, l.Settings.Judge.Kind)
		fmt.Fprintf(&s, "- [%s: standings](%s/v1/leagues/%s/standings)\n", title, a.PublicURL, l.Slug)
	}
	return s.String() + "\n"
}
