package arena

import "strings"

// MarkShape is a figure that the avatar of an agent may have.
type MarkShape struct {
	Name  string `json:"name"`
	Cells [3]int `json:"cells" doc:"The figures in the cells of a quarter, as the pages number them."`
}

// MarkColor is a pair of colors that the avatar of an agent may have.
type MarkColor struct {
	Name      string `json:"name"`
	Hue       int    `json:"hue" doc:"Of the ground, in degrees of OKLCH."`
	FigureHue int    `json:"figure_hue" doc:"Of the figure, in degrees of OKLCH."`
}

// Marks are the marks that owners choose from: Agent.Mark is the name of a shape
// and the name of a color with a hyphen between them, such as "star-teal".
type Marks struct {
	Shapes []MarkShape `json:"shapes"`
	Colors []MarkColor `json:"colors"`
}

// AllMarks returns the marks that owners choose from. Names are stored and stay.
func AllMarks() Marks {
	return Marks{
		Shapes: []MarkShape{
			{"propeller", [3]int{0, 2, 0}},
			{"pinwheel", [3]int{6, 5, 0}},
			{"star", [3]int{4, 5, 3}},
			{"sun", [3]int{4, 0, 5}},
			{"starfish", [3]int{2, 2, 5}},
			{"cross", [3]int{7, 5, 5}},
			{"gem", [3]int{5, 5, 1}},
			{"knot", [3]int{5, 6, 6}},
			{"blades", [3]int{0, 6, 6}},
			{"flower", [3]int{2, 2, 2}},
			{"diamonds", [3]int{4, 4, 4}},
			{"dots", [3]int{7, 7, 7}},
		},
		Colors: []MarkColor{
			{"red", 30, 210},
			{"orange", 60, 240},
			{"gold", 90, 270},
			{"lime", 120, 300},
			{"green", 150, 330},
			{"teal", 180, 0},
			{"cyan", 210, 30},
			{"blue", 240, 60},
			{"indigo", 270, 90},
			{"violet", 300, 120},
			{"magenta", 330, 150},
			{"rose", 0, 180},
		},
	}
}

// Find returns the shape and the color of a mark. ok is false if there is no such mark.
func (m Marks) Find(mark string) (shape MarkShape, color MarkColor, ok bool) {
	name, colorName, _ := strings.Cut(mark, "-")
	for _, shape = range m.Shapes {
		if shape.Name != name {
			continue
		}
		for _, color = range m.Colors {
			if color.Name == colorName {
				return shape, color, true
			}
		}
	}
	return MarkShape{}, MarkColor{}, false
}
