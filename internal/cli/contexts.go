package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agora-arena/arena/internal/userconfig"
)

// login is a context: an arena and the token for it.
type login struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Token string `json:"token"` // secret
	Scope string `json:"scope"` // of the token when it was stored
	As    string `json:"as"`    // name of the owner; "" for a token that belongs to none
}

// contexts are the stored logins of a user.
type contexts struct {
	Current string  `json:"current"` // name; "" for none
	Logins  []login `json:"contexts"`

	file   string
	noFile error // why there is no place for the file
}

// contexts reads the stored logins. Without a file, or without a place for one, as
// in a container without HOME, there are none.
func (p *Process) contexts() (*contexts, error) {
	folder, err := userconfig.Folder(p.Getenv)
	if err != nil {
		return &contexts{noFile: err}, nil //nolint:nilerr // save returns it
	}
	c := &contexts{file: filepath.Join(folder, "contexts.json")}
	if err := userconfig.Read(c.file, c); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("stored logins: %w", err)
	}
	return c, nil
}

// save writes the logins.
func (c *contexts) save() error {
	if c.noFile != nil {
		return fmt.Errorf("store the logins: %w", c.noFile)
	}
	if err := userconfig.Write(c.file, c); err != nil {
		return fmt.Errorf("store the logins: %w", err)
	}
	return nil
}

// named returns the login of a name.
func (c *contexts) named(name string) (login, bool) {
	return c.first(func(l login) bool { return l.Name == name })
}

// of returns the login of an arena, the current one if it is of that arena.
func (c *contexts) of(arena string) (login, bool) {
	if l, found := c.current(); found && l.URL == arena {
		return l, true
	}
	return c.first(func(l login) bool { return l.URL == arena })
}

func (c *contexts) current() (login, bool) { return c.named(c.Current) }

func (c *contexts) first(match func(login) bool) (login, bool) {
	i := slices.IndexFunc(c.Logins, match)
	if i < 0 {
		return login{}, false
	}
	return c.Logins[i], true
}

// put stores a login under its name and makes it the current one.
func (c *contexts) put(l login) {
	c.remove(l.Name)
	c.Logins = append(c.Logins, l)
	slices.SortFunc(c.Logins, func(a, b login) int { return strings.Compare(a.Name, b.Name) })
	c.Current = l.Name
}

// remove deletes a login. If it was the current one, there is none then.
func (c *contexts) remove(name string) {
	c.Logins = slices.DeleteFunc(c.Logins, func(l login) bool { return l.Name == name })
	if c.Current == name {
		c.Current = ""
	}
}

// localArena is the address of arena demo and of arena serve without settings.
const localArena = "http://127.0.0.1:8080"

// arenaURL returns the base URL of an arena that a user names. Without a scheme
// it is https, and http on this machine.
func arenaURL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		scheme := "https://"
		if u, err := url.Parse("http://" + text); err == nil && loopback(u.Hostname()) {
			scheme = "http://"
		}
		text = scheme + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not the http or https URL of an arena", text)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("the URL of an arena has no query or fragment: %s", u.Redacted())
	}
	u.Host = strings.ToLower(u.Host)
	return strings.TrimRight(u.String(), "/"), nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}
