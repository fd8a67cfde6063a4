package provider

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nodeevent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The questions that the controllers ask about a node.
const (
	metadataConcern   nodeevent.Concern = iota // identity, addresses and zone
	existenceConcern                           // whether the VM exists; asked while the node is not ready
	shutdownConcern                            // whether the VM is off; asked while the node is not ready
	annotationConcern                          // whether the VM annotation is readable
)

// nodeEvents reports the answers of the provider's methods about Nodes.
type nodeEvents struct{ *nodeevent.Reporter }

func newNodeEvents(log *slog.Logger) nodeEvents { return nodeEvents{nodeevent.New(log)} }

// rootFolder is how errors of package inventory name the folder above all datacenters. No view contains it, so that its
// name is unknown; each vCenter has one, with the same reference.
const rootFolder = `Folder "group-d1"`

// message returns err on one line with a hint, without the node's name and without what the event's reason already gives.
func message(node *corev1.Node, err error) string {
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("node %q: ", node.Name))
	text = strings.TrimPrefix(text, ErrDeletionHeldBack.Error()+": ")
	text = strings.ReplaceAll(text, rootFolder, "the root folder")
	return sentence(nodeevent.Text(text), hint(node, err))
}

// hint returns what to do about err, where the error does not contain it.
func hint(node *corev1.Node, err error) string {
	switch reasonOf(err) {
	case ReasonInvalidProviderID:
		return "a providerID cannot be changed: delete the node and restart its kubelet, which registers it again"
	case ReasonForeignProviderID:
		return "to move the node to this provider, start its kubelet without --provider-id and delete the node"
	case ReasonVMAmbiguous:
		return "give each VM its own UUID and hostname"
	case ReasonZoneTagsUnknown:
		if inventory.MissingCategories(err) {
			return "correct the labels in vsphere.conf, or the category's name"
		}
	case ReasonZoneTagMissing:
		return "attach a tag of each category to one of these objects, or remove the labels from the configuration"
	case ReasonVMNotFound:
		if hiddenByDatacenters(err) {
			return correctDatacenters
		}
		return "check that the vm is in a configured vCenter and datacenter, that the account may read it, and that its guest reports its hostname"
	case ReasonVCenterUnavailable:
		waits := "the node stays as it is until then"
		if !initialized(node) {
			waits = "the node waits for it"
		}
		return sentence(remedy(err), waits)
	case ReasonVCenterNotConfigured:
		return fmt.Sprintf("the node stays; configure this vcenter again, or, if you know that the vm is gone: "+
			"kubectl delete node %s, or kubectl annotate node %[1]s %s-", node.Name, VMAnnotation)
	case ReasonVMUUIDChanged:
		return "the node stays; restore the vm's bios uuid, or delete the node and restart its kubelet, which registers it again"
	case ReasonDeletionHeldBack:
		if _, ok := errors.AsType[*match.StaleError](err); ok {
			return "" // the error contains it
		}
		if hiddenByDatacenters(err) {
			return "the node stays; " + correctDatacenters
		}
		return sentence(remedy(err), "the node stays; delete it if you know that its vm is gone")
	}
	return ""
}

// hiddenByDatacenters reports whether the datacenters of the configuration hide the node's VM, or may.
func hiddenByDatacenters(err error) bool {
	_, outside := errors.AsType[*inventory.OutsideError](err)
	return outside || inventory.Absent(err) != nil || inventory.OutOfScope(err)
}

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
	ReasonNodeWell = nodeevent.Well
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
func (e nodeEvents) metadata(node *corev1.Node, m *cloudprovider.InstanceMetadata, err error) {
	if err == nil {
		of := []nodeevent.Concern{metadataConcern, existenceConcern}
		if slices.ContainsFunc(node.Status.Conditions, readyCondition) {
			of = append(of, shutdownConcern) // the controllers no longer ask
		}
		e.Resolve(node, "vm, addresses, region and zone are known", of...)
		return
	}
	reason := reasonOf(err)
	if initialized(node) && (reason == ReasonVCenterUnavailable || errors.Is(err, errOff)) {
		return
	}
	if m != nil {
		e.Resolve(node, "vm is found", existenceConcern)
	}
	kind := corev1.EventTypeWarning
	if m != nil && isNotice(err, reason) {
		kind = corev1.EventTypeNormal
	}
	e.Report(node, metadataConcern, nodeevent.Event{Type: kind, Reason: reason, Message: message(node, err)})
}

// existence reports the outcome of InstanceExists. confirmed is the message of the event that the VM is gone.
func (e nodeEvents) existence(node *corev1.Node, exists bool, confirmed string, err error) {
	switch {
	case exists && err == nil:
		e.Resolve(node, "vm is found", existenceConcern)
	case initialized(node) && errors.Is(err, errOff): // with upstream's guestFirst; as in metadata
	case err == nil:
		e.Report(node, existenceConcern, nodeevent.Event{
			Type: corev1.EventTypeNormal, Reason: ReasonVMGone,
			Message: confirmed,
		})
	default:
		e.Report(node, existenceConcern, nodeevent.Event{Type: corev1.EventTypeWarning, Reason: reasonOf(err), Message: message(node, err)})
	}
}

// shutdown reports why InstanceShutdown failed. The other concerns report a VM that is not found.
func (e nodeEvents) shutdown(node *corev1.Node, err error) {
	switch {
	case err == nil:
		e.Resolve(node, "power state is known", shutdownConcern)
	case errors.Is(err, match.ErrNotFound), errors.Is(err, match.ErrAmbiguous):
	default:
		e.Report(node, shutdownConcern, nodeevent.Event{Type: corev1.EventTypeWarning, Reason: reasonOf(err), Message: message(node, err)})
	}
}

// annotation reports that the node's annotation is ignored, or with a nil err that it is written again.
func (e nodeEvents) annotation(node *corev1.Node, err error) {
	if err == nil {
		e.Resolve(node, "annotation "+VMAnnotation+" is written", annotationConcern)
		return
	}
	e.Report(node, annotationConcern, nodeevent.Event{
		Type: corev1.EventTypeWarning, Reason: ReasonVMAnnotationIgnored,
		Message: "annotation " + VMAnnotation + " is ignored: " + err.Error() + "; it will be written again when the vm is known",
	})
}
