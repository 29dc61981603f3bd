package storetest

import "testing"

// Run runs the suite. url makes a database for one test: every test has its
// own and they run in parallel.
func Run(t *testing.T, url func(t *testing.T) string) {
	t.Helper()
	for name, test := range map[string]func(*fixture){
		"CreateOwner":                          createOwner,
		"Tokens":                               tokens,
		"TokenByHash":                          tokenByHash,
		"SigningKeys":                          signingKeys,
		"FirstSigningKey/nodes_agree":          firstSigningKey,
		"CreateAgent":                          createAgent,
		"Agents":                               listAgents,
		"UpdateAgent":                          updateAgent,
		"UpdateAgent/retire":                   retireAgent,
		"UpdateAgent/nothing_lost":             updateAgentRace,
		"RecordProbe":                          recordProbe,
		"Pages":                                pages,
		"Leagues":                              leagues,
		"Enter":                                enter,
		"Packs":                                packs,
		"Seasons":                              seasons,
		"Verdicts":                             verdicts,
		"Votes":                                votes,
		"AgentClaims":                          agentClaims,
		"Leases/clock_jumps":                   clockJump,
		"Dodges":                               dodges,
		"AuditLog":                             auditLog,
		"Fit":                                  fits,
		"RecentTasks":                          recentTasks,
		"Tell":                                 tell,
		"RebuildRatings":                       rebuild,
		"Standings":                            standings,
		"CreateMatch":                          createMatch,
		"CreateAndClaim":                       createAndClaim,
		"CreateAndClaim/free_seats":            createAndClaimRace,
		"Matches":                              listMatches,
		"EndMatch":                             endMatch,
		"Meetings":                             meetings,
		"ClaimTick":                            claimTick,
		"ClaimMatches":                         claimMatches,
		"ClaimMatches/free_seats":              claimFreeSeats,
		"ClaimMatches/each_once":               claimRace,
		"Outages":                              outages,
		"ClaimMatches/free_seats_across_nodes": claimFreeSeatsRace,
		"Leases":                               leases,
		"Fencing":                              fencing,
		"StartMatch":                           startMatch,
		"OpenRound":                            openRound,
		"SaveAnswer":                           saveAnswer,
		"Deliveries":                           deliveries,
		"CloseRound":                           closeRound,
		"CloseRound/seals":                     sealed,
		"AppendEvents":                         appendEvents,
		"AppendEvents/races_with_the_end":      appendRace,
		"ArchiveMatches":                       archiveMatches,
		"ArchiveMatches/many_parts":            archiveLarge,
		"ArchiveMatches/nodes_and_readers":     archiveRace,
		"Drop":                                 retention,
		"Settle":                               settle,
		"Settle/twice_changes_nothing":         settleTwice,
		"Settle/undone":                        settleUndone,
		"Settle/many_seats":                    settleMany,
		"Settle/one_order":                     settleRace,
		"Settlements/replay":                   replay,
		"VoidMatch":                            voidMatch,
		"Opponents":                            opponents,
		"Counts":                               counts,
		"Reopen":                               reopen,
		"Close":                                closed,
		"StrangeText":                          strangeText,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFixture(t, url(t)))
		})
	}
}
