package catalogue

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Needs says in words what a ground must have for a kind; "" when the APIs alone do.
func Needs(k *fault.Kind) string {
	var words []string
	for _, n := range k.Needs {
		words = append(words, n.String())
	}
	return strings.Join(words, " and ")
}

// URL is where an issue that a kind names can be read ("cloud-provider-vsphere#642"); "" when it names none.
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
