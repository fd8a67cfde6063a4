package inventory

import (
	"errors"
	"fmt"

	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Profiles is the profile manager of the vCenter's storage policy service, called in process (pbm/simulator has one).
type Profiles interface {
	PbmCreate(*simulator.Context, *pbm.PbmCreate) soap.HasFault
	PbmRetrieveContent(*pbm.PbmRetrieveContent) soap.HasFault
}

var errNoProfiles = errors.New("vCenter has no storage policy service")

// policies makes the storage policies.
func (b *builder) policies(all []topology.Policy) error {
	for i := range all {
		if err := b.policy(&all[i]); err != nil {
			return fmt.Errorf("policy %q: %w", all[i].Name, err)
		}
	}
	return nil
}

func (b *builder) policy(spec *topology.Policy) error {
	if b.target.Policies == nil {
		return errNoProfiles
	}
	created, ok := b.target.Policies.PbmCreate(b.fresh(), &pbm.PbmCreate{CreateSpec: profile(spec)}).(*methods.PbmCreateBody)
	if !ok {
		return errNoProfiles
	}
	if err := vc.Err(created); err != nil {
		return err
	}
	// The service hands out its own objects, so that the random identifier it chose can be made one that is the same in
	// each run.
	body, ok := b.target.Policies.PbmRetrieveContent(&pbm.PbmRetrieveContent{
		ProfileIds: []pbm.PbmProfileId{created.Res.Returnval},
	}).(*methods.PbmRetrieveContentBody)
	if !ok {
		return errNoProfiles
	}
	if err := vc.Err(body); err != nil {
		return err
	}
	for _, p := range body.Res.Returnval {
		p.GetPbmProfile().ProfileId.UniqueId = b.derive("policy", spec.Name)
	}
	return nil
}

// profile says that a datastore must have every one of the policy's tags, in the form of vCenter's user interface: a
// capability per tag.
func profile(spec *topology.Policy) pbm.PbmCapabilityProfileCreateSpec {
	capabilities := make([]pbm.PbmCapabilityInstance, len(spec.Tags))
	for i, tag := range spec.Tags {
		capabilities[i] = pbm.PbmCapabilityInstance{
			Id: pbm.PbmCapabilityMetadataUniqueId{Namespace: "http://www.vmware.com/storage/tag", Id: tag.Category},
			Constraint: []pbm.PbmCapabilityConstraintInstance{{
				PropertyInstance: []pbm.PbmCapabilityPropertyInstance{{
					Id:    "com.vmware.storage.tag." + tag.Category + ".property",
					Value: pbm.PbmCapabilityDiscreteSet{Values: []vim.AnyType{tag.Name}},
				}},
			}},
		}
	}
	return pbm.PbmCapabilityProfileCreateSpec{
		Name:         spec.Name,
		Description:  spec.Description,
		Category:     string(pbm.PbmProfileCategoryEnumREQUIREMENT),
		ResourceType: pbm.PbmProfileResourceType{ResourceType: string(pbm.PbmProfileResourceTypeEnumSTORAGE)},
		Constraints: &pbm.PbmCapabilitySubProfileConstraints{
			SubProfiles: []pbm.PbmCapabilitySubProfile{{Name: "Tag based placement", Capability: capabilities}},
		},
	}
}
