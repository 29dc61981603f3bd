// Package budgets reads what agents have played and spent: for the budgets of
// their owners and for the pace of leagues.
//
// Package store embeds its types, so that their operations are operations of
// the store. It imports arena and the internal packages of the store.
package budgets
