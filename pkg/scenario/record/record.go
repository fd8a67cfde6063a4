package record

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
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
	// OnAct, if not nil, is called with each action as it is seen.
	OnAct func(text string)
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
	if o.Topology == "" {
		o.Topology = status.Scenario
	}
	if o.Name == "" {
		o.Name = "recorded"
	}
	t := &tape{leases: map[string]api.Lease{}, began: time.Now()}
	seen := map[string]bool{}
	err = sandbox.Watch(ctx, o.Since, func(u api.Update) error {
		t.take(u)
		if o.OnAct != nil && (u.Event != nil || u.Lease != nil) {
			for _, a := range t.acts() {
				if text := a.text(); !seen[a.key()] {
					seen[a.key()] = true
					o.OnAct(text)
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
