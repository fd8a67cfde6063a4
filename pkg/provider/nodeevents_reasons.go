package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The reasons of events about Nodes.
const (
	// ReasonVMNotFound: no vCenter has a VM for the node. The message says what was looked for.
	ReasonVMNotFound = "VMNotFound"
	// ReasonVMAmbiguous: several VMs answer to the node's UUID, name or address.
	ReasonVMAmbiguous = "VMAmbiguous"
	// ReasonVCenterUnavailable: a node waits to be initialized for a vCenter that cannot be asked.
	ReasonVCenterUnavailable = "VCenterUnavailable"
	// ReasonForeignProviderID: the node's providerID is another provider's.
	ReasonForeignProviderID = "ForeignProviderID"
	// ReasonInvalidProviderID: the node's providerID holds no UUID.
	ReasonInvalidProviderID = "InvalidProviderID"
	// ReasonStaleProviderID: the node runs on another VM than that of its providerID.
	ReasonStaleProviderID = "StaleProviderID"
	// ReasonZoneTagMissing: no tag of a category on any object above the VM.
	ReasonZoneTagMissing = "ZoneTagMissing"
	// ReasonZoneTagsUnknown: tags are missed, and could not be read.
	ReasonZoneTagsUnknown = "ZoneTagsUnknown"
	// ReasonZoneTagInvalid: a tag's name cannot be a label.
	ReasonZoneTagInvalid = "ZoneTagInvalid"
	// ReasonGuestNotReporting: the guest has not told hostname or adapters yet, or is off.
	ReasonGuestNotReporting = "GuestNotReporting"
	// ReasonNodeUnserved: anything else.
	ReasonNodeUnserved = "NodeUnserved"
	// ReasonDeletionHeldBack: the node stays because its VM cannot be said to be gone.
	ReasonDeletionHeldBack = "DeletionHeldBack"
	// ReasonDeletionSkipped: the node stays by SKIP_NODE_DELETION, though its VM is not found.
	ReasonDeletionSkipped = "DeletionSkipped"
	// ReasonVMInaccessible: no search finds the VM, and its vCenter still has it.
	ReasonVMInaccessible = "VMInaccessible"
	// ReasonVMGone: every vCenter confirms that the VM is gone.
	ReasonVMGone = "VMGone"
	// ReasonNodeWell: a node that was warned about is in order again.
	ReasonNodeWell = "NodeWell"
)

// reasonOf returns the reason of an event that tells err.
func reasonOf(err error) string {
	var (
		missing *inventory.MissingTagError
		stale   *staleError
		problem *address.Problem
	)
	switch {
	case errors.Is(err, ErrDeletionSkipped):
		return ReasonDeletionSkipped
	case errors.Is(err, ErrDeletionHeldBack):
		return ReasonDeletionHeldBack
	case errors.Is(err, ErrForeignProviderID):
		return ReasonForeignProviderID
	case errors.Is(err, ErrInvalidProviderID):
		return ReasonInvalidProviderID
	case errors.As(err, &stale):
		return ReasonStaleProviderID
	case errors.Is(err, inventory.ErrStillThere):
		return ReasonVMInaccessible
	case errors.Is(err, inventory.ErrAmbiguous):
		return ReasonVMAmbiguous
	case errors.As(err, &missing) && missing.Err != nil:
		return ReasonZoneTagsUnknown
	case errors.As(err, &missing):
		return ReasonZoneTagMissing
	case errors.Is(err, ErrTagName):
		return ReasonZoneTagInvalid
	case errors.Is(err, vcenter.ErrNotConnected), errors.Is(err, inventory.ErrNotSynced):
		return ReasonVCenterUnavailable
	case errors.Is(err, inventory.ErrNotFound):
		return ReasonVMNotFound
	case errors.As(err, &problem):
		return string(problem.Reason) // the selection's own
	}
	return ReasonNodeUnserved
}

// metadata tells what InstanceMetadata found. A node in service is no worse off while a vCenter is out: that is told of
// the vCenter, not a thousand times of its nodes.
func (e *nodeEvents) metadata(node *v1.Node, m *cloudprovider.InstanceMetadata, err error) {
	if err == nil {
		of := []concern{metadataConcern, existenceConcern}
		if slices.ContainsFunc(node.Status.Conditions, isReady) {
			of = append(of, shutdownConcern) // which nobody asks about any more
		}
		e.well(node, "vm, addresses, region and zone are known", of...)
		return
	}
	reason := reasonOf(err)
	if reason == ReasonVCenterUnavailable && initialized(node) {
		return
	}
	if m != nil {
		e.well(node, "vm is found", existenceConcern)
	}
	e.tell(node, metadataConcern, tale{kind: v1.EventTypeWarning, reason: reason, message: message(node, err)})
}

// existence tells what InstanceExists found.
func (e *nodeEvents) existence(node *v1.Node, exists bool, err error) {
	switch {
	case exists && err == nil:
		e.well(node, "vm is found", existenceConcern)
	case err == nil:
		e.tell(node, existenceConcern, tale{
			kind: v1.EventTypeNormal, reason: ReasonVMGone,
			message: "every vcenter was asked and has no vm of providerID " + node.Spec.ProviderID,
		})
	default:
		e.tell(node, existenceConcern, tale{kind: v1.EventTypeWarning, reason: reasonOf(err), message: message(node, err)})
	}
}

// shutdown tells why InstanceShutdown would not say that a VM is off. That it is not found, the others tell.
func (e *nodeEvents) shutdown(node *v1.Node, err error) {
	switch {
	case err == nil:
		e.well(node, "power state is known", shutdownConcern)
	case errors.Is(err, inventory.ErrNotFound), errors.Is(err, inventory.ErrAmbiguous):
	default:
		e.tell(node, shutdownConcern, tale{kind: v1.EventTypeWarning, reason: reasonOf(err), message: message(node, err)})
	}
}

// message is err on one line, without the node's name, and what to do about it where that follows.
func message(node *v1.Node, err error) string {
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("node %q: ", node.Name))
	if h := hint(err); h != "" {
		text += "; " + h
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// hint says what to do where the error itself does not.
func hint(err error) string {
	switch reasonOf(err) {
	case ReasonInvalidProviderID:
		return "it cannot be changed: delete the node, and it registers anew when its kubelet is restarted"
	case ReasonForeignProviderID:
		return "if the node is to be this provider's, have its kubelet start without --provider-id, and delete the node"
	case ReasonVMAmbiguous:
		return "give each of them a UUID and a hostname of its own"
	case ReasonZoneTagMissing:
		return "attach a tag of each category to one of these, or set no labels in the configuration"
	case ReasonVMNotFound:
		return "it has to be in a configured vCenter and datacenter, where the account may read it, and its guest has to report its hostname"
	}
	return ""
}
