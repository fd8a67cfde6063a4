package kind

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

const head = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"

// What cannot be merged is refused with the line that says it, all of it at once.
func TestUserConfigIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ config, want string }{
		"no YAML":         {"kind: [", "mine.yaml:1: did not find expected node content"},
		"empty":           {"# nothing\n", "mine.yaml: is no kind configuration: want kind: Cluster and apiVersion: kind.x-k8s.io/v1alpha4"},
		"a list":          {"- kind\n", "mine.yaml: is no kind configuration"},
		"another kind":    {"kind: Pod\napiVersion: kind.x-k8s.io/v1alpha4\n", `mine.yaml:1: kind "Pod": want Cluster`},
		"another version": {"kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha3\n", `mine.yaml:2: apiVersion "kind.x-k8s.io/v1alpha3": want kind.x-k8s.io/v1alpha4`},
		"two documents":   {head + "---\n" + head, "mine.yaml: has more than one document"},
		"unknown fields": {
			head + "netwroking: {}\nnodes:\n- role: worker\n  lables: {}\n",
			"mine.yaml:3: netwroking: kind's configuration has no such field\nmine.yaml:6: lables: kind's configuration has no such field",
		},
		"type":               {head + "networking:\n  apiServerPort: many\n", "mine.yaml:4: cannot unmarshal !!str `many` into int32"},
		"name":               {head + "name: mine\n", `mine.yaml:3: name "mine": the cluster's name is "vsphere-sandbox-demo", after the sandbox`},
		"port":               {head + "networking:\n  apiServerPort: 7000\n", "mine.yaml:4: apiServerPort 7000: the command line has port 6443"},
		"address":            {head + "networking: {apiServerAddress: 0.0.0.0}\n", `mine.yaml:3: apiServerAddress "0.0.0.0": a sandbox is reachable from its own host only`},
		"IPv6":               {head + "networking: {ipFamily: ipv6}\n", `mine.yaml:3: ipFamily "ipv6": want ipv4 or dual`},
		"services":           {head + "networking: {serviceSubnet: lots}\n", `mine.yaml:3: serviceSubnet: subnet "lots"`},
		"a node too many":    {head + "nodes:\n- role: control-plane\n- role: worker\n- role: worker\n- role: worker\n- role: worker\n- role: worker\n- role: worker\n", "mine.yaml:10: nodes[6]: the topology has no further VM for this node"},
		"two control planes": {head + "nodes:\n- {}\n- role: control-plane\n", "mine.yaml:5: nodes[1]: only one node runs the control plane"},
		"role":               {head + "nodes:\n- role: master\n", `mine.yaml:4: role "master": want control-plane or worker`},
		"image":              {head + "nodes:\n- role: worker\n  image: other\n", `mine.yaml:5: image "other": all nodes use "example.org/node:v1.36.4"`},
		"mount":              {head + "nodes:\n- role: worker\n  extraMounts:\n  - {hostPath: /x, containerPath: /dev/disk/by-id/}\n", "mine.yaml:6: extraMounts[0]: /dev/disk/by-id in the node is reserved for the sandbox"},
		"mount over":         {head + "nodes:\n- role: worker\n  extraMounts:\n  - {hostPath: /x, containerPath: /kind}\n", "mine.yaml:6: extraMounts[0]: /kind/product_uuid in the node is reserved for the sandbox"},
		"mount propagation":  {head + "nodes:\n- role: worker\n  extraMounts:\n  - {propagation: Some}\n", `Unknown MountPropagation: "Some"`},
		"node's name":        {head + "kubeadmConfigPatches:\n- |\n  kind: JoinConfiguration\n  nodeRegistration: {name: x}\n", "mine.yaml:4: kubeadmConfigPatches[0]: sets name: the hostname of a VM's guest is the name of its node"},
		"providerID":         {head + "nodes:\n- kubeadmConfigPatches:\n  - |\n    kind: InitConfiguration\n    nodeRegistration:\n      kubeletExtraArgs:\n      - {name: provider-id, value: x}\n", "mine.yaml:5: kubeadmConfigPatches[0]: sets --provider-id: the sandbox's cloud controller manager sets a node's providerID"},
		"providerID, old":    {head + "kubeadmConfigPatches:\n- |\n  kind: InitConfiguration\n  nodeRegistration:\n    kubeletExtraArgs:\n      cloud-provider: aws\n", "mine.yaml:4: kubeadmConfigPatches[0]: sets --cloud-provider"},
		"patch":              {head + "kubeadmConfigPatches:\n- 'kind: ['\n", "mine.yaml:4: kubeadmConfigPatches[0]: line 1: did not find expected node content"},
		"edit": {
			head + "kubeadmConfigPatchesJSON6902:\n- kind: InitConfiguration\n  patch: |\n    - {op: replace, path: /nodeRegistration/kubeletExtraArgs/1/value, value: x}\n",
			"mine.yaml:4: kubeadmConfigPatchesJSON6902[0]: changes /nodeRegistration/kubeletExtraArgs/1/value, which links the node to its VM",
		},
		"edit broken": {head + "kubeadmConfigPatchesJSON6902:\n- {kind: InitConfiguration, patch: 'x'}\n", "mine.yaml:4: kubeadmConfigPatchesJSON6902[0]: "},
		"several":     {head + "name: mine\nnetworking: {ipFamily: ipv6}\n", "ipFamily"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := planned(t, "zones-us-eu")
			opts.UserConfig, opts.UserFile, opts.Port = []byte(tc.config), "mine.yaml", 6443
			_, err := New(opts)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// Without what we decide, anything goes, an entry's role left out included: kind takes it for a control plane.
func TestUserConfigIsTaken(t *testing.T) {
	for name, config := range map[string]string{
		"nothing said":  head,
		"our own name":  head + "name: vsphere-sandbox-demo\n",
		"anchors":       head + "nodes:\n- &w\n  role: worker\n  labels: {a: b}\n- *w\n",
		"other args":    head + "kubeadmConfigPatches:\n- |\n  kind: InitConfiguration\n  nodeRegistration:\n    ignorePreflightErrors: [all]\n    kubeletExtraArgs: [{name: v, value: '4'}]\n",
		"mount besides": head + "nodes:\n- extraMounts: [{hostPath: /x, containerPath: /kind/more}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			opts := planned(t, "zones-us-eu")
			opts.UserConfig = []byte(config)
			if _, err := New(opts); err != nil {
				t.Error(err)
			}
		})
	}
}

// The label of a node that is no VM stays, independent of the user's labels.
func TestUserLabels(t *testing.T) {
	opts := planned(t, "single")
	opts.UserConfig, opts.UserFile = []byte(head+"nodes:\n- labels: {disk: fast}\n"), "mine.yaml"
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if config := string(c.Config()); !strings.Contains(config, "disk: fast") || !strings.Contains(config, cluster.NoVM) {
		t.Errorf("labels are lost:\n%s", config)
	}
	opts.UserConfig = []byte(head + "nodes:\n- labels: {" + cluster.NoVM + ": x}\n")
	if _, err := New(opts); err == nil || !strings.Contains(err.Error(), "mine.yaml:4: label "+cluster.NoVM) {
		t.Errorf("the sandbox's own label: %v", err)
	}
}
