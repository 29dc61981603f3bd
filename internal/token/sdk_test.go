package token

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// An agent computes the time that is left from iat. On the last attempt of a task
// it must not get more, or its answer is late.
func TestKeys_Sign_leaves_an_agent_no_more_time_than_it_has(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := open(t, &rows{}, c, ES256)
	web := httptest.NewServer(k.JWKS())
	t.Cleanup(web.Close)
	for name, clock := range map[string]func() time.Time{
		"equal clocks": c.now,
		"clock behind": func() time.Time { return c.now().Add(-4 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var left time.Duration
			agent, err := arenaagent.New(arenaagent.Config{
				Arena: web.URL, Issuer: issuer, AgentID: "ag_a", Events: arenaagent.EventsOff, Now: clock,
			}, func(ctx context.Context, _ *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
				end, _ := ctx.Deadline()
				left = time.Until(end)
				return arenaagent.Answer{Value: "a"}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = agent.Close() })
			body := fmt.Sprintf(`{"match_id":"m_1","round":3,"task":{"description":"d"},"time_limit_seconds":20,"task_id":"tk_1","attempt":2,"deadline":%q}`,
				c.now().Add(3*time.Second).Format(time.RFC3339Nano))
			claims := task(c)
			sum := sha256.Sum256([]byte(body))
			claims.BodyHash = base64.RawURLEncoding.EncodeToString(sum[:])
			bearer, err := k.Sign(claims)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/agora", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+bearer)
			w := httptest.NewRecorder()
			agent.ServeHTTP(w, r)
			if w.Code != http.StatusOK || left > 4*time.Second { // iat has whole seconds
				t.Errorf("reply is %d %s, the handler had %s of 3s", w.Code, w.Body, left)
			}
		})
	}
}
