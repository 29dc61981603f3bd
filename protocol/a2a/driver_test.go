package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Threats R1 to R4, R6, R8, R9, R11, S4: all of them meet the reading of the card.
func TestDriver_Suite(t *testing.T) {
	t.Parallel()
	for _, v := range []version{v10, v03} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			protocoltest.RunDriverSuite(t, protocoltest.Suite{
				Driver:  newDriver(t, &seen{}),
				Answer:  func(text string) protocoltest.Behaviour { return replies(said(v, text)) },
				Healthy: healthy(v, false),
			})
		})
	}
}

// known is a driver that has read the card of every endpoint before.
type known struct {
	*Driver
	streaming bool
}

func (k known) Prepare(ctx context.Context, a arena.Attempt) (func(context.Context) arena.Reply, error) {
	k.cards.put(a.Seat.Endpoint, service{url: a.Seat.Endpoint, version: v10, streaming: k.streaming, maxConcurrent: 1})
	return k.Driver.Prepare(ctx, a)
}

// The same threats against the message itself, plain and streamed.
func TestDriver_Suite_known_card(t *testing.T) {
	t.Parallel()
	for name, streaming := range map[string]bool{"plain": false, "streaming": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocoltest.RunDriverSuite(t, protocoltest.Suite{
				Driver: known{newDriver(t, &seen{}), streaming},
				Answer: func(text string) protocoltest.Behaviour {
					if streaming {
						return events(true, said(v10, text))
					}
					return replies(said(v10, text))
				},
				Healthy: healthy(v10, streaming),
			})
		})
	}
}

// What an agent does has the same outcome whether it replies at once, as a task
// that is polled, or in a stream.
func TestDriver_outcome_table(t *testing.T) {
	t.Parallel()
	working := result(task1("WORKING", `}`))
	for name, way := range map[string]struct {
		streaming bool
		begin     protocoltest.Behaviour
	}{
		"polled": {false, replies(working)}, "stream": {true, events(false, working)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocoltest.RunOutcomeTable(t, func(t *testing.T, does protocoltest.Does, limit time.Duration) arena.Reply {
				t.Helper()
				end := map[protocoltest.Does]protocoltest.Behaviour{
					protocoltest.Answers:    replies(result(task0("COMPLETED", `},"artifacts":[{"artifactId":"a","parts":[{"text":"Canberra"}]}]`))),
					protocoltest.SaysLate:   protocoltest.Status(http.StatusRequestTimeout),
					protocoltest.RateLimits: protocoltest.RateLimited(),
					protocoltest.Fails:      replies(result(task0("FAILED", `}`))),
					protocoltest.Leaves:     replies(result(task0("REJECTED", `}`))),
					protocoltest.Garbles:    replies(result(task0("COMPLETED", `}`))),
					protocoltest.KeepsQuiet: replies(result(task0("WORKING", `}`))),
				}[does]
				a := newAgent(t, v10, way.streaming, func(n int, q asked) protocoltest.Behaviour {
					if n == 1 {
						return way.begin
					}
					return end
				})
				return play(t, newDriver(t, &seen{}), protocoltest.NewAttempt(a.URL, limit))
			})
		})
	}
}

// Each message, in both versions: text, data, token and context.
func TestDriver_message(t *testing.T) {
	t.Parallel()
	for _, v := range []version{v10, v03} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, v, false, func(int, asked) protocoltest.Behaviour { return replies(said(v, "Canberra")) })
			d := newDriver(t, &seen{})
			first := protocoltest.NewAttempt(a.URL, enough)
			second := first
			second.Round, second.Task.ID = 2, "tk_2"
			retry := second
			retry.Number = 2
			other := first
			other.MatchID = "m_2"
			judging := first
			judging.Judging = true
			for _, at := range []arena.Attempt{first, second, retry, other, judging, judging} {
				r := play(t, d, at)
				if r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" || r.SentAt.IsZero() || r.Elapsed <= 0 || r.Status != 200 {
					t.Fatalf("reply %+v", r)
				}
				if token := "signed-"; strings.Contains(string(r.Request), token) || !strings.Contains(string(r.Request), "Canberra") {
					t.Errorf("kept request %s", r.Request)
				}
			}
			asked := a.requests()
			q := asked[0]
			m := q.Params.Message
			if len(m.Parts) != 2 || !strings.Contains(m.Parts[0].Text, "What is the capital of Australia?\n- Sydney\n- Canberra\n") {
				t.Fatalf("parts %+v", m.Parts)
			}
			var task protocoltest.Task
			must(t, json.Unmarshal(m.Parts[1].Data, &task))
			if task.MatchID != "m_1" || task.TaskID != "tk_1" || task.Round != 1 || task.Attempt != 1 {
				t.Errorf("task %+v", task)
			}
			canonical, err := strictjson.Canonical(m.Parts[1].Data)
			must(t, err)
			hash := sha256.Sum256(canonical)
			token := "signed-" + base64.RawURLEncoding.EncodeToString(hash[:])
			if m.Metadata["arena_token"] != token || q.Header.Get("Authorization") != "Bearer "+token {
				t.Errorf("metadata %v, authorization %q, want %q", m.Metadata, q.Header.Get("Authorization"), token)
			}
			want := map[version][5]string{v10: {"SendMessage", "ROLE_USER", "", "", "1.0"}, v03: {"message/send", "user", "message", "data", ""}}[v]
			if got := [5]string{q.Method, m.Role, m.Kind, m.Parts[1].Kind, q.Header.Get("A2A-Version")}; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if blocking := q.Params.Configuration["blocking"]; (blocking == true) != (v == v03) {
				t.Errorf("blocking %v", blocking)
			}
			ids, contexts := map[string]bool{}, []string{}
			for _, q := range asked {
				ids[q.Params.Message.MessageID] = true
				contexts = append(contexts, q.Params.Message.ContextID)
			}
			if len(ids) != 4 { // the questions to a judge reuse the ids of the first round here
				t.Errorf("ids of messages %v", ids)
			}
			if contexts[0] != contexts[1] || contexts[1] != contexts[2] || contexts[0] == contexts[3] || contexts[4] == contexts[5] || contexts[0] == contexts[4] || len(contexts[0]) != 36 {
				t.Errorf("contexts %v", contexts)
			}
		})
	}
}

// The states of a task, the errors of JSON-RPC and the forms of an answer.
func TestDriver_outcomes(t *testing.T) {
	t.Parallel()
	failed := func(code string) string {
		return `{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"no","data":[1]}}`
	}
	parts := func(text string) string { return result(`{"message":{"role":"ROLE_AGENT","parts":[` + text + `]}}`) }
	artifacts := func(text string) string {
		return result(task1("COMPLETED", `,"message":{"parts":[{"text":"done"}]}},"artifacts":[`+text+`]`))
	}
	for _, c := range []struct {
		name, reply string
		want        arena.Outcome
		retry       bool
		reason      string // or the answer
	}{
		{"data", parts(`{"text":"hm"},{"data":{"answer":"x","confidence":0.5}},{"text":"y"}`), arena.OutcomeAnswered, false, "x"},
		{"last data", parts(`{"data":{"answer":"x"}},{"data":{"answer":7}},{"data":{"mood":1}}`), arena.OutcomeAnswered, false, "7"},
		{"last text", parts(`{"text":"hm"},{"text":" Canberra \n"},{"text":""}`), arena.OutcomeAnswered, false, "Canberra"},
		{"text with JSON", parts(`{"text":"{\"answer\":\"x\",\"tokens\":3}"}`), arena.OutcomeAnswered, false, "x"},
		{"text with other JSON", parts(`{"text":"{\"a\":1}"}`), arena.OutcomeAnswered, false, `{"a":1}`},
		{"files alone", parts(`{"url":"https://a.example/x"},{"raw":"aGk="}`), arena.OutcomeInvalid, false, "empty_answer"},
		{"no parts", parts(``), arena.OutcomeInvalid, false, "empty_answer"},
		{"object for text", parts(`{"data":{"answer":{}}}`), arena.OutcomeInvalid, false, "bad_answer"},
		{"duplicate answer", parts(`{"data":{"answer":"x","answer":"y"}}`), arena.OutcomeInvalid, false, "bad_json"},
		{"long answer", parts(`{"data":{"answer":"` + strings.Repeat("x", 64<<10) + `"}}`), arena.OutcomeInvalid, false, "too_large"},
		{"long text", parts(`{"text":"` + strings.Repeat("x", 65<<10) + `"}`), arena.OutcomeInvalid, false, "too_large"},
		{"artifact before status", artifacts(`{"artifactId":"a","parts":[{"text":"x"}]}`), arena.OutcomeAnswered, false, "x"},
		{"last artifact", artifacts(`{"artifactId":"a","parts":[{"text":"x"}]},{"artifactId":"b","parts":[{"text":"y"}]}`), arena.OutcomeAnswered, false, "y"},
		{"data of any artifact", artifacts(`{"artifactId":"a","parts":[{"data":{"answer":"x"}}]},{"artifactId":"b","parts":[{"text":"y"}]}`), arena.OutcomeAnswered, false, "x"},
		{"status alone", artifacts(``), arena.OutcomeAnswered, false, "done"},
		{"failed", result(task1("FAILED", `,"message":{"parts":[{"text":"why"}]}}`)), arena.OutcomeError, true, "a2a_failed"},
		{"canceled", result(task1("CANCELED", `}`)), arena.OutcomeError, true, "a2a_canceled"},
		{"rejected", result(task1("REJECTED", `}`)), arena.OutcomeUnavailable, false, "a2a_rejected"},
		{"input required", result(task1("INPUT_REQUIRED", `}`)), arena.OutcomeInvalid, false, "a2a_waiting"},
		{"auth required", result(task1("AUTH_REQUIRED", `}`)), arena.OutcomeInvalid, false, "a2a_waiting"},
		{"unspecified", result(task1("UNSPECIFIED", `}`)), arena.OutcomeInvalid, false, "a2a_state"},
		{"no state", result(`{"task":{"id":"t1"}}`), arena.OutcomeInvalid, false, "bad_json"},
		{"no id", result(`{"task":{"status":{"state":"TASK_STATE_COMPLETED"}}}`), arena.OutcomeInvalid, false, "bad_json"},
		{"long id", result(`{"task":{"id":"` + strings.Repeat("x", 300) + `","status":{"state":"TASK_STATE_WORKING"}}}`), arena.OutcomeInvalid, false, "bad_json"},
		{"two results", result(`{"message":{"parts":[]},"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`), arena.OutcomeInvalid, false, "bad_json"},
		{"no result", result(`{}`), arena.OutcomeInvalid, false, "bad_json"},
		{"null", result(`null`), arena.OutcomeInvalid, false, "bad_json"},
		{"not JSON-RPC", `{"answer":"x"}`, arena.OutcomeInvalid, false, "bad_json"},
		{"two members", `{"jsonrpc":"2.0","result":{},"result":{}}`, arena.OutcomeInvalid, false, "bad_json"},
		{"another case", `{"jsonrpc":"2.0","Result":{}}`, arena.OutcomeInvalid, false, "bad_json"},
		{"internal error", failed("-32603"), arena.OutcomeError, true, "a2a_error"},
		{"own error", failed("-32050"), arena.OutcomeError, true, "a2a_error"},
		{"invalid params", failed("-32602"), arena.OutcomeError, false, "a2a_refused"},
		{"no such method", failed("-32601"), arena.OutcomeError, false, "a2a_refused"},
		{"version", failed("-32009"), arena.OutcomeUnavailable, false, "a2a_unsupported"},
		{"code of a wrong kind", failed(`"x"`), arena.OutcomeInvalid, false, "bad_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, v10, false, func(int, asked) protocoltest.Behaviour { return replies(c.reply) })
			r := play(t, newDriver(t, &seen{}), protocoltest.NewAttempt(a.URL, enough))
			found := r.Reason
			if r.Answer != nil {
				found = r.Answer.Answer
			}
			if r.Outcome != c.want || r.Retry != c.retry || found != c.reason || (r.Detail == "") != (r.Answer != nil) || (len(r.Head) == 0) != (r.Answer != nil) {
				t.Errorf("%+v; want %s, retry %t, %q", r, c.want, c.retry, c.reason)
			}
		})
	}
}

// A task that waits for input or for authentication is invalid in both versions, in a
// plain reply, in a stream and when it is polled.
func TestDriver_waits(t *testing.T) {
	t.Parallel()
	type form struct{ plain, update string }
	for state, forms := range map[string]map[version]form{
		"input": {
			v10: {result(task1("INPUT_REQUIRED", `}`)), result(`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`)},
			v03: {
				result(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"input-required"}}`),
				result(`{"kind":"status-update","taskId":"t1","contextId":"c1","final":true,"status":{"state":"input-required"}}`),
			},
		},
		"auth": {
			v10: {result(task1("AUTH_REQUIRED", `}`)), result(`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}`)},
			v03: {
				result(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"auth-required"}}`),
				result(`{"kind":"status-update","taskId":"t1","contextId":"c1","final":true,"status":{"state":"auth-required"}}`),
			},
		},
	} {
		for v, f := range forms {
			working, polled := result(task1("WORKING", `}`)), result(task0(strings.ToUpper(state)+"_REQUIRED", `}`))
			if v == v03 {
				working, polled = result(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}`), f.plain
			}
			for name, script := range map[string]struct {
				streaming bool
				answer    func(n int, q asked) protocoltest.Behaviour
			}{
				"plain":    {false, func(int, asked) protocoltest.Behaviour { return replies(f.plain) }},
				"streamed": {true, func(int, asked) protocoltest.Behaviour { return events(true, working, f.update) }},
				"polled": {false, func(n int, _ asked) protocoltest.Behaviour {
					if n == 1 {
						return replies(working)
					}
					return replies(polled)
				}},
			} {
				t.Run(state+" "+string(v)+" "+name, func(t *testing.T) {
					t.Parallel()
					a := newAgent(t, v, script.streaming, script.answer)
					r := play(t, newDriver(t, &seen{}), protocoltest.NewAttempt(a.URL, enough))
					if r.Outcome != arena.OutcomeInvalid || r.Reason != "a2a_waiting" || r.Retry || !strings.Contains(r.Detail, state+"-required") {
						t.Errorf("%+v", r)
					}
				})
			}
		}
	}
}

// A task that is not over is polled until it is. Its status messages become
// events, each once.
func TestDriver_polls(t *testing.T) {
	t.Parallel()
	a := newAgent(t, v10, false, func(n int, q asked) protocoltest.Behaviour {
		switch {
		case n == 1:
			return replies(result(task1("SUBMITTED", `}`)))
		case q.Params.ID != "t1":
			return replies(`{"jsonrpc":"2.0","error":{"code":-32001,"message":"no such task"}}`)
		case n < 4:
			return replies(result(task0("WORKING", `,"message":{"parts":[{"text":"hm"},{"text":"hm"}]}}`)))
		}
		return replies(result(task0("COMPLETED", `},"artifacts":[{"artifactId":"a","parts":[{"text":"Canberra"}]}]`)))
	})
	shown := &seen{}
	r := play(t, newDriver(t, shown), protocoltest.NewAttempt(a.URL, enough))
	if r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" || r.Elapsed < firstPause {
		t.Errorf("reply %+v", r)
	}
	if got := a.methods(); !slices.Equal(got, []string{"SendMessage", "GetTask", "GetTask", "GetTask"}) {
		t.Errorf("requests %v", got)
	}
	if got := shown.all(); !slices.Equal(got, []string{`m_1 ag_1 {"message":"hm\nhm","type":"thinking"}`}) {
		t.Errorf("events %v", got)
	}
}

// The task is canceled at the deadline, and when the arena ends the request.
func TestDriver_cancels(t *testing.T) {
	t.Parallel()
	for name, streaming := range map[string]bool{"polled": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			working := result(task1("WORKING", `}`))
			a := newAgent(t, v10, streaming, func(n int, q asked) protocoltest.Behaviour {
				switch {
				case q.Method == "GetTask":
					return replies(result(task0("WORKING", `}`)))
				case streaming && q.Method != "CancelTask":
					return events(true, working)
				}
				return replies(working)
			})
			d := newDriver(t, &seen{})
			if r := play(t, d, protocoltest.NewAttempt(a.URL, 2*time.Second)); r.Outcome != arena.OutcomeTimeout || r.Elapsed > 10*time.Second {
				t.Errorf("reply %+v", r)
			}
			d.Close()
			ended := a.requests()
			if last := ended[len(ended)-1]; last.Method != "CancelTask" || last.Params.ID != "t1" {
				t.Errorf("requests %v", a.methods())
			}

			ctx, stop := context.WithCancelCause(t.Context())
			send, err := d.Prepare(ctx, protocoltest.NewAttempt(a.URL, enough))
			must(t, err)
			for range ended {
				<-a.grown
			}
			go func() {
				<-a.grown // the message
				if !streaming {
					<-a.grown // a poll: the task is known
				}
				stop(errors.New("lease lost"))
			}()
			if r := send(ctx); r.Outcome != arena.OutcomeVoid || r.Retry {
				t.Errorf("reply %+v", r)
			}
			d.Close()
			if got := a.methods(); !streaming && got[len(got)-1] != "CancelTask" {
				t.Errorf("requests %v", got)
			}
		})
	}
}

// A card is read once for many rounds, and before a round when it is not known.
func TestDriver_Warm(t *testing.T) {
	t.Parallel()
	var cards atomic.Int64
	a := protocoltest.NewAgent(t, protocoltest.AgentOptions{
		Play:   func(protocoltest.Request) protocoltest.Behaviour { return replies(said(v10, "x")) },
		Health: func(w http.ResponseWriter, r *http.Request) { cards.Add(1); healthy(v10, false)(w, r) },
	})
	d := newDriver(t, &seen{})
	d.Warm(a.Endpoint())
	d.Close()
	d.Warm(a.Endpoint())
	d.Close()
	for range 3 {
		if r := play(t, d, protocoltest.NewAttempt(a.Endpoint(), enough)); r.Outcome != arena.OutcomeAnswered {
			t.Errorf("reply %+v", r)
		}
	}
	if n := cards.Load(); n != 1 {
		t.Errorf("the card was read %d times", n)
	}
	// Once known, a task is sent with the batch of its round.
	batch := protocoltest.NewAttempt(a.Endpoint(), enough)
	batch.Batch = &arena.Batch{}
	send, err := d.Prepare(t.Context(), batch)
	must(t, err)
	batch.Batch.Send()
	if _, err := a.WaitRequest(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if r := send(t.Context()); r.Outcome != arena.OutcomeAnswered {
		t.Errorf("reply %+v", r)
	}
}

// Libraries for Go send JSON without stating its type.
func TestDriver_text_plain(t *testing.T) {
	t.Parallel()
	a := newAgent(t, v03, false, func(int, asked) protocoltest.Behaviour {
		return protocoltest.Reply(http.StatusOK, "text/plain; charset=utf-8", said(v03, "x"))
	})
	if r := play(t, newDriver(t, &seen{}), protocoltest.NewAttempt(a.URL, enough)); r.Outcome != arena.OutcomeAnswered {
		t.Errorf("reply %+v", r)
	}
}

// The tenant of an interface stands in every request.
func TestDriver_tenant(t *testing.T) {
	t.Parallel()
	a := newAgent(t, v10, false, func(_ int, q asked) protocoltest.Behaviour {
		if q.Method == "SendMessage" {
			return replies(result(task1("WORKING", `}`)))
		}
		return replies(result(task0("WORKING", `}`)))
	})
	d := newDriver(t, &seen{})
	d.cards.put(a.URL, service{url: a.URL + "/rpc", version: v10, tenant: "acme"})
	if r := play(t, d, protocoltest.NewAttempt(a.URL, 2*time.Second)); r.Outcome != arena.OutcomeTimeout {
		t.Errorf("reply %+v", r)
	}
	d.Close()
	for _, q := range a.requests() {
		if q.Params.Tenant != "acme" {
			t.Errorf("%s without the tenant", q.Method)
		}
	}
	if got := a.methods(); len(got) < 3 || got[len(got)-1] != "CancelTask" {
		t.Errorf("requests %v", got)
	}
}

func TestDriver_Prepare_noEndpoint(t *testing.T) {
	t.Parallel()
	if _, err := newDriver(t, &seen{}).Prepare(t.Context(), protocoltest.NewAttempt("", enough)); err == nil {
		t.Error("an attempt without endpoint was prepared")
	}
}
