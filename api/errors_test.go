package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// entry is a line of docs/errors.md.
type entry struct{ word, cause, fix string }

// codeEntries are all codes, in the order of arena/error.go.
func codeEntries() []entry {
	return []entry{
		{"invalid", "A field breaks a rule: it is missing, too long, of another type, or unknown, or a cursor that the list did not return.", "`errors` names each field and its limit. Unknown fields are refused too."},
		{"malformed", "The request cannot be read at all: no JSON, a duplicate field, a broken encoding, a bad `since` of the stream.", "Send one JSON document in UTF-8. `detail` names the place."},
		{"unauthorized", "The token is missing, unknown, revoked or expired (the response is the same for all of them).", "`Authorization: Bearer <token>`: an owner's token for that owner's agents, a running task's token for events."},
		{"forbidden", "The token is good but may not do this: an admin's route, an owner's route with an admin's token, sign-ups that are closed, a league with a list.", "Use the token of the scope that the API document names, or ask the arena's admin."},
		{"not_found", "Nothing with this id, slug or path exists, or it belongs to someone else.", "Look at the id; lists are under `/v1/agents`, `/v1/leagues` and `/v1/matches`."},
		{"method_not_allowed", "The path is known, the method is not.", "The `Allow` header lists the methods."},
		{"conflict", "The state does not allow it: a retired agent, a match that has begun, a league that takes no entries, too many agents or tokens.", "`detail` names the state that blocks the request."},
		{"name_taken", "A league has this slug, or an agent or owner this name or one that looks the same, in whatever case and script. An agent and an owner may have the same name.", "Choose another name."},
		{"signup_closed", "The league's deadline for entries (`signup_until`) is over.", "Ask the league's organizer, who can move the deadline."},
		{"agent_has_endpoint", "A poll for tasks of an agent that has an endpoint.", "Remove the endpoint with `PATCH /v1/agents/{id}`, `{\"endpoint\": \"\"}`, or wait for tasks there."},
		{"task_not_found", "An answer to a task that the agent does not have, or no longer: the match has ended, or it is long over.", "Use the `task_id` of the poll; drop the answer."},
		{"answer_late", "An answer after the deadline of its task. The round has its outcome already.", "Answer with what you have before `deadline`."},
		{"invitation_used", "The link has been used as often as it allows.", "Ask an admin for another link."},
		{"invitation_expired", "The link is too old.", "Ask an admin for another link."},
		{"invitation_revoked", "An admin withdrew the link.", "Ask an admin for another link."},
		{"answer_repeated", "Another answer to a task that has one. The first counts.", "Send one answer for each `task_id`; the same bytes may be sent again."},
		{"too_large", "A body, pack or event is over its limit.", "64 KiB for JSON, 16 MiB for a pack, 16 KiB for an event, 1 MiB for a post of events."},
		{"unsupported", "The content type or format is not supported here.", "`application/json` for the API, `application/x-ndjson` for posted events; the formats of packs are in the API document."},
		{"rate_limited", "Too many requests, checks, rehearsals, sign-ups or events.", "Wait for the number of seconds in `Retry-After`. [The rules](rules.md#limits) list the limits."},
		{"endpoint_invalid", "The endpoint is not a URL that can be called.", "`https://` (`http://` only on addresses that the arena's operator opened), a host, no user name, no fragment, at most 2048 bytes."},
		{"endpoint_blocked", "The endpoint's address is private, local, or written as a number.", "Use a public address. On your own machine, allow ranges with `ARENA_ALLOW_CIDRS`."},
		{"endpoint_own", "The endpoint is the arena itself.", "Register the address of your agent."},
		{"agent_not_ready", "An agent cannot take a seat now: it is not active, does not list the league, plays as much as it can, or its [budget](authors.md#budget) does not allow the match. Or it cannot rehearse: it has never passed a health check, or plays as much as it can.", "`detail` names the reason; [health](#health-check-reasons) lists what a check finds."},
		{"pack_invalid", "Lines of a pack cannot be read; nothing was imported.", "`errors` names the lines. `skip_bad=true` imports the good ones."},
		{"event_refused", "Stream: the event is not one of the eight types, or a field has the wrong type.", "One JSON object per message or line, as in [the protocol](agent-protocol.md#events)."},
		{"round_closed", "Stream: no round is open for this agent.", "Send events while you work on a task. In a rehearsal there is no stream at all."},
		{"forged_identity", "Stream: the event names another match or agent than the token.", "Leave `match_id` and `agent_id` out: they come from the token."},
		{"lease_lost", "Inside the arena: another node plays the match now.", "Callers never see it."},
		{"unavailable", "The database or another part is unavailable, or the request took too long.", "Ask again after `Retry-After`. A request that changes something may have succeeded: check first."},
		{"internal", "A fault of the arena.", "Report the request id in `detail` to the arena's admin."},
	}
}

// reasonEntries are the words of deliveries and outcomes, with their outcome.
func reasonEntries() []struct {
	outcome arena.Outcome
	entry
} {
	type line = struct {
		outcome arena.Outcome
		entry
	}
	return []line{
		{arena.OutcomeTimeout, entry{"time_limit", "No complete reply came within the time limit.", "Answer with what you have before `deadline`; begin writing earlier."}},
		{arena.OutcomeTimeout, entry{"late", "The reply was complete just after the time limit; `elapsed_ms` has the time it took.", "As above. The clock stops at the last byte, so allow for network time."}},
		{arena.OutcomeTimeout, entry{"retired", "The agent was retired in the middle of the match; nothing was sent.", "Pause an agent to take no new seats; retire it when its matches are over."}},
		{arena.OutcomeTimeout, entry{"status_408", "You answered 408.", "Use this to give up a round. It counts as lost."}},
		{arena.OutcomeRateLimited, entry{"status_429", "You answered 429: you are paused for five minutes. The second one in a match, or in your last 20 matches of the league, is a `timeout`.", "Answer 503 when you are full, or declare fewer in `max_concurrent`."}},
		{arena.OutcomeRateLimited, entry{"paused", "The round began in the pause after a 429; nothing was sent.", "As above."}},
		{arena.OutcomeError, entry{"status_500", "You answered 500, twice.", "The request is in the delivery: send it to yourself and look at your log. The second has the same `task_id`."}},
		{arena.OutcomeError, entry{"status_502", "A proxy before you did not reach your agent, twice.", "Is the agent running, and does the proxy wait as long as the time limit?"}},
		{arena.OutcomeError, entry{"status_504", "A proxy before you gave up waiting, twice.", "Raise the proxy's time limit above the league's."}},
		{arena.OutcomeError, entry{"dropped", "The connection was closed before any byte of a reply, twice.", "A crash, or a server that closes idle connections at once."}},
		{arena.OutcomeUnavailable, entry{"status_503", "You answered 503: you left the match, and no rating moved.", "Fine if intended. If it happens often, your pairing is suspended for a while."}},
		{arena.OutcomeError, entry{"refused", "Nothing listens at the endpoint. In the first round the outcome is `unavailable`.", "Start the agent; look at port and firewall."}},
		{arena.OutcomeError, entry{"dns", "The endpoint's name has no address.", "Look at the DNS record."}},
		{arena.OutcomeError, entry{"unreachable", "No connection could be made.", "Look at the firewall and the route."}},
		{arena.OutcomeError, entry{"connect_timeout", "No connection was made in 3 seconds.", "Look at the firewall: it drops what it should refuse."}},
		{arena.OutcomeError, entry{"tls_error", "TLS failed: the certificate has expired, is for another host, or comes from an unknown authority.", "Renew it; send the whole chain; TLS 1.2 or newer."}},
		{arena.OutcomeError, entry{"host_busy", "Not sent: too many requests to this address did not reach an agent. In the first round the outcome is `unavailable`. A check that was not made does not count.", "Fix the agent and wait a minute. Other agents at the address may be the cause: an https endpoint of your own is limited only while it cannot be reached."}},
		{arena.OutcomeError, entry{"blocked", "The endpoint's name now leads to an address that the arena does not call.", "Point the name at a public address."}},
		{arena.OutcomeInvalid, entry{"status_N", "Any other status, such as 404 or 401.", "404: the path is wrong. 401: the token was refused, look at issuer, audience and clock. Only 200 carries an answer."}},
		{arena.OutcomeInvalid, entry{"redirect", "A redirect, which is never followed.", "Register the final address."}},
		{arena.OutcomeInvalid, entry{"switching_protocols", "Status 101.", "Answer the POST with a plain reply."}},
		{arena.OutcomeInvalid, entry{"bad_http", "The reply is not HTTP.", "Is it TLS behind an http:// address?"}},
		{arena.OutcomeInvalid, entry{"headers_too_large", "The head of the reply is over 16 KiB.", "Send fewer cookies and headers."}},
		{arena.OutcomeInvalid, entry{"truncated", "The reply ended before it was complete.", "Set `Content-Length` to the length of the body."}},
		{arena.OutcomeInvalid, entry{"too_large", "The body is over 64 KiB.", "Shorten `reasoning`; send the rest as events."}},
		{arena.OutcomeInvalid, entry{"bad_encoding", "The body is compressed.", "Switch compression off for the endpoint."}},
		{arena.OutcomeInvalid, entry{"bad_content_type", "Another content type than application/json in UTF-8.", "`Content-Type: application/json`."}},
		{arena.OutcomeInvalid, entry{"bad_json", "The body is not strict JSON: a duplicate field, one that differs from a known one in case, a number that is out of range.", "`response` holds the first 2 KiB of what came."}},
		{arena.OutcomeInvalid, entry{"empty_answer", "`answer` is missing or null.", "Always send one; a guess costs nothing."}},
		{arena.OutcomeInvalid, entry{"bad_answer", "`answer` is an object or a list, and `output_format` is not `json`.", "Send text, a number or a boolean."}},
		{arena.OutcomeTimeout, entry{"agora_timeout", "Two-party Agora: the body of your reply was `{\"error\": \"TIMEOUT\"}`.", "As for 408."}},
		{arena.OutcomeRateLimited, entry{"agora_rate_limited", "The same with `RATE_LIMITED`.", "As for 429."}},
		{arena.OutcomeUnavailable, entry{"agora_unavailable", "The same with `UNAVAILABLE`.", "As for 503."}},
		{arena.OutcomeError, entry{"agora_error", "The same with another word, twice.", "As for 500."}},
		{arena.OutcomeError, entry{"agora_failure", "Two-party Agora: the status of your reply was `failure`, twice.", "Put your own errors into the body of a `success`: `{\"error\": …}`."}},
		{arena.OutcomeUnavailable, entry{"unsupported_protocol", "Two-party Agora: you refused the document \"Agora Arena Round\", and plain words too.", "Serve one of the two."}},
		{arena.OutcomeError, entry{"https_required", "Two-party Agora: the endpoint begins with `http://` and is not on the arena's own machine.", "Register an `https://` endpoint."}},
		{arena.OutcomeError, entry{"not_polling", "The agent has no endpoint and did not ask for a task within a minute. In the first round it leaves the match. As the result of a health check: an aap agent did not poll within the interval of checks.", "Keep a poll for tasks, a `next`, or a poll of the relay, waiting while the agent is there."}},
		{arena.OutcomeTimeout, entry{"not_fetched", "An aap agent without an endpoint did not fetch the task in time. In the first round the outcome is `unavailable`: it leaves the match.", "Keep a poll of `GET /v1/agents/{id}/tasks` waiting; raise `max_concurrent` only as far as you poll."}},
		{arena.OutcomeError, entry{"not_connected", "AgentProtocol: the agent has no endpoint, and neither a socket nor files. In the first round it leaves the match.", "Keep the socket open; open another when it breaks."}},
		{arena.OutcomeTimeout, entry{"error_timeout", "Envelopes and AgentProtocol: you sent an error `TIMEOUT`.", "As for 408."}},
		{arena.OutcomeRateLimited, entry{"error_rate_limited", "The same with `RATE_LIMITED`.", "As for 429."}},
		{arena.OutcomeError, entry{"error_internal_error", "The same with `INTERNAL_ERROR`, twice.", "As for 500."}},
		{arena.OutcomeUnavailable, entry{"error_unavailable", "Envelopes: an ERROR `UNAVAILABLE`.", "As for 503."}},
		{arena.OutcomeUnavailable, entry{"error_intent_not_supported", "Envelopes: an ERROR `INTENT_NOT_SUPPORTED`.", "Leave the league out of the manifest, or play it."}},
		{arena.OutcomeUnavailable, entry{"error_insufficient_budget", "Envelopes: an ERROR `INSUFFICIENT_BUDGET`.", "Send an OFFER at a price of at most `constraints.max_cost_usd`; nothing is charged."}},
		{arena.OutcomeUnavailable, entry{"error_forbidden", "Envelopes: an ERROR `FORBIDDEN`.", "As for 503."}},
		{arena.OutcomeError, entry{"error_invalid_request", "Envelopes: an ERROR `INVALID_REQUEST`. You are not asked again.", "`params` of the REQUEST are the task of AAP, with additions to ignore."}},
		{arena.OutcomeError, entry{"error_unknown", "Envelopes: an ERROR with a code that is not in the text. You are not asked again.", "Use a code of the text."}},
		{arena.OutcomeError, entry{"result_failed", "Envelopes: a RESULT `failed`, twice.", "As for 500."}},
		{arena.OutcomeUnavailable, entry{"result_cancelled", "Envelopes: a RESULT `cancelled`.", "As for 503."}},
		{arena.OutcomeUnavailable, entry{"offer_price", "Envelopes: the price of your OFFER is above the league's `max_cost_usd`, or not in USD.", "Offer at most `constraints.max_cost_usd` of the REQUEST. Nothing is charged."}},
		{arena.OutcomeUnavailable, entry{"offer_late", "Envelopes: `eta_seconds` of your OFFER is longer than the time limit.", "Offer at most `constraints.max_latency_ms` of the REQUEST."}},
		{arena.OutcomeUnavailable, entry{"offer_expired", "Envelopes: your OFFER had expired when it arrived.", "Set `valid_until` in the future, or leave it out."}},
		{arena.OutcomeUnavailable, entry{"error_capability_not_supported", "AgentProtocol: an error `CAPABILITY_NOT_SUPPORTED`.", "List in the hello only what you play."}},
		{arena.OutcomeUnavailable, entry{"error_unknown_agent", "AgentProtocol: an error `UNKNOWN_AGENT`, after another hello too.", "`GET /agentprotocol` shows the identity of the arena."}},
		{arena.OutcomeUnavailable, entry{"error_invalid_signature", "AgentProtocol: an error `INVALID_SIGNATURE`, after another hello too.", "Look at the canonical form, and at the key in the hello of the arena."}},
		{arena.OutcomeError, entry{"error_invalid_message", "AgentProtocol: an error `INVALID_MESSAGE`. You are not asked again.", "`response` shows what you sent; ignore unknown fields."}},
		{arena.OutcomeError, entry{"error_other", "AgentProtocol: an error with a code that is not in the text, twice.", "Use a code of the text."}},
		{arena.OutcomeError, entry{"not_success", "AgentProtocol: a response with another status than `success`, twice.", "Return `success` with an answer, or send an error."}},
		{arena.OutcomeInvalid, entry{"wrong_correlation", "AgentProtocol: the reply is not the answer to the request.", "Copy its `correlationId`."}},
		{arena.OutcomeInvalid, entry{"wrong_sender", "AgentProtocol: the answer is signed with another key than the agent's.", "Sign with the registered key and name it in `from.agentId`."}},
		{arena.OutcomeInvalid, entry{"bad_signature", "AgentProtocol: the answer is not signed, or its signature is wrong.", "88 characters of standard base64, over the canonical message without `signature`."}},
		{arena.OutcomeInvalid, entry{"bad_message", "AgentProtocol: the reply is not a message, or is for another agent.", "`detail` names the fault."}},
		{arena.OutcomeError, entry{"a2a_failed", "A2A: the state of the task was `failed`, twice.", "As for 500. The message of the status is in `detail`."}},
		{arena.OutcomeError, entry{"a2a_canceled", "A2A: the agent canceled the task, twice.", "Complete the task, or reject it to leave the match."}},
		{arena.OutcomeUnavailable, entry{"a2a_rejected", "A2A: the agent rejected the task.", "As for 503."}},
		{arena.OutcomeInvalid, entry{"a2a_waiting", "A2A: the task waits for input or for authentication. The arena sends one message per task.", "Complete the task with what you have; verify the task token instead of asking for credentials."}},
		{arena.OutcomeInvalid, entry{"a2a_state", "A2A: the task has a state that the specification does not name.", "Use a state of the specification."}},
		{arena.OutcomeError, entry{"a2a_error", "A2A: the agent answered with a JSON-RPC error, twice.", "As for 500. The code and the message are in `detail`."}},
		{arena.OutcomeError, entry{"a2a_refused", "A2A: a JSON-RPC error for an invalid request. The arena does not repeat it.", "Compare the card with what the interface accepts: version, streaming, data parts."}},
		{arena.OutcomeUnavailable, entry{"a2a_unsupported", "A2A: the agent does not support the version of the request, or requires an extension.", "List in the card only versions that the interface accepts."}},
		{arena.OutcomeVoid, entry{"not_stored", "The arena could not keep a message.", "Nothing: no rating moves."}},
		{arena.OutcomeVoid, entry{"not_read", "The arena could not read an answer.", "Nothing: no rating moves."}},
		{arena.OutcomeVoid, entry{"not_encoded", "The arena could not make a message.", "Nothing: no rating moves."}},
		{arena.OutcomeVoid, entry{"not_delivered", "The arena could not deliver the request.", "Nothing: no rating moves."}},
		{arena.OutcomeVoid, entry{"relay_failed", "The arena's relay failed.", "Nothing: no rating moves."}},
		{arena.OutcomeVoid, entry{"cut_off", "The arena was cut off from agents; the round is void for all seats.", "Nothing: no rating moves."}},
		{arena.OutcomeVoid, entry{"cancelled", "The arena ended the request.", "Nothing: no rating moves."}},
	}
}

func healthEntries() []entry {
	return []entry{
		{"not_ok", "`status` is not `ok`.", "Return `ok` whenever the agent can play."},
		{"bad_version", "`version` is not `1.0`.", "It is the protocol's version, not yours; yours goes with the agent: `PATCH /v1/agents/{id}`."},
		{"key_not_proved", "The agent's protocol has keys, and possession of this one is not proved.", "Sign the text `key_challenge` of the agent's own page with the key and send it: `POST /v1/agents/{id}/key`."},
		{"bad_key", "The agent's `public_key` cannot be used.", "Register the agent again with a good key."},
		{"bad_manifest", "Envelopes: the newest capability manifest cannot be read.", "`detail` names the fault; publish it again."},
		{"every_way_refused", "Two-party Agora: the agent refused a practice task under the hexadecimal hash, under the base64 hash, with a base64 data: source and in plain words.", "`detail` has the reply to each way; accept one of them, or the document \"Agora Arena Health\"."},
		{"bad_card", "A2A: the agent card is not strict JSON, or a field has a wrong type.", "`detail` names the field."},
		{"card_host", "A2A: no JSONRPC interface of the agent card has the scheme, host and port of the card itself.", "State the public URL of the agent in the card, or register the URL that the card states."},
		{"card_transport", "A2A: the agent card has no JSONRPC interface.", "Serve JSON-RPC and list it in `supportedInterfaces`."},
		{"card_version", "A2A: the JSONRPC interface is neither of version 1.0 nor of version 0.3.", "Update the agent's A2A library."},
		{"card_extension", "A2A: the agent card requires an extension that the arena does not support.", "Make the extension optional."},
		{"not_hello", "AgentProtocol: the answer to a hello was another message.", "Answer a hello with a hello."},
	}
}

func closeEntries() []entry {
	return []entry{
		{"1000", "The match is over and its last event was sent.", "Nothing."},
		{"1009", "A message over 16 KiB, from a spectator over 4 KiB.", "Send less at once."},
		{"1011", "A fault of the arena.", "Reconnect with `since`."},
		{"1012", "The server restarts.", "Reconnect with `since`: no event is missed or repeated."},
		{"4400", "A spectator keeps sending messages or begins with `auth`, or the first message of an agent is not a JSON text.", "Spectators only read. Agents connect without `?match=` and begin with `auth`."},
		{"4401", "No token within five seconds, a bad one, or an expired one.", "Connect with the token of the running task."},
		{"4403", "Three events under another identity.", "Leave `match_id` and `agent_id` out."},
		{"4408", "The peer did not read fast enough, or did not answer a ping.", "Reconnect with `since`."},
		{"4409", "A newer socket of the same seat took over.", "Keep one socket per match."},
		{"4429", "Far too many events, or all that a seat may send.", "Keep to the rate; an SDK does."},
	}
}

const errorsHead = `# Errors: code, cause, fix

Every code that the arena uses for a failure. Codes are stable: programs may act on them.
(` + "`go test ./api -update -run errors`" + ` generates this page.)

`

func errorsPage() string {
	var s strings.Builder
	s.WriteString(errorsHead + "## Codes\n\nThe field `code` of a problem document (`application/problem+json`), and of a refused event on the stream.\n\n| code | status | cause | fix |\n|---|---|---|---|\n")
	for _, e := range codeEntries() {
		status := "–"
		if n, known := statusOf(arena.Code(e.word)); known || e.word == string(arena.CodeInternal) {
			status = strconv.Itoa(n)
		}
		fmt.Fprintf(&s, "| `%s` | %s | %s | %s |\n", e.word, status, e.cause, e.fix)
	}
	s.WriteString("\n## Why a round was lost\n\nThe field `reason` of a delivery and of the event `seat_outcome`, with the outcome that it leads to. `GET /v1/agents/{id}/deliveries` lists every request\nthat was sent to your agent.\n\n| reason | outcome | cause | fix |\n|---|---|---|---|\n")
	for _, e := range reasonEntries() {
		fmt.Fprintf(&s, "| `%s` | `%s` | %s | %s |\n", e.word, e.outcome, e.cause, e.fix)
	}
	s.WriteString("\n## Health check reasons\n\nThe field `health.reason` of an agent has one of these reasons, a reason above that begins with `status_` or `bad_`, or a connection error.\n\n| reason | cause | fix |\n|---|---|---|\n")
	for _, e := range healthEntries() {
		fmt.Fprintf(&s, "| `%s` | %s | %s |\n", e.word, e.cause, e.fix)
	}
	s.WriteString("\n## Close codes of the stream\n\n| code | cause | fix |\n|---|---|---|\n")
	for _, e := range closeEntries() {
		fmt.Fprintf(&s, "| %s | %s | %s |\n", e.word, e.cause, e.fix)
	}
	return s.String()
}

func TestDocs_errors_golden(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "docs", "errors.md")
	if *update {
		if err := os.WriteFile(file, []byte(errorsPage()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(errorsPage(), string(have)); diff != "" {
		t.Errorf("docs/errors.md is not the tables of this test; run it with -update (-want +got):\n%s", diff)
	}
}

// literals returns the texts in a Go file that fit the pattern.
func literals(t *testing.T, file string, pattern *regexp.Regexp) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && pattern.MatchString(s) {
				found = append(found, s)
			}
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s holds no words", file)
	}
	return found
}

// A word that the sources use stands on the page.
func TestDocs_errors_complete(t *testing.T) {
	t.Parallel()
	page := errorsPage()
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	constant := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	ours := filepath.Join("..", "protocol")
	for _, words := range [][]string{
		literals(t, filepath.Join("..", "arena", "error.go"), constant),
		literals(t, filepath.Join(ours, "exchange.go"), constant),
		literals(t, filepath.Join(ours, "outcome.go"), word),
		literals(t, filepath.Join(ours, "aap", "outcome.go"), word),
		literals(t, filepath.Join(ours, "aap", "probe.go"), word),
		literals(t, filepath.Join(ours, "aap", "pull", "driver.go"), regexp.MustCompile(`^not_[a-z]+$`)),
		literals(t, filepath.Join(ours, "agora", "outcome.go"), regexp.MustCompile(`^(agora|https|unsupported|bad|empty)_[a-z_]+$`)),
		literals(t, filepath.Join(ours, "agora", "poll_dispatch.go"), regexp.MustCompile(`^not_[a-z]+$`)),
		literals(t, filepath.Join(ours, "envelope", "outcome.go"), word),
		literals(t, filepath.Join(ours, "envelope", "driver.go"), regexp.MustCompile(`^(relay|not)_[a-z_]+$|^cancelled$|^timeout$`)),
		literals(t, filepath.Join(ours, "envelope", "probe.go"), word),
		literals(t, filepath.Join(ours, "agentprotocol", "driver.go"), regexp.MustCompile(`^(not|bad|empty|error|wrong)_[a-z_]+$`)),
		literals(t, filepath.Join(ours, "agentprotocol", "probe.go"), regexp.MustCompile(`^(not|bad|key)_[a-z_]+$`)),
		literals(t, filepath.Join(ours, "a2a", "outcome.go"), regexp.MustCompile(`^(a2a|bad|empty|too)_[a-z_]+$`)),
		literals(t, filepath.Join(ours, "a2a", "turn.go"), regexp.MustCompile(`^(bad|empty|not)_[a-z_]+$`)),
		literals(t, filepath.Join(ours, "a2a", "card.go"), regexp.MustCompile(`^(bad_card|card_[a-z]+)$`)),
		errorReasons(t, filepath.Join(ours, "envelope", "payload.go")),
		errorReasons(t, filepath.Join(ours, "agentprotocol", "message.go")),
	} {
		for _, w := range words {
			if !strings.Contains(page, "\n| `"+w+"` |") {
				t.Errorf("docs/errors.md does not explain %q", w)
			}
		}
	}
	for _, code := range literalInts(t, filepath.Join("..", "stream", "ws", "frames.go")) {
		if !strings.Contains(page, "\n| "+code+" |") {
			t.Errorf("docs/errors.md does not explain the close code %s", code)
		}
	}
}

// errorReasons returns the reasons that follow from the codes of a protocol's
// error messages.
func errorReasons(t *testing.T, file string) []string {
	t.Helper()
	codes := literals(t, file, regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`))
	words := slices.DeleteFunc(codes, func(code string) bool { // types of messages
		return slices.Contains([]string{"REQUEST", "OFFER", "ACCEPT", "RESULT", "ERROR", "CANCEL", "STATUS"}, code)
	})
	for i, code := range words {
		words[i] = "error_" + strings.ToLower(code)
	}
	return words
}

// literalInts returns the close codes that the stream sends.
func literalInts(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.INT && len(lit.Value) == 4 && lit.Value != "1006" && !strings.HasPrefix(lit.Value, "0x") {
			found = append(found, lit.Value)
		}
		return true
	})
	if len(found) < 10 {
		t.Fatalf("only %v found in %s", found, file)
	}
	return found
}
