package db

// Positional is positional with its arguments put in order.
func Positional(query string, args ...any) (string, []any) {
	text, order := positional(query)
	return text, arrange(order, args)
}
