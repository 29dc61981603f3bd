package signintest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/testneed"
)

// Provider is a running provider. Anyone signs in with any login, which becomes
// the subject; "admin" has the role arena-admin.
type Provider struct {
	Issuer         string `json:"issuer"`
	ClientID       string `json:"client_id"` // with ClientSecret
	ClientSecret   string `json:"client_secret"`
	PublicClientID string `json:"public_client_id"` // without a secret
}

// Start runs a provider that sends browsers back to an address, until the test
// ends. Without Node.js or the package the test is skipped, unless the comma list
// ARENA_TEST_REQUIRE names oidc: then it fails.
func Start(t *testing.T, redirect string) Provider {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(root, "web/node_modules/oidc-provider"))
	}
	if err != nil {
		if testneed.Required("oidc") {
			t.Fatal(err)
		}
		t.Skip("no OIDC provider: ", err)
	}
	config, err := json.Marshal(map[string]any{"redirect_uris": []string{redirect}})
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, filepath.Join(root, "web/tests/oidc/provider.mjs"), string(config)) //nolint:gosec // G204: of this repository
	stop, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stop.Close() // it ends then
		_ = run.Wait()   // or was killed at the end of the test
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var p Provider
	if err == nil {
		err = json.Unmarshal(line, &p)
	}
	if err != nil {
		t.Fatalf("the provider did not start: %v, %q", err, line)
	}
	return p
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not in the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

var (
	formAction = regexp.MustCompile(`action="([^"]+)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([^"]+)"`)
)

// SignIn does what a person does in a browser that was sent to address: it logs
// in and consents. It returns where the provider sends the browser then.
func (p Provider) SignIn(t *testing.T, address, login string) *url.URL {
	t.Helper()
	back, err := p.signIn(t, address, login)
	if err != nil {
		t.Fatalf("sign in %s: %v", login, err)
	}
	return back
}

func (p Provider) signIn(t *testing.T, address, login string) (*url.URL, error) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	var back *url.URL
	browser := http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), p.Issuer+"/") {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	for range 4 {
		if err != nil {
			return nil, err
		}
		reply, err := browser.Do(request)
		if err != nil {
			return nil, err
		}
		page, err := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if err != nil || back != nil {
			return back, err
		}
		action, prompt := formAction.FindSubmatch(page), formPrompt.FindSubmatch(page)
		if action == nil || prompt == nil {
			return nil, fmt.Errorf("status %d without a form: %s", reply.StatusCode, page)
		}
		form := url.Values{"prompt": {string(prompt[1])}, "login": {login}, "password": {"any"}}
		request, err = http.NewRequestWithContext(t.Context(), http.MethodPost, string(action[1]), strings.NewReader(form.Encode()))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return nil, errors.New("the provider shows one form after another")
}
