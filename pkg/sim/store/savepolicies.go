package store

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// policySet is the file of storage policies.
type policySet struct {
	XMLName xml.Name                  `xml:"policies"`
	Profile []pbmtypes.BasePbmProfile `xml:"profile,typeattr"`
}

// policies saves the storage policies.
func (s *saver) policies() error {
	c, err := pbm.NewClient(s.ctx, s.client)
	if err != nil {
		return err
	}
	storage := pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}
	ids, err := c.QueryProfile(s.ctx, storage, string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	profiles, err := c.RetrieveContent(s.ctx, ids)
	if err != nil {
		return err
	}
	slices.SortFunc(profiles, func(a, b pbmtypes.BasePbmProfile) int {
		p, q := a.GetPbmProfile(), b.GetPbmProfile()
		return cmp.Or(cmp.Compare(p.Name, q.Name), cmp.Compare(p.ProfileId.UniqueId, q.ProfileId.UniqueId))
	})
	if s.scrubber != nil {
		profiles = scrub(s.scrubber, profiles)
	}
	s.summary.Policies = len(profiles)
	return s.writer.xml(policiesName, &policySet{Profile: profiles})
}
