package catalogue

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/identity"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/kube"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/tag"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/vm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/volume"
)

// themes is the list: to add a theme, add a line.
func themes() []Theme {
	return []Theme{
		{Name: "vm", Title: "VMs", Kinds: vm.Kinds()},
		{Name: "guest", Title: "Guests", Kinds: guest.Kinds()},
		{Name: "identity", Title: "Identity", Kinds: identity.Kinds()},
		{Name: "host", Title: "Hosts, clusters, zones", Kinds: host.Kinds()},
		{Name: "storage", Title: "Storage", Kinds: storage.Kinds()},
		{Name: "volume", Title: "Volumes", Kinds: volume.Kinds()},
		{Name: "tag", Title: "Tags", Kinds: tag.Kinds()},
		{Name: "api", Title: "vCenter API", Kinds: api.Kinds()},
		{Name: "kube", Title: "Kubernetes", Kinds: kube.Kinds()},
	}
}
