package reported

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// faultReports are about vCenters that do not answer as they should. They disturb each other.
func faultReports() []report {
	return []report{
		{
			saw: "a Node is deleted while the credentials are refused", issues: []string{"#479"},
			vms: []vm{{name: "refused", at: north}, {name: "refused-sound"}}, run: credentialsRefused,
		},
		{
			saw: "credentials rotated in the Secret need a restart", issues: []string{"#786"}, vms: some("rotated", "rotated-next"), run: credentialsRotated,
		},
		{
			saw: "an outage of the vCenters takes nodes down", issues: []string{"kubernetes #42338", "kubernetes #50465", "kubernetes #34364"},
			vms: []vm{{name: "outage-1"}, {name: "outage-2", at: north}, {name: "outage-gone", at: north}}, run: outage,
		},
		{
			saw: "a permission on a datacenter is lost, searches are empty, the Node is deleted", issues: []string{"#665", "csi #2475"},
			vms: []vm{{name: "forbidden", at: east}}, run: permissionLost,
		},
		{
			saw: "a VM that is inaccessible is in no search, and its Node is deleted", issues: []string{"#642", "#650"}, vms: some("apd"),
			run: func(ctx context.Context, w *ground) error { return inaccessible(ctx, w, "apd", false) },
		},
		{
			saw: "the Node of an inaccessible VM is deleted after a restart", issues: []string{"#642"}, vms: some("apd-restart"),
			run: func(ctx context.Context, w *ground) error { return inaccessible(ctx, w, "apd-restart", true) },
		},
		{
			saw: "the Node of an inaccessible VM stays after it was destroyed", issues: []string{"#680", "#681"}, vms: some("apd-gone"), run: inaccessibleGone,
		},
	}
}

// at is a vCenter.
func (w *ground) at(vcenter string) (*sim.VCenter, error) {
	v, ok := w.VCenter(vcenter)
	if !ok {
		return nil, fmt.Errorf("no vCenter %q", vcenter)
	}
	return v, nil
}

// rotate gives the CCM's account at a vCenter another password and ends its sessions.
func (w *ground) rotate(vcenter string) error {
	v, err := w.at(vcenter)
	if err != nil {
		return err
	}
	u := w.Account(vcenter)
	if err := v.SetPasswordOf(u.Name, u.Password+"-next"); err != nil {
		return err
	}
	v.EndSessions(u.Name)
	return nil
}

func credentialsRefused(ctx context.Context, w *ground) error {
	nodes := []string{"refused", "refused-sound"}
	err := steps(
		func() error { return w.up(ctx, nodes...) },
		func() error { return w.rotate("eu") },
		func() error { return w.silentStay(ctx, nodes...) },
	)
	w.WriteSecret(nil)
	if err != nil {
		return err
	}
	return w.stay(ctx, nodes...) // nor with the right ones
}

func credentialsRotated(ctx context.Context, w *ground) error {
	ends := len(w.ccm.Exits())
	err := steps(
		func() error { return w.up(ctx, "rotated") },
		func() error { return w.rotate("us") },
	)
	w.WriteSecret(nil)
	if err != nil {
		return err
	}
	return steps(
		func() error { return w.up(ctx, "rotated-next") },
		func() error { return w.destroy(ctx, "rotated") }, // what the CCM knows of it is of the session before
		func() error { return w.gone(ctx, "rotated") },
		func() error { return w.ranThrough(ends) },
	)
}

// state sets the modes of the first two vCenters' gates.
func (w *ground) state(ctx context.Context, s gate.State) error {
	var all []error
	for _, name := range []string{"us", "eu"} {
		v, err := w.at(name)
		if err == nil {
			err = v.Gate().Set(context.WithoutCancel(ctx), gate.Mode{State: s})
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

func outage(ctx context.Context, w *ground) error {
	err := steps(
		func() error { return w.up(ctx, "outage-1", "outage-2", "outage-gone") },
		func() error { return w.state(ctx, gate.Down) },
		func() error { return w.destroy(ctx, "outage-gone") },
		func() error { return w.silentStay(ctx, "outage-1", "outage-2", "outage-gone") },
	)
	if err = finally(err, func() error { return w.state(ctx, gate.Up) }); err != nil {
		return err
	}
	return steps(
		func() error { return w.gone(ctx, "outage-gone") },
		func() error { return w.stay(ctx, "outage-1", "outage-2") },
	)
}

// noAccess is the system role of that name.
const noAccess = -5

func permissionLost(ctx context.Context, w *ground) error {
	m := w.Machine("forbidden")
	if err := w.up(ctx, m.Name); err != nil {
		return err
	}
	client := w.Operator("us").Client
	dc, err := object.NewSearchIndex(client).FindByInventoryPath(ctx, "/east")
	if err != nil {
		return err
	}
	permissions := object.NewAuthorizationManager(client)
	principal := w.Account("us").Name
	err = steps(
		func() error {
			return permissions.SetEntityPermissions(ctx, dc.Reference(), []types.Permission{{Principal: principal, RoleId: noAccess, Propagate: true}})
		},
		func() error { return w.silentStay(ctx, m.Name) },
		w.ccm.Restart,
		func() error { return w.stay(ctx, m.Name) },
	)
	err = finally(err, func() error {
		return permissions.RemoveEntityPermission(context.WithoutCancel(ctx), dc.Reference(), principal, false)
	})
	if err != nil {
		return err
	}
	return steps(
		func() error { return w.destroy(ctx, m.Name) },
		func() error { return w.gone(ctx, m.Name) },
	)
}

// lose makes a VM inaccessible, as one whose datastore is gone: its configuration cannot be read.
func lose(ctx context.Context, vm *object.VirtualMachine) error {
	return steps(
		func() error { return connection(ctx, vm, types.VirtualMachineConnectionStateInaccessible) },
		func() error { return setUUID(ctx, vm, "") },
	)
}

func connection(ctx context.Context, vm *object.VirtualMachine, s types.VirtualMachineConnectionState) error {
	return setOf(ctx, vm, "runtime.connectionState", s, "summary.runtime.connectionState", s)
}

// regain is the end of lose.
func regain(ctx context.Context, vm *object.VirtualMachine, m *lab.Machine) error {
	return steps(
		func() error { return setUUID(ctx, vm, m.UUID) },
		func() error { return connection(ctx, vm, types.VirtualMachineConnectionStateConnected) },
	)
}

func inaccessible(ctx context.Context, w *ground, name string, restart bool) error {
	m := w.Machine(name)
	vm, err := m.Object(ctx)
	if err != nil {
		return err
	}
	err = steps(
		func() error { return w.up(ctx, name) },
		func() error { return lose(ctx, vm) },
	)
	if err == nil && restart {
		err = w.ccm.Restart()
	}
	if err == nil {
		err = w.silentStay(ctx, name)
	}
	if err = finally(err, func() error { return regain(context.WithoutCancel(ctx), vm, m) }); err != nil {
		return err
	}
	return steps(
		func() error { return w.Kubelets.Revive(ctx, name) },
		func() error { return w.initialized(ctx, name) },
	)
}

func inaccessibleGone(ctx context.Context, w *ground) error {
	m := w.Machine("apd-gone")
	vm, err := m.Object(ctx)
	if err != nil {
		return err
	}
	return steps(
		func() error { return w.up(ctx, m.Name) },
		func() error { return lose(ctx, vm) },
		func() error { return w.silentStay(ctx, m.Name) },
		func() error { return regain(ctx, vm, m) },
		func() error { return m.Destroy(ctx) },
		func() error { return w.gone(ctx, m.Name) },
	)
}
