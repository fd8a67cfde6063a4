package main

import (
	"context"
	"errors"
	"flag"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-lib-utils/connection"
	"github.com/kubernetes-csi/external-attacher/v4/pkg/attacher"
	"github.com/kubernetes-csi/external-attacher/v4/pkg/controller"
	"k8s.io/client-go/informers"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// attach is csi-attacher: VolumeAttachments become ControllerPublishVolume and ControllerUnpublishVolume. Where the driver
// lists which volume is on which node, that is compared with the VolumeAttachments every now and then.
type attach struct {
	resync, timeout, reconcile time.Duration
	workers                    uint
	maxEntries, maxLog         int
	fsType                     string
}

func (a *attach) flags(fs *flag.FlagSet) {
	fs.DurationVar(&a.resync, "resync", 10*time.Minute, "How often everything is looked at again.")
	fs.DurationVar(&a.timeout, "timeout", 15*time.Second, "How long attaching or detaching a volume may take.")
	fs.UintVar(&a.workers, "worker-threads", 10, "How many volumes are attached or detached at once.")
	fs.IntVar(&a.maxEntries, "max-entries", 0, "How many volumes to ask the driver for at once; 0 is all.")
	fs.StringVar(&a.fsType, "default-fstype", "", "File system of volumes that name none.")
	fs.DurationVar(&a.reconcile, "reconcile-sync", time.Minute, "How often VolumeAttachments are compared with the driver's list.")
	fs.IntVar(&a.maxLog, "max-grpc-log-length", -1, "How much of an answer of the driver is logged, in characters; -1 is all.")
}

func (a *attach) build(ctx context.Context, w *world) (*built, error) {
	if a.workers == 0 {
		return nil, errors.New("--worker-threads has to be positive")
	}
	connection.SetMaxGRPCLogLength(a.maxLog)
	factory := informers.NewSharedInformerFactory(w.client, a.resync)
	can := w.driver.controller
	handler := controller.NewTrivialHandler(w.client) // of a driver that attaches nothing: says that all is attached
	if can[csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME] {
		handler = controller.NewCSIHandler(w.client, w.driver.name,
			attacher.NewAttacher(w.driver.conn),
			attacher.NewVolumeLister(w.driver.conn, a.maxEntries),
			factory.Core().V1().PersistentVolumes().Lister(),
			factory.Storage().V1().CSINodes().Lister(),
			factory.Storage().V1().VolumeAttachments().Lister(),
			&a.timeout,
			can[csi.ControllerServiceCapability_RPC_PUBLISH_READONLY],
			can[csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER],
			csitrans.New(), a.fsType)
	}
	lists := can[csi.ControllerServiceCapability_RPC_LIST_VOLUMES] && can[csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES]
	all := controller.NewCSIAttachController(klog.FromContext(ctx), w.client, w.driver.name, handler,
		factory.Storage().V1().VolumeAttachments(), factory.Core().V1().PersistentVolumes(),
		w.retries(), w.retries(), lists, a.reconcile)
	return &built{
		lease: "external-attacher-leader-" + w.driver.name,
		run: func(ctx context.Context, wg *sync.WaitGroup) {
			factory.Start(ctx.Done())
			all.Run(ctx, int(a.workers), wg)
			<-ctx.Done()
		},
	}, nil
}
