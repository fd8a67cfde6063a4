package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// Text says in one line what a step does, without the name of its action.
func (s *Step) Text() string { return s.textWith(1) }

// textWith is Text for a run that multiplies time limits with patience: it has the effective limit.
func (s *Step) textWith(patience float64) string {
	text := s.text(patience)
	if s.As != "" {
		text += ", as " + s.As
	}
	if s.Action != ActionNote && s.Note != "" {
		text = s.Note + ": " + text
	}
	return strings.Join(strings.Fields(text), " ")
}

func (s *Step) text(patience float64) string {
	switch s.Action {
	case ActionInject:
		text := s.Inject
		if on := s.On.String(); on != "" {
			text += " on " + on
		}
		if len(s.With) > 0 {
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(s.With)) {
				parts = append(parts, name+"="+s.With[name])
			}
			text += " with " + strings.Join(parts, ", ")
		}
		if s.Mode != "" {
			text += ", mode " + s.Mode
		}
		if !s.For.IsZero() {
			text += " for " + s.For.String()
		}
		return text
	case ActionHeal:
		return strings.Join(s.Heal, ", ")
	case ActionWait, ActionExpect:
		text := s.Statement().String()
		if !s.For.IsZero() {
			text += " for " + s.For.String()
		}
		within := s.within()
		if patience > 0 && patience != 1 {
			within.D = time.Duration(float64(within.D) * patience).Round(time.Millisecond)
		}
		return text + " within " + within.String()
	case ActionNever:
		if s.Until != "" {
			return s.Never.String() + " until " + s.Until
		}
		return s.Never.String() + " for " + s.For.String()
	case ActionRun:
		return strings.Join(s.Run, " ")
	case ActionSet:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(s.Set)) {
			p := s.Set[name]
			field := p.Field
			if p.Key != "" {
				field += "." + p.Key
			}
			parts = append(parts, fmt.Sprintf("%s = %s of %s %s", name, field, p.Kind, p.Name))
		}
		return strings.Join(parts, ", ")
	}
	return s.Note
}

// texts is one text or several.
type texts []string

// DecodeYAML reads either.
func (t *texts) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) { *t = r.Texts(node, path) }
