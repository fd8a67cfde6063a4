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

// Exec runs a program in a node's container, as root, and returns what it wrote to its standard output. stdin may be nil. What
// it says to its standard error is in the error.
func (c *Cluster) Exec(ctx context.Context, node string, stdin io.Reader, argv ...string) ([]byte, error) {
	container, err := c.container(node)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = c.rt.Exec(ctx, container, stdin, &out, nil, argv...)
	return out.Bytes(), c.of(ctx, node, container, err)
}

// of says of an error which node it is about, and what has become of it when its container is gone or has stopped.
func (c *Cluster) of(ctx context.Context, node, container string, err error) error {
	switch {
	case err == nil:
		return nil
	case coded.Is(err, runtime.ContainerMissing):
		return coded.New(NodeGone, "a node cannot be put back: take the sandbox down and up again", nil,
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

// Address is the node's IPv4 address in kind's network, by which its kubelet is registered: a cloud provider has to tell the
// same, or the node is not initialized. It may change when the container is stopped and started.
func (c *Cluster) Address(ctx context.Context, node string) (netip.Addr, error) {
	container, err := c.container(node)
	if err != nil {
		return netip.Addr{}, err
	}
	known, err := c.rt.Inspect(ctx, container)
	if err != nil {
		return netip.Addr{}, c.of(ctx, node, container, err)
	}
	addr := known.Networks[Network(c.rt)]
	if !addr.IsValid() {
		return addr, fmt.Errorf("node %q: its container %s is %s and has no address in network %s", node, container, known.Status, Network(c.rt))
	}
	return addr, nil
}
