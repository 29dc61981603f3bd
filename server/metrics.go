package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/agora-arena/arena/api"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/internal/script"
	"github.com/agora-arena/arena/internal/vitals"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/stream"
	"github.com/agora-arena/arena/stream/bus"
	"github.com/agora-arena/arena/stream/ingest"
)

// metrics is what /metrics shows. docs/operations.md says what each figure
// means.
type metrics struct {
	registry *prometheus.Registry
	rounds   *prometheus.CounterVec
	elapsed  *prometheus.HistogramVec
	matches  *prometheus.CounterVec
	checks   *prometheus.CounterVec
	frozen   prometheus.Counter
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(hub func() stream.Stats, seats func() ingest.Stats, counts func(context.Context) (arena.Counts, error)) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		rounds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "arena_seat_rounds_total", Help: "Rounds of seats by outcome.",
		}, []string{"league", "outcome"}),
		elapsed: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "arena_answer_seconds", Help: "Time from the written request to the last byte of an answer.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"league"}),
		matches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "arena_matches_ended_total", Help: "Matches that this node ended, by state.",
		}, []string{"league", "status"}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "arena_health_checks_total", Help: "Health checks of agents by result.",
		}, []string{"result"}),
		frozen: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "arena_health_sweeps_ignored_total", Help: "Sweeps of health checks that did not count because the arena was cut off.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "arena_http_requests_total", Help: "Answered HTTP requests by method, route pattern and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "arena_http_request_seconds", Help: "Time from the headers of an HTTP request to the end of its answer; streams end when they close.",
			Buckets: []float64{.005, .025, .1, .5, 2.5, 10, 30},
		}, []string{"route"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.rounds, m.elapsed, m.matches, m.checks, m.frozen, m.requests, m.duration, streamCollector{hub, seats}, countsCollector{counts})
	return m
}

// watchArchives adds what decoded logs take.
func (m *metrics) watchArchives(bytes func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "arena_archive_cache_bytes", Help: "Decoded logs of matches that are over, in memory.",
	}, func() float64 { return float64(bytes()) }))
}

// watchCertificates adds the end of the TLS certificate. Without one it is 0,
// which alerts as an expired one does.
func (m *metrics) watchCertificates(expires func() time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "arena_certificate_expiry_timestamp_seconds", Help: "Time at which the TLS certificate expires, as Unix time; 0: there is none but a self-signed one.",
	}, func() float64 {
		if at := expires(); !at.IsZero() {
			return float64(at.Unix())
		}
		return 0
	}))
}

// watchScripts adds the figures of the processes that run untrusted code.
func (m *metrics) watchScripts(stats func() script.Stats) {
	m.registry.MustRegister(scriptCollector{stats})
}

// watchNetwork adds the figures of the canary of the network.
func (m *metrics) watchNetwork(stats func() health.NetworkStats) {
	m.registry.MustRegister(networkCollector{stats})
}

// watchStore adds the counts of failed operations of the database.
func (m *metrics) watchStore(stats func() store.ErrorStats) {
	m.registry.MustRegister(countCollector{descStorageErrors, func() map[string]int64 {
		s := stats()
		return map[string]int64{"unavailable": s.Unavailable, "failed": s.Failed}
	}})
}

// watchQuotas adds the counts of refused callers.
func (m *metrics) watchQuotas(refused func() map[string]int64) {
	m.registry.MustRegister(countCollector{descQuotas, refused})
}

// watchBus adds the figures of the bus between nodes.
func (m *metrics) watchBus(stats func() bus.Stats) { m.registry.MustRegister(busCollector{stats}) }

// handler serves what can be collected: figures of the database are missing
// while it is unavailable, the others are needed most then.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (m *metrics) observe(o engine.Observation) {
	if o.Status != "" {
		m.matches.WithLabelValues(o.League, string(o.Status)).Inc()
		return
	}
	m.rounds.WithLabelValues(o.League, string(o.Outcome)).Inc()
	if o.Outcome == arena.OutcomeAnswered {
		m.elapsed.WithLabelValues(o.League).Observe(o.Elapsed.Seconds())
	}
}

func (m *metrics) request(r api.Request) {
	m.requests.WithLabelValues(r.Method, r.Route, strconv.Itoa(r.Status)).Inc()
	m.duration.WithLabelValues(r.Route).Observe(r.Elapsed.Seconds())
}

func (m *metrics) sweep(r health.Report) {
	m.checks.WithLabelValues("ok").Add(float64(r.Probed - r.Failed))
	m.checks.WithLabelValues("failed").Add(float64(r.Failed))
	if r.Frozen {
		m.frozen.Inc()
	}
}

// streamCollector exports the counters of the hub and of the seats that send
// events.
type streamCollector struct {
	hub   func() stream.Stats
	seats func() ingest.Stats
}

var (
	descOpen      = prometheus.NewDesc("arena_stream_open", "Open sockets and event streams by kind.", []string{"kind"}, nil)
	descTopics    = prometheus.NewDesc("arena_stream_topics", "Topics with at least one spectator.", nil, nil)
	descTails     = prometheus.NewDesc("arena_stream_tail_bytes", "Events kept in memory for spectators.", nil, nil)
	descPages     = prometheus.NewDesc("arena_stream_page_bytes", "Pages of logs kept in memory for spectators who come late.", nil, nil)
	descSeats     = prometheus.NewDesc("arena_stream_seats", "Seats that sent events in matches that go on.", nil, nil)
	descPublished = prometheus.NewDesc("arena_stream_published_total", "Events published on this node.", nil, nil)
	descDelivered = prometheus.NewDesc("arena_stream_delivered_total", "Events written to spectators.", nil, nil)
	descFills     = prometheus.NewDesc("arena_stream_fills_total", "Reads of the log to close a gap.", nil, nil)
	descReceived  = prometheus.NewDesc("arena_stream_received_total", "Events of other nodes that came over the bus.", nil, nil)
	descPolls     = prometheus.NewDesc("arena_stream_polls_total", "Reads of the log because the bus was down, came back or was silent.", nil, nil)
	descAccepted  = prometheus.NewDesc("arena_agent_events_accepted_total", "Events of agents that were appended to a log.", nil, nil)
	descRefused   = prometheus.NewDesc("arena_agent_events_refused_total", "Events of agents that were refused, by code.", []string{"code"}, nil)
	descCloses    = prometheus.NewDesc("arena_stream_closes_total", "Ended streams by close code.", []string{"code"}, nil)
	descAgents    = prometheus.NewDesc("arena_agents", "Agents by status.", []string{"status"}, nil)
	descMatches   = prometheus.NewDesc("arena_matches", "Matches by status.", []string{"status"}, nil)
	descEvents    = prometheus.NewDesc("arena_log_events", "Events in the logs of all matches.", nil, nil)
	descSettled   = prometheus.NewDesc("arena_settlements", "Settled rated matches.", nil, nil)
)

// Describe sends nothing: the collector is unchecked, its names are above.
func (c streamCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the hub and the seats.
func (c streamCollector) Collect(ch chan<- prometheus.Metric) {
	s, seats := c.hub(), c.seats()
	gauge(ch, descTopics, float64(s.Topics))
	gauge(ch, descTails, float64(s.Tails))
	gauge(ch, descPages, float64(s.Pages))
	gauge(ch, descSeats, float64(seats.Seats))
	counter(ch, descPublished, float64(s.Published))
	counter(ch, descDelivered, float64(s.Delivered))
	counter(ch, descFills, float64(s.Fills))
	counter(ch, descReceived, float64(s.Received))
	counter(ch, descPolls, float64(s.Polls))
	counter(ch, descAccepted, float64(seats.Accepted))
	for kind, n := range s.Open {
		gauge(ch, descOpen, float64(n), kind)
	}
	for code, n := range seats.Refused {
		counter(ch, descRefused, float64(n), string(code))
	}
	for code, n := range s.Closes {
		counter(ch, descCloses, float64(n), strconv.Itoa(code))
	}
}

// busCollector shows the bus's own counters.
type busCollector struct{ stats func() bus.Stats }

var (
	descBusUp        = prometheus.NewDesc("arena_bus_up", "1 while Redis is there.", nil, nil)
	descBusPublished = prometheus.NewDesc("arena_bus_published_total", "Messages that Redis took.", nil, nil)
	descBusLost      = prometheus.NewDesc("arena_bus_lost_total", "Messages that Redis did not take; other nodes read them from the log.", nil, nil)
	descBusReceived  = prometheus.NewDesc("arena_bus_received_total", "Messages of other nodes.", nil, nil)
	descBusBreaks    = prometheus.NewDesc("arena_bus_breaks_total", "Listening connections to Redis that broke.", nil, nil)
)

// Describe sends nothing: the collector is unchecked, its names are above.
func (c busCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the bus.
func (c busCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	gauge(ch, descBusUp, truth(s.Up))
	counter(ch, descBusPublished, float64(s.Published))
	counter(ch, descBusLost, float64(s.Lost))
	counter(ch, descBusReceived, float64(s.Received))
	counter(ch, descBusBreaks, float64(s.Breaks))
}

// networkCollector shows the figures of the canary of the network.
type networkCollector struct{ stats func() health.NetworkStats }

var (
	descCutOff        = prometheus.NewDesc("arena_network_cut_off", "1 while this node is cut off from agents.", nil, nil)
	descNetworkChecks = prometheus.NewDesc("arena_network_checks_total", "Checks of the network canary by result.", []string{"result"}, nil)
)

// Describe sends nothing: the collector is unchecked, its names are above.
func (c networkCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the canary.
func (c networkCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	gauge(ch, descCutOff, truth(s.CutOff))
	counter(ch, descNetworkChecks, float64(s.Passed), "ok")
	counter(ch, descNetworkChecks, float64(s.Failed), "failed")
}

// scriptCollector shows the figures of the script pool.
type scriptCollector struct{ stats func() script.Stats }

var (
	descScriptWorkers = prometheus.NewDesc("arena_script_workers", "Processes that run untrusted scripts, such as answers of the judge code, by state.", []string{"state"}, nil)
	descScriptStarts  = prometheus.NewDesc("arena_script_workers_started_total", "Processes for untrusted scripts ever started.", nil, nil)
	descScriptKilled  = prometheus.NewDesc("arena_scripts_killed_total", "Scripts that exceeded a limit of their process, by limit.", []string{"limit"}, nil)
)

// Describe sends nothing: the collector is unchecked, its names are above.
func (c scriptCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the pool.
func (c scriptCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	gauge(ch, descScriptWorkers, float64(s.Busy), "busy")
	gauge(ch, descScriptWorkers, float64(s.Workers-s.Busy), "idle")
	counter(ch, descScriptStarts, float64(s.Started))
	for limit, n := range s.Killed {
		counter(ch, descScriptKilled, float64(n), limit)
	}
}

var (
	descStorageErrors = prometheus.NewDesc("arena_storage_errors_total", "Operations that the database did not carry out: the storage was unavailable, or they failed otherwise.", []string{"kind"}, nil)
	descQuotas        = prometheus.NewDesc("arena_limit_refusals_total", "Callers that this node refused because of a limit, by kind.", []string{"kind"}, nil)
)

// countCollector shows counts with one label.
type countCollector struct {
	desc   *prometheus.Desc
	counts func() map[string]int64
}

// Describe sends nothing: the collector is unchecked, its names are above.
func (c countCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the counts.
func (c countCollector) Collect(ch chan<- prometheus.Metric) {
	for label, n := range c.counts() {
		counter(ch, c.desc, float64(n), label)
	}
}

// countsCollector shows what the database holds.
type countsCollector struct {
	counts func(context.Context) (arena.Counts, error)
}

// Describe sends nothing: the collector is unchecked, its names are above.
func (c countsCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the database, at most for two seconds.
func (c countsCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	n, err := c.counts(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(descEvents, err)
		return
	}
	for status, k := range n.Agents {
		gauge(ch, descAgents, float64(k), string(status))
	}
	for status, k := range n.Matches {
		gauge(ch, descMatches, float64(k), string(status))
	}
	gauge(ch, descEvents, float64(n.Events))
	gauge(ch, descSettled, float64(n.Settlements))
}

// backupCollector shows the age of the newest good backup.
type backupCollector struct {
	last    func(context.Context) (time.Time, error)
	overdue func(last, now time.Time) bool // nil: none are scheduled
	now     func() time.Time
}

var (
	descBackupAge     = prometheus.NewDesc("arena_backup_age_seconds", "Time since the newest good backup was begun; missing before the first one.", nil, nil)
	descBackupOverdue = prometheus.NewDesc("arena_backup_overdue", "1 when backups are scheduled and none was made for two intervals, or ever.", nil, nil)
)

// Describe sends nothing: the collector is unchecked, its names are above.
func (c backupCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the database, at most for two seconds.
func (c backupCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	last, err := c.last(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(descBackupAge, err)
		return
	}
	if !last.IsZero() {
		gauge(ch, descBackupAge, c.now().Sub(last).Seconds())
	}
	if c.overdue != nil {
		gauge(ch, descBackupOverdue, truth(c.overdue(last, c.now())))
	}
}

// diskCollector shows the space on the disks of folders. A disk of which nothing is
// known is missing.
type diskCollector struct{ folders []string }

var (
	descDiskFree = prometheus.NewDesc("arena_disk_free_bytes", "Space that is left on the disk that holds a folder of the arena.", []string{"folder"}, nil)
	descDiskSize = prometheus.NewDesc("arena_disk_size_bytes", "Size of the disk that holds a folder of the arena.", []string{"folder"}, nil)
)

// Describe sends nothing: the collector is unchecked, its names are above.
func (c diskCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the space of each folder that exists.
func (c diskCollector) Collect(ch chan<- prometheus.Metric) {
	for _, folder := range c.folders {
		if free, size, err := vitals.Space(folder); err == nil {
			gauge(ch, descDiskFree, float64(free), folder)
			gauge(ch, descDiskSize, float64(size), folder)
		}
	}
}

// truth returns the value of a gauge that shows whether something is so.
func truth(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}
