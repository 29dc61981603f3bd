package relay

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
)

// remembered is how long an envelope is kept whatever its number: longer than
// the window in which its copy would be taken, and at least the ten minutes of
// the text.
const remembered = 15 * time.Minute

// showAtOnce is how many envelopes one transaction makes visible.
const showAtOnce = 200

// Sweep unseals envelopes of closed rounds, and deletes envelopes that are too old
// or too many. A job calls it every few seconds; one node is enough.
func (s *Server) Sweep(ctx context.Context) error {
	for {
		shown, err := s.o.Store.ShowEnvelopes(ctx, s.o.Now(), showAtOnce)
		if err != nil {
			return fmt.Errorf("relay sweep: %w", err)
		}
		for _, e := range shown {
			s.o.Log.Notify(e)
		}
		if len(shown) < showAtOnce {
			break
		}
	}
	now := s.o.Now()
	_, err := s.o.Store.SweepEnvelopes(ctx, arena.EnvelopeKeep{
		Since: now.Add(-s.o.Keep), Young: now.Add(-remembered), PerSender: s.o.KeepPerKey, All: s.o.KeepAll, PerOwner: s.o.OwnerBytes / 2,
	})
	if err != nil {
		return fmt.Errorf("relay sweep: %w", err)
	}
	return nil
}

// seed posts a few finished threads between two keys made for it, to try the
// relay with. Everything is signed.
func (s *Server) seed(w http.ResponseWriter, r *http.Request) {
	count := 0
	for range 3 {
		n, err := s.seedThread(r.Context())
		if err != nil {
			s.Refuse(w, r, err)
			return
		}
		count += n
	}
	reply(w, http.StatusOK, struct {
		OK    bool `json:"ok"`
		Count int  `json:"count"`
	}{true, count})
}

func (s *Server) seedThread(ctx context.Context) (int, error) {
	var parties [2]*envelope.Identity
	for i, name := range []string{"Demo client", "Demo agent"} {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return 0, fmt.Errorf("make a demo key: %w", err)
		}
		parties[i] = envelope.NewIdentity(private, name)
	}
	client, agent := parties[0], parties[1]
	thread, request := "thread_"+rand.Text(), "req_"+rand.Text()
	steps := []struct {
		from, to *envelope.Identity
		t        envelope.Type
		payload  any
	}{
		{client, agent, envelope.TypeRequest, envelope.Request{RequestID: request, Intent: "translation.en_zh", Title: "Translate a greeting", Params: []byte(`{"text":"Hello world"}`)}},
		{agent, client, envelope.TypeOffer, envelope.Offer{RequestID: request, Plan: "By heart", Price: &envelope.Price{Currency: "USD"}}},
		{client, agent, envelope.TypeAccept, envelope.Accept{RequestID: request, Terms: &envelope.Terms{}}},
		{agent, client, envelope.TypeResult, envelope.Result{RequestID: request, Status: envelope.ResultSuccess, Output: []byte(`{"translation":"你好，世界"}`)}},
	}
	for i, step := range steps {
		e, err := step.from.Sign(envelope.Draft{
			Type: step.t, At: s.o.Now().Add(time.Duration(i) * time.Millisecond), Recipient: step.to.DID(), Thread: thread,
			TTL: envelope.DefaultTTL, Payload: step.payload,
		})
		if err != nil {
			return i, fmt.Errorf("sign a demo envelope: %w", err)
		}
		if _, _, err := s.o.Log.Add(ctx, e, "", 0); err != nil {
			return i, err
		}
	}
	return len(steps), nil
}
