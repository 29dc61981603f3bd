package agentprotocol

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// exchange is a node with a folder that only the test looks into.
func (h *testArena) exchange() (n *node, dir string) {
	h.t.Helper()
	h.still, dir = true, h.t.TempDir()
	n = h.node(func(o *Options) { o.Folder, o.Logger = dir, discard() })
	h.t.Cleanup(func() { _ = n.files.root.Close() })
	return n, dir
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A message is a file; the answer is one too, under a name that can be split
// at no wrong place and that no other system refuses.
func TestFolder_messages(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, dir := h.exchange()
	f := h.agent()
	f.put(dir, f.message("request", map[string]any{"action": "arena:agent", "correlationId": "1"}))
	n.readFolder(t.Context())
	names := listing(t, dir)
	if len(names) != 1 {
		t.Fatalf("files %v", names)
	}
	if name := names[0]; strings.ContainsAny(name, `:/\ `) || !strings.HasPrefix(name, fileID(f.arena)+"-"+fileID(f.public())+"-20") || !strings.HasSuffix(name, ".json") {
		t.Errorf("name %s", name)
	}
	data := f.look(dir)
	if s := f.check(data); s.Type != "response" || s.Payload.CorrelationID != "1" {
		t.Errorf("answer %+v", s)
	}
	if p, _ := h.store.Protocols.Peer(t.Context(), f.id); p.Way != "file" || !n.online(p) {
		t.Errorf("peer %+v", p)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

// What a file is follows from its content: a name means nothing, and no name
// leads out of the folder or to something that is no file.
func TestFolder_tricks(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, dir := h.exchange()
	f, other := h.agent(), h.agent()
	outside := filepath.Join(t.TempDir(), "outside.json")
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	event := func(match string) []byte {
		return f.message("notify", map[string]any{"event": "arena.event", "data": map[string]any{"match_id": match}})
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	write(outside, event("m_outside"))
	write(in("inside.txt"), event("m_linked"))
	for name, target := range map[string]string{"out.json": outside, "in.json": "inside.txt", "up.json": "../" + filepath.Base(dir) + "/inside.txt"} {
		if err := os.Symlink(target, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(in("directory.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(in("pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(in(".half.json.tmp"), event("m_half"))
	write(in(".hidden.json"), event("m_hidden"))
	write(in("whole.json.tmp"), event("m_tmp"))
	write(in("old.json"+refusedEnding), event("m_refused"))
	write(in(fileID(f.arena)+"-x.json"), event("m_pretends")) // says to be the arena's
	write(in(fileID(other.public())+"-x.json"), event("m_1")) // says to be another agent's
	write(in("..json"), event("m_dots"))
	write(in(`a\..\..\b.json`), event("m_2"))
	write(in("for-another.json"), f.with("hello", map[string]any{}, set("to", map[string]any{"agentId": other.name})))
	before := listing(t, dir)
	for range 2 {
		n.readFolder(t.Context())
	}
	got := n.events.all()
	if len(got) != 2 || !strings.Contains(strings.Join(got, "\n"), "m_1 "+f.id) || !strings.Contains(strings.Join(got, "\n"), "m_2 "+f.id) {
		t.Errorf("events %q", got)
	}
	if after := listing(t, dir); len(after) != len(before)-2 {
		t.Errorf("before %v\nafter %v", before, after)
	}
	for _, name := range []string{outside, in("for-another.json")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// What cannot be taken is put aside, its sender is notified if it is known, and
// it is not read again.
func TestFolder_refused(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, dir := h.exchange()
	f := h.agent()
	bad := f.draft("hello", map[string]any{"version": "0.2"})
	unsigned := f.draft("hello", map[string]any{})
	text, err := json.Marshal(unsigned)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{[]byte("{"), f.sign(bad), text, []byte(strings.Repeat("x", MaxMessage+1))} {
		f.put(dir, data)
	}
	for range 2 {
		n.readFolder(t.Context())
	}
	aside, explained := 0, 0
	for _, name := range listing(t, dir) {
		if strings.HasSuffix(name, refusedEnding) {
			aside++
		} else if s := f.check(f.look(dir)); s.Type == "error" {
			explained++
		}
	}
	if aside != 4 || explained != 2 {
		t.Errorf("%d put aside, %d notified; want 4, 2: %v", aside, explained, listing(t, dir))
	}
}

// A message for everyone is left for the others and taken once; a repetition
// counts once.
func TestFolder_once(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, dir := h.exchange()
	f := h.agent()
	everyone := f.with("notify", map[string]any{"event": "arena.event", "data": map[string]any{"match_id": "m_1"}}, set("to", map[string]any{"broadcast": true}))
	for range 2 {
		f.put(dir, everyone)
		n.readFolder(t.Context())
	}
	n.files.known = map[string]fileState{} // another start
	n.readFolder(t.Context())
	if got := n.events.all(); len(got) != 1 || len(listing(t, dir)) != 2 {
		t.Errorf("events %v, files %v", got, listing(t, dir))
	}
}

// The arena deletes its own files if no agent fetches them.
func TestFolder_keeps_no_letters(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, dir := h.exchange()
	f := h.agent()
	f.put(dir, f.hello())
	n.readFolder(t.Context())
	names := listing(t, dir)
	if len(names) != 1 {
		t.Fatalf("files %v", names)
	}
	kept := func(age time.Duration) bool {
		t.Helper()
		written := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, names[0]), written, written); err != nil {
			t.Fatal(err)
		}
		n.readFolder(t.Context())
		return len(listing(t, dir)) == 1
	}
	if !kept(arena.MaxAnswerTime) {
		t.Error("a request is gone that may still be answered")
	}
	if kept(n.timing.keep + time.Minute) {
		t.Errorf("files %v", listing(t, dir))
	}
}

// Hellos come to an end over files too.
func TestFolder_hellos_end(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, dir := h.exchange()
	f := h.agent()
	f.put(dir, f.hello())
	n.readFolder(t.Context())
	f.look(dir)
	wait := f.checked(n, 2)
	for _, asked := range [][]byte{f.take(dir), f.take(dir)} {
		f.put(dir, f.answer(asked, silent))
	}
	n.readFolder(t.Context())
	wait()
	if names := listing(t, dir); len(names) != 0 {
		t.Errorf("after the hellos came %v", names)
	}
}

// An agent with a socket is reached by it, whatever files it writes.
func TestFolder_socket_first(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, dir := h.exchange()
	f := h.agent()
	f.dial(n.web.URL).play(answering("Canberra"))
	f.put(dir, f.hello())
	n.readFolder(t.Context())
	if r := n.send(t, f.attempt("", enough)); r.Outcome != arena.OutcomeAnswered {
		t.Errorf("reply %+v", r)
	}
	if s := f.check(f.look(dir)); s.Type != "hello" {
		t.Errorf("answer %+v", s)
	}
}
