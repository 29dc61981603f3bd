package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A page carries the answers that it would ask the API for first, as a block of
// data that src/lib/api/first.ts reads. Without it, readers would wait for the
// scripts and then once more for what the page is about.

// firstTimeout is how long a page waits for the answers that it carries. What
// takes longer is left out, and the app reads it as it reads everything else.
const firstTimeout = 300 * time.Millisecond

// maxMarks is the size in bytes of the chosen avatars, some 300, beyond which
// pages do not carry them: they would hold up the first paint on a slow line.
const maxMarks = 16 << 10

// leagueMember stands for the league of the answer before, in an address that a
// page reads first.
const leagueMember = "{league}"

// answers returns what the API answers anybody at the caller's address, by the
// addresses that a page reads first. The API counts these reads as it counts
// those of the app, which then does not send them. What is not answered with
// 200 is left out.
func (h *handler) answers(r *http.Request, reads []string) map[string]json.RawMessage {
	ctx, cancel := context.WithTimeout(r.Context(), firstTimeout)
	defer cancel()
	answers := map[string]json.RawMessage{}
	var last []byte
	for _, address := range reads {
		address, ok := fill(address, last)
		if !ok {
			continue
		}
		// A request of its own: nothing that the caller sent decides what everybody
		// may read.
		read, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			continue
		}
		read.Host, read.RemoteAddr = r.Host, r.RemoteAddr
		a := answer{header: http.Header{}}
		h.api.ServeHTTP(&a, read)
		last = a.body.Bytes()
		if address == marksRead && len(last) > maxMarks {
			continue
		}
		if a.status == http.StatusOK && json.Valid(last) {
			answers[address] = last
		}
	}
	return answers
}

// fill returns an address with the league that the answer before names. ok is
// false if it names none.
func fill(address string, before []byte) (filled string, ok bool) {
	if !strings.Contains(address, leagueMember) {
		return address, true
	}
	var m struct {
		League string `json:"league"`
	}
	if err := json.Unmarshal(before, &m); err != nil || m.League == "" {
		return "", false
	}
	return strings.ReplaceAll(address, leagueMember, url.PathEscape(m.League)), true
}

// carry returns a page with a block of answers at the end of its body, and the
// time, by which the app sets its clock. The encoder escapes <, so that no text
// of an answer ends the block.
func (h *handler) carry(page []byte, answers map[string]json.RawMessage) []byte {
	if len(answers) == 0 {
		return page
	}
	block, err := json.Marshal(struct {
		Date    time.Time                  `json:"date"`
		Answers map[string]json.RawMessage `json:"answers"`
	}{h.now().UTC(), answers})
	before, after, found := bytes.Cut(page, []byte("</body>"))
	if err != nil || !found { // each answer is valid, so that err is nil
		return page
	}
	return bytes.Join([][]byte{before, []byte(`<script type="application/json" id="first">`), block, []byte("</script>\n  </body>"), after}, nil)
}

// answer is an http.ResponseWriter that keeps what is written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p) //nolint:wrapcheck // it never fails
}
