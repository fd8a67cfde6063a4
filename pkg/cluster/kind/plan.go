package kind

import (
	"fmt"
	"strings"
)

// Plan says what [Cluster.Create] would do: the configuration that kind is given, and the steps, each a line. It asks nobody
// and touches nothing.
func Plan(opts Options) (config []byte, steps []string, err error) {
	c, err := New(opts)
	if err != nil {
		return nil, nil, err
	}
	return c.Config(), c.steps(), nil
}

// Config is the configuration that kind is given: ours with the user's merged in.
func (c *Cluster) Config() []byte { return append([]byte(nil), c.config...) }

func (c *Cluster) steps() []string {
	name := ClusterName(c.opts.Name)
	steps := []string{"find Docker, nerdctl or Podman"}
	if c.opts.Runtime != nil {
		steps[0] = "use " + c.opts.Runtime.Name()
	}
	version := ""
	if want := c.opts.kubernetes(); minor(want) != "" {
		version = ", which has to be of Kubernetes " + minor(want)
	}
	steps = append(steps,
		fmt.Sprintf("take node image %s%s, and pull it where it is missing", c.opts.Image, version),
		fmt.Sprintf("remove what a killed sandbox has left of cluster %s", name),
		fmt.Sprintf("write the nodes' identities to %s", c.opts.Dir),
	)
	for _, m := range c.machines {
		what := "runs the control plane"
		switch {
		case !m.vm:
			what = "runs the control plane and is no VM: the topology has no VM with that role, so the cloud provider is not told of it"
		case m.role == "control-plane":
		case m.ControlPlane:
			what = "is a control-plane node by label and taint; the API server runs on the first one only"
		default:
			what = "is a worker"
		}
		steps = append(steps, fmt.Sprintf("start container %s: node %s %s", m.container, m.Name, what))
	}
	return append(steps,
		"have kubeadm set Kubernetes up in them",
		fmt.Sprintf("write the administrator's kubeconfig to %s", c.Kubeconfig()),
		"wait until "+strings.Join(c.names(), ", ")+" are registered",
	)
}
