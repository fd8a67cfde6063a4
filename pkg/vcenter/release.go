package vcenter

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
)

// Shortcoming is what a release of vCenter cannot do, and what can be done about it.
type Shortcoming struct {
	Why, Try string
	// Serious says that something does not work at all.
	Serious bool
}

// ShortcomingOf goes by the version of the API, as the CSI driver does: 6.7 Update 3, with which CNS came, is 6.7.3 there and
// calls itself 6.7.0. It is nil for a release that does all; one that nobody can read is an error.
func ShortcomingOf(about types.AboutInfo) (*Shortcoming, error) {
	var major, minor, update int
	if n, err := fmt.Sscanf(about.ApiVersion, "%d.%d.%d", &major, &minor, &update); n < 2 {
		return nil, fmt.Errorf("API version %q: %w", about.ApiVersion, err)
	}
	const upgrade = "upgrade to 7.0 or newer"
	switch number := major*10000 + minor*100 + update; {
	case about.ApiType != "VirtualCenter":
		return &Shortcoming{"a host alone has no tags and no volumes", "use the vCenter that manages it", true}, nil
	case number < 60703:
		return &Shortcoming{"it has no cloud native storage: no volume can be made", upgrade, true}, nil
	case number < 70000:
		return &Shortcoming{"it is out of support, and the CSI driver can neither snapshot volumes nor grow those in use", upgrade, false}, nil
	}
	return nil, nil
}
