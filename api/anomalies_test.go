package api

import (
	"context"
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

// linkedOwners are two owners who have everything in common.
type linkedOwners struct{ evidenceReads }

func (linkedOwners) OwnerLinks(_ context.Context, ownerIDs []string, kinds []arena.UnratedReason) (links []arena.OwnerLink, err error) {
	for _, kind := range kinds {
		for _, id := range ownerIDs {
			links = append(links, arena.OwnerLink{OwnerID: id, Kind: kind, Value: "farm.example"})
		}
	}
	return links, nil
}

// Threat G7: the report shows what owners have in common, but neither keys nor
// addresses.
func TestAnalysis_shared(t *testing.T) {
	t.Parallel()
	h := &analysisHandlers{rows: linkedOwners{}}
	owners := []string{"ow_a", "ow_b"}
	got, err := h.shared(t.Context(), arena.Evidence{Answers: []arena.GivenAnswer{{OwnerID: "ow_b"}, {OwnerID: "ow_a"}, {OwnerID: "ow_b"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []sharedView{
		{arena.UnratedSharedDomain, "farm.example", owners},
		{arena.UnratedSharedEndpoint, "farm.example", owners},
		{arena.UnratedSharedKey, "", owners},
		{arena.UnratedSharedNetwork, "", owners},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got, err = h.shared(t.Context(), arena.Evidence{Answers: []arena.GivenAnswer{{OwnerID: "ow_a"}}})
	if err != nil || len(got) != 0 || got == nil {
		t.Errorf("one owner: %v, %v", got, err)
	}
}
