package nodetopology

import (
	_ "embed"
	"slices"
)

//go:embed crd.yaml
var crd []byte

// CRD returns the CustomResourceDefinition of CSINodeTopology objects as YAML, with upstream's schema.
func CRD() []byte { return slices.Clone(crd) }
