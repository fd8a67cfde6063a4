package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/kubernetes-csi/external-resizer/v2/pkg/controller"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/resizer"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/util"
	"k8s.io/client-go/informers"
)

// resize is csi-resizer: a claim that wants to be larger than its volume becomes ControllerExpandVolume.
type resize struct {
	resync, timeout time.Duration
	workers         int
	inUse           bool
}

func (r *resize) flags(fs *flag.FlagSet) {
	fs.DurationVar(&r.resync, "resync-period", 10*time.Minute, "How often everything is looked at again.")
	fs.DurationVar(&r.timeout, "timeout", 10*time.Second, "How long expanding a volume may take.")
	fs.IntVar(&r.workers, "workers", 10, "How many volumes are expanded at once.")
	fs.BoolVar(&r.inUse, "handle-volume-inuse-error", true, "Wait until no pod uses a volume of which the driver says that it is in use. Needs all pods to be watched.")
}

func (r *resize) build(_ context.Context, w *world) (*built, error) {
	if r.workers <= 0 {
		return nil, fmt.Errorf("--workers=%d has to be positive", r.workers)
	}
	factory := informers.NewSharedInformerFactory(w.client, r.resync)
	one, err := resizer.NewResizerFromClient(&resizeClient{driver: w.driver}, r.timeout, w.client, w.driver.name)
	if err != nil {
		return nil, err
	}
	all := controller.NewResizeController(one.Name(), one, w.client, r.resync, factory, w.retries(), r.inUse, w.retryMax)
	return &built{
		lease: "external-resizer-" + util.SanitizeName(one.Name()),
		run: func(ctx context.Context, wg *sync.WaitGroup) {
			factory.Start(ctx.Done())
			all.Run(r.workers, ctx, wg)
			<-ctx.Done()
		},
	}, nil
}
