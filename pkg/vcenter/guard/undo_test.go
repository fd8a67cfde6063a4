package guard_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

const lab = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: lab}
spec:
  tagCategories: [{name: env, cardinality: multiple}]
  vcenters:
    - name: vc
      reactions: {guest: {shutdown: 1s}}
      users: [{name: reader@vsphere.local, password: "secret of reader"}]
      permissions: [{user: reader@vsphere.local, role: ReadOnly}]
      datacenters:
        - name: dc
          hosts: [{name: h1}]
          datastores: [{name: ds}]
          vms: [{name: vm-1, role: worker, tags: [{category: env, name: test}]}]
`

// rig is a vCenter with one VM and a guard before it.
type rig struct {
	*sim.Lab
	guard *guard.Guard
	vm    *object.VirtualMachine
	t     *testing.T
}

// start has the guard log in as a user, empty for the administrator.
func start(t *testing.T, user string, s scope.Scope) *rig {
	t.Helper()
	r := &rig{Lab: sim.Start(t, lab), t: t}
	config, err := vcenter.LoadFile(r.CloudConfigFile())
	if err == nil && user != "" {
		v := config.VCenters[0]
		config, err = vcenter.FromEnvironment([]string{
			"GOVC_URL=" + v.Address(), "GOVC_USERNAME=" + user, "GOVC_PASSWORD=secret of reader", "GOVC_TLS_CA_CERTS=" + r.CAFile,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	v := config.VCenters[0]
	v.Name = "vc"
	c, err := v.Connect(t.Context(), vcenter.Options{UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	j, err := journal.Open(filepath.Join(t.TempDir(), "writes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	r.guard = &guard.Guard{Scope: s, Journal: j, Connection: c}
	if r.vm, err = find.NewFinder(r.Client("vc").Client).VirtualMachine(t.Context(), "/dc/vm/vm-1"); err != nil {
		t.Fatal(err)
	}
	return r
}

// write shows the guard a call of SOAP, and has send make it.
func (r *rig) write(inner string, send func(context.Context) error) error {
	body := soap(fmt.Sprintf(inner, `<_this type="VirtualMachine">`+r.vm.Reference().Value+`</_this>`))
	return r.guard.Pass(request("POST", "/sdk", body), []byte(body), func(*http.Request) error { return send(r.t.Context()) })
}

// tag shows the guard an attach or detach of a tag, and has send make it.
func (r *rig) tag(action, id string, send func(context.Context) error) error {
	body := fmt.Sprintf(`{"object_id":{"type":"VirtualMachine","id":%q}}`, r.vm.Reference().Value)
	return r.guard.Pass(request("POST", "/rest/com/vmware/cis/tagging/tag-association/id:"+id+"?~action="+action, body), []byte(body),
		func(*http.Request) error { return send(r.t.Context()) })
}

// done waits for a task.
func done(task *object.Task, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err != nil {
			return err
		}
		return task.Wait(ctx)
	}
}

func (r *rig) revert() error {
	return guard.Revert(r.t.Context(), r.guard.Journal, r.guard.Scope, map[string]*vcenter.Connection{"vc": r.guard.Connection})
}

// is reads the VM past the guard.
func (r *rig) is() (m mo.VirtualMachine) {
	r.t.Helper()
	if err := r.vm.Properties(r.t.Context(), r.vm.Reference(), []string{"name", "runtime"}, &m); err != nil {
		r.t.Fatal(err)
	}
	return m
}

// TestRevertOfAGuest takes back a shutdown that the guest is still at: the VM is on when it is looked at first, and goes off
// afterwards.
func TestRevertOfAGuest(t *testing.T) {
	r := start(t, "", scope.Scope{AllowWrites: true, Folders: []string{"/dc/vm"}})
	before := r.is()
	if err := r.write(`<ShutdownGuest xmlns="urn:vim25">%s</ShutdownGuest>`, r.vm.ShutdownGuest); err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	connections := map[string]*vcenter.Connection{"vc": r.guard.Connection}
	if err := guard.Revert(interrupted, r.guard.Journal, r.guard.Scope, connections); err == nil || len(r.guard.Journal.Pending()) != 1 {
		t.Errorf("interrupted: %v, %+v", err, r.guard.Journal.Pending())
	}
	if err := r.revert(); err != nil || len(r.guard.Journal.Pending()) != 0 {
		t.Fatalf("%v, %+v", err, r.guard.Journal.Pending())
	}
	after := r.is()
	if after.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || after.Runtime.BootTime == nil || before.Runtime.BootTime != nil && !after.Runtime.BootTime.After(*before.Runtime.BootTime) {
		t.Errorf("it is %s, and was booted at %v and at %v", after.Runtime.PowerState, before.Runtime.BootTime, after.Runtime.BootTime)
	}
}

// TestRevertOfADiskOfASuspendedVM reverts the attachment of a volume to a VM that was suspended later: a suspended VM cannot
// change disks, and the front's fuzzer found that such a write stayed.
func TestRevertOfADiskOfASuspendedVM(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps string // attach, suspend, resume; S: suspend past the guard
		want  types.VirtualMachinePowerState
		left  string // why it is not taken back
	}{
		{"later", "as", types.VirtualMachinePowerStatePoweredOn, ""},
		{"before and later", "sras", types.VirtualMachinePowerStatePoweredOn, ""},
		{"by its owner, before", "Sras", types.VirtualMachinePowerStateSuspended, ""},
		{"by its owner, later", "aS", types.VirtualMachinePowerStateSuspended, "suspended, which is not by a write of this sandbox"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, "", scope.Scope{AllowWrites: true, Folders: []string{"/dc/vm"}})
			ctx := t.Context()
			volumes, err := cns.NewClient(ctx, r.Client("vc").Client)
			if err != nil {
				t.Fatal(err)
			}
			id := r.createVolume(volumes)
			suspend := func() error {
				return r.write(`<SuspendVM_Task xmlns="urn:vim25">%s</SuspendVM_Task>`, func(ctx context.Context) error { return done(r.vm.Suspend(ctx))(ctx) })
			}
			resume := func() error {
				return r.write(`<PowerOnVM_Task xmlns="urn:vim25">%s</PowerOnVM_Task>`, func(ctx context.Context) error { return done(r.vm.PowerOn(ctx))(ctx) })
			}
			attach := func() error {
				spec := cnstypes.CnsVolumeAttachDetachSpec{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: r.vm.Reference()}
				body := soap(`<CnsAttachVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">cns-volume-manager</_this><attachSpecs><volumeId><id>` + id +
					`</id></volumeId><vm type="VirtualMachine">` + r.vm.Reference().Value + `</vm></attachSpecs></CnsAttachVolume>`)
				return r.guard.Pass(request("POST", "/vsanHealth", body), []byte(body), func(*http.Request) error {
					return done(volumes.AttachVolume(ctx, []cnstypes.CnsVolumeAttachDetachSpec{spec}))(ctx)
				})
			}
			owner := func() error { return done(r.vm.Suspend(ctx))(ctx) }
			for _, step := range tc.steps {
				if err := map[rune]func() error{'a': attach, 's': suspend, 'r': resume, 'S': owner}[step](); err != nil {
					t.Fatalf("step %c: %v", step, err)
				}
			}
			if len(r.disks()) != 1 {
				t.Fatalf("volumes %q of the VM: the test shows nothing", r.disks())
			}
			err = r.revert()
			if tc.left != "" {
				if err == nil || !strings.Contains(err.Error(), tc.left) {
					t.Errorf("%v, want %q", err, tc.left)
				}
				err = done(r.vm.PowerOn(ctx))(ctx) // as the error asks for
				if err == nil {
					err = r.revert()
				}
				tc.want = types.VirtualMachinePowerStatePoweredOn
			}
			if err != nil || len(r.guard.Journal.Pending()) != 0 {
				t.Errorf("%v, left: %+v", err, r.guard.Journal.Pending())
			}
			if disks := r.disks(); len(disks) != 0 || r.is().Runtime.PowerState != tc.want {
				t.Errorf("volumes %q, %s", disks, r.is().Runtime.PowerState)
			}
		})
	}
}

// createVolume returns the ID of a new volume.
func (r *rig) createVolume(volumes *cns.Client) string {
	t := r.t
	t.Helper()
	ctx := t.Context()
	store, err := find.NewFinder(r.Client("vc").Client).Datastore(ctx, "/dc/datastore/ds")
	if err != nil {
		t.Fatal(err)
	}
	task, err := volumes.CreateVolume(ctx, []cnstypes.CnsVolumeCreateSpec{{
		Name: "v", VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: []types.ManagedObjectReference{store.Reference()},
		Metadata: cnstypes.CnsVolumeMetadata{ContainerCluster: cnstypes.CnsContainerCluster{
			ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "c", VSphereUser: "u",
		}},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 16}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := cns.GetTaskInfo(ctx, task)
	if err != nil {
		t.Fatal(err)
	}
	result, err := cns.GetTaskResult(ctx, info)
	if err != nil || result.GetCnsVolumeOperationResult().Fault != nil {
		t.Fatalf("%+v, %v", result, err)
	}
	return result.GetCnsVolumeOperationResult().VolumeId.Id
}

// disks are the volumes at the VM.
func (r *rig) disks() (ids []string) {
	r.t.Helper()
	devices, err := r.vm.Device(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		if id := d.(*types.VirtualDisk).VDiskId; id != nil {
			ids = append(ids, id.Id)
		}
	}
	return ids
}

func TestRevertOfNothing(t *testing.T) {
	r := start(t, "reader@vsphere.local", scope.Scope{AllowWrites: true, Folders: []string{"/dc/vm"}})
	reader := object.NewVirtualMachine(r.ClientAs("vc", "reader@vsphere.local", "secret of reader").Client, r.vm.Reference())
	err := r.write(`<Rename_Task xmlns="urn:vim25">%s<newName>other</newName></Rename_Task>`, func(ctx context.Context) error {
		return done(reader.Rename(ctx, "other"))(ctx)
	})
	if err == nil {
		t.Error("renamed by a reader")
	}
	refused := func(context.Context) error { return fmt.Errorf("403") }
	id := r.tagID()
	for _, action := range []string{"detach", "attach"} {
		if err := r.tag(action, id, refused); err == nil {
			t.Errorf("%s: no error", action)
		}
	}
	if n := len(r.guard.Journal.Pending()); n != 3 {
		t.Fatalf("%d writes in the journal", n)
	}
	if err := r.revert(); err != nil || len(r.guard.Journal.Pending()) != 0 {
		t.Errorf("%v, %+v", err, r.guard.Journal.Pending())
	}
	if m := r.is(); m.Name != "vm-1" {
		t.Errorf("it is called %s", m.Name)
	}
}

// TestRevertOfAScope takes the tag off that had put the VM into the scope, where there are folders in it, too.
func TestRevertOfAScope(t *testing.T) {
	r := start(t, "", scope.Scope{AllowWrites: true, Folders: []string{"/dc/vm/elsewhere"}, Tags: []string{"env:test"}})
	m, id := tags.NewManager(r.REST("vc")), r.tagID()
	err := r.write(`<PowerOffVM_Task xmlns="urn:vim25">%s</PowerOffVM_Task>`, func(ctx context.Context) error { return done(r.vm.PowerOff(ctx))(ctx) })
	if err != nil {
		t.Fatal(err)
	}
	if err := r.tag("detach", id, func(ctx context.Context) error { return m.DetachTag(ctx, id, r.vm) }); err != nil {
		t.Fatal(err)
	}
	if err := r.revert(); err != nil || len(r.guard.Journal.Pending()) != 0 {
		t.Errorf("%v, %+v", err, r.guard.Journal.Pending())
	}
	on, err := m.ListAttachedTags(t.Context(), r.vm)
	if now := r.is(); err != nil || len(on) != 1 || on[0] != id || now.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("tags %v, %v, power %s", on, err, now.Runtime.PowerState)
	}
}

// tagID is the VM's tag.
func (r *rig) tagID() string {
	r.t.Helper()
	on, err := tags.NewManager(r.REST("vc")).ListAttachedTags(r.t.Context(), r.vm)
	if err != nil || len(on) != 1 {
		r.t.Fatalf("tags %v, %v", on, err)
	}
	return on[0]
}
