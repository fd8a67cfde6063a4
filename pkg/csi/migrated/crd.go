package migrated

import (
	_ "embed"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed crd.yaml
var crd []byte

// CRD returns the CustomResourceDefinition of CnsVSphereVolumeMigration objects, as YAML. It has upstream's schema.
func CRD() []byte { return slices.Clone(crd) }

// Kind is the kind of the objects.
const Kind = "CnsVSphereVolumeMigration"

// Resource returns what the API server calls the objects.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cns.vmware.com", Version: "v1alpha1", Resource: "cnsvspherevolumemigrations"}
}
