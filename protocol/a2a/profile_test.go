package a2a

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Each forgery differs from a genuine message in one thing, and no token is
// kept with the request. Threat E7.
func TestDriver_forgeries(t *testing.T) {
	t.Parallel()
	d := newDriver(t, &seen{}).with(func(o *Options) {
		o.Sign = func(arena.TaskClaims) (string, error) { return "for the whole match", nil }
	})
	sign := func(c arena.TaskClaims) (string, error) {
		text, err := json.Marshal(c)
		return "e30." + base64.RawURLEncoding.EncodeToString(text) + ".c2lnbmF0dXJl", err
	}
	a := newAgent(t, v10, false, func(int, asked) protocoltest.Behaviour { return protocoltest.Status(http.StatusForbidden) })
	at := protocoltest.NewAttempt(a.URL, enough)
	at.Task.Description = "What is the capital of Australia?"
	unknown := func(arena.TaskClaims) (string, error) { return "unknown", nil }
	forgeries := d.Profile(sign, unknown).Forgeries
	for i, f := range forgeries {
		send, err := f.Send(t.Context(), at)
		must(t, err)
		r := send(t.Context())
		q := a.requests()[i]
		token, bearer := q.Params.Message.Metadata[tokenMember], strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
		if !r.Refused || r.Outcome != arena.OutcomeInvalid || token != bearer || token != "" && strings.Contains(string(r.Request), token) {
			t.Errorf("%s: token %q, bearer %q, reply %+v", f.ID, token, bearer, r)
		}
		parts := strings.Split(token, ".")
		claims := arena.TaskClaims{}
		if len(parts) == 3 {
			text, err := base64.RawURLEncoding.DecodeString(parts[1])
			must(t, err)
			must(t, json.Unmarshal(text, &claims))
		}
		canonical, err := strictjson.Canonical(q.Params.Message.Parts[1].Data)
		must(t, err)
		hash := sha256.Sum256(canonical)
		covers := claims.BodyHash == base64.RawURLEncoding.EncodeToString(hash[:])
		forged := map[string]bool{
			"token.missing": token == "", "token.stranger": token == "unknown",
			"token.signature": covers && parts[0] == "e30" && parts[2] != "c2lnbmF0dXJl", "token.none": covers && parts[0] != "e30" && parts[2] == "",
			"token.expired":     covers && claims.ExpiresAt.Before(d.o.Now()),
			"token.other_agent": covers && claims.AgentID != at.Seat.AgentID, "token.other_body": len(parts) == 3 && !covers,
		}
		if !forged[f.ID] {
			t.Errorf("%s: token %q, claims %+v, covers the data: %t", f.ID, token, claims, covers)
		}
	}
	if len(forgeries) != 7 {
		t.Errorf("%d forgeries", len(forgeries))
	}
}

// An agent refuses with a status of HTTP or with the state of its task.
func TestDriver_refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does protocoltest.Behaviour
		want bool
	}{
		"401": {protocoltest.Status(http.StatusUnauthorized), true}, "403": {protocoltest.Status(http.StatusForbidden), true},
		"rejected": {replies(result(task1("REJECTED", `}`))), true}, "auth required": {replies(result(task1("AUTH_REQUIRED", `}`))), true},
		"failed": {replies(result(task1("FAILED", `}`))), false}, "answered": {replies(said(v10, "Canberra")), false},
	} {
		a := newAgent(t, v10, false, func(int, asked) protocoltest.Behaviour { return c.does })
		if r := play(t, newDriver(t, &seen{}), protocoltest.NewAttempt(a.URL, enough)); r.Refused != c.want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
