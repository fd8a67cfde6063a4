package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// watchNodes follows Node objects, and the Events that the cloud controller manager writes.
func (s *Sandbox) watchNodes(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(s.cluster.Client(), 0)
	nodes, events := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Events().Informer()
	err := cmp.Or(
		storage.Follow(nodes, func(old, n *corev1.Node, gone bool) {
			if gone {
				s.nodeDeleted(n)
			} else {
				s.nodeChanged(cmp.Or(old, &corev1.Node{}), n)
			}
		}),
		storage.Follow(events, func(old, e *corev1.Event, gone bool) {
			// After a gap the watch reports all of them again.
			if !gone && (old == nil || old.ResourceVersion != e.ResourceVersion) {
				s.clusterEvent(e)
			}
		}),
		s.watchSecrets(factory),
		s.storage.Watch(factory),
		storage.Follow(factory.Storage().V1().CSINodes().Informer(), func(_, n *storagev1.CSINode, gone bool) { s.csi.NodeChanged(n, gone) }),
	)
	if err != nil {
		return err
	}
	s.background.Run("node watch", func(ctx context.Context) {
		factory.Start(ctx.Done())
		<-ctx.Done()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced, events.HasSynced) {
		return errors.Join(errors.New("the API server does not list nodes"), context.Cause(ctx))
	}
	return nil
}

func (s *Sandbox) unwatchNodes(ctx context.Context) error { return s.background.End(ctx, "node watch") }

// nodeChanged keeps the world up to date and writes down what a person would notice.
func (s *Sandbox) nodeChanged(old, n *corev1.Node) {
	if s.foreign(n) {
		return
	}
	if g, ok := s.sourced(); ok {
		s.rebind(g.SetNode(n))
	}
	s.world.SetNode(n)
	s.watchCache.SetNode(world.NodeRow(n), world.UUIDs(n))
	s.storage.NodeChanged(n.Name)
	noteFor := func(cause uint64, kind string, level event.Level, format string, args ...any) {
		s.log.Append(event.Event{
			Plane: event.PlaneKubernetes, Level: level, Kind: kind,
			Object:  event.Object{Kind: "Node", Name: n.Name},
			Message: fmt.Sprintf(format, args...),
			Cause:   cause,
		})
	}
	note := func(kind string, level event.Level, format string, args ...any) {
		noteFor(s.causes.OfNode(n.Name, kind), kind, level, format, args...)
	}
	if old.Name == "" {
		s.markControlPlane(n)
		note("node.registered", event.Info, "%s", strings.Join(append([]string{"registered"}, taintKeys(n)...), ", "))
	}
	if was, is := world.Ready(old), world.Ready(n); was != is {
		switch is {
		case corev1.ConditionTrue:
			note("node.ready", event.Info, "Ready")
		case corev1.ConditionUnknown:
			note("node.unknown", event.Warning, "Ready=Unknown: no heartbeat within the grace period")
		default:
			note("node.not-ready", event.Warning, "Ready=%s", is)
		}
	}
	if old.Spec.ProviderID != n.Spec.ProviderID {
		note("node.provider-id", event.Info, "providerID %s", n.Spec.ProviderID)
	}
	for _, label := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		if old.Labels[label] != n.Labels[label] {
			note("node.labelled", event.Info, "%s=%s", label, n.Labels[label])
		}
	}
	before, after := taintKeys(old), taintKeys(n)
	for _, key := range after {
		if old.Name != "" && !slices.Contains(before, key) {
			noteFor(s.causes.OfTaint(n.Name, key), "node.tainted", event.Warning, "taint %s", key)
		}
	}
	for _, key := range before {
		if !slices.Contains(after, key) {
			noteFor(s.causes.OfTaintRemoved(n.Name, key), "node.untainted", event.Info, "taint %s is gone", key)
		}
	}
}

// foreign reports whether the sandbox ignores a Node.
func (s *Sandbox) foreign(n *corev1.Node) bool {
	g, ok := s.ground.(ground.Shared)
	return ok && g.Foreign(n)
}

// rebind binds the VMs with these UUIDs to the Nodes that they have now.
func (s *Sandbox) rebind(uuids []string) {
	for _, key := range s.watchCache.VMs(uuids) {
		vc := s.vcenters.Find(key.VCenter)
		if vc == nil {
			continue
		}
		if v, ok := vc.Inventory.VM(key.Ref); ok {
			s.nodes.Bind(v)
			s.rows.VMChanged(v)
		}
	}
}

// markControlPlane gives a control-plane node the label of its role, which a node may not give itself: what kubeadm
// does after the kubelet has registered.
func (s *Sandbox) markControlPlane(n *corev1.Node) {
	_, marked := n.Labels[controlPlaneLabel]
	if _, others := s.sourced(); others || marked || s.nodes.VMOf(n.Name).Role != topology.RoleControlPlane {
		return
	}
	s.background.Run("node watch", func(ctx context.Context) {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, controlPlaneLabel)
		err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			_, err := s.cluster.Client().CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			if apierrors.IsNotFound(err) {
				return false, err // it may be registered again
			}
			return err == nil, nil // the API server may be restarting
		})
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("control-plane label", "node", n.Name, "err", err)
		}
	})
}

func (s *Sandbox) nodeDeleted(n *corev1.Node) {
	if s.foreign(n) {
		return
	}
	if g, ok := s.sourced(); ok {
		s.rebind(g.DeleteNode(n.Name))
	}
	s.world.DeleteNode(n.Name)
	s.watchCache.DeleteNode(n.Name)
	s.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "node.deleted",
		Object: event.Object{Kind: "Node", Name: n.Name}, Message: "Node object deleted", Cause: s.causes.OfNode(n.Name, "node.deleted"),
	})
}

// taintKeys lists the keys of the node's taints, each once: the same key may stand there with two effects.
func taintKeys(n *corev1.Node) []string {
	var keys []string
	for _, t := range n.Spec.Taints {
		if !slices.Contains(keys, t.Key) {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// reasonNeedsRestart is the reason of the Event by which our provider says that a change of its configuration waits for
// its next start.
const reasonNeedsRestart = "ConfigNeedsRestart"

// clusterEvent copies the Events that tell of the cloud provider's own doings. Those of others are many, and kubectl
// shows them.
func (s *Sandbox) clusterEvent(e *corev1.Event) {
	if e.Source.Component != ccm.EventSource && e.ReportingController != ccm.EventSource {
		s.storage.Warning(e)
		return
	}
	copied := event.Event{
		Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm." + causality.Kebab(e.Reason),
		Object:  event.Object{Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name},
		Message: e.Message,
	}
	if e.Type == corev1.EventTypeWarning {
		copied.Level = event.Warning
	}
	// Events about a vCenter are on the Secret with its credentials, as a vCenter has no Kubernetes object.
	if vc := s.subject(e.Message); vc != "" {
		copied.Object = event.Object{Kind: "VCenter", VCenter: vc, Name: vc}
	}
	copied.Cause = s.causes.OfCCMEvent(copied)
	seq := s.log.Append(copied)
	if e.Reason == reasonNeedsRestart {
		s.ccm.NeedsRestart(seq)
	}
}

// subject returns the vCenter that a message begins with, "" when it does not: "vCenter eu (127.0.0.12): connected".
func (s *Sandbox) subject(message string) string {
	for _, vc := range s.desired.Topology().Spec.VCenters {
		if strings.HasPrefix(message, "vCenter "+vc.Name+" (") {
			return vc.Name
		}
	}
	return ""
}
