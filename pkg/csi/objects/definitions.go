package objects

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
)

// What the module of external-snapshotter's client has in config/crd, without the descriptions, each with its origin and
// license: `go test -update` takes it from there.
//
//go:embed crds/*.yaml
var snapshotDefinitions embed.FS

// Definitions are the CustomResourceDefinitions: of CSINodeTopology and CnsVSphereVolumeMigration, which are upstream's
// driver's, and of volume snapshots, which are of the release of external-snapshotter that go.mod names.
func Definitions() ([]*unstructured.Unstructured, error) {
	first, err := definition(nodetopology.Kind, nodetopology.CRD())
	if err != nil {
		return nil, err
	}
	second, err := definition(migrated.Kind, migrated.CRD())
	if err != nil {
		return nil, err
	}
	all := []*unstructured.Unstructured{first, second}
	files, err := fs.Glob(snapshotDefinitions, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := snapshotDefinitions.ReadFile(file)
		if err != nil {
			return nil, err
		}
		one, err := definition(strings.TrimPrefix(file, "crds/"), data)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func definition(name string, data []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &u.Object); err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	if u.GetKind() != "CustomResourceDefinition" {
		return nil, fmt.Errorf("definition %s: it is a %q", name, u.GetKind())
	}
	return u, nil
}
