package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// People is the part of the service for owners that signs people in, invites them
// and assigns roles to them.
type People interface {
	SignIn(ctx context.Context, id arena.Identity, in arena.SignIn) (secret string, s arena.Session, err error)
	Sessions(ctx context.Context, caller arena.Caller) ([]arena.Session, error)
	EndSession(ctx context.Context, caller arena.Caller, id string) error

	People(ctx context.Context, caller arena.Caller) ([]arena.Owner, error)
	SetRole(ctx context.Context, caller arena.Caller, ownerID string, role arena.Role) (arena.Owner, error)
	RemoveRole(ctx context.Context, caller arena.Caller, ownerID string) error

	Invite(ctx context.Context, caller arena.Caller, in arena.InvitationRequest) (i arena.Invitation, secret string, err error)
	Invitations(ctx context.Context, caller arena.Caller) ([]arena.Invitation, error)
	RevokeInvitation(ctx context.Context, caller arena.Caller, id string) error
	Invitation(ctx context.Context, secret, address string) (arena.Invitation, error)
	Join(ctx context.Context, caller arena.Caller, in arena.Joining) (o arena.Owner, secret string, err error)
}

// SignInProvider is the OIDC provider that people sign in with.
type SignInProvider interface {
	Begin(ctx context.Context) (address string, a arena.SignInAttempt, err error)
	Finish(ctx context.Context, a arena.SignInAttempt, query url.Values) (arena.Identity, error)
	// Ready returns nil when people can sign in now.
	Ready(ctx context.Context) error
}

// SignInOptions say how people sign in with a browser.
type SignInOptions struct {
	Provider SignInProvider // nil: with tokens alone
	Name     string         // of the provider, for people
	Signup   string         // ARENA_SIGNUP
	Mail     bool           // the arena writes to owners
}

// The cookies of people who sign in and are signed in.
const (
	sessionCookie = "arena_session"
	attemptCookie = "arena_signin"
	attemptAge    = 15 * time.Minute // to sign in at the provider
)

// peopleHandlers serve the routes of sessions, invitations and roles.
type peopleHandlers struct {
	people People
	signIn SignInOptions
	url    string // of the arena
	https  bool
	now    func() time.Time
}

// cookie returns a Set-Cookie header. Without a value it removes the cookie; with
// an age of 0 the cookie ends with the browser.
func (h *peopleHandlers) cookie(name, value string, age time.Duration) string {
	c := http.Cookie{ //nolint:gosec // G124: an arena on http has no secure cookies
		Name: cookieName(name, h.https), Value: value, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, Secure: h.https, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c.String()
}

type providerView struct {
	Name      string `json:"name"`
	Available bool   `json:"available" doc:"People can sign in with it now."`
}

type signInView struct {
	Signup   string        `json:"signup" enum:"open,invite,closed"`
	Provider *providerView `json:"provider,omitempty" doc:"That people sign in with; absent: with tokens alone."`
	Session  bool          `json:"session" doc:"The request has the cookie of a session."`
	Mail     bool          `json:"mail" doc:"The arena sends mail: addresses can be confirmed, and lost tokens re-issued."`
}

// ways answers how people can sign in.
func (h *peopleHandlers) ways(ctx context.Context, _ *struct{}) (*output[signInView], error) {
	v := signInView{Signup: h.signIn.Signup, Mail: h.signIn.Mail, Session: strings.HasPrefix(callerOf(ctx).TokenID, arena.SessionPrefix)}
	if h.signIn.Provider != nil {
		v.Provider = &providerView{Name: h.signIn.Name, Available: h.signIn.Provider.Ready(ctx) == nil}
	}
	return answer(v)
}

type beginInput struct {
	Return     string `query:"return" maxLength:"500" doc:"Path of the page to show then, such as /console; /console by default."`
	Invitation string `query:"invitation" maxLength:"100" doc:"Secret of the invitation that the person takes up."`
	Remember   bool   `query:"remember" default:"true" doc:"Keep the session when the browser closes; false: its cookie has no expiry time."`
}

// redirect sends a browser elsewhere.
type redirect struct {
	Location string   `header:"Location"`
	Cookies  []string `header:"Set-Cookie"`
}

// begin sends a browser to the provider. What must be the same when it comes back
// goes along in a cookie, so that any node can finish the sign-in, and no other
// browser.
func (h *peopleHandlers) begin(ctx context.Context, in *beginInput) (*redirect, error) {
	if h.signIn.Provider == nil {
		return nil, errNoProvider()
	}
	back, err := pathOf(in.Return)
	if err != nil {
		return nil, err
	}
	address, attempt, err := h.signIn.Provider.Begin(ctx)
	if arena.CodeOf(err) == arena.CodeUnavailable {
		return &redirect{Location: withOutcome(back, err)}, nil
	}
	if err != nil {
		return nil, err
	}
	attempt.Return, attempt.Invitation, attempt.Remember = back, in.Invitation, in.Remember
	text, err := json.Marshal(attempt)
	if err != nil {
		return nil, err
	}
	return &redirect{Location: address, Cookies: []string{h.cookie(attemptCookie, base64.RawURLEncoding.EncodeToString(text), attemptAge)}}, nil
}

func errNoProvider() error {
	return arena.Errorf(arena.CodeNotFound, "this arena has no provider to sign in with")
}

// consolePath is where people go who have signed in, by default.
const consolePath = "/console"

// pathOf returns the path of a page of this arena, and never an address of
// another site.
func pathOf(page string) (string, error) {
	if page == "" {
		return consolePath, nil
	}
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || !strings.HasPrefix(page, "/") || strings.HasPrefix(page, "//") || strings.ContainsAny(page, "\\\r\n\t") {
		return "", arena.Invalid("return", "must be the path of a page, such as %s", consolePath)
	}
	return page, nil
}

type finishInput struct {
	cookie  func(name string) string
	query   url.Values
	browser string
	address string
}

// Resolve reads what the provider and the browser send.
func (in *finishInput) Resolve(hc huma.Context) []error {
	r := humagin.Unwrap(hc).Request
	in.query, in.address, in.browser = r.URL.Query(), clientIP(hc), browserOf(r.UserAgent())
	in.cookie = func(name string) string {
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
		return ""
	}
	return nil
}

// describeCallback lets providers add parameters (RFC 6749, section 4.1.2).
func describeCallback(op *huma.Operation) { op.SkipValidateParams = true }

// finish signs in a person whom the provider has sent back, and shows the page
// that the sign-in began on. A failure is shown there too.
func (h *peopleHandlers) finish(ctx context.Context, in *finishInput) (*redirect, error) {
	if h.signIn.Provider == nil {
		return nil, errNoProvider()
	}
	var attempt arena.SignInAttempt
	if text, err := base64.RawURLEncoding.DecodeString(in.cookie(cookieName(attemptCookie, h.https))); err == nil {
		if strictjson.Unmarshal(text, &attempt) != nil {
			attempt = arena.SignInAttempt{} // it has no state, which fits nothing
		}
	}
	back, err := pathOf(attempt.Return)
	if err != nil {
		back = consolePath
	}
	answer := &redirect{Location: back, Cookies: []string{h.cookie(attemptCookie, "", 0)}}
	secret, err := h.signInWith(ctx, attempt, in)
	switch {
	case err == nil:
		age := arena.SessionLongest
		if !attempt.Remember {
			age = 0
		}
		answer.Cookies = append(answer.Cookies, h.cookie(sessionCookie, secret, age))
	case arena.CodeOf(err) == arena.CodeInternal:
		return nil, err
	default:
		answer.Location = withOutcome(back, err)
	}
	return answer, nil
}

func (h *peopleHandlers) signInWith(ctx context.Context, attempt arena.SignInAttempt, in *finishInput) (secret string, err error) {
	id, err := h.signIn.Provider.Finish(ctx, attempt, in.query)
	if err != nil {
		return "", err
	}
	secret, _, err = h.people.SignIn(ctx, id, arena.SignIn{Browser: in.browser, Address: in.address, Invitation: attempt.Invitation})
	return secret, err
}

// withOutcome returns the path of a page that says why a sign-in failed.
func withOutcome(page string, err error) string {
	u, parseErr := url.Parse(page)
	if parseErr != nil {
		u = &url.URL{Path: consolePath}
	}
	q := u.Query()
	q.Set("signin", string(arena.CodeOf(err)))
	u.RawQuery = q.Encode()
	return u.String()
}

// browserOf returns what people call the browser that a User-Agent header names;
// "" when it is none of the common ones.
func browserOf(agent string) string {
	find := func(names ...[2]string) string {
		for _, n := range names {
			if strings.Contains(agent, n[0]) {
				return n[1]
			}
		}
		return ""
	}
	browser := find([2]string{"Firefox/", "Firefox"}, [2]string{"Edg/", "Edge"}, [2]string{"OPR/", "Opera"}, [2]string{"Chrome/", "Chrome"}, [2]string{"Safari/", "Safari"})
	system := find([2]string{"Android", "Android"}, [2]string{"iPhone", "iOS"}, [2]string{"iPad", "iPadOS"}, [2]string{"Windows", "Windows"}, [2]string{"Mac OS", "macOS"}, [2]string{"Linux", "Linux"})
	if browser == "" || system == "" {
		return browser + system
	}
	return browser + ", " + system
}

type sessionView struct {
	SessionID  string   `json:"session_id"`
	Browser    string   `json:"browser,omitempty"`
	CreatedAt  jsonTime `json:"created_at"`
	LastUsedAt jsonTime `json:"last_used_at" doc:"To the minute."`
	EndsAt     jsonTime `json:"ends_at" doc:"Without another request."`
	Current    bool     `json:"current" doc:"It is the session of this request."`
}

func (h *peopleHandlers) sessions(ctx context.Context, in *PartParams) (*output[listOf[sessionView]], error) {
	caller := callerOf(ctx)
	sessions, err := h.people.Sessions(ctx, caller)
	if err != nil {
		return nil, err
	}
	var items []sessionView
	for _, s := range sessions {
		items = append(items, sessionView{
			SessionID: s.ID, Browser: s.Browser, CreatedAt: jsonTime(s.CreatedAt), LastUsedAt: jsonTime(s.LastUsedAt), EndsAt: jsonTime(s.EndsAt()),
			Current: s.ID == caller.TokenID,
		})
	}
	return answerPart(*in, items)
}

type signedOut struct {
	Cookie string `header:"Set-Cookie"`
}

func (h *peopleHandlers) endSession(ctx context.Context, in *IDParam) (*signedOut, error) {
	caller := callerOf(ctx)
	if err := h.people.EndSession(ctx, caller, in.ID); err != nil {
		return nil, err
	}
	if in.ID != caller.TokenID {
		return &signedOut{}, nil
	}
	return &signedOut{Cookie: h.cookie(sessionCookie, "", 0)}, nil
}

func (h *peopleHandlers) signOut(ctx context.Context, _ *struct{}) (*signedOut, error) {
	caller := callerOf(ctx)
	if !strings.HasPrefix(caller.TokenID, arena.SessionPrefix) {
		return nil, arena.Errorf(arena.CodeConflict, "this request has a token, not a session")
	}
	return h.endSession(ctx, &IDParam{ID: caller.TokenID})
}

type personView struct {
	OwnerID     string      `json:"owner_id"`
	Name        string      `json:"name"`
	Email       string      `json:"email,omitempty"`
	Role        arena.Scope `json:"role" enum:"admin,organizer,moderator"`
	Leagues     []string    `json:"leagues,omitempty" doc:"Of an organizer."`
	CreatedAt   jsonTime    `json:"created_at"`
	SuspendedAt *jsonTime   `json:"suspended_at,omitempty" doc:"Absent: they are not suspended."`
	Current     bool        `json:"current" doc:"They sent this request."`
}

func viewPerson(o arena.Owner, caller arena.Caller) personView {
	return personView{
		OwnerID: o.ID, Name: o.Name, Email: o.Email, Role: o.Role.Scope, Leagues: o.Role.Leagues, CreatedAt: jsonTime(o.CreatedAt),
		SuspendedAt: optionalTime(o.SuspendedAt), Current: o.ID == caller.OwnerID,
	}
}

func (h *peopleHandlers) list(ctx context.Context, in *PartParams) (*output[listOf[personView]], error) {
	var items []personView
	caller := callerOf(ctx)
	owners, err := h.people.People(ctx, caller)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		items = append(items, viewPerson(o, caller))
	}
	return answerPart(*in, items)
}

type setRoleInput struct {
	IDParam
	Body struct {
		Role    arena.Scope `json:"role" enum:"admin,organizer,moderator"`
		Leagues []string    `json:"leagues,omitempty" maxItems:"100" doc:"Slugs; only of an organizer."`
	} `nameHint:"SetRoleBody"`
}

func (h *peopleHandlers) setRole(ctx context.Context, in *setRoleInput) (*output[personView], error) {
	caller := callerOf(ctx)
	o, err := h.people.SetRole(ctx, caller, in.ID, arena.Role{Scope: in.Body.Role, Leagues: in.Body.Leagues})
	if err != nil {
		return nil, err
	}
	return answer(viewPerson(o, caller))
}

func (h *peopleHandlers) removeRole(ctx context.Context, in *IDParam) (*empty, error) {
	return &empty{}, h.people.RemoveRole(ctx, callerOf(ctx), in.ID)
}

type inviteInput struct {
	Body struct {
		Role      arena.Scope `json:"role,omitempty" enum:"admin,organizer,moderator" doc:"That the person gets; left out: none."`
		Leagues   []string    `json:"leagues,omitempty" maxItems:"100" doc:"Slugs; only of an organizer."`
		Name      string      `json:"name,omitempty" maxLength:"40" doc:"Of the person, who may change it."`
		Email     string      `json:"email,omitempty" maxLength:"254" format:"email"`
		ExpiresIn int         `json:"expires_in,omitempty" minimum:"60" maximum:"7776000" doc:"Seconds; 7 days by default."`
		Uses      int         `json:"uses,omitempty" minimum:"1" maximum:"100" doc:"How many people may use it, one by default. One with a role is for one person."`
	} `nameHint:"InviteBody"`
}

type invitationView struct {
	InvitationID string      `json:"invitation_id"`
	State        string      `json:"state" enum:"open,used,expired,revoked"`
	Role         arena.Scope `json:"role,omitempty" enum:"admin,organizer,moderator"`
	Leagues      []string    `json:"leagues,omitempty"`
	Name         string      `json:"name,omitempty"`
	Email        string      `json:"email,omitempty"`
	Uses         int         `json:"uses"`
	Used         int         `json:"used"`
	CreatedAt    jsonTime    `json:"created_at"`
	CreatedBy    string      `json:"created_by" doc:"As the actor of the audit log."`
	ExpiresAt    jsonTime    `json:"expires_at"`
	URL          string      `json:"url,omitempty" doc:"The link to send. It is shown once."`
}

func (h *peopleHandlers) viewInvitation(i arena.Invitation) invitationView {
	state := cmp.Or(map[arena.Code]string{
		arena.CodeInvitationUsed: "used", arena.CodeInvitationExpired: "expired", arena.CodeInvitationRevoked: "revoked",
	}[arena.CodeOf(i.Open(h.now()))], "open")
	return invitationView{
		InvitationID: i.ID, State: state, Role: i.Role.Scope, Leagues: i.Role.Leagues, Name: i.Name, Email: i.Email, Uses: i.Uses, Used: i.Used,
		CreatedAt: jsonTime(i.CreatedAt), CreatedBy: i.CreatedBy, ExpiresAt: jsonTime(i.ExpiresAt),
	}
}

func (h *peopleHandlers) invite(ctx context.Context, in *inviteInput) (*output[invitationView], error) {
	b := in.Body
	i, secret, err := h.people.Invite(ctx, callerOf(ctx), arena.InvitationRequest{
		Role: arena.Role{Scope: b.Role, Leagues: b.Leagues}, Name: b.Name, Email: b.Email, ExpiresIn: time.Duration(b.ExpiresIn) * time.Second, Uses: b.Uses,
	})
	if err != nil {
		return nil, err
	}
	v := h.viewInvitation(i)
	v.URL = h.url + "/invite/" + secret
	return answer(v)
}

func (h *peopleHandlers) invitations(ctx context.Context, in *PartParams) (*output[listOf[invitationView]], error) {
	invitations, err := h.people.Invitations(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	var items []invitationView
	for _, i := range invitations {
		items = append(items, h.viewInvitation(i))
	}
	return answerPart(*in, items)
}

func (h *peopleHandlers) revokeInvitation(ctx context.Context, in *IDParam) (*empty, error) {
	return &empty{}, h.people.RevokeInvitation(ctx, callerOf(ctx), in.ID)
}

// FromAddress notes the address of a request, for limits. Huma resolves embedded
// exported types only.
type FromAddress struct{ address string }

// Resolve implements huma.Resolver.
func (in *FromAddress) Resolve(ctx huma.Context) []error {
	in.address = clientIP(ctx)
	return nil
}

type invitedInput struct {
	FromAddress
	Body struct {
		Invitation string `json:"invitation" minLength:"1" maxLength:"100" doc:"The last part of the link."`
	} `nameHint:"InvitedBody"`
}

type invitedView struct {
	Role      arena.Scope `json:"role,omitempty" enum:"admin,organizer,moderator"`
	Leagues   []string    `json:"leagues,omitempty"`
	Name      string      `json:"name,omitempty"`
	ExpiresAt jsonTime    `json:"expires_at"`
}

func (h *peopleHandlers) invited(ctx context.Context, in *invitedInput) (*output[invitedView], error) {
	i, err := h.people.Invitation(ctx, in.Body.Invitation, in.address)
	if err != nil {
		return nil, err
	}
	return answer(invitedView{Role: i.Role.Scope, Leagues: i.Role.Leagues, Name: i.Name, ExpiresAt: jsonTime(i.ExpiresAt)})
}

type joinInput struct {
	FromAddress
	Body struct {
		Invitation string `json:"invitation" minLength:"1" maxLength:"100" doc:"The last part of the link."`
		Name       string `json:"name,omitempty" maxLength:"40" doc:"Of the new owner; left out: that of the invitation."`
		Email      string `json:"email,omitempty" maxLength:"254" format:"email" doc:"Stored, and never shown."`
	} `nameHint:"JoinBody"`
}

type joinedView struct {
	OwnerID string      `json:"owner_id"`
	Role    arena.Scope `json:"role,omitempty" enum:"admin,organizer,moderator"`
	Leagues []string    `json:"leagues,omitempty"`
	Token   string      `json:"token,omitempty" doc:"The new owner's bearer token. It is shown once; absent for an owner who has joined."`
}

func (h *peopleHandlers) join(ctx context.Context, in *joinInput) (*output[joinedView], error) {
	o, secret, err := h.people.Join(ctx, callerOf(ctx), arena.Joining{Secret: in.Body.Invitation, Name: in.Body.Name, Email: in.Body.Email, Address: in.address})
	if err != nil {
		return nil, err
	}
	return answer(joinedView{OwnerID: o.ID, Role: o.Role.Scope, Leagues: o.Role.Leagues, Token: secret})
}
