package worker

// Restrict is what Serve does before it reads anything.
var Restrict = restrict
