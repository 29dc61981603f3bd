package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
)

// AdminCmd is `arena admin`: the API from the command line. Everything it does
// can be done with any HTTP client.
type AdminCmd struct {
	URL       string            `placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	Token     string            `placeholder:"TOKEN" help:"Admin token (ARENA_ADMIN_TOKEN, or the content of ARENA_ADMIN_TOKEN_FILE, else the token of arena login)."`
	League    AdminLeagueCmd    `cmd:"" help:"List, show, make, change and run leagues."`
	Match     AdminMatchCmd     `cmd:"" help:"List, show, schedule, cancel, void and rescore matches; hide answers."`
	Agent     AdminAgentCmd     `cmd:"" help:"List, show, check, pause and resume agents."`
	Pack      AdminPackCmd      `cmd:"" help:"List and upload question packs; show, change and remove questions."`
	Game      AdminGameCmd      `cmd:"" help:"List and upload games."`
	Ratings   AdminRatingsCmd   `cmd:"" help:"Verify or rebuild ratings."`
	Tokens    AdminTokenCmd     `cmd:"" name:"token" help:"List, make and revoke tokens; invite owners."`
	Owners    AdminOwnerCmd     `cmd:"" name:"owner" help:"List, show, suspend, restore, export and delete owners, and replace their tokens."`
	People    AdminPeopleCmd    `cmd:"" help:"Give people roles, and invite them."`
	Audit     AdminAuditCmd     `cmd:"" help:"Show the audit log, newest first."`
	Anomalies AdminAnomaliesCmd `cmd:"" help:"Look for cheating in a league: copied answers, traded wins."`
	Banner    AdminBannerCmd    `cmd:"" help:"Set the text that every page shows, or remove it."`
	Status    AdminStatusCmd    `cmd:"" help:"Show sizes, nodes, queue and what is slow or failed."`
	Drain     AdminDrainCmd     `cmd:"" help:"Make the node that answers give its matches to others."`
}

// Help describes where the token comes from.
func (c *AdminCmd) Help() string {
	return `A client of the arena's API: every command is one request, and prints its answer
as JSON. The token is the one that the server printed at its first start; arena login
stores it.

    export ARENA_URL=http://127.0.0.1:8080 ARENA_ADMIN_TOKEN=…
    arena admin league list
    arena admin league create league.json
    arena admin league create --slug c4 --title "Connect four" --time-limit 30s --game connect_four
    arena admin league start swiss-cup
    arena admin ratings verify`
}

// call makes one request and prints the answer.
func (c *AdminCmd) call(app *App, method, path string, in any) error {
	answer, err := c.ask(app, method, path, in)
	if err != nil {
		return err
	}
	return printJSON(app, answer)
}

// ask makes one request.
func (c *AdminCmd) ask(app *App, method, path string, in any) (answer json.RawMessage, err error) {
	return answer, c.fetch(app, method, path, in, &answer)
}

// fetch makes one request whose answer goes to out, as apiclient.Client.Call has it.
func (c *AdminCmd) fetch(app *App, method, path string, in, out any) error {
	target, err := app.Target(c.URL, cli.Token{Name: "--token", Value: c.Token, Variables: []string{"ARENA_ADMIN_TOKEN"}})
	if err != nil {
		return err
	}
	err = target.Client().Call(app.Ctx, method, path, in, out)
	if p, ok := errors.AsType[*apiclient.Problem](err); ok && p.Status == http.StatusUnauthorized {
		err = target.NotLoggedIn()
	}
	return err
}

func printJSON(app *App, answer json.RawMessage) error {
	if len(answer) == 0 {
		_, err := fmt.Fprintln(app.Stdout, "done")
		return err
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return app.JSON(v)
}

// fileOrStdin reads a file, standard input for "-".
func fileOrStdin(app *App, name string) ([]byte, error) {
	if name == "-" {
		var data json.RawMessage
		err := json.NewDecoder(app.Stdin).Decode(&data)
		return data, err
	}
	return os.ReadFile(name) //nolint:gosec // G304: the operator's own file
}

// oneThing is a command on one resource that the API identifies by a word.
type oneThing struct {
	Name string `arg:"" name:"id" help:"Slug of a league, else an id."`
}

func (o oneThing) path(kind string, act ...string) string {
	return "/v1/" + kind + "/" + url.PathEscape(o.Name) + strings.Join(act, "")
}

// AdminLeagueCmd groups the commands on leagues.
type AdminLeagueCmd struct {
	List      listCmd      `cmd:"" help:"All leagues."`
	Show      showCmd      `cmd:"" help:"One league."`
	Create    leagueNewCmd `cmd:"" help:"Create a league from a JSON file (the body of POST /v1/leagues), from flags, or both."`
	Update    patchCmd     `cmd:"" help:"Update a league from a JSON file (the body of PATCH)."`
	Open      actCmd       `cmd:"" help:"Let agents enter."`
	Start     actCmd       `cmd:"" help:"Begin the league's own pairing: a season."`
	StartNow  actCmd       `cmd:"" help:"Start the next season, round or match of its schedule now."`
	Pause     actCmd       `cmd:"" help:"Stop pairing for now."`
	Resume    actCmd       `cmd:"" help:"Resume pairing, show the table."`
	Freeze    actCmd       `cmd:"" help:"Hide the table, keep pairing."`
	Finish    actCmd       `cmd:"" help:"End the league and its season."`
	Archive   actCmd       `cmd:"" help:"Take the league out of lists and stop its pairing; its pages stay."`
	Unarchive actCmd       `cmd:"" help:"List an archived league again."`
	Delete    removeCmd    `cmd:"" help:"Delete a league that never had a match."`
	Rescore   actCmd       `cmd:"" help:"Re-judge all finished matches and rebuild the ratings."`
	Table     standingsCmd `cmd:"" help:"The standings."`
}

// AdminMatchCmd groups the commands on matches.
type AdminMatchCmd struct {
	List     listCmd   `cmd:"" help:"Matches, newest first."`
	Show     showCmd   `cmd:"" help:"One match."`
	Schedule createCmd `cmd:"" help:"Schedule a match of a JSON file (the body of POST /v1/matches)."`
	Cancel   actCmd    `cmd:"" help:"Cancel a match that has not begun."`
	Void     actCmd    `cmd:"" help:"End a match so that it does not count."`
	Rescore  actCmd    `cmd:"" help:"Judge a finished match again and rebuild the ratings."`
	Hide     hideCmd   `cmd:"" help:"Erase what an agent wrote in one round of a match that is over. It cannot be undone."`
}

// AdminAgentCmd groups the commands on agents.
type AdminAgentCmd struct {
	List       listCmd       `cmd:"" help:"Agents, newest first."`
	Show       showCmd       `cmd:"" help:"One agent."`
	Check      actCmd        `cmd:"" help:"Test the endpoint now."`
	Pause      actCmd        `cmd:"" help:"Take no new seats."`
	Resume     actCmd        `cmd:"" help:"Take seats again."`
	Deliveries deliveriesCmd `cmd:"" help:"Every request sent to it, newest first."`
}

// AdminGameCmd groups the commands on games.
type AdminGameCmd struct {
	List gamesCmd   `cmd:"" help:"Games by name, with their options."`
	Add  gameAddCmd `cmd:"" help:"Upload a game in JavaScript; random games check it first."`
}

// AdminRatingsCmd groups the commands on ratings.
type AdminRatingsCmd struct {
	Verify  verifyCmd  `cmd:"" help:"Replay all settlements and compare with the stored ratings; exit 1 when they differ."`
	Rebuild rebuildCmd `cmd:"" help:"Recompute a league's ratings from its stored answers."`
}

type (
	listCmd struct {
		Limit  int    `default:"100" help:"Page size, 1 to 100."`
		Cursor string `help:"next_cursor of the page before."`
	}
	showCmd    struct{ oneThing }
	gamesCmd   struct{}
	gameAddCmd struct {
		File string `arg:"" help:"JavaScript file (docs/games.md)."`
	}
	createCmd struct {
		File string `arg:"" help:"JSON file, - for standard input."`
	}
	leagueNewCmd struct {
		File       string            `arg:"" optional:"" help:"JSON file, - for standard input. Flags replace its fields."`
		Slug       string            `help:"Short name, as in addresses."`
		Title      string            `help:"Title on its page."`
		Unrated    bool              `help:"Its matches change no ratings."`
		TimeLimit  time.Duration     `placeholder:"30s" help:"For each round, or each move of a game."`
		Game       string            `placeholder:"NAME" help:"Play this game, e.g. connect_four (arena admin game list), instead of asking questions."`
		GameOption map[string]string `placeholder:"NAME=VALUE" help:"Setting of the game, e.g. games_per_match=4; repeat the flag for others."`

		MatchesPerDay *int           `placeholder:"N" help:"Matches of each agent in any 24 hours; 0: no limit. A ladder's default is 24."`
		Pause         *time.Duration `placeholder:"10m" help:"Pause between two matches of an agent. A ladder's default is 10m."`
		UnratedFiller bool           `help:"A rated ladder also pairs agents that can meet only unrated."`
		BuiltIn       []string       `placeholder:"NAME,…" help:"Opponents of a ladder that come with the program: random, greedy and search in games, p05 to p95 for questions."`
	}
	patchCmd struct {
		oneThing
		File string `arg:"" help:"JSON file, - for standard input."`
	}
	hideCmd struct {
		oneThing

		Round  int    `arg:"" help:"Number of the round."`
		Agent  string `arg:"" help:"Id of the agent."`
		Reason string `required:"" placeholder:"TEXT" help:"For the audit log."`
	}
	actCmd        struct{ oneThing }
	removeCmd     struct{ oneThing }
	standingsCmd  struct{ oneThing }
	deliveriesCmd struct{ oneThing }
	uploadCmd     struct {
		packFlags

		File    string `arg:"" type:"existingfile" help:"The pack."`
		Name    string `help:"Name of the pack; the file's when left out."`
		SkipBad bool   `help:"Import the good entries and report the others."`
	}
	verifyCmd  struct{}
	rebuildCmd struct {
		League string `arg:"" help:"Slug."`
	}
)

// kindOf is the API's word for the group that a command stands in.
func kindOf(group string) string {
	return map[string]string{"league": "leagues", "match": "matches", "agent": "agents", "pack": "packs", "owner": "admin/owners", "people": "admin/people"}[group]
}

// query names the page.
func (c *listCmd) query() string {
	q := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	if c.Cursor != "" {
		q.Set("cursor", c.Cursor)
	}
	return "?" + q.Encode()
}

func (c *listCmd) Run(app *App, admin *AdminCmd, at *place) error {
	path := "/v1/" + kindOf(at.group)
	if at.group != "league" { // that list comes whole
		path += c.query()
	}
	return admin.call(app, http.MethodGet, path, nil)
}

func (c *showCmd) Run(app *App, admin *AdminCmd, at *place) error {
	return admin.call(app, http.MethodGet, c.path(kindOf(at.group)), nil)
}

func (c *createCmd) Run(app *App, admin *AdminCmd, at *place) error {
	body, err := fileOrStdin(app, c.File)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	return admin.call(app, http.MethodPost, "/v1/"+kindOf(at.group), json.RawMessage(body))
}

func (c *leagueNewCmd) Run(app *App, admin *AdminCmd) error {
	body, err := c.body(app)
	if err != nil {
		return err
	}
	return admin.call(app, http.MethodPost, "/v1/leagues", body)
}

// body returns the members of the file, overridden by the flags.
func (c *leagueNewCmd) body(app *App) (map[string]any, error) {
	body := map[string]any{}
	if c.File != "" {
		data, err := fileOrStdin(app, c.File)
		if err == nil {
			err = json.Unmarshal(data, &body)
		}
		if err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
	}
	for name, value := range map[string]string{"slug": c.Slug, "title": c.Title} {
		if value != "" {
			body[name] = value
		}
	}
	if c.Unrated || c.File == "" {
		body["rated"] = !c.Unrated
	}
	if c.TimeLimit != 0 {
		body["time_limit_seconds"] = c.TimeLimit.Seconds()
	}
	c.pace(body)
	if len(c.BuiltIn) > 0 {
		body["built_in"] = c.BuiltIn
	}
	if c.Game == "" && len(c.GameOption) == 0 {
		return body, nil
	}
	game, _ := body["game"].(map[string]any)
	if game == nil {
		game = map[string]any{}
	}
	if c.Game != "" {
		game["name"] = c.Game
	}
	for name, value := range c.GameOption {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			return nil, fmt.Errorf("--game-option %s: %q is neither a number nor true or false", name, value)
		}
		game[name] = v
	}
	body["game"] = game
	return body, nil
}

// pace adds the pace that the flags name.
func (c *leagueNewCmd) pace(body map[string]any) {
	pace, _ := body["pace"].(map[string]any)
	if pace == nil {
		pace = map[string]any{}
	}
	if c.MatchesPerDay != nil {
		pace["matches_per_day"] = *c.MatchesPerDay
	}
	if c.Pause != nil {
		pace["pause_seconds"] = c.Pause.Seconds()
	}
	if c.UnratedFiller {
		pace["unrated_filler"] = true
	}
	if len(pace) > 0 {
		body["pace"] = pace
	}
}

func (c *patchCmd) Run(app *App, admin *AdminCmd, at *place) error {
	body, err := fileOrStdin(app, c.File)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	return admin.call(app, http.MethodPatch, c.path(kindOf(at.group)), json.RawMessage(body))
}

func (c *actCmd) Run(app *App, admin *AdminCmd, at *place) error {
	return admin.call(app, http.MethodPost, c.path(kindOf(at.group), "/", at.act), nil)
}

func (c *hideCmd) Run(app *App, admin *AdminCmd) error {
	path := c.path("matches", "/rounds/", strconv.Itoa(c.Round), "/answers/", url.PathEscape(c.Agent), "/hide")
	return admin.call(app, http.MethodPost, path, map[string]string{"reason": c.Reason})
}

func (c *removeCmd) Run(app *App, admin *AdminCmd, at *place) error {
	return admin.call(app, http.MethodDelete, c.path(kindOf(at.group)), nil)
}

func (c *standingsCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, c.path("leagues", "/standings"), nil)
}

func (c *deliveriesCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, c.path("agents", "/deliveries"), nil)
}

func (c *uploadCmd) Run(app *App, admin *AdminCmd) error {
	data, err := readPackFile(c.File)
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	}
	q := url.Values{"format": {c.Format}, "name": {c.Name}}
	if c.Map != "" {
		q.Set("map", c.Map)
	}
	if c.SkipBad {
		q.Set("skip_bad", "true")
	}
	return admin.call(app, http.MethodPost, "/v1/packs?"+q.Encode(), data)
}

func (c *gamesCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, "/v1/games", nil)
}

func (c *gameAddCmd) Run(app *App, admin *AdminCmd) error {
	source, err := readGameFile(c.File)
	if err != nil {
		return err
	}
	return admin.call(app, http.MethodPost, "/v1/games", []byte(source))
}

func (c *verifyCmd) Run(app *App, admin *AdminCmd) error {
	answer, err := admin.ask(app, http.MethodPost, "/v1/admin/ratings/verify", nil)
	if err != nil {
		return err
	}
	if err := printJSON(app, answer); err != nil {
		return err
	}
	var verdict struct{ OK bool }
	if err := json.Unmarshal(answer, &verdict); err != nil || !verdict.OK {
		return errors.Join(err, errors.New("the stored ratings differ from the result of the settlements"))
	}
	return nil
}

func (c *rebuildCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPost, "/v1/admin/ratings/rebuild", map[string]string{"league": c.League})
}

// AdminAuditCmd is `arena admin audit`.
type AdminAuditCmd struct {
	listCmd

	Find   string   `placeholder:"WORD" help:"Only entries whose actor, action or target is this."`
	Actor  string   `placeholder:"WHO" help:"Only entries of an owner, by name or ID, or of admin, organizer or moderator."`
	Action []string `placeholder:"ACTION" help:"Only entries with one of these actions."`
	From   string   `placeholder:"TIME" help:"Only entries from this time on, such as 2026-11-28T00:00:00Z."`
	To     string   `placeholder:"TIME" help:"Only entries before this time."`
}

// Run prints one page of the audit log.
func (c *AdminAuditCmd) Run(app *App, admin *AdminCmd) error {
	path, filters := "/v1/admin/audit"+c.query(), url.Values{}
	for name, value := range map[string]string{
		"find": c.Find, "actor": c.Actor, "action": strings.Join(c.Action, ","), "from": c.From, "to": c.To,
	} {
		if value != "" {
			filters.Set(name, value)
		}
	}
	if len(filters) > 0 {
		path += "&" + filters.Encode()
	}
	return admin.call(app, http.MethodGet, path, nil)
}

// AdminBannerCmd is `arena admin banner`.
type AdminBannerCmd struct {
	Text string `arg:"" optional:"" help:"One line; left out: none is shown any more."`
}

// Run sets the banner.
func (c *AdminBannerCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPost, "/v1/admin/banner", map[string]string{"text": c.Text})
}

// AdminAnomaliesCmd is `arena admin anomalies`.
type AdminAnomaliesCmd struct {
	League  string `arg:"" help:"Slug."`
	Matches int    `default:"1000" help:"How many of its newest matches are looked at, 1 to 2000."`
}

// Run prints the report.
func (c *AdminAnomaliesCmd) Run(app *App, admin *AdminCmd) error {
	q := url.Values{"league": {c.League}, "matches": {fmt.Sprint(c.Matches)}}
	return admin.call(app, http.MethodGet, "/v1/admin/anomalies?"+q.Encode(), nil)
}

// AdminStatusCmd is `arena admin status`.
type AdminStatusCmd struct{}

// Run prints the status.
func (c *AdminStatusCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, "/v1/admin/status", nil)
}

// AdminDrainCmd is `arena admin drain`.
type AdminDrainCmd struct{}

// Run drains the node that answers.
func (c *AdminDrainCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPost, "/v1/admin/drain", nil)
}

// place is where in the table of commands a call stands.
type place struct {
	group string // "league"
	act   string // "start"
}

// placeOf reads it from the words of the command: "admin league start <id>".
func placeOf(command string) *place {
	words := strings.Fields(command)
	p := &place{}
	if len(words) > 1 {
		p.group = words[1]
	}
	if len(words) > 2 {
		p.act = words[2]
	}
	return p
}
