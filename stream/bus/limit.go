package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrAway is returned when Redis is unavailable: decide without it.
var ErrAway = errors.New("redis is unavailable")

// bucket is a token bucket as one number, the time at which it is full again
// (GCRA). Redis's own clock counts, in microseconds; whole numbers of that
// size must be written out, since Lua would round them to 14 digits.
func bucket() *redis.Script {
	return redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local step, room = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + step
if full - now > room then
  return full - now - room
end
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', string.format('%.0f', math.ceil((full - now) / 1000)))
return 0`)
}

// Take uses one of limit tokens of key, which come back over window, and
// counts over all nodes. When there is none it reports false and how long to
// wait for one. An error, such as ErrAway, means that nothing was decided: the
// caller must fall back to a limit of its own. It takes at most a quarter of a
// second.
func (b *Bus) Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, ok bool, err error) {
	if limit <= 0 || window <= 0 {
		return 0, false, errors.New("a limit needs a number and a window above 0")
	}
	b.mu.RLock()
	client := b.client
	b.mu.RUnlock()
	if client == nil || !b.up.Load() {
		return 0, false, ErrAway
	}
	ctx, cancel := context.WithTimeout(ctx, b.timing.take)
	defer cancel()
	name := "arena:" + strconv.Itoa(b.target.db) + ":limit:" + key
	micros, err := b.bucket.Run(ctx, client, []string{name}, window.Microseconds()/int64(limit), window.Microseconds()).Int64()
	if err != nil {
		return 0, false, fmt.Errorf("take: %w", err)
	}
	return time.Duration(micros) * time.Microsecond, micros == 0, nil
}
