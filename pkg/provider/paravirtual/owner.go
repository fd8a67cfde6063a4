package paravirtual

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// DefaultOwnerReferenceFile is where a guest cluster mounts its owner reference (upstream, vsphereparavirtual/config).
const DefaultOwnerReferenceFile = "/etc/kubernetes/guestclusters/cluster/ownerref.json"

// maxOwner bounds the size of the file.
const maxOwner = 64 << 10

// readOwner reads the reference to the cluster's object on the Supervisor. Objects that the provider creates there belong to it,
// so that they are deleted with the cluster.
func readOwner(file string) (metav1.OwnerReference, error) {
	var owner metav1.OwnerReference
	data, err := input.File(file, maxOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return owner, fmt.Errorf("owner reference: %w: it is the ownerref.json of the ConfigMap ccm-owner-reference, and names the cluster's object on the Supervisor", err)
	}
	if err != nil {
		return owner, fmt.Errorf("owner reference: %w", err)
	}
	if err := json.Unmarshal(data, &owner); err != nil {
		return owner, fmt.Errorf("owner reference: %s: %w", file, err)
	}
	for _, f := range []struct{ name, value string }{
		{"apiVersion", owner.APIVersion}, {"kind", owner.Kind}, {"name", owner.Name}, {"uid", string(owner.UID)},
	} {
		if f.value == "" {
			return owner, fmt.Errorf("owner reference: %s: %s is missing: the Supervisor would refuse every object of the cluster", file, f.name)
		}
	}
	return owner, nil
}
