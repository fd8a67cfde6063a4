package store

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// decodePolicies reads the file of policies, whose types are known with a prefix.
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

// RestorePolicies makes the saved storage policies that the vCenter does not have, with the identifiers they had.
func (l *Loaded) RestorePolicies(base *simulator.Context, profiles inventory.Profiles) error {
	if len(l.policies) == 0 {
		return nil
	}
	if profiles == nil {
		return errNoProfiles
	}
	for _, p := range l.policies {
		if err := restorePolicy(base, profiles, p); err != nil {
			return fmt.Errorf("policy %q: %w", p.GetPbmProfile().Name, err)
		}
	}
	return nil
}

func restorePolicy(base *simulator.Context, profiles inventory.Profiles, saved pbmtypes.BasePbmProfile) error {
	p, ok := saved.(*pbmtypes.PbmCapabilityProfile)
	if !ok {
		return nil // of another kind: none that datastores are chosen by
	}
	if found, err := retrievePolicy(profiles, p.ProfileId); err == nil && found != nil {
		return nil
	}
	created, ok := profiles.PbmCreate(vc.Fresh(base), &pbmtypes.PbmCreate{CreateSpec: pbmtypes.PbmCapabilityProfileCreateSpec{
		Name: p.Name, Description: p.Description, Category: p.ProfileCategory,
		ResourceType: p.ResourceType, Constraints: p.Constraints,
	}}).(*methods.PbmCreateBody)
	if !ok {
		return errNoProfiles
	}
	if err := vc.Err(created); err != nil {
		return err
	}
	made, err := retrievePolicy(profiles, created.Res.Returnval)
	if err != nil {
		return err
	}
	if made == nil {
		return errNoProfiles
	}
	// The service hands out its own objects, so that everything of it, the identifier included, can be as it was saved.
	if own, ok := made.(*pbmtypes.PbmCapabilityProfile); ok {
		*own = *p
	}
	return nil
}

func retrievePolicy(profiles inventory.Profiles, id pbmtypes.PbmProfileId) (pbmtypes.BasePbmProfile, error) {
	body, ok := profiles.PbmRetrieveContent(&pbmtypes.PbmRetrieveContent{ProfileIds: []pbmtypes.PbmProfileId{id}}).(*methods.PbmRetrieveContentBody)
	if !ok {
		return nil, errNoProfiles
	}
	if err := vc.Err(body); err != nil {
		return nil, err
	}
	if len(body.Res.Returnval) == 0 {
		return nil, nil
	}
	return body.Res.Returnval[0], nil
}
