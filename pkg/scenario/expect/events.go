package expect

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Events is a statement about the order of events: that matching events exist, each after the one before.
type Events struct {
	Order []*Event
	// Caused means that each has the one before among its causes.
	Caused bool
	Since  string
}

// read parses a list of events, or a mapping with one.
func (s *Events) read(r *strict.Reader, node *yaml.Node, path string) {
	list := node
	if node.Kind == yaml.MappingNode {
		var long struct {
			Caused bool   `json:"caused"`
			Since  string `json:"since"`
		}
		short := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line, Column: node.Column}
		list = nil
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == "order" && list == nil {
				list, path = node.Content[i+1], strict.Below(path, "order")
				continue
			}
			short.Content = append(short.Content, node.Content[i], node.Content[i+1])
		}
		if r.Decode(short, &long, path); list == nil {
			r.Errorf(node, path, "must be a list of events, or a mapping with one as order")
			return
		}
		s.Caused, s.Since = long.Caused, long.Since
	}
	r.Decode(list, &s.Order, path)
	for i, e := range s.Order {
		if e == nil {
			s.Order[i] = &Event{}
			continue
		}
		e.check(r, list.Content[i], strict.Item(path, i))
		if e.Count != nil || e.Since != "" {
			r.Errorf(list.Content[i], strict.Item(path, i), "is one event of an order, and cannot have its own count or since")
		}
	}
	if len(s.Order) < 2 {
		r.Errorf(list, path, "must be two events or more, in their order")
	}
}

// String returns a short description.
func (s *Events) String() string {
	texts := make([]string, len(s.Order))
	for i, e := range s.Order {
		texts[i] = e.String()
	}
	if s.Caused {
		return "events " + strings.Join(texts, ", which causes ")
	}
	return "events " + strings.Join(texts, ", then ")
}

// eventsTracker follows the order as events arrive.
type eventsTracker struct {
	want  *Events
	marks Marks
	since *Mark
	after uint64
	// chains are the partial orders that may still be completed; without Caused the first one suffices.
	chains [][]uint64
	done   uint64
}

func (t *eventsTracker) Concerns(k world.Kind) bool { return k == world.Event }

// maxChains bounds the memory if the first event of an order is frequent.
const maxChains = 1000

func (t *eventsTracker) Look(v *View) Finding {
	if t.since == nil {
		t.since = t.marks(t.want.Since)
		t.after = t.since.Seq
	}
	for _, e := range v.World.After(t.after) {
		if t.after = e.Seq; t.done == 0 && !t.since.before(e) {
			t.next(v.World, e)
		}
	}
	return Finding{Met: t.done != 0, Event: t.done}
}

func (t *eventsTracker) next(w *world.World, e event.Event) {
	for i, chain := range t.chains {
		if !t.want.Order[len(chain)].matches(w, e, t.marks) || t.want.Caused && !w.CausedBy(e, chain[len(chain)-1]) {
			continue
		}
		longer := append(append([]uint64(nil), chain...), e.Seq)
		if len(longer) == len(t.want.Order) {
			t.done = e.Seq
			return
		}
		if !t.want.Caused {
			t.chains[i] = longer
			return
		}
		if len(t.chains) < maxChains { // the shorter chain may continue differently
			t.chains = append(t.chains, longer)
		}
	}
	if (t.want.Caused || len(t.chains) == 0) && len(t.chains) < maxChains && t.want.Order[0].matches(w, e, t.marks) {
		t.chains = append(t.chains, []uint64{e.Seq})
	}
}

func (t *eventsTracker) longest() []uint64 {
	var longest []uint64
	for _, chain := range t.chains {
		if len(chain) > len(longest) {
			longest = chain
		}
	}
	return longest
}

func (t *eventsTracker) Was(v *View) []string {
	if t.done != 0 {
		return []string{"all of them happened, in this order"}
	}
	longest := t.longest()
	var lines []string
	for i, want := range t.want.Order {
		if i < len(longest) {
			e, _ := v.World.Event(longest[i])
			lines = append(lines, "came: "+report(e))
			continue
		}
		why := "did not happen"
		if t.want.Caused && i > 0 {
			why = "was not caused by the one before"
		}
		lines = append(lines, fmt.Sprintf("%s: %s", why, want))
		break
	}
	return lines
}

func (t *eventsTracker) Related(v *View) []event.Event {
	if i := len(t.longest()); i < len(t.want.Order) {
		return t.want.Order[i].related(v)
	}
	return nil
}
