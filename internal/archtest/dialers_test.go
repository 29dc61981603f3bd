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
		"internal/certs/client.go":        "the ACME server that the operator names",
		"internal/signin/signin.go":       "the OIDC provider that the operator names, through a client of protocol",
		"internal/telemetry/telemetry.go": "the OTLP collector that the operator names, through a client of protocol",
		"server/server.go":                "targets that the operator names, for the canary of the network",
		"internal/apiclient/client.go":    "the arena that the user names",
		"internal/join/forward.go":        "the endpoint that the user names",
		"internal/join/model.go":          "the same",
		"cmd/arena/mcp.go":                "the same",
		"cmd/arena/serve.go":              "the arena on this machine",
		"cmd/arena-bench/crowd.go":        "its own server",
		"cmd/arena-bench/league.go":       "its own server",
		"cmd/arena-bench/match.go":        "its own server and agents",
		"cmd/arena-bench/start.go":        "the same",
		"cmd/arena-bench/nodes.go":        "its own nodes",
		"cmd/arena-bench/reads.go":        "the same",
	}
}

// Only protocol connects to untrusted endpoints. All other files that open
// connections are listed above with their targets. Threats S1 to S6 rely on this.
// The rule leaves out the SDKs and examples, which are clients, cmd/chaos and
// packages for tests.
func TestDialers(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"sdk", "examples", "store", "cmd/chaos"}
	used := map[string]bool{}
	for _, file := range sources(t, ".go") {
		if dir := path.Dir(file); strings.HasSuffix(file, "_test.go") || strings.HasSuffix(dir, "test") || slices.ContainsFunc(elsewhere, func(p string) bool { return within(dir, p) }) {
			continue
		}
		for _, name := range selectors(parse(t, file, parser.SkipObjectResolution)) {
			if !slices.Contains(waysOut(), name) {
				continue
			}
			used[file] = true
			if dialers()[file] == "" {
				t.Errorf("%s uses %s, which opens connections; calls to untrusted endpoints go through protocol.Client", file, name)
			}
		}
	}
	for file := range dialers() {
		if !used[file] {
			t.Errorf("%s is listed as an exception that it does not need", file)
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
