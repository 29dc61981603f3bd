package e2e

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/token"
)

// secretIn matches what a line of a log must not hold: tokens of any kind, or
// parts of bodies. Every line that a server logs in the tests of this package
// goes through it. The texts of bodies are those of process.pack and of the
// demo's agents.
func secretIn(line string) string {
	for part, kind := range map[string]string{
		e2eAdmin:                "the admin token of the settings",
		token.AdminSecretPrefix: "an admin token",
		token.OwnerSecretPrefix: "an owner's token",
		token.MailSecretPrefix:  "a link of a mail",
		"eyJ":                   "a task token",
		"Bearer ":               "an Authorization header",
		"BEGIN ":                "a key",
		"right answer":          "an answer",
		"question 1":            "a task",
	} {
		if strings.Contains(line, part) {
			return kind
		}
	}
	return ""
}

func TestSecretIn(t *testing.T) {
	t.Parallel()
	admin, _ := token.NewSecret(token.AdminSecretPrefix)
	owner, _ := token.NewSecret(token.OwnerSecretPrefix)
	for line, bad := range map[string]bool{
		`{"msg":"request","route":"/v1/me"}`: false, admin: true, "x " + owner: true, "token eyJhbGciOiJFUzI1NiJ9.e30.sig": true,
		`{"answer":"right answer 7"}`: true, "Authorization: Bearer x": true, e2eAdmin: true,
	} {
		if (secretIn(line) != "") != bad {
			t.Errorf("%q: %q, want a secret: %t", line, secretIn(line), bad)
		}
	}
}
