package envelope

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agora-arena/arena/internal/strictjson"
)

// Manifest is what an agent can do ("Capability Manifest"). It comes in a
// STATUS without a thread, as {"manifest": {…}}: signed like everything else.
type Manifest struct {
	ID                 string          `json:"id"`
	Name               string          `json:"name"`
	Description        string          `json:"description,omitempty"`
	Version            string          `json:"version,omitempty"`
	Intents            []Intent        `json:"intents"`
	Pricing            json.RawMessage `json:"pricing,omitempty"`
	PrivacyPolicy      string          `json:"privacy_policy,omitempty"`
	SupportedLanguages []string        `json:"supported_languages,omitempty"`
	Auth               *Auth           `json:"auth,omitempty"`
	// MaxConcurrent is an extension: how many matches the agent plays at once.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
}

// Intent is one service. The schemas are shown, not applied.
type Intent struct {
	ID           string          `json:"id"`
	Name         string          `json:"name,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
}

// Auth names the agent's key.
type Auth struct {
	Methods   []string `json:"methods"`
	PublicKey string   `json:"public_key,omitempty"`
}

// The limits of a manifest.
const (
	maxIntents    = 256
	maxConcurrent = 1000
)

// DecodeManifest reads the manifest of the agent with this did:key.
func DecodeManifest(data []byte, did string) (Manifest, error) {
	var m Manifest
	err := strictjson.UnmarshalOpen(data, &m, "id", "name", "description", "version", "intents", "pricing", "privacy_policy",
		"supported_languages", "auth", "max_concurrent")
	if err != nil {
		return m, malformed("manifest: %s", err)
	}
	switch {
	case m.ID == "" || len(m.ID) > MaxID:
		return m, malformed("manifest.id: must have 1 to %d characters", MaxID)
	case len(m.Name) > MaxName:
		return m, malformed("manifest.name: may have at most %d bytes", MaxName)
	case len(m.Intents) == 0 || len(m.Intents) > maxIntents:
		return m, malformed("manifest.intents: must be 1 to %d", maxIntents)
	case m.MaxConcurrent < 0 || m.MaxConcurrent > maxConcurrent:
		return m, malformed("manifest.max_concurrent: must be 1 to %d", maxConcurrent)
	case m.Auth != nil && len(m.Auth.Methods) > 0 && !slices.Contains(m.Auth.Methods, "ed25519"):
		return m, malformed("manifest.auth.methods: must hold ed25519")
	case m.Auth != nil && m.Auth.PublicKey != "" && "did:key:"+strings.TrimPrefix(m.Auth.PublicKey, "did:key:") != did:
		return m, malformed("manifest.auth.public_key: is not the sender's key")
	}
	for _, i := range m.Intents {
		if !intentForm.MatchString(i.ID) || len(i.ID) > MaxID {
			return m, malformed("manifest.intents: %.60q must be lower case words with dots, like translation.en_zh", i.ID)
		}
	}
	return m, nil
}

// intentPrefix is the prefix of the arena's own intents.
const intentPrefix = "arena."

// IntentOf returns the intent of a league's tasks. An intent has no hyphens, so the
// hyphens of the slug become underscores.
func IntentOf(league string) string { return intentPrefix + strings.ReplaceAll(league, "-", "_") }

// Leagues returns the leagues that the manifest's intents name, or the intents if they
// name none of these.
func (m Manifest) Leagues(leagues []string) []string {
	found := []string{}
	for _, l := range leagues {
		if m.Offers(IntentOf(l)) {
			found = append(found, l)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, i := range m.Intents { // it plays none of them, and not all
		found = append(found, i.ID)
	}
	return found
}

// ManifestOf returns the manifest that a STATUS publishes; ok is false when it
// publishes none.
func (e *Envelope) ManifestOf() (raw json.RawMessage, ok bool, err error) {
	if e.Type != TypeStatus || e.Thread != nil {
		return nil, false, nil
	}
	var p struct {
		Manifest json.RawMessage `json:"manifest"`
	}
	if err := read(e.Payload, &p, "manifest"); err != nil || p.Manifest == nil {
		return nil, false, err
	}
	_, err = DecodeManifest(p.Manifest, e.Sender.ID)
	return p.Manifest, true, err
}

// Offers reports whether the manifest names the intent.
func (m Manifest) Offers(intent string) bool {
	return slices.ContainsFunc(m.Intents, func(i Intent) bool { return i.ID == intent })
}
