package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// rows are some rows of one cell; those that begin with # are headings.
func rows(keys ...string) (all []Row) {
	for _, k := range keys {
		all = append(all, Row{Key: k, Fixed: strings.HasPrefix(k, "#"), Cells: func() []Cell { return []Cell{{Text: k}} }})
	}
	return all
}

func table(width, height int, keys ...string) *Table {
	t := &Table{}
	t.SetTheme(theme.Mono())
	t.SetColumns([]Column{{Title: "NAME", Width: 4, Flex: 1}})
	t.SetSize(width, height)
	t.SetRows(rows(keys...))
	return t
}

// The cursor stays with its row, wherever that goes; when it is gone, with its place.
func TestCursorStays(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before []string
		choose string
		after  []string
		want   string
	}{
		{"others before it", []string{"b", "c"}, "c", []string{"a", "b", "c"}, "c"},
		{"turned round", []string{"a", "b", "c"}, "a", []string{"c", "b", "a"}, "a"},
		{"gone", []string{"a", "b", "c"}, "b", []string{"a", "c"}, "c"},
		{"gone, the last", []string{"a", "b"}, "b", []string{"a"}, "a"},
		{"all gone", []string{"a"}, "a", nil, ""},
		{"a heading in its place", []string{"a", "b"}, "b", []string{"a", "#", "c"}, "c"},
		{"headings alone", []string{"a"}, "a", []string{"#", "##"}, ""},
		{"its key is a heading now", []string{"#a", "b"}, "b", []string{"#b", "c"}, "c"},
	} {
		x := table(20, 5, tc.before...)
		if !x.Choose(tc.choose) {
			t.Fatalf("%s: there is no %s", tc.name, tc.choose)
		}
		x.SetRows(rows(tc.after...))
		if got, ok := x.Key(); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: on %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestMove(t *testing.T) {
	x := table(20, 4, "#1", "a", "b", "#2", "c", "#3")
	for _, step := range []struct {
		by   int
		want string
	}{{0, "a"}, {-1, "a"}, {1, "b"}, {1, "c"}, {1, "c"}, {-1, "b"}, {1 << 30, "c"}, {-(1 << 30), "a"}} {
		x.Move(step.by)
		if got, _ := x.Key(); got != step.want {
			t.Errorf("by %d to %q, want %q", step.by, got, step.want)
		}
		if !strings.Contains(ansi.Strip(x.View()), step.want) {
			t.Errorf("%s is not seen:\n%s", step.want, ansi.Strip(x.View()))
		}
	}
	empty := table(20, 4)
	empty.Move(1)
	empty.Move(-1)
	if _, ok := empty.Key(); ok || empty.Click(1) || empty.Choose("a") {
		t.Error("something is selected where nothing is")
	}
}

// TestClick: a click selects its row, at any scroll position, but no heading and nothing beside the rows.
func TestClick(t *testing.T) {
	x := table(20, 4, "a", "b", "#", "c", "d")
	x.Choose("d") // it shows #, c, d
	for _, tc := range []struct {
		y    int
		want string
	}{{0, ""}, {1, ""}, {2, "c"}, {3, "d"}, {4, ""}, {-1, ""}} {
		x.Choose("d")
		if hit := x.Click(tc.y); hit != (tc.want != "") {
			t.Errorf("line %d is hit: %t", tc.y, hit)
		} else if got, _ := x.Key(); hit && got != tc.want {
			t.Errorf("line %d: %s, want %s", tc.y, got, tc.want)
		}
	}
}

// TestView: only visible rows are made, and the view fills its area at any size.
func TestView(t *testing.T) {
	made := 0
	var all []Row
	for i := range 1000 {
		all = append(all, Row{Key: fmt.Sprint(i), Cells: func() []Cell { made++; return []Cell{{Text: "名前 " + fmt.Sprint(i)}, {Text: "x"}} }})
	}
	x := &Table{Empty: "there is nothing"}
	x.SetTheme(theme.Dark())
	x.SetColumns([]Column{{Title: "NAME", Width: 5, Flex: 1}, {Title: "STATE", Width: 8, Drop: 1}, {Title: "MISSING", Width: 8, Right: true, Drop: 2}})
	for _, list := range [][]Row{nil, all[:1], all} {
		x.SetRows(list)
		x.Move(len(list) / 2)
		for _, size := range [][2]int{{0, 0}, {-3, -3}, {1, 1}, {2, 3}, {7, 2}, {30, 10}, {81, 24}, {400, 100}} {
			x.SetSize(size[0], size[1])
			made = 0
			view := x.View()
			if size[0] <= 0 {
				if view != "" {
					t.Errorf("%v: %q", size, view)
				}
				continue
			}
			lines := strings.Split(view, "\n")
			if len(lines) != size[1] || made > size[1] {
				t.Errorf("%v of %d rows: %d lines, %d rows were made", size, len(list), len(lines), made)
			}
			for _, l := range lines {
				if w := text.Width(l); w != size[0] {
					t.Errorf("%v of %d rows: %d wide: %q", size, len(list), w, l)
				}
			}
		}
	}
}
