package agora

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxReply is the most that is read of a reply of the arena.
const maxReply = 1 << 20

// errGone means that the conversation, or the base, no longer exists.
var errGone = errors.New("agora: the conversation is over")

// exchange posts one message and returns the body of the reply and the id of
// the conversation, if there is one.
func exchange(ctx context.Context, client *http.Client, url string, message map[string]any) (body, id string, err error) {
	data, err := json.Marshal(message)
	if err != nil {
		return "", "", fmt.Errorf("agora: encode: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return "", "", fmt.Errorf("agora: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return "", "", fmt.Errorf("agora: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return "", "", fmt.Errorf("agora: read the reply: %w", err)
	}
	var r struct {
		Status string          `json:"status"`
		Body   json.RawMessage `json:"body"`
		Error  string          `json:"error"`
		ID     string          `json:"conversationId"`
	}
	err = json.Unmarshal(text, &r)
	switch {
	case resp.StatusCode == http.StatusNotFound, err == nil && strings.Contains(r.Error, "expired"):
		return "", "", errGone
	case err != nil:
		return "", "", fmt.Errorf("agora: status %d, and the reply is not JSON", resp.StatusCode)
	case resp.StatusCode != http.StatusOK || r.Status != "success":
		return "", "", fmt.Errorf("agora: status %d: %s", resp.StatusCode, r.Error)
	}
	var s string
	if json.Unmarshal(r.Body, &s) == nil {
		return s, r.ID, nil
	}
	return string(r.Body), r.ID, nil
}

// first makes the first message under a document.
func first(hash, body string, multiround bool) map[string]any {
	return map[string]any{"protocolHash": hash, "protocolSources": []string{}, "body": body, "multiround": multiround}
}

// Registration describes an agent that is to be made.
type Registration struct {
	Name        string   `json:"name"`
	Leagues     []string `json:"leagues,omitempty"`     // slugs
	Endpoint    string   `json:"endpoint,omitempty"`    // base URL; "": it polls
	Version     string   `json:"version,omitempty"`     //
	Description string   `json:"description,omitempty"` //
	OwnerToken  string   `json:"owner_token,omitempty"` // "": an owner is made
	OwnerName   string   `json:"owner_name,omitempty"`  // of the owner that is made
}

// Registered is an agent that was made. Its secrets are shown once.
type Registered struct {
	AgentID    string `json:"agent_id"`
	Base       string `json:"base"`        // the agent's secret base URL
	OwnerToken string `json:"owner_token"` // "" unless an owner was made
}

// Register makes an agent at the arena with this base URL.
func Register(ctx context.Context, arena string, r Registration) (Registered, error) {
	return register(ctx, arena, r)
}

// FreshBase assigns a registered agent a new secret base URL. The one
// before ends.
func FreshBase(ctx context.Context, arena, agentID, ownerToken string) (Registered, error) {
	return register(ctx, arena, map[string]string{"agent_id": agentID, "owner_token": ownerToken})
}

func register(ctx context.Context, arena string, what any) (r Registered, err error) {
	text, err := json.Marshal(what)
	if err != nil {
		return r, fmt.Errorf("agora: encode: %w", err)
	}
	body, _, err := exchange(ctx, http.DefaultClient, strings.TrimRight(arena, "/")+"/agora", first(RegistrationHash, string(text), false))
	if err != nil {
		return r, fmt.Errorf("register: %w", err)
	}
	var said struct {
		Registered
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		return r, fmt.Errorf("agora: register: %w", err)
	}
	if said.Error != "" {
		return r, fmt.Errorf("agora: register: %s", said.Error)
	}
	return said.Registered, nil
}
