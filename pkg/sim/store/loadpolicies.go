package store

import (
	"bytes"
	"errors"
	"reflect"
	"strings"

	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

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
			continue // of another kind: none that datastores are chosen by
		}
		if err := profiles.Restore(p); err != nil {
			return err
		}
	}
	return nil
}
