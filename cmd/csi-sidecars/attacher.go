package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-lib-utils/connection"
	"github.com/kubernetes-csi/csi-lib-utils/metrics"
	"github.com/kubernetes-csi/csi-lib-utils/rpc"
	"github.com/kubernetes-csi/external-attacher/v4/pkg/attacher"
	"github.com/kubernetes-csi/external-attacher/v4/pkg/controller"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"k8s.io/client-go/informers"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// attach is csi-attacher: it calls ControllerPublishVolume and ControllerUnpublishVolume for VolumeAttachments. If the driver lists
// the nodes of volumes, it regularly compares them with the VolumeAttachments.
type attach struct {
	resync, timeout, reconcile time.Duration
	workers                    uint
	maxEntries, maxLog         int
	fsType                     string
}

func (a *attach) flags(fs *flag.FlagSet) {
	fs.DurationVar(&a.resync, "resync", 10*time.Minute, "How often all objects are synced again.")
	fs.DurationVar(&a.timeout, "timeout", 15*time.Second, "Timeout for attaching or detaching a volume.")
	fs.UintVar(&a.workers, "worker-threads", 10, "Maximum number of concurrent attach and detach operations.")
	fs.IntVar(&a.maxEntries, "max-entries", 0, "Number of volumes per ListVolumes call; 0 is all.")
	fs.StringVar(&a.fsType, "default-fstype", "", "Default file system of volumes.")
	fs.DurationVar(&a.reconcile, "reconcile-sync", time.Minute, "How often VolumeAttachments are compared with the driver's list.")
	fs.IntVar(&a.maxLog, "max-grpc-log-length", -1, "Maximum length of a logged gRPC response, in characters; -1 is all.")
}

func (a *attach) build(ctx context.Context, w *dependencies) (*sidecarControllers, error) {
	if a.workers == 0 {
		return nil, errors.New("--worker-threads must be positive")
	}
	connection.SetMaxGRPCLogLength(a.maxLog)
	factory := informers.NewSharedInformerFactory(w.client, a.resync)
	can := w.driver.controller
	handler := controller.NewTrivialHandler(w.client) // for a driver without attachments: marks all as attached
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
	return &sidecarControllers{
		lease: "external-attacher-leader-" + w.driver.name,
		run: func(ctx context.Context, wg *sync.WaitGroup) {
			factory.Start(ctx.Done())
			all.Run(ctx, int(a.workers), wg)
			<-ctx.Done()
		},
	}, nil
}

// askTimeout bounds a call for the driver's properties.
const askTimeout = 15 * time.Second

var errDriverLost = errors.New("lost connection to CSI driver")

// driver is the connection to a CSI driver that was ready, with its properties.
type driver struct {
	name       string
	inTree     string // the in-tree plugin that it replaces; may be empty
	conn       *grpc.ClientConn
	metrics    metrics.CSIMetricsManager
	plugin     rpc.PluginCapabilitySet
	controller rpc.ControllerCapabilitySet
	stop       context.CancelFunc
}

// connect waits for the driver's socket, up to half a minute as csi-lib-utils do, and then until the driver is ready. It calls lost
// when the connection breaks later, because the next driver may have other properties.
func connect(ctx context.Context, address string, lost context.CancelCauseFunc) (*driver, error) {
	name, err := driverName(ctx, address)
	if err != nil {
		return nil, err
	}
	// The name decides whether calls are counted as those of a migrated plugin, and a connection has its metrics from the
	// beginning.
	d := &driver{name: name}
	measure := []metrics.MetricsManagerOption{metrics.WithProcessStartTime(false)}
	if translator := csitrans.New(); translator.IsMigratedCSIDriverByName(name) {
		measure = append(measure, metrics.WithMigration())
		if d.inTree, err = translator.GetInTreeNameFromCSIName(name); err != nil {
			return nil, err
		}
	}
	d.metrics = metrics.NewCSIMetricsManagerWithOptions(name, measure...)
	never := func(context.Context) bool { return false }
	d.conn, err = connection.Connect(ctx, address, d.metrics, connection.OnConnectionLoss(never))
	if err != nil {
		return nil, fmt.Errorf("driver %s: %w", address, err)
	}
	watching, stop := context.WithCancel(ctx)
	d.stop = stop
	go watch(watching, d.conn, lost)
	if err := d.learn(ctx); err != nil {
		d.close()
		return nil, fmt.Errorf("driver %s: %w", name, err)
	}
	klog.V(2).InfoS("Connected to CSI driver", "driver", name, "address", address)
	return d, nil
}

// driverName waits until the driver is ready and returns its name.
func driverName(ctx context.Context, address string) (string, error) {
	conn, err := connection.Connect(ctx, address, nil)
	if err != nil {
		return "", fmt.Errorf("driver %s: %w", address, err)
	}
	defer conn.Close()
	if err := rpc.ProbeForever(ctx, conn, askTimeout); err != nil {
		return "", fmt.Errorf("driver %s: %w", address, err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	name, err := rpc.GetDriverName(ctx, conn)
	if err != nil {
		return "", fmt.Errorf("driver %s: name: %w", address, err)
	}
	return name, nil
}

// learn reads the driver's capabilities.
func (d *driver) learn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var err error
	if d.plugin, err = rpc.GetPluginCapabilities(ctx, d.conn); err != nil {
		return fmt.Errorf("plugin capabilities: %w", err)
	}
	if d.controller, err = rpc.GetControllerCapabilities(ctx, d.conn); err != nil {
		return fmt.Errorf("controller capabilities: %w", err)
	}
	return nil
}

// watch calls lost when the connection has broken.
func watch(ctx context.Context, conn *grpc.ClientConn, lost context.CancelCauseFunc) {
	for state := conn.GetState(); ; state = conn.GetState() {
		if state != connectivity.Ready {
			if ctx.Err() == nil {
				lost(errDriverLost)
			}
			return
		}
		if !conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

func (d *driver) close() {
	d.stop()
	_ = d.conn.Close() // the connection may be closed already
}
