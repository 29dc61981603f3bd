package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

// The examples of the SDKs that ask a language model, as real processes: the
// question goes to the model as the protocol of the model wants it, its answer
// comes back, and a model that is tired makes the agent say so.
func TestE2E_Docs_models(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask struct {
			Model     string
			MaxTokens int `json:"max_tokens"`
			Messages  []struct{ Role, Content string }
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &ask) != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" ||
			ask.Model != "small" || ask.MaxTokens != 500 || len(ask.Messages) != 2 || ask.Messages[0].Role != "system" || ask.Messages[1].Role != "user" {
			t.Errorf("the model was asked %s %s", r.URL.Path, body)
		}
		question := ask.Messages[len(ask.Messages)-1].Content
		if strings.HasPrefix(question, "tired?") {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		last := question[strings.LastIndex(question, "- ")+2:]
		_ = json.NewEncoder(w).Encode(map[string]any{ // the agent has gone
			"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": " " + last + "\n"}}},
			"usage":   map[string]any{"total_tokens": 42},
		})
	}))
	t.Cleanup(model.Close)
	for name, agent := range sdkAgents(t) {
		if name == "go" { // it has no such example
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replace := strings.NewReplacer("/agent.", "/model.", "examples/agent", "examples/model")
			command := append([]string{}, agent.command...)
			command[len(command)-1] = replace.Replace(command[len(command)-1])
			needed(t, append(agent.needs, command[len(command)-1]))
			arena := agenttest.New(t)
			endpoint := startAgent(t, arena.URL(), name, command, "MODEL_URL="+model.URL+"/v1", "MODEL=small", "MODEL_KEY=secret")
			reply, err := arena.Ask(t.Context(), endpoint, agenttest.Task{Description: "Which one?", Options: []string{"this", "that"}})
			if err != nil || reply.Answer != "that" || !strings.Contains(string(reply.Body), `"tokens":42`) && !strings.Contains(string(reply.Body), `"tokens": 42`) {
				t.Errorf("the agent answered %+v, %v", reply, err)
			}
			reply, err = arena.Ask(t.Context(), endpoint, agenttest.Task{MatchID: "m_2", Description: "tired?", Options: []string{"yes"}})
			if err != nil || reply.Status != http.StatusTooManyRequests {
				t.Errorf("the agent of a tired model answered %+v, %v", reply, err)
			}
		})
	}
}
