package worker

// Restrict and ServeUnrestricted are the two halves of Serve.
var (
	Restrict          = restrict
	ServeUnrestricted = serve
)
