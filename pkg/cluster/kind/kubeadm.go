package kind

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

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
