package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	snapshots "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned"
	snapshotscheme "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/scheme"
	"github.com/kubernetes-csi/external-snapshotter/client/v8/informers/externalversions"
	controller "github.com/kubernetes-csi/external-snapshotter/v8/pkg/common-controller"
	"github.com/kubernetes-csi/external-snapshotter/v8/pkg/metrics"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
)

// snapshotController is the snapshot-controller, one for all drivers of a cluster: it creates a VolumeSnapshotContent for a
// VolumeSnapshot and binds the two.
type snapshotController struct {
	resync, waitForCRDs time.Duration
	workers             int
	keepsMode           bool
}

func (s *snapshotController) flags(fs *flag.FlagSet) {
	fs.DurationVar(&s.resync, "resync-period", 15*time.Minute, "How often all objects are synced again.")
	fs.IntVar(&s.workers, "worker-threads", 10, "Maximum number of concurrently processed snapshots.")
	fs.BoolVar(&s.keepsMode, "prevent-volume-mode-conversion", true, "Record the mode of the volume, for volumes that are created from the snapshot.")
	fs.DurationVar(&s.waitForCRDs, "retry-crd-interval-max", 30*time.Second, "How long to wait for the CustomResourceDefinitions of snapshots.")
}

func (s *snapshotController) build(ctx context.Context, w *dependencies) (*sidecarControllers, error) {
	if s.workers <= 0 {
		return nil, fmt.Errorf("--worker-threads=%d must be positive", s.workers)
	}
	client, err := snapshots.NewForConfig(w.rest)
	if err != nil {
		return nil, err
	}
	if err := snapshotscheme.AddToScheme(scheme.Scheme); err != nil { // for events about them
		return nil, err
	}
	if err := s.await(ctx, client); err != nil {
		return nil, err
	}
	factory, core := externalversions.NewSharedInformerFactory(client, s.resync), informers.NewSharedInformerFactory(w.client, s.resync)
	of, groups := factory.Snapshot().V1(), factory.Groupsnapshot().V1() // group snapshots are disabled, so they are not watched
	counted := metrics.NewMetricsManager()
	all := controller.NewCSISnapshotCommonController(client, w.client,
		of.VolumeSnapshots(), of.VolumeSnapshotContents(), of.VolumeSnapshotClasses(),
		groups.VolumeGroupSnapshots(), groups.VolumeGroupSnapshotContents(), groups.VolumeGroupSnapshotClasses(),
		core.Core().V1().PersistentVolumeClaims(), core.Core().V1().PersistentVolumes(), nil,
		counted, s.resync, w.retries(), w.retries(), w.retries(), w.retries(), false, s.keepsMode, false)
	return &sidecarControllers{
		lease:   "snapshot-controller-leader",
		metrics: []prometheus.Gatherer{counted.GetRegistry()},
		run: func(ctx context.Context, wg *sync.WaitGroup) {
			factory.Start(ctx.Done())
			core.Start(ctx.Done())
			all.Run(s.workers, ctx.Done(), wg)
			<-ctx.Done()
		},
	}, nil
}

// await waits until the API server serves snapshots: otherwise the controllers would wait forever without a log line.
func (s *snapshotController) await(ctx context.Context, client snapshots.Interface) error {
	one := metav1.ListOptions{Limit: 1}
	var last error
	served := func(ctx context.Context) (bool, error) {
		if _, last = client.SnapshotV1().VolumeSnapshots("").List(ctx, one); last == nil {
			if _, last = client.SnapshotV1().VolumeSnapshotClasses().List(ctx, one); last == nil {
				_, last = client.SnapshotV1().VolumeSnapshotContents().List(ctx, one)
			}
		}
		if last != nil {
			klog.V(2).InfoS("Waiting for snapshots to be served", "err", last)
		}
		return last == nil, nil
	}
	timeout := max(s.waitForCRDs, time.Second)
	if err := wait.PollUntilContextTimeout(ctx, min(timeout/10, time.Second), timeout, true, served); err != nil {
		return fmt.Errorf("the API server does not serve snapshots after %v: %w", timeout, last)
	}
	return nil
}
