package provider

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The reasons of events about Nodes.
const (
	// ReasonVMNotFound: no vCenter has a VM for the node. The message says what was looked for.
	ReasonVMNotFound = "VMNotFound"
	// ReasonVMAmbiguous: several VMs answer to the node's UUID, name or address.
	ReasonVMAmbiguous = "VMAmbiguous"
	// ReasonVCenterUnavailable: a node waits to be initialized for a vCenter that cannot be asked, or is not ready, and may
	// have its VM there.
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
	// ReasonGuestNotReporting: the guest does not tell hostname or adapters. That a node waits for a VM which is off is told
	// so too; that the VM of a node in service is off is not.
	ReasonGuestNotReporting = "GuestNotReporting"
	// ReasonNodeUnserved: anything else.
	ReasonNodeUnserved = "NodeUnserved"
	// ReasonDeletionHeldBack: no search finds the VM, and the node stays because it cannot be said to be gone.
	ReasonDeletionHeldBack = "DeletionHeldBack"
	// ReasonDeletionSkipped: the node stays by SKIP_NODE_DELETION, though its VM is not found.
	ReasonDeletionSkipped = "DeletionSkipped"
	// ReasonVMInaccessible: no search finds the VM, and its vCenter still has it.
	ReasonVMInaccessible = "VMInaccessible"
	// ReasonVCenterNotConfigured: the node was initialized from a vCenter that the configuration does not name any more, and
	// its VM may be there.
	ReasonVCenterNotConfigured = "VCenterNotConfigured"
	// ReasonVMUUIDChanged: the VM that the node was initialized from is there, with another BIOS UUID.
	ReasonVMUUIDChanged = "VMUUIDChanged"
	// ReasonVMAnnotationIgnored: the node's annotation [VMAnnotation] cannot be read, or is another node's.
	ReasonVMAnnotationIgnored = "VMAnnotationIgnored"
	// ReasonVMGone: every vCenter that is configured confirms that the VM is gone.
	ReasonVMGone = "VMGone"
	// ReasonNodeWell: a node that was warned about is in order again.
	ReasonNodeWell = "NodeWell"
)

// reasonOf returns the reason of an event that tells err.
func reasonOf(err error) string {
	var (
		missing *inventory.MissingTagError
		stale   *match.StaleError
		problem *address.Problem
	)
	switch {
	case errors.Is(err, match.ErrNotFound) && unavailable(err) && !errors.As(err, &stale):
		return ReasonVCenterUnavailable // where it may be
	case errors.Is(err, ErrDeletionSkipped):
		return ReasonDeletionSkipped
	case errors.Is(err, inventory.ErrNotConfigured):
		return ReasonVCenterNotConfigured
	case errors.Is(err, inventory.ErrUUIDChanged):
		return ReasonVMUUIDChanged
	case errors.Is(err, ErrDeletionHeldBack):
		return ReasonDeletionHeldBack
	case errors.Is(err, match.ErrForeignProviderID):
		return ReasonForeignProviderID
	case errors.Is(err, match.ErrInvalidProviderID):
		return ReasonInvalidProviderID
	case errors.As(err, &stale):
		return ReasonStaleProviderID
	case errors.Is(err, inventory.ErrStillThere):
		return ReasonVMInaccessible
	case errors.Is(err, match.ErrAmbiguous):
		return ReasonVMAmbiguous
	case errors.As(err, &missing) && missing.Err != nil:
		return ReasonZoneTagsUnknown
	case errors.As(err, &missing):
		return ReasonZoneTagMissing
	case errors.Is(err, ErrTagName):
		return ReasonZoneTagInvalid
	case unavailable(err):
		return ReasonVCenterUnavailable
	case errors.Is(err, match.ErrNotFound):
		return ReasonVMNotFound
	case errors.As(err, &problem):
		return string(problem.Reason) // the selection's own
	}
	return ReasonNodeUnserved
}

// unavailable reports whether err is that a vCenter cannot be asked.
func unavailable(err error) bool {
	return errors.Is(err, vcenter.ErrNotConnected) || errors.Is(err, inventory.ErrNotSynced)
}

// metadata tells what InstanceMetadata found. A node in service is no worse off while a vCenter is out: that is told of
// the vCenter, not a thousand times of its nodes. Nor is it news that a VM which is off reports nothing: the node's taint
// says so.
func (e *nodeEvents) metadata(node *corev1.Node, m *cloudprovider.InstanceMetadata, err error) {
	if err == nil {
		of := []concern{metadataConcern, existenceConcern}
		if slices.ContainsFunc(node.Status.Conditions, isReady) {
			of = append(of, shutdownConcern) // which nobody asks about any more
		}
		e.well(node, "vm, addresses, region and zone are known", of...)
		return
	}
	reason := reasonOf(err)
	if initialized(node) && (reason == ReasonVCenterUnavailable || errors.Is(err, errOff)) {
		return
	}
	if m != nil {
		e.well(node, "vm is found", existenceConcern)
	}
	e.tell(node, metadataConcern, tale{kind: corev1.EventTypeWarning, reason: reason, message: message(node, err)})
}

// existence tells what InstanceExists found. confirmed says who confirmed that the VM is gone, when it is.
func (e *nodeEvents) existence(node *corev1.Node, exists bool, confirmed string, err error) {
	switch {
	case exists && err == nil:
		e.well(node, "vm is found", existenceConcern)
	case initialized(node) && errors.Is(err, errOff): // by upstream's choice, as metadata
	case err == nil:
		e.tell(node, existenceConcern, tale{
			kind: corev1.EventTypeNormal, reason: ReasonVMGone,
			message: confirmed,
		})
	default:
		e.tell(node, existenceConcern, tale{kind: corev1.EventTypeWarning, reason: reasonOf(err), message: message(node, err)})
	}
}

// shutdown tells why InstanceShutdown would not say that a VM is off. That it is not found, the others tell.
func (e *nodeEvents) shutdown(node *corev1.Node, err error) {
	switch {
	case err == nil:
		e.well(node, "power state is known", shutdownConcern)
	case errors.Is(err, match.ErrNotFound), errors.Is(err, match.ErrAmbiguous):
	default:
		e.tell(node, shutdownConcern, tale{kind: corev1.EventTypeWarning, reason: reasonOf(err), message: message(node, err)})
	}
}

// annotation reports that the node's annotation does not count, once, and that it is written again, when err is nil.
func (e *nodeEvents) annotation(node *corev1.Node, err error) {
	if err == nil {
		e.well(node, "annotation "+VMAnnotation+" is written", annotationConcern)
		return
	}
	e.tell(node, annotationConcern, tale{
		kind: corev1.EventTypeWarning, reason: ReasonVMAnnotationIgnored,
		message: "annotation " + VMAnnotation + " is ignored: " + err.Error() + "; it is written again when the vm is known",
	})
}
