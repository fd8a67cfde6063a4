package controller

import (
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// sidecarPrefix is that of parameters which Kubernetes and its sidecars keep for themselves.
const sidecarPrefix = "csi.storage.k8s.io/"

// Parameters that external-provisioner adds when it runs with --extra-create-metadata.
const (
	parameterPV        = sidecarPrefix + "pv/name"
	parameterPVC       = sidecarPrefix + "pvc/name"
	parameterNamespace = sidecarPrefix + "pvc/namespace"
)

// parameters is what a StorageClass and the provisioner say of a volume.
type parameters struct {
	policy, datastoreURL string
	metadata             volume.Metadata
	inTree               inTree
}

// readParameters takes keys in any case, as upstream does. Unlike upstream it does not ignore one that it does not know
// from a StorageClass: a misspelled policy makes volumes without one.
func readParameters(given map[string]string) (parameters, error) {
	var p parameters
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value, lower := given[key], strings.ToLower(key)
		if other, ok := seen[lower]; ok {
			return p, invalid("parameter %s: is there as %s, too", key, other)
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
				return p, invalid("parameter %s: not known: did you mean %s?", key, best)
			}
			return p, invalid("parameter %s: not known: there are %s", key, strings.Join(known, ", "))
		}
	}
	return p, nil
}
