package arena

import (
	"encoding/json"
	"time"
)

// Conformance is the result of the last full check of one version of an agent by
// the conformance kit. A skipped check does not count as passed.
type Conformance struct {
	AgentID     string
	Version     string // of the agent at that time
	CheckedAt   time.Time
	Passed      bool // every MUST
	MustPass    int
	MustTotal   int
	ShouldPass  int
	ShouldTotal int
	Report      json.RawMessage // the output of arena check --json; nil in lists
}
