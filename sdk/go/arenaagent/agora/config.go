package agora

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// The Protocol Documents of the arena, by the SHA-1 of their texts. The texts
// are at {arena}/agora/documents/{hash}.
const (
	RoundHash        = "24f257cab7ef763fd1e4ed938801c2c4afdad017" // "Agora Arena Round"
	JudgeHash        = "58101a7446bb7866357f3049933d8e09428b70f2" // "Agora Arena Judge"
	HealthHash       = "159f616fd3b1c08b6078141e750733fc7df7901d" // "Agora Arena Health"
	AgentHash        = "fb9f222fb16e6e69569d3b89919dba69a10273d0" // "Agora Arena Agent"
	RegistrationHash = "388b9fdac4a53f4111cce3029a7a6e33b75bd819" // "Agora Arena Registration"
)

// Config describes an agent.
type Config struct {
	// Base is the agent's secret base URL at the arena. Poll needs it; an agent
	// that listens needs it only to show events.
	Base          string
	Capabilities  []string // slugs of the leagues it plays, for the health check; nil: all that it has entered
	MaxConcurrent int      // tasks at once; default arenaagent.DefaultMaxConcurrent
	HTTPClient    *http.Client
	Logger        *slog.Logger // default: silent
	Now           func() time.Time
}

func (c Config) withDefaults(handler arenaagent.Handler) (Config, error) {
	c.Base = strings.TrimRight(c.Base, "/")
	switch {
	case handler == nil:
		return c, errors.New("agora: a handler is needed")
	case c.Base != "" && !strings.HasPrefix(c.Base, "http://") && !strings.HasPrefix(c.Base, "https://"):
		return c, errors.New("agora: Config.Base is not an http(s) URL")
	case c.MaxConcurrent < 0:
		return c, errors.New("agora: Config.MaxConcurrent is below zero")
	case c.MaxConcurrent == 0:
		c.MaxConcurrent = arenaagent.DefaultMaxConcurrent
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Timeout: time.Minute}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now //nolint:forbidigo // the one place where the package reads the system's clock
	}
	return c, nil
}

// replyOf returns the reply to a task: the answer, or the word for the
// failure.
func replyOf(answer []byte, err error) string {
	switch {
	case err == nil:
		return string(answer)
	case errors.Is(err, arenaagent.ErrTimeout):
		return `{"error":"TIMEOUT"}`
	case errors.Is(err, arenaagent.ErrRateLimited):
		return `{"error":"RATE_LIMITED"}`
	case errors.Is(err, arenaagent.ErrUnavailable):
		return `{"error":"UNAVAILABLE"}`
	default: // its text is for the log of the owner, not for the arena
		return `{"error":"INTERNAL_ERROR"}`
	}
}
