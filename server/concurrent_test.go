package server

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
)

// Requests that come together share what the API keeps between requests: the
// lobby's highlights, ranks, /llms.txt. The tests of api run without the
// race detector.
func TestServer_concurrentRequests(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	ok := func(method, path, token, body string) []byte {
		w := request(t, s, method, path, token, body)
		if w.Code/100 != 2 {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return w.Body.Bytes()
	}
	ok(http.MethodPost, "/v1/leagues", testAdmin, `{"slug":"sums","title":"Sums","generator":{"name":"arithmetic"},"judge":"number","rounds":1,"time_limit_seconds":5,"rated":true}`)
	var owner struct{ Token string }
	if err := json.Unmarshal(ok(http.MethodPost, "/v1/owners", "", `{"name":"Kim"}`), &owner); err != nil {
		t.Fatal(err)
	}
	ok(http.MethodPost, "/v1/agents", owner.Token, `{"name":"Ada","endpoint":"http://127.0.0.1:9/agora","leagues":["sums"]}`)
	start := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		for _, path := range []string{
			"/v1/lobby", "/llms.txt", "/v1/agents", "/v1/agents?league=sums", "/v1/leagues", "/v1/leagues/sums/standings", "/v1/matches", "/v1/openapi.json",
		} {
			all.Go(func() {
				<-start
				if w := request(t, s, http.MethodGet, path, "", ""); w.Code != http.StatusOK {
					t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
				}
			})
		}
	}
	close(start)
	all.Wait()
}
