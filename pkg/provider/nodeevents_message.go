package provider

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// rootFolder is what zones call the folder above all datacenters: it is part of no view, so it has a reference and no
// name. A vCenter has one, and its reference is the same in all.
const rootFolder = `Folder "group-d1"`

// message is what err says on one line, without the node's name and what the event's reason says already, and what to do
// about it where that follows.
func message(node *corev1.Node, err error) string {
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("node %q: ", node.Name))
	text = strings.TrimPrefix(text, ErrDeletionHeldBack.Error()+": ")
	text = strings.ReplaceAll(text, rootFolder, "the root folder")
	return sentence(wording(text), hint(node, err))
}

// hint says what to do where the error itself does not.
func hint(node *corev1.Node, err error) string {
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
	case ReasonVCenterUnavailable:
		waits := "the node stays as it is meanwhile"
		if !initialized(node) {
			waits = "the node waits for it"
		}
		return sentence(remedy(err), waits)
	case ReasonVCenterNotConfigured:
		return fmt.Sprintf("the node stays; configure this vcenter again, or, if you know that the vm is gone: "+
			"kubectl delete node %s, or kubectl annotate node %[1]s %s-", node.Name, VMAnnotation)
	case ReasonVMUUIDChanged:
		return "the node stays; give the vm its bios uuid back, or delete the node, and it registers again when its kubelet is restarted"
	case ReasonDeletionHeldBack:
		if _, ok := errors.AsType[*match.StaleError](err); ok {
			return "" // it says so itself
		}
		return sentence(remedy(err), "the node stays; delete it if you know that its vm is gone")
	}
	return ""
}
