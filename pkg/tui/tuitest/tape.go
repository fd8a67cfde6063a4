package tuitest

import (
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// tape is a story while it is being written.
type tape struct {
	at    time.Time
	lines []api.Recorded
	seq   uint64
	calls map[[3]string]api.Calls
}

// to goes on to an offset in milliseconds.
func (t *tape) to(ms int) { t.at = Began.Add(time.Duration(ms) * time.Millisecond) }

func (t *tape) tell(u api.Update) { t.lines = append(t.lines, api.Recorded{Time: t.at, Update: u}) }

func (t *tape) event(plane event.Plane, level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	t.seq++
	t.tell(api.Update{Event: &event.Event{
		Seq: t.seq, Time: t.at, Plane: plane, Level: level, Kind: kind, Object: o, Cause: cause, Message: message,
	}})
	return t.seq
}

func (t *tape) sandbox(level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	return t.event(event.PlaneSandbox, level, kind, o, cause, message)
}

func (t *tape) vsphere(level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	return t.event(event.PlaneVSphere, level, kind, o, cause, message)
}

func (t *tape) kube(level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	return t.event(event.PlaneKubernetes, level, kind, o, cause, message)
}

// The rows that the story changes are told by copy: what was told is not changed any more.

func (t *tape) vm(v *api.VM) {
	c := *v
	c.Addresses, c.Disks = slices.Clone(v.Addresses), slices.Clone(v.Disks)
	t.tell(api.Update{VM: &c})
}

func (t *tape) node(n *api.Node) {
	c := *n
	c.Taints, c.Addresses = slices.Clone(n.Taints), slices.Clone(n.Addresses)
	t.tell(api.Update{Node: &c})
}

func (t *tape) volume(v *api.Volume) {
	c := *v
	c.Pods = slices.Clone(v.Pods)
	t.tell(api.Update{Volume: &c})
}

func (t *tape) attachment(a api.Attachment, deleted bool) {
	t.tell(api.Update{Attachment: &a, Deleted: deleted})
}

func (t *tape) vcenter(v api.VCenter) { t.tell(api.Update{VCenter: &v}) }

func (t *tape) component(c api.Component) {
	c.Since = t.at
	c.Log = "/state/zones-us-eu/logs/" + c.Name + ".log"
	t.tell(api.Update{Component: &c})
}

func (t *tape) lease(l api.Lease) { t.tell(api.Update{Lease: &l}) }

func (t *tape) run(r api.Run) {
	r.Steps = slices.Clone(r.Steps)
	t.tell(api.Update{Run: &r})
}

// called counts calls of a client; each took that long.
func (t *tape) called(vcenter, client, method string, n uint64, took time.Duration) {
	t.calledBadly(vcenter, client, method, n, took, 0, "")
}

func (t *tape) calledBadly(vcenter, client, method string, n uint64, took time.Duration, errors uint64, last string) {
	key := [3]string{vcenter, client, method}
	c := t.calls[key]
	c.VCenter, c.Client, c.Method = vcenter, client, method
	c.Calls += n
	c.Errors += errors
	c.Hits += errors // who errs here errs because of a fault
	c.Latency += api.Duration(time.Duration(n) * took)
	c.Last = t.at
	if last != "" {
		c.LastError = last
	}
	t.calls[key] = c
	t.tell(api.Update{Calls: &c})
}
