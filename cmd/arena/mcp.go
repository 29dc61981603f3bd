package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agora-arena/arena/internal/cli"
)

// MCPCmd is `arena mcp`.
type MCPCmd struct {
	URL   string `name:"url" placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	Token string `placeholder:"TOKEN" help:"A token of an owner or the key of an agent (ARENA_TOKEN, else the token of arena login), which decides which tools are offered; without one, only the public tools."`
}

// Help shows the command at work.
func (c *MCPCmd) Help() string {
	return `A server of the Model Context Protocol on standard input and output, for clients
that cannot connect to the arena's own at /mcp. It offers the same tools. With the
key of an agent a language model plays: it joins a league, waits for tasks and
answers them. With a token of an owner it registers, checks and rehearses agents.
The client starts it, with settings like these:

    {"mcpServers": {"arena": {"command": "arena", "args": ["mcp"],
      "env": {"ARENA_URL": "https://arena.example", "ARENA_TOKEN": "…"}}}}`
}

// Run serves until standard input ends.
func (c *MCPCmd) Run(app *App) error {
	target, err := app.Target(c.URL, cli.Token{Name: "--token", Value: c.Token, Variables: []string{"ARENA_TOKEN"}})
	if err != nil {
		return err
	}
	b := newBridge(target.URL+"/mcp", target.Token)
	defer b.close()
	server, err := b.server(app.Ctx)
	if err != nil {
		return err
	}
	err = server.Run(app.Ctx, &mcp.IOTransport{Reader: io.NopCloser(app.Stdin), Writer: unclosed{app.Stdout}})
	if app.Ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil // a signal, or the client went away: both are how it ends
}

// unclosed leaves standard output open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// bridge passes calls on to the MCP server of an arena.
type bridge struct {
	transport *mcp.StreamableClientTransport

	mu      sync.Mutex
	session *mcp.ClientSession // nil while the arena is not connected
}

func newBridge(endpoint, token string) *bridge {
	client := &http.Client{
		Transport:     authorized(token),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this arena alone
	}
	return &bridge{transport: &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: client, DisableStandaloneSSE: true}}
}

// authorized puts a bearer token on each request.
type authorized string

// RoundTrip implements http.RoundTripper.
func (token authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(token))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connected returns a session with the arena.
func (b *bridge) connected(ctx context.Context) (*mcp.ClientSession, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != nil {
		return b.session, nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "arena-mcp", Title: "arena mcp", Version: readBuildInfo().Version}, nil)
	session, err := client.Connect(ctx, b.transport, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", b.transport.Endpoint, err)
	}
	b.session = session
	return session, nil
}

// lost ends a session that failed, so that the next call connects again.
func (b *bridge) lost(session *mcp.ClientSession) {
	b.mu.Lock()
	if b.session == session {
		b.session = nil
	}
	b.mu.Unlock()
	_ = session.Close() // it failed
}

func (b *bridge) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != nil {
		_ = b.session.Close() // the arena keeps nothing of it
	}
}

// server returns a server with the tools and resources that the arena offers for
// the token.
func (b *bridge) server(ctx context.Context) (*mcp.Server, error) {
	session, err := b.connected(ctx)
	if err != nil {
		return nil, err
	}
	about := session.InitializeResult()
	s := mcp.NewServer(about.ServerInfo, &mcp.ServerOptions{Instructions: about.Instructions})
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("tools of %s: %w", b.transport.Endpoint, err)
		}
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got, err := forward(ctx, b, func(session *mcp.ClientSession) (*mcp.CallToolResult, error) {
				return session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: r.Params.Arguments})
			})
			if err != nil && !isRefusal(err) { // the model may try again
				got = &mcp.CallToolResult{}
				got.SetError(err)
				err = nil
			}
			return got, err
		})
	}
	for resource, err := range session.Resources(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("resources of %s: %w", b.transport.Endpoint, err)
		}
		s.AddResource(resource, func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return forward(ctx, b, func(session *mcp.ClientSession) (*mcp.ReadResourceResult, error) {
				return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.Params.URI})
			})
		})
	}
	return s, nil
}

// forward makes a call on a session with the arena. It ends one that failed.
func forward[R any](ctx context.Context, b *bridge, call func(*mcp.ClientSession) (R, error)) (R, error) {
	session, err := b.connected(ctx)
	if err != nil {
		var none R
		return none, err
	}
	got, err := call(session)
	if err != nil && !isRefusal(err) && ctx.Err() == nil {
		b.lost(session)
	}
	return got, err
}

// isRefusal reports whether an error is the arena's own answer.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}
