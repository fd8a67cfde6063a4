package sandbox

import (
	"context"
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// csiNode is told of a CSINode: what drivers a node has.
func (s *Sandbox) csiNode(n *storagev1.CSINode, gone bool) {
	has := !gone && slices.ContainsFunc(n.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == names.Driver })
	s.csi.mu.Lock()
	had := s.csi.nodes[n.Name]
	if s.csi.nodes == nil {
		s.csi.nodes = map[string]bool{}
	}
	s.csi.nodes[n.Name] = has
	s.csi.mu.Unlock()
	if has == had {
		return
	}
	e := event.Event{Plane: event.PlaneKubernetes, Kind: "node.csi-registered", Object: event.Object{Kind: "Node", Name: n.Name}, Message: "its CSI node service is registered"}
	if !has {
		e.Level, e.Kind, e.Message = event.Warning, "node.csi-unregistered", "has no CSI node service"
	}
	e.Cause = s.causes.OfNode(n.Name, e.Kind)
	s.log.Append(e)
}

// waitCSI waits until the driver's processes have been started and every node whose kubelet runs takes volumes, which says
// that the driver's controller works, too: it tells nodes where they are.
func (s *Sandbox) waitCSI(ctx context.Context) error {
	select {
	case err := <-s.csi.up:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.awaitEach(ctx, "take volumes", "took volumes", s.withoutCSI, s.csiBlocker)
}

// withoutCSI names the nodes whose kubelet runs and has no driver yet, of so many in all.
func (s *Sandbox) withoutCSI() (waiting []string, total int) {
	running := map[[2]string]bool{}
	for _, v := range s.world.VMs() {
		running[[2]string{v.VCenter, v.Name}] = v.Process == string(node.Running) && !s.light.has(v)
	}
	s.csi.mu.Lock()
	defer s.csi.mu.Unlock()
	for _, n := range s.world.Nodes() {
		if !n.Registered || !running[[2]string{n.VCenter, n.VM}] {
			continue
		}
		total++
		if !s.csi.nodes[n.Name] {
			waiting = append(waiting, n.Name)
		}
	}
	return waiting, total
}

// csiBlocker returns what keeps a node from taking volumes, "" when that is not known: a part of the driver that does not
// run, the node's kubelet, or the topology that the node's CSI service asks for before it registers.
func (s *Sandbox) csiBlocker(ctx context.Context, name string) string {
	kubelet := ""
	if t, err := s.supervised("node/" + name); err == nil {
		kubelet = t.component
	}
	driver := csiProcesses()
	for _, c := range s.components.All() {
		part := slices.ContainsFunc(driver, func(p csiProcess) bool { return p.name == c.Name })
		if (part || c.Name == kubelet) && c.State != "running" {
			return fmt.Sprintf("%s is %s%s", c.Name, c.State, after(": ", c.Message))
		}
	}
	client, err := dynamic.NewForConfig(s.cluster.REST())
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, blockedAfter)
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
