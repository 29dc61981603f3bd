package e2e

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/arena/sdk"
)

// slow skips a test that takes minutes, unless make test-all runs it.
func slow(t *testing.T) {
	t.Helper()
	if os.Getenv("ARENA_TEST_SLOW") == "" {
		t.Skip("make test-all runs it")
	}
}

// packages returns what a running arena lists at /sdk/, by language and format.
func (p *process) packages() map[string]sdk.Artifact {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/sdk/", nil)
	must(p.t, err)
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must(p.t, err)
	defer func() { _ = resp.Body.Close() }()
	var list struct{ Artifacts []sdk.Artifact }
	must(p.t, json.NewDecoder(resp.Body).Decode(&list))
	found := map[string]sdk.Artifact{}
	for _, a := range list.Artifacts {
		found[a.Language+" "+a.Format] = a
	}
	return found
}

// shell runs lines in a folder, with more environment.
func shell(t *testing.T, dir string, env []string, lines ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", strings.Join(lines, "\n"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// example copies an example of an SDK.
func example(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), from))
	must(t, err)
	must(t, os.WriteFile(to, data, 0o600))
}

// A language's package, installed in an empty folder by the line that the arena
// documents, and its small agent, which the arena finds healthy.
func TestSlow_installSDKs(t *testing.T) {
	t.Parallel()
	slow(t)
	p := serve(t, t.TempDir())
	p.league("trivia", p.choices(), map[string]any{
		"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 20, "visibility": "live",
	})
	packages := p.packages()
	for name, install := range map[string]func(t *testing.T, dir string, a sdk.Artifact) (command, env []string){
		"typescript npm": installNPM, "python wheel": installPip, "python sdist": installPip, "rust crate": installCrate, "go module": installModule,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, ok := packages[name]
			if !ok {
				t.Fatalf("the arena has no such package: make sdks comes first; it has %v", packages)
			}
			command, env := install(t, t.TempDir(), a)
			endpoint := startAgent(t, p.url, strings.TrimSuffix(name, " crate"), command, append(env, "PYTHONPATH=")...)
			p.register(name, endpoint)
		})
	}
}

func installNPM(t *testing.T, dir string, a sdk.Artifact) (command, env []string) {
	t.Helper()
	shell(t, dir, nil, append(a.Install, "test -e package.json")...)
	example(t, "sdk/typescript/examples/agent.mjs", dir+"/agent.mjs")
	return []string{"node", dir + "/agent.mjs"}, nil
}

// installPip needs no index: the system has what the SDK needs. Of pip's variables,
// 0 is the value that switches build isolation off.
func installPip(t *testing.T, dir string, a sdk.Artifact) (command, env []string) {
	t.Helper()
	shell(t, dir, []string{"PIP_NO_INDEX=1", "PIP_NO_BUILD_ISOLATION=0", "PIP_DISABLE_PIP_VERSION_CHECK=1"}, append([]string{
		python(t) + " -m venv --system-site-packages env", "PATH=$PWD/env/bin:$PATH",
	}, a.Install...)...)
	example(t, "sdk/python/examples/agent.py", dir+"/agent.py")
	return []string{dir + "/env/bin/python", dir + "/agent.py"}, nil
}

// installCrate uses the crates of Debian's packages, where they are.
func installCrate(t *testing.T, dir string, a sdk.Artifact) (command, env []string) {
	t.Helper()
	must(t, os.Mkdir(dir+"/src", 0o755))
	example(t, "sdk/rust/examples/agent.rs", dir+"/src/main.rs")
	lines := []string{"cargo init --quiet --name agent"}
	if debian, err := filepath.Glob("/usr/share/cargo/registry/ring-*"); err == nil && len(debian) > 0 {
		lines = append(lines, "mkdir -p .cargo",
			`printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' >> .cargo/config.toml`)
	}
	lines = append(append(lines, a.Install...), "cargo build --quiet")
	shell(t, dir, cargoHome(t), lines...)
	return []string{dir + "/target/debug/agent"}, nil
}

// cargoHome is an environment in which Cargo has downloaded nothing.
func cargoHome(t *testing.T) []string {
	t.Helper()
	env := []string{"CARGO_HOME=" + t.TempDir()}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("RUSTUP_HOME") == "" {
		env = append(env, "RUSTUP_HOME="+filepath.Join(home, ".rustup"))
	}
	return env
}

// installModule uses the modules of the module cache.
func installModule(t *testing.T, dir string, a sdk.Artifact) (command, env []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	must(t, err)
	var lines []string
	for _, line := range a.Install {
		lines = append(lines, strings.Replace(line, "https://proxy.golang.org,direct", "file://"+strings.TrimSpace(string(out))+"/cache/download", 1))
	}
	example(t, "examples/minimal/main.go", dir+"/main.go")
	shell(t, dir, []string{"GOMODCACHE=" + dir + "/cache", "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOSUMDB=off", "GOWORK=off", "CGO_ENABLED=0"},
		append(append([]string{"go mod init example.com/agent"}, lines...), "go build -o agent .")...)
	return []string{dir + "/agent", "-addr", "127.0.0.1:0"}, nil
}

// The same sources make the same bytes, and nothing in them is of this machine.
func TestSlow_buildSDKs(t *testing.T) {
	t.Parallel()
	slow(t)
	first, second := t.TempDir(), t.TempDir()
	for _, out := range []string{first, second} {
		shell(t, root(t), nil, "scripts/build-sdks.sh "+out)
	}
	shell(t, root(t), nil, "diff -r "+first+" "+second)
	home, err := os.UserHomeDir()
	must(t, err)
	registry, err := exec.CommandContext(t.Context(), "npm", "config", "get", "registry").Output()
	must(t, err)
	banned := []string{root(t), os.TempDir() + "/tmp."}
	if home != "/" {
		banned = append(banned, home+"/")
	}
	if host := strings.TrimSpace(string(registry)); !strings.Contains(host, "registry.npmjs.org") {
		banned = append(banned, host)
	}
	files := 0
	must(t, filepath.WalkDir(first, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		must(t, err)
		text := unpacked(t, path, data)
		files++
		for _, word := range banned {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s contains %s", path, word)
			}
		}
		return nil
	}))
	if files < 10 {
		t.Errorf("%d files", files)
	}
}

// unpacked returns what is in an archive, or data that is none.
func unpacked(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var all bytes.Buffer
	switch filepath.Ext(name) {
	case ".tgz", ".gz", ".crate":
		r, err := gzip.NewReader(bytes.NewReader(data))
		must(t, err)
		_, err = all.ReadFrom(r)
		must(t, err)
	case ".zip", ".whl":
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		must(t, err)
		for _, file := range r.File {
			f, err := file.Open()
			must(t, err)
			_, err = all.ReadFrom(f)
			must(t, err)
			must(t, f.Close())
		}
	default:
		return data
	}
	return all.Bytes()
}
