package rules

// Builtin returns the rules of the games that are part of the arena.
func Builtin() []Rules {
	return []Rules{Chess(), ConnectFour(), KuhnPoker(), LiarsDice(), Negotiation()}
}
