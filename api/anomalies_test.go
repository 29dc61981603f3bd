package api

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_anomalies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	r := w.do("GET", "/v1/admin/anomalies?league=quiz&matches=7", w.admin, nil).is(200)
	for path, want := range map[string]any{
		"league": "quiz", "matches": 0.0, "pairs": 1.0, "items.0.kind": "copied_answers", "items.0.agent_ids.1": "ag_2",
		"items.0.chance": 1e-6, "items.0.places.0.match_id": "m_1", "items.0.later": 4.0,
	} {
		if got := r.at(path); got != want {
			t.Errorf("%s is %v, want %v: %s", path, got, want, r.body)
		}
	}
	w.run([]scenario{
		{name: "no league", method: "GET", path: "/v1/admin/anomalies", token: w.admin, status: 422, code: arena.CodeInvalid, fields: []string{"league"}},
		{name: "unknown league", method: "GET", path: "/v1/admin/anomalies?league=none", token: w.admin, status: 404, code: arena.CodeNotFound},
		{name: "too many matches", method: "GET", path: "/v1/admin/anomalies?league=quiz&matches=2001", token: w.admin, status: 422, code: arena.CodeInvalid, fields: []string{"matches"}},
	})
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
