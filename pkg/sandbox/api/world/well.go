package world

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Healthy reports whether everything is as it should be when nothing has been broken: nodes are ready, initialized and have
// addresses, vCenters are up, components run.
func (w *World) Healthy() bool {
	for _, n := range Values[api.Node](w, Node) {
		if n.Registered && (n.Ready != "True" || !n.Initialized || len(n.Addresses) == 0) {
			return false
		}
	}
	for _, vc := range Values[api.VCenter](w, VCenter) {
		if vc.Gate != "up" {
			return false
		}
	}
	return !slices.ContainsFunc(Values[api.Component](w, Component), func(c api.Component) bool {
		return c.State != "running"
	})
}
