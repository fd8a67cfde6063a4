package profile

import (
	"github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbm "github.com/vmware/govmomi/pbm/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
)

// stock asks vcsim's manager for its profiles, which it has in a variable of its own.
func stock(m *pbmsim.ProfileManager) []pbm.BasePbmProfile {
	found, ok := m.PbmQueryProfile(&pbm.PbmQueryProfile{ResourceType: policy.Storage()}).(*methods.PbmQueryProfileBody)
	if !ok || found.Res == nil || len(found.Res.Returnval) == 0 {
		return nil
	}
	all, ok := m.PbmRetrieveContent(&pbm.PbmRetrieveContent{ProfileIds: found.Res.Returnval}).(*methods.PbmRetrieveContentBody)
	if !ok || all.Res == nil {
		return nil
	}
	return all.Res.Returnval
}
