package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/bus"
)

// spectators measures what a spectator costs in memory and processor, and what
// a write to one costs with one event in it and with many.
func (b *scaleBench) spectators(ctx context.Context) (err error) {
	m, err := b.match(ctx, b.ids[:2])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end(ctx, m)) }()
	n := b.cmd.Sockets
	before, cpu := scaleMemory(), cpuTime()
	leave, err := b.crowd(ctx, b.s.localURL()+"/v1/stream?batch=1&match="+m.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	b.f.Costs.Connect = (cpuTime() - cpu).Seconds() / float64(n)
	b.f.Costs.Socket = max(0, float64(scaleMemory()-before)/float64(n))

	seq := int64(2) // what the match has behind it
	publish := func(passes, events int) (perSocket float64, err error) {
		cpu := cpuTime()
		for range passes {
			batch := make([]arena.Event, events)
			for i := range batch {
				seq++
				batch[i] = b.event(m.ID, arena.EventThinking)
				batch[i].Seq = seq
			}
			due := b.s.hub.Stats().Delivered + uint64(n*events) //nolint:gosec // G115: a count
			b.s.hub.Publish(b.league, batch...)
			if err := until(ctx, func() bool { return b.s.hub.Stats().Delivered >= due }); err != nil {
				return 0, fmt.Errorf("%d events to %d spectators: %w", events, n, err)
			}
		}
		return (cpuTime() - cpu).Seconds() / float64(passes*n), nil
	}
	const many = 50
	passes := max(5, 100_000/n)
	one, err := publish(passes, 1)
	if err != nil {
		return err
	}
	all, err := publish(passes, many)
	if err != nil {
		return err
	}
	b.f.Costs.Delivery = max(0, (all-one)/(many-1))
	b.f.Costs.SocketWrite = max(0, one-b.f.Costs.Delivery)
	return nil
}

// crowd opens the spectators in a process of their own.
func (b *scaleBench) crowd(ctx context.Context, address string) (leave func() error, err error) {
	c, err := startCrowd(b.app)
	if err != nil {
		return nil, err
	}
	if _, err := c.do(crowdOrder{Do: "watch", URL: address, Count: b.cmd.Sockets}); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	if err := until(ctx, func() bool { return b.s.hub.Stats().Open["spectator"] >= b.cmd.Sockets }); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for spectators: %w", err), c.stop())
	}
	return c.stop, nil
}

// until looks every millisecond whether it holds, for half a minute.
func until(ctx context.Context, holds func() bool) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit.C:
			return errors.New("nothing came of it for 30 s")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// scaleMemory is what this process keeps, heap and stacks, in bytes.
func scaleMemory() int64 {
	runtime.GC()
	runtime.GC() // what pools let go goes with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // G115: far below
}

// busMessages is how many messages a measurement of the bus sends, in groups
// that its queue holds.
const busMessages, busGroup = 20_000, 500

// bus measures messages between nodes: what they cost there, and in Redis.
func (b *scaleBench) bus(ctx context.Context) error {
	few, fewRedis, err := b.messages(ctx, 1)
	if err != nil {
		return err
	}
	const listeners = 5
	many, manyRedis, err := b.messages(ctx, listeners)
	if err != nil {
		return err
	}
	c := &b.f.Costs
	c.BusIn = max(0, (many-few)/(listeners-1))
	c.BusOut = max(0, few-c.BusIn)
	c.RedisOut = max(0, (manyRedis-fewRedis)/(listeners-1))
	c.RedisIn = max(0, fewRedis-c.RedisOut)
	return nil
}

// messages sends to some listeners and gives the processor time of a message,
// here and in Redis.
func (b *scaleBench) messages(ctx context.Context, listeners int) (here, redis float64, err error) {
	open := func(name string) (*bus.Bus, error) {
		return bus.Open(b.cmd.Redis, bus.Options{Node: b.league + name, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	}
	sender, err := open("-sender")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, sender.Close()) }()
	var came, linked atomic.Int64
	for i := range listeners {
		l, err := open("-" + strconv.Itoa(i))
		if err != nil {
			return 0, 0, err
		}
		defer l.Close() //nolint:errcheck // it always gives nil
		l.Subscribe("match:"+b.league, func([]byte) { came.Add(1) }, func(up bool) {
			if up {
				linked.Add(1)
			}
		})
	}
	if err := until(ctx, func() bool { return linked.Load() >= int64(listeners) && sender.Up() }); err != nil {
		return 0, 0, fmt.Errorf("connect to redis: %w", err)
	}
	payload := []byte(".1\n" + strings.Repeat("x", 300))
	busy, err := redisBusy(ctx, b.cmd.Redis)
	if err != nil {
		return 0, 0, err
	}
	cpu := cpuTime()
	for sent := 0; sent < busMessages; sent += busGroup {
		for range busGroup {
			sender.Publish("match:"+b.league, payload)
		}
		due := int64((sent + busGroup) * listeners)
		if err := until(ctx, func() bool { return came.Load() >= due }); err != nil {
			return 0, 0, err
		}
	}
	here = (cpuTime() - cpu).Seconds() / busMessages
	after, err := redisBusy(ctx, b.cmd.Redis)
	return here, (after - busy) / busMessages, err
}

// redisBusy asks a Redis without a password how many processor seconds it has
// used.
func redisBusy(ctx context.Context, raw string) (float64, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return 0, errors.New("the address of redis is not one host")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return 0, fmt.Errorf("ask redis: %w", err)
	}
	defer conn.Close() //nolint:errcheck // it was only read
	if _, err := io.WriteString(conn, "INFO cpu\r\nQUIT\r\n"); err != nil {
		return 0, fmt.Errorf("ask redis: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	if err != nil {
		return 0, fmt.Errorf("ask redis: %w", err)
	}
	var sum float64
	found := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_sys" && name != "used_cpu_user" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("redis says %q", line)
		}
		sum += seconds
		found++
	}
	if found != 2 {
		return 0, errors.New("redis does not say how busy it is; it must need no password")
	}
	return sum, nil
}
