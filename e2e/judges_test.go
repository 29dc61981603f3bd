package e2e

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
)

// compared is the JSON that a judge reads.
type compared struct{ Criteria, Task, A, B string }

// longer is the word of a judge that likes long answers.
func (c compared) longer() string {
	switch {
	case len(c.A) > len(c.B):
		return "A"
	case len(c.B) > len(c.A):
		return "B"
	}
	return "tie"
}

// judgeAgent runs an agent of the SDK that judges, and returns its id.
func (p *process) judgeAgent(name string, say func(compared) string) string {
	p.t.Helper()
	agent, err := arenaagent.New(arenaagent.Config{Arena: p.url, AnyAgent: true, Events: arenaagent.EventsOff},
		func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
			_, doc, _ := strings.Cut(task.Description, "\n\n")
			var c compared
			if err := json.Unmarshal([]byte(doc), &c); err != nil {
				return arenaagent.Answer{}, err
			}
			return arenaagent.Answer{Value: say(c), Reasoning: "I like it."}, nil
		})
	must(p.t, err)
	var lc net.ListenConfig
	ln, err := lc.Listen(p.t.Context(), "tcp", "127.0.0.1:0")
	must(p.t, err)
	served := make(chan error, 1)
	go func() { served <- agent.Serve(p.t.Context(), ln) }()
	p.t.Cleanup(func() {
		must(p.t, <-served) // the context of the test has ended
		must(p.t, agent.Close())
	})
	var made struct {
		ID     string `json:"agent_id"`
		Status string `json:"status"`
	}
	p.call(p.owner("owner of "+name), http.MethodPost, "/v1/agents",
		map[string]any{"name": name, "endpoint": "http://" + ln.Addr().String() + "/agora", "leagues": []string{}}, &made)
	if made.Status != "active" {
		p.t.Fatalf("judge %s is %s", name, made.Status)
	}
	agent.SetAgentID(made.ID)
	return made.ID
}

type shownVerdicts struct {
	Items []struct {
		Round   int
		Judge   string
		Version string
		Ballots []arena.Ballot
	}
}

// judged plays a duel in a league and returns its end and its verdicts.
func (p *process) judged(league string, play func(match string), seats ...*contestant) (end finished, v shownVerdicts) {
	p.t.Helper()
	id := p.schedule(league, seats...)
	if play != nil {
		play(id)
	}
	p.watch(id, 0).end(&end)
	p.call(p.admin, http.MethodGet, "/v1/matches/"+id+"/verdicts", nil, &v)
	return end, v
}

// wins checks that the second of two seats took the match and its rating.
func (p *process) wins(what string, end finished, winner *contestant, points float64) {
	p.t.Helper()
	for _, s := range end.Seats {
		if got := s.Points; s.AgentID == winner.id && got != points || s.AgentID != winner.id && got != 0 {
			p.t.Errorf("%s: %+v, want %g points for %s", what, end.Seats, points, winner.id)
		}
	}
	rated := what != "crowd" // a rated crowd needs the votes of accounts
	if end.Rated != rated || rated != (len(end.RatingChanges) == 2) {
		p.t.Errorf("%s: rated %t, rating changes %+v", what, end.Rated, end.RatingChanges)
	}
}

// openAI is a local service with the API of language models; it prefers
// long answers.
func openAI(t *testing.T, key string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c struct {
			Model    string
			Messages []struct{ Content string }
		}
		var doc compared
		err := json.NewDecoder(r.Body).Decode(&c)
		if err == nil {
			err = json.Unmarshal([]byte(c.Messages[1].Content), &doc)
		}
		if err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+key || c.Model != "critic-7" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
		verdict, _ := json.Marshal(map[string]string{"winner": doc.longer(), "reason": "It says more."})
		content, _ := json.Marshal(string(verdict))
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":`+string(content)+`}}]}`)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// Matches whose judge must be asked, with the real binary: a panel of SDK
// agents, a judge that answers garbage, the crowd, and a debate before a
// language model.
func TestE2E_Judges(t *testing.T) {
	t.Parallel()
	const key = "model-key-0123456789"
	keyFile := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(keyFile, []byte(key+"\n"), 0o600))
	p := serve(t, t.TempDir(), "ARENA_JUDGE_URL="+openAI(t, key).URL+"/v1", "ARENA_JUDGE_MODEL=critic-7", "ARENA_JUDGE_KEY_FILE="+keyFile)
	league := func(slug string, judge, change map[string]any) {
		judge["criteria"] = "the longer the better"
		body := map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 2, "judge": judge}
		maps.Copy(body, change)
		p.league(slug, p.pack(4), body)
	}
	league("poems", map[string]any{"kind": "panel", "agents": []string{
		p.judgeAgent("Fan", compared.longer), p.judgeAgent("Order", func(compared) string { return "A" }),
		p.judgeAgent("Fan too", compared.longer),
	}}, nil)
	league("noise", map[string]any{"kind": "panel", "agents": []string{p.judgeAgent("Noise", func(compared) string { return "perhaps" })}}, nil)
	league("jokes", map[string]any{"kind": "crowd", "window_seconds": 5, "min_votes": 3}, map[string]any{"rounds": 1, "rated": false})
	league("debates", map[string]any{"kind": "model"}, map[string]any{"debate": map[string]any{"turns": 1}})

	leagues := []string{"poems", "noise", "jokes", "debates"}
	terse := p.contestant("Terse", answers("A word."), leagues...)
	grand := p.contestant("Grand", answers("So many words, and each of them is needed."), leagues...)

	end, v := p.judged("poems", nil, terse, grand)
	p.wins("panel", end, grand, 2)
	if len(v.Items) != 2 || v.Items[0].Version != "panel-2" || len(v.Items[0].Ballots) != 6 || v.Items[0].Ballots[0].Reason != "I like it." {
		t.Errorf("verdicts of the panel: %+v", v)
	}
	var health struct {
		Kind       string
		Versions   []string
		Verdicts   int
		FlipRate   float64 `json:"flip_rate"`
		LongerRate float64 `json:"longer_rate"`
		Agreement  float64
	}
	p.call(apiclient.New(p.url, ""), http.MethodGet, "/v1/leagues/poems/judge", nil, &health)
	if health.Kind != "panel" || health.Verdicts != 2 || health.FlipRate < 0.3 || health.FlipRate > 0.4 || health.LongerRate < 0.8 || health.Agreement != 0 {
		t.Errorf("health of the panel: %+v", health)
	}

	end, v = p.judged("noise", nil, terse, grand)
	if len(end.RatingChanges) != 0 || end.Seats[0].Points+end.Seats[1].Points != 0 || len(v.Items) != 0 {
		t.Errorf("garbage gave %+v, %+v", end, v)
	}

	end, v = p.judged("jokes", func(match string) { p.voteFor(match, "So many words") }, terse, grand)
	p.wins("crowd", end, grand, 1)
	if b := v.Items[0].Ballots; v.Items[0].Version != "crowd-1" || len(b) != 1 || b[0].Votes != 20 || b[0].Choice != grand.id {
		t.Errorf("verdicts of the crowd: %+v", v)
	}

	end, v = p.judged("debates", nil, terse, grand)
	p.wins("debate", end, grand, 2)
	if len(v.Items) != 2 || v.Items[1].Version != "model-2/critic-7" || len(v.Items[1].Ballots) != 2 || v.Items[1].Ballots[0].Judge != "critic-7" {
		t.Errorf("verdicts of the model: %+v", v)
	}
}

// voteFor has two browsers vote for the answer that begins so, one of them
// only at its second try, and a crowd from the same address vote tie.
func (p *process) voteFor(match, begins string) {
	p.t.Helper()
	p.watch(match, 0).until(func(e event) bool { return e.Type == "vote_opened" })
	var ballot struct {
		Round    int
		Criteria string
		Entries  []struct{ Label, Text string }
	}
	anyone := apiclient.New(p.url, "")
	p.call(anyone, http.MethodGet, "/v1/matches/"+match+"/ballot", nil, &ballot)
	right, wrong := ballot.Entries[0], ballot.Entries[1]
	if !strings.HasPrefix(right.Text, begins) {
		right, wrong = wrong, right
	}
	path := "/v1/matches/" + match + "/votes"
	vote := func(c *apiclient.Client, better string) {
		p.call(c, http.MethodPost, path, map[string]any{"round": ballot.Round, "better": better}, nil)
	}
	browser := func() *apiclient.Client {
		c := apiclient.New(p.url, "")
		jar, err := cookiejar.New(nil)
		must(p.t, err)
		c.HTTP.Jar = jar
		return c
	}
	first, second := browser(), browser()
	vote(first, wrong.Label)
	vote(first, right.Label) // it changes its mind
	vote(second, right.Label)
	for range 18 {
		vote(anyone, "tie")
	}
	p.refused(anyone, http.MethodPost, path, map[string]any{"round": ballot.Round, "better": wrong.Label}, 429, "rate_limited")
	p.refused(anyone, http.MethodPost, path, map[string]any{"round": ballot.Round, "better": "Z"}, 422, "invalid")
	p.refused(anyone, http.MethodPost, path, map[string]any{"round": 7, "better": "A"}, 409, "conflict")
}
