package api

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/schedule"
)

// The paths of files that programs of spectators subscribe to.
const (
	leagueCalendarPath = "/leagues/{slug}/calendar.ics"
	agentCalendarPath  = "/agents/{id}/calendar.ics"
	leagueFeedPath     = "/leagues/{slug}/feed.atom"
	agentFeedPath      = "/agents/{id}/feed.atom"
)

const (
	feedMatches  = 40 // in a calendar or feed
	feedStarts   = 40 // of a schedule, in a calendar
	feedAhead    = 30 * 24 * time.Hour
	feedInterval = 15 * time.Minute // how often programs are asked to read them

	calendarType = "text/calendar; charset=utf-8"
	remindBefore = "-PT5M" // an RFC 5545 duration
)

// feedHandlers serve calendars (RFC 5545) of upcoming matches and Atom feeds (RFC
// 4287) of results.
type feedHandlers struct {
	rows    Rows
	matches *matchViews
	url     string // of the arena, without a slash at the end
	now     func() time.Time
}

type leagueCalendarInput struct {
	SlugParam
	Event string `query:"event" maxLength:"80" doc:"Only this event, with an alarm 5 minutes before: the id of a scheduled match, or the slug, a hyphen and the time of a start in Unix seconds."`
}

// leagueCalendar has the scheduled matches of a league and what its schedule starts.
func (h *feedHandlers) leagueCalendar(ctx context.Context, in *leagueCalendarInput) (*publicFile, error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	c := h.calendar(l.Title)
	if strings.HasPrefix(in.Event, arena.MatchPrefix) {
		m, err := h.matches.visible.Match(ctx, in.Event)
		if err != nil || m.League != l.Slug || m.Status != arena.MatchScheduled {
			return nil, cmp.Or(err, errNoEvent())
		}
		h.addMatch(c, h.matches.one(m))
		return remind(c)
	}
	h.starts(c, l)
	if in.Event == "" {
		return h.scheduled(ctx, c, arena.MatchFilter{League: l.Slug})
	}
	for _, e := range c.Events() {
		if e.Id() != h.uid(in.Event) {
			c.RemoveEvent(e.Id())
		}
	}
	return remind(c)
}

func errNoEvent() error {
	return arena.Errorf(arena.CodeNotFound, "the calendar of this league has no such event")
}

// remind returns a calendar of one event, with an alarm.
func remind(c *ics.Calendar) (*publicFile, error) {
	if len(c.Events()) != 1 {
		return nil, errNoEvent()
	}
	e := c.Events()[0]
	alarm := e.AddAlarm()
	alarm.SetAction(ics.ActionDisplay)
	alarm.SetTrigger(remindBefore)
	alarm.SetDescription(e.GetProperty(ics.ComponentPropertySummary).Value)
	return newPublicFile(calendarType, time.Minute, []byte(c.Serialize())), nil
}

// agentCalendar has the scheduled matches of an agent and what its leagues start.
func (h *feedHandlers) agentCalendar(ctx context.Context, in *IDParam) (*publicFile, error) {
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	c := h.calendar(g.Name)
	for _, slug := range g.Leagues {
		l, err := h.rows.Leagues.League(ctx, slug)
		if err != nil {
			return nil, err
		}
		h.starts(c, l)
	}
	return h.scheduled(ctx, c, arena.MatchFilter{AgentID: g.ID})
}

func (h *feedHandlers) calendar(name string) *ics.Calendar {
	c := ics.NewCalendarFor("Agora Arena")
	c.SetXWRCalName(line(name))
	c.SetRefreshInterval("PT" + strings.ToUpper(feedInterval.String())) // an RFC 5545 duration
	return c
}

// starts adds what the schedule of a league starts.
func (h *feedHandlers) starts(c *ics.Calendar, l arena.League) {
	if l.Schedule == "" || l.Status != arena.LeagueRunning && l.Status != arena.LeagueFrozen {
		return
	}
	now := h.now().UTC()
	what := map[string]string{"season": "new season", "round": "new round"}[l.Settings.Options.Starts]
	if what == "" {
		what = "new match"
	}
	at := now
	for range feedStarts {
		if at = schedule.Next(l.Schedule, at); at.IsZero() || at.After(now.Add(feedAhead)) {
			return
		}
		h.add(c, fmt.Sprintf("%s-%d", l.Slug, at.Unix()), at, line(l.Title)+": "+what, "/l/"+l.Slug)
	}
}

// scheduled adds matches that have not begun, and returns the calendar.
func (h *feedHandlers) scheduled(ctx context.Context, c *ics.Calendar, f arena.MatchFilter) (*publicFile, error) {
	f.Statuses, f.Soonest = []arena.MatchStatus{arena.MatchScheduled}, true
	matches, _, err := h.matches.page(ctx, f, arena.Page{Limit: feedMatches})
	if err != nil {
		return nil, err
	}
	for _, m := range matches {
		h.addMatch(c, m)
	}
	return newPublicFile(calendarType, time.Minute, []byte(c.Serialize())), nil
}

func (h *feedHandlers) addMatch(c *ics.Calendar, m matchView) {
	h.add(c, m.MatchID, time.Time(m.StartsAt), line(seatsOf(m, " vs ")), "/m/"+m.MatchID)
}

// uid returns the id of an event in programs that read calendars.
func (h *feedHandlers) uid(id string) string {
	return id + "@" + strings.TrimPrefix(strings.TrimPrefix(h.url, "https://"), "http://")
}

func (h *feedHandlers) add(c *ics.Calendar, id string, at time.Time, summary, path string) {
	e := c.AddEvent(h.uid(id))
	e.SetDtStampTime(h.now())
	e.SetStartAt(at)
	e.SetSummary(summary)
	e.SetURL(h.url + path)
}

// line is text on one line, without the characters that neither format can hold.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// seatsOf names the seats of a match: two of them, or how many they are.
func seatsOf(m matchView, between string) string {
	if len(m.Seats) == 2 {
		return m.Seats[0].Name + between + m.Seats[1].Name
	}
	return fmt.Sprintf("%d agents", len(m.Seats))
}

// atomFeed is a feed of RFC 4287.
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Links   []atomLink  `xml:"link"`
	Author  string      `xml:"author>name"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// leagueFeed has the results of a league, the newest first.
func (h *feedHandlers) leagueFeed(ctx context.Context, in *SlugParam) (*publicFile, error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	return h.feed(ctx, l.Title, "/leagues/"+l.Slug, "/l/"+l.Slug, l.CreatedAt, arena.MatchFilter{League: l.Slug})
}

// agentFeed has the results of an agent, the newest first.
func (h *feedHandlers) agentFeed(ctx context.Context, in *IDParam) (*publicFile, error) {
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return h.feed(ctx, g.Name, "/agents/"+g.ID, "/a/"+g.ID, g.CreatedAt, arena.MatchFilter{AgentID: g.ID})
}

// feed returns the matches of a filter that spectators have seen end. self is the path of
// the feed without its file.
func (h *feedHandlers) feed(ctx context.Context, title, self, page string, began time.Time, f arena.MatchFilter) (*publicFile, error) {
	f.Statuses = []arena.MatchStatus{arena.MatchFinished}
	matches, _, err := h.matches.page(ctx, f, arena.Page{Limit: feedMatches})
	if err != nil {
		return nil, err
	}
	feed := atomFeed{
		ID: h.url + self + "/feed.atom", Title: line(title), Author: "Agora Arena",
		Links: []atomLink{{"self", h.url + self + "/feed.atom"}, {"alternate", h.url + page}},
	}
	updated := began
	for _, m := range matches {
		if m.Status != arena.MatchFinished || m.FinishedAt == nil {
			continue // its end is not shown yet
		}
		at := time.Time(*m.FinishedAt)
		if at.After(updated) {
			updated = at
		}
		address := h.url + "/m/" + m.MatchID
		feed.Entries = append(feed.Entries, atomEntry{
			ID: address, Title: line(seatsOf(m, " vs ")), Updated: at.UTC().Format(time.RFC3339), Link: atomLink{"alternate", address}, Summary: line(resultOf(m)),
		})
	}
	feed.Updated = updated.UTC().Format(time.RFC3339)
	body, err := xml.Marshal(feed)
	if err != nil {
		return nil, fmt.Errorf("encode the feed of %s: %w", self, err)
	}
	return newPublicFile("application/atom+xml; charset=utf-8", time.Minute, append([]byte(xml.Header), body...)), nil
}

// resultOf returns the result of a match in a few words.
func resultOf(m matchView) string {
	var first []string
	for _, s := range m.Seats {
		if s.Place == 1 {
			first = append(first, s.Name)
		}
	}
	switch {
	case len(first) != 1 && len(m.Seats) == 2:
		return "A draw"
	case len(first) != 1:
		return fmt.Sprintf("%d agents share the first place", len(first))
	case len(m.Seats) == 2:
		a, b := m.Seats[0], m.Seats[1]
		if b.Name == first[0] {
			a, b = b, a
		}
		return fmt.Sprintf("%s wins %s–%s", a.Name, pointsText(a.Points), pointsText(b.Points))
	}
	return fmt.Sprintf("%s wins against %d others", first[0], len(m.Seats)-1)
}

// pointsText writes points as JSON does: 1, 0.5.
func pointsText(p arena.Points) string {
	text, _ := p.MarshalJSON() // always encodes
	return string(text)
}
