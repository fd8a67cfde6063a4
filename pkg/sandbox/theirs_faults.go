package sandbox

import (
	"context"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// notOurs says why a fault is not made in a cluster that is others', "" where it is: what it would break there has to be the
// sandbox's own.
func (s *Sandbox) notOurs(k *fault.Kind) string {
	if s.opts.Cluster.Theirs == nil {
		return ""
	}
	needs := func(n fault.Need) bool { return slices.Contains(k.Needs, n) }
	of, _, _ := strings.Cut(k.Name, ".")
	switch of {
	case "control-plane", "etcd":
		return "the control plane of this cluster is not the sandbox's"
	case "csi", "storageclass":
		return "there are no volumes of the sandbox in this cluster"
	}
	switch {
	case k.Object == fault.Node, needs(fault.Kubelets):
		return "the nodes of this cluster are not the sandbox's: they are real ones, which it watches"
	case s.opts.CCM.None && (needs(fault.Clustered) || needs(fault.Children)):
		return "no cloud controller manager of the sandbox runs in this cluster: it only watches"
	}
	return ""
}

// mayBreakTheirs refuses a fault for that reason.
func (s *Sandbox) mayBreakTheirs(k *fault.Kind) error {
	why := s.notOurs(k)
	if why == "" {
		return nil
	}
	return &api.Error{Code: "unsupported", Message: k.Name + ": " + why, Try: "vsphere-sandbox record, then up with the recording"}
}

// theirProcesses are those of a sandbox in a cluster that is others': a cloud controller manager at most.
type theirProcesses struct{ processes }

// RenewToken hands it a new token of its ServiceAccount, as a kubelet does.
func (p theirProcesses) RenewToken(ctx context.Context, component string) error {
	return p.renewToken(ctx, component)
}
