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

// VMAnnotation is the annotation of a Node that names the VM which the Node was initialized from: the vCenter's instance
// UUID and the VM's reference, as JSON. A process that has just started reads there what the one before it knew.
//
// It never identifies a VM and never confirms that one is gone. It only holds a deletion back: see
// [instances.rememberedGone].
const VMAnnotation = "sandbox.vsphere/vm"

// maxRemembered bounds what is read from the annotation, in bytes.
const maxRemembered = 1024

// remembered is the content of the annotation. Fields that it does not know are ignored.
type remembered struct {
	// UUID is the BIOS UUID in the Node's providerID. The annotation of another Node has another one, and does not count.
	UUID string `json:"uuid"`
	// VCenter is the instance UUID of the vCenter, and VM the value of the VM's reference there.
	VCenter string `json:"vcenter"`
	VM      string `json:"vm"`
	// Server is the vCenter's address in vsphere.conf when this was written. It is for people, and decides nothing.
	Server string `json:"server,omitempty"`
}

var errNotRemembered = errors.New("the node has no such annotation")

// rememberedBy returns what a Node's annotation says. The error is [errNotRemembered] when it has none; any other error
// says why the annotation does not count.
func rememberedBy(node *corev1.Node) (remembered, error) {
	r, err := parseRemembered(node)
	if err != nil {
		return remembered{}, err
	}
	bound, err := match.ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return remembered{}, err
	}
	if !r.isOf(bound) {
		return remembered{}, fmt.Errorf("its uuid %q is not that of the node's providerID %s", r.UUID, node.Spec.ProviderID)
	}
	return r, nil
}

// parseRemembered is rememberedBy for whatever VM the annotation is of.
func parseRemembered(node *corev1.Node) (remembered, error) {
	text, ok := node.Annotations[VMAnnotation]
	if !ok {
		return remembered{}, errNotRemembered
	}
	if len(text) > maxRemembered {
		return remembered{}, fmt.Errorf("it is longer than %d bytes", maxRemembered)
	}
	var r remembered
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return remembered{}, fmt.Errorf("it is not what this provider writes: %w", err)
	}
	if r.VCenter == "" || r.VM == "" {
		return remembered{}, errors.New("it names no vcenter, or no vm")
	}
	return r, nil
}

func (r remembered) isOf(vm match.UUID) bool {
	u, err := match.ParseUUID(r.UUID)
	return err == nil && u.Is(vm)
}

func (r remembered) location() inventory.Location {
	return inventory.Location{VCenter: r.VCenter, VM: r.VM}
}

// String names the VM in messages.
func (r remembered) String() string {
	if r.Server == "" {
		return fmt.Sprintf("%q in the vcenter of instance uuid %q", r.VM, r.VCenter)
	}
	return fmt.Sprintf("%q in vcenter %q, instance uuid %q", r.VM, r.Server, r.VCenter)
}

// rememberedGone returns nil when what the Node's annotation remembers does not speak against the deletion of the Node:
// the vCenter that it names is configured and answers that it no longer has the VM of that reference, or the annotation
// names nothing.
func (i instances) rememberedGone(ctx context.Context, node *corev1.Node, u match.UUID) error {
	if i.choices.nothingRemembered {
		return nil
	}
	r, err := rememberedBy(node)
	if err != nil {
		return nil // what cannot be read says nothing; Provider reports it
	}
	return wrap(i.inv.ConfirmRemoved(ctx, r.location(), u), "the node was initialized from vm "+r.String())
}

// due returns the content that the Node's annotation must have and does not have yet, with the VM that it is of; false
// when there is nothing to write: the VM is not known at the moment, or the annotation says the same.
func (i instances) due(node *corev1.Node) (string, *inventory.VM, bool) {
	if i.choices.nothingRemembered {
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
	if r, err := parseRemembered(node); err == nil && r.location() == at && r.isOf(vm.UUID) {
		return "", nil, false
	}
	r := remembered{UUID: vm.UUID.String(), VCenter: at.VCenter, VM: at.VM}
	for _, vc := range i.cfg.VCenters {
		if vc.Tenant == vm.VCenter {
			r.Server = vc.Server
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "", nil, false // it holds strings alone
	}
	return string(text), vm, true
}
