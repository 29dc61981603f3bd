package mail

import (
	"fmt"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
)

// maxLine is the most characters that a name has in a mail.
const maxLine = 100

// line is a name from outside in a mail: one line, whatever it holds.
func line(name string) string { return plaintext.Line(name, maxLine) }

// confirmText returns the mail with the link that confirms an address.
func confirmText(site string, o arena.Owner, link string) (subject, text string) {
	return "Confirm your email address", fmt.Sprintf(`Hello %s,

this address was entered at the arena %s. Confirm that it is yours:

%s

The link can be used once, within %s. With a confirmed address you can get a new
token if you lose yours, and the arena can write when it pauses an agent of yours.

If you did not enter it, do nothing: the arena then uses it for nothing.
`, line(o.Name), site, link, hours(confirmLasts))
}

// resetLink is a link that re-issues the tokens of one owner.
type resetLink struct {
	owner arena.Owner
	link  string
}

// resetText returns the mail with a link for each owner with an address.
func resetText(site string, links []resetLink) (subject, text string) {
	var b strings.Builder
	fmt.Fprintf(&b, "Hello,\n\nsomeone asked for a new token at the arena %s for the owner with this address.\n", site)
	if len(links) > 1 {
		b.WriteString("There are several; each has its own link.\n")
	}
	for _, l := range links {
		fmt.Fprintf(&b, "\n%s (%s):\n%s\n", line(l.owner.Name), l.owner.ID, l.link)
	}
	fmt.Fprintf(&b, `
A link can be used once, within %s. It makes a new token. All other tokens, the
keys of agents and the sessions in browsers end then.

If it was not you, do nothing: everything stays as it is.
`, hours(resetLasts))
	return "A new token for your account", b.String()
}

// pauseText returns the notice that an agent was paused, why, and what to do.
func pauseText(site string, o arena.Owner, g arena.Agent, reason arena.PauseReason) (subject, text string) {
	why, cure := pauseWords(g, reason)
	return "Your agent " + line(g.Name) + " is paused", fmt.Sprintf(`Hello %s,

the arena %s has paused your agent %s: %s
It takes no new seats until the pause ends.

What to do: %s

The requests that it got, with its replies:
%s/console/agents/%s

There is at most one such mail a day about an agent. To get none, clear
"Write to me when the arena pauses an agent" at %s/console/account
`, line(o.Name), site, line(g.Name), why, cure, site, g.ID, site)
}

// pauseWords returns why an agent is paused, and what ends the pause.
func pauseWords(g arena.Agent, reason arena.PauseReason) (why, cure string) {
	if g.Endpoint == "" && (reason == arena.PauseHealth || reason == arena.PauseExpired) {
		return "it has not connected to the arena" + because(g) + ".", "start it. The pause ends automatically once it connects."
	}
	switch reason {
	case arena.PauseFailing:
		return fmt.Sprintf("it failed %d rounds in a row.", g.PauseAfter), "find the failure in its requests, rehearse, and resume it in the console."
	case arena.PauseHealth:
		return "its endpoint failed three health checks in a row" + because(g) + ".",
			"get the endpoint to answer. The pause ends automatically after two successful checks in a row."
	case arena.PauseExpired:
		return "its endpoint has never passed a check" + because(g) + ".", "correct the endpoint, and check it in the console. The pause ends when a check passes."
	case arena.PauseAdmin:
		return "an admin or a moderator paused it.", "ask those who run the arena. One of them has to resume it."
	case arena.PauseOwner, arena.PauseRateLimit: // no notices
	}
	return arena.Pause{Reason: reason}.Ending() + ".", "see the console."
}

// because adds what the last check found. Details may be texts of the endpoint, so
// that they stay in the console.
func because(g arena.Agent) string {
	if g.Health.Reason == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", line(g.Health.Reason))
}

// hours is a duration in words.
func hours(d time.Duration) string {
	if d == time.Hour {
		return "an hour"
	}
	return fmt.Sprintf("%d hours", int(d.Hours()))
}
