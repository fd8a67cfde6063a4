package kind

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Exec runs a program as root in a node's container, and returns its standard output. stdin may be nil. An error includes
// its standard error.
func (c *Cluster) Exec(ctx context.Context, node string, stdin io.Reader, argv ...string) ([]byte, error) {
	container, err := c.container(node)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = c.rt.Exec(ctx, container, stdin, &out, nil, argv...)
	return out.Bytes(), c.nodeError(ctx, node, container, err)
}

// nodeError adds the node to an error, and the state of its container if that is gone or stopped.
func (c *Cluster) nodeError(ctx context.Context, node, container string, err error) error {
	switch {
	case err == nil:
		return nil
	case coded.Is(err, runtime.ContainerMissing):
		return coded.New(NodeGone, "a single node cannot be created again: take the sandbox down and up again", nil,
			"node %q: its container %s is gone; it was removed outside of the sandbox", node, container)
	case coded.Is(err, runtime.ContainerStopped):
		state := "does not run"
		if known, e := c.rt.Inspect(ctx, container); e == nil {
			state = "is " + known.Status
		}
		return coded.New(runtime.ContainerStopped, c.rt.Name()+" start "+container+", unless its VM is powered off", nil,
			"node %q: its container %s %s", node, container, state)
	}
	return fmt.Errorf("node %q: %w", node, err)
}

// Address returns the node's IPv4 address in kind's network, which its kubelet registers with: a cloud provider must
// report the same, or the node is not initialized. It may change with a restart of the container.
func (c *Cluster) Address(ctx context.Context, node string) (netip.Addr, error) {
	container, err := c.container(node)
	if err != nil {
		return netip.Addr{}, err
	}
	known, err := c.rt.Inspect(ctx, container)
	if err != nil {
		return netip.Addr{}, c.nodeError(ctx, node, container, err)
	}
	addr := known.Networks[Network(c.rt)]
	if !addr.IsValid() {
		return addr, fmt.Errorf("node %q: its container %s is %s and has no address in network %s", node, container, known.Status, Network(c.rt))
	}
	return addr, nil
}
