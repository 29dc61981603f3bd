package arena

import (
	"encoding/json"
	"time"
)

// Conformance is the last full check of one version of an agent: what the
// conformance kit found. A check that was skipped is not passed.
type Conformance struct {
	AgentID     string
	Version     string // of the agent, as its owner called it then
	CheckedAt   time.Time
	Passed      bool // every MUST
	MustPass    int
	MustTotal   int
	ShouldPass  int
	ShouldTotal int
	Report      json.RawMessage // what arena check --json prints; nil in lists
}
