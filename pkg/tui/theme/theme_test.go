package theme

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// Mono has no color: neither a style of it has one, nor one that inherits another.
func TestMonoHasNoColor(t *testing.T) {
	color := regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:;[0-9;]*)?m`)
	m := Mono()
	for name, s := range styles(m) {
		for _, got := range []string{s.Render("x"), m.Selected.Inherit(s).Render("x"), s.Reverse().Render("x")} {
			if color.MatchString(got) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if !color.MatchString(Dark().Bad.Render("x")) {
		t.Error("the test finds no color where there is one")
	}
}

// TestMarksAreSeen: marked text differs from other text in every theme, also without colors.
func TestMarksAreSeen(t *testing.T) {
	for _, th := range []*Theme{Dark(), Light(), Mono()} {
		for name, s := range map[string]Style{"selected": th.Selected, "changed": th.Changed, "conflict": th.Conflict, "tab": th.TabOn, "match": th.Match} {
			if got := s.Render("x"); got == th.Text.Render("x") || got == "x" {
				t.Errorf("%s: %s looks like text", th.Name, name)
			}
		}
		if th.Tab == th.TabOn {
			t.Errorf("%s: the screen that is shown looks like the others", th.Name)
		}
	}
}

func TestRender(t *testing.T) {
	for name, s := range styles(Dark()) {
		if got := ansi.Strip(s.Render("text")); got != "text" {
			t.Errorf("%s: %q", name, got)
		}
		if s.Render("") != "" {
			t.Errorf("%s: escapes around nothing", name)
		}
	}
	var plain Style
	if got := plain.Render("x"); got != "x" {
		t.Errorf("plain: %q", got)
	}
	if a, b := plain.Bold().Underline(), plain.Underline().Bold(); a != b {
		t.Errorf("%v and %v", a, b)
	}
	red := Dark().Bad
	if got := plain.Inherit(red); got != red {
		t.Errorf("plain inherits %v, and is %v", red, got)
	}
	if got := red.Inherit(Dark().Good); got.fg != red.fg {
		t.Error("a color is inherited where there is one")
	}
}

func styles(t *Theme) map[string]Style {
	all := map[string]Style{}
	v := reflect.ValueOf(*t)
	for i := range v.NumField() {
		if s, ok := reflect.TypeAssert[Style](v.Field(i)); ok {
			all[v.Type().Field(i).Name] = s
		}
	}
	return all
}
