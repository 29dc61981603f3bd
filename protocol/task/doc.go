// Package task holds the two JSON texts that are the same whatever protocol
// carries them: the task that an agent gets and the answer that it gives, both
// as AAP describes them ("Request format", "Response format").
//
// It owns their shapes and how strictly an answer is read. It leaves to each
// protocol what stands around them.
package task
