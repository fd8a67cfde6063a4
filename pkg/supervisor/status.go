package supervisor

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// timeFormat is that of [metav1.Time].
const timeFormat = "2006-01-02T15:04:05Z"

func powerState(power string) string {
	switch power {
	case "on":
		return poweredOn
	case "off":
		return poweredOff
	case "suspended":
		return suspended
	}
	return ""
}

// writeStatus changes the status of a VirtualMachine, if fill changes it.
func (s *Supervisor) writeStatus(ctx context.Context, o *unstructured.Unstructured, fill func(status map[string]any)) error {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	next := runtime.DeepCopyJSON(status)
	if next == nil {
		next = map[string]any{}
	}
	fill(next)
	if reflect.DeepEqual(status, next) {
		return nil
	}
	o.Object["status"] = next
	_, err := s.dynamic.Resource(machines()).Namespace(o.GetNamespace()).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

// fillStatus writes the state of the VM into the status of its VirtualMachine, as VM Operator does.
func fillStatus(o *unstructured.Unstructured, status map[string]any, vm VM) {
	set := func(value string, fields ...string) {
		if value == "" {
			unstructured.RemoveNestedField(status, fields...)
			return
		}
		_ = unstructured.SetNestedField(status, value, fields...) // all parents are objects
	}
	set(powerState(vm.Power), "powerState")
	set(vm.UniqueID, "uniqueID")
	set(vm.BIOSUUID, "biosUUID")
	set(vm.InstanceUUID, "instanceUUID")
	set(vm.Host, "nodeName")
	set(vm.Host, "host") // its name before v1alpha4
	set(cmp.Or(o.GetLabels()[ZoneLabel], vm.Zone), "zone")
	if class := text(o, "spec", "className"); class != "" && status["class"] == nil {
		status["class"] = map[string]any{"apiVersion": vmGroup + "/" + vmVersion, "kind": "VirtualMachineClass", "name": class}
	}
	fillNetwork(o, status, vm)
	for _, kind := range []string{"VirtualMachineClassReady", "VirtualMachineImageReady", "VirtualMachineStorageReady", "VirtualMachineCreated", "VirtualMachineReconcileReady"} {
		setCondition(status, kind, "True", "True", "")
	}
	switch {
	case vm.Tools:
		setCondition(status, "VirtualMachineTools", "True", "True", "")
	default:
		setCondition(status, "VirtualMachineTools", "False", "VirtualMachineToolsNotRunning", "VMware Tools is not running")
	}
}

// fillNetwork writes what the guest reports. A VM with cloud-init has a primary address of each family; of any other it is the first
// address, of its family.
func fillNetwork(o *unstructured.Unstructured, status map[string]any, vm VM) {
	if len(vm.Addresses) == 0 {
		delete(status, "network")
		return
	}
	_, cloudInit, _ := unstructured.NestedMap(o.Object, "spec", "bootstrap", "cloudInit")
	network, addresses := map[string]any{}, []any{}
	for i, a := range vm.Addresses {
		field := "primaryIP6"
		if a.Is4() {
			field = "primaryIP4"
		}
		if (i == 0 || cloudInit) && network[field] == nil {
			network[field] = a.String()
		}
		addresses = append(addresses, map[string]any{"address": a.String()})
	}
	if vm.HostName != "" {
		network["hostName"] = vm.HostName
	}
	network["interfaces"] = []any{map[string]any{"name": "eth0", "deviceKey": int64(4000), "ip": map[string]any{"addresses": addresses}}}
	status["network"] = network
}

func condition(kind, status, reason, message, at string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}
}

// setCondition sets a condition of a status. Its time changes with its status only.
func setCondition(status map[string]any, kind, value, reason, message string) {
	list, _ := status["conditions"].([]any)
	at := time.Now().UTC().Format(timeFormat)
	list = slices.DeleteFunc(list, func(c any) bool {
		m, _ := c.(map[string]any)
		if m["type"] != kind {
			return false
		}
		if m["status"] == value {
			at, _ = m["lastTransitionTime"].(string)
		}
		return true
	})
	list = append(list, condition(kind, value, reason, message, at))
	slices.SortFunc(list, func(a, b any) int {
		x, _ := a.(map[string]any)["type"].(string)
		y, _ := b.(map[string]any)["type"].(string)
		return strings.Compare(x, y)
	})
	status["conditions"] = list
}
