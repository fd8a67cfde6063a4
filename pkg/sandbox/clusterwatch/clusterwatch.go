// Package clusterwatch follows the cluster of a sandbox: it logs what changes of its Nodes and what its cloud controller manager
// writes in Events, and passes the objects to the parts that keep them.
//
// Floor 3.
package clusterwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Watch follows the objects of a cluster. Set its fields before [Watch.Start].
type Watch struct {
	Ground     func() ground.Ground
	Client     func() kubernetes.Interface
	World      func() *world.World
	Topology   func() *topology.Topology
	Log        *event.Log
	Logger     *slog.Logger
	Causes     *causality.Finder
	Cache      *watchcache.Cache
	Storage    *storage.Watcher
	Background *background.Groups
	// Role returns the role of the VM behind a Node, "" for none.
	Role func(node string) topology.Role
	// Bind is called with VMs that may have another Node now.
	Bind func([]world.VMKey)
	// Identity is called when a Node is new or gone, or has another providerID.
	Identity func()
	// Secret receives the Secrets of a cluster that was made for the sandbox; those of other clusters are not read.
	Secret func(*corev1.Secret)
	// Service receives the Services of such a cluster.
	Service func(old, s *corev1.Service, gone bool)
	// CSINode receives what CSI drivers register.
	CSINode func(n *storagev1.CSINode, gone bool)
	// NeedsRestart is called with the event by which the cloud controller manager reports that it needs a restart.
	NeedsRestart func(seq uint64)
	// NoLoadBalancer: nothing serves Services of type LoadBalancer, and an Event on each says so.
	NoLoadBalancer bool
}

// group is the background group of the watch.
const group = "node watch"

// Start returns when all Nodes and Events are known.
func (w *Watch) Start(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(w.Client(), 0)
	core := factory.Core().V1()
	nodes, events := core.Nodes().Informer(), core.Events().Informer()
	err := cmp.Or(
		storage.Follow(nodes, w.NodeChanged),
		storage.Follow(events, func(old, e *corev1.Event, gone bool) {
			// After a gap the watch reports all of them again.
			if !gone && (old == nil || old.ResourceVersion != e.ResourceVersion) {
				w.event(e)
			}
		}),
		w.Storage.Watch(factory),
		storage.Follow(factory.Storage().V1().CSINodes().Informer(), func(_, n *storagev1.CSINode, gone bool) { w.CSINode(n, gone) }),
	)
	if _, shared := w.Ground().(ground.Shared); !shared && err == nil {
		err = cmp.Or(
			storage.Follow(core.Secrets().Informer(), func(_, o *corev1.Secret, gone bool) {
				if !gone {
					w.Secret(o)
				}
			}),
		)
		err = cmp.Or(err, storage.Follow(core.Services().Informer(), func(old, s *corev1.Service, gone bool) {
			if w.NoLoadBalancer {
				w.serviceChanged(old, s, gone)
			}
			w.Service(old, s, gone)
		}))
	}
	if err != nil {
		return err
	}
	w.Background.Run(group, func(ctx context.Context) {
		factory.Start(ctx.Done())
		<-ctx.Done()
		factory.Shutdown()
	})
	if !cache.WaitFor(ctx, "", nodes.HasSyncedChecker(), events.HasSyncedChecker()) {
		return errors.Join(errors.New("the API server does not list nodes"), context.Cause(ctx))
	}
	return nil
}

// Stop ends the watch.
func (w *Watch) Stop(ctx context.Context) error { return w.Background.End(ctx, group) }

// NodeChanged records a change of a Node, unless the Node is none of the sandbox's. Old is nil for a Node that is new or gone.
func (w *Watch) NodeChanged(old, n *corev1.Node, gone bool) {
	if g, ok := w.Ground().(ground.Shared); ok && g.Foreign(n) {
		return
	}
	source, sourced := w.Ground().(ground.NodeSource)
	if gone {
		if sourced {
			w.Bind(w.Cache.VMs(source.DeleteNode(n.Name)))
		}
		w.World().DeleteNode(n.Name)
		w.Cache.DeleteNode(n.Name)
		w.Identity()
		w.log(n, w.Causes.OfNode(n.Name, "node.deleted"), "node.deleted", event.Warning, "Node object deleted")
		return
	}
	if sourced {
		w.Bind(w.Cache.VMs(source.SetNode(n)))
	}
	w.World().SetNode(n)
	w.Cache.SetNode(world.NodeRow(n), kubenode.Facts(n))
	if old == nil || old.Spec.ProviderID != n.Spec.ProviderID {
		w.Identity()
	}
	w.Storage.NodeChanged(n.Name)
	if old == nil && !sourced {
		w.markControlPlane(n)
	}
	w.logChanges(old, n)
}

// logChanges logs the changes of a Node that a user would notice.
func (w *Watch) logChanges(old, n *corev1.Node) {
	note := func(kind string, level event.Level, format string, args ...any) {
		w.log(n, w.Causes.OfNode(n.Name, kind), kind, level, format, args...)
	}
	registered := old == nil
	if registered {
		old = &corev1.Node{}
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
		if !registered && !slices.Contains(before, key) {
			w.log(n, w.Causes.OfTaint(n.Name, key), "node.tainted", event.Warning, "taint %s", key)
		}
	}
	for _, key := range before {
		if !slices.Contains(after, key) {
			w.log(n, w.Causes.OfTaintRemoved(n.Name, key), "node.untainted", event.Info, "taint %s is gone", key)
		}
	}
}

// log logs an event of a Node.
func (w *Watch) log(n *corev1.Node, cause uint64, kind string, level event.Level, format string, args ...any) {
	w.Log.Append(event.Event{
		Plane: event.PlaneKubernetes, Level: level, Kind: kind, Object: event.Object{Kind: "Node", Name: n.Name},
		Message: fmt.Sprintf(format, args...), Cause: cause,
	})
}

// markControlPlane gives a control-plane node the label of its role, as kubeadm does after the kubelet has registered: a kubelet
// may not.
func (w *Watch) markControlPlane(n *corev1.Node) {
	if _, marked := n.Labels[world.ControlPlaneLabel]; marked || w.Role(n.Name) != topology.RoleControlPlane {
		return
	}
	w.Background.Run(group, func(ctx context.Context) {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, world.ControlPlaneLabel)
		err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			_, err := w.Client().CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			if apierrors.IsNotFound(err) {
				return false, err // it may be registered again
			}
			return err == nil, nil // the API server may be restarting
		})
		if err != nil && ctx.Err() == nil {
			w.Logger.Error("control-plane label", "node", n.Name, "err", err)
		}
	})
}

// taintKeys returns the keys of the node's taints, each once: two taints with different effects may have the same key.
func taintKeys(n *corev1.Node) []string {
	var keys []string
	for _, t := range n.Spec.Taints {
		if !slices.Contains(keys, t.Key) {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// reasonNeedsRestart is the reason of the Event by which this project's provider reports that it reads a change of its
// configuration at its next start.
const reasonNeedsRestart = "ConfigNeedsRestart"

// sectionOf returns the section of vsphere.conf that an Event of this project's provider is about.
func sectionOf(message string) (string, bool) {
	rest, ok := strings.CutPrefix(message, "vCenter ")
	section, _, found := strings.Cut(rest, " (")
	return section, ok && found && section != "" && strings.Contains(rest, "): ")
}

// event logs the Events of the cloud provider. Others are many, and kubectl shows them: only warnings about volumes are logged.
func (w *Watch) event(e *corev1.Event) {
	if e.Source.Component != ccm.EventSource && e.ReportingController != ccm.EventSource {
		w.Storage.Warning(e)
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
	// An Event about a vCenter ("vCenter eu (127.0.0.12): connected") is on the Secret with its credentials, as a vCenter has no
	// Kubernetes object. It names the section of vsphere.conf, which is usually called as the vCenter.
	if section, ok := sectionOf(e.Message); ok {
		copied.Object = event.Object{Kind: "VCenter", Name: section}
	}
	for _, vc := range w.Topology().Spec.VCenters {
		if strings.HasPrefix(e.Message, "vCenter "+vc.Name+" (") {
			copied.Object = event.Object{Kind: "VCenter", VCenter: vc.Name, Name: vc.Name}
		}
	}
	copied.Cause = w.Causes.OfCCMEvent(copied)
	seq := w.Log.Append(copied)
	if e.Reason == reasonNeedsRestart {
		w.NeedsRestart(seq)
	}
}
