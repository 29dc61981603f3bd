package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
)

const badgePath = "/v1/agents/{id}/badge.svg"

// conformanceView is the last full check in short.
type conformanceView struct {
	Passed    bool      `json:"passed" doc:"It passed every MUST."`
	Version   string    `json:"version" doc:"Of the agent, as it was called then; another one than version until its check comes."`
	CheckedAt jsonTime  `json:"checked_at"`
	Must      tallyView `json:"must"`
	Should    tallyView `json:"should"`
}

type tallyView struct {
	Pass  int `json:"pass"`
	Total int `json:"total"`
}

func viewConformance(c arena.Conformance) *conformanceView {
	return &conformanceView{
		Passed: c.Passed, Version: c.Version, CheckedAt: jsonTime(c.CheckedAt),
		Must: tallyView{c.MustPass, c.MustTotal}, Should: tallyView{c.ShouldPass, c.ShouldTotal},
	}
}

// findingView is one check. What was sent and what came back is between the
// arena and the owner.
type findingView struct {
	ID        string `json:"id"`
	Level     string `json:"level" enum:"MUST,SHOULD"`
	Title     string `json:"title"`
	Clause    string `json:"clause" doc:"Where it is written."`
	Result    string `json:"result" enum:"pass,fail,skip"`
	Sent      string `json:"sent,omitempty" doc:"Only for its owner and admins, like got and cure."`
	Got       string `json:"got,omitempty"`
	Cure      string `json:"cure,omitempty"`
	ElapsedMS int64  `json:"elapsed_ms"`
}

type conformanceReportView struct {
	ConformanceView
	AgentID string        `json:"agent_id"`
	League  string        `json:"league" doc:"Of the tasks."`
	Checks  []findingView `json:"checks"`
}

// ConformanceView is exported only because Huma skips unexported embedded structs.
type ConformanceView = conformanceView

func (h *historyHandlers) conformance(ctx context.Context, in *IDParam) (*output[conformanceReportView], error) {
	g, err := h.rows.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := h.rows.Conformance(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	v := conformanceReportView{ConformanceView: *viewConformance(c), AgentID: g.ID}
	var report struct {
		League string        `json:"league"`
		Checks []findingView `json:"checks"`
	}
	if err := json.Unmarshal(c.Report, &report); err != nil {
		return nil, fmt.Errorf("report of agent %s: %w", g.ID, err)
	}
	v.League, v.Checks = report.League, orEmpty(report.Checks)
	if !callerOf(ctx).Owns(g.OwnerID) {
		for i := range v.Checks {
			v.Checks[i].Sent, v.Checks[i].Got, v.Checks[i].Cure = "", "", ""
		}
	}
	return answer(v)
}

// badge is an SVG. It holds no script, loads nothing, and contains no text from
// users.
type badge struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

func (h *historyHandlers) badge(ctx context.Context, in *IDParam) (*badge, error) {
	g, err := h.rows.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	words, colour := "not checked", "#6b7280"
	c, err := h.rows.Conformance(ctx, g.ID)
	switch {
	case arena.CodeOf(err) == arena.CodeNotFound:
	case err != nil:
		return nil, err
	default:
		words, colour = fmt.Sprintf("MUST %d/%d · SHOULD %d/%d", c.MustPass, c.MustTotal, c.ShouldPass, c.ShouldTotal), "#b91c1c"
		if c.Passed {
			colour = "#15803d"
		}
	}
	return &badge{
		ContentType: "image/svg+xml; charset=utf-8", CacheControl: "public, max-age=300", Body: drawBadge("AAP 1.0", words, colour),
	}, nil
}

// drawBadge writes two words side by side. The width of a letter is a guess
// that textLength makes true.
func drawBadge(name, words, colour string) []byte {
	const letter, margin = 7, 8
	left, right := letter*len([]rune(name))+2*margin, letter*len([]rune(words))+2*margin
	return []byte(strings.NewReplacer(
		"{name}", name, "{words}", words, "{colour}", colour, "{width}", strconv.Itoa(left+right), "{left}", strconv.Itoa(left), "{right}", strconv.Itoa(right),
		"{nameAt}", strconv.Itoa(margin), "{wordsAt}", strconv.Itoa(left+margin), "{nameLength}", strconv.Itoa(left-2*margin), "{wordsLength}", strconv.Itoa(right-2*margin),
	).Replace(`<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{name}: {words}">
<title>{name}: {words}</title>
<rect width="{width}" height="20" rx="3" fill="{colour}"/>
<path d="M3 0h{left}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#1f2937"/>
<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">
<text x="{nameAt}" y="14" textLength="{nameLength}">{name}</text>
<text x="{wordsAt}" y="14" textLength="{wordsLength}">{words}</text>
</g>
</svg>
`))
}
