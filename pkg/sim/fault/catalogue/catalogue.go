package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/identity"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/kube"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/tag"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/vm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/volume"
)

// Theme is a group of kinds that concern the same area.
type Theme struct {
	// Name selects the theme, Title is a heading.
	Name  string
	Title string
	// Kinds are sorted by name.
	Kinds []*fault.Kind
}

// Themes returns all kinds by theme, from the VM up to Kubernetes.
func Themes() []Theme {
	all := themes()
	for i := range all {
		slices.SortFunc(all[i].Kinds, func(a, b *fault.Kind) int { return strings.Compare(a.Name, b.Name) })
	}
	return all
}

// Kinds returns all kinds, in the order of [Themes].
func Kinds() []*fault.Kind {
	var all []*fault.Kind
	for _, t := range Themes() {
		all = append(all, t.Kinds...)
	}
	return all
}

// Names returns the names of all kinds, in the order of [Themes].
func Names() []string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.Name)
	}
	return all
}

// Find returns the kind with that name. Its error is a [*fault.Refusal] that suggests a similar name.
func Find(name string) (*fault.Kind, error) { return fault.Find(Kinds(), name) }

// FindTheme returns the theme with that name. Its error is a [*fault.Refusal] that suggests a similar name.
func FindTheme(name string) (Theme, error) {
	var names []string
	for _, t := range Themes() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	message := fmt.Sprintf("theme %q not found", name)
	if near := nearest.Of(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	} else {
		message += "; there is " + strings.Join(names, ", ")
	}
	return Theme{}, &fault.Refusal{Code: "not-found", Message: message, Try: "vsphere-sandbox fault list"}
}

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
		{Name: "supervisor", Title: "Supervisor", Kinds: supervisor.Kinds()},
		{Name: "nsx", Title: "NSX Manager", Kinds: api.NSXKinds()},
		{Name: "kube", Title: "Kubernetes", Kinds: kube.Kinds()},
	}
}

// Needs describes what a ground must offer for a kind; "" if the APIs suffice.
func Needs(k *fault.Kind) string {
	var words []string
	for _, n := range k.Needs {
		words = append(words, n.String())
	}
	return strings.Join(words, " and ")
}

// URL returns the address of an issue such as "cloud-provider-vsphere#642"; "" for another text.
func URL(reported string) string {
	repository, number, ok := strings.Cut(reported, "#")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" || strings.ContainsAny(repository, " :") {
		return ""
	}
	owners := map[string]string{
		"kubernetes": "kubernetes/kubernetes", "cloud-provider-vsphere": "kubernetes/cloud-provider-vsphere",
		"cluster-api-provider-vsphere": "kubernetes-sigs/cluster-api-provider-vsphere",
		"vsphere-csi-driver":           "kubernetes-sigs/vsphere-csi-driver",
		"govmomi":                      "vmware/govmomi",
		"rancher":                      "rancher/rancher",
		"rke2":                         "rancher/rke2",
		"talos-vmtoolsd":               "siderolabs/talos-vmtoolsd",
	}
	if full, ok := owners[repository]; ok {
		repository = full
	}
	if strings.Count(repository, "/") != 1 {
		return ""
	}
	return "https://github.com/" + repository + "/issues/" + number
}
