package kind

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// prefix starts the names of our kind clusters.
const prefix = "vsphere-sandbox-"

// clusterLabel is kind's label of its containers.
const clusterLabel = "io.x-k8s.kind.cluster"

// ClusterName returns the name of the kind cluster of a sandbox.
func ClusterName(sandbox string) string { return prefix + sandbox }

// machine is a container that becomes a node.
type machine struct {
	Node
	vm        bool // false for the additional control plane
	container string
	role      string // kind's: control-plane for one, worker for the others
	dir       string // of the mounted files
}

// machines assigns containers to nodes, with kind's names: by role, numbered in the order of the configuration.
func machines(o Options) []machine {
	cluster := ClusterName(o.Name)
	head := -1 // the node that runs the control plane
	for i, n := range o.Nodes {
		if n.ControlPlane {
			head = i
			break
		}
	}
	var all []machine
	if head < 0 {
		name := cluster + "-control-plane"
		all = append(all, machine{Node: Node{Name: name, ControlPlane: true}, container: name, role: "control-plane"})
	}
	workers := 0
	for i, n := range o.Nodes {
		m := machine{Node: n, vm: true, role: "worker", dir: filepath.Join(o.Dir, "nodes", n.Name)}
		if m.Serial == "" {
			m.Serial, _ = Serial(n.UUID) // validated before
		}
		if m.ByID == "" {
			m.ByID = filepath.Join(m.dir, "by-id")
		}
		if i == head {
			m.role, m.container = "control-plane", cluster+"-control-plane"
		} else {
			workers++
			m.container = cluster + "-worker"
			if workers > 1 {
				m.container += strconv.Itoa(workers)
			}
		}
		all = append(all, m)
	}
	return all
}

// RunScript runs a shell script as root in a temporary container of the nodes' image, without a network, and returns its
// standard output. Options.Runtime must be set.
func (c *Cluster) RunScript(ctx context.Context, script string) ([]byte, error) {
	out, err := c.opts.Runtime.Output(ctx, "run", "--rm", "--network", "none", "--label", helperLabel+"="+c.Name(), "--entrypoint", "sh", c.opts.Image, "-c", script)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", c.opts.Image, err)
	}
	return out, nil
}

// Label returns kind's label of the cluster's containers, for listing and watching them.
func (c *Cluster) Label() (key, value string) { return clusterLabel, c.Name() }

// Listing returns the command that lists the containers of a sandbox's cluster, for users.
func Listing(rt *runtime.Runtime, sandbox string) string {
	return rt.Name() + " ps --all --filter label=" + clusterLabel + "=" + ClusterName(sandbox)
}

// SerialFile is the file with the VM's serial number in every node that is a VM, independent of the host's firmware.
const SerialFile = serialPath

// Serial returns the serial number that vSphere gives a VM with that BIOS UUID: its bytes in written order, "VMware-42 01
// 00 00 00 00 40 00-80 00 00 00 00 00 00 11".
func Serial(uuid string) (string, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(b) != 16 || len(uuid) != 36 {
		return "", fmt.Errorf("UUID %q: want 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12", uuid)
	}
	return fmt.Sprintf("VMware-% x-% x", b[:8], b[8:]), nil
}

// registerTime limits how long nodes take to register after kubeadm: as long as kubeadm itself waits. Usually it is a
// second, but 40 were seen on a busy host.
const registerTime = 4 * time.Minute

// registered waits until every node is registered with the name of its VM and the controller manager works, and labels
// further control-plane nodes, since nodes may not set that label themselves.
func (c *Cluster) registered(ctx context.Context, say sayf) error {
	ctx, cancel := context.WithTimeoutCause(ctx, registerTime, fmt.Errorf("not in %v", registerTime))
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		waiting := c.missing(ctx)
		if waiting == "" {
			break
		}
		if waiting != last {
			say("waiting for %s", waiting)
			last = waiting
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", last, context.Cause(ctx))
		}
	}
	for _, m := range c.machines {
		if !m.ControlPlane || m.role == "control-plane" {
			continue
		}
		label := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, controlPlaneRole)
		if _, err := c.client.CoreV1().Nodes().Patch(ctx, m.Name, types.StrategicMergePatchType, label, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("node %q: label %s: %w", m.Name, controlPlaneRole, err)
		}
	}
	return nil
}

// missing returns what is still missing, or "".
func (c *Cluster) missing(ctx context.Context) string {
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "the API server: " + err.Error()
	}
	want := c.names()
	for _, n := range list.Items {
		want = slices.DeleteFunc(want, func(name string) bool { return name == n.Name })
	}
	if len(want) > 0 {
		return "nodes to register: " + strings.Join(want, ", ")
	}
	if _, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return "the controller manager to create the default ServiceAccount"
	}
	return ""
}

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
