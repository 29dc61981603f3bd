package health

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

// publish tells which pauses began and ended between before and after.
func (s *Sweeper) publish(before, after arena.Agent, now time.Time) error {
	for _, reason := range arena.PauseReasons() {
		pause, is := pauseOf(after, reason)
		was := hasPause(before, reason)
		var kind arena.EventType
		var body any
		switch {
		case is && !was:
			kind, body = arena.EventAgentPaused, pausedBody(after, pause)
			s.o.Logger.Info("agent paused", "agent_id", after.ID, "reason", reason, "failure", after.Health.Reason)
		case was && !is:
			kind, body = arena.EventAgentResumed, arena.AgentResumedBody{Name: after.Name, Reason: reason}
			s.o.Logger.Info("agent resumed", "agent_id", after.ID, "reason", reason)
		default:
			continue
		}
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("event %s of agent %s: %w", kind, after.ID, err)
		}
		s.o.Publisher.PublishAgent(after.Leagues, arena.Event{AgentID: after.ID, At: now, Type: kind, Body: encoded})
	}
	return nil
}

func pausedBody(a arena.Agent, p arena.Pause) arena.AgentPausedBody {
	body := arena.AgentPausedBody{Name: a.Name, Reason: p.Reason}
	if !p.Until.IsZero() {
		body.Until = p.Until.UTC().Format(arena.TimeFormat)
	}
	return body
}
