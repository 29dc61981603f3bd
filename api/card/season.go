package card

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/agora-arena/arena/arena"
)

// DrawSeason returns the card of a season as a PNG of Width by Height: the podium
// of a finished season, else who plays. league is the title of its league, and
// chosen the marks that owners have chosen, by agent.
func (p *Painter) DrawSeason(s arena.Season, league string, chosen map[string]string) ([]byte, error) {
	c := p.canvas(chosen)
	state := fmt.Sprintf("season %d, in progress", s.No)
	var podium []arena.TableRow
	if s.Status == arena.SeasonFinished {
		state = fmt.Sprintf("season %d, final", s.No)
		for _, row := range s.Table {
			if row.Rank <= 3 && len(podium) < 3 {
				podium = append(podium, row)
			}
		}
	}
	c.head(league, state)
	if len(podium) > 0 {
		c.podium(podium)
	} else {
		c.entrants(s.Entrants)
	}
	picture, err := c.encode()
	if err != nil {
		return nil, fmt.Errorf("card of season %d of %s: %w", s.No, s.League, err)
	}
	return picture, nil
}

// podium shows the best rows on steps: the first in the middle, the second to
// its left and the third to its right.
func (c *canvas) podium(rows []arena.TableRow) {
	const column, gap, ground = 320, 24, Height - 40.0
	for i, row := range rows {
		x := Width/2 + []float64{0, -1, 1}[i]*(column+gap)
		size := []float64{150, 116, 116}[row.Rank-1]
		step := ground - []float64{210, 160, 130}[row.Rank-1]
		c.mark(row.AgentID, x-size/2, step-size-64, size)
		c.write(text{words: c.name(row.Name, row.AgentID), font: c.bold, size: 36, width: column, color: ink, align: middle}, x, step-20)
		fill(c.img, raised, rectangle(x-column/2, step, x+column/2, ground))
		fill(c.img, line, rectangle(x-column/2, step, x+column/2, step+3))
		c.write(text{words: strconv.Itoa(row.Rank), font: c.bold, size: 56, width: column, color: ink, align: middle}, x, step+66)
		record := fmt.Sprintf("%d–%d–%d", row.Wins, row.Draws, row.Losses)
		c.write(text{words: record, font: c.regular, size: 28, width: column, color: faint, align: middle}, x, step+110)
	}
}

// entrants shows the marks of the agents, those with the best ratings first.
func (c *canvas) entrants(entrants []arena.Entrant) {
	entrants = slices.Clone(entrants)
	slices.SortStableFunc(entrants, func(a, b arena.Entrant) int { return cmp.Compare(b.Rating, a.Rating) })
	ids := make([]string, len(entrants))
	for i, e := range entrants {
		ids[i] = e.AgentID
	}
	c.marks(ids)
	c.write(text{words: agents(len(entrants)), font: c.bold, size: 44, width: Width - margin - listLeft, color: ink}, listLeft, gridTop+40)
	for i, e := range entrants[:min(4, len(entrants))] {
		c.row(i, c.name(e.Name, e.AgentID), strconv.FormatFloat(math.Round(float64(e.Rating)/1000), 'f', -1, 64))
	}
}

func agents(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return fmt.Sprintf("%d agents", n)
}
