package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	crand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/agora-go/arenaagent/agora"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/server"
)

// target is an agent that a command names.
type target struct {
	name, protocol string
	endpoint       string // "" when it connects to the arena
	key            string // public; "" for none
	named          bool   // the caller chose the name
}

// protocolNames are the names of the protocols on the command line.
func protocolNames() []string {
	var names []string
	for _, p := range arena.Protocols() {
		names = append(names, p.Name)
	}
	return names
}

// targetPrefix matches what stands before an equals sign in front of a target.
var targetPrefix = regexp.MustCompile(`^[^=:/@]{1,40}$`)

// parseTarget reads [NAME=][PROTOCOL=]TARGET. TARGET is the endpoint's URL; the
// public key, for an agent that connects to the arena; KEY@URL for an endpoint
// with a key; or poll, for an agent of AAP or two-party Agora that fetches its
// tasks.
func parseTarget(arg, protocol string) (target, error) {
	t, rest := target{protocol: protocol}, arg
	for range 2 {
		prefix, after, found := strings.Cut(rest, "=")
		if !found || after == "" || after[0] == '@' || after[0] == '=' || !targetPrefix.MatchString(prefix) {
			break
		}
		rest = after
		if slices.Contains(protocolNames(), prefix) {
			t.protocol = prefix
			break
		}
		t.name, t.named = prefix, true
	}
	switch key, endpoint, both := strings.Cut(rest, "@"); {
	case strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://"):
		t.endpoint = rest
	case both && strings.Contains(endpoint, "://"):
		t.key, t.endpoint = key, endpoint
	case rest == "poll":
	default:
		t.key = rest
	}
	if t.protocol == autoProtocol && t.endpoint == "" || t.protocol == autoProtocol && t.key != "" {
		t.protocol = protocolOf(t.key)
	}
	if t.name == "" {
		t.name = t.key
		if u, err := url.Parse(t.endpoint); err == nil && u.Host != "" {
			t.name = u.Host
		}
		t.name = plaintext.Shorten(cmp.Or(t.name, t.protocol), 30)
	}
	hasKey := slices.ContainsFunc(arena.Protocols(), func(p arena.ProtocolKind) bool { return p.Name == t.protocol && p.Key })
	switch {
	case t.endpoint == "" && t.protocol == arena.ProtocolAAP && t.key != "":
		return t, fmt.Errorf("%s: an agent of aap is named by the URL of its endpoint, or by poll if it has none; for another protocol put its name before it: envelope=%[1]s", arg)
	case t.endpoint == "" && t.protocol == arena.ProtocolA2A:
		return t, fmt.Errorf("%s: an agent of a2a is named by the URL of its endpoint", arg)
	case t.endpoint == "" && t.protocol == arena.ProtocolAgora && t.key != "":
		return t, fmt.Errorf("%s: an agent of agora is named by the URL of its endpoint, or by poll if it has none", arg)
	case t.protocol == arena.ProtocolEnvelope && (t.key == "" || t.endpoint != ""):
		return t, fmt.Errorf("%s: an agent of envelope is named by its did:key: envelope=did:key:z6Mk…", arg)
	case t.protocol == arena.ProtocolAgentProtocol && t.key == "":
		return t, fmt.Errorf("%s: an agent of agentprotocol is named by its public key, or by KEY@URL if it has an endpoint", arg)
	case !hasKey && t.key != "":
		return t, fmt.Errorf("%s: agents of %s have no keys", arg, t.protocol)
	}
	return t, nil
}

// autoProtocol has the protocol found out.
const autoProtocol = "auto"

// protocolOf returns the protocol of an agent that is named by its key, or by
// the word poll.
func protocolOf(key string) string {
	switch {
	case strings.HasPrefix(key, "did:"):
		return arena.ProtocolEnvelope
	case key != "":
		return arena.ProtocolAgentProtocol
	}
	return arena.ProtocolAgora
}

// LocalFlags are the flags of commands that start an arena of their own.
type LocalFlags struct {
	Arena    string        `placeholder:"URL" help:"The URL under which agents reach the arena of this command, when it is another than its address: a tunnel, a container. It is the issuer of the tokens."`
	Identity string        `placeholder:"FILE" type:"path" help:"Keep the key of the arena's signed messages in this PEM file, so that running agents of envelope and agentprotocol know it the next time; without, the key is new."`
	Wait     time.Duration `default:"60s" help:"How long to wait for agents that connect to the arena themselves."`
	Tokens   string        `name:"task-tokens" default:"request" enum:"request,match" help:"Tokens of aap and a2a, each for one task or for all tasks of a match, as on an arena with this ARENA_TASK_TOKENS: ${enum}."`
}

// identity returns the key of the arena's signed messages, nil for a new one. It
// creates a missing file.
func (f LocalFlags) identity() (ed25519.PrivateKey, error) {
	if f.Identity == "" {
		return nil, nil
	}
	data, err := os.ReadFile(f.Identity)
	if errors.Is(err, fs.ErrNotExist) {
		_, key, err := ed25519.GenerateKey(crand.Reader)
		if err != nil {
			return nil, fmt.Errorf("--identity: %w", err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("--identity: %w", err)
		}
		return key, os.WriteFile(f.Identity, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("--identity: %s is not a PEM file", f.Identity)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("--identity: %s holds no Ed25519 key", f.Identity)
	}
	return key, nil
}

// localArena is an arena that lives as long as one command, in a temporary
// folder.
type localArena struct {
	*server.Server
	admin  *apiclient.Client
	out    io.Writer
	wait   time.Duration // for agents that connect to the arena
	stop   func()
	served chan error
	dir    string
}

// startLocal starts an arena for the targets. Addresses on this machine are
// called only if a target names one. seeds seed the matches; nil means secret
// seeds.
func startLocal(app *App, out io.Writer, addr string, f LocalFlags, targets []target, seeds rand.Source) (_ *localArena, err error) {
	identity, err := f.identity()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "arena-local-")
	if err != nil {
		return nil, fmt.Errorf("temporary folder: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	flags := map[string]string{
		"ARENA_ADDR": addr, "ARENA_PUBLIC_URL": f.Arena, "ARENA_METRICS_ADDR": "", "ARENA_HEALTH_INTERVAL": "1h",
		"ARENA_DATABASE_URL": "sqlite:" + filepath.Join(dir, "arena.db"), "ARENA_SHUTDOWN_GRACE": "1s",
		"ARENA_ALLOW_HTTP_ENDPOINTS": "true", // the author decides what to call
		"ARENA_AUDIT_LEAGUES":        "0", "ARENA_TASK_TOKENS": f.Tokens,
	}
	if slices.ContainsFunc(targets, func(t target) bool { return loopback(t.endpoint) }) {
		flags["ARENA_ALLOW_CIDRS"], flags["ARENA_ALLOW_CIDRS_FORCE"] = "127.0.0.0/8,::1/128", "true" // --arena may be a tunnel's URL
	}
	cfg, err := server.Load(server.Sources{Flags: flags})
	if err != nil {
		return nil, err
	}
	s, err := server.New(app.Ctx, cfg, slog.New(slog.DiscardHandler), server.Options{
		Version: readBuildInfo().Version, NoLimits: true, TrustKeys: true, Identity: identity, Seeds: seeds,
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(app.Ctx)
	l := &localArena{Server: s, out: out, wait: f.Wait, stop: stop, served: make(chan error, 1), dir: dir}
	go func() { l.served <- s.Run(running) }()
	secret, _ := s.AdminToken()
	l.admin = apiclient.New(s.LocalURL(), secret)
	return l, nil
}

// close stops the arena and removes its folder.
func (l *localArena) close() error {
	l.stop()
	return errors.Join(<-l.served, os.RemoveAll(l.dir))
}

// registered is an agent as the API returns it.
type registered struct {
	ID     string `json:"agent_id"`
	Status string `json:"status"`
	Key    string `json:"agent_key"` // of an agent that fetches its tasks
	Health struct {
		Reason, Detail string
		Capabilities   []string // leagues that it plays; none: all
		MaxConcurrent  int      `json:"max_concurrent"`
	}
}

func (r registered) ready() bool { return r.Status == string(arena.AgentActive) }

// register registers an agent and waits for one that connects to the arena. An
// agent that is not healthy is not an error.
func (l *localArena) register(ctx context.Context, t target, leagues ...string) (made registered, err error) {
	var owner struct{ Token string }
	if err := l.admin.As("").Call(ctx, http.MethodPost, "/v1/owners", map[string]any{"name": t.name}, &owner); err != nil {
		return made, fmt.Errorf("%s: %w", t.name, err)
	}
	as := l.admin.As(owner.Token)
	body := map[string]any{"name": t.name, "protocol": t.protocol, "leagues": append([]string{}, leagues...)}
	if t.endpoint != "" {
		body["endpoint"] = t.endpoint
	}
	if t.key != "" {
		body["public_key"] = t.key
	}
	if err := as.Call(ctx, http.MethodPost, "/v1/agents", body, &made); err != nil {
		return made, fmt.Errorf("%s: %w", t.name, err)
	}
	// A pause for failed rounds would need an owner who ends it.
	if err := as.Call(ctx, http.MethodPatch, "/v1/agents/"+made.ID, map[string]any{"pause_after": 0}, nil); err != nil {
		return made, fmt.Errorf("%s: %w", t.name, err)
	}
	if made.ready() || t.endpoint != "" {
		return made, nil
	}
	return made, l.await(ctx, as, t, &made)
}

// match creates a match of agents in a league, which begins at once, and returns its
// id.
func (l *localArena) match(ctx context.Context, league string, ids []string) (string, error) {
	var made struct {
		ID string `json:"match_id"`
	}
	err := l.admin.Call(ctx, http.MethodPost, "/v1/matches", map[string]any{"league": league, "agents": ids}, &made)
	return made.ID, err
}

// await waits until an agent that connects to the arena has connected.
func (l *localArena) await(ctx context.Context, owner *apiclient.Client, t target, made *registered) error {
	where := map[string]string{
		arena.ProtocolEnvelope: l.URL() + "/relay", arena.ProtocolAgentProtocol: l.URL() + "/agentprotocol/ws",
	}[t.protocol]
	if t.protocol == arena.ProtocolAgora {
		r, err := agora.FreshBase(ctx, l.LocalURL(), made.ID, owner.Token)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		where = r.Base
	}
	if made.Key != "" {
		where = fmt.Sprintf("%s; connect it with ARENA=%[1]s ARENA_AGENT_KEY=%s", l.URL(), made.Key)
	}
	if _, err := fmt.Fprintf(l.out, "waiting up to %s for %s at %s\n", l.wait, t.name, where); err != nil {
		return err
	}
	const pause = 300 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for range l.wait/pause + 1 {
		if err := owner.Call(ctx, http.MethodPost, "/v1/agents/"+made.ID+"/check", nil, made); err != nil || made.ready() {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// loopback reports whether a URL names this machine.
func loopback(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() || u.Hostname() == "localhost"
}
