// Package account is the service for owners and tokens: it signs owners up and
// in, invites people and gives them roles, makes and revokes their tokens and
// those of admins, organizers and moderators, suspends owners, identifies callers
// by sessions and by tokens of the arena or of an OIDC issuer, and makes the
// first admin token. It confirms addresses and re-issues tokens with links of mails.
//
// It owns the rules for these operations, the order in which quotas and
// credentials are checked, and their audit entries. It leaves secrets and the
// signatures of OIDC tokens to internal/token, the counting of quotas to
// internal/quota, the mails to internal/mail, and rows to store. What a caller may do is for the service that
// it calls.
//
// It imports arena and internal/plaintext. Failures are *arena.Error.
package account
