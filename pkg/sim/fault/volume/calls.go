package volume

import (
	"cmp"
	"context"
	"fmt"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func params(first fault.Param, more ...fault.Param) []fault.Param {
	return append(append([]fault.Param{first}, more...), times())
}

func createFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.create-fails",
		Short: "has CNS make no volumes",
		Long: `The call succeeds, and the result of its task has a fault. The claim stays pending, and csi-provisioner tries again, each
time later. Nothing is left of an attempt.`,
		Aspect: "creation of volumes",
		Params: params(answered(cnsFault, noPermission, notSupported, taskFault)),
		Reported: []string{
			"vsphere-csi-driver#2169",
		},
	}, call{"CnsCreateVolume", "Failed to create disk", "Datastore.FileManagement"})
}

func attachFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.attach-fails",
		Short: "has CNS attach no volumes",
		Long: `The call succeeds, and the result of its task has a fault: in-use is a volume that another VM has, not-supported a disk
that the VM cannot take, cns-fault ("VSLM task failed") what CNS says when the layer below fails. The pod stays in ContainerCreating, and
csi-attacher tries again, each time later. See disk.attach-refused for VMs that accept no disk from any client.`,
		Aspect: "attachment of volumes",
		Params: params(answered(cnsFault, inUse, notSupported, noPermission, invalidState, taskFault), callers()...),
		Reported: []string{
			"vsphere-csi-driver#1416", "vsphere-csi-driver#1175", "vsphere-csi-driver#519", "vsphere-csi-driver#320", "vsphere-csi-driver#570",
		},
	}, call{"CnsAttachVolume", "Failed to attach disk", "VirtualMachine.Config.AddExistingDisk"})
}

func detachFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.detach-fails",
		Short: "has CNS detach no volumes",
		Long: `The call succeeds, and the result of its task has a fault. The VolumeAttachment stays, with the error in its status, and
where the volume is wanted elsewhere there is Multi-Attach until it heals.`,
		Aspect:   "detachment of volumes",
		Params:   params(answered(cnsFault, noPermission, invalidState, taskFault), callers()...),
		Reported: []string{"vsphere-csi-driver#242", "vsphere-csi-driver#1590", "vsphere-csi-driver#221"},
	}, call{"CnsDetachVolume", "Failed to detach disk", "VirtualMachine.Config.RemoveDisk"})
}

func expandFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.expand-fails",
		Short: "has CNS extend no volumes",
		Long: `The call succeeds, and the result of its task has a fault. The claim still requests more than it has, csi-resizer tries
again, each time later, and pods continue with the old size.`,
		Aspect:   "extension of volumes",
		Params:   params(answered(cnsFault, noPermission, invalidState, taskFault), callers()...),
		Reported: []string{"vsphere-csi-driver#478"},
	}, call{"CnsExtendVolume", "Failed to extend disk", "VirtualMachine.Config.DiskExtend"})
}

func snapshotFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.snapshot-fails",
		Short: "has CNS make no snapshots",
		Long: `The call succeeds, and the result of its task has a fault. The VolumeSnapshot is not ready to use and says why, and
csi-snapshotter tries again, each time later.`,
		Aspect:   "snapshots of volumes",
		Params:   params(answered(cnsFault, noPermission, notSupported, taskFault), callers()[:1]...),
		Reported: []string{"vsphere-csi-driver#2311"},
	}, call{"CnsCreateSnapshots", "Failed to create snapshot", "VirtualMachine.State.CreateSnapshot"})
}

func deleteFails() *fault.Kind {
	return failing(fault.Kind{
		Name:  "volume.delete-fails",
		Short: "has CNS delete no volumes",
		Long: `The call succeeds, and the result of its task has a fault: in-use is a volume that a VM has, or a snapshot of a VM. The
PersistentVolume stays Released, with an event, and csi-provisioner tries again, each time later.`,
		Aspect:   "deletion of volumes",
		Params:   params(answered(cnsFault, inUse, noPermission, taskFault), callers()[:1]...),
		Reported: []string{"vsphere-csi-driver#1335", "vsphere-csi-driver#223", "vsphere-csi-driver#502"},
	}, call{"CnsDeleteVolume", "Failed to delete disk", "Datastore.FileManagement"})
}

// The answers with which a call of CNS can fail. All but the last are in the results of a task that succeeds, which is how CNS
// reports errors.
const (
	inUse        = "in-use"
	notSupported = "not-supported"
	cnsFault     = "cns-fault"
	noPermission = "no-permission"
	invalidState = "invalid-state"
	taskFault    = "task-fault"
)

// answered returns the parameter that chooses an answer; the first is the default.
func answered(choices ...string) fault.Param {
	return fault.Param{Name: "answer", Short: "what it ends in", Type: fault.Text, Default: choices[0], Choices: choices}
}

// call is a call that a kind makes fail.
type call struct {
	method string
	// fails begins the reason of a CnsFault, as vCenter words it; privilege is the missing privilege.
	fails, privilege string
}

// answer sets the answer of a rule.
func (m call) answer(r *cns.Rule, name string) {
	switch name {
	case inUse:
		r.Fault = &types.ResourceInUse{Name: "volume"}
	case notSupported:
		r.Fault = new(types.NotSupported)
	case noPermission:
		r.Fault = &types.NoPermission{PrivilegeId: m.privilege}
	case invalidState:
		r.Fault = new(types.InvalidState)
	case taskFault:
		r.TaskFault = &types.SystemError{Reason: "CNS: " + m.fails + ": the service is not ready"}
	default:
		r.Fault = &cnstypes.CnsFault{Reason: "CNS: " + m.fails + ": VSLM task failed"}
	}
}

func attachSlow() *fault.Kind {
	return slowed(fault.Kind{
		Name:  "volume.attach-slow",
		Short: "has CNS take its time to attach volumes",
		Long: `The task of an attachment starts late: a driver that crashes during the delay finds the volume attached, or
about to be, when it asks again. What waits is attached at once when it heals. The delay is not scaled by the sandbox's speed.`,
		Aspect:   "time of attachments",
		Params:   append([]fault.Param{by()}, append(callers(), times())...),
		Reported: []string{"vsphere-csi-driver#284"},
	}, "CnsAttachVolume")
}

func cnsSlow() *fault.Kind {
	return slowed(fault.Kind{
		Name:  "cns.slow",
		Short: "has CNS take its time for everything that it changes",
		Long: `Each of its tasks, of creation, attachment, detachment, extension, snapshots and deletion, begins to work later than it
came. Queries are answered as fast as ever, and so are other calls of the vCenter: see tasks.slow and vcenter.latency for those. What
waits is done at once when it heals. The delay is not scaled by the sandbox's speed.`,
		Aspect:   "time of CNS",
		Params:   append([]fault.Param{by()}, append(callers(), times())...),
		Reported: []string{"vsphere-csi-driver#284"},
	}, "")
}

// by returns the parameter for the delay.
func by() fault.Param {
	return fault.Param{Name: "by", Short: "how much longer", Type: fault.Duration, Default: "10s"}
}

// slowed returns a kind that delays a call, or all calls if method is "". It has the parameters of [by], [callers] and [times].
func slowed(k fault.Kind, method string) *fault.Kind {
	return ruled(k, func(ctx context.Context, c *fault.Call) (r cns.Rule, does string, err error) {
		r.Method, r.Delay, r.Count = method, c.Params.Duration("by"), c.Params.Number("count")
		if r.Delay <= 0 {
			return r, "", &fault.Refusal{Code: "invalid", Message: "parameter by: must be more than no time"}
		}
		about, err := match(ctx, c, &r)
		if err != nil {
			return r, "", err
		}
		return r, fmt.Sprintf("%s%s takes %s longer", cmp.Or(method, "every task"), about, r.Delay), nil
	})
}

// Kinds returns the faults of volumes, in the order of the catalogue.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		createFails(), attachFails(), detachFails(), expandFails(), snapshotFails(), deleteFails(),
		attachSlow(), cnsSlow(),
		detached(), moved(), forgotten(),
	}
}

// ruled returns a kind that is one rule of CNS, named after the lease. does describes the rule.
func ruled(k fault.Kind, rule func(context.Context, *fault.Call) (r cns.Rule, does string, err error)) *fault.Kind {
	type nothing struct{}
	k.Object, k.Needs = fault.VCenter, []fault.Need{fault.Simulator}
	return fault.New(k, fault.Steps[nothing]{
		Plan: func(ctx context.Context, c *fault.Call) (none nothing, _ string, _ error) {
			_, does, err := rule(ctx, c)
			return none, does, err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *nothing) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			r, does, err := rule(ctx, c)
			if err != nil {
				return err
			}
			r.Name = c.Lease
			c.Note("cns.scripted", event.Warning, "CNS from now on: %s", does)
			ep.Sim.CNS().Script(r)
			return nil
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			ep.Sim.CNS().Unscript(c.Lease)
			return nil
		},
	})
}

// failing returns a kind that makes a call fail. It has the parameters of [answered] and [callers].
func failing(k fault.Kind, m call) *fault.Kind {
	return ruled(k, func(ctx context.Context, c *fault.Call) (r cns.Rule, does string, err error) {
		r.Method, r.Count = m.method, c.Params.Number("count")
		about, err := match(ctx, c, &r)
		if err != nil {
			return r, "", err
		}
		m.answer(&r, c.Params.Text("answer"))
		does = fmt.Sprintf("%s%s ends in %s", m.method, about, c.Params.Text("answer"))
		if r.Count > 0 {
			does += fmt.Sprintf(" (%d times)", r.Count)
		}
		return r, does, nil
	})
}

// callers returns the parameters that select the calls.
func callers() []fault.Param {
	return []fault.Param{
		{Name: "volume", Short: "the volume that is hit: claim, PersistentVolume or id; all, when empty", Type: fault.Text},
		{Name: "vm", Short: "the VM that is hit; all, when empty", Type: fault.Text},
	}
}

// times returns the parameter that limits the number of calls.
func times() fault.Param {
	return fault.Param{Name: "count", Short: "after how many calls it is over; 0 is never", Type: fault.Number, Default: "0"}
}

// match sets the calls that a rule affects, and describes them.
func match(ctx context.Context, c *fault.Call, r *cns.Rule) (about string, err error) {
	if name := c.Params.Text("volume"); name != "" {
		v, err := named(ctx, c, fault.Volume, name)
		if err != nil {
			return "", err
		}
		r.Volume, about = v.ID, about+" of "+v.Name
	}
	if name := c.Params.Text("vm"); name != "" {
		v, err := named(ctx, c, fault.VM, name)
		if err != nil {
			return "", err
		}
		r.VM, about = v.Ref, about+" on VM "+v.Name
	}
	return about, nil
}

// named finds an object in the target's vCenter by its name.
func named(ctx context.Context, c *fault.Call, kind fault.Object, name string) (fault.Item, error) {
	all, err := c.Ground.Items(ctx, kind)
	if err != nil {
		return fault.Item{}, err
	}
	var found []fault.Item
	for _, i := range all {
		if i.VCenter == c.Target.VCenter && i.MatchesName(name) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return fault.Item{}, fault.Refuse("vCenter %s: %s %q not found", c.Target.VCenter, kind, name)
	}
	return fault.Item{}, &fault.Refusal{
		Code:    "ambiguous",
		Message: fmt.Sprintf("vCenter %s: %s %q: there are %d of that name, %s and %s among them", c.Target.VCenter, kind, name, len(found), found[0].Name, found[1].Name),
	}
}
