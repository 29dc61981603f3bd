package archtest

import (
	"go/ast"
	"go/parser"
	"path"
	"slices"
	"strings"
	"testing"
)

// waysOut open connections to others; the files that may are below.
func waysOut() []string {
	return []string{
		"net.Dial", "net.DialTimeout", "net.DialTCP", "net.DialUDP", "net.DialUnix", "net.DialIP", "net.Dialer", "tls.Dial", "tls.DialWithDialer", "tls.Dialer",
		"http.Get", "http.Head", "http.Post", "http.PostForm", "http.Client", "http.Transport", "http.DefaultClient", "http.DefaultTransport",
		"websocket.Dial", "smtp.Dial", "smtp.SendMail", "rpc.Dial", "rpc.DialHTTP", "keyfunc.NewDefault", "keyfunc.NewDefaultCtx", "keyfunc.NewDefaultOverrideCtx",
		"jwkset.NewStorageFromHTTP", "jwkset.NewDefaultHTTPClient", "jwkset.NewDefaultHTTPClientCtx", "httputil.NewSingleHostReverseProxy", "httputil.ReverseProxy",
	}
}

// dialers returns the files that open connections, with their targets.
func dialers() map[string]string {
	return map[string]string{
		"protocol/client.go":              "untrusted endpoints, through the guard",
		"protocol/operator.go":            "services that the operator names",
		"arena/certs/certstest/pebble.go": "an ACME server of a test",
		"arena/certs/client.go":           "the ACME server that the operator names",
		"arena/signin/signin.go":          "the OIDC provider that the operator names, through a client of protocol",
		"arena/server/server.go":          "targets that the operator names, for the canary of the network",
		"internal/apiclient/client.go":    "the arena that the user names",
		"internal/join/forward.go":        "the endpoint that the user names",
		"internal/join/model.go":          "the same",
		"cmd/arena/mcp.go":                "the same",
		"cmd/arena/serve.go":              "the arena on this machine",
		"cmd/arena/sse.go":                "the arena that the user names",
		"cmd/arena/verify.go":             "the same, for its keys",
		"cmd/arena-bench/crowd.go":        "its own server",
		"cmd/arena-bench/league.go":       "its own server",
		"cmd/arena-bench/match.go":        "its own server and agents",
		"cmd/arena-bench/start.go":        "the same",
		"cmd/arena-bench/nodes.go":        "its own nodes",
		"cmd/arena-bench/reads.go":        "the same",
		"stream/streamtest/server.go":     "the server of a test",
		"stream/bus/redistest/proxy.go":   "a Redis of a test",
		"stream/bus/redistest/server.go":  "the same",
	}
}

// waysIn decode what somebody else may have written, more loosely than
// arena/strictjson.
func waysIn() []string {
	return []string{
		"json.Unmarshal", "json.NewDecoder", "xml.Unmarshal", "xml.NewDecoder", "gob.NewDecoder", "csv.NewReader", "yaml.Unmarshal", "asn1.Unmarshal",
		"jsonv2.Unmarshal", "jsonv2.UnmarshalRead", "jsontext.NewDecoder",
	}
}

// decoders are the files that do, and why nothing is lost by it.
func decoders() map[string]string {
	const strict, own, client = "the text has passed arena/strictjson", "the arena wrote it", "a client reads the answers of its own arena"
	return map[string]string{
		"arena/strictjson/strictjson.go":         "the one decoder of outside JSON",
		"arena/record/conceal.go":                own,
		"web/preload.go":                         "the build wrote it",
		"arena/record/text.go":                   strict,
		"league/game/debate.go":                  own,
		"league/game/elimination.go":             own,
		"league/game/rules/state.go":             own,
		"league/game/notation.go":                own,
		"league/game/series.go":                  own,
		"league/game/verify.go":                  strict,
		"arena/token/issuer.go":                  strict,
		"arena/token/record.go":                  "the user's own key set, to check a record with",
		"arena/record/verify.go":                 "the text is compared with its canonical form first",
		"arena/record/agree.go":                  strict,
		"arena/record/record.go":                 own,
		"arena/visibility/mode/asof.go":          own,
		"arena/visibility/position.go":           own,
		"arena/card/position.go":                 "public states, which league/game/rules has checked; only drawn",
		"arena/visibility/reader.go":             own,
		"arena/api/leagues.go":                   strict,
		"league/pack/jsonl.go":                   strict,
		"league/pack/check.go":                   strict,
		"league/pack/csv.go":                     "the one decoder of CSV",
		"scoring/jsonvalue.go":                   strict,
		"stream/ingest/message.go":               strict,
		"stream/streamtest/peer.go":              "the messages of a server in a test",
		"stream/streamtest/server.go":            "the same",
		"protocol/conformance/checks.go":         strict,
		"protocol/agentprotocol/answers.go":      own,
		"protocol/agentprotocol/canon.go":        strict,
		"protocol/agentprotocol/authenticate.go": strict,
		"protocol/agentprotocol/message.go":      strict,
		"protocol/agora/conversation_state.go":   own,
		"protocol/agora/polling.go":              own,
		"protocol/envelope/envelope.go":          "only its tokens, after arena/strictjson",
		"arena/api/agent_history.go":             own,
		"cmd/arena/replay.go":                    "a file of the user's own, which the page reads again",
		"cmd/arena-bench/agents.go":              own,
		"cmd/arena-bench/nodes.go":               own,
		"cmd/arena-bench/reads.go":               client,
		"cmd/arena/admin.go":                     client,
		"cmd/arena/admin_tokens.go":              client,
		"internal/apiclient/client.go":           client,
		"internal/cli/session.go":                client,
		"internal/join/completion.go":            "the model that the user names",
		"internal/userconfig/userconfig.go":      "the program wrote it",
		"internal/join/model.go":                 "the model that the user names",
		"internal/join/prompt.go":                "the program that the user names; the arena checks the reply",
		"cmd/arena/sse.go":                       client,
		"cmd/arena/watch_screen.go":              client,
		"cmd/arena/watch.go":                     client,
		"cmd/arena/play.go":                      own,
		"cmd/arena/demo.go":                      "a file of the program",
		"cmd/arena-bench/crowd.go":               own,
		"cmd/arena-bench/hostile.go":             own,
		"cmd/arena-bench/league.go":              client,
		"cmd/arena-bench/match.go":               own,
		"cmd/arena-bench/soak.go":                own,
		"cmd/arena-bench/soak_play.go":           client,
	}
}

// Only one package connects to untrusted endpoints and only one decodes
// untrusted input. All other files that dial or decode are listed above with
// their reasons. Threats S1 to S6 and R5 rely on this. The rule does not apply to
// SDKs and examples, which are clients, to store, which reads its own rows, and
// to cmd/chaos and packages for tests.
func TestArchitecture_OneWay(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"sdk/", "examples/", "store/", "cmd/chaos/", "protocol/protocoltest/", "arena/signin/signintest/", "arena/mail/mailtest/"}
	used := map[string]bool{}
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || slices.ContainsFunc(elsewhere, func(dir string) bool { return strings.HasPrefix(file, dir) }) {
			continue
		}
		for _, name := range selectors(parse(t, file, parser.SkipObjectResolution)) {
			for _, rule := range []struct {
				names   []string
				allowed map[string]string
				what    string
			}{{waysOut(), dialers(), "opens connections; calls to untrusted endpoints go through protocol.Client"}, {waysIn(), decoders(), "decodes; untrusted input goes through arena/strictjson"}} {
				if !slices.Contains(rule.names, name) {
					continue
				}
				used[file] = true
				if rule.allowed[file] == "" {
					t.Errorf("%s uses %s, which %s", file, name, rule.what)
				}
			}
		}
	}
	for _, allowed := range []map[string]string{dialers(), decoders()} {
		for file := range allowed {
			if !used[file] {
				t.Errorf("%s is listed as an exception that it does not need", file)
			}
		}
	}
}

// selectors returns every package.Name in a file, by the package's own name.
func selectors(f *ast.File) []string {
	names := map[string]string{} // of imports, as the file calls them
	for _, spec := range f.Imports {
		full := strings.Trim(spec.Path.Value, `"`)
		base := path.Base(full)
		switch {
		case full == "github.com/go-json-experiment/json":
			base = "jsonv2"
		case len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "":
			base = path.Base(path.Dir(full))
		}
		called := base
		if spec.Name != nil {
			called = spec.Name.Name
		}
		names[called] = base
	}
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && names[x.Name] != "" {
				found = append(found, names[x.Name]+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return found
}
