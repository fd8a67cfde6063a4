package controller

import (
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// sidecarPrefix is the prefix of parameters that are reserved for Kubernetes and its sidecars.
const sidecarPrefix = "csi.storage.k8s.io/"

// The parameters that external-provisioner adds with --extra-create-metadata.
const (
	parameterPV        = sidecarPrefix + "pv/name"
	parameterPVC       = sidecarPrefix + "pvc/name"
	parameterNamespace = sidecarPrefix + "pvc/namespace"
)

// parameters are the parameters of a StorageClass and of the provisioner.
type parameters struct {
	policy, datastoreURL string
	metadata             volume.Metadata
	inTree               inTree
}

// readParameters accepts keys in any case, as upstream does. Unlike upstream it refuses unknown parameters of a StorageClass:
// a misspelled policy would create volumes without one.
func readParameters(given map[string]string) (parameters, error) {
	var p parameters
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value, lower := given[key], strings.ToLower(key)
		if other, ok := seen[lower]; ok {
			return p, invalid("parameter %s: is also set as %s", key, other)
		}
		seen[lower] = key
		switch lower {
		case names.ParameterPolicy:
			p.policy = value
		case names.ParameterDatastore:
			p.datastoreURL = value
		case names.ParameterFSType:
			if err := checkFileSystem(value); err != nil {
				return p, err
			}
		case parameterPV:
			p.metadata.PV = value
		case parameterPVC:
			p.metadata.PVC = value
		case parameterNamespace:
			p.metadata.Namespace = value
		default:
			if strings.HasPrefix(lower, sidecarPrefix) {
				continue
			}
			if of, err := p.inTree.read(key, value); err != nil {
				return p, err
			} else if of {
				continue
			}
			known := []string{names.ParameterPolicy, names.ParameterDatastore, names.ParameterFSType}
			if best := nearest.Of(lower, known); best != "" {
				return p, invalid("parameter %s: unknown: did you mean %s?", key, best)
			}
			return p, invalid("parameter %s: unknown: use one of %s", key, strings.Join(known, ", "))
		}
	}
	return p, nil
}
