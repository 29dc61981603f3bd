package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"
)

// AdminTokenCmd groups the commands on tokens. An admin's token works on the
// arena's tokens, an owner's token on that owner's.
type AdminTokenCmd struct {
	Invite tokenInviteCmd `cmd:"" help:"Invite an owner: create the account and print its first token."`
	List   tokenListCmd   `cmd:"" help:"With an admin's token: tokens of admins, organizers and moderators. With an owner's: its own."`
	Create tokenCreateCmd `cmd:"" help:"Make another token; it is printed once."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token: an admin any, an owner its own."`
}

// Help describes whose token each command needs.
func (c *AdminTokenCmd) Help() string {
	return `With an admin's token these commands act on the tokens that run the arena; with
an owner's token in --token, on the tokens of that owner. invite is how owners
come in with ARENA_SIGNUP=invite.

    arena admin token create "cup desk" --scope organizer --league cup --expires 720h
    arena admin token invite "Ada" --email ada@example.org
    arena admin token create ci --token aro_…
    arena admin token revoke to_…`
}

type (
	tokenInviteCmd struct {
		Name  string `arg:"" help:"Name of the owner, shown to everyone."`
		Email string `help:"Stored, and never shown."`
	}
	tokenListCmd   struct{}
	tokenCreateCmd struct {
		Name    string   `arg:"" help:"Its purpose."`
		Scope   string   `placeholder:"SCOPE" help:"admin, organizer or moderator; an owner's tokens have none."`
		League  []string `placeholder:"SLUG" help:"A league that an organizer's token is for; may be repeated."`
		Expires string   `placeholder:"WHEN" help:"A duration from now (720h) or a time (2027-01-31T12:00:00Z); left out: never."`
	}
	tokenRevokeCmd struct {
		ID string `arg:"" help:"The token_id of list."`
	}
)

func (c *tokenInviteCmd) Run(app *App, admin *AdminCmd) error {
	owner := map[string]string{"name": c.Name}
	if c.Email != "" {
		owner["email"] = c.Email
	}
	return admin.call(app, http.MethodPost, "/v1/owners", owner)
}

// tokensPath returns the path of the tokens that the holder of the token in
// use manages.
func (c *AdminCmd) tokensPath(app *App) (string, error) {
	answer, err := c.ask(app, http.MethodGet, "/v1/me", nil)
	if err != nil {
		return "", err
	}
	var me struct{ Scope string }
	if err := json.Unmarshal(answer, &me); err != nil {
		return "", fmt.Errorf("answer: %w", err)
	}
	if me.Scope == "owner" {
		return "/v1/me/tokens", nil
	}
	return "/v1/admin/tokens", nil
}

func (c *tokenListCmd) Run(app *App, admin *AdminCmd) error {
	path, err := admin.tokensPath(app)
	if err != nil {
		return err
	}
	return admin.call(app, http.MethodGet, path, nil)
}

func (c *tokenCreateCmd) Run(app *App, admin *AdminCmd) error {
	token := map[string]any{"name": c.Name}
	if c.Scope != "" {
		token["scope"] = c.Scope
	}
	if len(c.League) > 0 {
		token["leagues"] = c.League
	}
	if c.Expires != "" {
		at, err := expiry(c.Expires, time.Now())
		if err != nil {
			return err
		}
		token["expires_at"] = at
	}
	path, err := admin.tokensPath(app)
	if err != nil {
		return err
	}
	return admin.call(app, http.MethodPost, path, token)
}

// expiry returns the time that a flag names: a duration from now, or a time.
func expiry(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--expires: %q is neither a duration (720h) nor a time (2027-01-31T12:00:00Z)", text)
	}
	return at.UTC(), nil
}

func (c *tokenRevokeCmd) Run(app *App, admin *AdminCmd) error {
	path, err := admin.tokensPath(app)
	if err != nil {
		return err
	}
	return admin.call(app, http.MethodDelete, path+"/"+url.PathEscape(c.ID), nil)
}

// AdminOwnerCmd groups the commands on owners.
type AdminOwnerCmd struct {
	List    ownerListCmd    `cmd:"" help:"Owners, newest first."`
	Show    showCmd         `cmd:"" help:"One owner with its agents."`
	Suspend ownerSuspendCmd `cmd:"" help:"Reject an owner's tokens and pause its agents."`
	Restore ownerRestoreCmd `cmd:"" help:"End an owner's suspension."`
	Tokens  ownerTokensCmd  `cmd:"" help:"An owner's tokens."`
	Reissue ownerReissueCmd `cmd:"" help:"Revoke an owner's tokens and print a new one."`
	Revoke  ownerRevokeCmd  `cmd:"" help:"Revoke an owner's tokens."`

	Export   ownerExportCmd   `cmd:"" help:"Write everything that the arena stores about an owner to a ZIP file."`
	Delete   ownerDeleteCmd   `cmd:"" help:"Delete an owner's personal data; results stay under neutral names."`
	Erasures ownerErasuresCmd `cmd:"" help:"The owners that were deleted, as reapply reads them."`
	Reapply  ownerReapplyCmd  `cmd:"" help:"Delete the owners of a list again, after an older backup was restored."`
}

// oneOwner is a command on one owner.
type oneOwner struct {
	ID string `arg:"" help:"The owner_id of list."`
}

func (o oneOwner) path(action string) string {
	return "/v1/admin/owners/" + url.PathEscape(o.ID) + "/" + action
}

type (
	ownerListCmd struct {
		listCmd

		Find string `placeholder:"TEXT" help:"Only owners with this in their name or email, or with this id."`
	}
	ownerSuspendCmd struct {
		oneOwner

		Reason string `placeholder:"TEXT" help:"Why; the owner sees it when its token is rejected."`
	}
	ownerDeleteCmd struct {
		oneOwner

		Confirm string `required:"" placeholder:"NAME" help:"The owner's name, exactly."`
	}
	ownerExportCmd struct {
		oneOwner

		File string `arg:"" help:"New file."`
	}
	ownerErasuresCmd struct{ listCmd }
	ownerReapplyCmd  struct {
		File string `arg:"" type:"existingfile" help:"The output of erasures."`
	}
	ownerRestoreCmd struct{ oneOwner }
	ownerTokensCmd  struct{ oneOwner }
	ownerReissueCmd struct{ oneOwner }
	ownerRevokeCmd  struct{ oneOwner }
)

// Run prints one page of owners.
func (c *ownerListCmd) Run(app *App, admin *AdminCmd) error {
	path := "/v1/admin/owners" + c.query()
	if c.Find != "" {
		path += "&find=" + url.QueryEscape(c.Find)
	}
	return admin.call(app, http.MethodGet, path, nil)
}

func (c *ownerSuspendCmd) Run(app *App, admin *AdminCmd) error {
	var in any
	if c.Reason != "" {
		in = map[string]string{"reason": c.Reason}
	}
	return admin.call(app, http.MethodPost, c.path("suspend"), in)
}

func (c *ownerDeleteCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodDelete, "/v1/admin/owners/"+url.PathEscape(c.ID)+"?confirm="+url.QueryEscape(c.Confirm), nil)
}

// Run writes the file, which its owner alone may read. One that was cut off is no ZIP
// file and is removed.
func (c *ownerExportCmd) Run(app *App, admin *AdminCmd) (err error) {
	file, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(admin.fetch(app, http.MethodGet, c.path("export"), nil, file), file.Close())
	if err == nil {
		var whole *zip.ReadCloser
		if whole, err = zip.OpenReader(c.File); err == nil {
			err = whole.Close()
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(c.File))
	}
	_, err = fmt.Fprintln(app.Stdout, "wrote", c.File)
	return err
}

func (c *ownerErasuresCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, "/v1/admin/erasures"+c.query(), nil)
}

// Run sends the owners of the list, and nothing else of it.
func (c *ownerReapplyCmd) Run(app *App, admin *AdminCmd) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read the list: %w", err)
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("%s: not the output of arena admin owner erasures: %w", c.File, err)
	}
	return admin.call(app, http.MethodPost, "/v1/admin/erasures", map[string]any{"items": list.Items})
}

func (c *ownerRestoreCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPost, c.path("restore"), nil)
}

func (c *ownerTokensCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, c.path("tokens"), nil)
}

func (c *ownerReissueCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPost, c.path("tokens"), nil)
}

func (c *ownerRevokeCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodDelete, c.path("tokens"), nil)
}
