package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol/envelope"
)

// wrapper is the maximum size of {"envelope":…} around an envelope, in bytes.
const wrapper = 64

// post handles a posted envelope.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	stored, err := s.take(r, body)
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	reply(w, http.StatusOK, struct {
		OK  bool   `json:"ok"`
		ID  string `json:"id"`
		Seq int64  `json:"seq"`
	}{true, stored.ID, stored.No})
}

// readBody returns the envelope that a request brings, alone or as {"envelope":…}.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, envelope.MaxResult+wrapper))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, arena.Errorf(arena.CodeTooLarge, "the envelope is over %d KiB", envelope.MaxResult>>10)
	}
	if err != nil {
		return nil, arena.Errorf(arena.CodeMalformed, "the body could not be read")
	}
	return unwrap(body)
}

// unwrap returns the envelope in {"envelope":…}; one without is left as it is.
func unwrap(body []byte) ([]byte, error) {
	var found []byte
	members := 0
	var r strictjson.Reader
	err := r.Members(body, func(name string, value []byte) error {
		members++
		if name == "envelope" {
			found = value
		}
		return nil
	})
	if err != nil {
		return nil, arena.Errorf(arena.CodeMalformed, "the body is not the JSON of an envelope: %s", err)
	}
	if members == 1 && found != nil {
		return found, nil
	}
	return body, nil
}

// take checks an envelope and stores it. Nothing is stored of one that fails.
func (s *Server) take(r *http.Request, body []byte) (arena.Envelope, error) {
	e, err := envelope.Decode(body)
	if err != nil {
		return arena.Envelope{}, err
	}
	if !e.Fresh(s.o.Now()) {
		return arena.Envelope{}, arena.Errorf(arena.CodeInvalid, "ts is %s or more away from the relay's clock, which is at %s",
			envelope.Window, s.o.Now().UTC().Format(arena.TimeFormat))
	}
	agent, err := s.o.Agents.AgentByKey(r.Context(), arena.ProtocolEnvelope, e.Sender.ID)
	switch {
	case err != nil && arena.CodeOf(err) != arena.CodeNotFound:
		return arena.Envelope{}, fmt.Errorf("sender: %w", err)
	case err != nil && !s.o.Dev:
		return arena.Envelope{}, arena.Errorf(arena.CodeForbidden, "the sender is not the key of a registered agent")
	}
	stored, fresh, err := s.o.Log.Add(r.Context(), e, agent.OwnerID, s.o.OwnerBytes)
	if err != nil || !fresh || e.Type != envelope.TypeStatus {
		return stored, err
	}
	return stored, s.status(r, e, stored)
}

// status passes on the content of a STATUS: a manifest, or an event for spectators.
func (s *Server) status(r *http.Request, e *envelope.Envelope, stored arena.Envelope) error {
	manifest, ok, err := e.ManifestOf()
	if err != nil {
		return err
	}
	if ok {
		return s.o.Store.SaveManifest(r.Context(), stored.Sender, manifest, stored.ReceivedAt)
	}
	if stored.MatchID == "" {
		return nil
	}
	event, err := eventOf(e.Payload)
	if err != nil {
		return err
	}
	err = s.o.Events.Accept(r.Context(), stored.MatchID, stored.AgentID, event)
	if arena.CodeOf(err) == arena.CodeUnauthorized { // the signature is good, the seat does not exist
		return arena.Errorf(arena.CodeForbidden, "the agent has no seat in the match")
	}
	return err
}

// eventOf returns the event of AAP that a STATUS carries: its payload, or its
// payload's member event.
func eventOf(payload []byte) ([]byte, error) {
	var p struct {
		Event json.RawMessage `json:"event"`
	}
	if err := strictjson.UnmarshalOpen(payload, &p, "event"); err != nil {
		return nil, arena.Errorf(arena.CodeMalformed, "payload: %s", err)
	}
	if p.Event != nil {
		return p.Event, nil
	}
	return payload, nil
}

// announce handles the report that the high-level SDK sends about its agent at the
// start. Only a signed manifest counts: an envelope of type STATUS. Everything else
// is answered and dropped.
func (s *Server) announce(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	var signed struct {
		Sig json.RawMessage `json:"sig"`
	}
	if err := strictjson.UnmarshalOpen(body, &signed); err == nil && signed.Sig != nil {
		if _, err := s.take(r, body); err != nil {
			s.Refuse(w, r, err)
			return
		}
	}
	reply(w, http.StatusOK, struct {
		OK     bool `json:"ok"`
		Stored bool `json:"stored"`
	}{true, signed.Sig != nil})
}

// listed is an agent with its manifest.
type listed struct {
	Agent     string          `json:"agent"`
	Manifest  json.RawMessage `json:"manifest"`
	UpdatedAt string          `json:"updated_at"`
}

// discover lists manifests, those with an intent when one is named.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) {
	const most = 200
	var keys []arena.RelayKey
	err := s.read(r.Context(), func() (err error) {
		keys, err = s.o.Store.RelayManifests(r.Context(), most)
		return err
	})
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	intent := r.URL.Query().Get("intent")
	agents := []listed{}
	for _, k := range keys {
		m, err := envelope.DecodeManifest(k.Manifest, k.Key)
		if err != nil || intent != "" && !m.Offers(intent) {
			continue
		}
		agents = append(agents, listed{Agent: k.Key, Manifest: k.Manifest, UpdatedAt: k.ManifestAt.Format(arena.TimeFormat)})
	}
	reply(w, http.StatusOK, struct {
		OK     bool     `json:"ok"`
		Agents []listed `json:"agents"`
	}{true, agents})
}
