package cns

import (
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// reach tells how many of the hosts that mount a datastore reach it. Its values are CNS's words for it, which vSphere
// Client knows.
type reach string

const (
	reachAll  reach = "accessible"
	reachSome reach = "partiallyAccessible"
	reachNone reach = "notAccessible"
)

// reach is that of the datastore; nil (it is gone) is reached by nobody.
func (s *store) reach() reach {
	switch {
	case s == nil || len(s.hosts) == 0:
		return reachNone
	case s.degraded:
		return reachSome
	}
	return reachAll
}

// unreached is the fault of an operation on a datastore that no host reaches, or that is gone (nil); nil when one does.
func unreached(ref vc.Ref, s *store) types.BaseMethodFault {
	switch {
	case s == nil:
		return &types.ManagedObjectNotFound{Obj: ref}
	case s.reach() == reachNone:
		return inaccessible(s, "no host reaches it")
	}
	return nil
}

// health is a volume's, by the reach of its datastore: a volume that some host reaches can be used.
func (r reach) health() pbmtypes.PbmHealthStatusForEntity {
	if r == reachNone {
		return pbmtypes.PbmHealthStatusForEntityRed
	}
	return pbmtypes.PbmHealthStatusForEntityGreen
}

// compliance tells whether a datastore meets a policy; nothing is known of one that cannot be reached.
func (m *Manager) compliance(policy string, datastore vc.Ref, r reach) pbmtypes.PbmComplianceStatus {
	switch {
	case policy == "":
		return pbmtypes.PbmComplianceStatusNotApplicable
	case r == reachNone:
		return pbmtypes.PbmComplianceStatusUnknown
	case m.opts.Compatible == nil || m.opts.Compatible(policy, datastore):
		return pbmtypes.PbmComplianceStatusCompliant
	}
	return pbmtypes.PbmComplianceStatusNonCompliant
}
