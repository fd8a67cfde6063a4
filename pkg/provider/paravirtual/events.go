package paravirtual

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nodeevent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/binding"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/follow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

// The reasons of Events about Nodes. Those that both modes have, have one name.
const (
	// ReasonSupervisorUnavailable: a node cannot be initialized, or not be deleted, until the Supervisor answers.
	ReasonSupervisorUnavailable = "SupervisorUnavailable"
	// ReasonSupervisorForbidden: the Supervisor refuses the token, or the service account lacks a right.
	ReasonSupervisorForbidden = "SupervisorForbidden"
	// ReasonSupervisorAPIMissing: the API server has no VM Operator, or another version of it.
	ReasonSupervisorAPIMissing = "SupervisorAPIMissing"
	// ReasonVMNotFound: the namespace has no VM for the node.
	ReasonVMNotFound = "VMNotFound"
	// ReasonVMAmbiguous: several VMs have the node's UUID.
	ReasonVMAmbiguous = "VMAmbiguous"
	// ReasonForeignProviderID and ReasonInvalidProviderID: the node's providerID is another provider's, or has no UUID.
	ReasonForeignProviderID = "ForeignProviderID"
	ReasonInvalidProviderID = "InvalidProviderID"
	// ReasonGuestNotReporting: VM Operator has not reported UUID or address of the VM.
	ReasonGuestNotReporting = "GuestNotReporting"
	// ReasonVMUUIDChanged: the VM of the node's name has another BIOS UUID now.
	ReasonVMUUIDChanged = "VMUUIDChanged"
	// ReasonWrongNamespace: the namespace has no VM of any node, so that no node is deleted.
	ReasonWrongNamespace = "WrongNamespace"
	// ReasonDeletionHeldBack: no VM is found, but it is not confirmed gone, so the node stays.
	ReasonDeletionHeldBack = "DeletionHeldBack"
	// ReasonVMGone: the Supervisor confirms that the VM is gone.
	ReasonVMGone = "VMGone"
	// ReasonNodeUnserved: any other error.
	ReasonNodeUnserved = "NodeUnserved"
)

// The questions that the controllers ask about a node.
const (
	metadataConcern nodeevent.Concern = iota
	existenceConcern
	shutdownConcern
)

// nodeEvents reports the answers of the provider's methods about Nodes.
type nodeEvents struct{ *nodeevent.Reporter }

func reasonOf(err error) string {
	for _, r := range []struct {
		is     error
		reason string
	}{
		{match.ErrForeignProviderID, ReasonForeignProviderID},
		{match.ErrInvalidProviderID, ReasonInvalidProviderID},
		{ErrUUIDChanged, ReasonVMUUIDChanged},
		{ErrWrongNamespace, ReasonWrongNamespace},
		{supervisor.ErrNoAPI, ReasonSupervisorAPIMissing},
		{supervisor.ErrUnauthorized, ReasonSupervisorForbidden},
		{supervisor.ErrForbidden, ReasonSupervisorForbidden},
		{supervisor.ErrUnavailable, ReasonSupervisorUnavailable},
		{follow.ErrNotSynced, ReasonSupervisorUnavailable},
		{errNotBegun, ReasonSupervisorUnavailable},
		{ErrDeletionHeldBack, ReasonDeletionHeldBack},
		{match.ErrAmbiguous, ReasonVMAmbiguous},
		{match.ErrNotFound, ReasonVMNotFound},
		{binding.ErrNoAddress, ReasonGuestNotReporting},
		{binding.ErrNoUUID, ReasonGuestNotReporting},
	} {
		if errors.Is(err, r.is) {
			return r.reason
		}
	}
	return ReasonNodeUnserved
}

// outage reports whether a reason concerns the Supervisor and not the node.
func outage(reason string) bool {
	return slices.Contains([]string{ReasonSupervisorUnavailable, ReasonSupervisorForbidden, ReasonSupervisorAPIMissing}, reason)
}

func message(node *corev1.Node, err error) string {
	return nodeevent.Text(strings.TrimPrefix(err.Error(), fmt.Sprintf("node %q: ", node.Name)))
}

func warning(node *corev1.Node, err error) nodeevent.Event {
	return nodeevent.Event{Type: corev1.EventTypeWarning, Reason: reasonOf(err), Message: message(node, err)}
}

// metadata reports the outcome of InstanceMetadata. For initialized nodes it omits an outage of the Supervisor, which the log and the
// probes report, and a VM without an address.
func (e nodeEvents) metadata(node *corev1.Node, err error) {
	switch {
	case err == nil:
		e.Resolve(node, "vm and addresses are known", metadataConcern, existenceConcern, shutdownConcern)
	case initialized(node) && (outage(reasonOf(err)) || errors.Is(err, binding.ErrNoAddress)):
	default:
		e.Report(node, metadataConcern, warning(node, err))
	}
}

// existence reports the outcome of InstanceExists.
func (e nodeEvents) existence(node *corev1.Node, exists bool, err error) {
	switch {
	case err != nil:
		e.Report(node, existenceConcern, warning(node, err))
	case exists:
		e.Resolve(node, "vm is found", existenceConcern)
	default:
		e.Report(node, existenceConcern, nodeevent.Event{
			Type: corev1.EventTypeNormal, Reason: ReasonVMGone,
			Message: "the Supervisor confirms that it has no VirtualMachine with providerID " + node.Spec.ProviderID,
		})
	}
}

// shutdown reports why InstanceShutdown failed. The other concerns report a VM that is not found.
func (e nodeEvents) shutdown(node *corev1.Node, err error) {
	switch {
	case err == nil:
		e.Resolve(node, "power state is known", shutdownConcern)
	case errors.Is(err, match.ErrNotFound), errors.Is(err, match.ErrAmbiguous):
	default:
		e.Report(node, shutdownConcern, warning(node, err))
	}
}

// initialized reports whether the node has lost the taint that it registers with.
func initialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}
