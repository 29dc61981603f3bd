package agentprotocol

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
)

// tables are the rows of an arena with two agents in two leagues, of which the
// table of chess is hidden.
type tables struct{ found []arena.Agent }

func newTables() tables {
	return tables{[]arena.Agent{
		{ID: "ag_1", Name: "Ann", Protocol: "aap", Leagues: []string{"trivia", "chess"}, Health: arena.Health{OK: true, Detail: "secret"}, Endpoint: "https://secret.example"},
		{ID: "ag_2", Name: "Bob", Protocol: "agora", Version: "2"},
	}}
}

func (r tables) Agent(_ context.Context, id string) (arena.Agent, error) {
	for _, a := range r.found {
		if a.ID == id {
			return a, nil
		}
	}
	return arena.Agent{}, arena.Errorf(arena.CodeNotFound, "there is no agent %q", id)
}

func (r tables) Agents(_ context.Context, f arena.AgentFilter, p arena.Page) (found []arena.Agent, next string, err error) {
	for _, a := range r.found {
		if strings.Contains(strings.ToLower(a.Name), strings.ToLower(f.Query)) && (f.League == "" || slices.Contains(a.Leagues, f.League)) && a.ID > p.Cursor {
			found = append(found, a)
		}
	}
	if len(found) > p.Limit {
		found = found[:p.Limit]
		next = found[p.Limit-1].ID
	}
	return found, next, nil
}

func (tables) AgentRatings(_ context.Context, ids []string) (map[string][]arena.Rating, error) {
	return map[string][]arena.Rating{"ag_1": {
		{League: "chess", AgentID: "ag_1", MilliElo: 1_600_000, Matches: 3, Wins: 3}, {League: "trivia", AgentID: "ag_1", MilliElo: 1_512_345, Matches: 40, Wins: 20, Draws: 1, Losses: 19},
	}}, nil
}

func (tables) League(_ context.Context, slug string) (arena.League, error) {
	status, ok := map[string]arena.LeagueStatus{"trivia": arena.LeagueRunning, "chess": arena.LeagueFrozen}[slug]
	if !ok {
		return arena.League{}, arena.Errorf(arena.CodeNotFound, "there is no league %q", slug)
	}
	return arena.League{Slug: slug, Status: status}, nil
}

func (tables) Fit(_ context.Context, league string) (arena.Fit, error) {
	return arena.Fit{League: league, Lines: []arena.FitLine{{AgentID: "ag_2"}, {AgentID: "ag_1", Rating: 1_520_000, Low: 1_480_000, High: 1_560_000, RankLow: 1, RankHigh: 4}}}, nil
}

// records has a record of m_1. The record of m_long is too long, the one of m_large
// is too large for a message, and m_odd has a number for a name.
func records(_ context.Context, id string, _ int64) (record.Signed, error) {
	signed := func(text string) (record.Signed, error) {
		return record.Signed{Record: json.RawMessage(text), Signature: record.Signature{Alg: "ES256", KID: "k", Value: "v"}}, nil
	}
	switch id {
	case "m_1":
		return signed(`{"format":"arena-record-2","log":[]}`)
	case "m_long":
		return record.Signed{}, arena.Errorf(arena.CodeTooLarge, "the log is too long")
	case "m_large":
		return signed(`{"log":"` + strings.Repeat("x", MaxMessage) + `"}`)
	case "m_odd":
		return signed(`{"10":1,"9":2}`)
	}
	return record.Signed{}, arena.Errorf(arena.CodeNotFound, "there is no match %q", id)
}

func looksUp(o *Options) {
	maps.Copy(o.Actions, Lookups(newTables(), records, "https://arena.example"))
}

// Each capability in the hello is served, by its name and by a variant's.
func TestServer_advertised(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node(looksUp)
	f := h.agent()
	_, body := f.post(n.web.URL, f.hello())
	m, err := readMessage(body)
	if err != nil {
		t.Fatal(err)
	}
	hello, err := readHello(m.Payload)
	if err != nil || !slices.Equal(hello.Features, []string{"signed-messages", "streaming"}) {
		t.Errorf("features %v: %v", hello.Features, err)
	}
	want := []string{
		"agentprotocol:core", "agentprotocol:directory", "agentprotocol:proofs", "agentprotocol:reputation", "agentprotocol:tasks",
		"arena:agent", "directory.search", "proofs.get", "reputation.get",
	}
	if d := cmp.Diff(want, m.From.Capabilities); d != "" {
		t.Errorf("capabilities (-want +got):\n%s", d)
	}
	ask := func(action string) seen {
		_, body := f.post(n.web.URL, f.message("request", map[string]any{
			"action": action, "correlationId": "c", "params": map[string]any{"agent_id": "ag_1", "match_id": "m_1"},
		}))
		return f.check(body)
	}
	for _, c := range m.From.Capabilities {
		if s := ask(c); s.Type != "response" || len(s.Payload.Result) < len(`{"a":1}`) {
			t.Errorf("%s: %s %s %s", c, s.Type, s.Payload.Code, s.Payload.Message)
		}
		if s := ask(c + "/variant"); strings.Contains(c, ":") != (s.Type == "response") {
			t.Errorf("%s/variant: %s %s", c, s.Type, s.Payload.Code)
		}
	}
	for _, c := range []string{"agentprotocol:escrow", "agentprotocol", "directory", "arena:round", "arena:*"} {
		if s := ask(c); s.Payload.Code != string(CapabilityNotSupported) {
			t.Errorf("%s: %s %s", c, s.Type, s.Payload.Code)
		}
	}
}

func TestServer_lookups(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node(looksUp)
	f := h.agent()
	const (
		ann    = `{"agent_id":"ag_1","healthy":true,"leagues":["trivia","chess"],"name":"Ann","protocol":"aap"}`
		bob    = `{"agent_id":"ag_2","healthy":false,"leagues":[],"name":"Bob","protocol":"agora","version":"2"}`
		trivia = `{"draws":1,"interval":{"high":1560,"low":1480,"rank_high":4,"rank_low":1,"rating":1520},"league":"trivia","losses":19,"provisional":false,"rated_matches":40,"rating":1512.345,"wins":20}`
		chess  = `{"draws":0,"league":"chess","losses":0,"provisional":true,"rated_matches":3,"rating":1600,"wins":3}`
		of     = `"keys_url":"https://arena.example/.well-known/jwks.json","match_id":%q,"record_url":"https://arena.example/v1/matches/%[1]s/record"`
	)
	where := func(id string) string { return fmt.Sprintf(of, id) }
	for _, c := range []struct {
		action, params string
		want           string // the result, or the message of an INVALID_MESSAGE
	}{
		{"directory.search", `{}`, `{"agents":[` + ann + `,` + bob + `],"next_cursor":""}`},
		{"directory.search", ``, `{"agents":[` + ann + `,` + bob + `],"next_cursor":""}`},
		{"directory.search", `{"query":"NN"}`, `{"agents":[` + ann + `],"next_cursor":""}`},
		{"directory.search", `{"league":"chess","other":1}`, `{"agents":[` + ann + `],"next_cursor":""}`},
		{"directory.search", `{"limit":1}`, `{"agents":[` + ann + `],"next_cursor":"ag_1"}`},
		{"directory.search", `{"limit":1,"cursor":"ag_1"}`, `{"agents":[` + bob + `],"next_cursor":""}`},
		{"directory.search", `{"limit":41}`, "params.limit must be 1 to 40"},
		{"directory.search", `{"limit":0}`, "params.limit must be 1 to 40"},
		{"directory.search", `{"query":"` + strings.Repeat("q", 65) + `"}`, "params.query has more than 64 bytes"},
		{"directory.search", `{"league":"none"}`, `there is no league "none"`},
		{"directory.search", `{"Query":"x"}`, "params: "},
		{"directory.search", `[]`, "params is not an object"},
		{"reputation.get", `{"agent_id":"ag_1"}`, `{"agent_id":"ag_1","name":"Ann","ratings":[` + chess + `,` + trivia + `]}`},
		{"reputation.get", `{"agent_id":"ag_1","league":"trivia"}`, `{"agent_id":"ag_1","name":"Ann","ratings":[` + trivia + `]}`},
		{"reputation.get", `{"agent_id":"ag_2"}`, `{"agent_id":"ag_2","name":"Bob","ratings":[]}`},
		{"reputation.get", `{"agent_id":"ag_1","league":"none"}`, `there is no league "none"`},
		{"reputation.get", `{"agent_id":"ag_9"}`, `there is no agent "ag_9"`},
		{"reputation.get", `{}`, "params.agent_id is missing"},
		{"reputation.get", `{"agent_id":"` + strings.Repeat("a", 65) + `"}`, "params.agent_id has more than 64 bytes"},
		{"reputation.get", `{"agent_id":7}`, "params: "},
		{"proofs.get", `{"match_id":"m_1"}`, `{` + where("m_1")[:len(where("m_1"))-len(`"record_url":"https://arena.example/v1/matches/m_1/record"`)] +
			`"record":{"format":"arena-record-2","log":[]},"record_url":"https://arena.example/v1/matches/m_1/record","signature":{"alg":"ES256","kid":"k","value":"v"}}`},
		{"proofs.get", `{"match_id":"m_long"}`, `{` + where("m_long") + `}`},
		{"proofs.get", `{"match_id":"m_large"}`, `{` + where("m_large") + `}`},
		{"proofs.get", `{"match_id":"m_odd"}`, `{` + where("m_odd") + `}`},
		{"proofs.get", `{"match_id":"m_none"}`, `there is no match "m_none"`},
		{"proofs.get", `{}`, "params.match_id is missing"},
	} {
		payload := map[string]any{"action": c.action, "correlationId": "c"}
		if c.params != "" {
			payload["params"] = json.RawMessage(c.params)
		}
		status, body := f.post(n.web.URL, f.message("request", payload))
		switch s := f.check(body); {
		case c.want[0] == '{' && (status != 200 || string(s.Payload.Result) != c.want):
			t.Errorf("%s %.80s: %d %s %s, want %s", c.action, c.params, status, s.Payload.Message, s.Payload.Result, c.want)
		case c.want[0] != '{' && (status != 400 || s.Payload.Code != string(InvalidMessage) || !strings.HasPrefix(s.Payload.Message, c.want)):
			t.Errorf("%s %.80s: %d %s %s, want %s", c.action, c.params, status, s.Payload.Code, s.Payload.Message, c.want)
		}
		if len(body) > MaxMessage {
			t.Errorf("%s %.80s: a message of %d bytes", c.action, c.params, len(body))
		}
	}
}

// The largest page of the directory fits into a message.
func TestServer_directory_size(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	f := h.agent()
	var rows tables
	for i := range maxDirectory + 1 {
		leagues := make([]string, 20)
		for n := range leagues {
			leagues[n] = strings.Repeat("l", 40)
		}
		rows.found = append(rows.found, arena.Agent{
			ID: fmt.Sprintf("ag_%026d", i), Name: strings.Repeat("\U0001f916", 40), Protocol: "agentprotocol", Version: strings.Repeat("\U0001f916", 32), Leagues: leagues,
		})
	}
	n := h.node(func(o *Options) { o.Actions = Lookups(rows, records, "https://arena.example") })
	status, body := f.post(n.web.URL, f.message("request", map[string]any{"action": "directory.search", "correlationId": "c", "params": map[string]int{"limit": maxDirectory}}))
	if status != 200 || len(body) > MaxMessage || !strings.Contains(string(f.check(body).Payload.Result), fmt.Sprintf("ag_%026d", maxDirectory-1)) {
		t.Errorf("%d with %d bytes", status, len(body))
	}
}

// An error without a message is refused, and is no answer to a request.
func TestServer_error_without_message(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	status, body := f.post(n.web.URL, f.message("error", map[string]any{"correlationId": "c", "code": "TIMEOUT"}))
	if s := f.check(body); status != 400 || s.Payload.Code != string(InvalidMessage) || s.Payload.Message != "payload.message is missing" {
		t.Errorf("%d %+v", status, s.Payload)
	}
	web := f.endpoint(func(w http.ResponseWriter, data []byte) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(f.answer(data, func(f *fake, r seen) []byte {
			return f.message("error", map[string]any{"correlationId": r.Payload.CorrelationID, "code": "TIMEOUT"})
		}))
	})
	if r := n.send(t, f.attempt(web, enough)); r.Outcome != arena.OutcomeInvalid || r.Reason != "bad_message" || r.Detail != "payload.message is missing" {
		t.Errorf("%s, %s: %s", r.Outcome, r.Reason, r.Detail)
	}
}
