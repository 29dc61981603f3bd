package api

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"
)

// Calendars have the matches to come, and feeds those played, whatever the names hold.
func TestAPI_feeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", object{"title": `Quiz, "night"; <b>`, "format": "swiss", "schedule": "0 18 * * *"})
	a, b := w.agent(w.alice, `A & <i>;,\n`, "quiz"), w.agent(w.bob, "b", "quiz")
	w.do("POST", "/v1/leagues/quiz/start", w.admin, nil).is(200)
	later := testNow.Add(48 * time.Hour)
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}, "starts_at": later}).is(201).str("match_id")
	for _, path := range []string{"/leagues/quiz/calendar.ics", "/agents/" + a + "/calendar.ics"} {
		r := w.do("GET", path, "", nil).is(200)
		if got := r.header.Get("Content-Type"); got != "text/calendar; charset=utf-8" {
			t.Errorf("%s is %s", path, got)
		}
		c, err := ics.ParseCalendar(strings.NewReader(string(r.body)))
		if err != nil {
			t.Fatalf("%s: %v in %s", path, err, r.body)
		}
		var match, starts int
		for _, e := range c.Events() {
			at, err := e.GetStartAt()
			w.ok(err)
			switch summary := e.GetProperty(ics.ComponentPropertySummary).Value; {
			case strings.HasPrefix(e.Id(), id+"@"):
				match++
				if !at.Equal(later) || summary != `A & <i>;,\n vs b` || e.GetProperty(ics.ComponentPropertyUrl).Value != "https://arena.example/m/"+id {
					t.Errorf("%s: the match is %q at %v", path, summary, at)
				}
			case summary == `Quiz, "night"; <b>: new season` && at.UTC().Hour() == 18:
				starts++
			default:
				t.Errorf("%s: %q at %v", path, summary, at)
			}
		}
		if match != 1 || starts < 29 || starts > 31 {
			t.Errorf("%s: %d matches, %d starts", path, match, starts)
		}
	}

	// One event, with an alarm: a match and a start.
	start := time.Date(2025, 6, 2, 18, 0, 0, 0, time.UTC)
	for event, at := range map[string]time.Time{id: later, fmt.Sprint("quiz-", start.Unix()): start} {
		r := w.do("GET", "/leagues/quiz/calendar.ics?event="+event, "", nil).is(200)
		c, err := ics.ParseCalendar(strings.NewReader(string(r.body)))
		w.ok(err)
		if events := c.Events(); len(events) != 1 || !strings.HasPrefix(events[0].Id(), event+"@") || len(events[0].Alarms()) != 1 {
			t.Errorf("%s: %s", event, r.body)
		} else if got, err := events[0].GetStartAt(); err != nil || !got.Equal(at) || events[0].Alarms()[0].GetProperty(ics.ComponentPropertyTrigger).Value != "-PT5M" {
			t.Errorf("%s: at %v, %v: %s", event, got, err, r.body)
		}
	}
	w.league("other", nil)
	for _, path := range []string{"quiz/calendar.ics?event=m_none", "quiz/calendar.ics?event=quiz-1", "quiz/calendar.ics?event=x", "other/calendar.ics?event=" + id} {
		w.do("GET", "/leagues/"+path, "", nil).is(404)
	}

	played := w.settle(a, b)
	w.do("GET", "/leagues/quiz/calendar.ics?event="+played, "", nil).is(404)
	for _, path := range []string{"/leagues/quiz/feed.atom", "/agents/" + b + "/feed.atom"} {
		r := w.do("GET", path, "", nil).is(200)
		var feed atomFeed
		if err := xml.Unmarshal(r.body, &feed); err != nil {
			t.Fatalf("%s: %v in %s", path, err, r.body)
		}
		if feed.ID != "https://arena.example"+path || len(feed.Entries) != 1 || feed.Entries[0].Title != `A & <i>;,\n vs b` || feed.Updated != feed.Entries[0].Updated {
			t.Errorf("%s: %+v", path, feed)
		}
		if s := feed.Entries[0].Summary; !strings.HasPrefix(s, `A & <i>;,\n wins `) {
			t.Errorf("%s: %q", path, s)
		}
	}
	for _, path := range []string{"/leagues/none/calendar.ics", "/agents/none/calendar.ics", "/leagues/none/feed.atom", "/agents/none/feed.atom"} {
		if r := w.do("GET", path, "", nil).is(404); r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v", path, r.header)
		}
	}
}
