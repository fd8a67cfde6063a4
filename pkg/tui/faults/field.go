package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// field is an editable line of a form.
type field struct {
	label string
	// help describes the value, empty the meaning of an empty one.
	help, empty string
	// choices are the values that ←→ select; "" means no value.
	choices []string
	// check returns what is wrong with a value, or "".
	check func(value string) string
	// doubt returns what may be wrong with a value: only the sandbox knows.
	doubt func(value string) string
	// suggest returns a completion of the value.
	suggest func(value string) string

	text.Edit      // the value
	whole     bool // the value was chosen, not typed: typing replaces it
	touched   bool // show its errors
}

func (f *field) text() string { return strings.TrimSpace(f.String()) }

func (f *field) set(value string) {
	f.Set(value)
	f.whole = value != ""
}

// wrong returns what is wrong with the value.
func (f *field) wrong() string {
	if f.check == nil {
		return ""
	}
	return f.check(f.text())
}

// rest returns the completion of the value if the cursor is at its end.
func (f *field) rest() string {
	if f.suggest == nil || !f.AtEnd() || f.whole {
		return ""
	}
	return f.suggest(f.String())
}

// handle handles the keys that change the value, and reports whether this was one.
func (f *field) handle(k tea.KeyPressMsg) bool {
	name := k.String()
	forward := name == "right" || name == "ctrl+f"
	switch {
	case len(f.choices) > 0 && (forward || name == "left" || name == "ctrl+b"):
		f.cycle(forward)
	case f.AtEnd() && (forward || name == "end" || name == "ctrl+e"):
		f.write(f.rest())
	case f.Key(name):
		f.whole = false
	case k.Text == "":
		return false
	default:
		f.typed(k.Text)
	}
	return true
}

// typed inserts what the user has typed or pasted; it replaces a choice.
func (f *field) typed(s string) {
	if f.whole && len(f.choices) > 0 {
		f.Set("")
	}
	f.write(s)
}

func (f *field) write(s string) {
	f.Insert(text.Clean(s))
	f.whole = false
}

// cycle selects the next or the previous choice.
func (f *field) cycle(forward bool) {
	i := slices.Index(f.choices, f.text())
	switch n := len(f.choices); {
	case i < 0 && forward:
		i = 0
	case i < 0:
		i = n - 1
	case forward:
		i = (i + 1) % n
	default:
		i = (i + n - 1) % n
	}
	f.set(f.choices[i])
	f.touched = true
}

// view returns the value, exactly as wide as requested; with the cursor if it is focused.
func (f *field) view(th *theme.Theme, width int, focused bool) string {
	if width <= 0 {
		return ""
	}
	if arrows := "‹ ›"; focused && len(f.choices) > 0 && width > 12 {
		n := min(width-4, f.width())
		return text.Fit(f.line(th, n, true)+" "+th.Key.Render(arrows), width)
	}
	return f.line(th, width, focused)
}

// width returns the cells of the value, with the cursor after it.
func (f *field) width() int {
	if len(f.Runes) == 0 {
		return text.Width(text.Clean(f.empty)) + 1
	}
	return text.Width(seen(f.Runes)) + 1
}

// seen returns a part of a value for display. A chosen name is shown as elsewhere, with any characters in it. Each rune is
// cleaned separately, as the cursor may be between any two.
func seen(value []rune) string {
	var b strings.Builder
	for _, r := range value {
		b.WriteString(text.Clean(string(r)))
	}
	return b.String()
}

func (f *field) line(th *theme.Theme, width int, focused bool) string {
	if !focused {
		if len(f.Runes) == 0 {
			return th.Dim.Render(text.Fit(text.Clean(f.empty), width))
		}
		return th.Text.Render(text.Fit(seen(f.Runes), width))
	}
	if len(f.Runes) == 0 && f.rest() == "" {
		first, rest := " ", ""
		if f.empty != "" {
			r := []rune(text.Clean(f.empty))
			first, rest = string(r[:1]), string(r[1:])
		}
		return text.Fit(cursor(th, first)+th.Dim.Render(text.Cut(rest, width-1)), width)
	}
	under, after := " ", ""
	if f.At < len(f.Runes) {
		under, after = seen(f.Runes[f.At:f.At+1]), seen(f.Runes[f.At+1:])
		under = cmp.Or(under, "·")
	}
	from := 0 // what is before the cursor is seen as far as there is room
	for from < f.At && text.Width(seen(f.Runes[from:f.At])) > width-text.Width(under) {
		from++
	}
	before := seen(f.Runes[from:f.At])
	if rest := []rune(text.Clean(f.rest())); len(rest) > 0 {
		return text.Fit(th.Prompt.Render(before)+cursor(th, string(rest[:1]))+th.Dim.Render(string(rest[1:])), width)
	}
	return text.Fit(th.Prompt.Render(before)+cursor(th, under)+th.Prompt.Render(after), width)
}

func cursor(th *theme.Theme, s string) string { return th.Prompt.Reverse().Render(s) }

// The checks here return what is wrong with a value, as far as that is known without the sandbox; "" for nothing.

// badParam checks the value of a parameter.
func badParam(p api.FaultParam, value string) string {
	if value == "" {
		if p.Required {
			return "has to be given"
		}
		return ""
	}
	if len(p.Choices) > 0 && !slices.Contains(p.Choices, value) {
		text := fmt.Sprintf("%q is none of %s", value, strings.Join(p.Choices, ", "))
		if near := nearest.Of(value, p.Choices); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return text
	}
	switch p.Type {
	case "duration":
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return fmt.Sprintf("%q is no duration like 250ms or 1m30s", value)
		}
	case "number":
		if n, err := strconv.ParseInt(value, 10, 32); err != nil || n < 0 {
			return fmt.Sprintf("%q is no whole number from 0", value)
		}
	case "fraction":
		number, percent := strings.CutSuffix(value, "%")
		f, err := strconv.ParseFloat(number, 64)
		if percent {
			f /= 100
		}
		if err != nil || !(f >= 0 && f <= 1) {
			return fmt.Sprintf("%q is no fraction from 0 to 1, like 0.25 or 25%%", value)
		}
	case "bool":
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Sprintf("%q is neither true nor false", value)
		}
	}
	return ""
}

// badMode checks how many targets are hit.
func badMode(value string) string {
	if value == "" || value == "one" || value == "all" {
		return ""
	}
	const text = "one, all, a number from 1, or a percentage up to 100%"
	if percent, ok := strings.CutSuffix(value, "%"); ok {
		if f, err := strconv.ParseFloat(percent, 64); err != nil || !(f > 0 && f <= 100) {
			return text
		}
		return ""
	}
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		return text
	}
	return ""
}

// badFor checks the duration of the fault.
func badFor(value string) string {
	if value == "" {
		return ""
	}
	if d, err := time.ParseDuration(value); err != nil || d <= 0 {
		return fmt.Sprintf("%q is no duration like 30s or 5m", value)
	}
	return ""
}

// badTargets checks the targets of the fault.
func badTargets(value string) string {
	if _, _, err := selector(value); err != nil {
		return err.Error()
	}
	return ""
}

// stranger checks names that no known object has. The sandbox may know more: some names, such as paths, are in no row.
func (k *known) stranger(value, kind string) string {
	list := k.things(kind)
	key := [2]string{kind, value}
	text, ok := k.doubts[key]
	if !ok {
		text = k.doubt(value, kind, list)
		k.doubts[key] = text
	}
	return text
}

func (k *known) doubt(value, kind string, list []thing) string {
	s, _, err := selector(value)
	if err != nil || len(list) == 0 {
		return ""
	}
	var own []string
	for _, t := range list {
		own = append(own, t.name)
	}
	if kind == "vm" {
		own = append(own, k.names("node")...) // VMs are known by their hostnames, too
	}
	for _, name := range s.Names {
		if strings.ContainsAny(name, "*?") || strings.HasPrefix(name, "/") || slices.Contains(own, name) {
			continue
		}
		if vcenter, rest, ok := strings.Cut(name, "/"); ok {
			if strings.Contains(rest, "/") || kind == "volume" || slices.Contains(list, thing{rest, vcenter}) {
				continue
			}
		}
		if near := nearest.Of(name, own); near != "" {
			return fmt.Sprintf("%q is not known here; did you mean %q?", name, near)
		}
		return fmt.Sprintf("%q is not known here", name)
	}
	return ""
}

// known has the names of all objects. In a large sandbox it is expensive to collect, so it may be a moment old.
type known struct {
	state *fold.State
	at    time.Time
	by    map[string][]thing
	// doubts caches the results of [known.stranger], by kind and value.
	doubts map[[2]string]string
}

// stale is the maximum age.
const stale = time.Second

// called returns the name of a subject for an injection: with its vCenter only if the name alone is ambiguous.
func (k *known) called(s api.Subject) string {
	if s.VCenter == "" || s.VCenter == s.Name || s.Kind == "node" {
		return s.Name
	}
	same := 0
	for _, c := range k.things(s.Kind) {
		if c.name == s.Name {
			same++
		}
	}
	if same > 1 {
		return s.VCenter + "/" + s.Name
	}
	return s.Name
}

// thing is an object with its name.
type thing struct{ name, vcenter string }

// things returns the objects of a kind, by name: nil for kinds without rows.
func (k *known) things(kind string) []thing {
	if k.by == nil || k.state.Now().Sub(k.at) >= stale {
		k.at, k.by, k.doubts = k.state.Now(), map[string][]thing{}, map[[2]string]string{}
	}
	all, ok := k.by[kind]
	if !ok {
		all = thingsOf(kind, k.state.World())
		k.by[kind] = all
	}
	return all
}

func thingsOf(kind string, w *world.World) []thing {
	var all []thing
	add := func(name, vcenter string) {
		if t := (thing{name, vcenter}); name != "" {
			all = append(all, t)
		}
	}
	switch kind {
	case "vm":
		for _, v := range world.Values[api.VM](w, world.VM) {
			add(v.Name, v.VCenter)
		}
	case "node":
		for _, n := range world.Values[api.Node](w, world.Node) {
			add(n.Name, "")
		}
	case "host":
		for _, h := range world.Values[api.Host](w, world.Host) {
			add(h.Name, h.VCenter)
		}
	case "vcenter":
		for _, v := range world.Values[api.VCenter](w, world.VCenter) {
			add(v.Name, "")
		}
	case "component":
		for _, c := range world.Values[api.Component](w, world.Component) {
			add(c.Name, "")
		}
	case "volume":
		for _, v := range world.Values[api.Volume](w, world.Volume) {
			add(cmp.Or(v.Claim, v.Name), "")
		}
	case "cluster":
		for _, h := range world.Values[api.Host](w, world.Host) {
			add(h.Cluster, h.VCenter)
		}
	case "datacenter":
		for _, h := range world.Values[api.Host](w, world.Host) {
			add(h.Datacenter, h.VCenter)
		}
	case "zone":
		for _, v := range world.Values[api.VM](w, world.VM) {
			add(v.Zone, "")
		}
	case "region":
		for _, v := range world.Values[api.VM](w, world.VM) {
			add(v.Region, "")
		}
	}
	slices.SortFunc(all, func(a, b thing) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.vcenter, b.vcenter)) })
	return slices.Compact(all)
}

// names returns the names of a kind: with the vCenter for those that share a name.
func (k *known) names(kind string) []string {
	var all []string
	list := k.things(kind)
	for i, t := range list {
		if t.vcenter != "" && (i > 0 && list[i-1].name == t.name || i+1 < len(list) && list[i+1].name == t.name) {
			all = append(all, t.vcenter+"/"+t.name)
			continue
		}
		all = append(all, t.name)
	}
	return all
}

// everything means all objects, in place of names.
const everything = "all"

// places are the keys of name=value in the field of targets.
func places() []string {
	return []string{"vcenter", "datacenter", "cluster", "host", "region", "zone", "role", "labels"}
}

// place returns the field of a selector for a key.
func place(s *api.Selector, name string) *string {
	switch name {
	case "vcenter":
		return &s.VCenter
	case "datacenter":
		return &s.Datacenter
	case "cluster":
		return &s.Cluster
	case "host":
		return &s.Host
	case "region":
		return &s.Region
	case "zone":
		return &s.Zone
	case "role":
		return &s.Role
	case "labels":
		return &s.Labels
	}
	return nil
}

// selector parses the field of targets: names, and name=value for places. all reports that the user asked for all objects.
func selector(value string) (s api.Selector, all bool, err error) {
	words, err := split(value)
	if err != nil {
		return s, false, err
	}
	for _, w := range words {
		name, value, isPlace := strings.Cut(w, "=")
		at := place(&s, name)
		switch {
		case isPlace && at == nil:
			if near := nearest.Of(name, places()); near != "" {
				return s, false, fmt.Errorf("%s= is nothing to choose by; did you mean %s=?", name, near)
			}
			return s, false, fmt.Errorf("%s= is nothing to choose by; there is %s", name, strings.Join(places(), ", "))
		case isPlace && value == "":
			return s, false, fmt.Errorf("%s= has no value", name)
		case isPlace && *at != "":
			return s, false, fmt.Errorf("%s= is there twice", name)
		case isPlace:
			*at = value
		case w == everything:
			all = true
		default:
			s.Names = append(s.Names, w)
		}
	}
	if all && len(s.Names) > 0 {
		return s, false, fmt.Errorf("%q and names exclude each other", everything)
	}
	return s, all, nil
}

// split splits text into words as a shell does: quotes keep spaces.
func split(value string) ([]string, error) {
	var words []string
	var word strings.Builder
	began, quote := false, rune(0)
	for _, r := range value {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, began = r, true
		case r == ' ':
			if began {
				words = append(words, word.String())
			}
			word.Reset()
			began = false
		default:
			word.WriteRune(r)
			began = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is not closed", quote)
	}
	if began {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted returns a name as written in the field of targets.
func quoted(name string) string {
	switch {
	case !strings.ContainsAny(name, ` "'`):
		return name
	case !strings.Contains(name, "'"):
		return "'" + name + "'"
	}
	return `"` + name + `"`
}

// continues returns a completion of the last word in the field of targets: a name of the kind, a place, or one of its values.
func (k *known) continues(value, kind string) string {
	if strings.HasSuffix(value, " ") || strings.ContainsAny(value, `"'`) {
		return ""
	}
	word := value[strings.LastIndexByte(value, ' ')+1:]
	if word == "" {
		return ""
	}
	name, typed, isPlace := strings.Cut(word, "=")
	if !isPlace {
		if rest := begins(k.names(kind), word); rest != "" {
			return rest
		}
		for _, p := range append(places(), everything) {
			if rest, ok := strings.CutPrefix(p, word); ok && rest != "" {
				if p == everything {
					return rest
				}
				return rest + "="
			}
		}
		return ""
	}
	if name == "role" {
		return begins([]string{"control-plane", "worker"}, typed)
	}
	return begins(k.names(name), typed)
}

// begins returns the rest of the first word with a prefix; "" without a match, or if nothing is left.
func begins(words []string, typed string) string {
	if slices.Contains(words, typed) {
		return ""
	}
	for _, w := range words {
		if rest, ok := strings.CutPrefix(w, typed); ok && !strings.ContainsAny(w, ` "'`) {
			return rest
		}
	}
	return ""
}
