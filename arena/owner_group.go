package arena

import (
	"cmp"
	"slices"
)

// UnratedReason is why a match between agents of a rated league is not rated.
type UnratedReason string

// The reasons why two agents are not rated against each other (docs/rules.md,
// section 7; threat G1).
const (
	UnratedSameOwner      UnratedReason = "same_owner"
	UnratedSharedEndpoint UnratedReason = "shared_endpoint" // agents of both owners have the same host and port
	UnratedSharedKey      UnratedReason = "shared_key"      // agents of both owners have the same key
	UnratedSharedDomain   UnratedReason = "shared_domain"   // their endpoints are under the same registrable domain
	UnratedSharedNetwork  UnratedReason = "shared_network"  // both signed up from the same public network
	UnratedPairLimit      UnratedReason = "pair_limit"      // they have met too often today
	UnratedChallenge      UnratedReason = "challenge"
	UnratedRequest        UnratedReason = "request" // an admin asked for an unrated match
)

// OwnerLinkKinds returns all kinds of links: those that always put owners into
// one group for rated play, and those that do so only if the operator enables
// them, because honest owners often share them (a hosting provider, a campus).
func OwnerLinkKinds() (always, optional []UnratedReason) {
	return []UnratedReason{UnratedSharedEndpoint, UnratedSharedKey}, []UnratedReason{UnratedSharedDomain, UnratedSharedNetwork}
}

// OwnerLink is a property that owners may share: the location or the key of
// their agents, or the network that they signed up from.
type OwnerLink struct {
	OwnerID string
	Kind    UnratedReason // one of OwnerLinkKinds
	Value   string
	First   string // id of the agent, or of the owner, that had it first
	FirstOf string // that agent's owner
}

// SharedLink is a link that several owners have in common.
type SharedLink struct {
	Kind     UnratedReason
	Value    string
	OwnerIDs []string // two or more, ascending
}

// SharedLinks returns the links that two or more owners share, by kind and
// value.
func SharedLinks(links []OwnerLink) []SharedLink {
	owners := map[OwnerLink][]string{}
	for _, l := range links {
		key := OwnerLink{Kind: l.Kind, Value: l.Value}
		owners[key] = append(owners[key], l.OwnerID)
	}
	var shared []SharedLink
	for key, ids := range owners {
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) > 1 {
			shared = append(shared, SharedLink{key.Kind, key.Value, ids})
		}
	}
	slices.SortFunc(shared, func(a, b SharedLink) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
	})
	return shared
}

// OwnerGroups groups owners that share a link for rated play. Sharing is not
// transitive: otherwise an owner could merge the groups of others by registering
// their endpoints.
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

// Group returns the name of an owner's group: the first owner that had one of
// the owner's links.
func (g OwnerGroups) Group(ownerID string) string { return cmp.Or(g.group[ownerID], ownerID) }

// Unrated returns why agents of two owners are not rated against each other, or
// "" if they are.
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
