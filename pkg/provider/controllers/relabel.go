package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/app"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// zoneRelabeled is the reason of the Event about updated zone labels.
const zoneRelabeled = "ZoneRelabeled"

// startRelabel starts the controller that updates zone labels.
func (g *group) startRelabel(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		instances, ok := g.cloud.InstancesV2()
		if !ok {
			g.opts.Logger.Warn("zone labels are not updated: the cloud provider has no InstancesV2")
			return nil, false, nil
		}
		if err := g.start(ctx); err != nil {
			return nil, false, err
		}
		r := g.newRounds(ctx, &rounds{
			period: orDefault(g.config.ComponentConfig.NodeStatusUpdateFrequency.Duration, statusPeriod),
		})
		client := g.config.ClientBuilder.ClientOrDie(init.ClientName)
		broadcaster := record.NewBroadcaster(record.WithContext(ctx))
		broadcaster.StartRecordingToSink(&v1core.EventSinkImpl{Interface: client.CoreV1().Events("")})
		l := &relabeler{
			instances: instances,
			client:    client,
			events:    broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "cloud-node-relabel-controller"}),
			log:       g.opts.Logger,
		}
		for range max(1, g.config.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates) {
			g.nudges.goRun(func() { l.run(ctx, r) })
		}
		g.nudges.goRun(func() {
			generic.ControllerManagerMetrics.ControllerStarted(RelabelController)
			defer generic.ControllerManagerMetrics.ControllerStopped(RelabelController)
			<-ctx.Done()
			broadcaster.Shutdown()
		})
		return nil, true, nil
	}
}

// relabeler keeps the region and zone labels of initialized nodes up to date.
type relabeler struct {
	instances cloudprovider.InstancesV2
	client    clientset.Interface
	events    record.EventRecorder
	log       *slog.Logger
}

// run updates the nodes that r hands out until ctx ends.
func (l *relabeler) run(ctx context.Context, r *rounds) {
	for nodes, held := r.next(ctx, nil); len(nodes) > 0; nodes, held = r.next(ctx, held) {
		for _, node := range nodes {
			if err := l.relabel(ctx, node); err != nil && ctx.Err() == nil {
				l.log.Warn("cannot update zone labels", "node", node.Name, "err", err)
			}
		}
	}
}

// relabel updates the labels of one node. Without an answer, or without both region and zone, the labels stay: one new and one
// old label could be a combination that does not exist.
func (l *relabeler) relabel(ctx context.Context, node *corev1.Node) error {
	if !initialized(node) {
		return nil
	}
	metadata, err := l.instances.InstanceMetadata(ctx, node)
	if err != nil {
		l.log.Debug("zone is unknown: keeping the labels", "node", node.Name, "err", err)
		return nil
	}
	if metadata == nil || metadata.Region == "" || metadata.Zone == "" {
		return nil
	}
	from, to := zoneOf(node), zone{Region: metadata.Region, Zone: metadata.Zone}
	changes := labelChanges(node, to)
	if len(changes) == 0 {
		return nil
	}
	patch, err := labelPatch(node.UID, changes)
	if err != nil {
		return err
	}
	_, err = l.client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the node is gone, or another has its name
	}
	if err != nil {
		return fmt.Errorf("patch %s: %w", to, err)
	}
	l.log.Info("zone labels updated", "node", node.Name, "from", from.String(), "to", to.String())
	ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	l.events.Eventf(ref, corev1.EventTypeNormal, zoneRelabeled, "Region and zone changed from %s to %s", from, to)
	return nil
}

type zone struct {
	Region, Zone string
}

// String returns "region/zone", with "-" for an unknown one.
func (p zone) String() string { return orDash(p.Region) + "/" + orDash(p.Zone) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func zoneOf(node *corev1.Node) zone {
	return zone{Region: node.Labels[corev1.LabelTopologyRegion], Zone: node.Labels[corev1.LabelTopologyZone]}
}

// labelChanges returns the labels that must change if the node is at p. The beta labels change too if the node has them,
// because the cloud-node controller copies them over the others (controllers/node, reconcileNodeLabels).
func labelChanges(node *corev1.Node, p zone) map[string]string {
	changes := map[string]string{}
	for _, l := range []struct {
		name, value string
		always      bool
	}{
		{corev1.LabelTopologyRegion, p.Region, true},
		{corev1.LabelTopologyZone, p.Zone, true},
		{corev1.LabelFailureDomainBetaRegion, p.Region, false},
		{corev1.LabelFailureDomainBetaZone, p.Zone, false},
	} {
		value, ok := node.Labels[l.name]
		if value != l.value && (ok || l.always) {
			changes[l.name] = l.value
		}
	}
	return changes
}

// labelPatch returns a patch of a node's labels that applies only to the node with that UID.
func labelPatch(uid types.UID, changes map[string]string) ([]byte, error) {
	metadata := map[string]any{"labels": changes}
	if uid != "" {
		metadata["uid"] = uid
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("patch of labels: %w", err)
	}
	return patch, nil
}

// hasAddresses reports whether the node has the addresses that the cloud-node controller would set from these
// (updateNodeAddress).
func hasAddresses(node *corev1.Node, addresses []corev1.NodeAddress) bool {
	isHostName := func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName }
	want := slices.Clone(addresses)
	if !slices.ContainsFunc(want, isHostName) {
		for _, a := range node.Status.Addresses {
			if isHostName(a) {
				want = append(want, a)
			}
		}
	}
	if ip, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		var err error
		if want, err = cloudnodeutil.GetNodeAddressesFromNodeIP(ip, want); err != nil {
			return false
		}
	}
	return slices.Equal(want, node.Status.Addresses)
}
