package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// monitorPeriod is --node-monitor-period where it is not set.
const monitorPeriod = 5 * time.Second

// startLifecycle starts stock cloud-node-lifecycle controllers that share the nodes: app/core.go,
// startCloudNodeLifecycleController, with a paced informer.
func (g *group) startLifecycle(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		if err := g.start(ctx); err != nil {
			return nil, false, err
		}
		r := g.newRounds(ctx, &rounds{
			period: orDefault(g.config.ComponentConfig.KubeCloudShared.NodeMonitorPeriod.Duration, monitorPeriod),
			alone:  troubled,
		})
		client := g.config.ClientBuilder.ClientOrDie(init.ClientName)
		for range g.opts.LifecycleWorkers {
			stock, err := nodelifecycle.NewCloudNodeLifecycleController(
				newPacedInformer(ctx, g.nodes(), r, nil), client, quietLifecycle(g.cloud, g.opts.Logger), noPeriod)
			if err != nil {
				return nil, false, fmt.Errorf("cloud-node-lifecycle: %w", err)
			}
			g.nudges.goRun(func() { stock.Run(ctx, generic.ControllerManagerMetrics) })
		}
		if _, err := g.nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(was, is any) { urgeIfTurned(r, was, is) },
		}); err != nil {
			return nil, false, fmt.Errorf("cloud-node-lifecycle: %w", err)
		}
		return nil, true, nil
	}
}

// urgeIfTurned urges a node whose Ready condition became true or ceased to be.
func urgeIfTurned(r *rounds, was, is any) {
	before, ok1 := was.(*corev1.Node)
	now, ok2 := is.(*corev1.Node)
	if ok1 && ok2 && ready(before) != ready(now) {
		r.urge(now.Name)
	}
}
