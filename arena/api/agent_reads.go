package api

import (
	"context"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/record"
)

// historyReads are the rows that historyHandlers read.
type historyReads interface {
	Agent(ctx context.Context, id string) (arena.Agent, error)
	AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error)
	RatingHistory(ctx context.Context, id, league string, limit int) ([]arena.RatingPoint, error)
	Uptime(ctx context.Context, id string, since time.Time) ([]arena.UptimeDay, error)
	Opponents(ctx context.Context, id string) ([]arena.OpponentRecord, error)
	AgentResults(ctx context.Context, agentID string, matches int) ([]arena.ResultCount, error)
	AgentClaims(ctx context.Context, agentID, league string, limit int) ([]arena.Claim, error)
	Conformance(ctx context.Context, agentID string) (arena.Conformance, error)
	Deliveries(ctx context.Context, f arena.DeliveryFilter, p arena.Page) ([]arena.Delivery, string, error)
}

// historyHandlers serve the routes that show what agents did.
type historyHandlers struct {
	agents    Agents
	rows      historyReads
	matches   *matchViews
	ranks     func(ctx context.Context, league string) (map[string]int, error) // by agent id
	calibrate func([]arena.Claim) arena.Calibration
	now       func() time.Time
}

// agentHistory mounts one of the historyHandlers.
func agentHistory[I, O any](h func(*historyHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return handleOn(func(a *API) *historyHandlers { return a.history }, h)
}

// dodgeViews returns the no-show record of one agent (threat F5).
func dodgeViews(dodges []arena.Dodge, now time.Time) []dodgeView {
	var views []dodgeView
	for _, r := range arena.DodgeLedger(dodges) {
		v := dodgeView{League: r.League, Count: r.Count}
		if r.SuspendedUntil.After(now) {
			v.SuspendedUntil = optionalTime(r.SuspendedUntil)
		}
		views = append(views, v)
	}
	return views
}

type agentRatingsInput struct {
	IDParam
	League string `query:"league" maxLength:"40" doc:"Only in this league."`
	Limit  int    `query:"limit" minimum:"0" maximum:"1000" default:"200" doc:"How many points of history per league at most, the newest."`
}

type ratingHistoryView struct {
	League       string            `json:"league"`
	Rating       arena.Melo        `json:"rating"`
	Peak         arena.Melo        `json:"peak"`
	RatedMatches int               `json:"rated_matches"`
	Provisional  bool              `json:"provisional"`
	Rank         int               `json:"rank,omitempty" minimum:"1" doc:"Absent: not ranked, or the league is frozen."`
	Wins         int               `json:"wins"`
	Draws        int               `json:"draws"`
	Losses       int               `json:"losses"`
	LastRatedAt  *jsonTime         `json:"last_rated_at,omitempty"`
	History      []ratingPointView `json:"history" doc:"Oldest first."`
}

type ratingPointView struct {
	MatchID string     `json:"match_id"`
	At      jsonTime   `json:"at"`
	Rating  arena.Melo `json:"rating" doc:"After the match."`
	Delta   arena.Melo `json:"delta"`
	Version string     `json:"version,omitempty" doc:"The agent's own in that match."`
	LeftOut *int       `json:"rounds_left_out,omitempty" doc:"Present where it won the match and its rating fell: the rounds that did not count for both sides, which ratings do not compare; 0: the league compares round by round."`
}

func (h *historyHandlers) ratings(ctx context.Context, in *agentRatingsInput) (*output[listOf[ratingHistoryView]], error) {
	if _, err := h.rows.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	ratings, err := h.rows.AgentRatings(ctx, []string{in.ID})
	if err != nil {
		return nil, err
	}
	var items []ratingHistoryView
	for _, r := range ratings[in.ID] {
		if in.League != "" && r.League != in.League {
			continue
		}
		v := ratingHistoryView{
			League: r.League, Rating: r.Melo, Peak: r.Peak, RatedMatches: r.Matches, Provisional: r.Provisional(),
			Wins: r.Wins, Draws: r.Draws, Losses: r.Losses,
			LastRatedAt: optionalTime(r.LastRatedAt), History: []ratingPointView{},
		}
		ranks, err := h.ranks(ctx, r.League)
		if err != nil {
			return nil, err
		}
		v.Rank = ranks[in.ID]
		if in.Limit > 0 {
			points, err := h.rows.RatingHistory(ctx, in.ID, r.League, in.Limit)
			if err != nil {
				return nil, err
			}
			for _, p := range points {
				v.History = append(v.History, ratingPointView{MatchID: p.MatchID, At: jsonTime(p.At), Rating: p.Rating, Delta: p.Delta, Version: p.Version, LeftOut: p.LeftOut})
			}
		}
		items = append(items, v)
	}
	return answerList(items, "")
}

type agentMatchesInput struct {
	IDParam
	PageParams
	StatusParam
}

func (h *historyHandlers) listMatches(ctx context.Context, in *agentMatchesInput) (*output[listOf[matchView]], error) {
	if _, err := h.rows.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	return h.matches.answerPage(ctx, arena.MatchFilter{AgentID: in.ID, Statuses: in.statuses()}, in.page())
}

type uptimeView struct {
	Day    string `json:"day" format:"date" doc:"UTC."`
	OK     int    `json:"ok"`
	Failed int    `json:"failed"`
}

// uptimeFor is how far back an agent's health checks are shown.
const uptimeFor = 90 * 24 * time.Hour

func (h *historyHandlers) uptime(ctx context.Context, in *IDPartParams) (*output[listOf[uptimeView]], error) {
	if _, err := h.rows.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	days, err := h.rows.Uptime(ctx, in.ID, h.now().Add(-uptimeFor))
	if err != nil {
		return nil, err
	}
	var items []uptimeView
	for _, d := range days {
		items = append(items, uptimeView{Day: d.Day, OK: d.OK, Failed: d.Failed})
	}
	return answerPart(in.PartParams, items)
}

type opponentView struct {
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
	Matches int    `json:"matches"`
	Wins    int    `json:"wins"`
	Draws   int    `json:"draws"`
	Losses  int    `json:"losses"`
}

func (h *historyHandlers) opponents(ctx context.Context, in *IDPartParams) (*output[listOf[opponentView]], error) {
	if _, err := h.rows.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	records, err := h.rows.Opponents(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var items []opponentView
	for _, r := range records {
		items = append(items, opponentView(r))
	}
	return answerPart(in.PartParams, items)
}

type deliveriesInput struct {
	IDParam
	PageParams
	Match   string `query:"match" maxLength:"64" doc:"Only of this match."`
	Outcome string `query:"outcome" enum:"answered,timeout,rate_limited,error,unavailable,invalid,void" doc:"Only with this outcome."`
}

type deliveryView struct {
	DeliveryID string        `json:"delivery_id"`
	MatchID    string        `json:"match_id"`
	League     string        `json:"league"`
	AgentID    string        `json:"agent_id"`
	Round      int           `json:"round"`
	TaskID     string        `json:"task_id"`
	Attempt    int           `json:"attempt"`
	Status     int           `json:"status" doc:"The HTTP status of the reply; 0 when there was none."`
	Outcome    arena.Outcome `json:"outcome" enum:"answered,timeout,rate_limited,error,unavailable,invalid,void"`
	Reason     string        `json:"reason,omitempty" doc:"A stable word for what went wrong."`
	Detail     string        `json:"detail,omitempty" doc:"One sentence about it."`
	SentAt     jsonTime      `json:"sent_at"`
	ElapsedMS  float64       `json:"elapsed_ms"`
	Request    string        `json:"request" doc:"The body that was sent."`
	Response   string        `json:"response,omitempty" doc:"The first 2 KiB of a reply that was not an answer."`
	Receipt    *receiptView  `json:"receipt,omitempty" doc:"Of an answer; the same as in the next task and in the match's record."`
}

type receiptView struct {
	SHA256    string   `json:"sha256" doc:"Of the answer as the arena took it, in the form of RFC 8785."`
	ArrivedAt jsonTime `json:"arrived_at"`
}

// deliveries is for the agent's owner and admins: it shows what the agent
// was sent and how it failed.
func (h *historyHandlers) deliveries(ctx context.Context, in *deliveriesInput) (*output[listOf[deliveryView]], error) {
	g, err := h.agents.Own(ctx, callerOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	f := arena.DeliveryFilter{AgentID: g.ID, MatchID: in.Match, Outcome: arena.Outcome(in.Outcome)}
	list, next, err := h.rows.Deliveries(ctx, f, in.page())
	if err != nil {
		return nil, err
	}
	var items []deliveryView
	for _, d := range list {
		v := deliveryView{
			DeliveryID: d.ID, MatchID: d.MatchID, League: d.League, AgentID: d.AgentID, Round: d.Round,
			TaskID: d.TaskID, Attempt: d.Attempt, Status: d.Status, Outcome: d.Outcome, Reason: d.Reason, Detail: d.Detail,
			SentAt: jsonTime(d.SentAt), ElapsedMS: milliseconds(d.Elapsed),
			Request: strings.ToValidUTF8(string(d.Request), "\uFFFD"), Response: strings.ToValidUTF8(string(d.Response), "\uFFFD"),
		}
		if d.Answer != nil && !d.AnsweredAt.IsZero() {
			receipt, err := record.ReceiptOf(*d.Answer, d.AnsweredAt)
			if err != nil {
				return nil, err
			}
			v.Receipt = &receiptView{receipt.SHA256, jsonTime(receipt.ArrivedAt)}
		}
		items = append(items, v)
	}
	return answerList(items, next)
}
