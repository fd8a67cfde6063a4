package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// VMAnnotation is the annotation on a Node that records the VM from which the Node was initialized: the vCenter's instance
// UUID and the VM's managed object reference, as JSON. After a restart, the provider reads it from there.
//
// It never identifies a VM and never confirms that one is gone. It can only hold a deletion back: see
// [instances.recordedVMGone].
const VMAnnotation = "sandbox.vsphere/vm"

// maxRecordSize is the longest annotation that is read, in bytes.
const maxRecordSize = 1024

// vmRecord is the content of the annotation. Unknown fields are ignored.
type vmRecord struct {
	// UUID is the BIOS UUID in the Node's providerID. If it differs, the annotation was copied from another Node and is ignored.
	UUID string `json:"uuid"`
	// VCenter is the instance UUID of the vCenter, and VM the value of the VM's reference there.
	VCenter string `json:"vcenter"`
	VM      string `json:"vm"`
	// Server is the vCenter's address in vsphere.conf at the time of writing. It is informational.
	Server string `json:"server,omitempty"`
}

var errNoRecord = errors.New("the node has no such annotation")

// recordOf returns a Node's annotation. The error is [errNoRecord] if the Node has none; any other error explains
// why the annotation is ignored.
func recordOf(node *corev1.Node) (vmRecord, error) {
	r, err := parseRecord(node)
	if err != nil {
		return vmRecord{}, err
	}
	bound, err := match.ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return vmRecord{}, err
	}
	if !r.isOf(bound) {
		return vmRecord{}, fmt.Errorf("its uuid %q is not that of the node's providerID %s", r.UUID, node.Spec.ProviderID)
	}
	return r, nil
}

// parseRecord is rememberedBy without the check of the UUID.
func parseRecord(node *corev1.Node) (vmRecord, error) {
	text, ok := node.Annotations[VMAnnotation]
	if !ok {
		return vmRecord{}, errNoRecord
	}
	if len(text) > maxRecordSize {
		return vmRecord{}, fmt.Errorf("it is longer than %d bytes", maxRecordSize)
	}
	var r vmRecord
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return vmRecord{}, fmt.Errorf("it is not what this provider writes: %w", err)
	}
	if r.VCenter == "" || r.VM == "" {
		return vmRecord{}, errors.New("it names no vcenter, or no vm")
	}
	return r, nil
}

func (r vmRecord) isOf(vm match.UUID) bool {
	u, err := match.ParseUUID(r.UUID)
	return err == nil && u.Is(vm)
}

func (r vmRecord) location() inventory.Location {
	return inventory.Location{VCenter: r.VCenter, VM: r.VM}
}

func (r vmRecord) String() string {
	if r.Server == "" {
		return fmt.Sprintf("%q in the vcenter of instance uuid %q", r.VM, r.VCenter)
	}
	return fmt.Sprintf("%q in vcenter %q, instance uuid %q", r.VM, r.Server, r.VCenter)
}

// recordedVMGone checks the VM in the Node's annotation before the Node is deleted. It returns nil if the annotation's
// vCenter is configured and confirms that it no longer has that reference, or if there is no usable annotation.
func (i instances) recordedVMGone(ctx context.Context, node *corev1.Node, u match.UUID) error {
	if i.choices.noAnnotation {
		return nil
	}
	r, err := recordOf(node)
	if err != nil {
		return nil // Provider reports an unreadable annotation
	}
	return wrap(i.inv.ConfirmRemoved(ctx, r.location(), u), "the node was initialized from vm "+r.String())
}

// annotationDue returns the content that the Node's annotation must get, with its VM. It returns false if there is nothing to write:
// the VM is unknown at the moment, or the annotation is up to date.
func (i instances) annotationDue(node *corev1.Node) (string, *inventory.VM, bool) {
	if i.choices.noAnnotation {
		return "", nil, false
	}
	vm, err := i.match(node)
	if err != nil || vm.UUID == (match.UUID{}) {
		return "", nil, false
	}
	at, err := i.inv.Locate(vm)
	if err != nil {
		return "", nil, false
	}
	if r, err := parseRecord(node); err == nil && r.location() == at && r.isOf(vm.UUID) {
		return "", nil, false
	}
	r := vmRecord{UUID: vm.UUID.String(), VCenter: at.VCenter, VM: at.VM}
	for _, vc := range i.cfg.VCenters {
		if vc.Tenant == vm.VCenter {
			r.Server = vc.Server
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "", nil, false // impossible: only strings
	}
	return string(text), vm, true
}
