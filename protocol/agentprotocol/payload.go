package agentprotocol

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The payloads of the five types. Members that are not named here are passed
// over (text, "Extensibility").

type helloPayload struct {
	Version       string   `json:"version,omitempty"`
	Features      []string `json:"features,omitempty"`
	PublicKey     string   `json:"publicKey,omitempty"`     // SPKI
	MaxConcurrent int      `json:"maxConcurrent,omitempty"` // seats at a time; ours
}

type requestPayload struct {
	Action        string          `json:"action"`
	CorrelationID string          `json:"correlationId"`
	Params        json.RawMessage `json:"params,omitempty"`
	Timeout       int64           `json:"timeout,omitempty"` // ms
}

type responsePayload struct {
	CorrelationID string          `json:"correlationId"`
	Status        string          `json:"status"`
	Result        json.RawMessage `json:"result,omitempty"`
}

type errorPayload struct {
	CorrelationID string `json:"correlationId"`
	Code          Code   `json:"code"`
	Message       string `json:"message"`
	Details       any    `json:"details,omitempty"`
}

type notifyPayload struct {
	Event         string          `json:"event"`
	CorrelationID string          `json:"correlationId,omitempty"` // of the request that it is about; ours
	Data          json.RawMessage `json:"data"`
}

const (
	statusSuccess = "success"
	eventName     = "arena.event"
)

func readHello(data json.RawMessage) (p helloPayload, err error) {
	if err := readObject("payload", data, &p, "version", "features", "publicKey", "maxConcurrent"); err != nil {
		return p, err
	}
	if p.Version != "" && p.Version != Version {
		return p, fmt.Errorf("payload.version is not %q", Version)
	}
	return p, nil
}

func readRequest(data json.RawMessage) (p requestPayload, err error) {
	if err := readObject("payload", data, &p, "action", "correlationId", "params", "timeout"); err != nil {
		return p, err
	}
	if p.Action == "" {
		return p, errors.New("payload.action is missing")
	}
	return p, correlated(p.CorrelationID)
}

func readResponse(data json.RawMessage) (p responsePayload, err error) {
	if err := readObject("payload", data, &p, "correlationId", "status", "result"); err != nil {
		return p, err
	}
	if p.Status == "" {
		p.Status = statusSuccess
	}
	return p, correlated(p.CorrelationID)
}

func readError(data json.RawMessage) (p errorPayload, err error) {
	if err := readObject("payload", data, &p, "correlationId", "code", "message", "details"); err != nil {
		return p, err
	}
	switch {
	case p.Code == "":
		return p, errors.New("payload.code is missing")
	case p.Message == "":
		return p, errors.New("payload.message is missing")
	}
	return p, correlated(p.CorrelationID)
}

func readNotify(data json.RawMessage) (p notifyPayload, err error) {
	if err := readObject("payload", data, &p, "event", "correlationId", "data"); err != nil {
		return p, err
	}
	if p.Event == "" {
		return p, errors.New("payload.event is missing")
	}
	return p, nil
}

func correlated(id string) error {
	if id == "" || len(id) > 2*maxID {
		return fmt.Errorf("payload.correlationId is not 1 to %d bytes", 2*maxID)
	}
	return nil
}

// covers reports whether a listed capability stands for wanted: "ns:cap" without
// variant covers all of its variants, "ns:*" the whole namespace, a trailing
// "/*" one segment, a name without ":" only itself.
func covers(listed, wanted string) bool {
	if listed == wanted {
		return true
	}
	if before, ok := strings.CutSuffix(listed, "/*"); ok {
		segment, ok := strings.CutPrefix(wanted, before+"/")
		return ok && segment != "" && !strings.Contains(segment, "/")
	}
	namespace, name, qualified := strings.Cut(listed, ":")
	if !qualified {
		return false
	}
	rest, ok := strings.CutPrefix(wanted, namespace+":")
	if !ok {
		return false
	}
	capability, _, _ := strings.Cut(rest, "/")
	return name == "*" || name == capability
}

// newID makes a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
