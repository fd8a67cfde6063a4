package kind

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

// config renders kind's configuration of the cluster, without the user's.
func config(o Options, all []machine) *v1alpha4.Cluster {
	c := &v1alpha4.Cluster{
		TypeMeta:             v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:                 ClusterName(o.Name),
		KubeadmConfigPatches: clusterPatches(o.Speed),
		Networking: v1alpha4.Networking{
			// Said although they are kind's own: certificates are made for addresses out of the Services' range.
			APIServerAddress: "127.0.0.1", APIServerPort: int32(o.Port),
			PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16",
		},
	}
	if o.firmware() {
		c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, firmwarePatch)
	}
	if o.Mirrors {
		c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, mirrorPatch)
	}
	for _, m := range all {
		n := v1alpha4.Node{Role: v1alpha4.NodeRole(m.role), Image: o.Image, ExtraMounts: []v1alpha4.Mount{
			{HostPath: ownerFile(o.Dir), ContainerPath: ownerPath, Readonly: true},
		}}
		if m.vm {
			n.ExtraMounts = append(n.ExtraMounts,
				v1alpha4.Mount{HostPath: filepath.Join(m.dir, "product_uuid"), ContainerPath: uuidPath, Readonly: true},
				v1alpha4.Mount{HostPath: filepath.Join(m.dir, "product_serial"), ContainerPath: serialPath, Readonly: true},
				v1alpha4.Mount{HostPath: unitFile(o.Dir), ContainerPath: unitPath, Readonly: true},
				v1alpha4.Mount{HostPath: m.ByID, ContainerPath: byIDPath},
			)
			if o.Volumes != "" {
				n.ExtraMounts = append(n.ExtraMounts, v1alpha4.Mount{HostPath: o.Volumes, ContainerPath: o.Volumes})
			}
			n.KubeadmConfigPatches = []string{nodePatch(m, o.Host)}
		}
		// All nodes, as containerd of all is told of it.
		n.ExtraMounts = append(n.ExtraMounts, o.firmwareMounts()...)
		if !m.vm {
			n.Labels = map[string]string{cluster.NoVM: ""}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func encode(c *v1alpha4.Cluster) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(c)
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, fmt.Errorf("kind configuration: %w", err)
	}
	return b.Bytes(), nil
}
