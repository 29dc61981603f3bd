package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	rehearsePath = "/v1/agents/{id}/rehearse"
	// rehearseTimeout bounds a rehearsal, which is answered when it is over.
	rehearseTimeout = time.Minute
	// uploadTimeout bounds the upload of a game, which is answered when random games of
	// it are over. They take 10 seconds of processor time at most, at the lowest priority.
	uploadTimeout = 3 * time.Minute
)

// timeout is how long the handler of the route may take.
func (r route) timeout() time.Duration {
	if r.path == rehearsePath || r.path == checkPath {
		return rehearseTimeout
	}
	if r.method == http.MethodPost && r.path == gamesPath {
		return uploadTimeout
	}
	if r.path == exportPath || r.path == exportOwnerPath || r.path == leagueExportPath {
		return exportTimeout
	}
	return requestTimeout
}

type rehearseInput struct {
	IDParam
	Body struct {
		League string   `json:"league" minLength:"1" maxLength:"40" doc:"Its time limit, rules, judge and generator are used; tasks of a pack are not."`
		Faults []string `json:"faults,omitempty" uniqueItems:"true" enum:"duplicate_delivery,expired_token,slow_network,trickle,huge_task,hostile_opponent" doc:"In this order; left out: all of them."`
		Rounds int      `json:"rounds,omitempty" minimum:"1" maximum:"10" doc:"Left out: one without a fault, and one for each fault. More: the faults again."`
	} `nameHint:"RehearseBody"`
}

type rehearsalView struct {
	AgentID   string               `json:"agent_id"`
	League    string               `json:"league"`
	StartedAt jsonTime             `json:"started_at"`
	ElapsedMS float64              `json:"elapsed_ms"`
	Passed    int                  `json:"passed" doc:"Rounds that went as they should."`
	Failed    int                  `json:"failed"`
	Tokens    *rehearsedTokensView `json:"tokens,omitempty" doc:"Absent: no round was answered."`
	Rounds    []rehearsedRoundView `json:"rounds"`
}

type rehearsedTokensView struct {
	PerRound int64 `json:"per_round" doc:"The most that an answer cost."`
	PerMatch int64 `json:"per_match" doc:"per_round × the most rounds of a match of the league."`
	Declared bool  `json:"declared" doc:"The agent declared the tokens of every answer; else they are estimated by its length."`
}

type rehearsedRoundView struct {
	Round            int                    `json:"round"`
	Fault            arena.Fault            `json:"fault,omitempty" enum:"duplicate_delivery,expired_token,slow_network,trickle,huge_task,hostile_opponent" doc:"Absent: a round without one."`
	Verdict          arena.RehearsalVerdict `json:"verdict" enum:"passed,failed,not_played"`
	Sent             string                 `json:"sent" doc:"The request or reply that was sent."`
	Expected         string                 `json:"expected" doc:"The expected result."`
	Explanation      string                 `json:"explanation" doc:"The actual result; for not_played: why."`
	Outcome          arena.Outcome          `json:"outcome,omitempty" enum:"answered,timeout,rate_limited,error,unavailable,invalid,void" doc:"As a match would have counted it."`
	Answer           *string                `json:"answer,omitempty"`
	Correct          string                 `json:"correct"`
	Points           arena.Points           `json:"points"`
	ReferenceAnswer  string                 `json:"house_answer" doc:"Answer of the reference agent in the other seat."`
	TimeLimitSeconds float64                `json:"time_limit_seconds"`
	ElapsedMS        float64                `json:"elapsed_ms"`
	Attempts         []rehearsedAttemptView `json:"attempts" doc:"Every request with its reply."`
}

type rehearsedAttemptView struct {
	Attempt   int           `json:"attempt"`
	Status    int           `json:"status" doc:"The HTTP status of the reply; 0 when there was none."`
	Outcome   arena.Outcome `json:"outcome" enum:"answered,timeout,rate_limited,error,unavailable,invalid,void"`
	Reason    string        `json:"reason,omitempty" doc:"A stable word for what went wrong."`
	Detail    string        `json:"detail,omitempty" doc:"One sentence about it."`
	SentAt    jsonTime      `json:"sent_at"`
	ElapsedMS float64       `json:"elapsed_ms"`
	Request   string        `json:"request" doc:"The body that was sent."`
	Response  string        `json:"response,omitempty" doc:"The first 2 KiB of a reply that was not an answer."`
}

// rehearse plays a private run of the caller's agent.
func (h *agentHandlers) rehearse(ctx context.Context, in *rehearseInput) (*output[rehearsalView], error) {
	request := arena.RehearsalRequest{League: in.Body.League, Rounds: in.Body.Rounds}
	if in.Body.Faults != nil {
		request.Faults = make([]arena.Fault, len(in.Body.Faults))
		for i, f := range in.Body.Faults {
			request.Faults[i] = arena.Fault(f)
		}
	}
	r, report, err := h.agents.Rehearse(ctx, callerOf(ctx), in.ID, request)
	if err != nil {
		return nil, err
	}
	return answer(viewRehearsal(r, report))
}

func viewRehearsal(r arena.Rehearsal, report arena.RehearsalReport) rehearsalView {
	v := rehearsalView{
		AgentID: r.Agent.ID, League: r.League.Slug, StartedAt: jsonTime(report.StartedAt), ElapsedMS: milliseconds(report.Elapsed),
		Passed: report.Count(arena.RehearsalPassed), Failed: report.Count(arena.RehearsalFailed), Rounds: []rehearsedRoundView{},
	}
	if tokens, declared := report.RoundTokens(); tokens > 0 {
		v.Tokens = &rehearsedTokensView{PerRound: tokens, PerMatch: tokens * r.League.Settings.MostRounds(), Declared: declared}
	}
	for _, round := range report.Rounds {
		v.Rounds = append(v.Rounds, viewRehearsed(round))
	}
	return v
}

func viewRehearsed(r arena.RehearsedRound) rehearsedRoundView {
	v := rehearsedRoundView{
		Round: r.No, Fault: r.Fault, Verdict: r.Verdict, Sent: r.Sent, Expected: r.Expected, Explanation: r.Explanation,
		Outcome: r.Outcome, Answer: r.Answer, Correct: r.Task.Correct(), Points: r.Points, ReferenceAnswer: r.Reference,
		TimeLimitSeconds: r.TimeLimit.Seconds(), ElapsedMS: milliseconds(r.Elapsed), Attempts: []rehearsedAttemptView{},
	}
	for _, d := range r.Attempts {
		v.Attempts = append(v.Attempts, rehearsedAttemptView{
			Attempt: d.Attempt, Status: d.Status, Outcome: d.Outcome, Reason: d.Reason, Detail: d.Detail,
			SentAt: jsonTime(d.SentAt), ElapsedMS: milliseconds(d.Elapsed),
			Request: strings.ToValidUTF8(string(d.Request), "\uFFFD"), Response: strings.ToValidUTF8(string(d.Response), "\uFFFD"),
		})
	}
	return v
}
