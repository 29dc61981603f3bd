package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/token"
)

// asker is a column of the matrix.
type asker int

const (
	nobody asker = iota
	owner        // of what is asked for
	other        // another owner
	admin
	agent     // with a good task token
	organizer // of the league that is asked for
	foreign   // organizer of another league
	moderator
	askerCount
)

func askers() map[asker]string {
	return map[asker]string{
		nobody: "nobody", owner: "the owner", other: "another owner", admin: "an admin", agent: "an agent",
		organizer: "an organizer", foreign: "another league's organizer", moderator: "a moderator",
	}
}

// answers are the statuses for nobody, the owner, another owner, an admin, an
// agent with its task token, the league's organizer, another league's organizer
// and a moderator.
type answers [askerCount]int

// What routes of one kind answer. A task token is no token of the API: it is
// refused even where none is needed.
func open(status int) answers {
	return answers{status, status, status, status, 401, status, status, status}
}
func mine(status int) answers { return answers{401, status, 404, status, 401, 403, 403, 403} }
func mineOrModerated(status int) answers {
	return answers{401, status, 404, status, 401, 403, 403, status}
}

func mineOrOrganized(status int) answers {
	return answers{401, status, 404, status, 401, status, 404, 403}
}
func owners(status int) answers    { return answers{401, status, status, 403, 401, 403, 403, 403} }
func admins(status int) answers    { return answers{401, 403, 403, status, 401, 403, 403, 403} }
func organized(status int) answers { return answers{401, 403, 403, status, 401, status, 403, 403} }
func moderated(status int) answers { return answers{401, 403, 403, status, 401, status, 403, status} }

func anyone(status int) answers {
	return answers{status, status, status, status, status, status, status, status}
}

// matrix is what every route answers to everyone, by operation id.
func matrix() map[string]answers {
	return map[string]answers{
		"sign-up": open(201), "get-me": {401, 200, 200, 200, 401, 200, 200, 200},
		"list-tokens": owners(200), "create-token": owners(201), "revoke-token": {401, 204, 404, 403, 401, 403, 403, 403},
		"rotate-token": {401, 201, 404, 403, 401, 403, 403, 403}, "export-me": owners(200), "delete-me": owners(422),
		"update-me": owners(200), "send-confirmation": owners(409), "request-reset": open(409), // this arena sends no mail
		"confirm-email": open(404), "reset-token": open(404), // a wrong link
		"get-owner": admins(200), "delete-owner": admins(200), "export-owner": admins(200), "list-erasures": admins(200), "reapply-erasures": admins(200),
		"rotate-agent-key": mine(201), "hide-answer": {401, 403, 403, 409, 401, 403, 403, 409},
		"list-admin-tokens": admins(200), "create-admin-token": admins(201), "revoke-admin-token": admins(204),
		"list-sessions": owners(200), "end-session": {401, 204, 404, 403, 401, 403, 403, 403}, "sign-out": owners(409), // those of tests have tokens
		"get-sign-in": open(200), "begin-sign-in": open(404), "finish-sign-in": open(404), // without a provider
		"check-invitation": open(200), "join": {201, 409, 409, 201, 401, 201, 201, 201}, // an owner has an account already
		"list-invitations": admins(200), "invite": admins(201), "revoke-invitation": admins(204),
		"list-people": admins(200), "set-role": admins(200), "remove-role": admins(204),
		"list-owners": admins(200), "list-owner-tokens": admins(200), "reissue-owner-token": admins(201), "revoke-owner-tokens": admins(204),
		"suspend-owner": admins(200), "restore-owner": admins(200),

		"create-agent": owners(201), "list-agents": open(200), "list-marks": open(200), "get-agent": open(200),
		"get-agent-conformance": open(404), "get-agent-badge": open(200),
		"update-agent": mine(200), "prove-key": mine(200), "retire-agent": mine(204), "check-agent": mine(200), "pause-agent": mineOrModerated(200), "rehearse": mine(200), "get-agent-budget": mine(200),
		"poll-task": {401, 204, 204, 403, 401, 403, 403, 403}, "answer-task": {401, 202, 202, 403, 401, 403, 403, 403}, // the handler checks whose agent it is
		"mcp":             open(200), // each tool has the scopes of its operation
		"list-agent-keys": mine(200), "create-agent-key": mine(201), "revoke-agent-key": mine(204),
		// Whom an admin has paused, only an admin resumes; this one its owner has.
		"resume-agent":       mineOrModerated(200),
		"list-agent-ratings": open(200), "list-agent-matches": open(200), "list-agent-uptime": open(200),
		"list-agent-opponents": open(200), "get-agent-calibration": open(200), "get-agent-outcomes": open(200), "list-agent-losses": open(200), "get-agent-calendar": open(200), "get-agent-feed": open(200), "get-league-calendar": open(200), "get-league-feed": open(200), "list-agent-topics": open(200),
		"list-agent-deliveries": mine(200),

		"list-leagues": open(200), "create-league": admins(201), "get-league": open(200), "update-league": organized(200),
		"list-standings": open(200), "export-league": open(200), "compare-agents": open(200), "list-league-rounds": open(200), "list-seasons": open(200), "get-season": open(404), "get-season-card": open(404),
		"get-judge": open(200), "get-audit": open(200), "audit-league": organized(200), "list-league-matches": open(200), "rescore-league": organized(200),
		"open-league": organized(200), "start-league": organized(200), "start-league-now": organized(200), "pause-league": organized(200), "resume-league": organized(200),
		"archive-league": organized(200), "unarchive-league": organized(200), "delete-league": admins(204),
		"freeze-league": organized(200), "finish-league": organized(200), "enter-league": mineOrOrganized(204), "enter-agents": {401, 200, 200, 200, 401, 200, 200, 403}, "withdraw-from-league": mineOrOrganized(204),

		"create-game": admins(201), "list-games": open(200), "get-game": open(200),
		"create-pack": admins(201), "check-pack": admins(200), "list-packs": admins(200), "get-pack": admins(200), "list-pack-tasks": admins(200), "remove-pack-task": admins(200), "correct-pack-task": admins(409), "update-pack": admins(200), "update-pack-task": admins(200),

		"challenge": {401, 201, 404, 403, 401, 403, 403, 403}, "get-lobby": open(200), "get-recap": open(200),
		"create-match": organized(201), "list-matches": open(200), "get-match": open(200), "cancel-match": moderated(200),
		"void-match": moderated(200), "get-match-record": open(409), "get-match-notation": open(404), "rescore-match": organized(200), "list-verdicts": open(200),
		"get-match-card": open(200),
		"get-ballot":     open(404), "vote": open(409), "guess": open(409), "list-guesses": open(200), "list-match-events": open(200), "list-match-rounds": open(200),

		// The stream checks for itself (stream.TestAgent_tokens); the keys are for all.
		"watch": anyone(200), "send-events": anyone(200), "get-jwks": anyone(200),
		"get-openapi": anyone(200), "get-docs": anyone(200), "get-health": anyone(200), "get-readiness": anyone(200),

		// The packages of the protocols check signatures and secrets.
		"agora": anyone(200), "agora-follow-up": anyone(200), "agora-end": anyone(200), "agora-wellknown": anyone(200), "agora-document": anyone(200),
		"agora-agent": anyone(200), "agora-agent-follow-up": anyone(200), "agora-agent-end": anyone(200), "agora-agent-wellknown": anyone(200),
		"relay-submit": anyone(200), "relay-events": anyone(200), "relay-health": anyone(200), "relay-seed": anyone(200),
		"relay-submit-alias": anyone(200), "relay-events-alias": anyone(200), "relay-manifest": anyone(200), "relay-discover": anyone(200),
		"agentprotocol": anyone(200), "agentprotocol-hello": anyone(200), "agentprotocol-socket": anyone(200), "a2a": anyone(200), "a2a-card": anyone(200),

		"get-status": admins(200), "list-audit": admins(200), "get-calendar": {401, 403, 403, 200, 401, 200, 200, 403}, "list-anomalies": moderated(200), "verify-ratings": admins(200), "rebuild-ratings": admins(200),
		"get-banner": open(200), "get-catalog": open(200), "set-banner": admins(200),
		"drain-node": admins(202), "get-version": open(200), "get-skill": anyone(200), "get-llms": anyone(200), "list-sdks": anyone(200),
		"get-install-script": anyone(200), "get-program": anyone(404), "get-program-checksum": anyone(404),
	}
}

// accepted is what every request accepts. MCP refuses requests that do not accept
// both.
const accepted = "application/json, text/event-stream"

// Every route answers everyone as the matrix says, over the real store. A
// route without a row fails. Threat A1.
func TestAPI_matrix(t *testing.T) {
	t.Parallel()
	table := matrix()
	m := newMatrixWorld(t)
	for _, r := range routes() {
		want, ok := table[r.id]
		if !ok {
			t.Errorf("%s %s (%s) has no row in the matrix: say who may", r.method, r.path, r.id)
			continue
		}
		delete(table, r.id)
		path, body := m.object(r)
		for who := range want {
			got := m.do(r.method, path, m.tokens[who], body, "Accept", accepted)
			if got.status != want[who] {
				t.Errorf("%s asks %s %s: status %d, want %d: %s", askers()[asker(who)], r.method, r.path, got.status, want[who], got.body)
			}
			if got.status < 300 && r.method != http.MethodGet {
				path, body = m.object(r) // that one is used up
			}
		}
	}
	for id := range table {
		t.Errorf("the matrix has a row for %s, which is no route", id)
	}
}

// A person in a browser may do what the owner may, and what a token of the
// person's role may. Threat A1.
func TestAPI_matrix_sessions(t *testing.T) {
	t.Parallel()
	m := newMatrixWorld(t)
	people := map[asker]string{owner: m.aliceI, other: m.do("GET", "/v1/me", m.bob, nil).str("owner_id")}
	for _, who := range []asker{admin, organizer, foreign, moderator} {
		me := into[meView](m.do("GET", "/v1/me", m.tokens[who], nil))
		o := m.do("POST", "/v1/owners", m.admin, object{"name": fmt.Sprint("p", who)}).is(201).str("owner_id")
		_, err := m.store.People.SetRole(t.Context(), o, arena.Role{Scope: me.Scope, Leagues: me.Leagues}, func(arena.Owner) (arena.AuditEntry, error) { return arena.AuditEntry{At: testNow}, nil })
		m.ok(err)
		people[who] = o
	}
	table := matrix()
	for _, r := range routes() {
		if r.scope == scopeElsewhere {
			continue // tokens of tasks and of agents alone
		}
		path, body := m.object(r)
		for who, id := range people {
			want := table[r.id][who]
			if want == 403 || want == 404 && table[r.id][other] < 300 { // not in the role; as any owner
				want = table[r.id][other]
			}
			switch {
			case r.id == "join":
				want = 409
			case r.id == "sign-out":
				want = 204
			case r.id == "challenge" && who == admin: // who acts for every agent
				want = 201
			}
			_, secret := m.sessionOf(id)
			got := m.do(r.method, path, "", body, "Accept", accepted, "Cookie", "__Host-"+sessionCookie+"="+secret)
			if got.status != want {
				t.Errorf("%s, in a browser, asks %s %s: status %d, want %d: %s", askers()[who], r.method, r.path, got.status, want, got.body)
			}
			if got.status < 300 && r.method != http.MethodGet {
				path, body = m.object(r)
			}
		}
	}
}

// matrixWorld makes what a route is asked for, anew for each request.
type matrixWorld struct {
	*world
	tokens [askerCount]string
	made   int
}

func newMatrixWorld(t *testing.T) *matrixWorld {
	t.Helper()
	w := newWorld(t, func(o *parts) {
		o.Limits, o.Logger = quota.Limits{}, slog.New(slog.DiscardHandler)
		o.Rehearse = func(context.Context, arena.Rehearsal) (arena.RehearsalReport, error) {
			return arena.RehearsalReport{}, nil
		}
	})
	keys, err := token.New(t.Context(), token.Options{
		Store: w.store.Keys, Issuer: "https://arena.example", Alg: token.ES256, Logger: w.api.log, Now: w.api.now,
	})
	w.ok(err)
	task, err := keys.Sign(arena.TaskClaims{
		ID: "jti", AgentID: "ag_1", MatchID: "m_1", Round: 1, BodyHash: "hash", IssuedAt: testNow, ExpiresAt: testNow.Add(time.Minute),
	})
	w.ok(err)
	w.league("quiz", nil)
	leagues := []string{"quiz"}
	for i := range 2000 { // those that object makes
		leagues = append(leagues, fmt.Sprintf("x%d", i))
	}
	return &matrixWorld{world: w, tokens: [askerCount]string{
		nobody: "", owner: w.alice, other: w.bob, admin: w.admin, agent: task, moderator: w.scoped(arena.ScopeModerator),
		organizer: w.scoped(arena.ScopeOrganizer, leagues...), foreign: w.scoped(arena.ScopeOrganizer, "elsewhere"),
	}}
}

// object returns a path and a body with which whoever may ask succeeds. Alice
// owns what can be owned.
func (m *matrixWorld) object(r route) (path string, body any) {
	m.t.Helper()
	m.made++
	name := fmt.Sprintf("x%d", m.made)
	replace := []string{"{season}", "1"}
	switch {
	case r.id == "prove-key":
		g := m.keyed(name)
		return "/v1/agents/" + g.str("agent_id") + "/key", object{"signature": m.sign(g.str("key_challenge"))}
	case strings.Contains(r.path, "/agents/{id}"):
		id := m.agent(m.alice, name, "quiz")
		if r.id == "resume-agent" {
			m.do("POST", "/v1/agents/"+id+"/pause", m.alice, nil).is(200)
		}
		replace = append(replace, "{id}", id, "{task_id}", "tk_1")
		if strings.Contains(r.path, "{key_id}") {
			replace = append(replace, "{key_id}", m.do("POST", "/v1/agents/"+id+"/keys", m.alice, object{"name": name}).is(201).str("key_id"))
		}
	case strings.HasPrefix(r.path, "/v1/matches/{id}"):
		replace = append(replace, "{id}", m.match(name), "{n}", "1", "{agent_id}", "ag_1")
	case strings.HasPrefix(r.path, "/v1/me/tokens/{id}"):
		replace = append(replace, "{id}", m.do("POST", "/v1/me/tokens", m.alice, object{"name": name}).is(201).str("token_id"))
	case strings.HasPrefix(r.path, "/v1/admin/tokens/{id}"):
		replace = append(replace, "{id}", m.do("POST", "/v1/admin/tokens", m.admin, m.body(r, name)).is(201).str("token_id"))
	case strings.HasPrefix(r.path, "/v1/me/sessions/{id}"):
		replace = append(replace, "{id}", m.session(m.alice))
	case strings.HasPrefix(r.path, "/v1/admin/invitations/{id}"):
		replace = append(replace, "{id}", m.do("POST", "/v1/admin/invitations", m.admin, object{}).is(201).str("invitation_id"))
	case strings.HasPrefix(r.path, "/v1/admin/people/{id}"):
		_, id := m.owner(name)
		m.do("PUT", "/v1/admin/people/"+id, m.admin, object{"role": "admin"}).is(200)
		replace = append(replace, "{id}", id)
	case strings.HasPrefix(r.path, "/v1/admin/owners/{id}"):
		_, id := m.owner(name)
		replace = append(replace, "{id}", id)
	case strings.HasPrefix(r.path, "/v1/games/{name}"):
		replace = append(replace, "{name}", m.do("POST", "/v1/games", m.admin, tossNamed(name)).is(201).str("name"))
	case strings.HasPrefix(r.path, "/v1/packs/{id}"):
		replace = append(replace, "{id}", m.do("POST", "/v1/packs?format=jsonl&name="+name, m.admin, questions("a", "b")).is(201).str("pack_id"), "{n}", "1")
	case strings.Contains(r.path, "/leagues/{slug}"):
		m.league(name, nil)
		replace = append(replace, "{slug}", name)
		for _, before := range m.before(r.id) {
			m.do("POST", "/v1/leagues/"+name+"/"+before, m.admin, nil).is(200)
		}
		if strings.Contains(r.path, "{agent_id}") {
			replace = append(replace, "{agent_id}", m.agent(m.alice, name, name))
		}
	}
	path = strings.NewReplacer(replace...).Replace(r.path)
	if r.id == "list-anomalies" {
		path += "?league=quiz"
	}
	switch r.id {
	case "compare-agents":
		path += "?a=" + m.agent(m.alice, name) + "&b=" + m.agent(m.bob, "bob-"+name)
	case "delete-owner":
		path += "?confirm=" + url.QueryEscape(name)
	case "create-pack":
		return path + "?format=jsonl&name=" + url.QueryEscape(name), questions("a")
	case "create-game":
		return path, tossNamed(name)
	case "check-pack":
		return path + "?format=jsonl", "\"a\"\n"
	}
	return path, m.body(r, name)
}

// before is what a league must have gone through.
func (m *matrixWorld) before(id string) []string {
	switch id {
	case "open-league":
		return []string{"start", "finish"}
	case "pause-league", "freeze-league", "finish-league":
		return []string{"start"}
	case "resume-league":
		return []string{"start", "pause"}
	case "unarchive-league":
		return []string{"archive"}
	}
	return nil
}

func (m *matrixWorld) body(r route, name string) any {
	switch r.id {
	case "enter-agents":
		return object{"agents": []string{m.agent(m.alice, name, name)}}
	case "hide-answer":
		return object{"reason": "insults"}
	case "reapply-erasures":
		return object{"items": []object{}}
	case "create-admin-token", "revoke-admin-token":
		return object{"name": name, "scope": "moderator"}
	case "invite":
		return object{}
	case "set-role":
		return object{"role": "moderator"}
	case "check-invitation":
		return object{"invitation": m.invitation(nil)}
	case "join":
		return object{"invitation": m.invitation(nil), "name": name}
	case "sign-up", "create-token", "create-agent-key":
		return object{"name": name}
	case "create-agent":
		return object{"name": name, "endpoint": "https://" + name + ".example"}
	case "update-agent":
		return object{"description": "fast"}
	case "update-me":
		return object{"mail_pauses": false}
	case "request-reset":
		return object{"email": "kim@example.org"}
	case "confirm-email", "reset-token":
		return object{"secret": "wrong"}
	case "create-league":
		return object{
			"slug": name, "title": name, "pack_id": m.pack(name), "judge": "exact", "rounds": 3, "time_limit_seconds": 5, "rated": false,
		}
	case "update-pack":
		return object{"name": name}
	case "update-pack-task":
		return object{"description": "Another?"}
	case "update-league":
		return object{"title": "Another"}
	case "create-match":
		return m.matchBody(name)
	case "challenge":
		return object{"league": "quiz", "agent_id": m.agent(m.alice, name, "quiz"), "opponent_id": m.agent(m.bob, "bob-"+name, "quiz")}
	case "mcp":
		return object{"jsonrpc": "2.0", "id": 1, "method": "ping"}
	case "set-banner":
		return object{"text": name}
	case "guess":
		return object{"answer": "A"}
	case "vote":
		return object{"round": 1, "better": "A"}
	case "rehearse":
		return object{"league": "quiz"}
	case "rebuild-ratings":
		return object{"league": "quiz"}
	}
	return nil
}

func (m *matrixWorld) pack(name string) string {
	return m.do("POST", "/v1/packs?format=jsonl&name="+name, m.admin, questions("a")).is(201).str("pack_id")
}

func (m *matrixWorld) matchBody(name string) object {
	return object{"league": "quiz", "agents": []string{m.agent(m.alice, name, "quiz"), m.agent(m.bob, "bob-"+name, "quiz")}}
}

func (m *matrixWorld) match(name string) string {
	return m.do("POST", "/v1/matches", m.admin, m.matchBody(name)).is(201).str("match_id")
}
