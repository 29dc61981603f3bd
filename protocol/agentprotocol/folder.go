package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The folder of file exchange. A message to the arena is a file whose name ends in
// ".json"; only its content determines sender and recipient. The arena removes
// files that it has read, and renames files that it refuses so that they end in
// ".refused". It ignores all other files.
const (
	messageEnding = ".json"
	refusedEnding = ".refused"
	// maxLook is how many files are read in one look.
	maxLook = 256
)

// folder is the directory. Its root follows no name and no link out of it.
type folder struct {
	root  *os.Root
	known map[string]fileState // files that are for others; of the one goroutine that looks
}

type fileState struct {
	at   time.Time
	size int64
}

func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("agentprotocol folder: %w", err)
	}
	return &folder{root: root, known: map[string]fileState{}}, nil
}

// write puts a message into the folder: first under a name that readers ignore,
// then under its own, so that no reader sees half a message. The ids in the
// name are base64url and the time has no colon.
func (f *folder) write(from, to ed25519.PublicKey, id string, at time.Time, data []byte) error {
	name := fmt.Sprintf("%s-%s-%s-%s%s", fileID(from), fileID(to), at.UTC().Format("20060102T150405.000Z"), id, messageEnding)
	if err := f.root.WriteFile("."+name+".tmp", data, 0o600); err != nil {
		return fmt.Errorf("write message file: %w", err)
	}
	if err := f.root.Rename("."+name+".tmp", name); err != nil {
		return fmt.Errorf("write message file: %w", err)
	}
	return nil
}

// drop removes a file that was read. One without a recipient stays for the other
// readers.
func (f *folder) drop(name string, m message) error {
	if m.To.Broadcast {
		return nil
	}
	return f.root.Remove(name)
}

func fileID(key ed25519.PublicKey) string { return base64.RawURLEncoding.EncodeToString(key) }

// readFolder reads the messages for the arena.
func (s *Server) readFolder(ctx context.Context) {
	entries, err := fs.ReadDir(s.files.root.FS(), ".")
	if err != nil {
		s.o.Logger.Warn("cannot read the folder of messages", slog.Any("error", err))
		return
	}
	there := map[string]bool{}
	read := 0
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, messageEnding) || strings.HasPrefix(name, ".") || !e.Type().IsRegular() {
			continue // half written, put aside, a link, a pipe, a directory, not ours
		}
		there[name] = true
		info, err := e.Info()
		if err != nil || ctx.Err() != nil {
			continue
		}
		// The name only saves reading what the arena itself wrote.
		if strings.HasPrefix(name, fileID(s.me.public)+"-") {
			if s.o.Now().Sub(info.ModTime()) > s.timing.keep {
				_ = s.files.root.Remove(name) // its agent may be quicker
			}
			continue
		}
		state := fileState{info.ModTime(), info.Size()}
		if s.files.known[name] == state || read >= maxLook {
			continue
		}
		read++
		if !s.handleFile(ctx, name) {
			s.files.known[name] = state
		}
	}
	for name := range s.files.known {
		if !there[name] {
			delete(s.files.known, name)
		}
	}
}

// handleFile reads one file. It returns false for a file for another agent, which it
// leaves in place.
func (s *Server) handleFile(ctx context.Context, name string) bool {
	data, err := s.files.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	var m message
	var from sender
	var refused *refusal
	if err != nil {
		refused = refuse(http.StatusBadRequest, InvalidMessage, err.Error())
	} else if m, from, refused = s.authenticate(ctx, data); refused != nil && m.ID != "" && !m.To.Broadcast && !names(m.To.AgentID, s.me.public) {
		return false
	}
	var answer []byte
	if refused == nil && from.first {
		if err := s.connectFile(ctx, from); err != nil {
			refused = s.failed("cannot note a connection", err)
		} else {
			answer, refused = s.handle(ctx, m, from)
		}
	}
	if m.Type == TypeHello && refused == nil && s.wasAsked(from.agent.ID) {
		answer = nil // theirs was the answer
	}
	if refused != nil {
		s.o.Logger.Info("message file refused", slog.String("file", name), slog.String("code", string(refused.code)), slog.String("reason", refused.message))
		if err := s.files.root.Rename(name, name+refusedEnding); err != nil {
			return false
		}
		if from.key != nil && m.Type != TypeError {
			answer, _ = s.errorMessage(m, refused)
		}
	} else if err := s.files.drop(name, m); err != nil {
		s.o.Logger.Warn("cannot remove a message file", slog.String("file", name), slog.Any("error", err))
		return false
	}
	if answer != nil {
		if err := s.files.write(s.me.public, from.key, newID(), s.o.Now(), answer); err != nil {
			s.o.Logger.Warn("cannot write a message file", slog.Any("error", err))
		}
	}
	return !m.To.Broadcast || refused != nil
}

// connectFile records that an agent uses files, unless it has a socket.
func (s *Server) connectFile(ctx context.Context, from sender) error {
	p, err := s.o.Peers.Peer(ctx, from.agent.ID)
	if err != nil && arena.CodeOf(err) != arena.CodeNotFound {
		return err
	}
	switch {
	case s.online(p) && p.Way == wayWebSocket:
		return nil
	case p.Way == wayFile:
		_, err = s.o.Peers.SeePeer(ctx, p.AgentID, p.Epoch, s.o.Now())
	default:
		_, err = s.o.Peers.ConnectPeer(ctx, from.agent.ID, wayFile, s.o.Now())
		s.connected(ctx, from.agent)
	}
	return err
}

// read reads a file that is a regular one when it is opened, within the limit
// of a message.
func (f *folder) read(name string) ([]byte, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open message file: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("this is not a file")
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxMessage+1))
	if err != nil {
		return nil, errors.New("the file could not be read")
	}
	if len(data) > MaxMessage {
		return nil, fmt.Errorf("a message has at most %d bytes", MaxMessage)
	}
	return data, nil
}
