package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/scoring"
)

// historyHandlers serve the routes that show what agents did.
type historyHandlers struct {
	rows    Rows
	visible Visible
	url     string // of the arena, without a slash at the end
	matches *matchViews
	ranks   func(ctx context.Context, league string) (map[string]int, error) // by agent id
	now     func() time.Time
}

// noShowViews returns the no-show record of one agent (threat F5).
func noShowViews(noShows []arena.NoShow, now time.Time) []noShowView {
	var views []noShowView
	for _, r := range arena.NoShowRecords(noShows) {
		v := noShowView{League: r.League, Count: r.Count}
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
	Rating       arena.MilliElo    `json:"rating"`
	Peak         arena.MilliElo    `json:"peak"`
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
	MatchID string         `json:"match_id"`
	At      jsonTime       `json:"at"`
	Rating  arena.MilliElo `json:"rating" doc:"After the match."`
	Delta   arena.MilliElo `json:"delta"`
	Version string         `json:"version,omitempty" doc:"The agent's own in that match."`
	LeftOut *int           `json:"rounds_left_out,omitempty" doc:"Present where it won the match and its rating fell: the rounds that did not count for both sides, which ratings do not compare; 0: the league compares round by round."`
}

func (h *historyHandlers) ratings(ctx context.Context, in *agentRatingsInput) (*output[listOf[ratingHistoryView]], error) {
	if _, err := h.rows.Agents.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	ratings, err := h.rows.Ratings.AgentRatings(ctx, []string{in.ID})
	if err != nil {
		return nil, err
	}
	var items []ratingHistoryView
	for _, r := range ratings[in.ID] {
		if in.League != "" && r.League != in.League {
			continue
		}
		v := ratingHistoryView{
			League: r.League, Rating: r.MilliElo, Peak: r.Peak, RatedMatches: r.Matches, Provisional: r.Provisional(),
			Wins: r.Wins, Draws: r.Draws, Losses: r.Losses,
			LastRatedAt: optionalTime(r.LastRatedAt), History: []ratingPointView{},
		}
		ranks, err := h.ranks(ctx, r.League)
		if err != nil {
			return nil, err
		}
		v.Rank = ranks[in.ID]
		if in.Limit > 0 {
			points, err := h.rows.Ratings.RatingHistory(ctx, in.ID, r.League, in.Limit)
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
	if _, err := h.rows.Agents.Agent(ctx, in.ID); err != nil {
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
	if _, err := h.rows.Agents.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	days, err := h.rows.Agents.Uptime(ctx, in.ID, h.now().Add(-uptimeFor))
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
	if _, err := h.rows.Agents.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	records, err := h.rows.Ratings.Opponents(ctx, in.ID)
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
	Receipt    *receiptView  `json:"receipt,omitempty" doc:"Of an answer; the same as in the next task. The match's record has the answer."`
}

type receiptView struct {
	SHA256    string   `json:"sha256" doc:"Of the answer as the arena took it, in the form of RFC 8785."`
	ArrivedAt jsonTime `json:"arrived_at"`
}

// deliveries is for the agent's owner and admins: it shows what the agent
// was sent and how it failed.
func (h *historyHandlers) deliveries(ctx context.Context, in *deliveriesInput) (*output[listOf[deliveryView]], error) {
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !callerOf(ctx).ActsFor(g) {
		return nil, arena.Errorf(arena.CodeNotFound, "you have no agent %s", in.ID)
	}
	f := arena.DeliveryFilter{AgentID: g.ID, MatchID: in.Match, Outcome: arena.Outcome(in.Outcome)}
	list, next, err := h.rows.Agents.Deliveries(ctx, f, in.page())
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
		if d.Answer != nil {
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

// resultMatches is how many of an agent's matches its results look at, the
// newest ones.
const resultMatches = 500

type resultsView struct {
	AgentID string            `json:"agent_id"`
	Rounds  int               `json:"rounds" doc:"Closed rounds of its newest 500 matches."`
	Items   []resultCountView `json:"items" doc:"Most rounds first."`
	Games   []agentGamesView  `json:"games" doc:"How its games ended, in each league of games: games of finished matches that count for the table."`
}

type resultCountView struct {
	Result string  `json:"result" enum:"right,partial,wrong,unjudged,move,illegal_move,timeout,rate_limited,error,unavailable,invalid,void" doc:"How an answer was judged, or why there is none. A move of a game is neither right nor wrong; an illegal_move is one that the rules refused twice."`
	Rounds int     `json:"rounds"`
	MeanMS float64 `json:"mean_ms" doc:"From request to the end of the attempt, as the arena measured it."`
}

// outcomes answers with how an agent's closed rounds end: by verdict where it
// answered, by cause where it did not.
func (h *historyHandlers) outcomes(ctx context.Context, in *IDParam) (*output[resultsView], error) {
	if _, err := h.rows.Agents.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	counts, err := h.rows.Ratings.AgentResults(ctx, in.ID, resultMatches)
	if err != nil {
		return nil, err
	}
	records, err := h.rows.Games.AgentGames(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	v := resultsView{AgentID: in.ID, Items: []resultCountView{}, Games: viewAgentGames(records)}
	for _, c := range counts {
		v.Rounds += c.Rounds
		v.Items = append(v.Items, resultCountView{Result: string(c.Result), Rounds: c.Rounds, MeanMS: milliseconds(c.Mean)})
	}
	return answer(v)
}

type lossesInput struct {
	IDParam
	PageParams
	League  string `query:"league" maxLength:"40" doc:"Only in this league."`
	Topic   string `query:"topic" maxLength:"128" doc:"Only questions of this topic."`
	Version string `query:"version" maxLength:"32" doc:"Only matches in which the agent had this version."`
}

type lossView struct {
	MatchID     string        `json:"match_id"`
	League      string        `json:"league"`
	Round       int           `json:"round"`
	At          jsonTime      `json:"at" doc:"When the round closed."`
	Topic       string        `json:"topic,omitempty"`
	Description string        `json:"description" doc:"The question; in a game, what the agent was asked if you may see it, else what spectators see."`
	Options     []string      `json:"options,omitempty"`
	Answer      string        `json:"answer" doc:"Empty: there was none, or it is still sealed."`
	Correct     string        `json:"correct" doc:"The right answer; empty where there is no single one."`
	Outcome     arena.Outcome `json:"outcome" enum:"answered,timeout,error,invalid" doc:"answered: the answer got no point."`
	Reason      string        `json:"reason" doc:"A stable word for what went wrong; empty: the answer was wrong."`
	ElapsedMS   float64       `json:"elapsed_ms"`
	Version     string        `json:"version,omitempty" doc:"Of the agent in the match."`
	URL         string        `json:"url" doc:"The page that replays the round."`
}

// losses answers with the rounds that brought an agent no point: to spectators those
// that they have seen close, to whom the agent belongs all of them.
func (h *historyHandlers) losses(ctx context.Context, in *lossesInput) (*output[listOf[lossView]], error) {
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	f := arena.LossFilter{AgentID: g.ID, League: in.League, Topic: in.Topic, Version: in.Version}
	list, next, err := h.visible.Losses(ctx, f, callerOf(ctx).ActsFor(g), in.page())
	if err != nil {
		return nil, err
	}
	var items []lossView
	for _, l := range list {
		items = append(items, h.viewLoss(l))
	}
	return answerList(items, next)
}

func (h *historyHandlers) viewLoss(l arena.LostRound) lossView {
	task := l.Round.Public()
	for _, p := range l.Round.Turn.Prompts {
		task.Description, task.Options = p.Description, p.Options
	}
	v := lossView{
		MatchID: l.Round.MatchID, League: l.League, Round: l.Round.No, At: jsonTime(l.Round.ClosedAt),
		Topic: task.Topic, Description: task.Description, Options: task.Options, Correct: l.Round.Task.Correct(),
		Outcome: l.Answer.Outcome, Reason: l.Answer.Reason, ElapsedMS: milliseconds(l.Answer.Elapsed), Version: l.Version,
		URL: h.url + "/m/" + l.Round.MatchID + "?seq=" + strconv.FormatInt(l.Seq, 10),
	}
	if l.Answer.Body != nil {
		v.Answer = l.Answer.Body.Answer
	}
	return v
}

type topicsInput struct {
	IDParam
	League  string `query:"league" maxLength:"40" doc:"Only in this league."`
	Version string `query:"version" maxLength:"32" doc:"Only matches in which the agent had this version."`
}

type topicsView struct {
	Items []topicView    `json:"items" doc:"Most answers first."`
	Total rightShareView `json:"total" doc:"Of all topics."`
}

type topicView struct {
	Topic string `json:"topic" doc:"Empty: questions without a topic."`
	RightShareView
}

// RightShareView is exported only because Huma skips unexported embedded structs.
type RightShareView = rightShareView

type rightShareView struct {
	Answered int     `json:"answered" doc:"Judged answers in its newest 500 matches."`
	Right    int     `json:"right" doc:"Answers that got the whole point."`
	Share    float64 `json:"share" minimum:"0" maximum:"1"`
	Low      float64 `json:"low" doc:"Of the 95 % interval of Wilson; a wide one means too few answers."`
	High     float64 `json:"high"`
}

func viewRightShare(right, answered int) rightShareView {
	share := arena.ShareOf(right, answered)
	return rightShareView{answered, right, share.Share, share.Low, share.High}
}

// topics answers with how often an agent is right, by topic.
func (h *historyHandlers) topics(ctx context.Context, in *topicsInput) (*output[topicsView], error) {
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	f := arena.LossFilter{AgentID: g.ID, League: in.League, Version: in.Version}
	counts, err := h.rows.Ratings.Topics(ctx, f, callerOf(ctx).ActsFor(g), resultMatches)
	if err != nil {
		return nil, err
	}
	v := topicsView{Items: []topicView{}}
	answered, right := 0, 0
	for _, c := range counts {
		answered, right = answered+c.Answered, right+c.Right
		v.Items = append(v.Items, topicView{c.Topic, viewRightShare(c.Right, c.Answered)})
	}
	v.Total = viewRightShare(right, answered)
	return answer(v)
}

// calibrationAnswers is how many of an agent's answers its calibration looks
// at, the newest ones: what PostgreSQL reads in a few milliseconds among a million
// matches.
const calibrationAnswers = 500

type calibrationInput struct {
	IDParam
	League string `query:"league" maxLength:"40" doc:"Of its newest 500 answers only those in this league."`
}

type calibrationView struct {
	AgentID  string               `json:"agent_id"`
	Declared bool                 `json:"declared" doc:"Always true: it rests on the claims of the agent."`
	Answers  int                  `json:"answers" doc:"Of its newest 500 judged answers, or of fewer when they are longer than 1 MiB together, those with a confidence."`
	Brier    *float64             `json:"brier" doc:"Mean of (confidence - right)^2: 0 is best, a coin has 0.25; null: no answers."`
	Bins     []calibrationBinView `json:"bins" doc:"Ten of equal width, by confidence."`
	Tokens   tokenCostView        `json:"tokens"`
}

type calibrationBinView struct {
	From           float64  `json:"from"`
	To             float64  `json:"to"`
	Count          int      `json:"count"`
	MeanConfidence *float64 `json:"mean_confidence" doc:"null: no answers"`
	RightShare     *float64 `json:"right_share" doc:"Answers that got the whole point, 0 to 1; null: no answers."`
}

type tokenCostView struct {
	Declared  bool     `json:"declared" doc:"Always true: it is not checked."`
	Answers   int      `json:"answers" doc:"Of its newest 500 judged answers those with a number of tokens."`
	Total     int64    `json:"total"`
	PerRight  *float64 `json:"per_right" doc:"Total by right answers; null: none was right."`
	OverLimit int      `json:"over_max_tokens" doc:"Of its newest 500 judged answers those over max_tokens, by the declared number or by their length."`
}

// calibration compares the confidence that an agent declared in closed rounds
// with its results, and adds the cost of its right answers as it declared it.
func (h *historyHandlers) calibration(ctx context.Context, in *calibrationInput) (*output[calibrationView], error) {
	if _, err := h.rows.Agents.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	claims, err := h.rows.Ratings.AgentClaims(ctx, in.ID, in.League, calibrationAnswers)
	if err != nil {
		return nil, err
	}
	c := scoring.Calibrate(claims)
	v := calibrationView{
		AgentID: in.ID, Declared: true, Answers: c.Answers, Brier: c.Brier, Bins: []calibrationBinView{},
		Tokens: tokenCostView{Declared: true, Answers: c.Tokens.Answers, Total: c.Tokens.Total, PerRight: c.Tokens.PerRight, OverLimit: c.Tokens.OverLimit},
	}
	for _, b := range c.Bins {
		v.Bins = append(v.Bins, calibrationBinView(b))
	}
	return answer(v)
}

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
	Result    string `json:"result" enum:"pass,fail,skip,not_applicable" doc:"not_applicable: the protocol, or the way the agent is reached, has nothing to check."`
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
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := h.rows.Agents.Conformance(ctx, g.ID)
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

// publicFile is an answer that any cache may keep for a while.
type publicFile struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

func newPublicFile(contentType string, maxAge time.Duration, body []byte) *publicFile {
	return &publicFile{ContentType: contentType, CacheControl: fmt.Sprintf("public, max-age=%d", int(maxAge.Seconds())), Body: body}
}

// badge answers with an SVG. It holds no script, loads nothing, and contains no text
// from users.
func (h *historyHandlers) badge(ctx context.Context, in *IDParam) (*publicFile, error) {
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	words, colour := "not checked", "#6b7280"
	c, err := h.rows.Agents.Conformance(ctx, g.ID)
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
	return newPublicFile("image/svg+xml; charset=utf-8", 5*time.Minute, drawBadge("AAP 1.0", words, colour)), nil
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
