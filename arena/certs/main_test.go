package certs

import (
	"testing"

	"go.uber.org/goleak"
)

// certmagic keeps a limiter of its rate for each account.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/caddyserver/certmagic.(*RingBufferRateLimiter).loop"))
}
