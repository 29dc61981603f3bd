package api

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/vitals"
)

// nodeHandlers serve the state of this node and of the whole arena.
type nodeHandlers struct {
	Node
	rows      Rows
	visible   Visible
	matches   *matchViews
	startedAt time.Time
	now       func() time.Time
	log       *slog.Logger
}

type statusView struct {
	Version   string     `json:"version"`
	StartedAt jsonTime   `json:"started_at" doc:"Of this node."`
	Nodes     []nodeView `json:"nodes" doc:"Those that gave a sign of life within an hour, and those that play a match now."`
	Counts    countsView `json:"counts"`
	Queue     queueView  `json:"queue"`
	Vitals    []factView `json:"vitals" doc:"How well the arena runs, as this node sees it."`

	SlowMatches []slowMatchView `json:"slow_matches" doc:"Rounds that should have closed by now, the longest overdue first, at most 20."`
	Failed      []matchView     `json:"failed" doc:"The newest void matches, at most 10."`
	SlowAgents  []slowAgentView `json:"slow_agents" doc:"Active agents with the longest health checks, at most 5."`
}

type factView struct {
	Name    vitals.Name  `json:"name" enum:"database,disk,backup,certificate,network,redis,proxy,nodes,queue,schedule" doc:"The subject. Facts that do not concern this arena are missing."`
	Level   vitals.Level `json:"level" enum:"ok,warning,critical"`
	Subject string       `json:"subject,omitempty" doc:"The folder of a disk."`
	Value   float64      `json:"value,omitempty" doc:"Free bytes of a disk, nodes that run, matches that are due."`
	Of      float64      `json:"of,omitempty" doc:"Bytes of a disk, nodes that should run."`
	At      *jsonTime    `json:"at,omitempty" doc:"The last failure of the database, the newest good backup, the end of the certificate, the start of the oldest match that is due, the last tick of a schedule that stands still."`
}

type nodeView struct {
	Node      string         `json:"node"`
	Matches   int            `json:"matches" doc:"Running matches that it plays."`
	Self      bool           `json:"self" doc:"It answers this request."`
	Alive     bool           `json:"alive" doc:"It gave a sign of life within 15 seconds."`
	Draining  bool           `json:"draining"`
	Version   string         `json:"version,omitempty"`
	StartedAt *jsonTime      `json:"started_at,omitempty"`
	SeenAt    *jsonTime      `json:"seen_at,omitempty" doc:"Its last sign of life."`
	LastError *lastErrorView `json:"last_error,omitempty"`
}

type lastErrorView struct {
	At   jsonTime `json:"at"`
	Text string   `json:"text"`
}

type countsView struct {
	Agents      map[arena.AgentStatus]int `json:"agents" doc:"By status."`
	Matches     map[arena.MatchStatus]int `json:"matches" doc:"By status."`
	Events      int64                     `json:"events"`
	Settlements int64                     `json:"settlements"`
}

type queueView struct {
	Due         int     `json:"due" doc:"Matches whose time has come and that no node plays yet."`
	Later       int     `json:"later" doc:"Matches that start later."`
	WaitSeconds float64 `json:"wait_seconds" doc:"How long the oldest that is due waits."`
}

type slowMatchView struct {
	MatchID        string  `json:"match_id"`
	League         string  `json:"league"`
	Node           string  `json:"node"`
	Round          int     `json:"round"`
	OverdueSeconds float64 `json:"overdue_seconds" doc:"Beyond the round's time limit and its judge's time."`
	Interruptions  int     `json:"interruptions" doc:"Take-overs of the match."`
}

type slowAgentView struct {
	AgentID           string  `json:"agent_id"`
	Name              string  `json:"name"`
	LatencyMS         float64 `json:"latency_ms" doc:"Of its last health check."`
	DeclaredLatencyMS float64 `json:"declared_latency_ms,omitempty"`
}

// The most that the status names one by one.
const (
	slowMatches   = 20
	failedMatches = 10
)

// roundGrace is how long a round may take beyond its limits before it counts
// as slow: a take-over, and a judge that must be asked.
const roundGrace = 15 * time.Second

func (h *nodeHandlers) status(ctx context.Context, _ *struct{}) (*output[statusView], error) {
	counts, err := h.rows.Operations.Counts(ctx)
	if err != nil {
		return nil, err
	}
	o, err := h.rows.Operations.Operations(ctx)
	if err != nil {
		return nil, err
	}
	failed, _, err := h.visible.Matches(ctx, arena.MatchFilter{Statuses: []arena.MatchStatus{arena.MatchVoid}}, arena.Page{Limit: failedMatches})
	if err != nil {
		return nil, err
	}
	facts, err := h.Vitals(ctx, o)
	if err != nil {
		return nil, err
	}
	v := statusView{
		Version: h.Version, StartedAt: jsonTime(h.startedAt), Nodes: h.viewNodes(o.Nodes),
		Counts: countsView{Agents: counts.Agents, Matches: counts.Matches, Events: counts.Events, Settlements: counts.Settlements},
		Queue:  queueView{Due: o.Queue.Due, Later: o.Queue.Later}, SlowMatches: h.overdue(o.Open),
		Vitals: []factView{}, Failed: []matchView{}, SlowAgents: []slowAgentView{},
	}
	if !o.Queue.Oldest.IsZero() {
		v.Queue.WaitSeconds = max(0, h.now().Sub(o.Queue.Oldest).Seconds())
	}
	for _, f := range facts {
		v.Vitals = append(v.Vitals, factView{Name: f.Name, Level: f.Level, Subject: f.Subject, Value: f.Value, Of: f.Of, At: optionalTime(f.At)})
	}
	for _, m := range failed {
		v.Failed = append(v.Failed, h.matches.one(m))
	}
	for _, g := range o.Slow {
		v.SlowAgents = append(v.SlowAgents, slowAgentView{
			AgentID: g.ID, Name: g.Name, LatencyMS: milliseconds(g.Health.Latency), DeclaredLatencyMS: milliseconds(g.Health.DeclaredLatency),
		})
	}
	if v.Counts.Agents == nil {
		v.Counts.Agents = map[arena.AgentStatus]int{}
	}
	if v.Counts.Matches == nil {
		v.Counts.Matches = map[arena.MatchStatus]int{}
	}
	return answer(v)
}

// viewNodes shows the nodes, this one always among them.
func (h *nodeHandlers) viewNodes(known []arena.Node) []nodeView {
	nodes := []nodeView{}
	self := h.ID == ""
	for _, n := range known {
		v := nodeView{
			Node: n.ID, Matches: n.Matches, Self: n.ID == h.ID, Alive: n.Alive, Draining: n.Draining, Version: n.Version,
			StartedAt: optionalTime(n.StartedAt), SeenAt: optionalTime(n.SeenAt),
		}
		if n.LastError != "" {
			v.LastError = &lastErrorView{At: jsonTime(n.LastErrorAt), Text: n.LastError}
		}
		self = self || v.Self
		nodes = append(nodes, v)
	}
	if !self {
		nodes = append(nodes, nodeView{Node: h.ID, Self: true, Alive: true, Version: h.Version})
	}
	return nodes
}

// overdue returns the rounds that should have closed, the longest overdue first.
func (h *nodeHandlers) overdue(open []arena.OpenRound) []slowMatchView {
	slow, now := []slowMatchView{}, h.now()
	for _, r := range open {
		beyond := now.Sub(r.OpenedAt) - r.Settings.TimeLimitIn(r.Round) - r.Settings.Judge.Window - roundGrace
		if r.Settings.Game != nil {
			beyond -= r.Settings.Game.TimeBank // at most: what the seats have left is not read here
		}
		if beyond > 0 {
			slow = append(slow, slowMatchView{
				MatchID: r.MatchID, League: r.League, Node: r.Node, Round: r.Round, OverdueSeconds: beyond.Seconds(), Interruptions: r.Interruptions,
			})
		}
	}
	slices.SortStableFunc(slow, func(x, y slowMatchView) int { return cmp.Compare(y.OverdueSeconds, x.OverdueSeconds) })
	return slow[:min(len(slow), slowMatches)]
}

type drainView struct {
	Node string `json:"node" doc:"The node that answers: the one that drains."`
}

// drain starts what SIGTERM starts, but the process continues to serve. Its
// operator ends it when /v1/admin/status shows no match of this node.
func (h *nodeHandlers) drain(ctx context.Context, _ *struct{}) (*output[drainView], error) {
	h.log.InfoContext(ctx, "drain requested", "node", h.ID)
	h.Drain()
	return answer(drainView{Node: h.ID})
}

type versionView struct {
	Version string `json:"version"`
}

func (h *nodeHandlers) version(context.Context, *struct{}) (*output[versionView], error) {
	return answer(versionView{Version: h.Version})
}

type healthzView struct {
	Status string `json:"status" enum:"ok"`
}

func (h *nodeHandlers) health(context.Context, *struct{}) (*output[healthzView], error) {
	return answer(healthzView{Status: "ok"})
}

func (h *nodeHandlers) ready(ctx context.Context, _ *struct{}) (*output[healthzView], error) {
	if err := h.Ready(ctx); err != nil {
		h.log.WarnContext(ctx, "not ready", "error", err)
		return nil, arena.Errorf(arena.CodeUnavailable, "this node is not ready")
	}
	return answer(healthzView{Status: "ok"})
}

// auditHandlers serve the audit log.
type auditHandlers struct {
	rows Rows
	now  func() time.Time
	log  *slog.Logger
}

// handleRecorded is handleOn for an operation that changes no rows: when it has
// succeeded, an audit entry about it is stored. Services store the entries of
// all other operations with what they change.
func handleRecorded[H, I, O any](of func(*API) H, h func(H, context.Context, *I) (*O, error)) func(*API, route) {
	return func(a *API, r route) {
		handleOn(of, func(handlers H, ctx context.Context, in *I) (*O, error) {
			out, err := h(handlers, ctx, in)
			if err == nil {
				a.audit.record(ctx, r.id, targetOf(in))
			}
			return out, err
		})(a, r)
	}
}

// targetOf returns the object that a request names in its path, "" when it
// names none.
func targetOf(in any) string {
	if named, ok := in.(interface{ target() string }); ok {
		return named.target()
	}
	return ""
}

func (p IDParam) target() string { return p.ID }

// record stores an entry about an operation that has succeeded. A failure is
// logged: it cannot undo the operation.
func (h *auditHandlers) record(ctx context.Context, action, target string) {
	e, err := callerOf(ctx).Audit(h.now(), action, target, nil, nil)
	if err == nil {
		err = h.rows.Operations.Audit(context.WithoutCancel(ctx), e)
	}
	if err != nil {
		h.log.ErrorContext(ctx, "audit entry lost", "action", action, "target", target, "error", err)
	}
}

type auditView struct {
	ID     string          `json:"id"`
	At     jsonTime        `json:"at"`
	Actor  string          `json:"actor" doc:"An owner's id, or admin, organizer or moderator."`
	Token  string          `json:"token,omitempty" doc:"Id of the token that was used."`
	Action string          `json:"action" doc:"The operation's id."`
	Target string          `json:"target,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`

	Names map[string]string `json:"names,omitempty" doc:"Names by id, as of today, of what this entry names. A match has those of its first two agents."`
}

type listAuditInput struct {
	PageParams
	Find   string    `query:"find" maxLength:"200" doc:"Only entries whose actor, action or target is this."`
	Actor  string    `query:"actor" maxLength:"200" doc:"Only entries of this actor: an owner's id or name, or admin, organizer or moderator."`
	Action []string  `query:"action" nullable:"false" maxItems:"100" doc:"Only entries with one of these actions, separated by commas."`
	From   time.Time `query:"from" doc:"Only entries from this time on."`
	To     time.Time `query:"to" doc:"Only entries before this time."`
}

func (h *auditHandlers) list(ctx context.Context, in *listAuditInput) (*output[listOf[auditView]], error) {
	entries, next, err := h.rows.Operations.AuditLog(ctx, arena.AuditFilter{Find: in.Find, Actor: in.Actor, Actions: in.Action, From: in.From.UTC(), To: in.To.UTC()}, in.page())
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, idsIn(e)...)
	}
	slices.Sort(ids)
	names, err := h.rows.Operations.Names(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	var items []auditView
	for _, e := range entries {
		v := auditView{
			ID: e.ID, At: jsonTime(e.At), Actor: e.Actor, Token: e.Token, Action: e.Action, Target: e.Target, Before: e.Before, After: e.After,
			Names: map[string]string{},
		}
		for _, id := range idsIn(e) {
			if found := names[id]; len(found) > 0 {
				v.Names[id] = strings.Join(found[:min(len(found), 2)], " – ")
			}
		}
		items = append(items, v)
	}
	return answerList(items, next)
}

var quotedID = regexp.MustCompile(`"([a-z]{1,2}_[0-9a-z]{26})"`)

// idsIn returns what an entry names by id or slug.
func idsIn(e arena.AuditEntry) []string {
	ids := []string{e.Actor, e.Target}
	for _, doc := range []json.RawMessage{e.Before, e.After} {
		for _, found := range quotedID.FindAllSubmatch(doc, 100) {
			ids = append(ids, string(found[1]))
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// bannerHandlers serve the routes of the banner.
type bannerHandlers struct {
	rows Rows
	now  func() time.Time
}

type bannerView struct {
	Text  string    `json:"text" doc:"Empty: there is none."`
	Since *jsonTime `json:"since,omitempty"`
}

func viewBanner(b arena.Banner) bannerView {
	if b.Text == "" {
		return bannerView{}
	}
	return bannerView{Text: b.Text, Since: optionalTime(b.Since)}
}

func (h *bannerHandlers) get(ctx context.Context, _ *struct{}) (*output[bannerView], error) {
	b, err := h.rows.Operations.Banner(ctx)
	if err != nil {
		return nil, err
	}
	return answer(viewBanner(b))
}

type setBannerInput struct {
	Body struct {
		Text string `json:"text" maxLength:"200" doc:"One line, shown to everyone; empty removes it."`
	} `nameHint:"BannerBody"`
}

func (h *bannerHandlers) set(ctx context.Context, in *setBannerInput) (*output[bannerView], error) {
	if err := plaintext.CheckLine("text", in.Body.Text); err != nil {
		return nil, err
	}
	caller, b := callerOf(ctx), arena.Banner{Text: in.Body.Text, Since: h.now()}
	if err := h.rows.Operations.SetBanner(ctx, b, func(before, after arena.Banner) (arena.AuditEntry, error) {
		return caller.Audit(b.Since, "set-banner", "banner", before.Text, after.Text)
	}); err != nil {
		return nil, err
	}
	return answer(viewBanner(b))
}
