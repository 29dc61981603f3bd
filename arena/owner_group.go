package arena

import "cmp"

// UnratedReason is why a match between agents of a rated league is not rated.
type UnratedReason string

// The reasons why two agents are not rated against each other (docs/rules.md,
// section 7; threat G1).
const (
	UnratedSameOwner      UnratedReason = "same_owner"
	UnratedSharedEndpoint UnratedReason = "shared_endpoint" // agents of both owners have the same host and port
	UnratedSharedKey      UnratedReason = "shared_key"      // agents of both owners have the same key
	UnratedPairLimit      UnratedReason = "pair_limit"      // they have met too often today
	UnratedChallenge      UnratedReason = "challenge"
	UnratedRequest        UnratedReason = "request" // an admin asked for an unrated match
)

// OwnerLink is something that agents of one or more owners have: where they
// are, or their key.
type OwnerLink struct {
	OwnerID string
	Kind    UnratedReason // UnratedSharedEndpoint or UnratedSharedKey
	Value   string
	First   string // id of the agent that had it first
	FirstOf string // that agent's owner
}

// OwnerGroups are owners that are one group for rated play, because they share a
// link. Sharing is not carried on from owner to owner: otherwise an owner who
// registers the endpoints of others would make one group of them.
type OwnerGroups struct {
	links map[string]map[OwnerLink]bool // by owner, without owner and first agent
	group map[string]string
}

// NewOwnerGroups returns the groups of the owners of links.
func NewOwnerGroups(links []OwnerLink) OwnerGroups {
	g := OwnerGroups{links: map[string]map[OwnerLink]bool{}, group: map[string]string{}}
	first := map[string]string{}
	for _, l := range links {
		if g.links[l.OwnerID] == nil {
			g.links[l.OwnerID] = map[OwnerLink]bool{}
		}
		g.links[l.OwnerID][OwnerLink{Kind: l.Kind, Value: l.Value}] = true
		if f, ok := first[l.OwnerID]; !ok || l.First < f {
			first[l.OwnerID], g.group[l.OwnerID] = l.First, l.FirstOf
		}
	}
	return g
}

// Group returns the name of an owner's group: the owner that was the first to
// have one of the owner's links.
func (g OwnerGroups) Group(ownerID string) string { return cmp.Or(g.group[ownerID], ownerID) }

// Unrated returns why agents of two owners are not rated against each other, ""
// if they are.
func (g OwnerGroups) Unrated(a, b string) UnratedReason {
	if a == b && a != "" {
		return UnratedSameOwner
	}
	var shared UnratedReason
	for l := range g.links[a] {
		if g.links[b][l] {
			shared = max(shared, l.Kind) // a key outranks an endpoint, whatever the order of the map
		}
	}
	if shared == "" && a != "" && b != "" && g.Group(a) == g.Group(b) {
		return UnratedSharedEndpoint
	}
	return shared
}
