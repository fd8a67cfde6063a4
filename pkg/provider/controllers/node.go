package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/cloud-provider/app"
	cloudnode "k8s.io/cloud-provider/controllers/node"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// statusPeriod is --node-status-update-frequency where it is not set.
const statusPeriod = 5 * time.Minute

// noPeriod is that of a stock controller whose lister does the waiting.
const noPeriod = time.Nanosecond

// startNode starts the stock cloud-node controller: app/core.go, startCloudNodeController, with a paced informer.
func (g *group) startNode(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		if err := g.start(ctx); err != nil {
			return nil, false, err
		}
		again := newRetry(g.nodes().Lister())
		r := g.newRounds(ctx, &rounds{
			period:  orDefault(g.config.ComponentConfig.NodeStatusUpdateFrequency.Duration, statusPeriod),
			onRound: again.all, // the longest that a node waits for its next attempt
		})
		informer := newPacedInformer(ctx, g.nodes(), r, func(h cache.ResourceEventHandler) { again.handler = h })
		stock, err := cloudnode.NewCloudNodeController(
			informer,
			g.config.ClientBuilder.ClientOrDie(init.ClientName),
			quietNode(g.cloud, g.opts.Logger),
			noPeriod,
			g.config.ComponentConfig.NodeController.ConcurrentNodeSyncs,
			g.config.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates,
		)
		if err != nil {
			return nil, false, fmt.Errorf("cloud-node: %w", err)
		}
		g.mu.Lock()
		g.retry = again
		g.mu.Unlock()
		g.nudges.goRun(func() { again.run(ctx) })
		g.nudges.goRun(func() { stock.RunWithContext(ctx, generic.ControllerManagerMetrics) })
		return nil, true, nil
	}
}
