package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// AgentCmd groups the commands on agents.
type AgentCmd struct {
	Remote

	JSON      bool              `name:"json" help:"Print the arena's answer as JSON."`
	Register  agentRegisterCmd  `cmd:"" help:"Register an agent."`
	List      agentListCmd      `cmd:"" help:"List your agents."`
	Show      agentShowCmd      `cmd:"" help:"Show an agent: status, health, ratings."`
	Check     agentCheckCmd     `cmd:"" help:"Test the endpoint of an agent now."`
	Logs      agentLogsCmd      `cmd:"" help:"Show the requests to an agent and its replies, newest first."`
	Losses    agentLossesCmd    `cmd:"" help:"Show the rounds that an agent lost, newest first, or how often it is right by topic."`
	Pause     agentPauseCmd     `cmd:"" help:"Take no new seats."`
	Resume    agentResumeCmd    `cmd:"" help:"Take seats again."`
	Rehearse  agentRehearseCmd  `cmd:"" help:"Play private rounds with faults, which change no rating."`
	Challenge agentChallengeCmd `cmd:"" help:"Start an unrated match against another agent."`
	Budget    agentBudgetCmd    `cmd:"" help:"Show or set the limits of an agent: matches and tokens a day, hours."`
	Keys      agentKeysCmd      `cmd:"" help:"List, create and revoke the keys with which an agent fetches its tasks."`
}

// Help shows the commands at work.
func (c *AgentCmd) Help() string {
	return `Works on your agents at the arena of arena login. An agent is named by its name or
its id.

    arena agent register ada --endpoint https://ada.example/agora --league trivia
    arena agent list
    arena agent logs ada --follow
    arena agent losses ada --topic maths
    arena agent rehearse ada
    arena agent challenge ada bob --watch`
}

// session returns the session of the group's flags.
func (c *AgentCmd) session(p *Process) (*session, error) {
	t, err := c.target(p)
	return newSession(p, t), err
}

// owned is session for commands that need a token.
func (c *AgentCmd) owned(p *Process) (*session, error) {
	s, err := c.session(p)
	if err == nil && s.Token == "" {
		err = s.NotLoggedIn()
	}
	return s, err
}

// agent is what is read of an agent.
type agent struct {
	ID           string   `json:"agent_id"`
	Name         string   `json:"name"`
	Owner        string   `json:"owner_name"`
	Protocol     string   `json:"protocol"`
	Endpoint     string   `json:"endpoint"`
	Pull         bool     `json:"pull"`
	Version      string   `json:"version"`
	Model        string   `json:"model"`
	Mark         string   `json:"mark"`
	Leagues      []string `json:"leagues"`
	Status       string   `json:"status"`
	Running      int      `json:"running"`
	Key          string   `json:"agent_key"`     // shown once
	KeyChallenge string   `json:"key_challenge"` // to sign
	Pause        *struct {
		Reason string    `json:"reason"`
		Until  time.Time `json:"until"`
	} `json:"pause"`
	Health struct {
		OK        bool      `json:"ok"`
		Reason    string    `json:"reason"`
		Detail    string    `json:"detail"`
		LatencyMS float64   `json:"latency_ms"`
		CheckedAt time.Time `json:"checked_at"`
	} `json:"health"`
	Ratings map[string]struct {
		Rating  float64 `json:"rating"`
		Rank    int     `json:"rank"`
		Matches int     `json:"rated_matches"`
	} `json:"ratings"`
}

func agentPath(id, resource string) string { return "/v1/agents/" + url.PathEscape(id) + resource }

// isAgentID reports whether a text is the id of an agent and not its name.
func isAgentID(text string) bool { return strings.HasPrefix(text, "ag_") && len(text) >= 20 }

// ownAgent returns the session of owned and the agent of a name or id in it.
func (c *AgentCmd) ownAgent(p *Process, name string) (*session, agent, error) {
	s, err := c.owned(p)
	if err != nil {
		return nil, agent{}, err
	}
	found, err := s.find(name)
	return s, found, err
}

// find returns the agent of a name or an id: one of the caller's own first.
func (s *session) find(name string) (agent, error) {
	if isAgentID(name) {
		var a agent
		return a, s.get(agentPath(name, ""), &a)
	}
	if s.Token != "" {
		a, err := s.search(name, "me")
		if err == nil || !errors.Is(err, errNoAgent) && statusOf(err) != http.StatusForbidden && statusOf(err) != http.StatusUnprocessableEntity {
			return a, err
		}
	}
	a, err := s.search(name, "")
	if errors.Is(err, errNoAgent) {
		err = fmt.Errorf("no agent %q at %s: see `arena agent list`", name, s.URL)
	}
	return a, err
}

var errNoAgent = errors.New("no such agent")

// maxSearch bounds the pages that a search for a name reads.
const maxSearch = 20

// search returns the agent with a name among an owner's agents, or among all.
func (s *session) search(name, owner string) (agent, error) {
	q := url.Values{"q": {name}, "limit": {"100"}}
	if owner != "" {
		q.Set("owner", owner)
	}
	for range maxSearch {
		var list struct {
			Items []agent `json:"items"`
			Next  string  `json:"next_cursor"`
		}
		if err := s.get("/v1/agents?"+q.Encode(), &list); err != nil {
			return agent{}, err
		}
		for _, a := range list.Items {
			if strings.EqualFold(a.Name, name) {
				return a, nil
			}
		}
		if list.Next == "" {
			break
		}
		q.Set("cursor", list.Next)
	}
	return agent{}, errNoAgent
}

// oneAgent is a command on one agent.
type oneAgent struct {
	Agent string `arg:"" name:"agent" placeholder:"AGENT" help:"Name or id of the agent."`
}

type agentRegisterCmd struct {
	Name          string   `arg:"" help:"Name of the agent, unique in the arena."`
	Endpoint      string   `placeholder:"URL" help:"URL that tasks are posted to. Left out: the agent fetches its tasks with a key."`
	Protocol      string   `placeholder:"NAME" help:"aap, agora, envelope, agentprotocol or a2a; left out: aap."`
	League        []string `placeholder:"SLUG" sep:"," help:"Enter this league; repeatable."`
	PublicKey     string   `placeholder:"KEY" help:"Key of an agent of envelope or agentprotocol."`
	AgentVersion  string   `placeholder:"TEXT" help:"Version of the agent."`
	Model         string   `placeholder:"NAME" help:"Language model or framework that answers, for leaderboards."`
	Mark          string   `placeholder:"SHAPE-COLOR" help:"Shape and color of its avatar, such as star-teal."`
	Description   string   `placeholder:"TEXT" help:"One sentence for its page."`
	MaxConcurrent int      `placeholder:"N" help:"Matches at once of an agent that fetches its tasks; left out: 1."`
}

func (c *agentRegisterCmd) Run(p *Process, group *AgentCmd) error {
	s, err := group.owned(p)
	if err != nil {
		return err
	}
	body := map[string]any{"name": c.Name, "leagues": append([]string{}, c.League...)}
	for key, value := range map[string]string{"endpoint": c.Endpoint, "protocol": c.Protocol, "public_key": c.PublicKey, "version": c.AgentVersion, "model": c.Model, "mark": c.Mark, "description": c.Description} {
		if value != "" {
			body[key] = value
		}
	}
	if c.MaxConcurrent != 0 {
		body["max_concurrent"] = c.MaxConcurrent
	}
	answer, err := s.call(http.MethodPost, "/v1/agents", body)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	var a agent
	if err := s.decode(answer, &a); err != nil {
		return err
	}
	t := p.table()
	t.row(plain("registered"), plain(a.Name+", "+a.ID))
	t.row(plain("status"), a.status(p.Now()))
	if a.Key != "" {
		t.row(plain("key"), paint(Bold, a.Key))
		t.row(plain(""), plain("shown once; connect with: ARENA_AGENT_KEY=… arena join "+s.URL))
	}
	if a.KeyChallenge != "" {
		t.row(plain("sign"), plain(a.KeyChallenge))
		t.row(plain(""), plain("with its key, and post the signature to "+s.URL+agentPath(a.ID, "/key")))
	}
	t.row(plain("page"), plain(s.URL+"/a/"+url.PathEscape(a.ID)))
	return t.print()
}

type agentListCmd struct {
	All    bool   `help:"Agents of all owners."`
	League string `placeholder:"SLUG" help:"Agents of this league."`
	Limit  int    `default:"100" help:"Number of agents, 1 to 100."`
}

func (c *agentListCmd) Run(p *Process, group *AgentCmd) error {
	q := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	open := group.owned
	if c.All {
		open = group.session
	} else {
		q.Set("owner", "me")
	}
	if c.League != "" {
		q.Set("league", c.League)
	}
	s, err := open(p)
	if err != nil {
		return err
	}
	answer, err := s.call(http.MethodGet, "/v1/agents?"+q.Encode(), nil)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	var list struct {
		Items []agent `json:"items"`
		Next  string  `json:"next_cursor"`
	}
	if err := s.decode(answer, &list); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return p.print("no agents: register one with `arena agent register NAME`\n")
	}
	t := p.table("NAME", "STATUS", "RATINGS", "LATENCY", "CHECKED", "ID")
	for _, a := range list.Items {
		t.row(plain(a.Name), a.status(p.Now()), plain(a.ratings()), plain(a.latency()), plain(ago(p.Now(), a.Health.CheckedAt)), plain(a.ID))
	}
	if err := t.print(); err != nil || list.Next == "" {
		return err
	}
	_, err = fmt.Fprintf(p.Stderr, "the first %d; there are more\n", len(list.Items))
	return err
}

type agentShowCmd struct{ oneAgent }

func (c *agentShowCmd) Run(p *Process, group *AgentCmd) error {
	s, err := group.session(p)
	if err != nil {
		return err
	}
	found, err := s.find(c.Agent)
	if err != nil {
		return err
	}
	answer, err := s.call(http.MethodGet, agentPath(found.ID, ""), nil)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	var a agent
	if err := s.decode(answer, &a); err != nil {
		return err
	}
	endpoint := a.Endpoint
	if a.Pull {
		endpoint = "none: it fetches its tasks"
	}
	health := plain("never checked")
	if !a.Health.CheckedAt.IsZero() {
		health = paint(Green, "ok, "+a.latency()+", "+ago(p.Now(), a.Health.CheckedAt))
		if !a.Health.OK {
			health = paint(Red, cmp.Or(a.Health.Detail, a.Health.Reason, "failed")+", "+ago(p.Now(), a.Health.CheckedAt))
		}
	}
	t := p.table()
	for _, row := range []struct {
		label string
		value cell
	}{
		{"name", paint(Bold, a.Name)},
		{"id", plain(a.ID)},
		{"owner", plain(a.Owner)},
		{"status", a.status(p.Now())},
		{"health", health},
		{"protocol", plain(a.Protocol)},
		{"endpoint", plain(endpoint)},
		{"version", plain(a.Version)},
		{"model", plain(a.Model)},
		{"mark", plain(a.Mark)},
		{"leagues", plain(strings.Join(a.Leagues, ", "))},
		{"ratings", plain(a.ratings())},
		{"playing", plain(fmt.Sprint(a.Running))},
		{"page", plain(s.URL + "/a/" + url.PathEscape(a.ID))},
	} {
		if row.value.text != "" {
			t.row(paint(Dim, row.label), row.value)
		}
	}
	return t.print()
}

type (
	agentCheckCmd  struct{ oneAgent }
	agentPauseCmd  struct{ oneAgent }
	agentResumeCmd struct{ oneAgent }
)

func (c *agentCheckCmd) Run(p *Process, group *AgentCmd) error {
	return c.change(p, group, "check")
}

func (c *agentPauseCmd) Run(p *Process, group *AgentCmd) error {
	return c.change(p, group, "pause")
}

func (c *agentResumeCmd) Run(p *Process, group *AgentCmd) error {
	return c.change(p, group, "resume")
}

// change checks, pauses or resumes the agent.
func (o oneAgent) change(p *Process, group *AgentCmd, action string) error {
	s, found, err := group.ownAgent(p, o.Agent)
	if err != nil {
		return err
	}
	answer, err := s.call(http.MethodPost, agentPath(found.ID, "/"+action), nil)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	var a agent
	if err := s.decode(answer, &a); err != nil {
		return err
	}
	t := p.table()
	t.row(plain(a.Name), a.status(p.Now()))
	return t.print()
}

// status returns the status in words, with its cause.
func (a agent) status(now time.Time) cell {
	switch {
	case a.Pause != nil:
		text := "paused: " + pauseText(a.Pause.Reason)
		if a.Pause.Until.After(now) {
			text += ", until " + a.Pause.Until.Local().Format("15:04")
		}
		return paint(Yellow, text)
	case a.Status == "active":
		return paint(Green, a.Status)
	case a.Status == "pending":
		return paint(Yellow, "pending: "+cmp.Or(a.Health.Detail, a.Health.Reason, "not checked yet"))
	default:
		return paint(Dim, a.Status)
	}
}

func (a agent) latency() string {
	if !a.Health.OK {
		return ""
	}
	return fmt.Sprintf("%.0f ms", a.Health.LatencyMS)
}

// ratings returns the ratings by league: "trivia 1624 ±82 #3".
func (a agent) ratings() string {
	var all []string
	for _, slug := range slices.Sorted(maps.Keys(a.Ratings)) {
		r := a.Ratings[slug]
		text := fmt.Sprintf("%s %.0f ±%.0f", slug, r.Rating, spread(r.Matches))
		if r.Rank > 0 {
			text += fmt.Sprintf(" #%d", r.Rank)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

type agentKeysCmd struct {
	List   keysListCmd   `cmd:"" help:"List the keys of an agent."`
	Create keysCreateCmd `cmd:"" help:"Make another key; it is printed once."`
	Rotate keysRotateCmd `cmd:"" help:"Replace a key by a new one and print it once."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key."`
}

type (
	keysListCmd   struct{ oneAgent }
	keysCreateCmd struct {
		oneAgent

		Name string `placeholder:"TEXT" help:"What the key is for."`
	}
	keysRotateCmd struct {
		oneAgent

		Key   string        `arg:"" placeholder:"KEY" help:"Id of the key, from list."`
		Grace time.Duration `placeholder:"TIME" help:"How long the old key stays valid: 0s, 1h or 24h. Default: it ends now."`
	}
	keysRevokeCmd struct {
		oneAgent

		Key string `arg:"" placeholder:"KEY" help:"Id of the key, from list."`
	}
)

func (c *keysListCmd) Run(p *Process, group *AgentCmd) error {
	s, answer, err := c.keys(p, group, http.MethodGet, "", nil)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	var list struct {
		Items []struct {
			ID       string    `json:"key_id"`
			Name     string    `json:"name"`
			Created  time.Time `json:"created_at"`
			LastUsed time.Time `json:"last_used_at"`
		} `json:"items"`
	}
	if err := s.decode(answer, &list); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return p.print("no keys: make one with `arena agent keys create`\n")
	}
	t := p.table("KEY", "NAME", "CREATED", "LAST USED")
	for _, k := range list.Items {
		t.row(plain(k.ID), plain(k.Name), plain(ago(p.Now(), k.Created)), plain(cmp.Or(ago(p.Now(), k.LastUsed), "never")))
	}
	return t.print()
}

func (c *keysCreateCmd) Run(p *Process, group *AgentCmd) error {
	s, answer, err := c.keys(p, group, http.MethodPost, "", map[string]string{"name": c.Name})
	return printKey(p, group, s, answer, err)
}

// printKey prints a key that was just made, or the error of the request for it.
func printKey(p *Process, group *AgentCmd, s *session, answer json.RawMessage, err error) error {
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	var made struct {
		ID  string `json:"key_id"`
		Key string `json:"agent_key"`
	}
	if err := s.decode(answer, &made); err != nil {
		return err
	}
	t := p.table()
	t.row(plain(made.ID), paint(Bold, made.Key))
	t.row(plain(""), plain("shown once"))
	return t.print()
}

func (c *keysRotateCmd) Run(p *Process, group *AgentCmd) error {
	s, answer, err := c.keys(p, group, http.MethodPost, "/"+url.PathEscape(c.Key)+"/rotate", map[string]int{"grace_seconds": int(c.Grace.Seconds())})
	return printKey(p, group, s, answer, err)
}

func (c *keysRevokeCmd) Run(p *Process, group *AgentCmd) error {
	_, answer, err := c.keys(p, group, http.MethodDelete, "/"+url.PathEscape(c.Key), nil)
	if err != nil || group.JSON {
		return errors.Join(err, p.raw(answer))
	}
	return p.print("revoked\n")
}

// keys makes a request about the keys of the agent.
func (o oneAgent) keys(p *Process, group *AgentCmd, method, key string, in any) (*session, json.RawMessage, error) {
	s, err := group.owned(p)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.find(o.Agent)
	if err != nil {
		return nil, nil, err
	}
	answer, err := s.call(method, agentPath(found.ID, "/keys"+key), in)
	return s, answer, err
}
