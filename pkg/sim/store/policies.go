package store

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
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

// decodePolicies parses the file of policies, whose types have a prefix.
func decodePolicies(data []byte, set *policySet) (line int, err error) {
	known := types.TypeFunc()
	d := xml.NewDecoder(bytes.NewReader(data))
	d.TypeFunc = func(name string) (reflect.Type, bool) {
		if t, ok := known("pbm:" + strings.TrimPrefix(name, "pbm:")); ok {
			return t, ok
		}
		return known(name)
	}
	err = d.Decode(set)
	return lineAt(data, d.InputOffset()), err
}

var errNoProfiles = errors.New("vCenter has no storage policy service")

// RestorePolicies creates the missing storage policies with their saved identifiers.
func (l *Loaded) RestorePolicies(profiles inventory.Profiles) error {
	if len(l.policies) == 0 {
		return nil
	}
	if profiles == nil {
		return errNoProfiles
	}
	for _, p := range l.policies {
		p, ok := p.(*pbmtypes.PbmCapabilityProfile)
		if !ok {
			continue // not a policy for datastores
		}
		if err := profiles.Restore(p); err != nil {
			return err
		}
	}
	return nil
}
