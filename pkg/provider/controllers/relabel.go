package controllers

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// zoneRelabeled is the reason of the Event about a node whose labels followed its VM.
const zoneRelabeled = "ZoneRelabeled"

// startRelabel starts the controller that keeps zone labels true.
func (g *group) startRelabel(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		instances, ok := g.cloud.InstancesV2()
		if !ok {
			g.opts.Logger.Warn("zone labels are not kept, the cloud provider has no InstancesV2")
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

// relabeler keeps the labels of region and zone of initialized nodes what the cloud says.
type relabeler struct {
	instances cloudprovider.InstancesV2
	client    clientset.Interface
	events    record.EventRecorder
	log       *slog.Logger
}

// run looks after what it is handed until ctx ends.
func (l *relabeler) run(ctx context.Context, r *rounds) {
	for nodes, held := r.next(ctx, nil); len(nodes) > 0; nodes, held = r.next(ctx, held) {
		for _, node := range nodes {
			if err := l.look(ctx, node); err != nil && ctx.Err() == nil {
				l.log.Warn("zone labels", "node", node.Name, "err", err)
			}
		}
	}
}

// look makes the labels of one node true. Where the cloud has no answer, or not both region and zone, the labels stay:
// half an answer beside half an old one would be a place that does not exist.
func (l *relabeler) look(ctx context.Context, node *corev1.Node) error {
	if !initialized(node) {
		return nil
	}
	metadata, err := l.instances.InstanceMetadata(ctx, node)
	if err != nil {
		l.log.Debug("zone is unknown, labels stay", "node", node.Name, "err", err)
		return nil
	}
	if metadata == nil || metadata.Region == "" || metadata.Zone == "" {
		return nil
	}
	from, to := placeOf(node), place{Region: metadata.Region, Zone: metadata.Zone}
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
		return nil // the node is gone, or another of its name has come
	}
	if err != nil {
		return fmt.Errorf("patch %s: %w", to, err)
	}
	l.log.Info("zone labels followed the vm", "node", node.Name, "from", from.String(), "to", to.String())
	ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	l.events.Eventf(ref, corev1.EventTypeNormal, zoneRelabeled, "Region and zone changed from %s to %s", from, to)
	return nil
}
