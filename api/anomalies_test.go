package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_anomalies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	r := w.do("GET", "/v1/admin/anomalies?league=quiz&matches=7", w.admin, nil).is(200)
	if want := `{"league":"quiz","matches":0,"answers":0,"duels":0,"pairs":0,"items":[],"shared":[]}`; strings.TrimSpace(string(r.body)) != want {
		t.Errorf("%s, want %s", r.body, want)
	}
	w.run([]scenario{
		{name: "no league", method: "GET", path: "/v1/admin/anomalies", token: w.admin, status: 422, code: arena.CodeInvalid, fields: []string{"league"}},
		{name: "unknown league", method: "GET", path: "/v1/admin/anomalies?league=none", token: w.admin, status: 404, code: arena.CodeNotFound},
		{name: "too many matches", method: "GET", path: "/v1/admin/anomalies?league=quiz&matches=2001", token: w.admin, status: 422, code: arena.CodeInvalid, fields: []string{"matches"}},
	})
}

func TestViewAnomalies(t *testing.T) {
	t.Parallel()
	got := viewAnomalies("quiz", arena.AnomalyReport{Matches: 3, Answers: 9, Duels: 2, Pairs: 1, Found: []arena.Anomaly{{
		Kind: arena.AnomalyCopied, AgentIDs: []string{"ag_1", "ag_2"}, Trials: 9, Observed: 8, Expected: 2.5, Chance: 1e-6, Later: 4,
		Places: []arena.AnomalyPlace{{MatchID: "m_1", Round: 2}},
	}}})
	want := anomaliesView{League: "quiz", Matches: 3, Answers: 9, Duels: 2, Pairs: 1, Items: []anomalyView{{
		Kind: arena.AnomalyCopied, AgentIDs: []string{"ag_1", "ag_2"}, Trials: 9, Observed: 8, Expected: 2.5, Chance: 1e-6, Later: 4,
		Places: []anomalyPlaceView{{MatchID: "m_1", Round: 2}},
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Threat G7: the report shows what owners have in common, but neither keys nor
// addresses.
func TestAnalysis_shared(t *testing.T) {
	t.Parallel()
	owners := []string{"ow_a", "ow_b"}
	var links []arena.OwnerLink
	for _, kind := range slices.Concat(arena.OwnerLinkKinds()) {
		for _, id := range owners {
			links = append(links, arena.OwnerLink{OwnerID: id, Kind: kind, Value: "farm.example"})
		}
	}
	want := []sharedView{
		{arena.UnratedSharedDomain, "farm.example", owners},
		{arena.UnratedSharedEndpoint, "farm.example", owners},
		{arena.UnratedSharedKey, "", owners},
		{arena.UnratedSharedNetwork, "", owners},
	}
	if d := cmp.Diff(want, sharedViews(links)); d != "" {
		t.Error(d)
	}
	if got := sharedViews(nil); len(got) != 0 || got == nil {
		t.Errorf("no links: %v", got)
	}
}
