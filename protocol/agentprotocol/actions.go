package agentprotocol

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/record"
)

// The capabilities of the text ("Core Capabilities"). Each is an action too, so
// that none is advertised and then refused.
const (
	capabilityCore       = "agentprotocol:core"
	capabilityTasks      = "agentprotocol:tasks"
	capabilityDirectory  = "agentprotocol:directory"
	capabilityReputation = "agentprotocol:reputation"
	capabilityProofs     = "agentprotocol:proofs"
)

// The actions of the capabilities that look something up; an extension.
const (
	actionDirectory  = "directory.search"
	actionReputation = "reputation.get"
	actionProofs     = "proofs.get"
)

// The bounds of one answer. All answers fit into a message.
const (
	maxText       = 64   // bytes of each parameter
	directoryPage = 20   // agents, unless limit says otherwise
	maxDirectory  = 40   // agents
	maxRatings    = 100  // leagues
	proofEvents   = 1000 // of the log of a match whose record may fit
	maxProof      = MaxMessage - 4<<10
)

// Reads are the rows that directory and reputation show. Errors are
// *arena.Error.
type Reads interface {
	Agent(ctx context.Context, id string) (arena.Agent, error)
	Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) (agents []arena.Agent, next string, err error)
	AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error)
	League(ctx context.Context, slug string) (arena.League, error)
	Fit(ctx context.Context, league string) (arena.Fit, error)
}

// Record returns the signed record of a finished match. too_large: its log has
// more than maxEvents events.
type Record func(ctx context.Context, matchID string, maxEvents int64) (record.Signed, error)

// Lookups returns the actions of directory, reputation and proofs, each under its
// own name and under the name of its capability. url is the arena's URL without a
// trailing slash.
func Lookups(rows Reads, signed Record, url string) map[string]Action {
	l := lookups{rows: rows, signed: signed, url: url}
	return map[string]Action{
		actionDirectory: l.directory, capabilityDirectory: l.directory,
		actionReputation: l.reputation, capabilityReputation: l.reputation,
		actionProofs: l.proofs, capabilityProofs: l.proofs,
	}
}

// actionOf returns the action for a name that the arena lists, or that a listed
// capability covers.
func (x *core) actionOf(name string) (Action, bool) {
	if action, ok := x.actions[name]; ok {
		return action, true
	}
	for _, listed := range x.me.capabilities {
		if covers(listed, name) {
			return x.actions[listed], true
		}
	}
	return nil, false
}

// about answers with the arena's hello and capabilities.
func (x *core) about(context.Context, arena.Agent, json.RawMessage) (any, error) {
	return struct {
		helloPayload

		Capabilities []string `json:"capabilities"`
	}{x.hello(), x.me.capabilities}, nil
}

// tasks answers with how many tasks the agent may be asked at once, and by which
// actions.
func tasks(_ context.Context, a arena.Agent, _ json.RawMessage) (any, error) {
	actions := []string{}
	for _, slug := range a.Leagues {
		actions = append(actions, actionRound+"/"+slug)
	}
	return map[string]any{"agent_id": a.ID, "actions": actions, "running": a.Running, "max_concurrent": max(1, a.Health.MaxConcurrent)}, nil
}

type lookups struct {
	rows   Reads
	signed Record
	url    string
}

// readParams reads the parameters of an action; none are an empty object.
func readParams(params json.RawMessage, into any, names ...string) error {
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	if err := readObject("params", params, into, names...); err != nil {
		return arena.Errorf(arena.CodeMalformed, "%s", err)
	}
	return nil
}

// bounded checks the length of a parameter.
func bounded(name, value string) error {
	if len(value) > maxText {
		return arena.Errorf(arena.CodeMalformed, "params.%s has more than %d bytes", name, maxText)
	}
	return nil
}

// needed checks that a parameter is there.
func needed(name, value string) error {
	if value == "" {
		return arena.Errorf(arena.CodeMalformed, "params.%s is missing", name)
	}
	return bounded(name, value)
}

type listedAgent struct {
	AgentID  string   `json:"agent_id"`
	Name     string   `json:"name"`
	Protocol string   `json:"protocol"`
	Version  string   `json:"version,omitempty"`
	Leagues  []string `json:"leagues"`
	Healthy  bool     `json:"healthy"`
}

// directory lists agents of the arena by part of their name and by league.
func (l lookups) directory(ctx context.Context, _ arena.Agent, params json.RawMessage) (any, error) {
	var in struct {
		Query  string            `json:"query"`
		League string            `json:"league"`
		Cursor string            `json:"cursor"`
		Limit  *strictjson.Whole `json:"limit"`
	}
	if err := readParams(params, &in, "query", "league", "cursor", "limit"); err != nil {
		return nil, err
	}
	if err := cmp.Or(bounded("query", in.Query), bounded("league", in.League)); err != nil {
		return nil, err
	}
	limit := directoryPage
	if in.Limit != nil {
		if *in.Limit < 1 || *in.Limit > maxDirectory {
			return nil, arena.Errorf(arena.CodeMalformed, "params.limit must be 1 to %d", maxDirectory)
		}
		limit = int(*in.Limit)
	}
	if in.League != "" {
		if _, err := l.rows.League(ctx, in.League); err != nil {
			return nil, err
		}
	}
	found, next, err := l.rows.Agents(ctx, arena.AgentFilter{Query: in.Query, League: in.League}, arena.Page{Cursor: in.Cursor, Limit: limit})
	if err != nil {
		return nil, err
	}
	agents := []listedAgent{}
	for _, g := range found {
		agents = append(agents, listedAgent{
			AgentID: g.ID, Name: g.Name, Protocol: g.Protocol, Version: g.Version, Leagues: append([]string{}, g.Leagues...), Healthy: g.Health.OK,
		})
	}
	return map[string]any{"agents": agents, "next_cursor": next}, nil
}

type reputation struct {
	League       string         `json:"league"`
	Rating       arena.MilliElo `json:"rating"`
	RatedMatches int            `json:"rated_matches"`
	Provisional  bool           `json:"provisional"`
	Wins         int            `json:"wins"`
	Draws        int            `json:"draws"`
	Losses       int            `json:"losses"`
	Interval     *interval      `json:"interval,omitempty"` // absent: no refit has the agent, or the table is hidden
}

// interval is the 95 % interval around the strength that fits all results of a
// league best, and the places that these results allow, counted in groups of
// owners (docs/rules.md, section 7).
type interval struct {
	Rating   arena.MilliElo `json:"rating"`
	Low      arena.MilliElo `json:"low"`
	High     arena.MilliElo `json:"high"`
	RankLow  int            `json:"rank_low"`
	RankHigh int            `json:"rank_high"`
}

// reputation returns the ratings of an agent with their intervals.
func (l lookups) reputation(ctx context.Context, _ arena.Agent, params json.RawMessage) (any, error) {
	var in struct {
		AgentID string `json:"agent_id"`
		League  string `json:"league"`
	}
	if err := readParams(params, &in, "agent_id", "league"); err != nil {
		return nil, err
	}
	if err := cmp.Or(needed("agent_id", in.AgentID), bounded("league", in.League)); err != nil {
		return nil, err
	}
	g, err := l.rows.Agent(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	if in.League != "" {
		if _, err := l.rows.League(ctx, in.League); err != nil {
			return nil, err
		}
	}
	ratings, err := l.rows.AgentRatings(ctx, []string{g.ID})
	if err != nil {
		return nil, err
	}
	found := []reputation{}
	for _, r := range ratings[g.ID] {
		if in.League != "" && r.League != in.League {
			continue
		}
		if len(found) == maxRatings {
			break // a league that is named is always found
		}
		v := reputation{
			League: r.League, Rating: r.MilliElo, RatedMatches: r.Matches, Provisional: r.Provisional(),
			Wins: r.Wins, Draws: r.Draws, Losses: r.Losses,
		}
		if v.Interval, err = l.interval(ctx, r.League, g.ID); err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return map[string]any{"agent_id": g.ID, "name": g.Name, "ratings": found}, nil
}

// interval returns an agent's line of a league's refit; nil if there is none, or
// if the league's table is hidden.
func (l lookups) interval(ctx context.Context, league, agentID string) (*interval, error) {
	of, err := l.rows.League(ctx, league)
	if err != nil || of.Status == arena.LeagueFrozen {
		return nil, err
	}
	fit, err := l.rows.Fit(ctx, league)
	if err != nil {
		return nil, err
	}
	for _, line := range fit.Lines {
		if line.AgentID == agentID {
			return &interval{line.Rating, line.Low, line.High, line.RankLow, line.RankHigh}, nil
		}
	}
	return nil, nil //nolint:nilnil // no line is no fault
}

type proof struct {
	MatchID   string            `json:"match_id"`
	RecordURL string            `json:"record_url"` // where all of it is
	KeysURL   string            `json:"keys_url"`   // of the signature
	Record    json.RawMessage   `json:"record,omitempty"`
	Signature *record.Signature `json:"signature,omitempty"`
}

// proofs returns the signed record of a finished match, and where it can be
// fetched. A record that does not fit into a message is left out.
func (l lookups) proofs(ctx context.Context, _ arena.Agent, params json.RawMessage) (any, error) {
	var in struct {
		MatchID string `json:"match_id"`
	}
	if err := readParams(params, &in, "match_id"); err != nil {
		return nil, err
	}
	if err := needed("match_id", in.MatchID); err != nil {
		return nil, err
	}
	v := proof{MatchID: in.MatchID, RecordURL: l.url + "/v1/matches/" + in.MatchID + "/record", KeysURL: l.url + "/.well-known/jwks.json"}
	signed, err := l.signed(ctx, in.MatchID, proofEvents)
	switch {
	case arena.CodeOf(err) == arena.CodeTooLarge:
		return v, nil
	case err != nil:
		return nil, err
	}
	// A reader in JavaScript would put members with numbers for names into another
	// order: such a message cannot be signed for readers in every language.
	ordered, err := javascriptOrder(signed.Record)
	if err != nil {
		return nil, fmt.Errorf("record of match %s: %w", in.MatchID, err)
	}
	if len(signed.Record) <= maxProof && bytes.Equal(ordered, signed.Record) {
		v.Record, v.Signature = signed.Record, &signed.Signature
	}
	return v, nil
}
