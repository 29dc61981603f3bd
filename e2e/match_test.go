package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/visibility/seal"
)

// answers plays right or a fixed wrong text.
func answers(text string) func(protocoltest.Request) protocoltest.Behaviour {
	return func(r protocoltest.Request) protocoltest.Behaviour {
		if text == "" {
			return protocoltest.Answer(correct(r))
		}
		return protocoltest.Answer(text)
	}
}

type finished struct {
	Rated bool `json:"rated"`
	Seats []struct {
		AgentID string  `json:"agent_id"`
		Points  float64 `json:"points"`
		Place   int     `json:"place"`
		State   string  `json:"state"`
	} `json:"seats"`
	RatingChanges []struct {
		AgentID string      `json:"agent_id"`
		Before  json.Number `json:"rating_before"`
		Delta   json.Number `json:"rating_delta"`
	} `json:"rating_changes"`
}

// A whole match of the real binary: sign-up, registration, pack, league,
// signed tasks, sealed stream, settlement.
func TestE2E_FirstMatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	gate := make(chan struct{})
	ada := p.contestant("Ada", func(r protocoltest.Request) protocoltest.Behaviour {
		return protocoltest.When(gate, protocoltest.Answer(correct(r)))
	}, "trivia")
	const secret = "no idea, sorry"
	bob := p.contestant("Bob", answers(secret), "trivia")
	id := p.schedule("trivia", ada, bob)
	s := p.watch(id, 0)

	// While the round is open, Bob's answer is in the arena and not on the stream.
	s.until(func(e event) bool { return e.Type == "seat_outcome" && e.AgentID == bob.id })
	var open bytes.Buffer
	for _, path := range []string{"", "/events", "/rounds"} {
		readAll(t, p.url+"/v1/matches/"+id+path, &open)
	}
	for _, e := range s.seen {
		open.Write(e.Raw)
	}
	if bytes.Contains(open.Bytes(), []byte(secret)) || bytes.Contains(open.Bytes(), []byte("right answer")) {
		t.Errorf("an answer of the open round can be read: %s", open.Bytes())
	}
	close(gate)
	var result finished
	s.end(&result)
	s.gapless(1)
	checkReveals(t, s.seen, secret)

	var sum float64
	for _, c := range result.RatingChanges {
		d, err := c.Delta.Float64()
		must(t, err)
		sum += d
	}
	if !result.Rated || len(result.RatingChanges) != 2 || sum != 0 || result.RatingChanges[0].Before != "1500.000" {
		t.Errorf("result is %+v", result)
	}
	checkLog(p, id, s)
	checkTokens(p, id, ada, bob)
	checkSettledOnce(t, dir, id)

	var table struct {
		Items []struct {
			Agent  struct{ Name string } `json:"agent"`
			Rating json.Number           `json:"rating"`
		} `json:"items"`
	}
	p.call(p.admin, http.MethodGet, "/v1/leagues/trivia/standings", nil, &table)
	if len(table.Items) != 2 || table.Items[0].Rating != "1520.000" {
		t.Errorf("standings are %+v", table.Items)
	}
}

func readAll(t *testing.T, url string, into *bytes.Buffer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close() //nolint:errcheck // only read from
	_, err = io.Copy(into, resp.Body)
	must(t, err)
}

// checkReveals checks that every hidden part came after its round and is the
// one that was committed to.
func checkReveals(t *testing.T, seen []event, secret string) {
	t.Helper()
	commitments := map[int64]string{}
	revealed := 0
	for _, e := range seen {
		var m struct {
			Commitment string `json:"commitment"`
			Events     []struct {
				Seq    int64           `json:"seq"`
				Hidden json.RawMessage `json:"hidden"`
			} `json:"events"`
		}
		must(t, json.Unmarshal(e.Raw, &m))
		if m.Commitment != "" {
			commitments[e.Seq] = m.Commitment
		}
		for _, h := range m.Events {
			revealed++
			if err := seal.Verify(h.Hidden, commitments[h.Seq]); err != nil {
				t.Errorf("event %d: %v", h.Seq, err)
			}
		}
	}
	if revealed != len(commitments) || revealed == 0 {
		t.Errorf("%d hidden parts for %d commitments", revealed, len(commitments))
	}
	all := bytes.Buffer{}
	for _, e := range seen {
		all.Write(e.Raw)
	}
	if !bytes.Contains(all.Bytes(), []byte(secret)) {
		t.Error("the answer was never revealed")
	}
}

// checkLog checks that REST, a late joiner and SSE show what the live
// spectator saw, byte for byte.
func checkLog(p *process, id string, live *spectator) {
	p.t.Helper()
	var rest struct{ Items []json.RawMessage }
	p.call(p.admin, http.MethodGet, "/v1/matches/"+id+"/events?since=0&limit=1000", nil, &rest)
	late := p.watch(id, 0)
	late.end(nil)
	for i, e := range live.seen {
		if i >= len(rest.Items) || i >= len(late.seen) || !bytes.Equal(rest.Items[i], e.Raw) || !bytes.Equal(late.seen[i].Raw, e.Raw) {
			p.t.Fatalf("event %d is not the same live, late and by REST: %s", i+1, e.Raw)
		}
	}
	var sse bytes.Buffer
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/v1/stream?since=0&match="+id, nil)
	must(p.t, err)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	must(p.t, err)
	defer resp.Body.Close() //nolint:errcheck // only read from
	_, _ = io.Copy(&sse, resp.Body)
	last := live.seen[len(live.seen)-1]
	if !bytes.Contains(sse.Bytes(), []byte(fmt.Sprintf("id: %d\n", last.Seq))) || !bytes.Contains(sse.Bytes(), last.Raw) {
		p.t.Errorf("the event stream lacks the last event: %s", sse.Bytes())
	}
}

// checkTokens verifies every request's token as an outside program would:
// with the served JWKS and nothing else.
func checkTokens(p *process, match string, agents ...*contestant) {
	p.t.Helper()
	keys, err := keyfunc.NewDefaultCtx(p.t.Context(), []string{p.url + "/.well-known/jwks.json"})
	must(p.t, err)
	jtis := map[string]bool{}
	for _, a := range agents {
		requests := a.Requests()
		if len(requests) != 3 {
			p.t.Errorf("%d requests in 3 rounds", len(requests))
		}
		for i, r := range requests {
			claims := jwt.MapClaims{}
			_, err := jwt.ParseWithClaims(r.Token(), claims, keys.Keyfunc, jwt.WithIssuer(p.url), jwt.WithAudience(a.id),
				jwt.WithSubject(a.id), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithValidMethods([]string{"ES256"}))
			must(p.t, err)
			jtis[claims["jti"].(string)] = true
			want := map[string]any{
				"agent_id": a.id, "match_id": match, "round": float64(i + 1), "bh": bodyHash(r.Body), "expires_at": claims["exp"],
			}
			for name, v := range want {
				if diff := cmp.Diff(v, claims[name]); diff != "" {
					p.t.Errorf("claim %s differs (-want +got):\n%s", name, diff)
				}
			}
			p.refused(apiclient.New(p.url, r.Token()), http.MethodGet, "/v1/me", nil, http.StatusUnauthorized, "unauthorized")
		}
	}
	if len(jtis) != 6 {
		p.t.Errorf("%d different jti in 6 tokens", len(jtis))
	}
}

// checkSettledOnce settles the match again, against the database of the
// running server: the second settlement changes nothing.
func checkSettledOnce(t *testing.T, dir, id string) {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+dir+"/arena.db", store.Options{Logger: discard(), Now: time.Now})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	m, err := s.Matches.Match(t.Context(), id)
	must(t, err)
	before, err := s.Ratings.AgentRatings(t.Context(), []string{m.Seats[0].AgentID, m.Seats[1].AgentID})
	must(t, err)
	events, err := s.Matches.Settle(t.Context(), m.Lease, arena.Result{MatchID: id, League: m.League, Seats: m.Seats, Rated: true}, time.Now(),
		func(map[string]arena.Rating) []arena.RatingChange {
			return []arena.RatingChange{{AgentID: m.Seats[0].AgentID, Delta: 1000}}
		},
		func([]arena.RatingChange) (arena.Event, error) {
			return arena.Event{Type: arena.EventMatchFinished}, nil
		})
	after, errAfter := s.Ratings.AgentRatings(t.Context(), []string{m.Seats[0].AgentID, m.Seats[1].AgentID})
	must(t, errAfter)
	if len(events) != 0 || err != nil && arena.CodeOf(err) != arena.CodeLeaseLost || !cmp.Equal(before, after) {
		t.Errorf("a second settle gave %v, %v, ratings %v to %v", events, err, before, after)
	}
}

// A crash in the middle of a round: what a spectator saw is still there, the
// match continues where it stood, and the spectator misses nothing.
func TestE2E_KillAndRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	stuck := make(chan struct{})
	ada := p.contestant("Ada", func(r protocoltest.Request) protocoltest.Behaviour {
		if r.Task.Round == 2 && r.Task.Attempt == 1 {
			return protocoltest.When(stuck, protocoltest.Answer("too late"))
		}
		return protocoltest.Answer(correct(r))
	}, "trivia")
	bob := p.contestant("Bob", answers("no"), "trivia")
	id := p.schedule("trivia", ada, bob)
	before := p.watch(id, 0)
	last := before.until(func(e event) bool { return e.Type == "seat_outcome" && e.Round == 2 && e.AgentID == bob.id })
	p.kill()

	// The same address: agents identify the arena by it.
	p = serve(t, dir, "ARENA_ADDR="+strings.TrimPrefix(p.url, "http://"))
	after := p.watch(id, last.Seq)
	var result finished
	after.end(&result)
	before.gapless(1)
	after.gapless(last.Seq + 1)
	if !result.Rated || len(bob.Requests()) != 3 {
		t.Errorf("rated %v, Bob was asked %d times in 3 rounds", result.Rated, len(bob.Requests()))
	}
	again := p.watch(id, 0)
	again.end(nil)
	for i, e := range before.seen {
		if !bytes.Equal(again.seen[i].Raw, e.Raw) {
			t.Fatalf("event %d was seen as %s and is now %s", e.Seq, e.Raw, again.seen[i].Raw)
		}
	}
}

// What an agent may do on the stream with a task's token.
func TestE2E_AgentStream(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("live", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "visibility": "live"})
	gate := make(chan struct{})
	ada := p.contestant("Ada", func(r protocoltest.Request) protocoltest.Behaviour {
		return protocoltest.When(gate, protocoltest.Answer(correct(r)))
	}, "live")
	bob := p.contestant("Bob", answers("no"), "live")
	id := p.schedule("live", ada, bob)
	s := p.watch(id, 0)
	req, err := ada.WaitRequest(t.Context(), 1)
	must(t, err)

	header := http.Header{"Authorization": {"Bearer " + req.Token()}}
	ws := strings.Replace(p.url, "http", "ws", 1) + "/v1/stream"
	_, resp, err := websocket.Dial(t.Context(), ws+"?match=m_other", &websocket.DialOptions{HTTPHeader: header})
	if err == nil || resp == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token for another match: %v, %v", resp, err)
	}
	conn, _, err := websocket.Dial(t.Context(), ws, &websocket.DialOptions{HTTPHeader: header})
	must(t, err)
	defer conn.CloseNow() //nolint:errcheck // the test is over
	must(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"thinking","message":"<b>hm</b>"}`)))
	thought := s.until(func(e event) bool { return e.Type == "thinking" })
	if thought.AgentID != ada.id || thought.Round != 1 || !bytes.Contains(thought.Raw, []byte(`"message":"<b>hm</b>"`)) {
		t.Errorf("the thought came as %s", thought.Raw)
	}
	var posted struct{ Accepted int }
	body := []byte(`{"type":"tool_call","tool":"search","args":{"q":1}}` + "\n" + `{"type":"tool_response","result":"2","duration_ms":3}` + "\n")
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/stream", bytes.NewReader(body))
	must(t, err)
	post.Header.Set("Authorization", header.Get("Authorization"))
	post.Header.Set("Content-Type", "application/x-ndjson")
	answer, err := http.DefaultClient.Do(post)
	must(t, err)
	defer answer.Body.Close() //nolint:errcheck // only read from
	must(t, json.NewDecoder(answer.Body).Decode(&posted))
	if posted.Accepted != 2 {
		t.Errorf("%d of 2 posted events were accepted", posted.Accepted)
	}
	close(gate)
	s.end(nil)
	s.gapless(1)
}

// Bad input gets a clear refusal that names the field and the limit.
func TestE2E_BadInput(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	pack := p.pack(3)
	p.league("trivia", pack, map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	ada := p.contestant("Ada", answers(""), "trivia")
	for endpoint, code := range map[string]string{
		"not a url":                  "endpoint_invalid",
		"ftp://example.com/agora":    "endpoint_invalid",
		"http://10.0.0.1/agora":      "endpoint_blocked",
		"http://169.254.169.254/":    "endpoint_blocked",
		"http://[::ffff:10.0.0.1]/":  "endpoint_blocked",
		"http://user:pw@example.com": "endpoint_invalid",
		p.url + "/agora":             "endpoint_own",
	} {
		p.refused(ada.owner, http.MethodPost, "/v1/agents", map[string]any{"name": "x", "endpoint": endpoint, "leagues": []string{}}, 422, code)
	}
	agent := map[string]any{"name": "ADA", "endpoint": ada.Endpoint(), "leagues": []string{"trivia"}}
	p.refused(ada.owner, http.MethodPost, "/v1/agents", agent, 409, "name_taken")
	agent["rating"] = 3000
	p.refused(ada.owner, http.MethodPost, "/v1/agents", agent, 422, "invalid")

	p.refused(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=empty", []byte("\n"), 422, "pack_invalid")
	bad := p.refused(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=bad",
		[]byte(`{"description":"q","answer":"a"}`+"\n"+`{"description":"q"}`+"\n"), 422, "pack_invalid")
	if len(bad.Errors) != 1 || !strings.Contains(bad.Errors[0].Field, "2") {
		t.Errorf("a bad line 2 is reported as %+v", bad.Errors)
	}
	line := []byte(`{"description":"q","answer":"a"}` + "\n")
	many := p.refused(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=many", bytes.Repeat([]byte("{}\n"), 1_000_000), 413, "too_large")
	huge := p.refused(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=huge", bytes.Repeat(line, 3_200_000), 413, "too_large")
	for _, r := range []apiclient.Problem{many, huge} {
		if !strings.ContainsAny(r.Detail, "0123456789") {
			t.Errorf("the limit is not named: %s", r.Detail)
		}
	}
	p.refused(p.admin, http.MethodPost, "/v1/leagues", map[string]any{
		"slug": "none", "title": "None", "pack_id": "pk_none", "judge": "exact", "rounds": 3, "time_limit_seconds": 5, "rated": true,
	}, 422, "invalid")
	p.refused(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "trivia", "agents": []string{ada.id}}, 422, "invalid")
	p.refused(ada.owner, http.MethodPost, "/v1/matches", map[string]any{"league": "trivia", "agents": []string{ada.id, ada.id}}, 403, "forbidden")
	p.refused(apiclient.New(p.url, "wrong"), http.MethodGet, "/v1/me", nil, 401, "unauthorized")
	p.refused(apiclient.New(p.url, ""), http.MethodGet, "/v1/nothing", nil, 404, "not_found")
}

// Three failed health checks pause an agent, two good ones resume it.
func TestE2E_Health(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "ARENA_HEALTH_INTERVAL=1s")
	p.league("trivia", p.pack(3), nil)
	ada := p.contestant("Ada", answers(""), "trivia")
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(p.url, "http", "ws", 1)+"/v1/stream?lobby=1", nil)
	must(t, err)
	defer conn.CloseNow() //nolint:errcheck // the test is over
	lobby := &spectator{t: t, conn: conn}
	lobby.read() // hello
	ada.SetHealth(protocoltest.HealthFails())
	paused := lobby.until(func(e event) bool { return e.Type == "agent_paused" && e.AgentID == ada.id })
	if !bytes.Contains(paused.Raw, []byte(`"reason":"health"`)) {
		t.Errorf("paused as %s", paused.Raw)
	}
	ada.SetHealth(protocoltest.Healthy(1, "trivia"))
	lobby.until(func(e event) bool { return e.Type == "agent_resumed" && e.AgentID == ada.id })
	var agent struct{ Status string }
	p.call(p.admin, http.MethodGet, "/v1/agents/"+ada.id, nil, &agent)
	if agent.Status != "active" {
		t.Errorf("after two good checks the agent is %s", agent.Status)
	}
	var metrics bytes.Buffer
	readAll(t, p.metrics, &metrics)
	for _, name := range []string{"arena_health_checks_total", "arena_stream_open", "arena_agents", "go_goroutines"} {
		if !bytes.Contains(metrics.Bytes(), []byte(name)) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		p.call(p.admin, http.MethodGet, path, nil, nil)
	}
}
