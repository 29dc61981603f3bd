package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/protocol/conformance"
)

// `arena check poll` prints the key with which an agent fetches the tasks of the
// check.
func TestE2E_Check_pull(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	notes, errs := io.Pipe()
	var out bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		defer errs.Close() //nolint:errcheck // it never fails
		ended <- execArena(t.Context(), buildArena(t), []string{"check", "poll", "--json", "--keys-addr", addr}, nil, strings.NewReader(""), &out, errs)
	}()
	printed := bufio.NewReader(notes)
	line, err := printed.ReadString('\n')
	must(t, err)
	key := regexp.MustCompile(`connect it with ARENA=http://` + regexp.QuoteMeta(addr) + ` ARENA_AGENT_KEY=(\S+)`).FindStringSubmatch(line)
	if key == nil {
		t.Fatalf("the command printed %q", line)
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(printed)
		rest <- string(text)
	}()
	ctx, stop := context.WithCancel(t.Context())
	connected := make(chan error, 1)
	go func() {
		connected <- arenaagent.Connect(ctx, arenaagent.Config{Arena: "http://" + addr, AgentKey: key[1], Events: arenaagent.EventsOff}, firstOption)
	}()
	code := <-ended
	stop()
	must(t, <-connected)
	var r conformance.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v; %s\n%s", code, err, <-rest, out.String())
	}
	if !r.Passed || r.Protocol != "aap" || r.Endpoint != "" || r.Must.Pass != 7 || r.Must.Fail+r.Must.Skip+r.Should.Fail+r.Should.Skip != 0 {
		t.Errorf("report: %+v", r)
	}
}

func TestE2E_Check_a2a(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	r := checked(t, exitOK, a2aAgent(t, "http://"+addr), "--protocol", "a2a", "--keys-addr", addr)
	if !r.Passed || r.Protocol != "a2a" || r.Must.Pass != 12 || r.Should.Fail != 1 { // token.other_agent
		t.Errorf("report: %+v", r)
	}
}
