package page

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

//go:embed assets
var assets embed.FS

// Write writes the page.
func Write(w io.Writer, s *result.Suite) error {
	t, err := template.New("page").Funcs(template.FuncMap{"half": func(f float64) float64 { return f / 2 }}).ParseFS(assets, "assets/*.tmpl")
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	css, err := asset("page.css")
	if err != nil {
		return err
	}
	js, err := asset("page.js")
	if err != nil {
		return err
	}
	v := view(s)
	v.CSS, v.JS = template.CSS(css), template.JS(js)
	v.Policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'", hash(css), hash(js))
	return t.ExecuteTemplate(w, "page.tmpl", v)
}

func asset(name string) (string, error) {
	b, err := assets.ReadFile("assets/" + name)
	return strings.TrimSpace(string(b)), err
}

// hash returns the source expression of a text for the policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// group is a part of the system with its own lanes and color.
type group struct {
	ID, Name string
}

// The groups, in the order in which causes run through them.
var (
	done       = group{"done", "What was done"}
	vsphere    = group{"vsphere", "vSphere"}
	gate       = group{"gate", "vCenter API"}
	ccm        = group{"ccm", "Cloud provider"}
	kubernetes = group{"kubernetes", "Kubernetes"}
	process    = group{"process", "Processes"}
	sandbox    = group{"sandbox", "Sandbox"}
)

func groups() []group { return []group{done, vsphere, gate, process, ccm, kubernetes, sandbox} }

// lane returns the group of an event, and the name of its lane there.
func lane(e event.Event) (group, string) {
	head, _, _ := strings.Cut(e.Kind, ".")
	name := report.Line(scoped(e.Object))
	switch {
	case head == "fault", head == "lease", head == "command":
		return done, cmp.Or(name, "sandbox")
	case head == "gate", e.Plane == event.PlaneSandbox && e.Object.Kind == "VCenter":
		return gate, cmp.Or(name, "all")
	case head == "ccm", e.Object.Kind == "Component" && strings.HasPrefix(e.Object.Name, "ccm"):
		return ccm, cmp.Or(name, "ccm")
	case head == "child", e.Plane == event.PlaneSandbox && (e.Object.Kind == "Node" || e.Object.Kind == "Component"):
		return process, cmp.Or(name, "children")
	case e.Plane == event.PlaneVSphere:
		return vsphere, cmp.Or(name, "inventory")
	case e.Plane == event.PlaneKubernetes:
		return kubernetes, cmp.Or(name, "cluster")
	}
	return sandbox, cmp.Or(name, head, "sandbox")
}

// scoped names an object; objects other than VMs and nodes with their kind.
func scoped(o event.Object) string {
	name := o.Name
	if o.VCenter != "" && o.VCenter != o.Name {
		name = o.VCenter + "/" + name
	}
	switch o.Kind {
	case "VM", "Node", "Component", "VCenter", "":
		return name
	}
	return strings.ToLower(o.Kind) + " " + name
}

// word returns an event in a word or two, for its mark.
func word(e event.Event) string {
	head, verb, ok := strings.Cut(e.Kind, ".")
	if !ok {
		verb = e.Kind
	}
	if head == "scenario" {
		return shorten(report.Line(e.Message), 34)
	}
	switch e.Kind {
	case "node.tainted", "node.untainted":
		if _, key, ok := strings.Cut(e.Message, "/"); ok {
			verb += ": " + strings.TrimSuffix(key, " is gone")
		}
	case "fault.injected", "fault.healed", "fault.applied":
		if kind := faultKind(e.Message); kind != "" {
			verb = strings.TrimSpace(strings.TrimPrefix(verb, "injected") + " " + kind)
		}
	}
	return shorten(report.Line(verb), 34)
}

// faultKind returns the kind of a fault in a message: "f1: vcenter.down on us".
func faultKind(message string) string {
	for word := range strings.FieldsSeq(message) {
		word = strings.TrimSuffix(word, ":")
		if object, verb, ok := strings.Cut(word, "."); ok && object != "" && verb != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-.") == "" {
			return word
		}
	}
	return ""
}

// shorten cuts a text to so many characters.
func shorten(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:max(0, most-1)]) + "…"
}

// Link is a curve from a cause to its effect.
type Link struct {
	From, To uint64
	Path     string
	Group    string // of the cause
	Label    string // how long it took; empty when there is no room for it
	LX, LY   float64
	LW       float64
}

// links draws the causes. Long ones choose the place of their label first.
func links(t *Timeline, marks map[uint64]*Mark) []Link {
	var all []Link
	var taken []box
	for _, l := range t.Lanes {
		for _, m := range l.Marks {
			y := l.Y + m.Y
			taken = append(taken, box{m.X - 6, y - 6, m.X + 6, y + 6})
			if m.Label != "" {
				w := labelWidth(m.Label)
				left := m.X + 6
				if m.LabelLeft {
					left = m.X - 6 - w
				}
				taken = append(taken, box{left, y - 6, left + w, y + 6})
			}
			if cause := marks[m.Cause]; cause != nil {
				y1 := cause.lane.Y + cause.Y
				all = append(all, Link{From: m.Cause, To: m.Seq, Path: curve(cause.X, y1, m.X, y), Group: cause.lane.Group.ID})
			}
		}
	}
	latency := func(l Link) time.Duration { return marks[l.To].event.Time.Sub(marks[l.From].event.Time) }
	slices.SortStableFunc(all, func(a, b Link) int { return int(latency(b) - latency(a)) })
	for i := range all {
		a, b := marks[all[i].From], marks[all[i].To]
		all[i].label(latency(all[i]), a.X, a.lane.Y+a.Y, b.X, b.lane.Y+b.Y, &taken)
	}
	return all
}

// curve leaves its cause to the right and arrives from the left; for simultaneous events it bends out and back.
func curve(x1, y1, x2, y2 float64) string {
	c1, c2 := bend(x1, x2)
	return fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x1, y1, c1, y1, c2, y2, x2, y2)
}

// bend returns the x of the two control points. The script has the same formula.
func bend(x1, x2 float64) (float64, float64) {
	dx := max((x2-x1)*0.5, 22)
	if x2-x1 < 30 {
		return x1 - 22, x2 - 22
	}
	return x1 + dx, x2 - dx
}

// box is an occupied area of the page.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// label writes the latency on the curve if there is room.
func (l *Link) label(took time.Duration, x1, y1, x2, y2 float64, taken *[]box) {
	text := "+" + report.Took(took)
	w := float64(len([]rune(text)))*5.6 + 10
	c1, c2 := bend(x1, x2)
	for _, f := range []float64{0.5, 0.42, 0.58, 0.34, 0.66, 0.25, 0.75} {
		x, y := bezier(f, x1, c1, c2, x2), bezier(f, y1, y1, y2, y2)
		b := box{x - w/2, y - 7, x + w/2, y + 7}
		if b.left < plotLeft || b.right > plotRight || slices.ContainsFunc(*taken, b.meets) {
			continue
		}
		*taken = append(*taken, b)
		l.Label, l.LX, l.LY, l.LW = text, round(x), round(y), w
		return
	}
}

func bezier(f, a, b, c, d float64) float64 {
	g := 1 - f
	return g*g*g*a + 3*g*g*f*b + 3*g*f*f*c + f*f*f*d
}

// Effect is an event with its effects.
type Effect struct {
	Seq     uint64
	Group   string
	After   string // since its cause; since the beginning for a first cause
	Kind    string
	Object  string
	Message string
	Level   event.Level
	Effects []*Effect
}

// mostEffects is the maximum number of effects.
const mostEffects = 120

// effects returns the first causes among events, each with all its effects, and the number of those that did not fit. It leaves
// out events without effects.
func effects(c scale, events []event.Event) (roots []*Effect, more int) {
	type node struct {
		*Effect
		at time.Time
	}
	caused := map[uint64]bool{}
	for _, e := range events {
		caused[e.Cause] = true
	}
	all := map[uint64]node{}
	for _, e := range events {
		cause, known := all[e.Cause]
		if !known && !caused[e.Seq] {
			continue
		}
		if len(all) >= mostEffects {
			more++
			continue
		}
		g, _ := lane(e)
		n := node{&Effect{
			Seq: e.Seq, Group: g.ID, After: report.Took(e.Time.Sub(c.zero)), Kind: report.Line(e.Kind),
			Object: report.Line(report.Object(e.Object)), Message: report.Line(e.Message), Level: e.Level,
		}, e.Time}
		all[e.Seq] = n
		if known {
			n.After = "+" + report.Took(e.Time.Sub(cause.at))
			cause.Effects = append(cause.Effects, n.Effect)
		} else {
			roots = append(roots, n.Effect)
		}
	}
	return roots, more
}

// mostRows is the maximum number of rows in a lane: simultaneous events are placed below each other.
const mostRows = 5

// row is one line of marks in a lane.
type row struct {
	end   float64 // of what is in it, with its last label
	bare  float64 // without it
	last  *Mark
	marks int
}

// pack places the marks of a lane, sorted by X, in rows, so that neither marks nor labels overlap. If there is no room it drops
// labels. It returns the number of rows.
func pack(marks []*Mark, right float64) int {
	var rows []row
	for _, m := range marks {
		n := fit(rows, m, right)
		if n < 0 && len(rows) < mostRows {
			rows = append(rows, row{})
			n = len(rows) - 1
			fitLabel(m, right, -1)
		}
		if n < 0 {
			n = crowd(rows, m)
		}
		r := &rows[n]
		m.Row = n
		r.last, r.bare, r.end = m, m.X+markRoom, m.X+markRoom
		r.marks++
		if m.Label != "" && !m.LabelLeft {
			r.end += labelWidth(m.Label)
		}
	}
	return max(1, len(rows))
}

// fit returns the first row with room for the mark and its label, or -1.
func fit(rows []row, m *Mark, right float64) int {
	for n := range rows {
		if rows[n].end <= m.X-markRoom && fitLabel(m, right, rows[n].end) {
			return n
		}
	}
	return -1
}

// fitLabel places the label to the right of the mark or, at the edge, to its left, where it must not reach end.
func fitLabel(m *Mark, right, end float64) bool {
	m.LabelLeft = m.X+markRoom+labelWidth(m.Label) > right
	return !m.LabelLeft || end < 0 || m.X-markRoom-labelWidth(m.Label) >= end
}

// crowd places a mark in full rows: it drops the last label there, and its own.
func crowd(rows []row, m *Mark) int {
	best := 0
	for n := range rows {
		if rows[n].bare < rows[best].bare {
			best = n
		}
	}
	rows[best].last.Label, m.Label = "", ""
	return best
}

// markRoom is half of the width of a mark.
const markRoom = 6.5

func labelWidth(label string) float64 {
	if label == "" {
		return 0
	}
	return float64(len([]rune(label)))*charWidth + 8
}

// charWidth is the maximum average width of a character of a label.
const charWidth = 5.7
