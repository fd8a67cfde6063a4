package record

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// Sandbox is the recorded sandbox: an [api.Client].
type Sandbox interface {
	Status(ctx context.Context) (api.Status, error)
	Watch(ctx context.Context, after uint64, f func(api.Update) error) error
}

// Options configure a recording.
type Options struct {
	// Name is the scenario's; default: recorded. Topology is the value of topology:, a name or a file; default: that of the sandbox.
	Name, Topology string
	// Since is the event after which the recording begins; 0 is the beginning of the sandbox.
	Since uint64
	// Follow records until the context ends. Without it, only past events are recorded.
	Follow bool
	// OnAction, if not nil, is called with each action as it is seen.
	OnAction func(text string)
}

// errSynced ends the stream after the past updates.
var errSynced = errors.New("synced")

// Record records actions, and returns the text of a scenario. With Follow, the end of the context ends the recording without an
// error.
func Record(ctx context.Context, sandbox Sandbox, o Options) ([]byte, error) {
	status, err := sandbox.Status(ctx)
	if err != nil {
		return nil, err
	}
	o.Topology = cmp.Or(o.Topology, status.Topology)
	o.Name = cmp.Or(o.Name, "recorded")
	t := &tape{leases: map[string]api.Lease{}, began: time.Now()}
	seen := map[string]bool{}
	err = sandbox.Watch(ctx, o.Since, func(u api.Update) error {
		t.take(u)
		if o.OnAction != nil && (u.Event != nil || u.Lease != nil) {
			for _, a := range t.acts() {
				if text := a.text(); !seen[a.key()] {
					seen[a.key()] = true
					o.OnAction(text)
				}
			}
		}
		if u.Synced && !o.Follow {
			return errSynced
		}
		return nil
	})
	if err != nil && !errors.Is(err, errSynced) && ctx.Err() == nil {
		return nil, err
	}
	return t.draft(o)
}

// tape is the recorded events of a sandbox.
type tape struct {
	events []event.Event
	leases map[string]api.Lease
	began  time.Time
}

func (t *tape) take(u api.Update) {
	if u.Event != nil {
		t.events = append(t.events, *u.Event)
	}
	if u.Lease != nil && !u.Deleted {
		t.leases[u.Lease.ID] = *u.Lease
	}
}

// act is an action of a user.
type act struct {
	seq  uint64
	time time.Time
	// lease is the injected fault, or the healed one if heal is set.
	lease api.Lease
	heal  bool
	// command is a command on a VM.
	command []string
}

func (a act) key() string { return strconv.FormatUint(a.seq, 10) + "/" + a.lease.ID }

// text describes it in a few words.
func (a act) text() string {
	switch {
	case a.command != nil:
		return strings.Join(a.command, " ")
	case a.heal:
		return "heal " + a.lease.ID
	}
	return "inject " + a.lease.Fault + " as " + a.lease.ID
}

// acts returns the actions in their order. Consequences do not count: faults that healed at the end of their time, what a fault
// did to a VM.
func (t *tape) acts() []act {
	var all []act
	bySeq := map[uint64]api.Lease{}
	for _, l := range t.leases {
		bySeq[l.Seq] = l
	}
	refused := map[uint64]bool{} // commands that came to nothing
	for _, e := range t.events {
		if e.Kind == "command.failed" {
			refused[e.Cause] = true
		}
	}
	gates := map[string]int{}
	for _, e := range t.events {
		a := act{seq: e.Seq, time: e.Time}
		switch {
		case e.Kind == "fault.injected":
			lease, ok := bySeq[e.Seq]
			if !ok {
				continue
			}
			a.lease = lease
		case e.Kind == "fault.healed":
			lease, ok := bySeq[e.Cause] // one whose time was over has that for a cause
			if !ok {
				continue
			}
			a.lease, a.heal = lease, true
		case strings.HasPrefix(e.Kind, "command.") && e.Object.Kind == "VM" && e.Cause == 0 && !refused[e.Seq]:
			if a.command = vmCommand(e); a.command == nil {
				continue
			}
		case strings.HasPrefix(e.Kind, "gate.") && e.Cause == 0:
			if !gateAct(e, gates, &a) {
				continue
			}
		default:
			continue
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b act) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

// vmCommand returns the command on a VM, or nil: a failed command has an event too.
func vmCommand(e event.Event) []string {
	verb := strings.TrimPrefix(e.Kind, "command.")
	name := e.Object.VCenter + "/" + e.Object.Name
	switch api.VMAction(verb) {
	case api.PowerOn, api.PowerOff, api.Suspend, api.Reset, api.Hang:
		return []string{"vsphere-sandbox", "vm", verb, name}
	case api.Destroy:
		return []string{"vsphere-sandbox", "vm", verb, name, "--yes"}
	case api.Move:
		words := strings.Fields(e.Message) // vm move NAME HOST
		return []string{"vsphere-sandbox", "vm", verb, name, "--to", words[len(words)-1]}
	}
	return nil
}

// gateAct returns a change of a gate as an injection or a healing.
func gateAct(e event.Event, gates map[string]int, a *act) bool {
	vcenter := e.Object.Name
	faults := map[string]string{"gate.down": "vcenter.down", "gate.hung": "vcenter.hang", "gate.slow": "vcenter.latency"}
	id := func() string { return "gate-" + vcenter + "-" + strconv.Itoa(gates[vcenter]) }
	if e.Kind == "gate.up" {
		if gates[vcenter] == 0 {
			return false
		}
		a.heal, a.lease = true, api.Lease{ID: id()}
		return true
	}
	fault, ok := faults[e.Kind]
	if !ok {
		return false
	}
	gates[vcenter]++
	a.lease = api.Lease{ID: id(), Fault: fault, Targets: []api.LeaseTarget{{Kind: "VCenter", Name: vcenter}}}
	return true
}

// draft writes the scenario.
func (t *tape) draft(o Options) ([]byte, error) {
	acts := t.acts()
	if len(acts) == 0 {
		return nil, fmt.Errorf("nothing was done to the sandbox that could be recorded")
	}
	steps := list()
	if !slices.ContainsFunc(t.events, func(e event.Event) bool { return e.Kind == "node.deleted" && e.Seq > acts[0].seq }) {
		steps.Content = append(steps.Content, mapping("note", "no node went away", "never", flow(mapping("event", flow(mapping("kind", "node.deleted")))), "until", "end"))
	}
	healed := map[string]bool{}
	for _, a := range acts {
		if a.heal {
			healed[a.lease.ID] = true
		}
	}
	var done time.Time // when the last action was, or the last state that is expected
	for i, a := range acts {
		step := t.step(a, healed)
		if pause := a.time.Sub(done).Round(time.Second); i > 0 && pause > 0 {
			put(step, "after", pause.String())
		}
		steps.Content = append(steps.Content, step)
		until := uint64(0)
		if i+1 < len(acts) {
			until = acts[i+1].seq
		}
		expected, last := t.expectations(a, until)
		steps.Content = append(steps.Content, expected...)
		done = last
	}
	whole := mapping(
		"apiVersion", scenario.APIVersion, "kind", scenario.Kind,
		"metadata", mapping("name", o.Name, "description", fmt.Sprintf("recorded: %d actions", len(acts))),
		"topology", o.Topology, "steps", steps,
	)
	whole.HeadComment = "Recorded: look through what is expected, and say what it is about (reported:, expected:)."
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(whole); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// step returns an action as a step.
func (t *tape) step(a act, healed map[string]bool) *yaml.Node {
	switch {
	case a.command != nil:
		run := list()
		for _, word := range a.command {
			run.Content = append(run.Content, text(word))
		}
		return mapping("run", flow(run))
	case a.heal:
		return mapping("heal", a.lease.ID)
	}
	step := mapping("inject", a.lease.Fault)
	kind, err := catalogue.Find(a.lease.Fault)
	if on := targets(a.lease); on != nil {
		put(step, "on", flow(on))
	}
	with := mapping()
	for _, name := range slices.Sorted(maps.Keys(a.lease.Params)) {
		value := a.lease.Params[name]
		if err == nil && slices.ContainsFunc(kind.Params, func(p fault.Param) bool { return p.Name == name && p.Default == value }) {
			continue
		}
		put(with, name, value)
	}
	if len(with.Content) > 0 {
		put(step, "with", flow(with))
	}
	if a.lease.Seed != 0 && len(a.lease.Targets) > 1 { // it chooses among several
		put(step, "seed", strconv.FormatUint(a.lease.Seed, 10))
	}
	if u := a.lease.Until; u != nil && !a.lease.Since.IsZero() && (err != nil || !kind.Momentary) {
		if lasts := u.Sub(a.lease.Since).Round(time.Millisecond); lasts > 0 {
			put(step, "for", lasts.String())
		}
	}
	if healed[a.lease.ID] {
		put(step, "as", a.lease.ID)
	}
	return step
}

// targets returns the targets of a fault.
func targets(l api.Lease) *yaml.Node {
	names := list()
	key := "names"
	for _, target := range l.Targets {
		if target.Kind == string(fault.Sandbox) {
			return nil
		}
		name := target.Name
		if target.VCenter != "" && target.VCenter != name {
			name = target.VCenter + "/" + name
		}
		key = strings.ToLower(target.Kind)
		names.Content = append(names.Content, text(name))
	}
	if len(names.Content) == 0 {
		return nil
	}
	if len(names.Content) == 1 {
		return mapping(key, names.Content[0])
	}
	return mapping(key, flow(names))
}

// leastWithin is the minimum deadline of a draft: another machine may be slower.
const leastWithin = 30 * time.Second

// expectations returns the states of nodes before the next action, those in between too, and the time of the last change, or of the
// action.
func (t *tape) expectations(a act, until uint64) (steps []*yaml.Node, last time.Time) {
	var events []event.Event
	for _, e := range t.events {
		if e.Seq > a.seq && (until == 0 || e.Seq < until) {
			events = append(events, e)
		}
	}
	last = a.time
	for _, n := range transitions(events) {
		what := mapping("node", n.name)
		switch {
		case n.gone:
			put(what, "exists", "no")
		default:
			if n.ready != "" {
				put(what, "ready", n.ready)
			}
			if tainted := n.lasting(); len(tainted) > 0 {
				put(what, "taints", flow(texts(tainted)))
			}
			if len(n.untainted) > 0 {
				put(what, "noTaints", flow(texts(n.untainted)))
			}
		}
		if len(what.Content) == 2 {
			continue
		}
		within := max(leastWithin, (3 * n.last.Sub(a.time)).Round(time.Second))
		steps = append(steps, mapping("expect", flow(what), "within", within.String()))
		if n.last.After(last) {
			last = n.last
		}
	}
	return steps, last
}

// nodeState is a state of a node from its events: from a change of its readiness to the next one.
type nodeState struct {
	name    string
	ready   string
	tainted []string
	// untainted are removed taints.
	untainted []string
	gone      bool
	// last is the time of the last change.
	last time.Time
}

// lasting returns the taints that stay: a node that has become ready will lose those of its failure, even if the recording has
// ended before.
func (n *nodeState) lasting() []string {
	if n.ready != "True" {
		return n.tainted
	}
	passing := []string{"node.cloudprovider.kubernetes.io/shutdown", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
	return slices.DeleteFunc(slices.Clone(n.tainted), func(key string) bool { return slices.Contains(passing, key) })
}

// transitions folds the events of nodes into their states, in the order of the last event of each.
func transitions(events []event.Event) []*nodeState {
	var all []*nodeState
	for _, e := range events {
		if e.Object.Kind != "Node" || !strings.HasPrefix(e.Kind, "node.") {
			continue
		}
		var n *nodeState
		for _, known := range all {
			if known.name == e.Object.Name {
				n = known // the newest
			}
		}
		if n == nil || n.ends(e) {
			n = &nodeState{name: e.Object.Name}
			all = append(all, n)
		}
		if n.take(e) {
			n.last = e.Time
		}
	}
	all = slices.DeleteFunc(all, func(n *nodeState) bool { return n.last.IsZero() })
	slices.SortStableFunc(all, func(a, b *nodeState) int { return a.last.Compare(b.last) })
	return all
}

// ends reports whether an event begins another state than the one that the node is in.
func (n *nodeState) ends(e event.Event) bool {
	switch e.Kind {
	case "node.ready":
		return n.gone || n.ready != "" && n.ready != "True"
	case "node.unknown":
		return n.ready != "" && n.ready != "Unknown"
	case "node.not-ready":
		return n.ready != "" && n.ready != "False"
	case "node.deleted":
		return n.ready != ""
	case "node.registered":
		return n.gone
	}
	return false
}

// take folds an event, and reports whether a scenario can expect it.
func (n *nodeState) take(e event.Event) bool {
	taint := func(message string) string {
		return strings.TrimSuffix(strings.TrimPrefix(message, "taint "), " is gone")
	}
	drop := func(list []string, key string) []string {
		return slices.DeleteFunc(list, func(one string) bool { return one == key })
	}
	switch e.Kind {
	case "node.ready":
		n.ready, n.gone = "True", false
	case "node.unknown":
		n.ready = "Unknown"
	case "node.not-ready":
		n.ready = "False"
	case "node.tainted":
		key := taint(e.Message)
		n.tainted, n.untainted = append(drop(n.tainted, key), key), drop(n.untainted, key)
	case "node.untainted":
		key := taint(e.Message)
		n.tainted, n.untainted = drop(n.tainted, key), append(drop(n.untainted, key), key)
	case "node.deleted":
		*n = nodeState{name: n.name, gone: true}
	case "node.registered":
		n.gone = false
	default:
		return false
	}
	return true
}

func text(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	return n
}

func texts(values []string) *yaml.Node {
	made := list()
	for _, value := range values {
		made.Content = append(made.Content, text(value))
	}
	return made
}

func list() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"} }

// mapping returns a YAML mapping of keys and values in turn.
func mapping(pairs ...any) *yaml.Node {
	made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		put(made, pairs[i].(string), pairs[i+1])
	}
	return made
}

// put adds a key.
func put(into *yaml.Node, key string, value any) {
	node, ok := value.(*yaml.Node)
	if !ok {
		node = text(value.(string))
	}
	into.Content = append(into.Content, text(key), node)
}

// flow formats a node on one line.
func flow(node *yaml.Node) *yaml.Node {
	node.Style = yaml.FlowStyle
	return node
}
