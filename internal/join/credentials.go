package join

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/agora-arena/arena/internal/userconfig"
)

// credentials are the stored data of one agent between runs.
type credentials struct {
	Arena      string `json:"arena"`            // base URL
	Name       string `json:"name"`             // that the user or the source asked for
	AgentName  string `json:"agent_name"`       // in the arena
	AgentID    string `json:"agent_id"`         //
	AgentKey   string `json:"agent_key"`        // secret
	OwnerToken string `json:"owner_token"`      // secret
	Day        string `json:"day,omitempty"`    // of Started, as 2006-01-02
	Started    int    `json:"started,omitzero"` // matches of that day
}

// folder keeps credentials in files that only their user can read.
type folder string

// file returns the name of the file of an agent: readable, and different for
// each arena and name.
func (f folder) file(arena, name string) string {
	readable := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, strings.TrimPrefix(strings.TrimPrefix(arena, "https://"), "http://")+"_"+name)
	sum := sha256.Sum256([]byte(arena + "\n" + name))
	return filepath.Join(string(f), readable[:min(len(readable), 60)]+"_"+hex.EncodeToString(sum[:4])+".json")
}

// load returns the credentials of an agent; found is false when there are none.
func (f folder) load(arena, name string) (c credentials, found bool, err error) {
	file := f.file(arena, name)
	c, err = read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return credentials{}, false, nil
	case err != nil:
		return credentials{}, false, err
	case c.Arena != arena || c.Name != name:
		return credentials{}, false, fmt.Errorf("%s is the file of another agent", file)
	}
	return c, true, nil
}

func read(file string) (c credentials, err error) {
	err = userconfig.Read(file, &c)
	return c, err
}

// owner returns the token of an owner that was kept for another agent at the
// same arena; "" without one.
func (f folder) owner(arena string) string {
	files, _ := filepath.Glob(filepath.Join(string(f), "*.json")) // a folder that cannot be read has none
	for _, file := range files {
		if c, err := read(file); err == nil && c.Arena == arena && c.OwnerToken != "" {
			return c.OwnerToken
		}
	}
	return ""
}

// save replaces the credentials of an agent at once.
func (f folder) save(c credentials) error {
	if err := userconfig.Write(f.file(c.Arena, c.Name), c); err != nil {
		return fmt.Errorf("keep the agent's key: %w", err)
	}
	return nil
}

// lock keeps other runs on this machine from playing as an agent until release is
// called. Where no file can be locked it does nothing.
func (f folder) lock(c credentials) (release func(), err error) {
	none := func() {}
	file, err := f.lockFile(c)
	if err != nil {
		return none, nil //nolint:nilerr // the agent plays without a lock
	}
	if !tryLock(file) {
		_ = file.Close()
		return none, fmt.Errorf("%s is already running on this machine, and two runs would get each other's tasks: stop the other one, or start another agent with --name", c.AgentName)
	}
	return func() { unlock(file) }, nil
}

// lockFile opens the file whose lock a run holds.
func (f folder) lockFile(c credentials) (*os.File, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(strings.TrimSuffix(f.file(c.Arena, c.AgentID), ".json")+".lock", os.O_RDWR|os.O_CREATE, 0o600)
}

// retire sets the credentials of an agent aside.
func (f folder) retire(c credentials) error {
	file := f.file(c.Arena, c.Name)
	return os.Rename(file, strings.TrimSuffix(file, ".json")+".old")
}
