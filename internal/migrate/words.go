package migrate

import (
	"fmt"
	"net/netip"
	"strings"
)

// Reasons that several keys share.
const (
	noWorkspace  = "volumes are made where their StorageClass and the nodes say, in the vCenters of the new file"
	noHelperVM   = "no helper VM is made any more to find a place for a volume"
	noController = "the CSI driver attaches disks to paravirtual controllers, always"
	noAPI        = "was of a server in cloud-provider-vsphere that nothing starts any more"
	saysNothing  = "is empty: it says nothing"
	everyOwn     = "every vCenter has its own"
)

// lineHint points at another line.
func lineHint(line int) string { return fmt.Sprintf("in line %d", line) }

// joined are networks as a file has them.
func joined(prefixes []netip.Prefix) string {
	all := make([]string, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.String()
	}
	return strings.Join(all, ",")
}
