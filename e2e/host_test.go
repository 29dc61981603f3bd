//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/certs/certstest"
	"github.com/agora-arena/arena/internal/signin/signintest"
)

const (
	hostVersion = "1.0.0" // of the package
	hostLeague  = "cup"
	hostOwners  = 2
	hostAgents  = 10 // of each owner
	hostRounds  = 5  // of the season
)

// debianHost is a Debian system in a folder, without systemd.
type debianHost struct {
	t        *testing.T
	root     string
	commands int // that an operator types
}

// newDebianHost makes a system of the Debian packages that every Debian has, of what
// systemd needs, and of curl.
func newDebianHost(t *testing.T) *debianHost {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root on Debian")
	}
	h := &debianHost{t: t, root: filepath.Join(t.TempDir(), "root")}
	must(t, os.Mkdir(h.root, 0o755))
	shell(t, h.root, nil, "tar --extract --file "+debian(t))
	h.write("/etc/hosts", "127.0.0.1 localhost\n", 0o644)
	return h
}

// debian returns an archive of a new Debian. It is kept in the user's cache,
// because making one takes minutes.
func debian(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	dir := filepath.Join(cache, "agora-arena")
	must(t, os.MkdirAll(dir, 0o755))
	shell(t, dir, nil,
		`codename=$(. /etc/os-release && echo "$VERSION_CODENAME")`, `file=debian-curl-$codename-$(dpkg --print-architecture).tar`,
		`if [ ! -e $file ]; then`,
		`command -v mmdebstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends mmdebstrap`,
		`mmdebstrap --quiet --variant=apt --include=passwd,systemd,ca-certificates,curl "$codename" new.$$.tar`, `mv new.$$.tar $file`,
		`fi`, `ln --symbolic --force $file debian.tar`)
	return filepath.Join(dir, "debian.tar")
}

// debPackage returns the Debian package of a release. ARENA_TEST_DEB names one that
// has been built.
func debPackage(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("ARENA_TEST_DEB"); file != "" {
		return file
	}
	out := t.TempDir()
	shell(t, root(t), []string{"PLATFORMS=linux/" + runtime.GOARCH, "VERSION=v" + hostVersion}, "scripts/release.sh "+out)
	return filepath.Join(out, "arena_"+hostVersion+"_"+runtime.GOARCH+".deb")
}

// command returns a command of the system. Its /proc is mounted in a namespace
// that ends with the command, so there is nothing to unmount.
func (h *debianHost) command(user, line string, env ...string) *exec.Cmd {
	const mount = `mount -t proc proc "$0/proc" && exec chroot "$@"`
	args := []string{
		"--mount", "sh", "-c", mount, h.root, "--userspec=" + user, h.root, "/usr/bin/env", "-i",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
	}
	args = append(append(args, env...), "sh", "-c", line)
	return exec.CommandContext(context.WithoutCancel(h.t.Context()), "unshare", args...)
}

// run runs a command of the system and returns what it printed.
func (h *debianHost) run(user, line string, env ...string) string {
	h.t.Helper()
	var out bytes.Buffer
	cmd := h.command(user, line, env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("%s: %v\n%s", line, err, out.String())
	}
	return out.String()
}

// types runs a command of the documentation as root and counts it.
func (h *debianHost) types(line string) string {
	h.t.Helper()
	h.commands++
	out := h.run("root:root", line, "HOME=/root")
	h.t.Logf("# %s\n%s", line, out)
	return out
}

func (h *debianHost) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	must(h.t, os.WriteFile(filepath.Join(h.root, name), []byte(text), mode))
	must(h.t, os.Chmod(filepath.Join(h.root, name), mode))
}

// service is the arena's service, which the test runs as systemd would.
type service struct {
	h     *debianHost
	cmd   *exec.Cmd
	ended chan struct{} // closed after the end
	token string        // admin token, which the first start prints

	mu  sync.Mutex
	log strings.Builder
}

// start runs the command of the unit as its user. It returns when the arena has
// printed its address.
func (h *debianHost) start() *service {
	h.t.Helper()
	unit, err := os.ReadFile(filepath.Join(h.root, "/usr/lib/systemd/system/arena.service"))
	must(h.t, err)
	_, line, _ := strings.Cut(string(unit), "\nExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	s := &service{h: h, cmd: h.command("arena:arena", "cd /var/lib/arena && umask 0077 && exec "+line, "HOME=/var/lib/arena"), ended: make(chan struct{})}
	s.cmd.Stderr = s
	out, err := s.cmd.StdoutPipe()
	must(h.t, err)
	must(h.t, s.cmd.Start())
	started := make(chan bool, 1)
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, token, ok := strings.Cut(lines.Text(), "admin token (shown only now): "); ok {
				s.token = token
			}
			if strings.HasPrefix(lines.Text(), "arena is at ") {
				started <- true
			}
		}
		_ = s.cmd.Wait() // the log has the reason
		close(started)
	}()
	h.t.Cleanup(func() {
		s.kill()
		// Agents of one address do not use up each other's rate.
		if n := strings.Count(s.written(), `"status":429`); n > 0 {
			h.t.Errorf("the service refused %d requests that exceeded a limit", n)
		}
		if h.t.Failed() {
			h.t.Logf("the service wrote:\n%s", s.written())
		}
	})
	if !<-started {
		h.t.Fatalf("the service did not start:\n%s", s.written())
	}
	return s
}

// Write keeps the log.
func (s *service) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *service) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// kill ends the service as a lost machine would, if it runs.
func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// browser is a browser that trusts Pebble's authority.
type browser struct {
	t      *testing.T
	client *http.Client
	arena  string
}

func newBrowser(t *testing.T, pebble *certstest.Pebble, arena string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pebble.Roots(t), MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, arena: arena, client: &http.Client{
		Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send sends a request as a page of the site would, or another one.
func (b *browser) send(method, address, site string, body any) (status int, location string, reply []byte, err error) {
	data, err := json.Marshal(body)
	must(b.t, err)
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, bytes.NewReader(data))
	must(b.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Sec-Fetch-Site", site)
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Location"), reply, err
}

// call calls the API with the cookie of the session.
func (b *browser) call(method, path string, in, out any) []byte {
	b.t.Helper()
	status, _, reply, err := b.send(method, b.arena+path, "same-origin", in)
	must(b.t, err)
	if status/100 != 2 {
		b.t.Fatalf("%s %s: status %d, %s", method, path, status, reply)
	}
	if out != nil {
		must(b.t, json.Unmarshal(reply, out))
	}
	return reply
}

// signIn signs in with the provider.
func (b *browser) signIn(idp signintest.Provider, login string) {
	b.t.Helper()
	status, provider, reply, err := b.send(http.MethodGet, b.arena+"/v1/signin/start?return=/admin", "same-origin", nil)
	must(b.t, err)
	if status != http.StatusSeeOther {
		b.t.Fatalf("the sign-in begins with status %d, %s", status, reply)
	}
	back := idp.SignIn(b.t, provider, login)
	status, page, reply, err := b.send(http.MethodGet, back.String(), "cross-site", nil)
	must(b.t, err)
	if status != http.StatusSeeOther || page != "/admin" {
		b.t.Fatalf("the sign-in ends with status %d at %s, %s", status, page, reply)
	}
}

// cup is the season as the API shows it.
type cup struct {
	Status string
	Podium []struct{ Name string }
	Rounds []struct {
		Pairings []struct {
			Result  string
			MatchID string `json:"match_id"`
			Agents  []struct{ Name string }
		}
	}
}

// cup returns the season, which begins a moment after its league was started.
func (b *browser) cup() (c cup) {
	b.t.Helper()
	status, _, reply, err := b.send(http.MethodGet, b.arena+"/v1/leagues/"+hostLeague+"/seasons/1", "same-origin", nil)
	must(b.t, err)
	switch status {
	case http.StatusOK:
		must(b.t, json.Unmarshal(reply, &c))
	case http.StatusNotFound:
	default:
		b.t.Fatalf("the season: status %d, %s", status, reply)
	}
	return c
}

// played returns the matches whose results count.
func (c cup) played() (ids []string) {
	for _, r := range c.Rounds {
		for _, p := range r.Pairings {
			if p.Result == "played" {
				ids = append(ids, p.MatchID)
			}
		}
	}
	return ids
}

// wait polls once a second, as often as an address may for minutes.
func (h *debianHost) wait(what string, within time.Duration, cond func() bool) {
	h.t.Helper()
	limit := time.After(within)
	ask := time.NewTicker(time.Second)
	defer ask.Stop()
	for !cond() {
		select {
		case <-ask.C:
		case <-limit:
			h.t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// play starts the agents of an owner, each with `arena join`, until the test ends.
func (h *debianHost) play(arena, owner, token, program string) {
	h.t.Helper()
	h.run("root:root", "useradd --create-home "+owner)
	for i := range hostAgents {
		name := fmt.Sprintf("%s-%d", owner, i)
		var out bytes.Buffer
		cmd := h.command(owner+":"+owner, fmt.Sprintf("cd && exec arena join %s --exec %s --league %s --name %s", arena, program, hostLeague, name),
			"HOME=/home/"+owner, "ARENA_TOKEN="+token)
		cmd.Stdout, cmd.Stderr = &out, &out
		must(h.t, cmd.Start())
		h.t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if h.t.Failed() {
				h.t.Logf("%s wrote:\n%s", name, out.String())
			}
		})
	}
}

// From a Debian system without anything to an arena on https, by the commands of
// docs/install.md, docs/operations.md and docs/access.md: the package is installed, an ACME server
// gives the certificate, an OIDC provider names the admin, and twenty agents of two
// owners play a season. Then the disk with the database is lost, and the season
// ends in what was restored from the backup.
func TestSlow_Host(t *testing.T) {
	t.Parallel()
	slow(t)
	deb, h := debPackage(t), newDebianHost(t)
	addr, plain := freeAddr(t), freeAddr(t)
	pebble := certstest.Start(t, freeAddr(t), addr, plain)
	_, port, _ := strings.Cut(addr, ":")
	site := "https://localhost:" + port
	idp := signintest.Start(t, site+"/v1/signin/callback")
	visitor := newBrowser(t, pebble, site)
	admin := newBrowser(t, pebble, site)

	// Of a private ACME server and not of an arena: its two authorities.
	authority, err := os.ReadFile(pebble.CAFile)
	must(t, err)
	h.write("/usr/local/share/ca-certificates/pebble.crt", string(pebble.RootPEM(t)), 0o644)
	h.run("root:root", "update-ca-certificates")
	h.write("/etc/ssl/acme.pem", string(authority), 0o644)

	began := time.Now()
	data, err := os.ReadFile(deb)
	must(t, err)
	h.write("/root/arena.deb", string(data), 0o644)
	h.types("apt install --yes /root/arena.deb")
	h.types("cat >>/etc/arena/arena.env <<'END'\n" + strings.Join([]string{
		"ARENA_PUBLIC_URL=" + site, "ARENA_TLS=auto", "ARENA_ADDR=" + addr, "ARENA_HTTP_ADDR=" + plain, "ARENA_METRICS_ADDR=",
		"ARENA_ACME_URL=" + pebble.URL, "ARENA_ACME_CA_FILE=/etc/ssl/acme.pem", "ARENA_SIGNUP=invite",
		"ARENA_OIDC_ISSUER=" + idp.Issuer, "ARENA_OIDC_CLIENT_ID=" + idp.ClientID, "ARENA_OIDC_CLIENT_SECRET='" + idp.ClientSecret + "'",
	}, "\n") + "\nEND")
	h.types("runuser -u arena -- arena config --config /etc/arena/arena.env --check")
	h.types("systemctl enable arena") // --now starts it, which is for the test to do here
	s := h.start()
	h.wait("https works", time.Minute, func() bool {
		status, _, _, err := visitor.send(http.MethodGet, site+"/readyz", "none", nil)
		return err == nil && status == http.StatusOK
	})
	t.Logf("https after %.1f s", time.Since(began).Seconds())

	admin.signIn(idp, "admin")
	var tokens []string
	for i := range hostOwners {
		var invitation, joined struct{ URL, Token string }
		admin.call(http.MethodPost, "/v1/admin/invitations", map[string]any{"name": fmt.Sprintf("Owner %d", i)}, &invitation)
		visitor.call(http.MethodPost, "/v1/invitations/join", map[string]any{"invitation": path.Base(invitation.URL)}, &joined)
		tokens = append(tokens, joined.Token)
	}
	h.write("/root/admin.txt", s.token, 0o600)
	h.types("arena login " + site + " --name admin --with-token < /root/admin.txt")
	h.write("/root/league.json", `{"slug":"cup","title":"Cup","generator":{"name":"arithmetic"},"format":"swiss","format_options":{"rounds":5},
		"rounds":3,"time_limit_seconds":20,"break_seconds":1,"rated":true}`, 0o600)
	h.types("arena admin league create /root/league.json")
	h.types(`arena admin token create "cup desk" --scope organizer --league cup --expires 720h`)
	h.types("arena admin token list")
	h.types("runuser -u arena -- arena keys rotate --config /etc/arena/arena.env")
	h.types("runuser -u arena -- arena keys list --config /etc/arena/arena.env")
	h.write("/usr/local/bin/adder", "#!/bin/sh\nsum=$(sed -n 's/^What is \\(.*\\)?$/\\1/p')\necho \"ANSWER: $((${sum:-0}))\"\n", 0o755)
	h.write("/usr/local/bin/guesser", "#!/bin/sh\necho ANSWER: 7\n", 0o755)
	h.play(site, "ada", tokens[0], "/usr/local/bin/adder")
	h.play(site, "bob", tokens[1], "/usr/local/bin/guesser")
	h.wait("the agents are active", time.Minute, func() bool {
		var list struct {
			Items []struct{ Status string }
		}
		admin.call(http.MethodGet, "/v1/agents?league=cup&limit=100", nil, &list)
		active := 0
		for _, a := range list.Items {
			if a.Status == "active" {
				active++
			}
		}
		return active == hostOwners*hostAgents
	})
	h.types("arena admin league start cup")
	h.wait("a match is over", time.Minute, func() bool { return len(admin.cup().played()) > 0 })
	t.Logf("the first match is over after %.1f s and %d commands", time.Since(began).Seconds(), h.commands)
	first := admin.cup().played()[0]
	record := admin.call(http.MethodGet, "/v1/matches/"+first+"/record", nil, nil)

	h.wait("a third round", 2*time.Minute, func() bool { return len(admin.cup().Rounds) > 2 })
	saved := admin.cup().played()
	if out := h.types("runuser -u arena -- arena backup --config /etc/arena/arena.env /var/backups/arena --keep 7"); strings.Contains(out, "migrated") {
		t.Error("the backup printed more than its result")
	}
	lost := len(admin.cup().played())
	h.wait("results that the backup does not have", time.Minute, func() bool { return len(admin.cup().played()) > lost })
	s.kill()
	must(t, os.RemoveAll(filepath.Join(h.root, "/var/lib/arena")))

	h.types("install --directory --owner=arena --group=arena --mode=0750 /var/lib/arena")
	restoring := time.Now()
	h.types("runuser -u arena -- arena restore --config /etc/arena/arena.env /var/backups/arena")
	t.Logf("restored in %.1f s", time.Since(restoring).Seconds())
	h.start()
	h.wait("https works again", time.Minute, func() bool {
		status, _, _, err := visitor.send(http.MethodGet, site+"/readyz", "none", nil)
		return err == nil && status == http.StatusOK
	})
	if issued := pebble.Issued(); issued != 1 {
		t.Errorf("%d certificates were issued: the backup has no certificate", issued)
	}
	now := admin.cup().played()
	for _, id := range saved {
		if !slices.Contains(now, id) {
			t.Errorf("match %s is not in the restored season", id)
		}
	}
	again := time.Now()
	h.wait("the season ends", 5*time.Minute, func() bool { return admin.cup().Status == "finished" })
	t.Logf("the season ended %.1f s after the restart", time.Since(again).Seconds())

	c := admin.cup()
	if want := hostOwners * hostAgents / 2 * hostRounds; len(c.played()) != want {
		t.Errorf("%d pairings were played, want %d: %+v", len(c.played()), want, c.Rounds)
	}
	if len(c.Podium) == 0 || !strings.HasPrefix(c.Podium[0].Name, "ada-") {
		t.Errorf("the podium is %+v", c.Podium)
	}
	if restored := admin.call(http.MethodGet, "/v1/matches/"+first+"/record", nil, nil); !bytes.Equal(restored, record) {
		t.Errorf("the record of %s has changed:\n%s\n%s", first, record, restored)
	}
	for i, id := range c.played() {
		h.write("/root/match.json", string(admin.call(http.MethodGet, "/v1/matches/"+id+"/record", nil, nil)), 0o600)
		verify := h.run
		if i == 0 {
			verify = func(_, line string, _ ...string) string { return h.types(line) }
		}
		verify("root:root", "arena verify /root/match.json --jwks "+site+"/.well-known/jwks.json", "HOME=/root")
	}
	if out := h.types("arena admin ratings verify"); !strings.Contains(out, `"ok": true`) {
		t.Errorf("the ratings: %s", out)
	}
	t.Logf("%d commands in all", h.commands)
}
