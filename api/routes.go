package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/download"
)

const streamPath = "/v1/stream"

// route is one line of the contract.
type route struct {
	method  string
	path    string
	scope   scope
	status  int    // of success
	id      string // operationId, stable: clients are generated from it
	tag     string
	summary string
	mount   func(*API, route)
	// describe completes what the document says where the types do not.
	describe func(*huma.Operation)
}

// The tags of the document.
const (
	tagAccounts  = "accounts"
	tagAgents    = "agents"
	tagLeagues   = "leagues"
	tagPacks     = "packs"
	tagGames     = "games"
	tagMatches   = "matches"
	tagStream    = "stream"
	tagProtocols = "protocols"
	tagService   = "service"
)

func tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagAccounts, Description: "Owners and their tokens."},
		{Name: tagAgents, Description: "Agents, their state and their history."},
		{Name: tagLeagues, Description: "Leagues, entries and standings."},
		{Name: tagPacks, Description: "Sets of tasks."},
		{Name: tagGames, Description: "Turn-based games, by name."},
		{Name: tagMatches, Description: "Matches and their logs."},
		{Name: tagStream, Description: "Events as they happen."},
		{Name: tagProtocols, Description: "Routes for agents of other protocols than AAP."},
		{Name: tagService, Description: "The service itself."},
	}
}

// routes is the whole API, one line each. The order is that of the contract.
func routes() []route {
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	return []route{
		{post, "/v1/owners", scopePublic, 201, "sign-up", tagAccounts, "Sign up as an owner", handleOn(accounts, (*accountHandlers).signUp), nil},
		{get, "/v1/me", scopeAnyToken, 200, "get-me", tagAccounts, "Who am I", handleOn(accounts, (*accountHandlers).me), nil},
		{get, "/v1/me/tokens", scopeOwner, 200, "list-tokens", tagAccounts, "My tokens", handleOn(accounts, (*accountHandlers).tokens), nil},
		{post, "/v1/me/tokens", scopeOwner, 201, "create-token", tagAccounts, "Make a token", handleOn(accounts, (*accountHandlers).createToken), nil},
		{del, "/v1/me/tokens/{id}", scopeOwner, 204, "revoke-token", tagAccounts, "Revoke a token", handleOn(accounts, (*accountHandlers).revokeToken), nil},
		{post, "/v1/me/tokens/{id}/rotate", scopeOwner, 201, "rotate-token", tagAccounts, "Replace a token by a new one", handleOn(accounts, (*accountHandlers).rotateToken), nil},
		{get, exportPath, scopeOwner, 200, "export-me", tagAccounts, "Everything about me, as a ZIP file", handleOn(accounts, (*accountHandlers).exportMe), describeZIP},
		{del, "/v1/me", scopeOwner, 200, "delete-me", tagAccounts, "Delete my personal data; results stay under neutral names", handleOn(accounts, (*accountHandlers).deleteMe), nil},
		{patch, "/v1/me", scopeOwner, 200, "update-me", tagAccounts, "Change my email, or which mails I get", handleOn(accounts, (*accountHandlers).updateMe), nil},
		{post, "/v1/me/confirmation", scopeOwner, 202, "send-confirmation", tagAccounts, "Send me a link that confirms my email", handleOn(accounts, (*accountHandlers).sendConfirmation), nil},
		{post, "/v1/confirmations", scopePublic, 204, "confirm-email", tagAccounts, "Confirm an email with the link of a mail", handleOn(accounts, (*accountHandlers).confirmEmail), nil},
		{post, "/v1/resets", scopePublic, 202, "request-reset", tagAccounts, "Ask for a mail with a link that re-issues a lost token", handleOn(accounts, (*accountHandlers).requestReset), nil},
		{post, "/v1/resets/use", scopePublic, 201, "reset-token", tagAccounts, "Revoke my tokens and get a new one with the link of a mail", handleOn(accounts, (*accountHandlers).reset), nil},
		{get, "/v1/me/sessions", scopeOwner, 200, "list-sessions", tagAccounts, "My sessions in browsers, newest first", handleOn(people, (*peopleHandlers).sessions), nil},
		{del, "/v1/me/sessions/{id}", scopeOwner, 204, "end-session", tagAccounts, "End a session", handleOn(people, (*peopleHandlers).endSession), nil},
		{del, "/v1/me/session", scopeOwner, 204, "sign-out", tagAccounts, "End the session of this request", handleOn(people, (*peopleHandlers).signOut), nil},
		{get, "/v1/signin", scopePublic, 200, "get-sign-in", tagAccounts, "How people sign in with a browser", handleOn(people, (*peopleHandlers).ways), nil},
		{get, "/v1/signin/start", scopePublic, 303, "begin-sign-in", tagAccounts, "Send a browser to the provider to sign in", handleOn(people, (*peopleHandlers).begin), nil},
		{get, "/v1/signin/callback", scopePublic, 303, "finish-sign-in", tagAccounts, "Where the provider sends a browser back", handleOn(people, (*peopleHandlers).finish), describeCallback},
		{post, "/v1/invitations/check", scopePublic, 200, "check-invitation", tagAccounts, "What an invitation is for", handleOn(people, (*peopleHandlers).invited), nil},
		{post, "/v1/invitations/join", scopePublic, 201, "join", tagAccounts, "Take up an invitation", handleOn(people, (*peopleHandlers).join), nil},
		{get, "/v1/admin/invitations", scopeAdmin, 200, "list-invitations", tagAccounts, "Invitations, newest first", handleOn(people, (*peopleHandlers).invitations), nil},
		{post, "/v1/admin/invitations", scopeAdmin, 201, "invite", tagAccounts, "Make a link with which people sign up", handleOn(people, (*peopleHandlers).invite), nil},
		{del, "/v1/admin/invitations/{id}", scopeAdmin, 204, "revoke-invitation", tagAccounts, "Withdraw an invitation", handleOn(people, (*peopleHandlers).revokeInvitation), nil},
		{get, "/v1/admin/people", scopeAdmin, 200, "list-people", tagAccounts, "People with a role", handleOn(people, (*peopleHandlers).list), nil},
		{put, "/v1/admin/people/{id}", scopeAdmin, 200, "set-role", tagAccounts, "Give an owner a role", handleOn(people, (*peopleHandlers).setRole), nil},
		{del, "/v1/admin/people/{id}", scopeAdmin, 204, "remove-role", tagAccounts, "Take an owner's role away", handleOn(people, (*peopleHandlers).removeRole), nil},
		{get, "/v1/admin/tokens", scopeAdmin, 200, "list-admin-tokens", tagAccounts, "Tokens of admins, organizers and moderators", handleOn(accounts, (*accountHandlers).adminTokens), nil},
		{post, "/v1/admin/tokens", scopeAdmin, 201, "create-admin-token", tagAccounts, "Make a token of an admin, organizer or moderator", handleOn(accounts, (*accountHandlers).createAdminToken), nil},
		{del, "/v1/admin/tokens/{id}", scopeAdmin, 204, "revoke-admin-token", tagAccounts, "Revoke any token, an owner's too", handleOn(accounts, (*accountHandlers).revokeAny), nil},
		{get, "/v1/admin/owners", scopeAdmin, 200, "list-owners", tagAccounts, "Owners, newest first", handleOn(accounts, (*accountHandlers).list), nil},
		{get, "/v1/admin/owners/{id}", scopeAdmin, 200, "get-owner", tagAccounts, "One owner with its agents", handleOn(accounts, (*accountHandlers).get), nil},
		{del, "/v1/admin/owners/{id}", scopeAdmin, 200, "delete-owner", tagAccounts, "Delete an owner's personal data; results stay under neutral names", handleOn(accounts, (*accountHandlers).deleteOwner), nil},
		{get, exportOwnerPath, scopeAdmin, 200, "export-owner", tagAccounts, "Everything about an owner, as a ZIP file", handleRecorded(accounts, (*accountHandlers).exportOwner), describeZIP},
		{get, "/v1/admin/erasures", scopeAdmin, 200, "list-erasures", tagAccounts, "Owners that were deleted, by id and time", handleOn(accounts, (*accountHandlers).erasures), nil},
		{post, "/v1/admin/erasures", scopeAdmin, 200, "reapply-erasures", tagAccounts, "Delete the owners of a list again, after a restore", handleOn(accounts, (*accountHandlers).reapply), nil},
		{get, "/v1/admin/owners/{id}/tokens", scopeAdmin, 200, "list-owner-tokens", tagAccounts, "An owner's tokens", handleOn(accounts, (*accountHandlers).ownerTokens), nil},
		{post, "/v1/admin/owners/{id}/tokens", scopeAdmin, 201, "reissue-owner-token", tagAccounts, "Revoke an owner's tokens and make a new one", handleOn(accounts, (*accountHandlers).reissue), nil},
		{del, "/v1/admin/owners/{id}/tokens", scopeAdmin, 204, "revoke-owner-tokens", tagAccounts, "Revoke an owner's tokens", handleOn(accounts, (*accountHandlers).revokeOwnerTokens), nil},
		{post, "/v1/admin/owners/{id}/suspend", scopeAdmin, 200, "suspend-owner", tagAccounts, "Reject an owner's tokens and pause its agents", handleOn(accounts, (*accountHandlers).suspend), nil},
		{post, "/v1/admin/owners/{id}/restore", scopeAdmin, 200, "restore-owner", tagAccounts, "End an owner's suspension", handleOn(accounts, (*accountHandlers).restore), nil},

		{post, "/v1/agents", scopeOwner, 201, "create-agent", tagAgents, "Register an agent", handleOn(agents, (*agentHandlers).create), nil},
		{get, "/v1/agents", scopePublic, 200, "list-agents", tagAgents, "Agents, newest first", handleOn(agents, (*agentHandlers).list), nil},
		{get, "/v1/marks", scopePublic, 200, "list-marks", tagAgents, "Shapes and colors of avatars that owners have chosen", handleOn(agents, (*agentHandlers).marks), nil},
		{get, "/v1/agents/{id}", scopePublic, 200, "get-agent", tagAgents, "One agent", handleOn(agents, (*agentHandlers).get), nil},
		{patch, "/v1/agents/{id}", scopeOwnerOrAdmin, 200, "update-agent", tagAgents, "Change an agent", handleOn(agents, (*agentHandlers).update), nil},
		{del, "/v1/agents/{id}", scopeOwnerOrAdmin, 204, "retire-agent", tagAgents, "Retire an agent", handleOn(agents, (*agentHandlers).retire), nil},
		{post, checkPath, scopeOwnerOrAdmin, 200, "check-agent", tagAgents, "Test the endpoint now", handleOn(agents, (*agentHandlers).check), nil},
		{post, "/v1/agents/{id}/key", scopeOwnerOrAdmin, 200, "prove-key", tagAgents, "Prove that its public key is yours", handleOn(agents, (*agentHandlers).proveKey), nil},
		{get, "/v1/agents/{id}/tasks", scopeTasks, 200, "poll-task", tagAgents, "Wait for a task", mountTasks(pollTask), describePoll},
		{post, "/v1/agents/{id}/tasks/{task_id}/answer", scopeTasks, 202, "answer-task", tagAgents, "Answer a task", mountTasks(answerTask), describeAnswer},
		{post, mcpPath, scopePublic, 200, "mcp", tagAgents, "The arena as tools of the Model Context Protocol (streamable HTTP)", mountMCP, describeMCP},
		{get, "/v1/agents/{id}/keys", scopeOwnerOrAdmin, 200, "list-agent-keys", tagAgents, "Keys of an agent that fetches its tasks", handleOn(agents, (*agentHandlers).listKeys), nil},
		{post, "/v1/agents/{id}/keys", scopeOwnerOrAdmin, 201, "create-agent-key", tagAgents, "Make another key", handleOn(agents, (*agentHandlers).createKey), nil},
		{del, "/v1/agents/{id}/keys/{key_id}", scopeOwnerOrAdmin, 204, "revoke-agent-key", tagAgents, "Revoke a key; polls that use it end", handleOn(agents, (*agentHandlers).revokeKey), nil},
		{post, "/v1/agents/{id}/keys/{key_id}/rotate", scopeOwnerOrAdmin, 201, "rotate-agent-key", tagAgents, "Replace a key by a new one", handleOn(agents, (*agentHandlers).rotateKey), nil},
		{get, "/v1/agents/{id}/conformance", scopePublic, 200, "get-agent-conformance", tagAgents, "Its last full check, with every finding", handleOn(history, (*historyHandlers).conformance), nil},
		{get, badgePath, scopePublic, 200, "get-agent-badge", tagAgents, "Its last full check as a small picture", handleOn(history, (*historyHandlers).badge), describeText("image/svg+xml")},
		{post, rehearsePath, scopeOwnerOrAdmin, 200, "rehearse", tagAgents, "A private run with faults switched on", handleOn(agents, (*agentHandlers).rehearse), nil},
		{get, "/v1/agents/{id}/budget", scopeOwnerOrAdmin, 200, "get-agent-budget", tagAgents, "What it has used of its budget today", handleOn(agents, (*agentHandlers).budget), nil},
		{post, "/v1/agents/{id}/pause", scopePause, 200, "pause-agent", tagAgents, "Take no new seats", handleOn(agents, (*agentHandlers).pause), nil},
		{post, "/v1/agents/{id}/resume", scopePause, 200, "resume-agent", tagAgents, "Take seats again", handleOn(agents, (*agentHandlers).resume), nil},
		{get, "/v1/agents/{id}/ratings", scopePublic, 200, "list-agent-ratings", tagAgents, "Ratings with their history", handleOn(history, (*historyHandlers).ratings), nil},
		{get, "/v1/agents/{id}/matches", scopePublic, 200, "list-agent-matches", tagAgents, "Matches of an agent, newest first", handleOn(history, (*historyHandlers).listMatches), nil},
		{get, "/v1/agents/{id}/uptime", scopePublic, 200, "list-agent-uptime", tagAgents, "Health checks by day, 90 days", handleOn(history, (*historyHandlers).uptime), nil},
		{get, "/v1/agents/{id}/opponents", scopePublic, 200, "list-agent-opponents", tagAgents, "Results by opponent", handleOn(history, (*historyHandlers).opponents), nil},
		{get, "/v1/agents/{id}/calibration", scopePublic, 200, "get-agent-calibration", tagAgents, "What its declared confidence and tokens are worth", handleDear(history, (*historyHandlers).calibration), nil},
		{get, "/v1/agents/{id}/outcomes", scopePublic, 200, "get-agent-outcomes", tagAgents, "How its rounds end, by cause", handleOn(history, (*historyHandlers).outcomes), nil},
		{get, "/v1/agents/{id}/losses", scopePublic, 200, "list-agent-losses", tagAgents, "Rounds that it lost, newest first", handleOn(history, (*historyHandlers).losses), nil},
		{get, "/v1/agents/{id}/topics", scopePublic, 200, "list-agent-topics", tagAgents, "How often it is right, by topic", handleDear(history, (*historyHandlers).topics), nil},
		{get, agentCalendarPath, scopePublic, 200, "get-agent-calendar", tagAgents, "What it plays next, as a calendar", handleOn(feeds, (*feedHandlers).agentCalendar), describeText("text/calendar")},
		{get, agentFeedPath, scopePublic, 200, "get-agent-feed", tagAgents, "Its results as an Atom feed", handleOn(feeds, (*feedHandlers).agentFeed), describeText("application/atom+xml")},
		{get, "/v1/agents/{id}/deliveries", scopeOwnLog, 200, "list-agent-deliveries", tagAgents, "Every request sent to an agent, newest first", handleOn(history, (*historyHandlers).deliveries), nil},

		{get, "/v1/leagues", scopePublic, 200, "list-leagues", tagLeagues, "Leagues", handleOn(leagues, (*leagueHandlers).list), nil},
		{post, "/v1/leagues", scopeAdmin, 201, "create-league", tagLeagues, "Create a league", handleOn(leagues, (*leagueHandlers).create), nil},
		{get, "/v1/leagues/{slug}", scopePublic, 200, "get-league", tagLeagues, "One league", handleOn(leagues, (*leagueHandlers).get), nil},
		{patch, "/v1/leagues/{slug}", scopeOrganize, 200, "update-league", tagLeagues, "Change a league's settings", handleOn(leagues, (*leagueHandlers).update), nil},
		{get, "/v1/leagues/{slug}/standings", scopePublic, 200, "list-standings", tagLeagues, "The table", handleDear(leagues, (*leagueHandlers).standings), describeTable},
		{get, leagueExportPath, scopePublic, 200, "export-league", tagLeagues, "Its settled matches, rounds, answers, verdicts and ratings as lines of JSON, and their data card", mountExport, nil},
		{get, "/v1/leagues/{slug}/comparison", scopePublic, 200, "compare-agents", tagLeagues, "Whether one agent is better than another", handleDear(leagues, (*leagueHandlers).comparison), nil},
		{get, "/v1/leagues/{slug}/rounds", scopePublic, 200, "list-league-rounds", tagLeagues, "Pairings of a season, by round", handleDear(seasons, (*seasonHandlers).listRounds), nil},
		{get, "/v1/leagues/{slug}/seasons", scopePublic, 200, "list-seasons", tagLeagues, "Seasons, newest first", handleOn(seasons, (*seasonHandlers).list), nil},
		{get, "/v1/leagues/{slug}/seasons/{season}", scopePublic, 200, "get-season", tagLeagues, "One season with its table and pairings", handleDear(seasons, (*seasonHandlers).get), nil},
		{get, "/v1/leagues/{slug}/seasons/{season}/card.png", scopePublic, 200, "get-season-card", tagLeagues, "A picture of its podium, for previews of links", handleDear(seasons, (*seasonHandlers).card), describePNG},
		{get, "/v1/leagues/{slug}/judge", scopePublic, 200, "get-judge", tagLeagues, "How far its judge can be trusted", handleOn(judges, (*judgeHandlers).get), nil},
		{post, "/v1/leagues/{slug}/audit", scopeOrganize, 200, "audit-league", tagLeagues, "Have cheats play on a copy of the league, and publish what they got", handleOn(leagues, (*leagueHandlers).audit), nil},
		{get, "/v1/leagues/{slug}/audit", scopePublic, 200, "get-audit", tagLeagues, "The newest audit: each cheat against chance, and what the questions give away", handleOn(leagues, (*leagueHandlers).getAudit), nil},
		{get, "/v1/leagues/{slug}/matches", scopePublic, 200, "list-league-matches", tagLeagues, "Matches of a league, newest first", handleOn(leagues, (*leagueHandlers).listMatches), nil},
		{post, "/v1/leagues/{slug}/rescore", scopeOrganize, 200, "rescore-league", tagLeagues, "Judge all its finished matches again", handleOn(matches, (*matchHandlers).rescoreLeague), nil},
		{post, "/v1/leagues/{slug}/open", scopeOrganize, 200, "open-league", tagLeagues, "Let agents enter", leagueAction(arena.OpenLeague), nil},
		{post, "/v1/leagues/{slug}/start", scopeOrganize, 200, "start-league", tagLeagues, "Begin the league's own pairing", leagueAction(arena.StartLeague), nil},
		{post, "/v1/leagues/{slug}/start-now", scopeOrganize, 200, "start-league-now", tagLeagues, "Begin what its schedule starts without waiting for the next occurrence", leagueAction(arena.StartLeagueNow), nil},
		{post, "/v1/leagues/{slug}/pause", scopeOrganize, 200, "pause-league", tagLeagues, "Stop pairing for now", leagueAction(arena.PauseLeague), nil},
		{post, "/v1/leagues/{slug}/resume", scopeOrganize, 200, "resume-league", tagLeagues, "Resume pairing, show the table", leagueAction(arena.ResumeLeague), nil},
		{post, "/v1/leagues/{slug}/freeze", scopeOrganize, 200, "freeze-league", tagLeagues, "Hide the table, keep pairing", leagueAction(arena.FreezeLeague), nil},
		{post, "/v1/leagues/{slug}/finish", scopeOrganize, 200, "finish-league", tagLeagues, "End a league", leagueAction(arena.FinishLeague), nil},
		{post, "/v1/leagues/{slug}/archive", scopeOrganize, 200, "archive-league", tagLeagues, "Take a league out of lists and stop its pairing; its pages stay", leagueAction(arena.ArchiveLeague), nil},
		{post, "/v1/leagues/{slug}/unarchive", scopeOrganize, 200, "unarchive-league", tagLeagues, "List an archived league again", leagueAction(arena.UnarchiveLeague), nil},
		{del, "/v1/leagues/{slug}", scopeAdmin, 204, "delete-league", tagLeagues, "Delete a league that never had a match", handleOn(leagues, (*leagueHandlers).remove), nil},
		{get, leagueCalendarPath, scopePublic, 200, "get-league-calendar", tagLeagues, "What it plays next, as a calendar", handleOn(feeds, (*feedHandlers).leagueCalendar), describeText("text/calendar")},
		{get, leagueFeedPath, scopePublic, 200, "get-league-feed", tagLeagues, "Its results as an Atom feed", handleOn(feeds, (*feedHandlers).leagueFeed), describeText("application/atom+xml")},
		{post, "/v1/leagues/{slug}/entries", scopeEnter, 200, "enter-agents", tagLeagues, "Enter many agents, with a result for each", handleOn(leagues, (*leagueHandlers).enterAgents), nil},
		{put, "/v1/leagues/{slug}/entries/{agent_id}", scopeEnter, 204, "enter-league", tagLeagues, "Enter an agent", handleOn(leagues, (*leagueHandlers).enter), nil},
		{del, "/v1/leagues/{slug}/entries/{agent_id}", scopeEnter, 204, "withdraw-from-league", tagLeagues, "Withdraw an agent", handleOn(leagues, (*leagueHandlers).withdraw), nil},

		{post, packsPath, scopeAdmin, 201, "create-pack", tagPacks, "Import a question pack, all or nothing", handleOn(packs, (*packHandlers).create), describePackBody},
		{post, packCheckPath, scopeAdmin, 200, "check-pack", tagPacks, "What an import would find in a file; stores nothing", handleOn(packs, (*packHandlers).check), describePackBody},
		{post, gamesPath, scopeAdmin, 201, "create-game", tagGames, "Upload a game in JavaScript; random games check it first", handleOn(games, (*gameHandlers).create), describeGameBody},
		{get, gamesPath, scopePublic, 200, "list-games", tagGames, "Games that leagues may play, with their options", handleOn(games, (*gameHandlers).list), nil},
		{get, "/v1/games/{name}", scopePublic, 200, "get-game", tagGames, "The source of an uploaded game", handleOn(games, (*gameHandlers).get), nil},
		{get, packsPath, scopeAdmin, 200, "list-packs", tagPacks, "Question packs, newest first", handleOn(packs, (*packHandlers).list), nil},
		{get, "/v1/packs/{id}", scopeAdmin, 200, "get-pack", tagPacks, "One question pack", handleOn(packs, (*packHandlers).get), nil},
		{get, "/v1/packs/{id}/tasks", scopeAdmin, 200, "list-pack-tasks", tagPacks, "The questions of a pack, with their use", handleOn(packs, (*packHandlers).listTasks), nil},
		{patch, "/v1/packs/{id}", scopeAdmin, 200, "update-pack", tagPacks, "Rename a question pack", handleOn(packs, (*packHandlers).rename), nil},
		{patch, "/v1/packs/{id}/tasks/{n}", scopeAdmin, 200, "update-pack-task", tagPacks, "Change the text of one question; rounds already played keep the old one", handleOn(packs, (*packHandlers).editTask), nil},
		{post, "/v1/packs/{id}/tasks/{n}/correct", scopeAdmin, 200, "correct-pack-task", tagPacks, "Judge played rounds again by the corrected answer of a question", handleOn(packs, (*packHandlers).correctTask), nil},
		{del, "/v1/packs/{id}/tasks/{n}", scopeAdmin, 200, "remove-pack-task", tagPacks, "Remove one question; its rounds become void", handleOn(packs, (*packHandlers).removeTask), nil},

		{post, "/v1/matches", scopeOrganize, 201, "create-match", tagMatches, "Schedule a match", handleOn(matches, (*matchHandlers).create), nil},
		{post, "/v1/challenges", scopeOwner, 201, "challenge", tagMatches, "Unrated sparring with another agent", handleOn(matches, (*matchHandlers).challenge), nil},
		{get, "/v1/lobby", scopePublic, 200, "get-lobby", tagMatches, "All that the first page shows", handleOn(lobby, (*lobbyHandlers).get), nil},
		{get, "/v1/recap", scopePublic, 200, "get-recap", tagMatches, "The best moments of a day or season", handleDear(recap, (*recapHandlers).get), nil},
		{get, "/v1/matches", scopePublic, 200, "list-matches", tagMatches, "Matches, newest first", handleOn(matches, (*matchHandlers).list), nil},
		{get, "/v1/matches/{id}", scopePublic, 200, "get-match", tagMatches, "One match as it stands", handleOn(matches, (*matchHandlers).get), nil},
		{post, "/v1/matches/{id}/cancel", scopeEnd, 200, "cancel-match", tagMatches, "Cancel a match that has not begun", handleOn(matches, (*matchHandlers).cancel), nil},
		{post, "/v1/matches/{id}/void", scopeEnd, 200, "void-match", tagMatches, "End a match so that it does not count", handleOn(matches, (*matchHandlers).void), nil},
		{post, "/v1/matches/{id}/rounds/{n}/answers/{agent_id}/hide", scopeModerate, 204, "hide-answer", tagMatches, "Erase what an agent wrote in one round of a match that is over", handleOn(matches, (*matchHandlers).hide), nil},
		{post, "/v1/matches/{id}/rescore", scopeOrganize, 200, "rescore-match", tagMatches, "Judge a finished match again", handleOn(matches, (*matchHandlers).rescore), nil},
		{get, "/v1/matches/{id}/verdicts", scopePublic, 200, "list-verdicts", tagMatches, "The verdicts of the judges, with their versions", handleOn(matches, (*matchHandlers).verdicts), nil},
		{get, "/v1/matches/{id}/ballot", scopePublic, 200, "get-ballot", tagMatches, "The open vote", handleOn(votes, (*voteHandlers).ballot), nil},
		{post, "/v1/matches/{id}/votes", scopePublic, 200, "vote", tagMatches, "Vote on two answers", handleOn(votes, (*voteHandlers).vote), nil},
		{post, "/v1/matches/{id}/rounds/{n}/guess", scopePublic, 204, "guess", tagMatches, "Guess the answer to a sealed question, once from each address", handleOn(votes, (*voteHandlers).guess), nil},
		{get, "/v1/matches/{id}/guesses", scopePublic, 200, "list-guesses", tagMatches, "What spectators guessed in closed rounds", handleOn(votes, (*voteHandlers).guesses), nil},
		{get, "/v1/matches/{id}/events", scopePublic, 200, "list-match-events", tagMatches, "The log, oldest first", handleOn(matches, (*matchHandlers).events), describeEventLines},
		{get, "/v1/matches/{id}/rounds", scopePublic, 200, "list-match-rounds", tagMatches, "Closed rounds with tasks and answers", handleOn(matches, (*matchHandlers).rounds), nil},
		{get, "/v1/matches/{id}/record", scopePublic, 200, "get-match-record", tagMatches, "The signed record of a finished match", handleDear(matches, (*matchHandlers).record), nil},
		{get, "/v1/matches/{id}/notation", scopePublic, 200, "get-match-notation", tagMatches, "Its games as a file in the notation of the game: PGN for chess", handleOn(matches, (*matchHandlers).notation), describeNotation},
		{get, "/v1/matches/{id}/card.png", scopePublic, 200, "get-match-card", tagMatches, "A picture of how it stands, for previews of links", handleDear(matches, (*matchHandlers).card), describePNG},

		{get, streamPath, scopeElsewhere, 200, "watch", tagStream, "Events as they happen: WebSocket, or server-sent events with Accept: text/event-stream", serve(func(a *API) http.Handler { return a.handlers.Stream }), describeWatch},
		{post, streamPath, scopeElsewhere, 200, "send-events", tagStream, "An agent's events without a socket", serve(func(a *API) http.Handler { return a.handlers.Stream }), describeSendEvents},
		{get, "/.well-known/jwks.json", scopePublic, 200, "get-jwks", tagService, "The keys that verify task tokens", serve(func(a *API) http.Handler { return a.handlers.JWKS }), describeJSON},

		// The other protocols: agents talk to the arena under their own texts.
		{post, "/agora", scopePublic, 200, "agora", tagProtocols, "Two-party Agora: begin a conversation", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{post, "/agora/conversations/{id}", scopePublic, 200, "agora-follow-up", tagProtocols, "Two-party Agora: continue a conversation", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{del, "/agora/conversations/{id}", scopePublic, 200, "agora-end", tagProtocols, "Two-party Agora: end a conversation", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{get, "/agora/wellknown", scopePublic, 200, "agora-wellknown", tagProtocols, "Two-party Agora: the Protocol Documents that the arena speaks", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{get, "/agora/documents/{hash}", scopePublic, 200, "agora-document", tagProtocols, "Two-party Agora: the text of one Protocol Document", serve(protocolHandler(arena.ProtocolAgora)), nil},
		{post, "/agora/x/{token}", scopePublic, 200, "agora-agent", tagProtocols, "The same for one agent, under its own base URL", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{post, "/agora/x/{token}/conversations/{id}", scopePublic, 200, "agora-agent-follow-up", tagProtocols, "Continue an agent's conversation", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{del, "/agora/x/{token}/conversations/{id}", scopePublic, 200, "agora-agent-end", tagProtocols, "End an agent's conversation", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{get, "/agora/x/{token}/wellknown", scopePublic, 200, "agora-agent-wellknown", tagProtocols, "The documents, for an agent", serve(protocolHandler(arena.ProtocolAgora)), describeJSON},
		{post, "/relay/events", scopePublic, 200, "relay-submit", tagProtocols, "Relay: submit a signed envelope", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{get, "/relay/events", scopePublic, 200, "relay-events", tagProtocols, "Relay: envelopes, waiting for the next one", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{get, "/relay/health", scopePublic, 200, "relay-health", tagProtocols, "Relay: is it there, and who is the arena", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{post, "/relay/seed", scopePublic, 200, "relay-seed", tagProtocols, "Relay: example envelopes, in development only", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{post, "/relay/v1/messages", scopePublic, 200, "relay-submit-alias", tagProtocols, "Relay: submit, as some SDKs do", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{get, "/relay/v1/messages", scopePublic, 200, "relay-events-alias", tagProtocols, "Relay: envelopes, as some SDKs ask", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{post, "/relay/v1/agents", scopePublic, 200, "relay-manifest", tagProtocols, "Relay: submit a capability manifest", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{get, "/relay/v1/discover", scopePublic, 200, "relay-discover", tagProtocols, "Relay: who offers an intent", serve(protocolHandler(arena.ProtocolEnvelope)), describeJSON},
		{post, "/agentprotocol", scopePublic, 200, "agentprotocol", tagProtocols, "AgentProtocol: one signed message", serve(protocolHandler(arena.ProtocolAgentProtocol)), describeJSON},
		{get, "/agentprotocol", scopePublic, 200, "agentprotocol-hello", tagProtocols, "AgentProtocol: the arena's own signed hello", serve(protocolHandler(arena.ProtocolAgentProtocol)), describeJSON},
		{get, "/agentprotocol/ws", scopePublic, 200, "agentprotocol-socket", tagProtocols, "AgentProtocol over a WebSocket", serve(protocolHandler(arena.ProtocolAgentProtocol)), nil},

		{get, "/.well-known/agent-card.json", scopePublic, 200, "a2a-card", tagProtocols, "A2A: the arena's own agent card", serve(protocolHandler(arena.ProtocolA2A)), describeJSON},
		{post, "/a2a", scopePublic, 200, "a2a", tagProtocols, "A2A: a question about the arena, over JSON-RPC", serve(protocolHandler(arena.ProtocolA2A)), describeJSON},

		{get, "/v1/admin/status", scopeAdmin, 200, "get-status", tagService, "Sizes, nodes and version", handleOn(node, (*nodeHandlers).status), nil},
		{get, "/v1/admin/audit", scopeAdmin, 200, "list-audit", tagService, "What admins and owners did, newest first", handleOn(audit, (*auditHandlers).list), nil},
		{get, "/v1/admin/calendar", scopeOrganize, 200, "get-calendar", tagLeagues, "A month of seasons that were, run and are to come", handleOn(calendar, (*calendarHandlers).get), nil},
		{get, "/v1/admin/anomalies", scopeEnd, 200, "list-anomalies", tagService, "What chance hardly does: copied answers, traded wins", handleOn(analysis, (*analysisHandlers).listAnomalies), nil},
		{get, "/v1/banner", scopePublic, 200, "get-banner", tagService, "The text that every page shows", handleOn(banner, (*bannerHandlers).get), nil},
		{post, "/v1/admin/banner", scopeAdmin, 200, "set-banner", tagService, "Set or remove the text that every page shows", handleOn(banner, (*bannerHandlers).set), nil},
		{post, "/v1/admin/ratings/verify", scopeAdmin, 200, "verify-ratings", tagService, "Replay all settlements and compare", handleRecorded(analysis, (*analysisHandlers).verifyRatings), nil},
		{post, "/v1/admin/ratings/rebuild", scopeAdmin, 200, "rebuild-ratings", tagService, "Recompute a league's ratings from its answers", handleOn(matches, (*matchHandlers).rebuildRatings), nil},
		{post, "/v1/admin/drain", scopeAdmin, 202, "drain-node", tagService, "Give this node's matches to others", handleRecorded(node, (*nodeHandlers).drain), nil},
		{get, "/v1/catalog", scopePublic, 200, "get-catalog", tagService, "Formats, judges, protocols, codes and limits of this version", getCatalog(), nil},
		{get, "/v1/openapi.json", scopePublic, 200, "get-openapi", tagService, "This document", serve(func(a *API) http.Handler { return a.docs.serveOpenAPI() }), describeJSON},
		{get, "/docs", scopePublic, 200, "get-docs", tagService, "This document for people", serve(func(a *API) http.Handler { return a.docs.servePage() }), describeHTML},
		{get, "/skill.md", scopePublic, 200, "get-skill", tagService, "How to compete, for an agent that reads", serve(func(a *API) http.Handler { return a.pages.skill() }), describeText("text/markdown")},
		{get, "/llms.txt", scopePublic, 200, "get-llms", tagService, "What is where, for an agent that reads", serve(func(a *API) http.Handler { return a.pages.llmsText() }), describeText("text/plain")},
		{get, "/sdk", scopePublic, 200, "list-sdks", tagService, "SDK packages to install from this arena", mountSDK, describeSDK},
		{get, download.ScriptPath, scopePublic, 200, "get-install-script", tagService, "A script that installs the program arena from this arena", mountProgram, describeText("text/x-shellscript")},
		{get, download.Prefix + "{platform}/arena", scopePublic, 200, "get-program", tagService, "The program arena for a platform, such as linux-amd64", mountProgram, describeText("application/octet-stream")},
		{get, download.Prefix + "{platform}/arena.sha256", scopePublic, 200, "get-program-checksum", tagService, "The SHA-256 of that program, for sha256sum --check", mountProgram, describeText("text/plain")},
		{get, "/version", scopePublic, 200, "get-version", tagService, "The version of the service", handleOn(node, (*nodeHandlers).version), nil},
		{get, "/healthz", scopePublic, 200, "get-health", tagService, "The process runs", unguarded((*nodeHandlers).health), nil},
		{get, "/readyz", scopePublic, 200, "get-readiness", tagService, "This node can serve", unguarded((*nodeHandlers).ready), nil},
	}
}

// dearAtOnce is how many pieces of dear work run at once: SQLite has at least 4 readers.
const dearAtOnce = 2

// dearWork runs what no page bounds, at most its capacity at once.
type dearWork chan struct{}

// do runs work when its turn comes. unavailable: it did not come before ctx ended.
func (d dearWork) do(ctx context.Context, work func() error) error {
	select {
	case d <- struct{}{}:
		defer func() { <-d }()
		return work()
	case <-ctx.Done():
		return arena.Errorf(arena.CodeUnavailable, "too many ask for tables, seasons, records, pictures and exports now; try again")
	}
}

// ginPath returns the path of a route as Gin writes it.
func ginPath(path string) string { return strings.NewReplacer("{", ":", "}", "").Replace(path) }

// mountOn puts the route on the router and into the document.
func (r route) mountOn(a *API) {
	if r.scope == "" || r.id == "" || r.summary == "" {
		panic(fmt.Sprintf("api: route %s %s is not complete", r.method, r.path))
	}
	r.mount(a, r)
	if r.describe != nil {
		r.describe(operationAt(a.huma.OpenAPI(), r.method, r.path))
	}
}

// maxBody is the cap of the route's body in bytes.
func (r route) maxBody() int64 {
	switch r.path {
	case packsPath, packCheckPath:
		return maxPackBody
	case gamesPath:
		return maxGameBody
	case mcpPath:
		return maxMCPBody
	}
	return maxJSONBody
}

// operation is the route in Huma's words.
func (r route) operation() huma.Operation {
	op := huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.id, Tags: []string{r.tag}, Summary: r.summary,
		DefaultStatus: r.status,
		Description:   "Scope: " + string(r.scope) + ".",
		Security:      []map[string][]string{},
		// guard has read the body, under caps and a deadline of its own.
		MaxBodyBytes: -1, BodyReadTimeout: -1,
	}
	switch {
	case len(r.scope.admits()) > 0:
		op.Security = append(op.Security, map[string][]string{"bearer": {}})
	case r.scope == scopeElsewhere:
		op.Description = ""
		op.Security = append(op.Security, map[string][]string{"task": {}})
		if r.method == http.MethodGet { // spectators need none
			op.Security = append(op.Security, map[string][]string{})
		}
	}
	return op
}

// handleOn mounts a typed handler of one resource behind guard. The service
// that it calls stores the audit entry with the change.
func handleOn[H, I, O any](of func(*API) H, h func(H, context.Context, *I) (*O, error)) func(*API, route) {
	return func(a *API, r route) {
		op := r.operation()
		op.Middlewares = huma.Middlewares{a.guard(r)}
		register(a, op, of(a), h)
	}
}

// handleDear is handleOn for a handler that makes something whole, a table, a
// season, a record or a picture, of which no page bounds the work. No cache would
// hold for a caller who asks for another one each time, so few of these run at
// once, and all other routes keep readers of the database (threat V7).
func handleDear[H, I, O any](of func(*API) H, h func(H, context.Context, *I) (*O, error)) func(*API, route) {
	return func(a *API, r route) {
		handleOn(of, func(handlers H, ctx context.Context, in *I) (out *O, err error) {
			err = a.dear.do(ctx, func() error { // not while the answer is written, which may take as long as its reader wants
				out, err = h(handlers, ctx, in)
				return err
			})
			return out, err
		})(a, r)
	}
}

// unguarded mounts a probe of this node, which is answered at any rate.
func unguarded[I, O any](h func(*nodeHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return func(a *API, r route) { register(a, r.operation(), a.node, h) }
}

func register[H, I, O any](a *API, op huma.Operation, handlers H, h func(H, context.Context, *I) (*O, error)) {
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(handlers, ctx, in)
		if err != nil {
			return nil, a.problemOf(ctx, err)
		}
		return out, nil
	})
}

// protocolHandler returns the inbound handler of a protocol, or one that answers 404
// when this arena does not have the protocol.
func protocolHandler(protocol string) func(*API) http.Handler {
	return func(a *API) http.Handler {
		if h := a.handlers.Protocols[protocol]; h != nil {
			return h
		}
		return http.NotFoundHandler()
	}
}

// mountSDK mounts the list of SDK packages; noRoute serves the paths below it.
func mountSDK(a *API, r route) {
	a.engine.Handle(r.method, r.path, func(c *gin.Context) { a.serveFile(c, a.handlers.SDK) })
	a.document(r)
}

// mountProgram mounts a path of the program for authors.
func mountProgram(a *API, r route) {
	a.engine.Handle(r.method, ginPath(r.path), func(c *gin.Context) { a.serveFile(c, a.handlers.Program) })
	a.document(r)
}

// serve mounts a plain handler, which reads and limits for itself.
func serve(handler func(*API) http.Handler) func(*API, route) {
	return func(a *API, r route) {
		h := handler(a)
		a.engine.Handle(r.method, ginPath(r.path), func(c *gin.Context) { a.forward(c, h) })
		a.document(r)
	}
}

// document adds a route without Huma's types to the document.
func (a *API) document(r route) {
	op := r.operation()
	for part := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			op.Parameters = append(op.Parameters, &huma.Param{
				Name: strings.TrimSuffix(name, "}"), In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
			})
		}
	}
	op.Responses = map[string]*huma.Response{"200": {Description: http.StatusText(http.StatusOK)}}
	a.huma.OpenAPI().AddOperation(&op)
}

// scope is the kind of token that a route needs. routes lists it for every
// route, and admits implements it. Services check the rest: the owner of an
// object and the leagues of an organizer's token.
type scope string

// The scopes of routes. There is no zero scope: a route without one does not
// mount.
const (
	scopePublic       scope = "public"                           // none; a good token is still recognized
	scopeOwner        scope = "owner"                            // an owner's
	scopeAdmin        scope = "admin"                            // an admin's
	scopeOwnerOrAdmin scope = "owner or admin"                   // of its own agents
	scopeOrganize     scope = "admin or organizer"               // of its leagues
	scopeOwnLog       scope = "agent, owner or admin"            // of what was sent to an agent
	scopeEnter        scope = "agent, owner, admin or organizer" // an agent into a league
	scopeEnd          scope = "admin, organizer or moderator"    // a match
	scopeModerate     scope = "admin or moderator"
	scopePause        scope = "owner, admin or moderator" // an agent
	scopeTasks        scope = "agent or owner"            // of an agent's tasks
	scopeAnyToken     scope = "agent, owner, admin, organizer or moderator"
	scopeElsewhere    scope = "elsewhere" // the mounted handler checks for itself: the stream
)

// admits returns the scopes of the tokens that a route of scope s lets in.
func (s scope) admits() []arena.Scope {
	switch s {
	case scopeOwner:
		return []arena.Scope{arena.ScopeOwner}
	case scopeAdmin:
		return []arena.Scope{arena.ScopeAdmin}
	case scopeOwnerOrAdmin:
		return []arena.Scope{arena.ScopeOwner, arena.ScopeAdmin}
	case scopeOrganize:
		return []arena.Scope{arena.ScopeAdmin, arena.ScopeOrganizer}
	case scopeOwnLog:
		return []arena.Scope{arena.ScopeAgent, arena.ScopeOwner, arena.ScopeAdmin}
	case scopeEnter:
		return []arena.Scope{arena.ScopeAgent, arena.ScopeOwner, arena.ScopeAdmin, arena.ScopeOrganizer}
	case scopeEnd:
		return arena.AdminScopes()
	case scopeModerate:
		return []arena.Scope{arena.ScopeAdmin, arena.ScopeModerator}
	case scopePause:
		return []arena.Scope{arena.ScopeOwner, arena.ScopeAdmin, arena.ScopeModerator}
	case scopeTasks:
		return []arena.Scope{arena.ScopeAgent, arena.ScopeOwner}
	case scopeAnyToken:
		return append(arena.AdminScopes(), arena.ScopeOwner, arena.ScopeAgent)
	case scopePublic, scopeElsewhere:
	}
	return nil
}

type contextKey int

const (
	callerKey contextKey = iota
	requestKey
)

func callerOf(ctx context.Context) arena.Caller {
	c, _ := ctx.Value(callerKey).(arena.Caller)
	return c
}

// identify returns the caller of a request if the scope admits it. A bad token
// is rejected on every route, public ones too (threat A4).
func (a *API) identify(c *gin.Context, s scope) (arena.Caller, error) {
	secret, given := bearer(c.GetHeader("Authorization"))
	caller, err := a.accounts.Identify(c.Request.Context(), arena.Credentials{Secret: secret, Given: given, Session: a.sessionOf(c), Address: c.ClientIP()})
	if err != nil {
		return arena.Caller{}, err
	}
	return caller, permit(caller, s)
}

// permit rejects a caller that the scope does not admit.
func permit(caller arena.Caller, s scope) error {
	if s == scopePublic {
		return nil
	}
	if !caller.Known() {
		return arena.Errorf(arena.CodeUnauthorized, "this needs a token")
	}
	if admitted := s.admits(); !slices.Contains(admitted, caller.Scope) && !slices.Contains(admitted, caller.Runs().Scope) {
		return arena.Errorf(arena.CodeForbidden, "this needs the token of an %s", s)
	}
	return nil
}

// bearer returns the secret of an Authorization header. given reports whether
// there was a header at all: one of another scheme is a bad token.
func bearer(header string) (secret string, given bool) {
	if header == "" {
		return "", false
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(secret), true
}
