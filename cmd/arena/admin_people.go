package main

import (
	"net/http"
	"net/url"
	"time"
)

// AdminPeopleCmd groups the commands on owners with a role and on invitations.
type AdminPeopleCmd struct {
	List        peopleListCmd     `cmd:"" help:"Owners with a role."`
	Set         peopleSetCmd      `cmd:"" help:"Give an owner a role, or change it."`
	Remove      removeCmd         `cmd:"" help:"Take an owner's role away."`
	Invite      peopleInviteCmd   `cmd:"" help:"Make a link with which people sign up; it is printed once."`
	Invitations invitationsCmd    `cmd:"" help:"Invitations, newest first."`
	Withdraw    invitationDropCmd `cmd:"" help:"Withdraw an invitation."`
}

// Help shows the commands at work.
func (c *AdminPeopleCmd) Help() string {
	return `A person is an owner who may have a role: admin, organizer of given leagues, or
moderator. A change applies to the next request.

    arena admin people set ow_… organizer --league cup
    arena admin people invite "Ada" --role moderator --expires 48h
    arena admin people remove ow_…`
}

type (
	peopleListCmd struct{}
	peopleSetCmd  struct {
		ID     string   `arg:"" help:"The owner_id (arena admin owner list)."`
		Role   string   `arg:"" help:"admin, organizer or moderator."`
		League []string `placeholder:"SLUG" help:"A league of an organizer; may be repeated."`
	}
	peopleInviteCmd struct {
		Name    string        `arg:"" optional:"" help:"Of the person, who may change it."`
		Email   string        `help:"Stored, and never shown."`
		Role    string        `placeholder:"ROLE" help:"admin, organizer or moderator; left out: none."`
		League  []string      `placeholder:"SLUG" help:"A league of an organizer; may be repeated."`
		Uses    int           `placeholder:"N" help:"How many people may use the link; one by default, and with a role."`
		Expires time.Duration `placeholder:"168h" help:"Time until it ends; 7 days by default."`
	}
	invitationsCmd    struct{ listCmd }
	invitationDropCmd struct {
		ID string `arg:"" help:"The invitation_id of invitations."`
	}
)

func (c *peopleListCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, "/v1/admin/people", nil)
}

func (c *peopleSetCmd) Run(app *App, admin *AdminCmd) error {
	body := map[string]any{"role": c.Role}
	if len(c.League) > 0 {
		body["leagues"] = c.League
	}
	return admin.call(app, http.MethodPut, "/v1/admin/people/"+url.PathEscape(c.ID), body)
}

func (c *peopleInviteCmd) Run(app *App, admin *AdminCmd) error {
	body := map[string]any{}
	for name, value := range map[string]string{"name": c.Name, "email": c.Email, "role": c.Role} {
		if value != "" {
			body[name] = value
		}
	}
	if len(c.League) > 0 {
		body["leagues"] = c.League
	}
	if c.Uses != 0 {
		body["uses"] = c.Uses
	}
	if c.Expires != 0 {
		body["expires_in"] = int(c.Expires.Seconds())
	}
	return admin.call(app, http.MethodPost, "/v1/admin/invitations", body)
}

func (c *invitationsCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, "/v1/admin/invitations"+c.query(), nil)
}

func (c *invitationDropCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodDelete, "/v1/admin/invitations/"+url.PathEscape(c.ID), nil)
}
