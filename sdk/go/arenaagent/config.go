package arenaagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Version is the AAP version that the package implements.
const Version = "1.0"

// What a handler may return, or wrap, to choose the status of the reply (AAP,
// "Error codes").
var (
	ErrTimeout     = errors.New("the task took too long")            // 408
	ErrRateLimited = errors.New("the agent is rate limited for now") // 429
	ErrUnavailable = errors.New("the agent is not available")        // 503
)

// EventMode is how events travel to the arena.
type EventMode string

// The modes.
const (
	EventsWebSocket EventMode = "websocket" // one socket per match; the default
	EventsHTTP      EventMode = "http"      // POST of NDJSON, where sockets do not get through
	EventsOff       EventMode = "off"
)

// DefaultMaxConcurrent is how many tasks an agent works on at once unless its
// Config sets another value.
const DefaultMaxConcurrent = 5

// Handler answers one task. It may be called many times at once; each call
// has its own Task and Events. The context ends a moment before the time
// limit, or when the agent is closed.
type Handler func(ctx context.Context, task *Task, events *Events) (Answer, error)

// Config describes an agent. Only Arena is needed.
type Config struct {
	Arena string // base URL of the arena: its keys and its stream are found under it
	Addr  string // where Serve listens; default ":8700"
	Path  string // of the endpoint; default "/agora"; the health check is at Path + "/health"

	// AgentKey is the key that the arena issued for the agent. Connect needs it;
	// an agent that serves an endpoint has none.
	AgentKey string

	// AgentID is the id that the arena gave the agent. A token for another
	// agent is refused. It may be set later, see Agent.SetAgentID; until then
	// every task is refused, unless AnyAgent is set.
	AgentID string

	// AnyAgent accepts the tasks of every agent of the arena while AgentID is
	// not set. Somebody else's agent can then have its tasks solved here.
	AnyAgent bool

	// Issuer is the iss of the tokens, when it is not Arena.
	Issuer string

	Capabilities  []string // slugs of the leagues it plays, for the health check
	MaxConcurrent int      // tasks at once; default DefaultMaxConcurrent, of Connect what the agent registered
	WhenFull      error    // for a task too many: ErrUnavailable (default) or ErrRateLimited

	Events EventMode                       // default EventsWebSocket
	Health func(ctx context.Context) error // an error fails the health check with 503; nil: always well

	Leeway     time.Duration // allowed between the clocks of arena and agent; default 5 s
	HTTPClient *http.Client  // for keys and events, without redirects; its transport must allow upgrades for EventsWebSocket
	Logger     *slog.Logger  // default: silent
	Now        func() time.Time

	// InsecureSkipTokens accepts tasks from anyone. It is for trying an agent on
	// one's own machine, never for one that the world can reach.
	InsecureSkipTokens bool
}

// withDefaults checks the configuration and fills what was left out.
func (c Config) withDefaults() (Config, error) {
	c.Arena = strings.TrimRight(c.Arena, "/")
	if c.Arena == "" && c.InsecureSkipTokens {
		c.Events = EventsOff
	} else if u, err := url.Parse(c.Arena); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, fmt.Errorf("arenaagent: Config.Arena %q is not an http(s) URL", c.Arena)
	}
	if c.Issuer == "" {
		c.Issuer = c.Arena
	}
	if c.Addr == "" {
		c.Addr = ":8700"
	}
	if c.Path == "" {
		c.Path = "/agora"
	}
	if c.Path = strings.TrimRight(c.Path, "/"); !strings.HasPrefix(c.Path, "/") {
		return c, fmt.Errorf("arenaagent: Config.Path %q does not begin with a slash, or is nothing else", c.Path)
	}
	switch {
	case c.MaxConcurrent < 0:
		return c, errors.New("arenaagent: Config.MaxConcurrent is below zero")
	case c.MaxConcurrent == 0:
		c.MaxConcurrent = DefaultMaxConcurrent
	}
	switch {
	case c.WhenFull == nil:
		c.WhenFull = ErrUnavailable
	case !errors.Is(c.WhenFull, ErrUnavailable) && !errors.Is(c.WhenFull, ErrRateLimited):
		return c, errors.New("arenaagent: Config.WhenFull is neither ErrUnavailable nor ErrRateLimited")
	}
	switch c.Events {
	case "":
		c.Events = EventsWebSocket
	case EventsWebSocket, EventsHTTP, EventsOff:
	default:
		return c, fmt.Errorf("arenaagent: Config.Events %q is not a mode", c.Events)
	}
	if c.Leeway == 0 {
		c.Leeway = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now //nolint:forbidigo // the one place where the SDK reads the system's clock
	}
	return c, nil
}
