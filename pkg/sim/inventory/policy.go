package inventory

import (
	"errors"
	"fmt"

	pbm "github.com/vmware/govmomi/pbm/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Profiles is the vCenter's storage policy service, called in process (package profile).
type Profiles interface {
	// Make makes the profile of a policy.
	Make(*topology.Policy) error
	// Restore puts a profile back that was saved.
	Restore(*pbm.PbmCapabilityProfile) error
}

var errNoProfiles = errors.New("vCenter has no storage policy service")

// policies makes the storage policies.
func (b *builder) policies(all []topology.Policy) error {
	for i := range all {
		if b.target.Policies == nil {
			return fmt.Errorf("policy %q: %w", all[i].Name, errNoProfiles)
		}
		if err := b.target.Policies.Make(&all[i]); err != nil {
			return err
		}
	}
	return nil
}
