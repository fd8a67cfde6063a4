package csi

import (
	"context"
	"fmt"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// NodeChanged notes which drivers a node has.
func (d *Driver) NodeChanged(n *storagev1.CSINode, gone bool) {
	has := !gone && slices.ContainsFunc(n.Spec.Drivers, func(v storagev1.CSINodeDriver) bool { return v.Name == names.Driver })
	d.mu.Lock()
	had := d.nodes[n.Name]
	if d.nodes == nil {
		d.nodes = map[string]bool{}
	}
	d.nodes[n.Name] = has
	d.mu.Unlock()
	if has == had {
		return
	}
	e := event.Event{Plane: event.PlaneKubernetes, Kind: "node.csi-registered", Object: event.Object{Kind: "Node", Name: n.Name}, Message: "its CSI node service is registered"}
	if !has {
		e.Level, e.Kind, e.Message = event.Warning, "node.csi-unregistered", "has no CSI node service"
	}
	e.Cause = d.Causes.OfNode(n.Name, e.Kind)
	d.Log.Append(e)
}

// awaitStart waits until the driver's processes have been started. If ctx ends first, the error says what the start waits for.
func (d *Driver) awaitStart(ctx context.Context) error {
	select {
	case err := <-d.up:
		return err
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		return fmt.Errorf("%w; the CSI driver waits for %s", context.Cause(ctx), d.waits)
	}
}

// waiting names the Nodes whose kubelet runs and has no driver yet, and counts all whose kubelet runs.
func (d *Driver) waiting() (waiting []string, total int) {
	running := map[[2]string]bool{}
	for _, v := range d.World().VMs() {
		running[[2]string{v.VCenter, v.Name}] = v.Process == string(node.Running) && !d.Light(v)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.World().Nodes() {
		if !n.Registered || !running[[2]string{n.VCenter, n.VM}] {
			continue
		}
		total++
		if !d.nodes[n.Name] {
			waiting = append(waiting, n.Name)
		}
	}
	return waiting, total
}

// lookTimeout bounds the look for what keeps a node from taking volumes.
const lookTimeout = 5 * time.Second

// blocker returns why a Node does not take volumes, "" when that is unknown: a part of the driver that does not run, the
// Node's kubelet, or the topology that the Node's CSI service needs before it registers.
func (d *Driver) blocker(ctx context.Context, name string) string {
	kubelet, driver := d.Kubelet(name), d.Running().processes()
	for _, c := range d.Components.All() {
		part := slices.ContainsFunc(driver, func(p process) bool { return p.name == c.Name })
		if (part || c.Name == kubelet) && c.State != "running" {
			return fmt.Sprintf("%s is %s%s", c.Name, c.State, after(": ", c.Message))
		}
	}
	client, err := dynamic.NewForConfig(d.Cluster().REST())
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	status, err := nodetopology.StatusOf(ctx, client, name)
	switch {
	case apierrors.IsNotFound(err):
		return "its kubelet has not called the CSI node service yet"
	case err != nil:
		return "its CSINodeTopology cannot be read: " + err.Error()
	case status.Status == nodetopology.Error:
		return status.ErrorMessage
	case status.Status == nodetopology.Success:
		return "it has its topology, and its kubelet has not registered the driver"
	}
	return "the CSI controller has not answered its CSINodeTopology"
}

// after returns text behind a separator, "" when there is no text.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
