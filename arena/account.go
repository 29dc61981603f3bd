package arena

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Scope is the scope of a bearer token.
type Scope string

// The scopes of stored tokens. Task tokens are not stored: see TaskClaims.
const (
	ScopeOwner     Scope = "owner"
	ScopeAdmin     Scope = "admin"
	ScopeOrganizer Scope = "organizer" // of the leagues that the token lists
	ScopeModerator Scope = "moderator"
	ScopeAgent     Scope = "agent" // the key of one agent, which fetches and answers its tasks
)

// AdminScopes lists the scopes of tokens that belong to no owner.
func AdminScopes() []Scope { return []Scope{ScopeAdmin, ScopeOrganizer, ScopeModerator} }

// Right is a group of operations that run the arena.
type Right string

// The rights. Admins have all of them.
const (
	RightAdminister Right = "administer" // owners, tokens, new leagues, packs, ratings, nodes
	RightOrganize   Right = "organize"   // a league: its settings, seasons, entries and matches
	RightModerate   Right = "moderate"   // pause agents, cancel and void matches, read anomaly reports
)

// Token is a stored bearer token. Only the SHA-256 of its secret is kept.
type Token struct {
	ID         string
	OwnerID    string // "" for a token of one of AdminScopes
	AgentID    string // whose key it is, "" for a token of another scope
	Scope      Scope
	Leagues    []string // slugs that an organizer's token is valid for
	Name       string
	Hash       [32]byte
	Configured bool // the setting ARENA_ADMIN_TOKEN holds it, or held it before it was superseded
	CreatedAt  time.Time
	LastUsedAt time.Time
	LastUsedBy string    // network of that use, see AddressKeys; "": unknown
	ExpiresAt  time.Time // zero: never
	RevokedAt  time.Time

	OwnerSuspendedAt   time.Time // zero: its owner is not suspended
	OwnerSuspendReason string
	OwnerRole          Role // of the person who its owner is
}

// LiveAt reports whether the token is valid at now.
func (t Token) LiveAt(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// AdminTokenRequest is an admin's request for a token of one of AdminScopes.
type AdminTokenRequest struct {
	Name      string
	Scope     Scope
	Leagues   []string  // for an organizer
	ExpiresAt time.Time // zero: never
}

// Caller is the caller of an operation: the holder of a token, stored or of the
// OIDC issuer, or of a session. The zero Caller is anonymous.
type Caller struct {
	TokenID string // or that of a session
	OwnerID string // "" for one of AdminScopes
	AgentID string // of an agent's key
	Scope   Scope
	Leagues []string // of the token of an organizer
	Role    Role     // of the person who the owner is; never of an agent's key
	Address string   // as in Credentials
}

// Account returns the id that the caller's requests count against: its owner,
// whichever token, key or session it uses, or the token if that has no owner.
func (c Caller) Account() string { return cmp.Or(c.OwnerID, c.TokenID) }

// Runs returns the role in which the caller runs the arena: that of the person,
// or the one that the token stands for. It is the zero Role for all others.
func (c Caller) Runs() Role {
	if c.Role.Scope != "" {
		return c.Role
	}
	if slices.Contains(AdminScopes(), c.Scope) {
		return Role{Scope: c.Scope, Leagues: c.Leagues}
	}
	return Role{}
}

// Known reports whether the caller holds a valid token.
func (c Caller) Known() bool { return c.Scope != "" }

// IsAdmin reports whether the caller is an admin.
func (c Caller) IsAdmin() bool { return c.Runs().Scope == ScopeAdmin }

// May reports whether the caller has one of the rights. league is the league
// that the operation is about, "" for the whole arena.
func (c Caller) May(league string, rights ...Right) bool {
	role := c.Runs()
	switch role.Scope {
	case ScopeAdmin:
		return true
	case ScopeOrganizer:
		return league != "" && slices.Contains(role.Leagues, league) && slices.Contains(rights, RightOrganize)
	case ScopeModerator:
		return slices.Contains(rights, RightModerate)
	case ScopeOwner, ScopeAgent:
	}
	return false
}

// Require returns an error unless the caller has one of the rights; see May.
func (c Caller) Require(league string, rights ...Right) error {
	switch {
	case c.May(league, rights...):
		return nil
	case c.Runs().Scope == ScopeOrganizer && league != "" && slices.Contains(rights, RightOrganize):
		return Errorf(CodeForbidden, "this token is not for league %s", league)
	}
	allowed := []string{"an admin"}
	if slices.Contains(rights, RightOrganize) {
		allowed = append(allowed, "an organizer")
	}
	if slices.Contains(rights, RightModerate) {
		allowed = append(allowed, "a moderator")
	}
	return Errorf(CodeForbidden, "this needs the token of %s", strings.Join(allowed, " or "))
}

// Owns reports whether the caller may act for the owner: it is the owner, or
// an admin.
func (c Caller) Owns(ownerID string) bool {
	return c.IsAdmin() || c.Scope == ScopeOwner && c.OwnerID != "" && c.OwnerID == ownerID
}

// MayFetch reports whether the caller may fetch and answer the tasks of an
// agent: it has a key of the agent, or is its owner.
func (c Caller) MayFetch(g Agent) bool {
	return c.Scope == ScopeAgent && c.AgentID == g.ID || c.Scope == ScopeOwner && c.OwnerID == g.OwnerID
}

// ActsFor reports whether the caller may enter an agent into leagues and read what
// was sent to it: it owns the agent or has a key of it.
func (c Caller) ActsFor(g Agent) bool {
	return c.Owns(g.OwnerID) || c.Scope == ScopeAgent && c.AgentID == g.ID
}

// Credentials are the data of a request that identify its caller.
type Credentials struct {
	Secret  string // a bearer token; a secret of another kind is ""
	Given   bool   // the request has a header with credentials, valid or not
	Session string // secret of a session, from a cookie; it counts only without such a header
	Address string // IP address
}

// SiteFactor is the allowance of a whole site as a multiple of that of one
// network. It is enough for a campus and too little to make renting a /48
// worthwhile.
const SiteFactor = 8

// AddressOf returns the address of a peer without its port, as limits and logs
// have it. A text without a port is returned as it is.
func AddressOf(peer string) string {
	host, _, err := net.SplitHostPort(peer)
	if err != nil {
		return peer
	}
	return host
}

// IsLoopbackHost reports whether the host of a URL is this machine: localhost, a
// name below it (RFC 6761), or a loopback address.
func IsLoopbackHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// IsPublicAddress reports whether ip is an address of the internet: not one of
// this machine, of a link, of a private network (RFC 1918, RFC 4193) or behind
// carrier-grade NAT (RFC 6598).
func IsPublicAddress(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !netip.MustParsePrefix("100.64.0.0/10").Contains(ip)
}

// AddressKeys returns the keys under which limits count an IP address. network
// is the address itself for IPv4, and for IPv6 its /64, all of which one host
// may use. site is the /48 of an IPv6 address, "" for IPv4: one customer may use
// all of it, so limits count it too, with SiteFactor times the allowance. Any
// other text is its own network.
func AddressKeys(ip string) (network, site string) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ip, ""
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String(), ""
	}
	prefix := func(bits int) string { return netip.PrefixFrom(addr, bits).Masked().String() }
	return prefix(64), prefix(48)
}

// SharedNetworks are public address ranges that unrelated people share, such as a
// school's.
type SharedNetworks []netip.Prefix

// Network returns the network of an IP address, see AddressKeys, or "" if unrelated
// people may share it. Any address that is not public may be shared: it belongs to a
// proxy or a lab.
func (n SharedNetworks) Network(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil || !IsPublicAddress(addr) {
		return ""
	}
	network, _ := AddressKeys(ip)
	if n.Has(network) {
		return ""
	}
	return network
}

// Has reports whether a network is one of them.
func (n SharedNetworks) Has(network string) bool {
	at, err := netip.ParsePrefix(network)
	if addr, addrErr := netip.ParseAddr(network); addrErr == nil {
		at, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return err == nil && slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Overlaps(at) })
}

// SignUp is the data with which a new owner signs up.
type SignUp struct {
	Name    string // others may have the same
	Email   string // "" none
	Address string // as in Credentials
}

// Identity is a person's identity at an OIDC issuer. Issuer and Subject together
// always identify the same person.
type Identity struct {
	Issuer  string
	Subject string // 1 to 255 bytes
	Name    string // "" unknown; they choose it
	Email   string // "" unless the issuer has verified it
	Admin   bool
	// IssuedAt is when the issuer issued the token, to the second; zero unknown.
	IssuedAt time.Time
}

// SigningKey is a key pair for task tokens. A new key is published before it
// signs and an old one stays published while its tokens live.
type SigningKey struct {
	KID       string
	Alg       string // "ES256", "EdDSA", "RS256"
	Private   []byte // PKCS #8
	CreatedAt time.Time
	SignsFrom time.Time // the newest key with SignsFrom <= now signs
	ExpiresAt time.Time // no longer published from then on; zero: current
}

// TaskClaims are the claims of a task token (AAP, "Authentication"; docs/rules.md,
// section 2). A token is for one task, or, without round and body hash, for all
// tasks of an agent in a match. It also opens the agent's side of the stream.
type TaskClaims struct {
	ID        string // jti
	AgentID   string // agent_id, sub and aud
	MatchID   string
	Round     int    // 0: for all tasks of the match
	BodyHash  string // bh: base64url SHA-256 of the request's body; "": for all tasks of the match
	IssuedAt  time.Time
	ExpiresAt time.Time // exp and expires_at
}

// TokenUse is a use of a token.
type TokenUse struct {
	TokenID string
	At      time.Time
	Network string // the address came from, see AddressKeys
}

// DeletedOwner replaces the name of an owner whose personal data was deleted.
const DeletedOwner = "deleted owner"

// HiddenText replaces a text that an admin or a moderator hid.
const HiddenText = "[hidden by a moderator]"

// OwnerErasure records that the personal data of an owner was deleted. It holds
// no personal data, so it can be kept and applied again to a restored backup.
type OwnerErasure struct {
	OwnerID string
	At      time.Time
}

// SeatTexts names the texts of an agent in one match.
type SeatTexts struct {
	MatchID string
	AgentID string
}

// RotationGraces lists how long a token may stay valid after another one has
// replaced it.
func RotationGraces() []time.Duration { return []time.Duration{0, time.Hour, 24 * time.Hour} }

// Role is what a person may do beside being an owner. The zero Role is none.
type Role struct {
	Scope   Scope    // one of AdminScopes; "": no role
	Leagues []string // slugs, of an organizer
}

// Equal reports whether two roles allow the same.
func (r Role) Equal(other Role) bool {
	return r.Scope == other.Scope && slices.Equal(r.Leagues, other.Leagues)
}

// Limits of sessions.
const (
	SessionIdle    = 12 * time.Hour      // without a request
	SessionLongest = 30 * 24 * time.Hour // in all
	SessionClaimed = 8 * time.Hour       // in all, with a role by a claim of the OIDC issuer
	MaxSessions    = 20                  // of an owner at once; another one ends the oldest
)

// Session is a person who is signed in with a browser. Only the SHA-256 of its
// secret is kept.
type Session struct {
	ID         string
	OwnerID    string
	Hash       [32]byte
	Browser    string // as the person knows it, "Firefox on Linux"; "" unknown
	Admin      bool   // the OIDC issuer named the person an admin at the sign-in
	CreatedAt  time.Time
	LastUsedAt time.Time // to the minute

	Owner Owner // as it is now
}

// EndsAt returns when the session ends without another request. Requests do not extend
// one that the issuer made an admin's: the claim may be gone.
func (s Session) EndsAt() time.Time {
	if s.Admin {
		return s.CreatedAt.Add(SessionClaimed)
	}
	end, longest := s.LastUsedAt.Add(SessionIdle), s.CreatedAt.Add(SessionLongest)
	if longest.Before(end) {
		return longest
	}
	return end
}

// Caller returns the caller that the session stands for.
func (s Session) Caller() Caller {
	c := Caller{TokenID: s.ID, OwnerID: s.OwnerID, Scope: ScopeOwner, Role: s.Owner.Role}
	if s.Admin {
		c.Role = Role{Scope: ScopeAdmin}
	}
	return c
}

// Invitation lets people sign up who have its link. Only the SHA-256 of its
// secret is kept.
type Invitation struct {
	ID        string
	Hash      [32]byte
	Role      Role   // that it grants
	Name      string // of the person; "" unknown
	Email     string // "" unknown
	Uses      int    // how many people may use it
	Used      int    // how many have
	CreatedAt time.Time
	CreatedBy string // as the actor of the audit log
	ExpiresAt time.Time
	RevokedAt time.Time
}

// Open returns nil when the invitation can be used at now, else why not.
func (i Invitation) Open(now time.Time) error {
	switch {
	case !i.RevokedAt.IsZero():
		return Errorf(CodeInvitationRevoked, "this invitation was withdrawn; ask an admin for another")
	case i.Used >= i.Uses:
		return Errorf(CodeInvitationUsed, "this invitation was used already; ask an admin for another")
	case !now.Before(i.ExpiresAt):
		return Errorf(CodeInvitationExpired, "this invitation expired at %s; ask an admin for another", i.ExpiresAt.UTC().Format(TimeFormat))
	}
	return nil
}

// InvitationRequest is an admin's request for an invitation.
type InvitationRequest struct {
	Role      Role
	Name      string
	Email     string
	ExpiresIn time.Duration // 0: the default
	Uses      int           // 0: one
}

// Joining is the data with which a person takes up an invitation.
type Joining struct {
	Secret  string // of the invitation
	Name    string // of the new owner; "": the invitation's
	Email   string
	Address string // as in Credentials
}

// Joined is what a person who has joined with an invitation adds to the arena.
type Joined struct {
	Owner    Owner                   // new, or known by its id, with the role that it has from now on
	Accept   func(known Owner) error // whether a known owner may join
	Tokens   []Token                 // of a new owner
	Identity Identity                // of the issuer; zero: none
	Audit    []AuditEntry
}

// SignIn is what the browser of a person who signs in sent.
type SignIn struct {
	Browser    string // "Firefox on Linux"; "" unknown
	Address    string // as in Credentials
	Invitation string // secret of the invitation that the person takes up; "" none
}

// SignInAttempt is a sign-in with an OIDC issuer that has begun. The browser keeps
// it until the issuer sends the person back.
type SignInAttempt struct {
	State      string
	Nonce      string
	Verifier   string // PKCE (RFC 7636)
	Return     string // path of the page to show then
	Invitation string // secret of the invitation that the person takes up; "" none
	Remember   bool   // the cookie of the session outlives the browser
}

// MailKind is what a mail is about.
type MailKind string

// The kinds of mails.
const (
	MailConfirm MailKind = "confirm" // a link that confirms the address of an owner
	MailReset   MailKind = "reset"   // links that re-issue the tokens of the owners with an address
	MailPause   MailKind = "pause"   // the arena has paused an agent
)

// QueuedMail is a mail that waits for its delivery. It holds neither its text nor
// a link, which are made when it is sent.
type QueuedMail struct {
	ID        string
	Kind      MailKind
	OwnerID   string      // "" of MailReset: the owners are looked up when it is sent
	AgentID   string      // of MailPause
	Pause     PauseReason // of MailPause
	Address   string      // it is sent to, or that a reset was asked for
	CreatedAt time.Time
	NextAt    time.Time // of the next attempt
	GiveUpAt  time.Time // no attempt begins from then on
	EndedAt   time.Time // sent, or given up; zero: it waits
	Attempts  int       // that have begun
}

// MailLimits bound how many mails are queued.
type MailLimits struct {
	Waiting  int           // that wait, in all
	PerHour  int           // of one kind to one address
	PerAgent time.Duration // between two mails about one agent
}

// MailLink is a link of a mail, which can be used once. Only the SHA-256 of its
// secret is kept.
type MailLink struct {
	Hash      [32]byte
	Kind      MailKind
	OwnerID   string
	Address   string // it was sent to
	ExpiresAt time.Time
}

// MailSettings are changes to where and whether an owner gets mails; nil: as
// before.
type MailSettings struct {
	Email  *string // "" none
	Pauses *bool   // whether the arena writes when it pauses an agent
}
