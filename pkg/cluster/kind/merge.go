package kind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// merge adds the user's configuration to ours. All conflicts are one error, with a line for each.
func (u *userConfig) merge(c *v1alpha4.Cluster, all []machine) error {
	var errs []error
	report := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if u.Name != "" && u.Name != c.Name {
		report(u.at(u.find("name"), "name %q: the cluster's name is %q, after the sandbox; leave the name out", u.Name, c.Name))
	}
	report(u.networking(&c.Networking))
	if u.Networking.IPFamily == v1alpha4.DualStackFamily && slices.ContainsFunc(all, func(m machine) bool { return m.Address.IsValid() }) {
		report(u.at(u.find("networking", "ipFamily"), "ipFamily %q: nodes of real VMs have a single address, of IPv4", u.Networking.IPFamily))
	}
	gates, apis := c.FeatureGates, c.RuntimeConfig // of flags, which count more
	c.FeatureGates, c.RuntimeConfig = joined(u.FeatureGates, gates), joined(u.RuntimeConfig, apis)
	c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, u.ContainerdConfigPatches...)
	c.ContainerdConfigPatchesJSON6902 = u.ContainerdConfigPatchesJSON6902
	report(u.kubeadm(u.KubeadmConfigPatches, u.KubeadmConfigPatchesJSON6902))
	c.KubeadmConfigPatches = append(c.KubeadmConfigPatches, u.KubeadmConfigPatches...)
	c.KubeadmConfigPatchesJSON6902 = u.KubeadmConfigPatchesJSON6902

	heads, workers := u.byRole()
	for i := range c.Nodes {
		from := &workers
		if all[i].role == "control-plane" {
			from = &heads
		}
		if len(*from) > 0 {
			report(u.node((*from)[0], &c.Nodes[i]))
			*from = (*from)[1:]
		}
	}
	for _, i := range heads {
		report(u.at(u.find("nodes", i), "nodes[%d]: only one node runs the control plane; a further control-plane VM of the topology needs a worker entry", i))
	}
	for _, i := range workers {
		report(u.at(u.find("nodes", i), "nodes[%d]: the topology has no further VM for this node; add one there", i))
	}
	return errors.Join(errs...)
}

// joined returns both maps in one, nil if there is nothing in them; upper counts more.
func joined[V any](lower, upper map[string]V) map[string]V {
	if len(lower) == 0 {
		return upper
	}
	all := maps.Clone(lower)
	maps.Copy(all, upper)
	return all
}

// byRole returns the indices of the user's nodes, in their order.
func (u *userConfig) byRole() (heads, workers []int) {
	for i, n := range u.Nodes {
		if n.Role == v1alpha4.WorkerRole {
			workers = append(workers, i)
		} else {
			heads = append(heads, i) // kind's default; u.node rejects other roles
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
			errs = append(errs, u.at(u.find(in("apiServerAddress")...), "apiServerAddress %q: a sandbox is reachable from its own host only; want an address of 127.0.0.0/8", a))
		}
		n.APIServerAddress = a
	}
	if p := of.APIServerPort; p != 0 {
		if n.APIServerPort != 0 && n.APIServerPort != p {
			errs = append(errs, u.at(u.find(in("apiServerPort")...), "apiServerPort %d: the command line has port %d", p, n.APIServerPort))
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

// node adds the user's node i to n.
func (u *userConfig) node(i int, n *v1alpha4.Node) error {
	var errs []error
	of := u.Nodes[i]
	in := func(path ...any) []any { return append([]any{"nodes", i}, path...) }
	if of.Role != "" && of.Role != v1alpha4.ControlPlaneRole && of.Role != v1alpha4.WorkerRole {
		errs = append(errs, u.at(u.find(in("role")...), "role %q: want control-plane or worker", of.Role))
	}
	if of.Image != "" && of.Image != n.Image {
		errs = append(errs, u.at(u.find(in("image")...), "image %q: all nodes use %q, from the command line", of.Image, n.Image))
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	for key, value := range of.Labels {
		if _, ours := n.Labels[key]; ours {
			errs = append(errs, u.at(u.find(in("labels", key)...), "label %s: is reserved for the sandbox: it marks a node that is no VM", key))
		}
		n.Labels[key] = value
	}
	for j, m := range of.ExtraMounts {
		for _, ours := range n.ExtraMounts {
			if covers(m.ContainerPath, ours.ContainerPath) {
				errs = append(errs, u.at(u.find(in("extraMounts", j, "containerPath")...),
					"extraMounts[%d]: %s in the node is reserved for the sandbox: it links the node to its VM", j, ours.ContainerPath))
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

// covers reports whether a mount at one path hides what is mounted at the other, or at the same path.
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

// userConfig is the user's kind configuration, with line numbers.
type userConfig struct {
	file string
	v1alpha4.Cluster
	root *yaml.Node
}

// parseUser reads a configuration strictly.
func parseUser(file string, text []byte) (*userConfig, error) {
	if file == "" {
		file = "kind configuration"
	}
	u := &userConfig{file: file}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, u.syntax(err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, u.at(nil, "is no kind configuration: want kind: Cluster and apiVersion: kind.x-k8s.io/v1alpha4")
	}
	u.root = doc.Content[0]
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&u.Cluster); err != nil {
		return nil, u.syntax(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, u.at(nil, "has more than one document: kind reads one")
	}
	switch {
	case u.APIVersion != "kind.x-k8s.io/v1alpha4":
		return nil, u.at(u.find("apiVersion"), "apiVersion %q: want kind.x-k8s.io/v1alpha4", u.APIVersion)
	case u.Kind != "Cluster":
		return nil, u.at(u.find("kind"), "kind %q: want Cluster", u.Kind)
	}
	return u, nil
}

// syntax turns the decoder's error into findings with the lines of the file.
func (u *userConfig) syntax(err error) error {
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return u.line(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var errs []error
	for _, e := range several.Errors {
		errs = append(errs, u.line(e))
	}
	return errors.Join(errs...)
}

func (u *userConfig) line(said string) error {
	rest, numbered := strings.CutPrefix(said, "line ")
	if number, what, ok := strings.Cut(rest, ": "); numbered && ok {
		// "field x not found in type v1alpha4.Cluster": the Go type does not help the user.
		if field, _, ok := strings.Cut(what, " not found in type "); ok {
			what = strings.TrimPrefix(field, "field ") + ": kind's configuration has no such field"
		}
		return fmt.Errorf("%s:%s: %s", u.file, number, what)
	}
	return fmt.Errorf("%s: %s", u.file, said)
}

// at returns an error with the line of n; nil means the whole file.
func (u *userConfig) at(n *yaml.Node, format string, args ...any) error {
	if n == nil {
		return fmt.Errorf("%s: %s", u.file, fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("%s:%d: %s", u.file, n.Line, fmt.Sprintf(format, args...))
}

// find returns the node at a path of keys (string) and indices (int), or the deepest one that exists.
func (u *userConfig) find(path ...any) *yaml.Node {
	n := u.root
	for _, step := range path {
		var next *yaml.Node
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch step := step.(type) {
		case string:
			if n.Kind == yaml.MappingNode {
				for i := 0; i+1 < len(n.Content); i += 2 {
					if n.Content[i].Value == step {
						next = n.Content[i+1]
					}
				}
			}
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// kubeadm returns an error for patches that would break the link between a node and its VM. Other settings of the user
// win, since they come after ours. in is their path in the file.
func (u *userConfig) kubeadm(merges []string, edits []v1alpha4.PatchJSON6902, in ...any) error {
	var errs []error
	for i, text := range merges {
		at := u.find(append(slices.Clone(in), "kubeadmConfigPatches", i)...)
		var patch struct {
			Kind             string    `yaml:"kind"`
			NodeRegistration yaml.Node `yaml:"nodeRegistration"`
		}
		if err := yaml.Unmarshal([]byte(text), &patch); err != nil {
			errs = append(errs, u.at(at, "kubeadmConfigPatches[%d]: %s", i, strings.TrimPrefix(err.Error(), "yaml: ")))
			continue
		}
		if !registers(patch.Kind) {
			continue
		}
		for _, key := range keys(&patch.NodeRegistration) {
			if what := forbidden(key); what != "" {
				errs = append(errs, u.at(at, "kubeadmConfigPatches[%d]: sets %s: %s", i, key, what))
			}
		}
	}
	for i, edit := range edits {
		at := u.find(append(slices.Clone(in), "kubeadmConfigPatchesJSON6902", i)...)
		var ops []struct{ Path, From string }
		if err := yaml.Unmarshal([]byte(edit.Patch), &ops); err != nil {
			errs = append(errs, u.at(at, "kubeadmConfigPatchesJSON6902[%d]: %s", i, strings.TrimPrefix(err.Error(), "yaml: ")))
			continue
		}
		for _, op := range ops {
			if registers(edit.Kind) && edits6902(op.Path, op.From) {
				errs = append(errs, u.at(at, "kubeadmConfigPatchesJSON6902[%d]: changes %s, which links the node to its VM: use kubeadmConfigPatches, which sets single arguments", i, op.Path))
			}
		}
	}
	return errors.Join(errs...)
}

// registers reports whether a document of kubeadm's configuration has the node's registration.
func registers(kind string) bool { return kind == "InitConfiguration" || kind == "JoinConfiguration" }

// keys lists what a nodeRegistration sets: name, taints, and the kubelet's arguments as --NAME, which are a list or,
// before v1beta4, a mapping.
func keys(n *yaml.Node) []string {
	var all []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if key != "kubeletExtraArgs" {
			all = append(all, key)
			continue
		}
		if value.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(value.Content); j += 2 {
				all = append(all, "--"+value.Content[j].Value)
			}
			continue
		}
		for _, item := range value.Content {
			for j := 0; j+1 < len(item.Content); j += 2 {
				if item.Content[j].Value == "name" {
					all = append(all, "--"+item.Content[j+1].Value)
				}
			}
		}
	}
	return all
}

// forbidden returns why the user may not set a key of a nodeRegistration, or "".
func forbidden(key string) string {
	switch key {
	case "name", "--hostname-override":
		return "the hostname of a VM's guest is the name of its node"
	case "--cloud-provider", "--provider-id":
		return "the sandbox's cloud controller manager sets a node's providerID"
	case "--node-ip":
		return "a node's address is the one that its VM's guest reports"
	}
	return ""
}

// edits6902 reports whether a JSON patch changes the name or the kubelet's arguments, or replaces a parent of them. "-"
// appends.
func edits6902(paths ...string) bool {
	for _, p := range paths {
		switch {
		case p == "/nodeRegistration", p == "/nodeRegistration/name", p == "/nodeRegistration/kubeletExtraArgs":
			return true
		case strings.HasPrefix(p, "/nodeRegistration/kubeletExtraArgs/") && !strings.HasSuffix(p, "/-"):
			return true
		}
	}
	return false
}
