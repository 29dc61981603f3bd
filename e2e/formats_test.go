package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// shownSeason is a season as the API shows it.
type shownSeason struct {
	Season int
	Status string
	Podium []struct {
		Rank int
		Name string
	}
	Table  []struct{ Name string }
	Rounds []struct {
		Round    int
		Pairings []struct {
			MatchID string `json:"match_id"`
			Result  string
		}
	}
}

// A season of each format at once, on one server, with five agents that play
// over HTTP: the strength of each decides, so every podium is known.
func TestE2E_Formats(t *testing.T) {
	t.Parallel()
	formats := map[string]struct {
		body   map[string]any
		podium []string
		byHand bool // it would run forever, or for longer than a test
	}{
		"round_robin":        {nil, []string{"E", "D", "C"}, false},
		"swiss":              {map[string]any{"format_options": map[string]any{"rounds": 4}}, []string{"E"}, false},
		"knockout":           {map[string]any{"format_options": map[string]any{"best_of": 3}}, []string{"E"}, false},
		"double_elimination": {nil, []string{"E", "D"}, false},
		"gauntlet":           {nil, nil, false},
		"arena":              {nil, nil, true},
		"elimination":        {map[string]any{"min_seats": 3, "max_seats": 5}, nil, true},
		"ladder":             {nil, nil, true},
	}
	var slugs []string
	for format := range formats {
		slugs = append(slugs, slug(format))
	}
	p := serve(t, t.TempDir())
	pack := p.pack(40)
	for format, f := range formats {
		body := map[string]any{"format": format, "rounds": 5, "min_seats": 2, "max_seats": 2}
		maps.Copy(body, f.body)
		p.league(slug(format), pack, body)
	}
	for strength := 1; strength <= 5; strength++ {
		p.contestant(string(rune('@'+strength)), func(r protocoltest.Request) protocoltest.Behaviour {
			if r.Task.Round <= strength {
				return protocoltest.Answer(correct(r))
			}
			return protocoltest.Answer("no idea")
		}, slugs...)
	}
	for format := range formats {
		p.call(p.admin, http.MethodPost, "/v1/leagues/"+slug(format)+"/start", nil, nil)
	}
	// In this order: an arena and an elimination go on for as long as they run,
	// and a ladder takes what the others leave of five agents with one seat each.
	for _, format := range slices.Sorted(maps.Keys(formats)) {
		f, league := formats[format], "/v1/leagues/"+slug(format)
		if f.byHand {
			testwait.Every(t, 300*time.Millisecond, format+" has played", func() bool {
				var matches struct{ Items []any }
				p.call(p.admin, http.MethodGet, league+"/matches?status=finished", nil, &matches)
				return len(matches.Items) > 0
			})
			p.call(p.admin, http.MethodPost, league+"/finish", nil, nil)
		}
		var s shownSeason
		testwait.Every(t, 300*time.Millisecond, format+" ends", func() bool {
			return p.admin.Call(t.Context(), http.MethodGet, league+"/seasons/1", nil, &s) == nil && s.Status == "finished"
		})
		var podium []string
		for _, row := range s.Podium[:min(len(f.podium), len(s.Podium))] {
			podium = append(podium, row.Name)
		}
		if d := cmp.Diff(f.podium, podium); d != "" {
			t.Errorf("%s: %s\n%+v", format, d, s)
		}
		if len(s.Table) == 0 {
			t.Errorf("%s has no table", format)
		}
		var l struct{ Status string }
		p.call(p.admin, http.MethodGet, league, nil, &l)
		if l.Status != "finished" {
			t.Errorf("league %s is %s", format, l.Status)
		}
		for _, round := range s.Rounds {
			for _, pairing := range round.Pairings {
				if !f.byHand && !slices.Contains([]string{"played", "bye"}, pairing.Result) {
					t.Errorf("%s, round %d: %+v", format, round.Round, pairing)
				}
			}
		}
	}
}

func slug(format string) string { return strings.ReplaceAll(format, "_", "-") }
