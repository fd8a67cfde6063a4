package csi

import (
	"context"
	"fmt"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/device"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/dir"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
)

// runNode is the node mode.
func (c *command) runNode(ctx context.Context, log *slog.Logger) error {
	n := &c.node
	id := n.id
	if id == "" {
		var err error
		if id, err = device.NodeID(n.serialFile); err != nil {
			return fmt.Errorf("csi: --node-id is missing, and: %w", err)
		}
	}
	b, err := n.newBackend(log)
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	o := node.Options{
		NodeID: id, MaxVolumes: n.maxVolumes, TopologyTimeout: n.askTopology, Timeout: c.timeout,
		Backend: b, Logger: log,
	}
	if n.topology {
		k, err := connect(c.kubeconfig)
		if err != nil {
			return fmt.Errorf("csi: %w", err)
		}
		o.Topology = func(ctx context.Context) (map[string]string, error) { return k.topology(ctx, n.name, id) }
	}
	stopHealth, err := serveHealth(ctx, c.metricsAddress, func() []health.Status { return nil }, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	p, err := node.Listen(ctx, o, node.Sockets{CSI: c.endpoint, Registration: n.registration, Announced: n.announced, Version: version()})
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	defer p.Close()
	log.Info("serving", "endpoint", c.endpoint, "node", n.name, "uuid", id, "backend", n.backend)
	return p.Run(ctx)
}

func (n *nodeFlags) newBackend(log *slog.Logger) (node.Backend, error) {
	switch n.backend {
	case backendDir:
		return dir.New(dir.Options{Root: n.root, StateDir: n.stateDir, Bind: folder.CanBind(), Logger: log})
	case backendHollow:
		return hollow.New(n.hollow(log))
	}
	return device.New(device.Options{ByIDDir: n.byIDDir, Timeout: n.deviceTimeout, Logger: log})
}

// hollow are the options of that backend. With bind mounts a pod sees a directory, and nothing there could be its device.
func (n *nodeFlags) hollow(log *slog.Logger) hollow.Options {
	o := hollow.Options{ByIDDir: n.byIDDir, StateDir: n.stateDir, Timeout: n.deviceTimeout, Bind: n.bind, Logger: log}
	if n.bind {
		o.NoBlock = "volumes are directories on this node, which are no block devices"
	}
	return o
}

// topology asks the controller where the node is.
func (k *Kubernetes) topology(ctx context.Context, name, uuid string) (map[string]string, error) {
	n, err := k.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return nodetopology.Request(ctx, k.Dynamic, name, uuid, n)
}
