package kind

import (
	"errors"
	"net/netip"
	"path"
	"slices"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// merge adds the user's configuration to ours. All that they disagree about is one error, a line for each.
func (u *userConfig) merge(c *v1alpha4.Cluster, all []machine) error {
	var errs []error
	wrongly := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if u.Name != "" && u.Name != c.Name {
		wrongly(u.at(u.find("name"), "name %q: the cluster is called %q, after the sandbox; leave the name out", u.Name, c.Name))
	}
	wrongly(u.networking(&c.Networking))
	if u.Networking.IPFamily == v1alpha4.DualStackFamily && slices.ContainsFunc(all, func(m machine) bool { return m.Address.IsValid() }) {
		wrongly(u.at(u.find("networking", "ipFamily"), "ipFamily %q: nodes of real VMs are called by one address, of IPv4", u.Networking.IPFamily))
	}
	c.FeatureGates, c.RuntimeConfig = u.FeatureGates, u.RuntimeConfig
	c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, u.ContainerdConfigPatches...)
	c.ContainerdConfigPatchesJSON6902 = u.ContainerdConfigPatchesJSON6902
	wrongly(u.kubeadm(u.KubeadmConfigPatches, u.KubeadmConfigPatchesJSON6902))
	c.KubeadmConfigPatches = append(c.KubeadmConfigPatches, u.KubeadmConfigPatches...)
	c.KubeadmConfigPatchesJSON6902 = u.KubeadmConfigPatchesJSON6902

	heads, workers := u.byRole()
	for i := range c.Nodes {
		from := &workers
		if all[i].role == "control-plane" {
			from = &heads
		}
		if len(*from) > 0 {
			wrongly(u.node((*from)[0], &c.Nodes[i]))
			*from = (*from)[1:]
		}
	}
	for _, i := range heads {
		wrongly(u.at(u.find("nodes", i), "nodes[%d]: one node runs the control plane; a further control-plane VM of the topology goes by a worker entry", i))
	}
	for _, i := range workers {
		wrongly(u.at(u.find("nodes", i), "nodes[%d]: the topology has no further VM for this node; add one there", i))
	}
	return errors.Join(errs...)
}

// byRole returns the indices of the user's nodes, in their order.
func (u *userConfig) byRole() (heads, workers []int) {
	for i, n := range u.Nodes {
		if n.Role == v1alpha4.WorkerRole {
			workers = append(workers, i)
		} else {
			heads = append(heads, i) // kind's default; another role is refused with the node
		}
	}
	return heads, workers
}

func (u *userConfig) networking(n *v1alpha4.Networking) error {
	var errs []error
	of := u.Networking
	in := func(field string) []any { return []any{"networking", field} }
	if of.IPFamily != "" && of.IPFamily != v1alpha4.IPv4Family && of.IPFamily != v1alpha4.DualStackFamily {
		errs = append(errs, u.at(u.find(in("ipFamily")...), "ipFamily %q: want ipv4 or dual, since vCenters are reached at IPv4 addresses", of.IPFamily))
	}
	if a := of.APIServerAddress; a != "" {
		if addr, err := netip.ParseAddr(a); err != nil || !addr.IsLoopback() || !addr.Is4() {
			errs = append(errs, u.at(u.find(in("apiServerAddress")...), "apiServerAddress %q: a sandbox is reached from its own machine only; want an address of 127.0.0.0/8", a))
		}
		n.APIServerAddress = a
	}
	if p := of.APIServerPort; p != 0 {
		if n.APIServerPort != 0 && n.APIServerPort != p {
			errs = append(errs, u.at(u.find(in("apiServerPort")...), "apiServerPort %d: port %d was asked for on the command line", p, n.APIServerPort))
		}
		n.APIServerPort = p
	}
	n.IPFamily, n.DisableDefaultCNI, n.KubeProxyMode, n.DNSSearch = of.IPFamily, of.DisableDefaultCNI, of.KubeProxyMode, of.DNSSearch
	if of.IPFamily == v1alpha4.DualStackFamily {
		n.PodSubnet, n.ServiceSubnet = "10.244.0.0/16,fd00:10:244::/56", "10.96.0.0/16,fd00:10:96::/112" // kind's own
	}
	if of.PodSubnet != "" {
		n.PodSubnet = of.PodSubnet
	}
	if of.ServiceSubnet != "" {
		n.ServiceSubnet = of.ServiceSubnet
		if _, err := ipv4(of.ServiceSubnet); err != nil {
			errs = append(errs, u.at(u.find(in("serviceSubnet")...), "serviceSubnet: %v", err))
		}
	}
	return errors.Join(errs...)
}

// node adds what the user's node i says to n.
func (u *userConfig) node(i int, n *v1alpha4.Node) error {
	var errs []error
	of := u.Nodes[i]
	in := func(path ...any) []any { return append([]any{"nodes", i}, path...) }
	if of.Role != "" && of.Role != v1alpha4.ControlPlaneRole && of.Role != v1alpha4.WorkerRole {
		errs = append(errs, u.at(u.find(in("role")...), "role %q: want control-plane or worker", of.Role))
	}
	if of.Image != "" && of.Image != n.Image {
		errs = append(errs, u.at(u.find(in("image")...), "image %q: all nodes are of %q, which was asked for on the command line", of.Image, n.Image))
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	for key, value := range of.Labels {
		if _, ours := n.Labels[key]; ours {
			errs = append(errs, u.at(u.find(in("labels", key)...), "label %s: is the sandbox's: it says that the node is no VM", key))
		}
		n.Labels[key] = value
	}
	for j, m := range of.ExtraMounts {
		for _, ours := range n.ExtraMounts {
			if covers(m.ContainerPath, ours.ContainerPath) {
				errs = append(errs, u.at(u.find(in("extraMounts", j, "containerPath")...),
					"extraMounts[%d]: %s in the node is the sandbox's: it makes the node its VM", j, ours.ContainerPath))
			}
		}
	}
	n.ExtraMounts = append(n.ExtraMounts, of.ExtraMounts...)
	n.ExtraPortMappings = of.ExtraPortMappings
	errs = append(errs, u.kubeadm(of.KubeadmConfigPatches, of.KubeadmConfigPatchesJSON6902, "nodes", i))
	n.KubeadmConfigPatches = append(n.KubeadmConfigPatches, of.KubeadmConfigPatches...)
	n.KubeadmConfigPatchesJSON6902 = of.KubeadmConfigPatchesJSON6902
	return errors.Join(errs...)
}

// covers tells whether a mount at one path hides what is mounted at the other, which may be the same.
func covers(mount, other string) bool {
	mount = path.Clean("/" + mount)
	for at := other; ; at = path.Dir(at) {
		if at == mount {
			return true
		}
		if at == "/" {
			return false
		}
	}
}
