package main

import (
	"net/http"
	"net/url"
)

// AdminTokenCmd groups the commands on owners' tokens. An admin's own token
// is a setting; what it makes are owners.
type AdminTokenCmd struct {
	Invite tokenInviteCmd `cmd:"" help:"Make an owner and print its first token, also where nobody else may sign up."`
	List   tokenListCmd   `cmd:"" help:"Tokens of the owner whose token is given."`
	Create tokenCreateCmd `cmd:"" help:"Make another token of the owner whose token is given; it is printed once."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token of the owner whose token is given."`
}

// Help describes whose token each command needs.
func (c *AdminTokenCmd) Help() string {
	return `invite needs an admin's token: it is how owners come in with ARENA_SIGNUP=invite.
The others act for an owner, whose token stands in --token.

    arena admin token invite "Ada" --email ada@example.org
    arena admin token create ci --token aro_…
    arena admin token revoke to_… --token aro_…`
}

type (
	tokenInviteCmd struct {
		Name  string `arg:"" help:"Name of the owner, shown to everyone."`
		Email string `help:"Shown to nobody."`
	}
	tokenListCmd   struct{}
	tokenCreateCmd struct {
		Name string `arg:"" help:"What it is for."`
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

func (c *tokenListCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, "/v1/me/tokens", nil)
}

func (c *tokenCreateCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPost, "/v1/me/tokens", map[string]string{"name": c.Name})
}

func (c *tokenRevokeCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodDelete, "/v1/me/tokens/"+url.PathEscape(c.ID), nil)
}
