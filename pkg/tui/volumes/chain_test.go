package volumes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// TestChain checks the path of a volume in each of its states.
func TestChain(t *testing.T) {
	const node, other = "worker-1", "worker-2"
	around := []api.Update{
		{VM: &api.VM{Name: "vm-1", VCenter: "vc", MoRef: "vm-1", Power: "on", Disks: []api.Disk{{Volume: "id-1", File: "[ds] fcd/1.vmdk", Controller: 0, Unit: 1}}}},
		{VM: &api.VM{Name: "vm-2", VCenter: "vc", MoRef: "vm-2", Power: "off"}},
		{VM: &api.VM{Name: "vm-1", VCenter: "elsewhere", MoRef: "vm-1", Power: "suspended"}},
		{Node: &api.Node{Name: node, VM: "vm-1", VCenter: "vc", Registered: true, Ready: "True", Initialized: true}},
		{Node: &api.Node{Name: other, VM: "vm-2", VCenter: "vc", Registered: true, Ready: "Unknown", Initialized: true, Taints: []string{"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"}}},
	}
	volume := func(state api.VolumeState, change func(*api.Volume)) api.Volume {
		v := api.Volume{
			Name: "pvc-1", Phase: "Bound", Claim: "default/a", Driver: csiDriver, Handle: "id-1", VCenter: "vc", Datastore: "ds", State: state,
			StorageClass: "gold", Pods: []string{"default/p"},
		}
		change(&v)
		return v
	}
	attachment := func(node string, change func(*api.Attachment)) api.Update {
		a := api.Attachment{Name: "csi-" + node, Volume: "pvc-1", Node: node, Attached: true}
		if change != nil {
			change(&a)
		}
		return api.Update{Attachment: &a}
	}
	pod := func(kind, message string) api.Update {
		return api.Update{Event: &event.Event{Seq: 1, Kind: kind, Object: event.Object{Kind: "Pod", Name: "default/p"}, Message: message}}
	}
	for _, tc := range []struct {
		name    string
		volume  api.Volume
		updates []api.Update
		want    string
	}{
		{
			"pending",
			api.Volume{Name: "default/a", Claim: "default/a", Phase: "Pending", State: api.VolumePending, Waits: "csi-provisioner"},
			nil, `
PVC default/a: ◐ Pending
*PV: ○ not yet
CNS volume: ○ not yet
VMDK: ○ none known
VM: ○ on no VM
Node: ○ on none
Pod: ○ none`,
		},
		{
			"in use",
			volume(api.VolumeInUse, func(v *api.Volume) { v.VM, v.Node, v.Attached = "vm-1", node, true }),
			[]api.Update{attachment(node, nil)},
			`
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
CNS volume id-1: ● exists, vCenter vc
VMDK [ds] fcd/1.vmdk: ● on datastore ds
VM vm-1: ● on, scsi 0:1
Node worker-1: ● attached, node ● Ready
Pod default/p: ● running`,
		},
		{
			"in use, the disk is gone",
			volume(api.VolumeInUse, func(v *api.Volume) {
				v.Handle, v.Node, v.Attached, v.Waits = "id-2", node, true, "its disk is on no VM: csi-attacher"
			}),
			[]api.Update{attachment(node, nil), pod("pod.running", "runs")},
			`
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
CNS volume id-2: ● exists, vCenter vc
VMDK [ds]: ● on datastore ds
*VM: ✗ on no VM
Node worker-1: ● attached, node ● Ready
Pod default/p: ● running`,
		},
		{
			"blocked",
			volume(api.VolumeBlocked, func(v *api.Volume) { v.VM, v.Node, v.Attached, v.Waits = "vm-1", other, true, "much" }),
			[]api.Update{attachment(other, nil), pod("pod.scheduled", "on node worker-1")},
			`
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
CNS volume id-1: ● exists, vCenter vc
VMDK [ds] fcd/1.vmdk: ● on datastore ds
VM vm-1: ● on, scsi 0:1
*Node worker-2: ● attached, node ? Unknown, out of service
Pod default/p: ◐ scheduled, on node worker-1`,
		},
		{
			"attaching fails",
			volume(api.VolumeAttaching, func(v *api.Volume) { v.Handle, v.Node, v.Waits = "id-2", node, "csi-attacher" }),
			[]api.Update{attachment(node, func(a *api.Attachment) { a.Attached, a.Error = false, "no such VM" })},
			`
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
CNS volume id-2: ● exists, vCenter vc
VMDK [ds]: ● on datastore ds
VM: ○ on no VM
*Node worker-1: ✗ attaching, node ● Ready: no such VM
Pod default/p: ◐ waits`,
		},
		{
			"wanted on a node that is gone",
			volume(api.VolumeAttaching, func(v *api.Volume) { v.Handle, v.Node, v.Waits = "id-2", "nobody", "the attach-detach controller" }),
			nil, `
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
CNS volume id-2: ● exists, vCenter vc
VMDK [ds]: ● on datastore ds
VM: ○ on no VM
*Node nobody: ◐ wanted, no VolumeAttachment, node is gone
Pod default/p: ◐ waits`,
		},
		{
			"detaching, and attached elsewhere",
			volume(api.VolumeDetaching, func(v *api.Volume) { v.VM, v.Node, v.Attached, v.Waits = "vm-1", node, true, "csi-attacher" }),
			[]api.Update{attachment(node, func(a *api.Attachment) { a.Deleting = true }), attachment(other, func(a *api.Attachment) { a.Attached = false }), pod("pod.terminating", "")},
			`
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
CNS volume id-1: ● exists, vCenter vc
VMDK [ds] fcd/1.vmdk: ● on datastore ds
VM vm-1: ● on, scsi 0:1
*Node worker-1: ◐ detaching, node ● Ready
Node worker-2: ◐ attaching, node ? Unknown, out of service
Pod default/p: ◐ terminating`,
		},
		{
			"not mounted yet",
			volume(api.VolumeAttached, func(v *api.Volume) {
				v.VM, v.Node, v.Attached, v.Waits = "vm-1", node, true, "the kubelet of worker-1 to mount it for pod default/p"
			}),
			[]api.Update{attachment(node, nil)},
			`
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
CNS volume id-1: ● exists, vCenter vc
VMDK [ds] fcd/1.vmdk: ● on datastore ds
VM vm-1: ● on, scsi 0:1
Node worker-1: ● attached, node ● Ready
*Pod default/p: ◐ waits`,
		},
		{
			"released",
			volume(api.VolumeReleased, func(v *api.Volume) {
				v.Claim, v.Phase, v.Handle, v.Pods, v.Waits = "", "Released", "id-2", nil, "csi-provisioner to delete it"
			}),
			nil, `
PVC: ○ deleted, class gold
*PV pvc-1: ○ Released
CNS volume id-2: ● exists, vCenter vc
VMDK [ds]: ● on datastore ds
VM: ○ on no VM
Node: ○ on none
Pod: ○ none`,
		},
		{
			"lost",
			volume(api.VolumeLost, func(v *api.Volume) {
				v.Handle, v.VCenter, v.Datastore, v.Waits = "id-9", "", "", "CNS has no volume of this id"
			}),
			nil, `
PVC default/a: ● Bound, class gold
PV pvc-1: ● Bound
*CNS volume id-9: ✗ lost
VMDK: ○ none known
VM: ○ on no VM
Node: ○ on none
Pod default/p: ◐ waits`,
		},
		{
			"its PersistentVolume is gone",
			api.Volume{Name: "default/a", Claim: "default/a", Phase: "Lost", State: api.VolumeLost, Waits: "its PersistentVolume is gone"},
			nil, `
PVC default/a: ✗ Lost
*PV: ○ none
CNS volume: ○ not yet
VMDK: ○ none known
VM: ○ on no VM
Node: ○ on none
Pod: ○ none`,
		},
		{
			"orphaned",
			api.Volume{Name: "id-1", Handle: "id-1", VCenter: "vc", Datastore: "ds", VM: "vm-1", State: api.VolumeOrphaned, Waits: "no PersistentVolume has it"},
			nil, `
PVC: ○ none
*PV: ○ none
CNS volume id-1: ● exists, vCenter vc
VMDK [ds] fcd/1.vmdk: ● on datastore ds
VM vm-1: ● on, scsi 0:1
Node: ○ on none
Pod: ○ none`,
		},
		{
			"of another driver",
			api.Volume{Name: "pv", Phase: "Available", Driver: "example.com", Handle: "x", State: api.VolumeDetached},
			nil, `
PVC: ○ none
PV pv: ○ Available
CNS volume x: ○ none, volume of example.com
VMDK: ○ none known
VM: ○ on no VM
Node: ○ on none
Pod: ○ none`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := fold.New(tuitest.About(), 0)
			s.Apply(tuitest.Began, append(append(around, tc.updates...), api.Update{Volume: &tc.volume}, api.Update{Synced: true})...)
			var lines []string
			for _, h := range chain(s, tc.volume) {
				line := strings.TrimRight(h.kind+" "+h.name, " ") + ": " + h.state.String()
				if h.more != "" {
					line += ", " + h.more
				}
				if h.stuck {
					line = "*" + line
				}
				if h.changed {
					line += " (changed)"
				}
				lines = append(lines, line)
			}
			if diff := cmp.Diff(strings.TrimSpace(tc.want), strings.Join(lines, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
