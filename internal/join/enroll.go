package join

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agora-arena/arena/internal/apiclient"
)

const (
	maxLeagues = 20 // that are entered without being named
	maxName    = 40 // characters of a name
)

// agentView is what is read of an agent.
type agentView struct {
	AgentID  string   `json:"agent_id"`
	Name     string   `json:"name"`
	AgentKey string   `json:"agent_key"` // shown once
	Status   string   `json:"status"`
	Leagues  []string `json:"leagues"`
	Pause    *struct {
		Reason string `json:"reason"`
	} `json:"pause"`
}

// enrollment finds or registers the agent.
type enrollment struct {
	options *Options
	arena   *apiclient.Client // without a token
	folder  folder
	board   *board
}

// call makes one request in the name of a token.
func (e *enrollment) call(ctx context.Context, token, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return e.arena.As(token).Call(ctx, method, path, in, out)
}

// agent returns the credentials of the agent that plays: of the key that was
// given, of an earlier run, or of a new agent.
func (e *enrollment) agent(ctx context.Context) (credentials, agentView, error) {
	if e.options.Key != "" {
		return e.ofKey(ctx)
	}
	c, found, err := e.folder.load(e.options.Arena, e.wanted())
	if err != nil {
		return credentials{}, agentView{}, err
	}
	if found {
		view, err := e.reuse(ctx, &c)
		if !errors.Is(err, errUnknown) {
			return c, view, err
		}
		e.board.line("the arena no longer has the agent %s of an earlier run: registering a new one", c.AgentName)
		if err := e.folder.retire(c); err != nil {
			return credentials{}, agentView{}, err
		}
	}
	return e.register(ctx, cmp.Or(e.options.OwnerToken, c.OwnerToken, e.options.Login, e.folder.owner(e.options.Arena)))
}

// wanted is the name that the user or the source asks for.
func (e *enrollment) wanted() string { return cmp.Or(e.options.Name, e.options.Source.Name()) }

// ofKey returns the agent of a key that is not stored.
func (e *enrollment) ofKey(ctx context.Context) (credentials, agentView, error) {
	c := credentials{Arena: e.options.Arena, AgentKey: e.options.Key, OwnerToken: e.options.OwnerToken}
	var me agentView
	if err := e.call(ctx, c.AgentKey, http.MethodGet, "/v1/me", nil, &me); err != nil {
		if statusOf(err) == http.StatusUnauthorized {
			return c, agentView{}, errors.New("--key: the arena does not accept the agent key: it is wrong or was revoked")
		}
		return c, agentView{}, err
	}
	if me.AgentID == "" {
		return c, agentView{}, errors.New("--key: the key belongs to no agent")
	}
	c.AgentID = me.AgentID
	view, err := e.view(ctx, c.AgentID)
	c.AgentName = view.Name
	return c, view, err
}

func (e *enrollment) view(ctx context.Context, id string) (view agentView, err error) {
	err = e.call(ctx, "", http.MethodGet, agentPath(id, ""), nil, &view)
	return view, err
}

func agentPath(id, resource string) string { return "/v1/agents/" + url.PathEscape(id) + resource }

// errUnknown is returned for stored credentials of an agent that the arena does not
// have.
var errUnknown = errors.New("the arena does not have the agent")

// reuse checks the credentials of an earlier run. A revoked key is replaced.
func (e *enrollment) reuse(ctx context.Context, c *credentials) (agentView, error) {
	c.OwnerToken = cmp.Or(e.options.OwnerToken, c.OwnerToken)
	view, err := e.view(ctx, c.AgentID)
	switch {
	case statusOf(err) == http.StatusNotFound || err == nil && view.Status == "retired":
		return view, errUnknown
	case err != nil:
		return view, err
	}
	err = e.call(ctx, c.AgentKey, http.MethodGet, "/v1/me", nil, nil)
	if statusOf(err) != http.StatusUnauthorized {
		return view, err
	}
	var fresh agentView
	err = e.call(ctx, c.OwnerToken, http.MethodPost, agentPath(c.AgentID, "/keys"), map[string]string{"name": "arena join"}, &fresh)
	switch status := statusOf(err); {
	case status == http.StatusUnauthorized, status == http.StatusNotFound, status == http.StatusForbidden:
		return view, fmt.Errorf("the key of %s and its owner's token were revoked: give a new --key or --owner-token, or another --name", c.AgentName)
	case err != nil:
		return view, err
	}
	e.board.line("the agent key was revoked: issued a new one")
	c.AgentKey = fresh.AgentKey
	return view, e.folder.save(*c)
}

// register registers a new agent of an owner, or of a new one if the token is
// empty or not valid any more.
func (e *enrollment) register(ctx context.Context, owner string) (credentials, agentView, error) {
	c := credentials{Arena: e.options.Arena, Name: e.wanted()}
	name := e.options.Name
	if name == "" {
		name = generatedName(c.Name)
	}
	view, err := e.create(ctx, owner, name)
	if statusOf(err) == http.StatusUnauthorized && owner != "" && owner == e.options.Login {
		return c, view, fmt.Errorf("not logged in to %s: run `arena login %[1]s`", e.options.Arena)
	}
	if statusOf(err) == http.StatusUnauthorized && e.options.OwnerToken == "" {
		if owner, err = e.signUp(ctx, name); err == nil {
			view, err = e.create(ctx, owner, name)
		}
	}
	switch {
	case codeOf(err) == "name_taken":
		return c, view, fmt.Errorf("the name %q is taken: choose another with --name", name)
	case err != nil:
		return c, view, err
	case view.AgentKey == "":
		return c, view, errors.New("the arena returned no agent key: its version does not let agents fetch their tasks")
	}
	c.AgentName, c.AgentID, c.AgentKey, c.OwnerToken = view.Name, view.AgentID, view.AgentKey, owner
	return c, view, e.folder.save(c)
}

// create registers an agent. Without an owner's token it fails as the arena
// would, with 401.
func (e *enrollment) create(ctx context.Context, owner, name string) (view agentView, err error) {
	if owner == "" {
		return view, &apiclient.Problem{Status: http.StatusUnauthorized}
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	client := e.arena.As(owner)
	client.IdempotencyKey = rand.Text()
	agent := map[string]string{"name": name, "protocol": "aap"}
	if e.options.Model != "" {
		agent["model"] = e.options.Model
	}
	err = client.Call(ctx, http.MethodPost, "/v1/agents", agent, &view)
	return view, err
}

// signUp makes an owner and returns its token.
func (e *enrollment) signUp(ctx context.Context, name string) (string, error) {
	var owner struct {
		Token string `json:"token"`
	}
	err := e.call(ctx, e.options.Invite, http.MethodPost, "/v1/owners", map[string]string{"name": name}, &owner)
	if s := statusOf(err); s == http.StatusForbidden || s == http.StatusUnauthorized {
		return "", fmt.Errorf("the arena does not let new owners sign up: ask its operator for an owner's token and set --owner-token or ARENA_TOKEN (%w)", err)
	}
	return owner.Token, err
}

// generatedName returns a name that is unlikely to be taken.
func generatedName(base string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._", r) {
			return r
		}
		return '-'
	}, base)
	return clean[:min(len(clean), maxName-6)] + "-" + strings.ToLower(rand.Text()[:5])
}

// enter enters the agent into leagues: the named ones, or without any every
// league that needs no password. It returns those that the agent plays in.
func (e *enrollment) enter(ctx context.Context, c credentials, entered []string) ([]string, error) {
	wanted, named := e.options.Leagues, len(e.options.Leagues) > 0
	if c.OwnerToken == "" { // with an agent key alone, leagues cannot be entered
		for _, slug := range wanted {
			if !slices.Contains(entered, slug) {
				return nil, fmt.Errorf("%s has not entered the league %s: enter it in the console, or give --owner-token", c.AgentName, slug)
			}
		}
		return entered, nil
	}
	if !named {
		var err error
		if wanted, err = e.openLeagues(ctx, len(entered)); err != nil {
			return nil, err
		}
	}
	for _, slug := range wanted {
		if slices.Contains(entered, slug) {
			continue
		}
		err := e.call(ctx, c.OwnerToken, http.MethodPut, "/v1/leagues/"+url.PathEscape(slug)+"/entries/"+url.PathEscape(c.AgentID), nil, nil)
		switch {
		case err == nil:
			entered = append(entered, slug)
		case named || statusOf(err) == 0 || statusOf(err) >= 500:
			return nil, fmt.Errorf("enter the league %s: %w", slug, err)
		}
	}
	if len(entered) == 0 {
		return nil, errors.New("the arena has no league that this agent may enter: name one with --league")
	}
	return entered, nil
}

// openLeagues returns the leagues that anyone may enter now, as many as an agent
// may still enter.
func (e *enrollment) openLeagues(ctx context.Context, entered int) (slugs []string, err error) {
	var list struct {
		Items []struct {
			Slug   string `json:"slug"`
			Status string `json:"status"`
			Entry  struct {
				Allow    []string `json:"allow"`
				Password bool     `json:"password_required"`
			} `json:"entry"`
		} `json:"items"`
	}
	if err := e.call(ctx, "", http.MethodGet, "/v1/leagues?limit=100", nil, &list); err != nil {
		return nil, err
	}
	for _, l := range list.Items {
		open := l.Status == "open" || l.Status == "running" || l.Status == "frozen"
		if open && !l.Entry.Password && len(l.Entry.Allow) == 0 && len(slugs)+entered < maxLeagues {
			slugs = append(slugs, l.Slug)
		}
	}
	return slugs, nil
}

// statusOf returns the status of a response of the arena, 0 for other errors.
func statusOf(err error) int {
	if p, ok := errors.AsType[*apiclient.Problem](err); ok {
		return p.Status
	}
	return 0
}

func codeOf(err error) string {
	if p, ok := errors.AsType[*apiclient.Problem](err); ok {
		return p.Code
	}
	return ""
}
