package e2e

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent/agora"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// said is a reply of two-party Agora.
type said struct {
	Status, Error string
	Body          string
	ID            string `json:"conversationId"`
}

// agora sends a message, as any client of two-party Agora would.
func (p *process) agora(url string, message map[string]any) said {
	p.t.Helper()
	body, err := json.Marshal(message)
	must(p.t, err)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	must(p.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must(p.t, err)
	defer resp.Body.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(resp.Body)
	must(p.t, err)
	var s said
	if err := json.Unmarshal(data, &s); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
		p.t.Fatalf("%s answers %d %s", url, resp.StatusCode, data)
	}
	return s
}

// document returns the hash of one of the arena's documents, by its name.
func (p *process) document(name string) string {
	p.t.Helper()
	var list map[string][]string
	p.call(apiclient.New(p.url, ""), http.MethodGet, "/agora/wellknown", nil, &list)
	for hash, sources := range list {
		if strings.HasPrefix(sources[0], "data:text/plain;charset=utf-8,name%3A%20"+strings.ReplaceAll(name, " ", "%20")+"%0A") {
			return hash
		}
	}
	p.t.Fatalf("the arena does not know %q: %v", name, list)
	return ""
}

// registered is an agent that was registered in a message.
type registered struct {
	ID    string `json:"agent_id"`
	Base  string `json:"base"`
	Token string `json:"owner_token"`
	Error string
}

func (p *process) registerAgora(body string) (r registered) {
	p.t.Helper()
	s := p.agora(p.url+"/agora", map[string]any{"protocolHash": p.document("Agora Arena Registration"), "body": body})
	if must(p.t, json.Unmarshal([]byte(s.Body), &r)); r.Error != "" || r.ID == "" || r.Base == "" {
		p.t.Fatalf("registration: %+v", s)
	}
	return r
}

// A match of two-party Agora through the real binary: one agent listens, the
// other only polls. Spectators see events of the one that polls, and anyone may
// ask for the result in plain words.
func TestE2E_Agora(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("mixed", p.pack(12), map[string]any{"format": "ladder", "rounds": 5, "min_seats": 2, "max_seats": 2, "time_limit_seconds": 30, "visibility": "live"})

	// Its answers are right in odd rounds.
	var listener struct {
		sync.Mutex
		paths []string
	}
	bob := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			Hash *string `json:"protocolHash"`
			Body string
		}
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &m)
		listener.Lock()
		listener.paths = append(listener.paths, r.Method+" "+r.URL.Path)
		listener.Unlock()
		w.Header().Set("Content-Type", "application/json")
		var task protocoltest.Task
		_ = json.Unmarshal([]byte(m.Body), &task)
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodDelete:
			_, _ = io.WriteString(w, `{"status":"success"}`)
		case m.Body == "{}":
			_, _ = io.WriteString(w, `{"status":"failure","error":"Unsupported protocol"}`) // health
		default:
			answer := correct(protocoltest.Request{Task: task})
			if task.Round%2 == 0 {
				answer = "wrong"
			}
			reply, _ := json.Marshal(map[string]any{"status": "success", "body": `{"answer":"` + answer + `"}`, "conversationId": "c1"})
			_, _ = w.Write(reply)
		}
	}))
	t.Cleanup(bob.Close)
	listens := p.registerAgora(fmt.Sprintf(`{"name":"Bob","leagues":["mixed"],"endpoint":%q}`, bob.URL+"/agora"))
	polls := p.registerAgora(`{"name":"Cyd","leagues":["mixed"]}`)

	status := func(id string) (a struct{ Status, Protocol string }) {
		p.call(p.admin, http.MethodGet, "/v1/agents/"+id, nil, &a)
		return a
	}
	if a := status(listens.ID); a.Status != "active" || a.Protocol != "agora" {
		t.Fatalf("Bob is %+v", a)
	}
	if a := status(polls.ID); a.Status != "pending" {
		t.Fatalf("Cyd is %+v", a)
	}
	document := p.document("Agora Arena Agent")
	session := p.agora(polls.Base, map[string]any{"protocolHash": document, "multiround": true, "body": `{"op":"next","wait_seconds":1}`})
	if a := status(polls.ID); session.Body != `{"task":null}` || a.Status != "active" {
		t.Fatalf("Cyd is %+v after its first poll: %+v", a, session)
	}

	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "mixed", "agents": []string{listens.ID, polls.ID}}, &m)
	stream := p.watch(m.ID, 0)
	at := polls.Base + "/conversations/" + session.ID
	for round := 1; round <= 5; {
		var next struct {
			Task    *int64
			Request protocoltest.Task
		}
		must(t, json.Unmarshal([]byte(p.agora(at, map[string]any{"status": "success", "body": `{"op":"next"}`}).Body), &next))
		if next.Task == nil {
			continue
		}
		if next.Request.Round != round {
			t.Fatalf("Cyd got round %d, want %d", next.Request.Round, round)
		}
		show := fmt.Sprintf(`{"op":"event","match_id":%q,"events":[{"type":"thinking","message":"round %d, well"}]}`, m.ID, round)
		if s := p.agora(at, map[string]any{"body": show}); s.Body != `{"accepted":1}` {
			t.Fatalf("event: %+v", s)
		}
		answer := fmt.Sprintf(`{"op":"answer","task":%d,"reply":{"answer":"nobody knows"}}`, *next.Task)
		if s := p.agora(at, map[string]any{"body": answer}); s.Body != `{"accepted":true}` {
			t.Fatalf("answer: %+v", s)
		}
		round++
	}
	var end finished
	stream.end(&end)
	points := map[string]float64{}
	for _, s := range end.Seats {
		points[s.AgentID] = s.Points
	}
	if points[listens.ID] != 3 || points[polls.ID] != 0 || len(end.RatingChanges) != 2 {
		t.Errorf("the end is %+v", end)
	}
	thoughts := 0
	for _, e := range stream.seen {
		if e.Type == "thinking" && e.AgentID == polls.ID {
			thoughts++
		}
	}
	if thoughts != 5 {
		t.Errorf("spectators saw %d thoughts of Cyd", thoughts)
	}
	listener.Lock()
	paths := strings.Join(listener.paths, ", ")
	listener.Unlock()
	if want := "GET /agora/wellknown, POST /agora" + strings.Repeat(", POST /agora/conversations/c1", 4); !strings.Contains(paths, want) {
		t.Errorf("Bob received %s", paths)
	}
	if s := p.agora(p.url+"/agora", map[string]any{"body": "Who leads the standings of mixed?"}); !strings.Contains(s.Body, "1. Bob, 1520.000? after 1 rated matches") {
		t.Errorf("plain words: %+v", s)
	}
}

// The SDK identifies each document by the hash of its text.
func TestDocs_agoraHashes(t *testing.T) {
	t.Parallel()
	for name, hash := range map[string]string{
		"round": agora.RoundHash, "judge": agora.JudgeHash, "health": agora.HealthHash, "agent": agora.AgentHash, "registration": agora.RegistrationHash,
	} {
		sum := sha1.Sum([]byte(docText(t, "protocol/agora/documents/"+name+".txt")))
		if hash != hex.EncodeToString(sum[:]) {
			t.Errorf("the SDK knows the document %s by %s, it is %x", name, hash, sum)
		}
	}
}
