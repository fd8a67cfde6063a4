package fault

import (
	"fmt"
	"slices"
)

// Has reports whether the ground meets a need. Whether a vCenter is simulated is checked later, for each target.
func (g *Ground) Has(n Need) bool {
	switch n {
	case Simulator:
		return slices.ContainsFunc(g.VCenters, func(e Endpoint) bool { return e.Sim != nil })
	case Gated:
		return slices.ContainsFunc(g.VCenters, func(e Endpoint) bool { return e.Front != nil })
	case Kubelets, Children:
		return g.Processes != nil
	case Clustered:
		return g.Cluster != nil
	}
	return false
}

// String describes the need.
func (n Need) String() string {
	switch n {
	case Simulator:
		return "a simulated vCenter"
	case Gated:
		return "a gate in front of the vCenter"
	case Kubelets:
		return "nodes that are processes of the sandbox"
	case Children:
		return "a control plane and a cloud controller manager that are processes of the sandbox"
	case Clustered:
		return "a Kubernetes cluster"
	}
	return string(n)
}

func (k *Kind) needs(any ...Need) bool {
	return slices.ContainsFunc(k.Needs, func(n Need) bool { return slices.Contains(any, n) })
}

// lacks returns the need of a kind that a vCenter does not meet; false if it meets all.
func (e *Endpoint) lacks(k *Kind) (Need, bool) {
	switch {
	case e.Sim == nil && k.needs(Simulator):
		return Simulator, true
	case e.Front == nil && k.needs(Gated):
		return Gated, true
	}
	return "", false
}

func lacks(k *Kind, n Need) error {
	return &Refusal{Code: "unsupported", Message: fmt.Sprintf("%s takes %s, which there is not here", k.Name, n)}
}
