package pull_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// A body that is not an answer has the outcome of such a reply of an endpoint,
// and the reply names the fault. Threat P1.
func TestServer_Answer_invalid(t *testing.T) {
	t.Parallel()
	n, h := newHandler(t, newStore(t), mailbox.NewNotifier(nil))
	front := httptest.NewServer(h)
	t.Cleanup(front.Close)
	n.url, n.client = front.URL, front.Client()
	for name, c := range map[string]struct {
		body, contentType, encoding string
		code                        arena.Code
		reason, problem             string
	}{
		"no_JSON":      {body: "42", reason: "bad_json", code: arena.CodeMalformed, problem: "object"},
		"cut":          {body: `{"answer":"4`, reason: "bad_json", code: arena.CodeMalformed, problem: "JSON"},
		"no_answer":    {body: `{"confidence":1}`, reason: "empty_answer", code: arena.CodeMalformed, problem: "answer"},
		"twice":        {body: `{"answer":"4","answer":"5"}`, reason: "bad_json", code: arena.CodeMalformed, problem: "answer"},
		"too_large":    {body: `{"answer":"` + strings.Repeat("x", 64<<10) + `"}`, reason: "too_large", code: arena.CodeTooLarge, problem: "too large"},
		"content_type": {body: `{"answer":"4"}`, contentType: "text/plain", reason: "bad_content_type", code: arena.CodeMalformed, problem: "text/plain"},
		"encoding":     {body: `{"answer":"4"}`, encoding: "gzip", reason: "bad_encoding", code: arena.CodeMalformed, problem: "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := "ag_" + name
			reply := n.put(t.Context(), id, 2, time.Minute)
			k, _, _ := n.poll(id, "60")
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+"/"+id+"/tasks/"+k.TaskID+"/answer", strings.NewReader(c.body))
			must(t, err)
			r.Header.Set("Authorization", "Bearer "+id)
			r.Header.Set("Content-Type", "application/json")
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			resp, err := n.client.Do(r)
			must(t, err)
			defer resp.Body.Close() //nolint:errcheck // only read from
			code, err := io.ReadAll(resp.Body)
			must(t, err)
			problem := resp.Header.Get("Problem")
			if string(code) != string(c.code) || !strings.Contains(problem, c.problem) || !strings.Contains(problem, "the round counts as invalid ("+c.reason+")") {
				t.Errorf("the agent receives %s, %q", code, problem)
			}
			if r := <-reply; r.Outcome != arena.OutcomeInvalid || r.Reason != c.reason || r.Retry {
				t.Errorf("%+v", r)
			}
		})
	}
}
