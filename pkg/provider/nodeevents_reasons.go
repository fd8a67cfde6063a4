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
	// ReasonVMNotFound: no vCenter has a VM for the node. The message lists what was searched for.
	ReasonVMNotFound = "VMNotFound"
	// ReasonVMAmbiguous: several VMs have the node's UUID, name or address.
	ReasonVMAmbiguous = "VMAmbiguous"
	// ReasonVCenterUnavailable: a node cannot be initialized until a vCenter is reachable and in sync, because that vCenter
	// may have its VM.
	ReasonVCenterUnavailable = "VCenterUnavailable"
	// ReasonForeignProviderID: the node's providerID is another provider's.
	ReasonForeignProviderID = "ForeignProviderID"
	// ReasonInvalidProviderID: the node's providerID holds no UUID.
	ReasonInvalidProviderID = "InvalidProviderID"
	// ReasonStaleProviderID: the node runs on another VM than that of its providerID.
	ReasonStaleProviderID = "StaleProviderID"
	// ReasonZoneTagMissing: no object above the VM has a tag of a category.
	ReasonZoneTagMissing = "ZoneTagMissing"
	// ReasonZoneTagsUnknown: a tag is missing, and the tags could not be read.
	ReasonZoneTagsUnknown = "ZoneTagsUnknown"
	// ReasonZoneTagInvalid: a tag's name is not a valid label value.
	ReasonZoneTagInvalid = "ZoneTagInvalid"
	// ReasonGuestNotReporting: the guest reports no hostname or adapters. It also covers a node that waits for a VM which is
	// off, but not an initialized node whose VM is off.
	ReasonGuestNotReporting = "GuestNotReporting"
	// ReasonNodeUnserved: any other error.
	ReasonNodeUnserved = "NodeUnserved"
	// ReasonDeletionHeldBack: no search finds the VM, but it is not confirmed gone, so the node stays.
	ReasonDeletionHeldBack = "DeletionHeldBack"
	// ReasonDeletionSkipped: no search finds the VM, and SKIP_NODE_DELETION keeps the node.
	ReasonDeletionSkipped = "DeletionSkipped"
	// ReasonVMInaccessible: no search finds the VM, and its vCenter still has it.
	ReasonVMInaccessible = "VMInaccessible"
	// ReasonVCenterNotConfigured: the node was initialized from a vCenter that is no longer configured, and its VM may be
	// there.
	ReasonVCenterNotConfigured = "VCenterNotConfigured"
	// ReasonVMUUIDChanged: the VM that the node was initialized from exists, with another BIOS UUID.
	ReasonVMUUIDChanged = "VMUUIDChanged"
	// ReasonVMAnnotationIgnored: the node's annotation [VMAnnotation] is not readable, or belongs to another node.
	ReasonVMAnnotationIgnored = "VMAnnotationIgnored"
	// ReasonVMGone: every configured vCenter confirms that the VM is gone.
	ReasonVMGone = "VMGone"
	// ReasonNodeWell: the problem of an earlier warning is over.
	ReasonNodeWell = "NodeWell"
)

func reasonOf(err error) string {
	var (
		missing *inventory.MissingTagError
		stale   *match.StaleError
		problem *address.Problem
	)
	switch {
	case errors.Is(err, match.ErrNotFound) && unavailable(err) && !errors.As(err, &stale):
		return ReasonVCenterUnavailable // the VM may be there
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
		return string(problem.Reason)
	}
	return ReasonNodeUnserved
}

// unavailable reports whether err means that a vCenter cannot be queried.
func unavailable(err error) bool {
	return errors.Is(err, vcenter.ErrNotConnected) || errors.Is(err, inventory.ErrNotSynced)
}

// metadata reports the outcome of InstanceMetadata. For initialized nodes it omits an unavailable vCenter, which has its
// own events instead of one per node, and a VM that is off, which the node's taint shows.
func (e *nodeEvents) metadata(node *corev1.Node, m *cloudprovider.InstanceMetadata, err error) {
	if err == nil {
		of := []concern{metadataConcern, existenceConcern}
		if slices.ContainsFunc(node.Status.Conditions, readyCondition) {
			of = append(of, shutdownConcern) // the controllers no longer ask
		}
		e.resolve(node, "vm, addresses, region and zone are known", of...)
		return
	}
	reason := reasonOf(err)
	if initialized(node) && (reason == ReasonVCenterUnavailable || errors.Is(err, errOff)) {
		return
	}
	if m != nil {
		e.resolve(node, "vm is found", existenceConcern)
	}
	e.report(node, metadataConcern, nodeEvent{kind: corev1.EventTypeWarning, reason: reason, message: message(node, err)})
}

// existence reports the outcome of InstanceExists. confirmed is the message of the event that the VM is gone.
func (e *nodeEvents) existence(node *corev1.Node, exists bool, confirmed string, err error) {
	switch {
	case exists && err == nil:
		e.resolve(node, "vm is found", existenceConcern)
	case initialized(node) && errors.Is(err, errOff): // with upstream's guestFirst; as in metadata
	case err == nil:
		e.report(node, existenceConcern, nodeEvent{
			kind: corev1.EventTypeNormal, reason: ReasonVMGone,
			message: confirmed,
		})
	default:
		e.report(node, existenceConcern, nodeEvent{kind: corev1.EventTypeWarning, reason: reasonOf(err), message: message(node, err)})
	}
}

// shutdown reports why InstanceShutdown failed. The other concerns report a VM that is not found.
func (e *nodeEvents) shutdown(node *corev1.Node, err error) {
	switch {
	case err == nil:
		e.resolve(node, "power state is known", shutdownConcern)
	case errors.Is(err, match.ErrNotFound), errors.Is(err, match.ErrAmbiguous):
	default:
		e.report(node, shutdownConcern, nodeEvent{kind: corev1.EventTypeWarning, reason: reasonOf(err), message: message(node, err)})
	}
}

// annotation reports that the node's annotation is ignored, or with a nil err that it is written again.
func (e *nodeEvents) annotation(node *corev1.Node, err error) {
	if err == nil {
		e.resolve(node, "annotation "+VMAnnotation+" is written", annotationConcern)
		return
	}
	e.report(node, annotationConcern, nodeEvent{
		kind: corev1.EventTypeWarning, reason: ReasonVMAnnotationIgnored,
		message: "annotation " + VMAnnotation + " is ignored: " + err.Error() + "; it will be written again when the vm is known",
	})
}
