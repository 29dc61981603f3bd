package envelope

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agent.key")
	made, err := LoadKey(file)
	if err != nil || !strings.HasPrefix(made.DID(), "did:key:z6Mk") {
		t.Fatalf("%s, %v", made.DID(), err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if again, err := LoadKey(file); err != nil || again.DID() != made.DID() {
		t.Errorf("%s, %v; want %s", again.DID(), err, made.DID())
	}
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(file); err == nil {
		t.Error("a file without a key was read")
	}
}

func TestKey_Prove(t *testing.T) {
	t.Parallel()
	k := NewKey()
	sig, err := base64.RawURLEncoding.DecodeString(k.Prove("line\nline"))
	if err != nil || !ed25519.Verify(k.private.Public().(ed25519.PublicKey), []byte("line\nline"), sig) {
		t.Errorf("%v", err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	k := NewKey()
	body, err := k.sign(map[string]any{"version": "1.0", "payload": map[string]any{"text": "<&>\u2028 你好", "n": 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := verify(body, k.DID()); err != nil || strings.Contains(string(text), `"sig"`) {
		t.Errorf("%s, %v", text, err)
	}
	for name, bad := range map[string]string{
		"changed": strings.Replace(string(body), "1.0", "1.1", 1), "not signed": `{"version":"1.0"}`, "no JSON": `{`,
		"sig of another length": strings.Replace(string(body), `"sig":"`, `"sig":"AAAA`, 1),
	} {
		if _, err := verify([]byte(bad), k.DID()); err == nil {
			t.Errorf("%s: verified", name)
		}
	}
	for _, did := range []string{NewKey().DID(), "", "did:key:z", "did:web:x", "did:key:z" + strings.Repeat("6", 1000)} {
		if _, err := verify(body, did); err == nil {
			t.Errorf("%.40s: verified", did)
		}
	}
}
