package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-lib-utils/connection"
	"github.com/kubernetes-csi/csi-lib-utils/metrics"
	"github.com/kubernetes-csi/csi-lib-utils/rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// askTimeout bounds one question about what the driver is.
const askTimeout = 15 * time.Second

var errDriverLost = errors.New("lost connection to CSI driver")

// driver is the connection to a CSI driver that was ready, and what it said of itself.
type driver struct {
	name       string
	inTree     string // the plugin in the tree of Kubernetes that it has replaced; empty when there was none
	conn       *grpc.ClientConn
	metrics    metrics.CSIMetricsManager
	plugin     rpc.PluginCapabilitySet
	controller rpc.ControllerCapabilitySet
	stop       context.CancelFunc
}

// connect waits for the driver's socket, up to half a minute as csi-lib-utils do, and then until the driver says that it is
// ready. When the connection is lost later, lost is called: what was learned of a driver need not be true of the next one.
func connect(ctx context.Context, address string, lost context.CancelCauseFunc) (*driver, error) {
	name, err := driverName(ctx, address)
	if err != nil {
		return nil, err
	}
	// By the name it is known whether calls are counted as those of a migrated plugin, and a connection has its metrics from
	// the beginning.
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

// driverName waits for the driver to be ready and asks it for its name.
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

// learn asks the driver what it can do.
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

// watch calls lost when the connection is no longer one.
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
	_ = d.conn.Close() // what a closed connection has to complain about is nobody's trouble
}
