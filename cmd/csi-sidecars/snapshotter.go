package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	snapshots "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned"
	snapshotscheme "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/scheme"
	"github.com/kubernetes-csi/external-snapshotter/client/v8/informers/externalversions"
	controller "github.com/kubernetes-csi/external-snapshotter/v8/pkg/sidecar-controller"
	"github.com/kubernetes-csi/external-snapshotter/v8/pkg/snapshotter"
	"k8s.io/client-go/kubernetes/scheme"
)

// snapshot is csi-snapshotter: it calls CreateSnapshot and DeleteSnapshot for a VolumeSnapshotContent.
type snapshot struct {
	resync, timeout time.Duration
	prefix          string
	uuidLength      int
	workers         int
	extraMetadata   bool
}

func (s *snapshot) flags(fs *flag.FlagSet) {
	fs.DurationVar(&s.resync, "resync-period", 15*time.Minute, "How often all objects are synced again.")
	fs.DurationVar(&s.timeout, "timeout", time.Minute, "Timeout for calls to the driver.")
	fs.StringVar(&s.prefix, "snapshot-name-prefix", "snapshot", "Prefix of snapshots' names.")
	fs.IntVar(&s.uuidLength, "snapshot-name-uuid-length", -1, "Number of characters of the VolumeSnapshot's UID in a snapshot's name; -1 is all.")
	fs.IntVar(&s.workers, "worker-threads", 10, "Maximum number of concurrently processed snapshots.")
	fs.BoolVar(&s.extraMetadata, "extra-create-metadata", false, "Send the names of the VolumeSnapshot and its content to the driver.")
}

func (s *snapshot) build(_ context.Context, w *dependencies) (*sidecarControllers, error) {
	if s.workers <= 0 || s.prefix == "" {
		return nil, errors.New("--worker-threads must be positive, and --snapshot-name-prefix must not be empty")
	}
	if !w.driver.controller[csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT] {
		return nil, fmt.Errorf("driver %s: it does not support snapshots", w.driver.name)
	}
	client, err := snapshots.NewForConfig(w.rest)
	if err != nil {
		return nil, err
	}
	if err := snapshotscheme.AddToScheme(scheme.Scheme); err != nil { // for events about them
		return nil, err
	}
	factory := externalversions.NewSharedInformerFactory(client, s.resync)
	of := factory.Snapshot().V1()
	groups := factory.Groupsnapshot().V1() // not watched: group snapshots are disabled
	all := controller.NewCSISnapshotSideCarController(client, w.client, w.driver.name,
		of.VolumeSnapshotContents(), of.VolumeSnapshotClasses(), snapshotter.NewSnapshotter(w.driver.conn), nil,
		s.timeout, s.resync, s.prefix, s.uuidLength, "groupsnapshot", -1, s.extraMetadata, w.retries(),
		false, groups.VolumeGroupSnapshotContents(), groups.VolumeGroupSnapshotClasses(), w.retries())
	return &sidecarControllers{
		lease: "external-snapshotter-leader-" + w.driver.name,
		run: func(ctx context.Context, wg *sync.WaitGroup) {
			factory.Start(ctx.Done())
			all.Run(s.workers, ctx.Done(), wg)
			<-ctx.Done()
		},
	}, nil
}
